// A call under the published limits of one core of its target. Nothing was timed: its kernels ran
// on NumPy, so the point is where the limits let it be.

import { useMemo } from "preact/hooks";

import { theme } from "../../app/theme";
import {
  formatBytes,
  formatFlops,
  formatNanoseconds,
  formatRate,
  shortText,
  threeFigures,
} from "../../data/format";
import { WithTable } from "../../parts/beside";
import { themeColours } from "../../parts/colours";
import { Curve, type Series } from "../../parts/curve";
import { Figure, Figures } from "../../parts/figure";
import { Table } from "../../parts/table";
import { Note } from "../../parts/text";
import type { TargetRoof } from "../../data/types";

export function TargetRoofline({ roof }: { roof: TargetRoof | null }) {
  if (!roof) return <Note>The limits of its target are not known.</Note>;
  const { position, flops, unique_bytes: bytes } = roof;
  const intensity = bytes ? flops / bytes : null;
  return (
    <>
      <p class="small muted">
        Limits of {shortText(roof.name)} ({shortText(roof.source)}): memory{" "}
        {formatRate(roof.bandwidth, "B/s")}. All derived: nothing ran on a device.
      </p>
      <Figures id="onchip-roof">
        <Figure
          name="time at best"
          value={position?.best_ns}
          format={formatNanoseconds}
          how="The longest of transfers, products and other arithmetic, which can overlap"
        />
        <Figure name="bound by" value={null} shown={position?.bound ?? "–"} />
        <Figure
          name="transfers"
          value={position?.memory_ns}
          format={formatNanoseconds}
          how="Distinct bytes of device memory over its bandwidth"
          detail={`${formatBytes(bytes)}, derived`}
        />
        <Figure
          name="arithmetic"
          value={position?.compute_ns}
          format={formatNanoseconds}
          detail={`${formatFlops(flops)}, derived`}
        />
        <Figure
          name="FLOPs by byte"
          value={intensity}
          shown={intensity === null ? "–" : threeFigures(intensity)}
        />
      </Figures>
      {position && intensity && flops ? (
        <Chart roof={roof} intensity={intensity} rate={(flops / position.best_ns) * 1e9} />
      ) : null}
    </>
  );
}

interface Roof {
  readonly label: string;
  readonly rate: number;
}

function roofsOf({ matrix, vector }: TargetRoof): readonly Roof[] {
  const all = [
    ...Object.entries(matrix).map(([type, rate]) => ({ label: `tensor engine, ${type}`, rate })),
    ...Object.entries(vector).map(([type, rate]) => ({ label: `vector engine, ${type}`, rate })),
  ];
  const byRate = new Map<number, string[]>();
  for (const { label, rate } of all) byRate.set(rate, [...(byRate.get(rate) ?? []), label]);
  return [...byRate]
    .map(([rate, labels]) => ({
      label: labels.join(" and ").replaceAll(/ and (?:tensor|vector) engine,/g, ","),
      rate,
    }))
    .sort((a, b) => b.rate - a.rate);
}

function Chart({ roof, intensity, rate }: { roof: TargetRoof; intensity: number; rate: number }) {
  const roofs = useMemo(() => roofsOf(roof), [roof]);
  const x = useMemo(() => {
    const ridges = roofs.map((each) => each.rate / roof.bandwidth);
    const all = [intensity, ...ridges];
    return [Math.min(...all) / 4, ...all, Math.max(...all) * 4].sort((a, b) => a - b);
  }, [roofs, intensity]);
  const series = useMemo((): readonly Series[] => {
    const colours = themeColours();
    return [
      ...roofs.map((each) => ({
        label: each.label,
        kind: "line" as const,
        colour: colours.muted,
        values: x.map((at) => Math.min(roof.bandwidth * at, each.rate)),
      })),
      {
        label: "this call at best",
        kind: "points",
        colour: colours.warning,
        values: x.map((at) => (at === intensity ? rate : null)),
      },
    ];
  }, [x, rate, theme.value]);
  return (
    <WithTable
      name="roofline"
      canvas={
        <Curve
          label={`Roofline: this call at ${threeFigures(intensity)} FLOPs per byte could do ${formatRate(rate, "FLOP/s")} at best`}
          x={x}
          series={series}
          xLabel="FLOPs per distinct byte"
          yLabel="FLOP/s (derived)"
          xLogarithmic
          yLogarithmic
          formatX={threeFigures}
          formatY={(value) => formatRate(value, "")}
          height={260}
        />
      }
      table={() => (
        <Table
          caption="Limits of the target"
          rows={roofs}
          columns={[
            { label: "Limit", cell: ({ label }) => label, key: ({ label }) => label },
            {
              label: "Rate",
              number: true,
              source: "derived",
              cell: (each) => formatRate(each.rate, "FLOP/s"),
              key: (each) => each.rate,
            },
            {
              label: "Reached from FLOPs per byte",
              number: true,
              source: "derived",
              cell: (each) => threeFigures(each.rate / roof.bandwidth),
              key: (each) => each.rate,
            },
          ]}
        />
      )}
    />
  );
}
