// What ran: command, commit, versions, devices, and how it ended; with several runs, a table.

import { formatNanoseconds, plural, shortText, UNKNOWN } from "../../data/format";
import { page } from "../../data/page";
import type { Limits, Run } from "../../data/types";
import { code, figure, words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { Facts, Folded, LIMITS_FROM } from "../../parts/text";

const FIRST_VERSIONS = ["python", "triton", "torch", "kvtrace", "driver"];

export function WhatRan() {
  const { runs, limits } = page.report;
  return (
    <>
      {runs[0] ? <RunFacts run={runs[0]} limits={limits} /> : null}
      {runs.length > 1 ? (
        <details>
          <summary>{plural(runs.length, "run")}</summary>
          <Table caption="Runs" columns={COLUMNS} rows={runs} />
        </details>
      ) : null}
    </>
  );
}

function RunFacts({ run, limits }: { run: Run; limits: Limits | null }) {
  return (
    <Facts
      entries={[
        ["Command", run.command ? <code>{shortText(run.command, 2000)}</code> : null],
        ["Commit", commit(run)],
        ["Versions", Object.keys(run.versions).length ? <Versions run={run} /> : null],
        ["Devices", devices(run)],
        ["Roofline device", limits ? peaks(limits) : null],
        ["Mode", run.mode],
        ["Host", run.host ? `${run.host}, process ${run.pid ?? UNKNOWN}` : null],
        ["Started", run.started?.replace("T", " ").replace(/\.(\d{3})\d*Z$/, ".$1 UTC")],
        ["Ended", ending(run)],
        ["Run", <code>{run.run_id}</code>],
        ["Settings", <Settings run={run} />],
      ]}
    />
  );
}

function commit({ git_commit: hash, git_branch: branch, git_dirty: dirty }: Run) {
  if (!hash) return null;
  return (
    <span>
      <code title={hash}>{hash.slice(0, 12)}</code>
      {branch ? ` on ${branch}` : ""}
      {dirty === null ? "" : dirty ? " with uncommitted changes" : ", clean"}
    </span>
  );
}

function Versions({ run }: { run: Run }) {
  const [shown, rest] = [true, false].map((first) =>
    Object.keys(run.versions).filter((name) => FIRST_VERSIONS.includes(name) === first),
  ) as [string[], string[]];
  const text = (names: string[]) => names.map((name) => `${name} ${run.versions[name]}`).join(", ");
  shown.sort((a, b) => FIRST_VERSIONS.indexOf(a) - FIRST_VERSIONS.indexOf(b));
  if (!rest.length) return <span>{text(shown)}</span>;
  return <Folded of={`${text(shown)} and ${rest.length} more`}>{text(rest)}</Folded>;
}

function Settings({ run }: { run: Run }) {
  const settings = Object.entries(run.settings);
  if (!settings.length) return <span class="muted">the defaults</span>;
  return (
    <Folded of={plural(settings.length, "setting")}>
      {settings.map(([name, value]) => (
        <code key={name}>{`${name}=${shortText(value, 200)} `}</code>
      ))}
    </Folded>
  );
}

function devices(run: Run): string {
  if (run.devices.length) return run.devices.join("; ");
  if (!page.report.totals.launches) return "none seen";
  return "none seen: launches ran on the CPU, and host time is what they took there";
}

/** The device whose peaks rooflines are drawn with. */
function peaks({ name, how, source }: Limits) {
  return (
    <span title={`Peaks: ${source}`}>
      {name}, {LIMITS_FROM[how] ?? how}
    </span>
  );
}

function ending(run: Run): string {
  const after = run.duration_ns === null ? "" : `after ${formatNanoseconds(run.duration_ns)}, `;
  const how = run.ending ?? "not recorded: the process was killed, or still runs";
  return `${after}${how}${run.sealed ? "" : " (read from the journal)"}`;
}

const COLUMNS: readonly Column<Run>[] = [
  words("Run", (run) => run.label, { key: (run) => run.rank ?? run.label }),
  words("Host", (run) => run.host),
  figure("Process", null, (run) => run.pid, "plain"),
  figure("Duration", "measured", (run) => run.duration_ns, "ns"),
  words("Ending", (run) => run.ending),
  figure("Dropped rows", null, (run) => run.dropped_rows),
  code("Id", (run) => run.run_id),
];
