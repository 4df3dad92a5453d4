// What was judged and what was found: the list with its filters, and each finding.

import { Fragment } from "preact";
import { NotHere } from "../../app/boundary";
import { href } from "../../app/router";
import type { View, ViewProps } from "../../app/view";
import { formatCount, formatPlace, shortText } from "../../data/format";
import { page } from "../../data/page";
import { Split } from "../../parts/beside";
import { DroppedNotes, NotJudged, JudgedChip, NotReached, Note } from "../../parts/text";
import { KernelVerdicts, totals, VerdictFigures } from "./counts";
import { Detail, Steps } from "./detail";
import { causesOf, chosenFilter, listedFindings, sentence, wordsMatch } from "./filter";
import "./findings.css";
import { Filters, findingHref, FindingList } from "./list";

function Findings({ params }: ViewProps) {
  const key = params["finding"];
  const chosen = listedFindings().find((each) => each.key === key) ?? null;
  if (key !== undefined && !chosen) return <NotHere what="finding" />;
  const filter = chosenFilter();
  if (!chosen) return <Overview />;
  return (
    <>
      <h1>
        {shortText(chosen.placed.found.rule, 80)} in {shortText(chosen.placed.found.kernel, 120)}
      </h1>
      <Split
        wide="right"
        left={
          <div class="finding-side">
            <Steps listed={chosen} filter={filter} />
            <FindingList filter={filter} chosen={chosen} />
          </div>
        }
        right={<Detail key={chosen.key} listed={chosen} />}
      />
    </>
  );
}

function Overview() {
  const { report } = page;
  const filter = chosenFilter();
  const all = listedFindings();
  const hasCalls = report.totals.calls > 0;
  const judged = report.finding_counts !== null && hasCalls;
  return (
    <>
      <h1>Findings</h1>
      <DroppedNotes />
      {report.judged && hasCalls ? null : <NotJudged report={report} />}
      <NotReached report={report} />
      {judged ? <VerdictFigures /> : null}
      {report.judged && hasCalls && !all.length ? (
        <p id="no-finding">
          <JudgedChip report={report} words="no finding" /> Everything that was judged is proven.
        </p>
      ) : null}
      {all.length ? (
        <>
          <Filters filter={filter} shown={causesOf(filter).flat().length} />
          <FindingList filter={filter} chosen={null} />
          {filter.rule ? null : <Lints />}
        </>
      ) : null}
      {judged ? <KernelVerdicts rule={filter.rule} /> : null}
    </>
  );
}

/** Lints of generated code, which the list has only when their rule is chosen. */
function Lints() {
  const rules = new Set(
    listedFindings().flatMap(({ placed: { cause, found } }) => (cause === null ? found.rule : [])),
  );
  return (
    <>
      {page.report.lints.map((line) => (
        <Note key={line}>
          {line.split(";")[0]}: list{" "}
          {[...rules].map((rule, place) => (
            <Fragment key={rule}>
              {place ? ", " : ""}
              <a href={href("findings", { rule })}>{rule}</a>
            </Fragment>
          ))}
        </Note>
      ))}
    </>
  );
}

const view: View = {
  name: "findings",
  title: "Findings",
  section: "findings",
  order: 40,
  routes: ["findings", "findings/:finding"],
  badge: () => {
    const sums = totals(page.report);
    const errors = sums.get("error") ?? 0;
    const count = errors + (sums.get("warning") ?? 0);
    return count ? { text: formatCount(count), kind: errors ? "error" : "warning" } : null;
  },
  find: (words) =>
    listedFindings()
      .filter((each) => wordsMatch(each, words))
      .slice(0, 12)
      .map((each) => ({
        title: `${each.placed.found.rule} in ${each.placed.found.kernel}`,
        detail: `${formatPlace(each.placed.found.file, each.placed.found.line)}: ${shortText(sentence(each), 120)}`,
        href: findingHref(each.key, { words: "", rule: "", verdict: "", kernel: "" }),
      })),
  keys: [
    ["[ ]", "Previous or next finding"],
    ["Escape", "Back to the list"],
  ],
  Component: Findings,
};

export default view;
