// The distinct calls of a kernel.

import { useMemo } from "preact/hooks";
import { address, href, setQuery } from "../../app/router";
import {
  formatBytes,
  formatCount,
  formatFlops,
  formatGrid,
  formatNanoseconds,
  formatPart,
  gridSize,
  type Maybe,
  plural,
} from "../../data/format";
import type { Page } from "../../data/page";
import type { Call } from "../../data/types";
import { argumentSummary } from "../../parts/arguments";
import { code, figure, words } from "../../parts/columns";
import { matches, Search } from "../../parts/search";
import { type Column, Table } from "../../parts/table";
import { CallLink, type Source } from "../../parts/text";
import { variantName } from "./variants";

/** Places in the report's calls of those of a kernel. */
export function useCallsOf(page: Page, kernel: number): readonly number[] {
  return useMemo(() => {
    const { calls, kernels } = page.report;
    const variants = new Set(kernels[kernel]?.variants);
    return calls.flatMap((call, index) => (variants.has(call.variant) ? [index] : []));
  }, [page, kernel]);
}

type NumberField =
  | "launches"
  | "host_ns"
  | "host_median_ns"
  | "device_median_ns"
  | "bytes"
  | "flops"
  | "mask_efficiency"
  | "sector_efficiency";

/** Fewer calls than this are seen at a glance. */
const LEAST_SEARCHED = 8;

/** All calls of a kernel, or those that match some words. */
export function Calls(props: { page: Page; kernel: number; calls: readonly number[] }) {
  const { page, kernel, calls } = props;
  const words = address.value.query.get("calls") ?? "";
  const rows = useMemo(
    () => (words ? calls.filter((index) => matches(words, searchedText(page, index))) : calls),
    [calls, words],
  );
  return (
    <>
      <div class="toolbar">
        {calls.length < LEAST_SEARCHED ? null : (
          <Search
            label="Filter calls"
            placeholder="grid, argument, shape or value"
            value={words}
            onInput={(text) => setQuery({ calls: text })}
          />
        )}
        <span class="muted" aria-live="polite">
          {formatCount(rows.length)} of {plural(calls.length, "distinct call")};{" "}
          <a href={href("launches", { kernel })}>all launches</a>
        </span>
      </div>
      <CallTable page={page} rows={rows} />
    </>
  );
}

function searchedText(page: Page, index: number): string {
  const call = page.report.calls[index];
  if (!call) return "";
  return `call ${call.call_id} grid ${formatGrid(call.grid)} variant ${variantName(page, call.variant)} ${argumentSummary(page, call)}`;
}

function CallTable({ page, rows }: { page: Page; rows: readonly number[] }) {
  const { calls } = page.report;
  const of = (index: number): Call => calls[index] as Call;
  const some = (field: NumberField): boolean => rows.some((index) => of(index)[field] !== null);
  const known = (
    label: string,
    source: Source,
    field: NumberField,
    format: (value: Maybe<number>) => string,
    title?: string,
  ) => some(field) && figure<number>(label, source, (index) => of(index)[field], format, title);
  const columns: (Column<number> | false)[] = [
    {
      label: "Call",
      cell: (index) => <CallLink page={page} call={index} />,
      key: (index) => of(index).call_id,
    },
    {
      label: "Variant",
      cell: (index) => variantName(page, of(index).variant),
      key: (index) => of(index).variant,
    },
    words("Grid", (index) => formatGrid(of(index).grid), {
      key: (index) => gridSize(of(index).grid),
    }),
    code("Arguments", (index) => argumentSummary(page, of(index)), { prose: true }),
    {
      label: "launches",
      source: "measured",
      number: true,
      cell: (index) => (
        <a href={href("launches", { call: index })}>{formatCount(of(index).launches)}</a>
      ),
      key: (index) => of(index).launches,
    },
    known("host time", "measured", "host_ns", formatNanoseconds, "Sum over launches"),
    known(
      "host median",
      "measured",
      "host_median_ns",
      formatNanoseconds,
      "Of a launch; autotuners' and warm-ups' left out",
    ),
    known(
      "device median",
      "measured",
      "device_median_ns",
      formatNanoseconds,
      "Of an execution; autotuners' and warm-ups' left out",
    ),
    known("bytes", "derived", "bytes", formatBytes, "Of one launch, active lanes"),
    known("FLOPs", "derived", "flops", formatFlops, "Of one launch"),
    known(
      "lanes on",
      "derived",
      "mask_efficiency",
      formatPart,
      "Share of lanes that no mask switched off",
    ),
    known(
      "sectors used",
      "derived",
      "sector_efficiency",
      formatPart,
      "Share of the bytes of touched 32-byte sectors",
    ),
  ];
  return (
    <Table
      id="calls"
      caption="Distinct calls of the kernel"
      columns={columns}
      rows={rows}
      sort="host time"
      height={12}
      empty="No call is like that."
    />
  );
}
