"""Times of small programs with public kernels without a GPU, beside Triton's interpreter.

    python benchmarks/public_files.py
        [--package liger] [--sample 12] [--rounds 3] [--setting ttir] [--json FILE]

A program imports torch, Triton and the package, makes tensors, launches the kernels of one operator
and compares with torch: Liger's operators as tests/kernels/liger_operators.py has them, or a
case of tests/public (`fla`, `vllm`, `sglang`), few of which the interpreter can run. Each runs in a
fresh process: in the interpreter (TRITON_INTERPRET=1), recorded with empty caches (cold), and
recorded again (warm). The sample: those with the lowest hash of their names; what fails in any way
is left out and named. Figures are the wall and processor times (user and system) of whole
processes, medians of the rounds, in random order.
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

ROOT = Path(__file__).resolve().parents[1]
CASES = ("interpreter", "cold", "warm")
#: What runs a program, and what lists the programs; the package is the first argument.
PUBLIC = (
    "import sys; from tests.public.work import _run; _run(*sys.argv[1:])",
    "import sys; from tests.public.work import cases_of; print(*cases_of(sys.argv[1]), sep='\\n')",
)
LIGER = (
    "import sys, evaluator_liger as e; e.run_operator(e.operators(), sys.argv[2])()",
    "from tests.kernels.liger_operators import OPERATORS; print(*OPERATORS, sep='\\n')",
)

Times = dict[str, dict[str, list[tuple[float, float]]]]


def programs(package: str) -> tuple[str, str]:
    """Return Python code that runs a case of a package, and code that lists the cases."""
    return LIGER if package == "liger" else PUBLIC


def sampled_cases(package: str, sample: int, variables: dict[str, str]) -> list[str]:
    """Return the names of the sampled cases of a package, lowest hashes first."""
    listing = subprocess.run([sys.executable, "-c", programs(package)[1], package], env=variables,
                          cwd=ROOT, capture_output=True, text=True, check=True)  # fmt: skip
    names = listing.stdout.splitlines()
    return sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())[:sample]


def one_run(package: str, name: str, variables: dict[str, str]) -> tuple[float, float] | None:
    """Return the wall and processor seconds of a process; None where it fails."""
    times_before, begin = os.times(), time.perf_counter()
    command = [sys.executable, "-c", programs(package)[0], package, name]
    done = subprocess.run(command, env=variables, cwd=ROOT, capture_output=True, check=False)
    wall, times_after = time.perf_counter() - begin, os.times()
    children_seconds = times_after.children_user + times_after.children_system
    cpu = children_seconds - times_before.children_user - times_before.children_system
    return None if done.returncode else (wall, cpu)


def measured(package: str, sample: int, rounds: int, setting: str) -> Times:
    """Return (wall, processor) seconds of all rounds by program and case; failures are left out."""
    environment = {name: value for name, value in os.environ.items()
             if not name.startswith("KVTRACE") or name.startswith("KVTRACE_PUBLIC")}  # fmt: skip
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        environment |= {
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'benchmarks'}",
            "XDG_CACHE_HOME": str(folder / "home"),
        }
        interpreted = environment | {"TRITON_INTERPRET": "1"}
        recorded = environment | {
            "KVTRACE": str(folder / "own" / "out"),
            "KVTRACE_COMPILE": setting,
            "TRITON_CACHE_DIR": str(folder / "own" / "cache"),
        }
        names = sampled_cases(package, sample, interpreted)
        times_by_case: Times = {name: {case: [] for case in CASES} for name in names}
        for variables in (interpreted, recorded):  # byte code, and Triton's hash of its files
            one_run(package, names[0], variables)
        for _ in range(rounds):
            for name in names:
                for case in random.sample(["interpreter", "recorded"], 2):
                    if case == "interpreter":
                        note(times_by_case[name][case], one_run(package, name, interpreted))
                        continue
                    shutil.rmtree(folder / "own", ignore_errors=True)
                    shutil.rmtree(folder / "home" / "kvtrace" / "ttir", ignore_errors=True)
                    for state in ("cold", "warm"):
                        note(times_by_case[name][state], one_run(package, name, recorded))
    return times_by_case


def note(times: list[tuple[float, float]], took: tuple[float, float] | None) -> None:
    """Append a run's times to `times`, unless `took` is None."""
    if took is not None:
        times.append(took)


def shown(found: Times) -> None:
    """Print medians, sums and ratios to the interpreter's."""
    for name, times in found.items():
        failing = [case for case in CASES if not times[case]]
        if failing:
            print(f"left out, fails: {name} ({', '.join(failing)})")
    complete = {name: times for name, times in found.items() if all(times.values())}
    print(f"{len(complete)} programs run in all")
    for clock_index, clock in enumerate(("wall", "processor")):
        base: dict[str, float] = {}
        for case in CASES:
            medians = [statistics.median(run[clock_index] for run in times[case])
                    for times in complete.values()]  # fmt: skip
            figures = {"median": statistics.median(medians), "sum": sum(medians)}
            base = base or figures
            for figure_name, seconds in figures.items():
                ratio = seconds / base[figure_name]
                print(f"{case:12} {figure_name:6} {clock:9} {seconds:8.3f} s  {ratio:6.2f} x")


def main() -> None:
    """Print machine, method and figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", default="liger")
    parser.add_argument("--sample", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--setting", default="ttir")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    import torch
    import triton

    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"torch {torch.__version__}, Triton {triton.__version__}, {options.rounds} rounds")
    times = measured(options.package, options.sample, options.rounds, options.setting)
    if options.json is not None:
        options.json.write_text(json.dumps(times))
    shown(times)


if __name__ == "__main__":
    main()
