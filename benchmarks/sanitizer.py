"""Speed of judging a unique call: kvtrace's rules beside Triton-Viz's sanitizer.

    python benchmarks/sanitizer.py [--rounds 3] [--only TEXT] [--json FILE]

Method: one run on one machine. Each tool is a separate process, held to one thread, that keeps
still until it is asked; the kernels are measured in rounds, and within a round every tool has
its turn at a kernel before the next kernel comes. A figure is the best round; a round is the median
of as many calls as half a second holds, one at least. Every call is a distinct one.

Triton-Viz   its sanitizer, launched over the whole grid, warm: the process has launched the kernel
             before, and what the sanitizer keeps of it is dropped. It looks for accesses that leave
             their tensor
bounds       kvtrace's rules out-of-bounds and out-of-view, on a kernel seen before: like for like
all          all rules that are on by default: races, overflow, alignment, ... too
cold         the first call of a kernel, from the text of its IR

A call of kvtrace is judged from what was recorded of it: shapes, strides, scalars, and for the
gather the contents of the index. Triton-Viz is given the tensors themselves. Neither runs the
kernel's arithmetic.

The second table is a vector add over more and more programs: nothing of it may depend on their
number.
"""

import json
import math
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from evaluator import (
    HERE,
    ROOT,
    Run,
    Worker,
    compile_cases,
    keep,
    make_peer_environment,
    option_parser,
    print_facts,
)
from sanitizer_kernels import cases

OURS = ("bounds", "all", "cold bounds", "cold all")
PEER = "Triton-Viz"
SECONDS = 0.5
PROGRAMS = tuple(10**power for power in range(3, 10))
GATHER = "gather"

Figures = dict[str, dict[str, dict[str, Any]]]


class Benchmark:
    """Both worker processes, and the best times measured so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = os.pathsep.join((str(HERE), str(ROOT)))
        self.peer = Worker(
            make_peer_environment(), "sanitizer_peers", "", {"PYTHONPATH": str(HERE)},
            folder / "peer.log",
        )  # fmt: skip
        self.ours = Worker(
            Path(sys.executable), "sanitizer_ours", str(folder),
            {"PYTHONPATH": path, "XDG_CACHE_HOME": str(folder / "cache")}, folder / "ours.log",
        )  # fmt: skip
        self.figures: Figures = {}
        self.series: dict[str, dict[str, Any]] = {}

    def measure(self, case: str) -> None:
        """Measure one round of one kernel with both tools, and store best times."""
        best = self.figures.setdefault(case, {})
        keep(best, PEER, self.peer.ask(case=case, budget=SECONDS))
        for figure in OURS:
            keep(best, figure, self.ours.ask(case=case, what=figure, budget=SECONDS))

    def measure_series(self) -> None:
        """Measure one round of the vector add over growing grids."""
        for programs in PROGRAMS:
            answer = self.ours.ask(what="grid", programs=programs, budget=SECONDS)
            keep(self.series, str(programs), answer)

    def end(self) -> None:
        """End every process."""
        self.peer.end()
        self.ours.end()


def main() -> None:
    """Measure and print."""
    options = option_parser(__doc__).parse_args()
    run = Run()
    with tempfile.TemporaryDirectory(prefix="kvtrace-benchmark-") as name:
        benchmark = Benchmark(Path(name))
        compile_cases(benchmark.ours)
        expected = [case for case in cases() if options.only in case]
        for number in range(options.rounds):
            for case in expected:
                print(f"round {number + 1} of {options.rounds}: {case}", file=sys.stderr)
                benchmark.measure(case)
            benchmark.measure_series()
        versions = {
            "kvtrace": benchmark.ours.ask(what="versions"),
            PEER: benchmark.peer.ask(versions=True),
        }
        benchmark.end()
    result = {
        **run.facts(versions, options.rounds),
        "cases": benchmark.figures,
        "programs": benchmark.series,
    }
    print_result(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


def print_result(result: dict[str, Any]) -> None:
    """Print all tables of a result in Markdown, for RESULTS.md."""
    print_facts(result)
    for clock in ("wall", "processor"):
        print_times(result["cases"], clock)
    print_answers(result["cases"])
    print_targets(print_ratios(result["cases"], "wall"))
    print_targets(print_ratios(result["cases"], "processor"))
    print_series(result["programs"])


def print_times(figures: Figures, clock: str) -> None:
    """Print milliseconds of one unique call."""
    print(f"\nMilliseconds of {'the wall clock' if clock == 'wall' else 'processor time'} a call\n")
    print(f"| kernel | {PEER} | " + " | ".join(OURS) + " |")
    print("|---|" + "---:|" * (1 + len(OURS)))
    for case, answers in figures.items():
        cells = [milliseconds(answers[name], clock) for name in (PEER, *OURS)]
        print(f"| {case} | " + " | ".join(cells) + " |")


def milliseconds(answer: dict[str, Any], clock: str) -> str:
    if "failed" in answer:
        return "failed"
    value = answer[clock] * 1e3
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3f}"


def print_answers(figures: Figures) -> None:
    """Print the tools' verdicts on the calls, none of which has a defect."""
    print()
    for case, answers in figures.items():
        ours = answers["all"]
        if "failed" in ours or "failed" in answers[PEER]:
            print(f"{case}: {ours.get('failed', '')} {answers[PEER].get('failed', '')}")
            continue
        print(
            f"{case}: {ours['proven']} verdicts proven ({', '.join(ours['methods'])}), "
            f"{ours['violation']} violations, {ours['unknown']} unknown; {PEER} finds nothing"
        )
        for reason in ours["open"]:
            print(f"  unknown: {reason}")


