// One finding with all that is known of it.

import type { ComponentChildren } from "preact";
import { go, href } from "../../app/router";
import { formatCount, formatPlace, plainText, plural, shortText } from "../../data/format";
import { page } from "../../data/page";
import type { Finding, StackFrame } from "../../data/types";
import { useKeys } from "../../parts/keys";
import { Command, Facts, KernelLink, Name, Pill, Section, ShortPlace } from "../../parts/text";
import type { Listed } from "./filter";
import { causesOf, type Filter, listedFindings, pillKind, sentence } from "./filter";
import { Frames } from "./frames";
import { findingHref, queryOf } from "./list";
import { Witness } from "./witness";

const MOST_OTHERS = 20;
const NO_FILTER: Filter = { words: "", rule: "", verdict: "", kernel: "" };

export function Detail({ listed }: { listed: Listed }) {
  const { found, kernel } = listed.placed;
  return (
    <article id="finding">
      <p id="finding-message">
        <Pill kind={pillKind(listed)}>{listed.status}</Pill> {shortText(sentence(listed), 1000)}
      </p>
      <p class="small">
        {kernel === null ? shortText(found.kernel, 120) : <KernelLink kernel={kernel} />}{" "}
        <span class="muted">
          {plural(found.calls, "unique call")} of {plural(found.launches, "launch", "launches")}
          {decided(found)}
        </span>
      </p>
      <Section title="Source" id="source">
        <Frames placed={listed.placed} />
      </Section>
      <AlsoIn listed={listed} />
      <Witness listed={listed} />
      <Remedy listed={listed} />
    </article>
  );
}

/** How it was decided, in the terminal's words. */
function decided({ method, verdict }: Finding): string {
  if (method === "observed") return "; seen while the program ran";
  return method && verdict === "proven" ? `; decided: ${shortText(method, 60)}` : "";
}

/** The other findings that the same change would end. */
function AlsoIn({ listed }: { listed: Listed }) {
  const { cause } = listed.placed;
  const others = listedFindings().filter(
    (each) => cause !== null && each.placed.cause === cause && each !== listed,
  );
  if (!others.length) return null;
  return (
    <Section title="Also in" id="also-in">
      <ul>
        {others.slice(0, MOST_OTHERS).map(({ key, placed: { found } }) => (
          <li key={key}>
            <a href={findingHref(key, NO_FILTER)}>
              <Name of={shortText(found.kernel, 80)} />
            </a>{" "}
            <ShortPlace of={formatPlace(found.file, found.line)} />
          </li>
        ))}
      </ul>
      {others.length > MOST_OTHERS ? (
        <p class="muted">and {formatCount(others.length - MOST_OTHERS)} more</p>
      ) : null}
    </Section>
  );
}

/** Back to the list, and from one finding to the next in it. */
export function Steps({ listed, filter }: { listed: Listed; filter: Filter }) {
  const rows = causesOf(filter);
  const at = rows.findIndex((group) => group.includes(listed));
  const [before, after] = [rows[at - 1]?.[0], (at < 0 ? rows[0] : rows[at + 1])?.[0]];
  const show = (to: Listed | undefined): void => {
    if (to) go(`findings/${encodeURIComponent(to.key)}`, queryOf(filter));
  };
  useKeys({
    "[": () => show(before),
    "]": () => show(after),
    Escape: () => go("findings", queryOf(filter)),
  });
  return (
    <nav class="finding-steps" aria-label="Findings">
      <a href={href("findings", queryOf(filter))}>All findings</a>
      {before ? <a href={findingHref(before.key, filter)}>Previous</a> : null}
      {after ? <a href={findingHref(after.key, filter)}>Next</a> : null}
      <span class="muted">
        {at < 0 ? "not among those shown" : `${formatCount(at + 1)} of ${formatCount(rows.length)}`}
      </span>
    </nav>
  );
}

function Remedy({ listed }: { listed: Listed }) {
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
            If this is intended, append this comment to the line, with the reason behind it:{" "}
            <Command>{suppression(found.rule)}</Command>
          </p>
        )}
        <p class="small muted">
          The page of the rule, with a bad and a good kernel: docs/rules/{shortText(found.rule, 60)}
          .md
        </p>
      </Section>
      <Section title="How to reproduce it" id="reproduce">
        <Facts entries={commands(listed)} />
      </Section>
    </>
  );
}

/** The comment that suppresses one rule on its line. */
function suppression(rule: string): string {
  return `# kvtrace: ignore[${plainText(rule)}] reason`;
}

function sentenceOf(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

function Launched({ text }: { text: string }) {
  return (
    <code class="wrap" id="finding-launch">
      {shortText(text, 2000)}
    </code>
  );
}

function LaunchedAt({ file, line, function: name }: StackFrame) {
  return (
    <span title={file ?? undefined}>
      {shortText(formatPlace(file, line), 120)}{" "}
      <span class="muted">{shortText(name ?? "", 80)}</span>
    </span>
  );
}

function commands({ placed }: Listed): [string, ComponentChildren][] {
  const { report } = page;
  const { found } = placed;
  const run = report.runs.find(({ run_id: id }) => id === found.run) ?? report.runs[0];
  const only = report.runs.length > 1 && found.run ? ` --run ${found.run}` : "";
  const rule = /^[\w-]+$/.test(found.rule) ? ` --rule ${found.rule}` : "";
  const command = run?.command ?? null;
  const hasIr = !report.kernels[placed.kernel ?? -1]?.without_ir;
  const reproducible = hasIr && placed.call !== null && /^[\w-]+$/.test(found.finding_id);
  const repro = `kvtrace repro ${report.trace}${only} --finding ${found.finding_id} -o repro.py`;
  return [
    ["The verdict", hasIr && <Command>{`kvtrace sanitize ${report.trace}${only}${rule}`}</Command>],
    [
      "Its accesses",
      hasIr && <Command>{`kvtrace profile ${report.trace}${only} --replay`}</Command>,
    ],
    ["The call alone", reproducible && <Command>{repro}</Command>],
    ["The program", command && <Command>{shortText(command, 2000)}</Command>],
    again(found.verdict, found.reason, command),
    ["In folder", run?.directory && <code class="wrap">{shortText(run.directory, 400)}</code>],
    ["The launch", found.invocation && <Launched text={found.invocation} />],
    ["Launched at", found.launched_at && <LaunchedAt {...found.launched_at} />],
  ];
}

/** The program once more: stopped at the launch, or with what an unknown verdict depends on recorded. */
function again(
  verdict: string,
  reason: string | null,
  command: string | null,
): [string, ComponentChildren] {
  const setting = /\bKVTRACE_TENSORS=\w+/.exec(reason ?? "")?.[0];
  if (command === null || (verdict !== "violation" && !setting)) return ["Again", null];
  const [title, settings] =
    verdict === "violation"
      ? ["Stop the program before it", "KVTRACE_SANITIZE=raise"]
      : ["Record the program again", setting];
  return [title, <Command>{`KVTRACE=again/ ${settings} ${shortText(command, 2000)}`}</Command>];
}
