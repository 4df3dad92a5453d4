// What was judged and what was found: the list with its filters, and each finding.

import { NotHere } from "../../app/boundary";
import type { View, ViewProps } from "../../app/view";
import { formatCount, formatPlace, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import { DroppedNotes, NotJudged, Pill } from "../../parts/text";
import { KernelVerdicts, VerdictFigures } from "./counts";
import { Detail, Steps } from "./detail";
import { filtered, filterOf, listedFindings, sentence, wordsMatch } from "./filter";
import "./findings.css";
import { Filters, findingHref, FindingList } from "./list";

function Findings(props: ViewProps) {
  const { page, params, query } = props;
  const key = params["finding"];
  const chosen = listedFindings(page).find((each) => each.key === key) ?? null;
  if (key !== undefined && !chosen) return <NotHere what="finding" />;
  const filter = filterOf(query);
  if (!chosen) return <Overview {...props} />;
  return (
    <>
      <h1>
        {shortText(chosen.placed.found.rule, 80)} in {shortText(chosen.placed.found.kernel, 120)}
      </h1>
      <div class="finding-split">
        <div class="finding-side">
          <Steps page={page} listed={chosen} filter={filter} />
          <FindingList page={page} filter={filter} chosen={chosen} />
        </div>
        <Detail key={chosen.key} page={page} listed={chosen} filter={filter} query={query} />
      </div>
    </>
  );
}

function Overview({ page, query }: ViewProps) {
  const { report } = page;
  const filter = filterOf(query);
  const all = listedFindings(page);
  const judged = report.finding_counts !== null;
  return (
    <>
      <h1>Findings</h1>
      <DroppedNotes page={page} />
      {report.judged ? null : <NotJudged report={report} />}
      {judged ? <VerdictFigures page={page} /> : null}
      {report.judged && !all.length ? (
        <p id="no-finding">
          <Pill kind="fine">no finding</Pill> Everything that was judged is proven.
        </p>
      ) : null}
      {all.length ? (
        <>
          <Filters page={page} filter={filter} shown={filtered(page, filter).length} />
          <FindingList page={page} filter={filter} chosen={null} />
        </>
      ) : null}
      {judged ? <KernelVerdicts page={page} rule={filter.rule} /> : null}
    </>
  );
}

function violations(page: Page): number {
  return listedFindings(page).filter(
    ({ standing, placed }) => standing === "violation" && placed.found.severity !== "note",
  ).length;
}

const view: View = {
  name: "findings",
  title: "Findings",
  section: "findings",
  order: 40,
  routes: ["findings", "findings/:finding"],
  badge: (page) => {
    const count = violations(page);
    if (!count) return null;
    const errors = listedFindings(page).some(
      ({ standing, placed }) => standing === "violation" && placed.found.severity === "error",
    );
    return { text: formatCount(count), kind: errors ? "error" : "warning" };
  },
  find: (page, words) =>
    listedFindings(page)
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
