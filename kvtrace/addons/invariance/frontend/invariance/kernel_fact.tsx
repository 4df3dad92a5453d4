// On a kernel's page: the verdicts about its outputs, with a link to them.

import { href } from "@report/app/router";
import { plural } from "@report/data/format";
import { page } from "@report/data/page";
import { useBlock } from "@report/data/use_block";
import type { KernelFact } from "@report/views/kernel/further";
import type { InvarianceRow } from "../model";
import { INDEX, kernelOf } from "./rows";

function OutputsJudged({ kernel }: { kernel: number }) {
  const loaded = useBlock<readonly InvarianceRow[]>(page, INDEX);
  if (loaded.state !== "ready") return null;
  const own = loaded.value.filter((row) => kernelOf(row) === kernel);
  const [first] = own;
  if (!first) return "–";
  const verdicts = [...new Set(own.map(({ verdict }) => verdict))].join(", ");
  return (
    <a href={href("invariance", { output: first.number })}>
      {plural(own.length, "output")}: {verdicts} (derived)
    </a>
  );
}

const fact: KernelFact = {
  title: "Batch invariance",
  shown: () => page.has(INDEX),
  Component: OutputsJudged,
};

export default fact;
