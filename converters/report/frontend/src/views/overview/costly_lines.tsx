// The lines of the program whose kernels take most GPU time.

import { href } from "../../app/router";
import { formatNanoseconds, formatShare, shortText } from "../../data/format";
import { page } from "../../data/page";
import { Name, Section, ShareBar } from "../../parts/text";

/** From this share of the GPU time on, that of unknown lines is not worth a sentence. */
const NEARLY_ALL = 0.95;

export function CostlyLines() {
  const costly = page.report.costly_lines;
  if (!costly) return null;
  const { lines, known_ns: known, device_ns: whole } = costly;
  const most = lines[0]?.device_ns ?? 1;
  return (
    <Section
      title="Lines with most GPU time"
      id="costly-lines"
      aside={<a href={href("called", { by: "source" })}>All lines</a>}
    >
      <ol class="advice">
        {lines.map(({ label, code, device_ns: ns }) => (
          <li key={label} data-value={ns}>
            <div class="advice-cost">
              <span>
                <strong>{formatNanoseconds(ns)}</strong>{" "}
                <span class="muted">{formatShare(ns, whole)}</span>
              </span>
              <ShareBar share={ns / most} />
            </div>
            <div title={code ?? undefined}>
              <Name of={shortText(label, 160)} />
              {code && !code.includes("\n") ? (
                <div class="muted small">
                  <code>{shortText(code.replace(/^\d+: /, ""), 80)}</code>
                </div>
              ) : null}
            </div>
          </li>
        ))}
      </ol>
      {known < NEARLY_ALL * whole ? (
        <p class="muted small">Lines are known of {formatShare(known, whole)} of GPU time.</p>
      ) : null}
    </Section>
  );
}
