// What changed, worst first, how much and how sure; and the rules that it was checked with.

import { useMemo } from "preact/hooks";

import { href } from "../../app/router";
import { shortText } from "../../data/format";
import { words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { Name, Note, Pill } from "../../parts/text";
import type { Answer, BoundChange, Comparison, HeadlineRow } from "./blocks";

const KINDS = { worse: "error", better: "fine", changed: "note" } as const;

function DirectionPill({ direction }: { direction: HeadlineRow["direction"] }) {
  return <Pill kind={KINDS[direction]}>{direction}</Pill>;
}

const WORDS = { yes: "fine", no: "error", "not known": "warning" } as const;

/** The answer of a page: whether it may be merged. */
export function Merge({ answers }: { answers: readonly Answer[] }) {
  const merge = answers.find(({ question }) => question === "merge");
  if (!merge) return <h1>Compare</h1>;
  return (
    <h1>
      May it be merged? <Pill kind={WORDS[merge.word]}>{merge.word}</Pill>
    </h1>
  );
}

/** The answers that it follows from whether it may be merged. */
export function Answers({ answers }: { answers: readonly Answer[] }) {
  if (!answers.length) return null;
  return (
    <dl id="compare-answers">
      {answers.map(({ question, word, text }) => (
        <div key={question}>
          <dt>
            {question}? <Pill kind={WORDS[word]}>{word}</Pill>
          </dt>
          <dd>{shortText(text, 600)}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Headline({ comparison }: { comparison: Comparison }) {
  const { headline, kernels } = comparison;
  const columns = useMemo((): Column<HeadlineRow>[] => {
    const places = new Map(kernels.map(({ name }, place) => [name, place]));
    return [
      {
        ...words("Kernel", (row) => row.kernel, { limit: 80 }),
        cell: ({ kernel }) => {
          const place = places.get(kernel);
          const name = <Name of={shortText(kernel, 80)} />;
          return (
            <span class="kernel-name">
              {place === undefined ? name : <a href={href(`compare/${place}`)}>{name}</a>}
            </span>
          );
        },
      },
      words("What changed", (row) => row.what, { prose: true, limit: 200 }),
      words("Before → after", (row) => row.values, { limit: 120 }),
      {
        label: "Change",
        number: true,
        cell: (row) => row.by,
        key: (row) => row.share,
        text: (row) => row.by,
      },
      {
        ...words("Verdict", (row) => row.direction),
        cell: (row) => <DirectionPill direction={row.direction} />,
      },
      words("Basis", (row) => row.sure),
    ];
  }, [kernels]);
  return (
    <>
      <Gate comparison={comparison} />
      <Table
        id="compare-headline"
        caption="Changes, worst first"
        columns={columns}
        rows={headline}
        height={20}
        leaving={["Basis", "Before → after", "Change"]}
        empty="Nothing changed."
      />
    </>
  );
}

function Gate({ comparison: { gate } }: { comparison: Comparison }) {
  if (!gate.rules.length) return null;
  const broken = gate.failures.map(({ rule, what, text }) => `${rule}: ${what}: ${text}`);
  const unjudged = gate.not_judged.map((rule) => `${rule}: cannot be judged`);
  const open = [...broken, ...unjudged];
  if (!open.length) return <p id="compare-gate">No rule is violated.</p>;
  return (
    <Note kind="warning">
      <span id="compare-gate">Violated rules: {shortText(open.join("; "), 2000)}</span>
    </Note>
  );
}

const BOUND_COLUMNS: readonly Column<BoundChange>[] = [
  words("Kernel", (row) => row.kernel, { limit: 80 }),
  words("Condition", (row) => row.what, { prose: true, limit: 120 }),
  words("Before", (row) => String(row.before ?? "no limit"), { prose: true, limit: 300 }),
  words("After", (row) => String(row.after ?? "no limit"), { prose: true, limit: 300 }),
  {
    ...words("Verdict", (row) => row.direction),
    cell: (row) => <DirectionPill direction={row.direction} />,
  },
  words("Why", (row) => row.text, { prose: true, limit: 300 }),
];

/** Conditions for all sizes that differ. */
export function Bounds({ comparison }: { comparison: Comparison }) {
  if (!comparison.bounds.length) {
    const why = comparison.bounds_unjudged || "Both sides have the same conditions.";
    return <p class="muted">{why}</p>;
  }
  return (
    <Table
      id="compare-bounds"
      caption="Changed conditions for all sizes"
      columns={BOUND_COLUMNS}
      rows={comparison.bounds}
      height={14}
    />
  );
}
