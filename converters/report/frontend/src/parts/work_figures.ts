// Figures that the whole report and each of its kernels have.

import type { Maybe } from "../data/format";
import { page } from "../data/page";
import { derived, type FigureOf, measured } from "./figure";

interface Work {
  readonly host_ns: Maybe<number>;
  readonly compile_ns: Maybe<number>;
  readonly device_ns: Maybe<number>;
  readonly bytes: Maybe<number>;
  readonly flops: Maybe<number>;
  readonly violations: Maybe<number>;
  /** Of a kernel: it cannot be judged. */
  readonly without_ir?: boolean;
}

type Name = "host" | "compile" | "device" | "replayed" | "violations";

export const HOST_TIME =
  "Sum over launches, from entering the launching function to its return, without launches that compiled, loaded or tuned their kernel";
const REPLAYED = "Derived from the IR: bytes of active lanes, over all runs of replayed calls";

/** What fills bytes and FLOPs, unless nothing can as there is no IR. */
export function replayAdvice(withoutIr: boolean): string {
  return withoutIr ? "there is no IR" : "run kvtrace profile --replay";
}

/** `details`: what is shown below the figures. */
export function workFigures(
  work: Work,
  onDevice: boolean,
  details: Partial<Readonly<Record<Name, string | null>>>,
): readonly FigureOf[] {
  const withoutIr = work.without_ir ?? page.report.without_ir !== null;
  const howToJudge = withoutIr ? "there is no IR" : "run kvtrace sanitize";
  const judged = work.violations === null ? howToJudge : details.violations;
  return [
    measured(
      "host time",
      work.host_ns || null,
      "ns",
      HOST_TIME,
      work.host_ns ? details.host : "only launches that compiled",
    ),
    measured(
      "compile time",
      work.compile_ns,
      "ns",
      "Sum over variants and threads, in the whole run",
      details.compile,
    ),
    ...(onDevice
      ? [measured("GPU time", work.device_ns, "ns", "Sum over executions", details.device)]
      : []),
    derived("bytes moved", work.bytes, "bytes", REPLAYED, details.replayed),
    derived("FLOPs", work.flops, "flops", REPLAYED, details.replayed),
    {
      ...derived(
        "errors and warnings",
        work.violations,
        "count",
        "Errors and warnings on accesses, over unique calls, by kvtrace sanitize",
        judged,
      ),
      urgent: Boolean(work.violations),
    },
  ];
}
