// The arguments of a call as a table.

import { useMemo } from "preact/hooks";
import { formatBytes, formatTuple, shortText } from "../data/format";
import { page } from "../data/page";
import type { Argument, Call } from "../data/types";
import { code } from "./columns";
import { type Column, Table } from "./table";

export function callArguments(call: Call): Argument[] {
  return call.args.flatMap((index) => page.report.arguments[index] ?? []);
}

/** Tensors' shapes and scalars in one line; constants belong to the variant. */
export function argumentSummary(call: Call): string {
  return callArguments(call)
    .filter((argument) => argument.kind !== "constexpr")
    .map((argument) => `${argument.name ?? "?"} ${shapeOrValue(argument)}`)
    .join(", ");
}

function shapeOrValue(argument: Argument): string {
  if (!argument.shape) return `= ${shortText(argument.scalar, 40)}`;
  return `${argument.dtype ?? ""}[${argument.shape.join(",")}]`;
}

export function ArgumentTable(props: { call: Call; brief?: boolean }) {
  const rows = useMemo(() => callArguments(props.call), [props.call]);
  const full = !props.brief;
  const columns: (Column<Argument> | false)[] = [
    code("Argument", (each) => each.name, { limit: 80 }),
    full && { label: "Kind", cell: (each) => each.kind ?? "–" },
    { label: "Type", cell: (each) => each.dtype ?? (full ? "" : (each.kind ?? "")) },
    code("Shape or value", (each) => valueText(each), { prose: true }),
    {
      label: "Strides",
      cell: (each) => (each.strides ? <code>{formatTuple(each.strides)}</code> : ""),
      text: (each) => (each.strides ? formatTuple(each.strides) : ""),
    },
    full && size("offset", "offset_bytes"),
    full && size("storage", "storage_bytes"),
    full && { label: "Device", cell: (each) => each.device ?? "" },
    full && { label: "Same storage as", cell: (each) => aliasName(each, rows) },
  ];
  return (
    <Table caption="Arguments" columns={columns} rows={rows} empty="No arguments were recorded." />
  );
}

function valueText(argument: Argument): string {
  return argument.shape ? formatTuple(argument.shape) : shortText(argument.scalar ?? "");
}

function size(label: string, field: "offset_bytes" | "storage_bytes"): Column<Argument> {
  return {
    label,
    number: true,
    cell: (each) => (each[field] === null ? "" : formatBytes(each[field])),
    text: (each) => String(each[field] ?? ""),
  };
}

/** The first argument with the same storage, when that is another one. */
function aliasName(argument: Argument, rows: readonly Argument[]): string {
  if (argument.alias_group === null) return "";
  const first = rows.find((other) => other.alias_group === argument.alias_group);
  return first && first !== argument ? (first.name ?? "–") : "";
}
