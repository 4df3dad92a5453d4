"""Table of kernels that were written to mislead `kvtrace invariance` and its `--against`.

    python benchmarks/invariance_traps_table.py truth rows|versions [--only TEXT]
    python benchmarks/invariance_traps_table.py table rows|versions [--only TEXT]

`truth` runs each kernel in kvtrace's evaluator, in a fixed order: rows at several sizes of the
batch and every position in it, with the same data in the observed row; versions on random numbers
and on those at which they part. It fails where that is not what reading said. `table` records them
without a GPU, judges them and prints the table: a false yes says more than is true, a false no that
something differs that does not.

No GPU is needed. What a variant of another `num_warps` gives is decided by reading alone: TTIR does
not say it.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]
os.environ.setdefault("KVTRACE_DEVICE", "cpu")

import torch  # noqa: E402

import kvtrace  # noqa: E402
from benchmarks.invariance_traps.rows import ROWS, RowKernel  # noqa: E402
from benchmarks.invariance_traps.versions import VERSIONS, KernelVersions, launched  # noqa: E402
from kvtrace.addons.invariance.results import invariance_of  # noqa: E402
from kvtrace.addons.invariance.text import invariance_lines, versions_text  # noqa: E402
from kvtrace.addons.invariance.versions import same_meaning  # noqa: E402
from kvtrace.recorded_calls.recorded import Call, calls_of  # noqa: E402
from kvtrace.schema.trace import Selection, open_trace  # noqa: E402

TARGET = "cuda:90"
COMPILED = "num_warps"
RANKS = ("same", "equal", "reassociated", "exact", "violation")
"""Answers about two versions, the strongest first."""
TRUE = {"bits": 0, "sums": 2, "exact": 3, "differs": 4}
"""Up to which of these a truth allows to go, by its place."""


def recorded(launch: Any, folder: Path) -> Selection:
    """Record the launches of a function, and return the recording."""
    with kvtrace.capture(folder, target=TARGET, device="cpu"):
        launch()
    trace = open_trace(folder)
    return Selection(trace, trace.runs)


def capture_evaluated(folder: str) -> Any:
    """Return a context in which launches are recorded and evaluated."""
    return kvtrace.capture(folder, target=TARGET, device="cpu", compile="ttir")


def evaluate_in_fixed_order() -> None:
    """Let the evaluator compute launches in a fixed order from now on."""
    import kvtrace.backends.triton.evaluating_launcher as launcher
    from kvtrace.addons.invariance.launches import evaluate_ordered

    launcher.evaluate = evaluate_ordered


def raw_bytes(value: torch.Tensor) -> bytes:
    """Return a tensor's bytes."""
    return value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def rows_truth(one: RowKernel) -> bool:
    """Return whether a row's bits differ between sizes and positions."""
    distinct_bits = set()
    with tempfile.TemporaryDirectory() as folder, capture_evaluated(folder):
        for rows in one.sizes:
            distinct_bits |= {raw_bytes(one.launch(rows, position)) for position in range(rows)}
    return len(distinct_bits) > 1


def rows_judged(one: RowKernel, folder: Path) -> tuple[str, str]:
    """Return kvtrace's verdict on a kernel whose rows are compared, and the verdict's text."""
    invariance = invariance_of(
        recorded(lambda: [one.launch(rows, rows // 2) for rows in one.sizes], folder)
    )
    order = ("violation", "depends", "unknown", "whole", "proven")
    verdicts = [output.verdict for output in invariance.outputs]
    return min(verdicts, key=order.index, default="unknown"), "\n".join(
        invariance_lines(invariance, 140)
    )


def rows_remark(one: RowKernel, verdict: str) -> str:
    """Return the table's remark on a verdict on rows: right, FALSE YES, FALSE NO or unknown."""
    if verdict == "unknown":
        return "unknown"
    if verdict in ("proven", "whole"):
        return "FALSE YES" if one.varies else "right"
    return "right" if one.varies else "FALSE NO"


def versions_truth(one: KernelVersions) -> bool:
    """Return whether two versions give different bits on any input of a pair."""
    differ = False
    with tempfile.TemporaryDirectory() as folder, capture_evaluated(folder):
        for inputs in one.inputs:
            outs = [launched(one, kernel, inputs) for kernel in (one.before, one.after)]
            differ |= raw_bytes(outs[0]) != raw_bytes(outs[1])
    return differ


def versions_judged(one: KernelVersions, folder: Path) -> tuple[str, str]:
    """Return kvtrace's answer about two versions, and its text."""
    calls = []
    for version, kernel in enumerate((one.before, one.after)):
        runs = recorded(lambda kernel=kernel: launched(one, kernel, one.inputs[0]),  # type: ignore[misc]
                        folder / str(version))  # fmt: skip
        (call,) = calls_of(runs.trace, runs.runs[0])
        assert isinstance(call, Call), call
        calls.append(call)
    meanings = same_meaning(calls[0], calls[1])
    text = "\n".join(f"  {line}" for meaning in meanings for line in versions_text(meaning))
    worst = max(
        meanings,
        key=lambda meaning: (*RANKS, "sampled", "different", "unknown").index(meaning.meaning),
    )
    return worst.meaning, text


def versions_remark(one: KernelVersions, meaning: str) -> str:
    """Return the remark on an answer about versions: right, FALSE YES, FALSE NO or unknown."""
    if meaning not in RANKS:
        return "unknown"
    if meaning == "violation":
        return "FALSE NO" if one.truth == "bits" else "right"
    return "FALSE YES" if RANKS.index(meaning) < TRUE[one.truth] else "right"


def main() -> int:
    """Run the command; return 1 if an evaluation or a verdict is wrong, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("truth", "table"))
    parser.add_argument("of", choices=("rows", "versions"))
    parser.add_argument("--only")
    parser.add_argument("--text", action="store_true", help="print what kvtrace says, too")
    options = parser.parse_args()
    traps: list[Any] = ROWS if options.of == "rows" else VERSIONS
    counts: Counter[str] = Counter()
    if options.what == "truth":
        evaluate_in_fixed_order()
    for trap in traps:
        if options.only and options.only not in trap.name:
            continue
        begin = time.perf_counter()
        if options.what == "truth":
            truth = rows_truth if options.of == "rows" else versions_truth
            expected = trap.varies if options.of == "rows" else trap.truth != "bits"
            evaluated_truth = truth(trap)
            remark = (
                "right"
                if evaluated_truth == expected or COMPILED in trap.name
                else "OTHER THAN READ"
            )
            verdict = "differs" if evaluated_truth else "the same"
        else:
            folder = Path(tempfile.mkdtemp())
            judge, say = (
                (rows_judged, rows_remark) if options.of == "rows"
                else (versions_judged, versions_remark)
            )  # fmt: skip
            verdict, text = judge(trap, folder)
            remark = say(trap, verdict)
            shutil.rmtree(folder)
        counts[remark] += 1
        label = ("varies" if trap.varies else "invariant") if options.of == "rows" else trap.truth
        seconds = time.perf_counter() - begin
        print(f"| {trap.name} | {label} | {verdict} | {remark} | {seconds:.1f} s |", flush=True)
        if options.text and options.what == "table":
            print(text)
    print(dict(counts))
    return int(any(name.isupper() for name in counts))


if __name__ == "__main__":
    sys.exit(main())
