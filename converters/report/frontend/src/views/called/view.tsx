// Where kernels are called from: a flame graph and a table of the same frames.

import { useMemo } from "preact/hooks";
import { chosen, chosenNumber, setQuery } from "../../app/router";
import type { View, ViewProps } from "../../app/view";
import { formatPlace, formatShare, formatted, plural, shortText } from "../../data/format";
import { page } from "../../data/page";
import type { CalledBlock } from "../../data/types";
import { useBlock } from "../../data/use_block";
import { figure, sharedFigure, words } from "../../parts/columns";
import { Figures } from "../../parts/figure";
import { Flame, NARROWEST } from "../../parts/flame";
import { AddressChoice, AddressSearch, matches } from "../../parts/search";
import { type Column, Table } from "../../parts/table";
import { DroppedNotes, KernelLink, Missing, Note, Section, WindowNote } from "../../parts/text";
import "./called.css";
import { CallersAndCallees } from "./sandwich";
import { boxesOf, depthsOf, endsOf, type Measure, measuresOf, within } from "./tree";

const GROUPINGS: readonly (readonly [name: string, title: string])[] = [
  ["stack", "call stack"],
  ["frames", "call stack, every frame"],
  ["module", "nn.Module"],
  ["source", "source line"],
  ["op", "operator"],
];

function Called({ page }: ViewProps) {
  const named = chosen("by");
  const by = GROUPINGS.some(([name]) => name === named) ? named : "stack";
  const loaded = useBlock<CalledBlock>(page, `called/${by}`);
  return (
    <>
      <h1>Called from</h1>
      <DroppedNotes />
      <WindowNote />
      <div class="toolbar">
        <AddressChoice label="By" name="by" options={GROUPINGS} also={{ at: null, see: null }} />
        {loaded.state === "ready" ? <MeasureChoice block={loaded.value} /> : null}
        <AddressSearch id="called-filter" label="Find" name="q" placeholder="name or file" />
      </div>
      {loaded.state === "failed" ? <Note kind="warning">{loaded.reason}</Note> : null}
      {loaded.state === "missing" ? (
        <Missing
          what="This tree is not on the page. To see it:"
          command={`kvtrace profile ${page.report.trace} --by ${by}`}
        />
      ) : null}
      {loaded.state === "ready" ? <Tree key={by} block={loaded.value} /> : null}
    </>
  );
}

function MeasureChoice({ block }: { block: CalledBlock }) {
  const [known] = measuresOf(block, null);
  return (
    <AddressChoice
      label="Measure"
      name="measure"
      options={known.map(({ name, title, source }) => [name, `${title} (${source})`])}
    />
  );
}

function Tree({ block }: { block: CalledBlock }) {
  const [known, measure] = measuresOf(block, chosen("measure"));
  const values = block.figures[measure.name] ?? [];
  const place = (name: string): number | null => {
    const step = chosenNumber(name);
    return step !== null && step < block.parent.length ? step : null;
  };
  const [at, see] = [place("at"), place("see") ?? 0];
  if (block.parent.length < 2) return <Note>No kernel was launched.</Note>;
  return (
    <>
      <Drawing block={block} measure={measure} values={values} at={at} see={see} />
      {at === null ? null : (
        <Section title={shortText(block.label[at], 160)} id="step">
          <Step block={block} known={known} at={at} see={see} />
        </Section>
      )}
      <Section title="Frames" id="steps">
        <Steps block={block} known={known} measure={measure} at={at} see={see} />
      </Section>
      {block.notes.map((note) => (
        <p class="muted small" key={note}>
          {note}
        </p>
      ))}
    </>
  );
}

interface DrawingProps {
  readonly block: CalledBlock;
  readonly measure: Measure;
  readonly values: readonly number[];
  readonly at: number | null;
  /** The step that fills the width. */
  readonly see: number;
}

function Drawing({ block, measure, values, at, see }: DrawingProps) {
  const words = chosen("q") ?? "";
  const found = useMemo(() => matching(block, words), [block, words]);
  const boxes = useMemo(() => boxesOf(block, values, see, NARROWEST), [block, values, see]);
  const whole = values[see] ?? 0;
  const choose = (step: number | undefined): void => {
    if (step !== undefined) setQuery({ at: step });
  };
  const zoom = (step: number): void => setQuery({ see: step || null });
  const now = boxes.find(({ step }) => step === at) ?? boxes[0];
  const beside = (by: number): number | undefined => {
    const level = boxes.filter(({ depth }) => depth === now?.depth);
    return level[level.findIndex(({ step }) => step === now?.step) + by]?.step;
  };
  const above = now && now.depth > 0 ? block.parent[now.step] : undefined;
  const below = boxes.find(({ step }) => block.parent[step] === now?.step)?.step;
  const keys: Readonly<Record<string, () => void>> = {
    ArrowUp: () => choose(above),
    ArrowDown: () => choose(below),
    ArrowLeft: () => choose(beside(-1)),
    ArrowRight: () => choose(beside(1)),
    Enter: () => zoom(now?.step ?? 0),
    "-": () => zoom(Math.max(block.parent[see] ?? 0, 0)),
    "0": () => zoom(0),
    Escape: () => setQuery({ at: null }),
  };
  if (!whole)
    return (
      <Note>
        No {measure.title} is known of {see ? "this frame" : "any frame"}.
      </Note>
    );
  return (
    <div id="called-drawing">
      <Flame
        label={`Frames by ${measure.title}. Arrow keys move between frames, Enter zooms to one, 0 shows all. The table of frames below has the same data.`}
        keys={keys}
        boxes={boxes.map(({ step, depth, left, width }) => ({
          key: String(step),
          depth,
          left,
          width,
          label: shortText(block.label[step], 120),
          title: `${shortText(block.label[step])}: ${formatted(values[step], measure.as)}, ${formatShare(values[step], values[0])} (${measure.source})`,
          heat: depth ? width : 0,
          mark: step === at ? "chosen" : words ? (found.steps.has(step) ? "found" : "other") : "",
          onClick: () => (step === at ? zoom(step) : choose(step)),
        }))}
      />
      <p class="muted small">
        A box is as wide as its share of {measure.title}. Click a box to see its figures, callers
        and callees; click again to zoom to it.{" "}
        {words ? (
          <span aria-live="polite" id="called-found">
            {plural(found.steps.size, "frame")} found, outlined:{" "}
            {formatted(summed(values, found.outermost), measure.as)},{" "}
            {formatShare(summed(values, found.outermost), values[0])}.{" "}
          </span>
        ) : null}
        {see ? (
          <button type="button" onClick={() => zoom(0)}>
            Show all
          </button>
        ) : null}
      </p>
    </div>
  );
}