def print_ratios(figures: Figures, clock: str) -> dict[str, dict[str, float]]:
    """Print and return how many times faster kvtrace is, by kind of figure and case."""
    print(f"\nRatios of {'the wall clock' if clock == 'wall' else 'processor time'}\n")
    print(f"| kernel | {PEER} / " + f" | {PEER} / ".join(OURS) + " |")
    print("|---|" + "---:|" * len(OURS))
    columns: dict[str, dict[str, float]] = {figure: {} for figure in OURS}
    for case, answers in figures.items():
        for figure in OURS:
            if clock in answers[PEER] and clock in answers[figure]:
                columns[figure][case] = answers[PEER][clock] / answers[figure][clock]
        cells = [f"{columns[figure].get(case, math.nan):,.1f}" for figure in OURS]
        print(f"| {case} | " + " | ".join(cells) + " |")
    medians = [f"{median(affine(columns[figure])):,.1f}" for figure in OURS]
    print("| **median, without the gather** | " + " | ".join(medians) + " |")
    return columns


def affine(column: dict[str, float]) -> list[float]:
    """Return the ratios in a column for kernels whose addresses do not depend on data."""
    return [ratio for case, ratio in column.items() if GATHER not in case]


def median(ratios: list[float]) -> float:
    return statistics.median(ratios) if ratios else math.nan


def print_targets(columns: dict[str, dict[str, float]]) -> None:
    """Print each target, the measured ratio, and whether it is reached."""
    print("\n| target | bounds | all |\n|---|---|---|")
    pair = [columns[figure] for figure in ("bounds", "all")]
    gathers = [[r for case, r in column.items() if GATHER in case] for column in pair]
    rows = (
        ("at least 30 times faster in the median", [median(affine(c)) >= 30 for c in pair]),
        ("none slower", [min(c.values(), default=0) >= 1 for c in pair]),
        ("the gather at least 100 times faster", [min(g, default=0) >= 100 for g in gathers]),
    )
    for label, reached in rows:
        print(
            f"| {label} | "
            + " | ".join("yes" if is_reached else "no" for is_reached in reached)
            + " |"
        )


def print_series(series: dict[str, dict[str, Any]]) -> None:
    """Print the time of one call over the number of programs."""
    print("\n| programs | milliseconds, all rules | verdicts |\n|---:|---:|---|")
    for programs, answer in series.items():
        verdicts_text = f"{answer.get('proven')} proven, {answer.get('unknown')} unknown"
        print(f"| {int(programs):,} | {milliseconds(answer, 'wall')} | {verdicts_text} |")
    walls = [answer["wall"] for answer in series.values() if "wall" in answer]
    if walls:
        print(f"\nslowest / fastest over the series: {max(walls) / min(walls):.2f}")


if __name__ == "__main__":
    main()
