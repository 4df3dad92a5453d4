// The witness: one lane of one program that breaks the rule, and where its access falls.

import { useMemo } from "preact/hooks";
import { href } from "../../app/router";
import { formatBytes, formatCount, formatTuple, shortText } from "../../data/format";
import { page } from "../../data/page";
import { indexOf } from "../../data/tensors";
import type { Finding } from "../../data/types";
import { Value } from "../../parts/figure";
import { CallLink, Facts, NotDerived, Note, Section } from "../../parts/text";
import { StorageDrawing } from "./drawing";
import type { Listed } from "./filter";
import { storageOf, type StorageView } from "./storage";

export function Witness({ listed }: { listed: Listed }) {
  const { placed, status } = listed;
  const { found } = placed;
  const storage = useMemo(() => storageOf(placed), [placed]);
  return (
    <Section title={found.verdict === "unknown" ? "Access" : "Witness"} id="witness">
      {found.verdict === "unknown" ? <Undecided found={found} /> : null}
      {found.program === null && status !== "unknown" ? (
        <p class="muted">It concerns the whole call, not a single lane.</p>
      ) : null}
      <Facts
        entries={[
          ["Program", programText(found)],
          ["Against", found.other_program ? `program ${formatTuple(found.other_program)}` : null],
          ["Iteration", found.iteration === null ? null : formatCount(found.iteration)],
          ["Lane", found.lane?.length ? formatTuple(found.lane) : null],
          ["Access", accessText(found)],
          [
            "Byte",
            derivedFact(found.address_offset, "From the argument's data pointer", formatCount),
          ],
          ["Index", storage && indexText(storage)],
          ["Past the end", derivedFact(found.past_end_bytes, "", () => pastText(found))],
          ["Lanes", derivedFact(found.lanes, "Over the whole grid of one launch", lanesText)],
          ["Nearest", found.nearest && shortText(found.nearest, 200)],
          ["Call", placed.call === null ? null : <CallFact listed={listed} />],
        ]}
      />
      {found.expression === null ? null : (
        <p class="wrap">
          <span class="muted">Address </span>
          <code id="finding-expression">{shortText(found.expression, 2000)}</code>
        </p>
      )}
      {storage ? <StorageDrawing of={storage} name={found.arg ?? ""} /> : null}
      <MapLink listed={listed} storage={storage} />
    </Section>
  );
}

/** Why it could not be decided, and when it would be safe. */
function Undecided({ found }: { found: Finding }) {
  return (
    <Note>
      <span id="finding-reason">
        Unknown because {shortText(found.reason ?? "no reason was given", 600)}.
      </span>
      {found.assumption ? (
        <>
          {" "}
          Safe if <code id="finding-assumption">{shortText(found.assumption, 600)}</code>.
        </>
      ) : null}
    </Note>
  );
}

function programText({ program, grid }: Finding): string | null {
  if (!program) return null;
  return `${formatTuple(program)}${grid ? ` of grid ${formatTuple(grid)}` : ""}`;
}

function accessText({ access, arg, tensor }: Finding) {
  if (!access && !arg) return null;
  return (
    <>
      {access ?? "access"}{" "}
      {arg ? (
        <>
          of <code>{shortText(arg, 80)}</code>
        </>
      ) : null}
      {tensor ? ` (${shortText(tensor, 120)})` : ""}
    </>
  );
}

function indexText(of: StorageView): string | null {
  const { shape } = of.argument;
  const element = of.access.first / of.item;
  if (!shape?.length || !Number.isInteger(element) || element < 0) return null;
  const index = indexOf(of.axes, element);
  return index ? `[${index.join(", ")}] of [${shape.join(", ")}]` : null;
}

function derivedFact(value: number | null, how: string, text: (value: number) => string) {
  return (
    value !== null && (
      <Value source="derived" how={how}>
        {text(value)}
      </Value>
    )
  );
}

const lanesText = (lanes: number): string => `${formatCount(lanes)} break the rule`;

function pastText({ past_end_bytes: bytes, rule, arg }: Finding): string {
  const past = bytes ?? 0;
  const whose = `${shortText(arg ?? "the tensor", 80)}${rule === "out-of-view" ? ", inside its storage" : ""}`;
  const where = past < 0 ? "before the start of" : "past the end of";
  return `${formatBytes(Math.abs(past))} ${where} ${whose}`;
}

function CallFact({ listed: { placed } }: { listed: Listed }) {
  const others = placed.in_calls.filter((call) => call !== placed.call);
  const more =
    placed.found.calls > 9 ? ` and others, ${formatCount(placed.found.calls)} in all` : "";
  return (
    <>
      <CallLink call={placed.call ?? -1} />
      {others.length ? <span class="muted"> also in</span> : null}
      {others.slice(0, 8).map((call) => (
        <span key={call}>
          {" "}
          <CallLink call={call} />
        </span>
      ))}
      {others.length ? <span class="muted">{more}</span> : null}
    </>
  );
}

/** To the access map of the op, at the witness. */
function MapLink(props: { listed: Listed; storage: StorageView | null }) {
  const { storage } = props;
  const { found, call, op } = props.listed.placed;
  if (call === null || op === null) return null;
  if (!page.has(`call/${call}`)) {
    return (
      <NotDerived
        what="The accesses of this call are not on this page."
        variant={page.report.calls[call]?.variant}
      />
    );
  }
  const element = storage ? storage.access.first / storage.item : Number.NaN;
  const query = {
    op,
    p: found.program?.join(",") ?? null,
    it: found.iteration,
    el: Number.isInteger(element) ? element : null,
  };
  return (
    <p>
      <a id="to-the-map" href={href(`call/${call}`, query)}>
        {found.access ? "Show it on the access map of its op" : "Show its op in the call"}
      </a>
    </p>
  );
}