/** Steps whose name or file has all words. */
function matching(block: CalledBlock, words: string): ReturnType<typeof within> {
  return within(
    block,
    (step) => step > 0 && words !== "" && matches(words, block.label[step], block.file[step]),
  );
}

function summed(values: readonly number[], steps: readonly number[]): number {
  return steps.reduce((sum, step) => sum + (values[step] ?? 0), 0);
}

interface StepProps {
  readonly block: CalledBlock;
  readonly known: readonly Measure[];
  readonly at: number | null;
  readonly see: number;
}

function Step({ block, known, at, see }: StepProps & { readonly at: number }) {
  const kernel = block.kernel[at] ?? -1;
  const [file, note] = [block.file[at], block.note[at]];
  return (
    <>
      {kernel < 0 ? null : <KernelLink kernel={kernel} />}
      {file ? (
        <p class="muted">
          <code>
            {shortText(file)}
            {block.line[at] ? `:${block.line[at]}` : ""}
          </code>
        </p>
      ) : null}
      {note ? <pre class="called-note">{shortText(note, 2000)}</pre> : null}
      <Figures
        id="step-figures"
        of={known.map(({ name, title, source, as, how }) => ({
          name: title,
          value: block.figures[name]?.[at],
          as,
          source,
          how,
          detail: `${formatShare(block.figures[name]?.[at], block.figures[name]?.[0])} of all, ${source}`,
        }))}
      />
      {at === see || block.kernel[at] !== -1 ? null : (
        <button type="button" onClick={() => setQuery({ see: at || null })}>
          Zoom to it
        </button>
      )}
      <CallersAndCallees block={block} known={known} at={at} />
    </>
  );
}

function Steps({ block, known, measure, at, see }: StepProps & { readonly measure: Measure }) {
  const filter = chosen("q") ?? "";
  const rows = useMemo(() => {
    const end = endsOf(block)[see] ?? block.parent.length;
    const all = Uint32Array.from({ length: end - see }, (_, index) => see + index);
    const { steps } = matching(block, filter);
    return filter ? all.filter((step) => steps.has(step)) : all;
  }, [block, see, filter]);
  const columns = useMemo<readonly Column<number>[]>(() => {
    const depths = depthsOf(block);
    const indent = (step: number): string => `${(depths[step] ?? 0) - (depths[see] ?? 0)}em`;
    const first = block.figures[measure.name] ?? [];
    return [
      {
        label: "Frame",
        cell: (step) => (
          <span style={{ paddingInlineStart: indent(step) }}>
            {shortText(block.label[step], 120)}
          </span>
        ),
        key: (step) => block.label[step],
      },
      sharedFigure<number>(
        "share",
        measure.source,
        (step) => first[step],
        first[0] ?? 0,
        (value) => formatShare(value, first[0]),
        `Share of ${measure.title}. ${measure.how}`,
      ),
      ...known.map(({ name, title, source, as, how }) =>
        figure<number>(title, source, (step) => block.figures[name]?.[step] || null, as, how),
      ),
      words<number>("Place", (step) => formatPlace(block.file[step], block.line[step])),
    ];
  }, [block, known.length, measure.name, see]);
  return (
    <Table
      id="steps-table"
      caption="Frames, each before the frames that it calls"
      columns={columns}
      rows={rows}
      leaving={["Place", "compile time", "executions", "host time", "bytes"]}
      chosen={at}
      onChoose={(step) => setQuery({ at: step })}
      height={20}
      empty="No frame matches."
    />
  );
}

const view: View = {
  name: "called",
  title: "Called from",
  section: "called",
  order: 45,
  routes: ["called"],
  shown: () => page.names("called/").length > 0,
  keys: [
    ["← → ↑ ↓", "In the flame graph: another frame"],
    ["Enter − 0", "In the flame graph: zoom"],
  ],
  Component: Called,
};

export default view;
