// One name over all places where it is called: who calls it, and what it calls.

import { useMemo } from "preact/hooks";
import { chosen, setQuery } from "../../app/router";
import { formatShare, plural } from "../../data/format";
import type { CalledBlock } from "../../data/types";
import { figure, sharedFigure, words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { type Around, calleesOf, callersOf, type Measure, measuresOf, namesakes } from "./tree";

interface NameProps {
  readonly block: CalledBlock;
  readonly known: readonly Measure[];
  readonly at: number;
}

export function CallersAndCallees({ block, known, at }: NameProps) {
  const callers = useMemo(() => callersOf(block, at), [block, at]);
  const callees = useMemo(() => calleesOf(block, at), [block, at]);
  const places = useMemo(() => namesakes(block, at), [block, at]);
  if (at === 0) return null;
  return (
    <>
      <h3>Callers and callees, over {plural(places.length, "place")} of this name</h3>
      <div class="columns" id="sandwich">
        <Names caption="Callers" block={block} known={known} rows={callers} />
        {callees.length ? (
          <Names caption="Callees" block={block} known={known} rows={callees} />
        ) : null}
      </div>
    </>
  );
}

function Names(props: Omit<NameProps, "at"> & { caption: string; rows: readonly Around[] }) {
  const { block, known, rows, caption } = props;
  const [, measure] = measuresOf(block, chosen("measure"));
  const sum =
    (name: Measure["name"]) =>
    ({ steps }: Around): number =>
      steps.reduce((all, step) => all + (block.figures[name]?.[step] ?? 0), 0);
  const whole = rows.reduce((all, row) => all + sum(measure.name)(row), 0);
  const columns: readonly Column<Around>[] = [
    words(caption, ({ label }) => label, { prose: true }),
    sharedFigure("share", measure.source, sum(measure.name), whole, (value) =>
      formatShare(value, whole),
    ),
    ...known.map(({ name, title, source, as, how }) =>
      figure<Around>(title, source, (row) => sum(name)(row) || null, as, how),
    ),
    figure("places", null, ({ steps }) => steps.length),
  ];
  return (
    <Table
      caption={caption}
      columns={columns}
      rows={rows}
      sort="share"
      height={10}
      leaving={["compile time", "executions", "host time", "bytes"]}
      onChoose={({ first }) => setQuery({ at: first })}
      empty="None."
    />
  );
}
