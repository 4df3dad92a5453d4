// The unique calls of a kernel.

import { useMemo } from "preact/hooks";
import { chosen, href } from "../../app/router";
import { formatCount, formatGrid, gridSize, plural } from "../../data/format";
import { page, rowsRead } from "../../data/page";
import { type StartUp, startUpsOfCalls } from "../../data/start_up";
import type { Call } from "../../data/types";
import { argumentSummary } from "../../parts/arguments";
import { code, fieldsOf, figure, words } from "../../parts/columns";
import { AddressSearch, matches } from "../../parts/search";
import { startUpColumn } from "../../parts/start_up";
import { type Column, Table } from "../../parts/table";
import { CallLink } from "../../parts/text";
import { variantName } from "./variants";
import { HOST_TIME } from "../../parts/work_figures";

/** Places in the report's calls of those of a kernel. */
export function useCallsOf(kernel: number): readonly number[] {
  return useMemo(() => {
    const { calls, kernels } = page.report;
    const variants = new Set(kernels[kernel]?.variants);
    return calls.flatMap((call, index) => (variants.has(call.variant) ? [index] : []));
  }, [kernel]);
}

/** Fewer calls than this are seen at a glance. */
const LEAST_SEARCHED = 8;

/** All calls of a kernel, or those that match some words. */
export function Calls({ kernel, calls }: { kernel: number; calls: readonly number[] }) {
  const words = chosen("calls") ?? "";
  const rows = useMemo(
    () => (words ? calls.filter((index) => matches(words, searchedText(index))) : calls),
    [calls, words],
  );
  return (
    <>
      <div class="toolbar">
        {calls.length < LEAST_SEARCHED ? null : (
          <AddressSearch
            label="Filter calls"
            name="calls"
            placeholder="grid, argument, shape or value"
          />
        )}
        <span class="muted" aria-live="polite">
          {formatCount(rows.length)} of {plural(calls.length, "unique call")};{" "}
          <a href={href("launches", { kernel })}>all launches</a>
        </span>
      </div>
      <CallTable rows={rows} />
    </>
  );
}

function searchedText(index: number): string {
  const call = page.report.calls[index];
  if (!call) return "";
  return `call ${call.call_id} grid ${formatGrid(call.grid)} variant ${variantName(call.variant)} ${argumentSummary(call)}`;
}

/** In which order columns are left out on a narrow screen; a call's view has these figures. */
const LEAVING = [
  "Variant",
  "sectors used",
  "lanes on",
  "FLOPs",
  "bytes",
  "host median",
  "start-up",
  "Grid",
  "GPU median",
  "host time",
];

/** Which call it is: for tables whose rows are places in the report's calls. */
export function callColumns(): Column<number>[] {
  const of = (index: number): Call => page.report.calls[index] as Call;
  return [
    {
      label: "Call",
      cell: (index) => <CallLink call={index} />,
      key: (index) => of(index).call_id,
    },
    words("Variant", (index) => variantName(of(index).variant), {
      key: (index) => of(index).variant,
    }),
    words("Grid", (index) => formatGrid(of(index).grid), {
      key: (index) => gridSize(of(index).grid),
    }),
  ];
}

/** Until launches are read. */
const NONE: ReadonlyMap<number, StartUp> = new Map();

function CallTable({ rows }: { rows: readonly number[] }) {
  const { calls } = page.report;
  const of = (index: number): Call => calls[index] as Call;
  const tuned = "autotuners' and warm-ups' left out";
  const field = fieldsOf(of);
  const some = (name: keyof Call): boolean => rows.some((index) => of(index)[name] !== null);
  const host = some("host_ns");
  const started = rowsRead.value ? startUpsOfCalls() : NONE;
  const columns: (Column<number> | false)[] = [
    ...callColumns(),
    code("Arguments", (index) => argumentSummary(of(index)), { prose: true }),
    {
      ...field("launches", "measured", "launches"),
      cell: (index) => (
        <a href={href("launches", { call: index })}>{formatCount(of(index).launches)}</a>
      ),
    },
    rows.some((index) => started.has(index)) && startUpColumn((index) => started.get(index)),
    host && figure("host time", "measured", (index) => of(index).host_ns || null, "ns", HOST_TIME),
    host &&
      field("host median", "measured", "host_median_ns", "ns", `Median over launches; ${tuned}`),
    some("device_median_ns") &&
      field("GPU median", "measured", "device_median_ns", "ns", `Median over executions; ${tuned}`),
    some("bytes") &&
      field("bytes", "derived", "bytes", "bytes", "Bytes of one launch, for active lanes"),
    some("flops") && field("FLOPs", "derived", "flops", "flops", "FLOPs of one launch"),
    some("mask_efficiency") &&
      field(
        "lanes on",
        "derived",
        "mask_efficiency",
        "share",
        "Share of lanes that are not masked off",
      ),
    some("sector_efficiency") &&
      field(
        "sectors used",
        "derived",
        "sector_efficiency",
        "share",
        "Requested share of the bytes of touched 32-byte sectors",
      ),
  ];
  return (
    <Table
      id="calls"
      caption="Unique calls of the kernel"
      columns={columns}
      rows={rows}
      sort="host time"
      height={12}
      leaving={LEAVING}
      empty="No call matches."
    />
  );
}
