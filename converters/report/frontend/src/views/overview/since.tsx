// What changed since the previous run of the same program, as far as there is one.

import { shortText } from "../../data/format";
import { page } from "../../data/page";
import type { Since, SinceRow } from "../../data/types";
import { useBlock } from "../../data/use_block";
import { words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { Command, Pill, Section } from "../../parts/text";

const KINDS: Readonly<Record<string, "error" | "fine" | "note">> = {
  worse: "error",
  better: "fine",
};

const COLUMNS: readonly Column<SinceRow>[] = [
  words("Kernel", (row) => row.kernel, { prose: true, limit: 80 }),
  words("What changed", (row) => row.what, { prose: true, limit: 200 }),
  words("Before → after", (row) => row.values, { prose: true, limit: 120 }),
  words("Change", (row) => row.by),
  {
    ...words("Verdict", (row) => row.direction),
    cell: ({ direction, sure }) => (
      <span title={sure}>
        <Pill kind={KINDS[direction] ?? "note"}>{direction}</Pill>
      </span>
    ),
  },
];

export function SinceLastRun() {
  const loaded = useBlock<Since>(page, "since");
  // the page of a comparison has a separate view for this
  if (loaded.state === "missing" || page.has("compare")) return null;
  return (
    <Section title="Compared with the previous run" id="since-run">
      {loaded.state === "ready" ? (
        <Changes since={loaded.value} />
      ) : (
        <p class="muted">{loaded.state === "failed" ? loaded.reason : "…"}</p>
      )}
    </Section>
  );
}

function Changes({ since }: { since: Since }) {
  const { why, before, summary, rows, more, command } = since;
  if (why) {
    return (
      <p class="muted">
        Not compared: {why}. {command ? <Command>{command}</Command> : null}
      </p>
    );
  }
  return (
    <>
      <p>
        Compared with <code>{shortText(before)}</code>: {summary}.{" "}
        {more ? `${more} more lines: ` : "In full: "}
        <Command>{command}</Command>
      </p>
      {rows.length ? (
        <Table
          caption="Changes since the previous run, worst first"
          columns={COLUMNS}
          rows={rows}
          height={6}
        />
      ) : null}
    </>
  );
}
