// Roofline of a call under the published limits of one core of its target. Kernels ran on NumPy, so
// all figures are derived: the best that the limits allow.

import { formatBytes, formatFlops, formatRate, shortText } from "@report/data/format";
import type { TargetRoof } from "../model";
import { figure, words } from "@report/parts/columns";
import { derived, Figures } from "@report/parts/figure";
import { Table } from "@report/parts/table";
import { Note } from "@report/parts/text";

const LONGEST = "The longest of transfers, products and other arithmetic, which can overlap";
const DISTINCT = "Distinct bytes of device memory over its bandwidth";

export function TargetRoofline({ roof }: { roof: TargetRoof | null }) {
  if (!roof) return <Note>The limits of its target are not known.</Note>;
  const { position, flops, unique_bytes: bytes, bandwidth } = roof;
  return (
    <>
      <p class="small muted">
        Limits of {shortText(roof.name)} ({shortText(roof.source)}): memory{" "}
        {formatRate(bandwidth, "B/s")}. All derived: nothing ran on a device.
      </p>
      <Figures
        id="onchip-roof"
        of={[
          derived("time at best", position?.best_ns, "ns", LONGEST),
          { name: "bound by", value: null, shown: position?.bound ?? "–" },
          derived(
            "transfers",
            position?.memory_ns,
            "ns",
            DISTINCT,
            `${formatBytes(bytes)}, derived`,
          ),
          derived("arithmetic", position?.compute_ns, "ns", "", `${formatFlops(flops)}, derived`),
          derived("FLOPs per byte", bytes ? flops / bytes : null, "number"),
        ]}
      />
      <Table<Roof>
        id="onchip-limits"
        caption="Limits of the target"
        rows={roofsOf(roof)}
        columns={[
          words("Limit", ({ label }) => label),
          figure("Rate", "derived", ({ rate }) => rate, "rate"),
          figure(
            "Reached from FLOPs per byte",
            "derived",
            ({ rate }) => rate / bandwidth,
            "number",
          ),
        ]}
      />
    </>
  );
}

interface Roof {
  readonly label: string;
  /** FLOPs per second. */
  readonly rate: number;
}

/** Returns a row per engine and rate; element types of equal rate share a row. */
function roofsOf({ matrix, vector }: TargetRoof): Roof[] {
  const types = new Map<string, string[]>();
  for (const [engine, rates] of [
    ["tensor", matrix],
    ["vector", vector],
  ] as const)
    for (const [type, rate] of Object.entries(rates)) {
      const key = `${rate} ${engine} engine`;
      types.set(key, [...(types.get(key) ?? []), type]);
    }
  return [...types]
    .map(([key, names]) => ({
      label: `${key.slice(key.indexOf(" ") + 1)}, ${names.join(", ")}`,
      rate: Number.parseFloat(key),
    }))
    .sort((a, b) => b.rate - a.rate);
}
