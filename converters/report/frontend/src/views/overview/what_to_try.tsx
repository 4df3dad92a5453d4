// What to try, ranked by the time that it can win.

import { formatNanoseconds, formatPlace, formatShare, shortText } from "../../data/format";
import { page } from "../../data/page";
import { Copy } from "../../parts/copy";
import type { Advice } from "../../data/types";
import { Folded, KernelLink, Mark, Name, Section, ShareBar } from "../../parts/text";

/** How many are shown before the rest is folded. */
const SHOWN = 5;

export function WhatToTry() {
  const { answer, device_time: time } = page.report;
  const advice = answer?.advice ?? [];
  if (!answer || (!advice.length && !time)) return null;
  const most = Math.max(...advice.map((each) => each.cost_ns ?? 0));
  // what wins a known time comes first; the rest is folded away behind it
  const known = advice.filter((each) => each.cost_ns !== null).length;
  const shown = Math.min(known || SHOWN, SHOWN);
  const items = advice.map((each, place) => <Item key={place} advice={each} most={most} />);
  const rest = items.slice(shown);
  return (
    <Section
      title="What to try"
      id="what-to-try"
      aside={
        advice.length ? <Copy what="what to try" text={advice.map(asText).join("\n")} /> : null
      }
    >
      {advice.length ? (
        <ol class="advice">{items.slice(0, shown)}</ol>
      ) : (
        <p class="muted">No advice: nothing would save 2 % of the time or more.</p>
      )}
      {rest.length ? (
        <Folded of={`${rest.length} more`}>
          <ol class="advice" start={shown + 1}>
            {rest}
          </ol>
        </Folded>
      ) : null}
    </Section>
  );
}

/** A line for an issue or a chat. */
function asText({ cost_ns: cost, kernel, file, line, rule, text, figures }: Advice): string {
  const won = cost === null ? "" : `up to ${formatNanoseconds(cost)}: `;
  const place = file ? ` (${formatPlace(file, line)})` : "";
  const known = figures.map(({ name, value, how }) => `${name} ${value} (${how})`).join("; ");
  return `- ${won}${rule}: ${kernel ?? "the program"}${place}: ${text} [${known}]`;
}

function Item({ advice, most }: { advice: Advice; most: number }) {
  const { cost_ns: cost, figures, rule, text } = advice;
  const span = page.report.device_time?.busy.span_ns;
  const kernel = page.report.kernels.findIndex(
    ({ name, file }) => name === advice.kernel && (!advice.file || file === advice.file),
  );
  const steps = page.report.device_time?.steps?.number;
  return (
    <li data-rule={rule} data-value={cost ?? ""}>
      <div class="advice-cost">
        {cost === null ? (
          <span class="muted">saving not known</span>
        ) : (
          <>
            <span>
              <strong>{formatNanoseconds(cost)}</strong>{" "}
              <span class="muted">{span ? formatShare(cost, span) : ""}</span>
            </span>
            <ShareBar share={most ? cost / most : 0} />
            {steps ? (
              <span class="muted small">{formatNanoseconds(cost / steps)} per step</span>
            ) : null}
          </>
        )}
      </div>
      <div>
        <strong>{rule}</strong>{" "}
        {kernel >= 0 ? <KernelLink kernel={kernel} /> : (advice.kernel ?? "in the program")}{" "}
        {advice.file ? (
          <code title={advice.file}>{formatPlace(advice.file, advice.line)}</code>
        ) : null}
        <br />
        <Name of={shortText(text, 1000)} />
        <div class="muted small">
          {figures.map(({ name, value, how }, place) => (
            <span key={name}>
              {place ? "; " : ""}
              {name} {value}
              <Mark source={how === "measured" ? "measured" : "derived"} />
            </span>
          ))}
        </div>
      </div>
    </li>
  );
}
