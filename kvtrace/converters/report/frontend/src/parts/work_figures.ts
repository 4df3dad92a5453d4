// Figures that the whole report and each of its kernels have.

import type { Maybe } from "../data/format";
import type { FigureOf } from "./figure";

interface Work {
  readonly host_ns: Maybe<number>;
  readonly compile_ns: Maybe<number>;
  readonly device_ns: Maybe<number>;
  readonly bytes: Maybe<number>;
  readonly flops: Maybe<number>;
  readonly violations: Maybe<number>;
}

type Name = "host" | "compile" | "device" | "replayed" | "violations";

/** `details`: what stands below the figures, where that is not the word for their source. */
export function workFigures(
  work: Work,
  onDevice: boolean,
  details: Partial<Readonly<Record<Name, string | null>>>,
): readonly FigureOf[] {
  const replayed = {
    how: "By kvtrace replay, of active lanes, over all runs of the calls that were replayed",
    detail: details.replayed,
  };
  const time = (
    name: string,
    value: Maybe<number>,
    how: string,
    detail: Maybe<string>,
  ): FigureOf => ({ name, value, how, detail, as: "ns", source: "measured" });
  return [
    time(
      "host time",
      work.host_ns,
      "Sum over launches, from entering the launching function to its return",
      details.host,
    ),
    time("compile time", work.compile_ns, "Sum over variants", details.compile),
    ...(onDevice
      ? [time("device time", work.device_ns, "Sum over executions", details.device)]
      : []),
    { name: "bytes moved", value: work.bytes, as: "bytes", ...replayed },
    { name: "FLOPs", value: work.flops, as: "flops", ...replayed },
    {
      name: "violations",
      value: work.violations,
      how: "Distinct ones, by kvtrace sanitize",
      detail: work.violations === null ? "run kvtrace sanitize" : details.violations,
    },
  ];
}
