// What an autotuner tried: the time of each configuration, and which one it kept.

import { href } from "../../app/router";
import { plural, shortText } from "../../data/format";
import { page } from "../../data/page";
import type { Trial, Tuning, Variant } from "../../data/types";
import { fieldsOf, figure, sharedFigure } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { Pill } from "../../parts/text";
import { occupied, variantName } from "./variants";

export function Tunings({ tunings }: { tunings: readonly Tuning[] }) {
  return (
    <>
      {tunings.map((tuning, place) => (
        <div key={place}>
          <p>
            {plural(tuning.trials.length, "configuration")} tried for{" "}
            <code class="wrap">{shortText(tuning.arguments, 400)}</code>
            {page.report.runs.length > 1
              ? ` in ${shortText(page.report.runs[tuning.run]?.label, 60)}`
              : ""}
            . Kept: {shortText(tuning.why)}.
          </p>
          <TrialTable
            trials={tuning.trials}
            caption={`Configurations tried for ${shortText(tuning.arguments, 120)}`}
          />
        </div>
      ))}
    </>
  );
}

function TrialTable(props: { trials: readonly Trial[]; caption: string }) {
  const { trials } = props;
  const of = ({ variant }: Trial): Variant | undefined => page.report.variants[variant];
  const field = fieldsOf(of);
  const slowest = Math.max(1, ...trials.map((trial) => trial.median_ns ?? 0));
  const names = [...new Set(trials.flatMap((trial) => Object.keys(trial.configuration)))];
  const columns: Column<Trial>[] = [
    ...names.map((name): Column<Trial> => ({
      label: shortText(name, 40),
      cell: (trial) => <code>{shortText(trial.configuration[name] ?? "–", 60)}</code>,
      key: (trial) => sortable(trial.configuration[name]),
      text: (trial) => trial.configuration[name] ?? "",
    })),
    sharedFigure(
      "median on the device",
      "measured",
      (trial) => trial.median_ns,
      slowest,
      "ns",
      "Median over its trials without the first, which is a warm-up",
    ),
    {
      label: "Winner",
      cell: (trial) => (trial.kept ? <Pill kind="fine">kept</Pill> : ""),
      key: (trial) => (trial.kept ? "kept" : null),
    },
    figure("launches", "measured", (trial) => trial.launches),
    field("registers", "compiler", "registers"),
    field("spills", "compiler", "spills"),
    field("shared", "compiler", "shared_bytes", "bytes"),
    figure("occupancy", "derived", (trial) => occupied(of(trial)), "share"),
    {
      label: "Variant",
      cell: (trial) => (
        <a href={href(`kernel/${of(trial)?.kernel ?? -1}/variant/${trial.variant}`)}>
          {variantName(trial.variant)}
        </a>
      ),
      key: (trial) => trial.variant,
    },
  ];
  return <Table caption={props.caption} columns={columns} rows={trials} height={12} />;
}

/** Numbers sort as numbers. */
function sortable(value: string | undefined): number | string | null {
  if (value === undefined) return null;
  const number = Number(value);
  return Number.isNaN(number) ? value : number;
}
