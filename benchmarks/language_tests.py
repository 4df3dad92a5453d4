"""Times of Triton's language tests without a GPU and caches, beside Triton's interpreter.

    python benchmarks/language_tests.py TRITON/python/test/unit/language/test_core.py
        [--sample 300] [--rounds 3] [--settings ttir] [--json FILE]

The tests are Triton's, of the version that is installed, and no part of kvtrace. A fixed sample of
the cases that Triton marks for its interpreter, the lowest by the hash of their ids, runs in one
process: recorded by kvtrace with an empty Triton cache and no TTIR of kvtrace's, and in the
interpreter (TRITON_INTERPRET=1), which compiles nothing. Printed are the wall and processor times
(user and system, of the process and those it starts) of whole processes, and the sum and median of
the cases that pass in both. Rounds alternate the order; figures are medians of the rounds.
"""

import argparse
import hashlib
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SAMPLE, RESULT = "LANGUAGE_TESTS_SAMPLE", "LANGUAGE_TESTS_RESULT"

# -- in pytest's process --------------------------------------------------------------------

_outcomes: dict[str, list[Any]] = {}
_begun: list[float] = []


def pytest_configure() -> None:
    """Replace functions by which Triton's tests inspect the GPU when they are imported."""
    import torch

    if not torch.cuda.is_available():
        torch.cuda.get_device_capability = lambda _device=None: (9, 0)


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Remove all cases but the sample of those that Triton marks for its interpreter."""
    marked = [item for item in items if item.get_closest_marker("interpreter") is not None]
    by_hash = sorted(marked, key=lambda item: hashlib.sha256(_name(item).encode()).digest())
    chosen = {id(item) for item in by_hash[: int(os.environ[SAMPLE])]}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in chosen])
    items[:] = [item for item in items if id(item) in chosen]


def _name(item: Any) -> str:
    return str(item.nodeid).rpartition("/")[2]


def pytest_runtest_setup(item: Any) -> None:
    """Store the wall and processor times at which a case begins."""
    del item
    _begun[:] = [time.perf_counter(), sum(os.times()[:4])]


def pytest_runtest_logreport(report: Any) -> None:
    """Store a case's outcome, and its wall and processor seconds."""
    if report.when == "call" or report.outcome != "passed":
        spent = (time.perf_counter() - _begun[0], sum(os.times()[:4]) - _begun[1])
        _outcomes[_name(report)] = [report.outcome, *spent]


def pytest_sessionfinish() -> None:
    """Write outcomes and times of all cases to the result's JSON file."""
    Path(os.environ[RESULT]).write_text(json.dumps(_outcomes))


# -- in the benchmark's ---------------------------------------------------------------------


def one_run(tests: Path, folder: Path, case: str, sample: int) -> dict[str, Any]:
    """Run the sample in a new process with empty caches; return its times and outcomes."""
    shutil.rmtree(folder / case, ignore_errors=True)
    case_folder = folder / case
    case_folder.mkdir()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("KVTRACE")
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment |= {
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "benchmarks"))),
        "PYTHONHASHSEED": "0",  # test_cast hashes its case
        "XDG_CACHE_HOME": str(folder / "home"),
        SAMPLE: str(sample),
        RESULT: str(case_folder / "outcomes"),
    }
    shutil.rmtree(folder / "home" / "kvtrace" / "ttir", ignore_errors=True)
    if case == "interpreter":
        environment["TRITON_INTERPRET"] = "1"
    else:
        environment |= {"KVTRACE": str(case_folder / "out"), "KVTRACE_COMPILE": case,
                 "TRITON_CACHE_DIR": str(case_folder / "cache")}  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p",
               "language_tests", "--device", "cpu", "--tb=line", str(tests)]  # fmt: skip
    times_before, begin = os.times(), time.perf_counter()
    with (folder / f"{case}.log").open("w") as log:
        subprocess.run(
            command, env=environment, stdout=log, stderr=log, check=False, cwd=tests.parent
        )
    wall, times_after = time.perf_counter() - begin, os.times()
    spent = times_after.children_user + times_after.children_system
    cpu = spent - times_before.children_user - times_before.children_system
    return {"wall": wall, "cpu": cpu, "cases": json.loads((case_folder / "outcomes").read_text())}


def shown(runs: dict[str, list[dict[str, Any]]]) -> None:
    """Print outcomes, times and ratios to the interpreter's."""
    passed = [
        {name for name, (outcome, *_) in run["cases"].items() if outcome == "passed"}
        for case_runs in runs.values()
        for run in case_runs
    ]
    common_cases = set.intersection(*passed)
    figures = {}
    for case, case_runs in runs.items():
        outcomes = [outcome for outcome, *_ in case_runs[0]["cases"].values()]
        counts = {medians: outcomes.count(medians) for medians in ("passed", "failed", "skipped")}
        print(f"{case}: {counts}")
        figures[case] = {
            "process, wall": statistics.median(run["wall"] for run in case_runs),
            "process, processor": statistics.median(run["cpu"] for run in case_runs),
        }
        for number, clock in ((1, "wall"), (2, "processor")):
            times_by_run = [
                [run["cases"][name][number] for name in common_cases] for run in case_runs
            ]
            figures[case][f"cases, sum, {clock}"] = statistics.median(map(sum, times_by_run))
        medians = [
            statistics.median(run["cases"][name][1] for run in case_runs) for name in common_cases
        ]
        figures[case]["case, median, wall"] = statistics.median(medians)
    failing = {name for runs_of in runs.values() for run in runs_of
               for name, (outcome, *_) in run["cases"].items() if outcome == "failed"}  # fmt: skip
    for name in sorted(failing):
        where = [
            case for case, case_runs in runs.items() if case_runs[0]["cases"][name][0] == "failed"
        ]
        print(f"  fails in {', '.join(where)}: {name}")
    print(f"{len(common_cases)} cases pass in all")
    for case, case_figures in figures.items():
        for name, seconds in case_figures.items():
            ratio = seconds / figures["interpreter"][name]
            print(f"{case:12} {name:24} {seconds:9.4f} s  {ratio:6.2f} x")


def main() -> None:
    """Print machine, method and figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tests", type=Path)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--settings", nargs="*", default=["ttir"])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    import torch
    import triton

    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"torch {torch.__version__}, Triton {triton.__version__}, {options.rounds} rounds")
    cases = ["interpreter", *options.settings]
    runs: dict[str, list[dict[str, Any]]] = {case: [] for case in cases}
    with tempfile.TemporaryDirectory() as scratch:
        tests, folder = options.tests.resolve(), Path(scratch)
        for case in cases:
            one_run(tests, folder, case, 4)  # byte code, and Triton's hash of its files
        for _ in range(options.rounds):
            for case in random.sample(cases, len(cases)):
                runs[case].append(one_run(tests, folder, case, options.sample))
        if options.json is not None:
            options.json.write_text(json.dumps(runs))
    shown(runs)


if __name__ == "__main__":
    main()
