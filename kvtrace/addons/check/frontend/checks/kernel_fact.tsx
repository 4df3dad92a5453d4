// On a kernel's page: the results of its checked launches, with links to their rows.

import { href } from "@report/app/router";
import { formatCount } from "@report/data/format";
import { page } from "@report/data/page";
import { useBlock } from "@report/data/use_block";
import type { KernelFact } from "@report/views/kernel/further";
import type { CheckRow } from "../model";
import { CHECKS, kernelOf } from "./rows";

function CheckedLaunches({ kernel }: { kernel: number }) {
  const loaded = useBlock<readonly CheckRow[]>(page, CHECKS);
  if (loaded.state !== "ready") return null;
  const own = loaded.value.filter((row) => kernelOf(row) === kernel);
  const answers = [...new Set(own.map(({ answer }) => answer))];
  const said = answers.map(
    (answer) => `${formatCount(own.filter((row) => row.answer === answer).length)} ${answer}`,
  );
  return own.length ? <a href={href("checks", { kernel })}>{said.join(", ")} (derived)</a> : "–";
}

const fact: KernelFact = {
  title: "Checked",
  shown: () => page.has(CHECKS),
  Component: CheckedLaunches,
};

export default fact;
