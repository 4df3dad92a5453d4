// Beside a finding on memory that nobody wrote: the life of the storage.

import { href } from "@report/app/router";
import { shortText } from "@report/data/format";
import { page } from "@report/data/page";
import type { Finding } from "@report/data/types";
import { useBlock } from "@report/data/use_block";
import { Section } from "@report/parts/text";
import type { FindingPart } from "@report/views/findings/further";
import type { RunStorages } from "../model";
import { Life } from "./life";
import { blockOf } from "./moments";

const RULES = ["uninitialized-read", "unwritten-result"];

function blockOfFinding({ run }: Finding): string {
  return blockOf(page.report.runs.findIndex(({ run_id: id }) => id === run));
}

function OfFinding({ found }: { found: Finding }) {
  const loaded = useBlock<RunStorages>(page, blockOfFinding(found));
  if (loaded.state !== "ready") return null;
  const { run, storages } = loaded.value;
  const storage = storages.findIndex(({ findings }) => findings.includes(found.finding_id));
  const life = storages[storage];
  if (!life) return null;
  return (
    <Section
      title="Life of the memory"
      id="finding-memory"
      aside={<a href={href("memory", { run: run || null, storage })}>In the run&apos;s memory</a>}
    >
      <Life life={life} caption={`Life of the memory of ${shortText(found.arg, 40)}`} />
    </Section>
  );
}

const part: FindingPart = {
  shown: (found) => RULES.includes(found.rule) && page.has(blockOfFinding(found)),
  Component: OfFinding,
};

export default part;
