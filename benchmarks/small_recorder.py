"""Disk space and startup time of kvtrace: with all packages, and with pyarrow alone.

    python benchmarks/small_recorder.py [--rounds 9]

Makes two environments with links to the packages of the one that runs this: what `pip install
kvtrace` resolves to, and kvtrace and pyarrow; torch and Triton are in both. Sizes are of installed
files, byte code left out. Times are medians over rounds, in which each kind takes its turn: of
`import kvtrace`, of `kvtrace --help`, and of a process up to the end of its first launch, on a
driver that does nothing and with the kernel in Triton's cache, bare and recorded.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))

from tests.packaging.conftest import Environment, closure, link, required  # noqa: E402

#: Prints what was measured in the process itself: milliseconds of an import; modules at the end.
IMPORTING = """
import time
begin = time.perf_counter()
import kvtrace
print(1e3 * (time.perf_counter() - begin))
"""
LAUNCHING = """
import os, sys
sys.path.insert(0, os.environ["SUPPORT"])
import torch, triton
import triton.language as tl
from idle_driver import IdleDriver

@triton.jit
def doubled(x, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)

triton.runtime.driver._active = IdleDriver()
x = torch.ones(100)
import time
begin = time.perf_counter()
doubled[(2,)](x, 100, BLOCK=64)
took = time.perf_counter() - begin
tops = {name.split(".")[0] for name in sys.modules}
print(1e3 * took, len([name for name in sys.modules if name.startswith("kvtrace")]), *sorted(
    {"numpy", "pyarrow", "duckdb", "z3"} & tops), flush=True)
os._exit(0)
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=9)
    rounds = options.parse_args().rounds
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    everything = [requirement.name for requirement in required(declared)]
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
          f"Python {platform.python_version()}, pyarrow {version('pyarrow')}, "
          f"torch {version('torch')}, Triton {version('triton')}")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        ways = {"all": everything, "pyarrow alone": ["pyarrow"]}
        environments = {
            name: make_environment(Path(folder) / name.replace(" ", "-"), packages)
            for name, packages in ways.items()
        }
        for name, packages in ways.items():
            print(f"\n{name}: {megabytes(kvtrace_bytes() + sum(sizes(packages).values()))}")
            for package, size in sorted(sizes(packages).items(), key=lambda item: -item[1]):
                print(f"  {package:<16} {megabytes(size)}")
            print(f"  {'kvtrace':<16} {megabytes(kvtrace_bytes())}")
        times(Path(folder), environments, rounds)


def make_environment(folder: Path, packages: list[str]) -> Environment:
    """Create an environment with these packages, torch, Triton and this checkout's kvtrace."""
    venv.create(folder, with_pip=False)
    environment = Environment(folder)
    for package in closure([*packages, "torch", "triton"]):
        link(package, environment.site_packages)
    (environment.site_packages / "kvtrace").symlink_to(ROOT / "kvtrace")
    (environment.site_packages / "kvtrace.pth").symlink_to(ROOT / "kvtrace.pth")
    return environment


def sizes(packages: list[str]) -> dict[str, int]:
    """Return the bytes of installed files by package, for `packages` and their requirements."""
    return {
        package.name: sum(
            path.stat().st_size
            for file in package.files or []
            if (path := Path(str(package.locate_file(file)))).is_file() and path.suffix != ".pyc"
        )
        for package in closure(packages)
    }


def kvtrace_bytes() -> int:
    """Return the bytes of the files in a wheel of kvtrace."""
    left_out = {"frontend", "golden", "__pycache__"}
    paths = (path for path in (ROOT / "kvtrace").rglob("*") if not left_out & set(path.parts))
    linked = [
        path for room in ("schema", "converters") for path in (ROOT / room).rglob("*")
        if not left_out & set(path.parts)
    ]  # fmt: skip
    files = {path.resolve() for path in (*paths, *linked) if path.is_file()}
    return sum(path.stat().st_size for path in files if path.suffix != ".pyc")


def times(folder: Path, environments: dict[str, Environment], rounds: int) -> None:
    (folder / "launching.py").write_text(LAUNCHING)
    seconds: dict[str, list[float]] = {}
    loaded: dict[str, str] = {}

    def run(kind: str, python: Path, *command: str, **variables: str) -> list[str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("KVTRACE")}
        variables |= {"SUPPORT": str(ROOT / "tests" / "support")}
        variables |= {"TRITON_CACHE_DIR": str(folder / "triton"), "PYTHONWARNINGS": "ignore"}
        begin = time.perf_counter()
        done = subprocess.run(
            [str(python), *command], env=kept | variables, cwd=folder, capture_output=True,
            text=True, check=True,
        )  # fmt: skip
        seconds.setdefault(kind, []).append(1e3 * (time.perf_counter() - begin))
        return done.stdout.split()

    for number in range(rounds + 1):
        for name, environment in environments.items():
            python = environment.python
            (import_seconds,) = run(
                f"{name}: a process that imports kvtrace", python, "-c", IMPORTING
            )
            seconds.setdefault(f"{name}: import kvtrace", []).append(float(import_seconds))
            run(f"{name}: kvtrace --help", python, "-m", "kvtrace", "--help")
            for kind in ("bare", "recorded"):
                out = {} if kind == "bare" else {"KVTRACE": str(folder / f"out-{number}")}
                printed = run(
                    f"{name}: process up to its first launch, {kind}", python, "launching.py", **out
                )
                seconds.setdefault(f"{name}: first launch, {kind}", []).append(float(printed[0]))
                loaded[f"{name}, {kind}"] = (
                    f"{printed[1]} modules of kvtrace; {' '.join(printed[2:])}"
                )
    print("\nmedian milliseconds (least to most)")
    for kind, values in sorted(seconds.items()):
        later = values[1:]  # the first one compiles
        print(f"  {kind:<55} {statistics.median(later):8.1f} "
              f"({min(later):.1f} to {max(later):.1f})")  # fmt: skip
    print("\nloaded when the first launch has been made")
    for kind, modules in loaded.items():
        print(f"  {kind:<24} {modules}")


def megabytes(size: int) -> str:
    return f"{size / 1e6:6.1f} MB"


if __name__ == "__main__":
    main()
