// Traced NumPy graphs: their ops as a drawing and a table, live memory, and the source.

import { useCallback, useMemo } from "preact/hooks";
import { NotHere } from "@report/app/boundary";
import { chosen, chosenNumber, href, setQuery } from "@report/app/router";
import type { View, ViewProps } from "@report/app/view";
import { formatCount, formatPlace } from "@report/data/format";
import { page } from "@report/data/page";
import { useBlock } from "@report/data/use_block";
import { derived, Figures, measured } from "@report/parts/figure";
import { OpSource } from "@report/parts/op_source";
import { AddressChoice, AddressSearch, matches } from "@report/parts/search";
import { kernelName, Note, Section, Swatch, VariantLink } from "@report/parts/text";
import { framesOf, graphVariants, usersOf } from "./blocks";
import type { GraphBlock, GraphColumns } from "../model";
import { Drawing } from "./flame";
import "./graph.css";
import { GraphList, IN_AND_OUT } from "./list";
import { heatBy, measureNamed, MEASURES } from "./measures";
import { LiveMemory } from "./memory";
import { OpPanel } from "./op_panel";
import { Ends, foundOps, OpTable } from "./op_table";
import { groupedOps } from "./tree";

function GraphView({ params }: ViewProps) {
  if (params["graph"] === undefined) return <GraphList />;
  return <OneGraph key={params["graph"]} variant={Number(params["graph"])} />;
}

function OneGraph({ variant }: { variant: number }) {
  const loaded = useBlock<GraphBlock>(page, `graph/${variant}`);
  if (loaded.state === "missing") return <NotHere what="graph" />;
  const kernel = page.report.variants[variant]?.kernel ?? -1;
  return (
    <>
      <h1>
        <Swatch kernel={kernel} />
        {kernelName(kernel)}
      </h1>
      {loaded.state === "failed" ? <Note kind="warning">{loaded.reason}</Note> : null}
      {loaded.state === "ready" ? (
        <Shown variant={variant} graph={loaded.value.graph} kernel={kernel} />
      ) : null}
    </>
  );
}

interface ShownProps {
  readonly variant: number;
  readonly kernel: number;
  readonly graph: GraphColumns;
}

function Shown({ variant, kernel, graph }: ShownProps) {
  const op = chosenNumber("op");
  const [words, file, line] = [chosen("q") ?? "", chosen("file"), chosenNumber("line")];
  const measure = measureNamed(chosen("color"));
  const tree = useMemo(() => groupedOps(graph, kernelName(kernel)), [graph]);
  const users = useMemo(() => usersOf(graph), [graph]);
  const ops = useMemo(() => [...graph.opcode.keys()], [graph]);
  const frames = useCallback((op: number) => framesOf(graph, op), [graph]);
  const heat = useMemo(() => heatBy(measure, graph), [measure, graph]);
  const found = useMemo(() => foundOps(graph, { words, file, line }), [graph, words, file, line]);
  return (
    <>
      <Head variant={variant} graph={graph} />
      <Section title="Drawing" id="drawing">
        <div class="toolbar">
          <AddressSearch label="Search ops" name="q" placeholder="opcode, shape, name, line" />
          <AddressChoice
            label="Color"
            name="color"
            options={MEASURES.map(({ name, title }) => [name, `${title} (derived)`])}
          />
          {line === null ? null : (
            <button type="button" onClick={() => setQuery({ line: null, file: null })}>
              Only {formatPlace(file, line)} ×
            </button>
          )}
        </div>
        <Drawing
          graph={graph}
          tree={tree}
          users={users}
          measure={measure}
          found={found}
          chosen={op}
          seen={chosen("see")}
        />
        <OpPanel graph={graph} users={users} op={op} />
      </Section>
      <Section title="Ops" id="ops">
        <OpTable graph={graph} found={found} chosen={op} />
      </Section>
      <Section title="Live memory" id="memory">
        <LiveMemory graph={graph} chosen={op} />
      </Section>
      <Section title="Source" id="code">
        <OpSource
          variant={variant}
          label="Source that was traced"
          ops={ops}
          framesOf={frames}
          measure={heat}
          chosen={op}
          file={file}
          line={line}
        />
      </Section>
      <Section title="Inputs and outputs" id="ends-part">
        <Ends graph={graph} />
      </Section>
    </>
  );
}

function Head({ variant, graph }: { variant: number; graph: GraphColumns }) {
  const { totals } = graph;
  const intensity = totals.boundary_bytes ? totals.flops / totals.boundary_bytes : null;
  const peak = totals.peak_op === null ? null : `at %${totals.peak_op}, derived`;
  return (
    <>
      <p class="muted">
        <VariantLink variant={variant} />
      </p>
      <Figures
        id="figures"
        of={[
          measured("ops", graph.opcode.length, "count", "Recorded while it was traced"),
          derived("FLOPs", totals.flops, "flops"),
          derived("bytes in and out", totals.boundary_bytes, "bytes", IN_AND_OUT),
          derived(
            "bytes without fusion",
            totals.bytes,
            "bytes",
            "What moves if each op reads and writes memory",
          ),
          derived("FLOPs per byte", intensity, "number", "By byte of inputs and outputs"),
          derived("peak live memory", totals.peak_live_bytes, "bytes", "", peak),
        ]}
      />
    </>
  );
}

const view: View = {
  name: "graph",
  title: "Graphs",
  section: "graph",
  order: 60,
  routes: ["graphs", "graph/:graph"],
  shown: () => graphVariants().length > 0,
  badge: () => ({ text: formatCount(graphVariants().length), kind: "plain" }),
  find: (words) =>
    graphVariants()
      .map((variant) => ({ variant, kernel: page.report.variants[variant]?.kernel ?? -1 }))
      .filter(({ kernel }) => matches(words, page.report.kernels[kernel]?.name))
      .slice(0, 6)
      .map(({ variant, kernel }) => ({
        title: kernelName(kernel),
        detail: "tensor graph",
        href: href(`graph/${variant}`),
      })),
  keys: [
    ["[ ]", "In the drawing: previous or next op"],
    ["+ − 0", "In the drawing: zoom"],
  ],
  Component: GraphView,
};

export default view;
