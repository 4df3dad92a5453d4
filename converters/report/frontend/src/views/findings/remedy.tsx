// What to do about a finding: the rule's advice, how to see it again, how to say that it is meant.

import type { JSX } from "preact";

import { formatPlace, plainText, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import { Command, Facts, Section } from "../../parts/text";
import type { Listed } from "./filter";

export function Remedy({ page, listed }: { page: Page; listed: Listed }): JSX.Element {
  const { found } = listed.placed;
  return (
    <>
      <Section title="What to do" id="remedy">
        {found.hint ? <p id="finding-hint">{sentenceOf(shortText(found.hint, 600))}</p> : null}
        {found.suppressed ? (
          <p>
            A comment in the source says that it is meant:{" "}
            {shortText(found.suppress_reason || "no reason given", 300)}.
          </p>
        ) : null}
        {found.verdict === "proven" || found.suppressed ? null : (
          <p>
            Where it is meant, this comment at the end of the line says so, with the reason behind it:{" "}
            <Command>{suppression(found.rule)}</Command>
          </p>
        )}
        <p class="small muted">
          The page of the rule, with a bad and a good kernel: docs/rules/{shortText(found.rule, 60)}.md
        </p>
      </Section>
      <Section title="How to see it again" id="reproduce">
        <Facts entries={commands(page, listed)} />
      </Section>
    </>
  );
}

/** The comment that suppresses one rule where it stands. */
export function suppression(rule: string): string {
  return `# kvtrace: ignore[${plainText(rule)}] reason`;
}

function sentenceOf(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

function commands(page: Page, { placed }: Listed): [string, JSX.Element | null][] {
  const { report } = page;
  const { found } = placed;
  const run = report.runs.find(({ run_id: id }) => id === found.run) ?? report.runs[0];
  const only = report.runs.length > 1 && found.run ? ` --run ${found.run}` : "";
  const rule = /^[\w-]+$/.test(found.rule) ? ` --rule ${found.rule}` : "";
  const command = run?.command ?? null;
  const reproducible = placed.call !== null && /^[\w-]+$/.test(found.finding_id);
  return [
    ["The verdict", <Command>{`kvtrace sanitize ${report.trace}${only}${rule}`}</Command>],
    ["Its accesses", <Command>{`kvtrace replay ${report.trace}${only}`}</Command>],
    ["The call alone", reproducible ? <Command>{`kvtrace repro ${report.trace}${only} --finding ${found.finding_id} -o repro.py`}</Command> : null],
    ["The program", command === null ? null : <Command>{shortText(command, 2000)}</Command>],
    again(found.verdict, found.reason, command),
    ["In folder", run?.directory ? <code class="wrap">{shortText(run.directory, 400)}</code> : null],
    ["The launch", found.invocation === null ? null : <code class="wrap" id="finding-launch">{shortText(found.invocation, 2000)}</code>],
    [
      "Launched at",
      found.launched_at === null ? null : (
        <span title={found.launched_at.file ?? undefined}>
          {shortText(formatPlace(found.launched_at.file, found.launched_at.line), 120)}{" "}
          <span class="muted">{shortText(found.launched_at.function ?? "", 80)}</span>
        </span>
      ),
    ],
  ];
}

/** The program once more: stopped at the launch, or with what an unknown verdict hangs on recorded. */
function again(
  verdict: string, reason: string | null, command: string | null,
): [string, JSX.Element | null] {
  const setting = /\bKVTRACE_TENSORS=\w+/.exec(reason ?? "")?.[0];
  if (command === null || (verdict !== "violation" && !setting)) return ["Again", null];
  const [title, settings] =
    verdict === "violation" ? ["Stop before it", "KVTRACE_SANITIZE=raise"] : ["Record it too", setting];
  return [title, <Command>{`KVTRACE=again/ ${settings} ${shortText(command, 2000)}`}</Command>];
}
