// The records of an op's accesses, as the trace has them.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { formatCount } from "../../data/format";
import { type Column, Table } from "../../parts/table";
import type { Access } from "./blocks";
import { executionsOf } from "./layout";
import { type Place, programText } from "./state";

export function Records(props: { accesses: readonly Access[]; grid: Place }): JSX.Element {
  const rows = useMemo(() => props.accesses, [props.accesses]);
  const figure = (label: string, read: (access: Access) => number | null): Column<Access> => ({
    label,
    source: "derived",
    number: true,
    cell: (access) => formatCount(read(access)),
    key: read,
  });
  const columns: Column<Access>[] = [
    {
      label: "Program",
      cell: ({ program }) => (program === null ? "several" : programText(program, props.grid)),
    },
    {
      label: "Iteration",
      cell: ({ iteration, layout }) =>
        iteration ?? ((layout?.trips?.[1].length ?? 0) > 0 ? "several" : "–"),
    },
    figure("executions", executionsOf),
    figure("first byte", ({ first }) => first),
    figure("last byte", ({ last }) => last),
    figure("active lanes", ({ active }) => active),
    {
      label: "Layout",
      prose: true,
      cell: ({ layout }) => (
        <code class="small">{layout === null ? "not told" : JSON.stringify(layout)}</code>
      ),
      text: ({ layout }) => JSON.stringify(layout),
    },
  ];
  return (
    <Table
      id="records"
      caption="Records of the op's accesses"
      columns={columns}
      rows={rows}
      height={10}
    />
  );
}
