"""Startup cost of an installed kvtrace for Python processes that do not use it.

Method: fresh virtual environments of this Python, one with kvtrace installed from a wheel and two
without anything (the second is the control: its ratio to the first is the noise). Each round starts
`python -c pass` once in each, in random order, and takes the wall time from before the start to
after the exit. Printed: medians, and the median of the ratios within a round, with the middle half.
"""

import argparse
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("kvtrace", "pyproject.toml", "setup.py", "kvtrace.pth")
TEXTS = ("README.md", "LICENSE", "MANIFEST.in")


def copy_sources(folder: Path) -> None:
    """Copy the files that a wheel is built from, without earlier builds."""
    leftovers = shutil.ignore_patterns("*.so", "__pycache__", "build")
    folder.mkdir()
    for name in PARTS + TEXTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=leftovers)
        else:
            shutil.copy2(source, folder / name)


def build_wheel(folder: Path) -> Path:
    """Build kvtrace's wheel from a clean copy of this checkout."""
    copy_sources(folder / "sources")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    pip = [sys.executable, "-m", "pip", "wheel", *options, str(folder / "sources")]
    subprocess.run(pip, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_environment(folder: Path, wheel: Path | None = None) -> Path:
    """Create a virtual environment with kvtrace's `wheel` or without; return its Python."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    if wheel is not None:
        pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(python)]
        subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True)
    return python


def seconds_of_one_start(python: Path, variables: dict[str, str]) -> float:
    """Return the wall time of `python -c pass`."""
    began = time.perf_counter()
    subprocess.run([str(python), "-c", "pass"], env=variables, check=True)
    return time.perf_counter() - began


def ratio_text(times: list[float], base: list[float]) -> str:
    """Return text with the median ratio of times within rounds, and its quartiles."""
    ratios = [mine / base_time for mine, base_time in zip(times, base, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"{middle:.3f} x (middle half {low:.3f} to {high:.3f})"


def measure(rounds: int) -> dict[str, list[float]]:
    """Return the seconds per start of each case, round by round."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("KVTRACE")}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        without = make_environment(folder / "without")
        control = make_environment(folder / "control")
        installed = make_environment(folder / "installed", build_wheel(folder))
        cases = {
            "without kvtrace": (without, bare),
            "without kvtrace, control": (control, bare),
            "kvtrace installed, KVTRACE unset": (installed, bare),
            "kvtrace installed, KVTRACE set, no kernels": (
                installed,
                bare | {"KVTRACE": str(folder / "out")},
            ),
        }
        for python, variables in cases.values():  # byte code and page cache
            seconds_of_one_start(python, variables)
        times: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(rounds):
            for name in random.sample(sorted(cases), len(cases)):
                times[name].append(seconds_of_one_start(*cases[name]))
    return times


def main() -> None:
    """Print machine, method and figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=300)
    rounds = parser.parse_args().rounds
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"{rounds} rounds of `python -c pass`, wall time, ratios within a round")
    times = measure(rounds)
    base = times["without kvtrace"]
    for name, seconds in times.items():
        median = statistics.median(seconds) * 1e3
        print(f"{name:44} {median:7.2f} ms  {ratio_text(seconds, base)}")


if __name__ == "__main__":
    main()
