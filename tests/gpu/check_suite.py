"""To be run by hand on a machine with an NVIDIA GPU: suites beside the runs that they stand for.

    python tests/gpu/check_suite.py TRACE... [--share 0.95] [--keep FOLDER] [--rounds 5]

Makes a suite of each recorded run (on the same GPU, with its device timeline), times it by its own
run.py, and compares: the weighted time with the run's device time of these calls (within 5 %), and
each call's median with the recorded one (nine of ten within 10 %). Both are asked for a cleared L2
cache and for a warm one; one of them has to be so. Then a candidate that is right, one that is
wrong, and one that does its work only once are tried on a kernel of each suite, and a second result
is compared with the first. Ends with 1 if anything is not as it should be.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from kvtrace.addons.suite.comparing import compare, comparison_lines  # noqa: E402
from kvtrace.addons.suite.making import SuiteSettings, make_suite  # noqa: E402
from kvtrace.addons.suite.results import Result, lines_of  # noqa: E402
from kvtrace.addons.suite.running import RunOptions, read_result, run_suite  # noqa: E402
from kvtrace.schema.trace import select_runs  # noqa: E402

problems: list[str] = []

#: Candidates for any call: the recorded kernel itself, by the suite's own files, and two cheats.
CANDIDATES = """
import sys, tempfile
from pathlib import Path
sys.path.insert(0, {folder!r})
import launching, candidates

call = candidates.module_of(Path({folder!r}) / "calls" / "{name}.py").CALL
start = launching.prepared(call, Path(tempfile.mkdtemp()))
calls = 0

def same(**given):
    start({{name: given[name] for name in call.arguments}})

def nothing(**given):
    pass

def only_once(**given):
    global calls
    calls += 1
    if calls < 3:
        same(**given)
"""


def wants(holds: bool, text: str) -> None:
    print(f"{'ok  ' if holds else 'NOT '} {text}", flush=True)
    if not holds:
        problems.append(text)


def compared(trace: str, result: Result) -> None:
    """Compare the suite's times with those of the run."""
    summary = result.summary
    for call in result.calls:
        now = {"cold": call.time, "warm": call.warm}
        ratios = {n: t.median_ns / call.recorded_ns for n, t in now.items() if t}
        if all(abs(ratio - 1) > 0.1 for ratio in ratios.values()):
            told = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
            between = min(ratios.values()) <= 1 <= max(ratios.values())
            print(f"     {call.name}: {told}{' (recorded is between)' if between else ''}")
    sides = {
        "cleared": (summary["ratio"], summary["close"]),
        "warm": (summary["warm_ratio"], summary["warm_close"]),
    }
    for name, (ratio, close) in sides.items():
        print(f"     {name} cache: {ratio:.4f} of the run's time, {close}/{summary['compared']}")
    wants(any(abs(r - 1) <= 0.05 for r, _ in sides.values()), f"{trace}: weighted within 5 %")
    wants(
        any(close >= 0.9 * summary["compared"] for _, close in sides.values()),
        f"{trace}: nine of ten medians within 10 %",
    )
    wants({call.clock for call in result.calls} == {"device"}, f"{trace}: the device's clock")
    wants(all(call.status == "timed" for call in result.calls), f"{trace}: every call is timed")


def with_candidates(trace: str, folder: Path, name: str, place: Path) -> None:
    """Try three candidates on a call."""
    file = place / "tried.py"
    file.write_text(CANDIDATES.format(folder=str(folder), name=name))
    for function, verdict in (("same", "right"), ("nothing", "wrong"), ("only_once", "wrong")):
        began = time.monotonic()
        options = RunOptions(calls=(name,), candidate=f"{file}:{function}")
        result = run_suite(folder, options)
        print("\n".join(f"     {line}" for line in lines_of(result)))
        trial = result.calls[0].candidate
        wants(
            trial is not None and trial.verdict == verdict,
            f"{trace}: candidate {function} is {verdict} ({time.monotonic() - began:.0f} s)",
        )
        if verdict == "right" and trial is not None and trial.time and result.calls[0].time:
            ratio = trial.time.median_ns / result.calls[0].time.median_ns
            wants(abs(ratio - 1) < 0.1, f"{trace}: the kernel itself takes {ratio:.3f} of its time")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("traces", nargs="+")
    parser.add_argument("--share", type=float, default=0.95)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = options.keep or Path(temporary)
        place.mkdir(exist_ok=True)
        for trace in options.traces:
            folder = place / Path(trace).name
            make_suite(select_runs(Path(trace)), folder, SuiteSettings(options.share))
            results = []
            for number, words in enumerate((["--warm"], [])):
                file = place / f"{folder.name}-{number}.json"
                words += ["--json", str(file), "--rounds", str(options.rounds)]
                began = time.monotonic()
                done = subprocess.run([sys.executable, str(folder / "run.py"), *words], cwd=place)
                print(f"     run.py took {time.monotonic() - began:.0f} s")
                wants(done.returncode == 0, f"{trace}: run.py ends with 0")
                results.append(read_result(file))
            compared(trace, results[0])
            again = compare(results[0], results[1])
            print("\n".join(f"     {line}" for line in comparison_lines(again, "the first result")))
            changed = sum(one.verdict in ("faster", "slower") for one in again)
            wants(
                changed <= max(1, len(again) // 20), f"{trace}: {changed} changed of {len(again)}"
            )
            print(f"     {json.dumps(results[0].gpus)}")
            with_candidates(trace, folder, results[0].calls[0].name, place)
    print(f"{len(problems)} problems" if problems else "all as it should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
