"""What recording costs programs of other projects: process against process, in turn.

    python benchmarks/real_programs.py [--programs NAME ...] [--modes MODE ...] [--pairs 5]
        [--steps 150] [--minutes 9] [--json FILE]
    python benchmarks/real_programs.py --show FILE ...

Programs are files of benchmarks/programs, made of packages of PyPI; one whose package is missing is
left out with a sentence. Each process warms up and then times steps that end with the device's
work; what counts of it is the median step, and p10, which most of what else the machine does leaves
alone. In a round the program runs bare, then once in each mode; after the last round bare again.
A mode's cost is its step over the mean of the two bare processes around it, in per cent: the median
over rounds. The noise is the same of the second of two bare processes over the first. One bare
process before the first round fills compilers' caches and is not counted.

Modes: `launch` and `timeline` are KVTRACE_MODE with all other settings at their defaults,
`launch-none` is launch with KVTRACE_TENSORS=none, `cupti` is CUPTI's records of kernels and copies
with none of kvtrace's code (programs/empty_cupti.py; EMPTY_CUPTI chooses how), and `torch-cuda`,
`torch-both` and `proton` are torch.profiler with CUDA, with CPU and CUDA, and Proton. Profilers are
on for the timed steps, and what they do at their end is not waited for. The last columns are what
kvtrace itself says in `kvtrace info`: the share of the program's time while it ran.

After each process FILE and a table beside it (FILE.md) are written again. No process is begun that
would not end within `--minutes`, as far as the one before it tells. `--show` prints the table of
several files as of one run.
"""

import argparse
import dataclasses
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = Path(__file__).resolve().parent / "programs"
BARE: Final = "bare"
RECORDED: Final = ("launch", "launch-none", "timeline")
PROFILED: Final = ("cupti", "torch-cuda", "torch-both", "proton")
MODES: Final = (*RECORDED, *PROFILED)
VARIABLES: Final = {
    "launch": {"KVTRACE_MODE": "launch"},
    "launch-none": {"KVTRACE_MODE": "launch", "KVTRACE_TENSORS": "none"},
    "timeline": {"KVTRACE_MODE": "timeline"},
}

#: Runs a program as `python FILE ARGUMENTS` does where kvtrace is installed, from a checkout, too.
START: Final = """
import os, runpy, sys
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(sys.argv[0])
os.environ.get("KVTRACE") and __import__("kvtrace._boot")
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@dataclass(frozen=True)
class Program:
    """A file of benchmarks/programs with its arguments, and what it needs."""

    file: str
    needs: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    gpu: bool = True


PROGRAMS: Final = {
    "liger-compiled": Program(
        "transformers_liger.py", ("transformers", "liger_kernel"), ("--compile",)
    ),
    "compiled-llama": Program("compiled_llama.py", ()),
    "liger-eager": Program("transformers_liger.py", ("transformers", "liger_kernel")),
    "lightning": Program("lightning_loop.py", ("lightning|pytorch_lightning", "liger_kernel")),
    "torchvision": Program("torchvision_forward.py", ("torchvision",)),
    "diffusers": Program("diffusers_forward.py", ("diffusers",)),
    "fla": Program("fla_training.py", ("fla",)),
    "vllm": Program("vllm_requests.py", ("vllm",)),
    "standin": Program("standin.py", (), gpu=False),
}


@dataclass(frozen=True)
class Process:
    """What one process took: milliseconds of its steps, and what kvtrace says of itself."""

    round: int
    mode: str
    p10: float
    median: float
    wall_s: float
    own_percent: float | None = None
    launches: int | None = None
    info: dict[str, Any] = field(default_factory=dict)


@dataclass
class Results:
    """All processes by program, and what was left out."""

    machine: dict[str, str]
    settings: dict[str, Any]
    programs: dict[str, list[Process]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(dataclasses.asdict(self), indent=1))
        path.with_name(path.name + ".md").write_text(table(self))


def read_results(paths: list[Path]) -> Results:
    """Put the results of several calls together; a round belongs to its call."""
    whole: Results | None = None
    for number, path in enumerate(paths):
        found = json.loads(path.read_text())
        if whole is None:
            whole = Results(found["machine"], found["settings"])
        for name, processes in found["programs"].items():
            kept = whole.programs.setdefault(name, [])
            kept += [
                Process(**{**each, "round": each["round"] + 1000 * number}) for each in processes
            ]
        whole.notes += [note for note in found["notes"] if note not in whole.notes]
    assert whole is not None
    return whole


class OutOfTimeError(Exception):
    """No other process fits into the minutes."""


class Runner:
    """Starts processes, and keeps what they took."""

    def __init__(self, options: argparse.Namespace, scratch: Path, results: Results) -> None:
        self.options = options
        self.scratch = scratch
        self.results = results
        self.end = time.monotonic() + 60 * options.minutes
        self.longest: dict[tuple[str, str], float] = {}

    def measure(self, name: str) -> None:
        """Run a program in all modes, round after round."""
        program = PROGRAMS[name]
        caches = ROOT / "build" / "real_programs" / name
        self.once(name, program, BARE, 0, caches)  # its compilers' caches were empty
        kept = self.results.programs[name] = []
        broken: set[str] = set()
        for turn in range(self.options.pairs):
            for mode in (BARE, *self.options.modes):
                if mode in broken:
                    continue
                process = self.once(name, program, mode, turn, caches)
                if process is None and mode == BARE:
                    return
                if process is None:
                    broken.add(mode)
                    continue
                kept.append(process)
                self.results.write(self.options.json)
        last = self.once(name, program, BARE, self.options.pairs, caches)
        kept += [last] if last is not None else []

    def once(
        self, name: str, program: Program, mode: str, turn: int, caches: Path
    ) -> Process | None:
        """Run one process; None, with a note, where it fails.

        Raises:
            OutOfTimeError: it would not end in time.

        """
        left = self.end - time.monotonic()
        similar = [took for (of, _), took in self.longest.items() if of == name]
        if left < self.longest.get((name, mode), max(similar, default=20.0)):
            raise OutOfTimeError
        times, out = self.scratch / "steps.json", self.scratch / f"{name}-{mode}-{turn}"
        times.unlink(missing_ok=True)
        command = [
            sys.executable, "-c", START, str(FOLDER / program.file), *program.arguments,
            "--steps", str(self.options.steps), "--json", str(times),
        ]  # fmt: skip
        command += ["--profiler", mode] if mode in PROFILED else []
        begin = time.monotonic()
        try:
            ended = subprocess.run(
                command, env=self.variables(mode, out, caches), capture_output=True, text=True,
                timeout=left, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise OutOfTimeError from error
        took = time.monotonic() - begin
        self.longest[name, mode] = max(took, self.longest.get((name, mode), 0) if turn else took)
        if ended.returncode or not times.exists():
            said = (ended.stderr.strip() or "no steps were timed").splitlines()
            self.note(f"{name}, {mode}: {said[-1][:300]}")
            return None
        seconds = json.loads(times.read_text())
        own: dict[str, Any] = {}
        if mode in RECORDED:
            try:
                own = said_by_kvtrace(out)
            except Exception as error:  # noqa: BLE001 - the times are good without it
                self.note(
                    f"{name}, {mode}: no figure of kvtrace's ({type(error).__name__}: {error})"
                )
        process = Process(
            turn, mode, 1e3 * sorted(seconds)[len(seconds) // 10], 1e3 * statistics.median(seconds),
            took, **own,
        )  # fmt: skip
        print(
            f"{name:16s} {turn} {mode:12s} p10 {process.p10:8.3f} ms, median {process.median:8.3f} "
            f"ms ({took:.0f} s)",
            flush=True,
        )
        return process

    def variables(self, mode: str, out: Path, caches: Path) -> dict[str, str]:
        plain = {
            name: value for name, value in os.environ.items() if not name.startswith("KVTRACE")
        }
        plain["PYTHONPATH"] = os.pathsep.join(
            [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        plain["TORCHINDUCTOR_CACHE_DIR"] = str(caches / "inductor")
        plain["TRITON_CACHE_DIR"] = str(caches / "triton")
        plain.setdefault("EMPTY_CUPTI", "flush")
        if mode in RECORDED:
            plain |= {"KVTRACE": str(out), **VARIABLES[mode]}
        return plain

    def note(self, text: str) -> None:
        print(f"left out: {text}", flush=True)
        self.results.notes.append(text)


def said_by_kvtrace(out: Path) -> dict[str, Any]:
    """What `kvtrace info --json` says of what recording cost, and how many launches there were."""
    from kvtrace.converters.info import read_overview
    from kvtrace.schema.trace import open_trace

    trace = open_trace(out)
    (run,) = read_overview(trace, trace.runs).runs
    shares = run.overhead_percent
    return {
        "own_percent": None if shares is None else shares["total"],
        "launches": run.launches,
        "info": {"overhead": run.overhead, "shares": shares, "executions": run.gpu_kernels},
    }


def missing(program: Program) -> str | None:
    """Say what a program lacks here; None if it lacks nothing."""
    from importlib.util import find_spec

    for need in program.needs:
        if not any(find_spec(name) for name in need.split("|")):
            return f"{program.file} needs {need.replace('|', ' or ')}, which is not installed"
    if program.gpu:
        import torch

        if not torch.cuda.is_available():
            return f"{program.file} needs a CUDA device"
    return None


def costs(processes: list[Process], mode: str, figure: str) -> list[float]:
    """A mode's cost in each round, in per cent of the bare processes around it."""
    bare = {each.round: getattr(each, figure) for each in processes if each.mode == BARE}
    found = []
    for each in processes:
        around = [bare[turn] for turn in (each.round, each.round + 1) if turn in bare]
        if each.mode != mode or not around:
            continue
        if mode != BARE:
            found.append(100 * (getattr(each, figure) / statistics.mean(around) - 1))
        elif len(around) == 2:
            found.append(100 * (around[1] / around[0] - 1))
    return found


def table(results: Results) -> str:
    """Figures as Markdown: p10 and median, worst rows included."""
    modes = [mode for mode in MODES if any(
        each.mode == mode for found in results.programs.values() for each in found
    )]  # fmt: skip
    recorded = [mode for mode in modes if mode in RECORDED]
    heading = ["program", "bare, ms", "noise", *modes, *(f"kvtrace says, {m}" for m in recorded)]
    lines = [", ".join(f"{name} {value}" for name, value in results.machine.items()), ""]
    lines += [f"| {' | '.join(heading)} |", "|" + "---|" * len(heading)]
    for name, processes in results.programs.items():
        bare = [each for each in processes if each.mode == BARE]
        if not bare:
            continue
        cells = [
            name,
            " / ".join(f"{statistics.median(getattr(b, f) for b in bare):.2f}" for f in FIGURES),
            _spread(processes),
        ]
        cells += [_cost(processes, mode) for mode in modes]
        cells += [_own(processes, mode) for mode in recorded]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "p10 / median of steps; per cent over bare, medians over rounds (rounds in brackets).",
    ]
    lines += [f"Left out: {note}." for note in results.notes]
    return "\n".join(lines) + "\n"


FIGURES: Final = ("p10", "median")


def _cost(processes: list[Process], mode: str) -> str:
    found = [costs(processes, mode, figure) for figure in FIGURES]
    if not found[0]:
        return ""
    return " / ".join(f"{statistics.median(each):+.1f}" for each in found) + f" ({len(found[0])})"


def _spread(processes: list[Process]) -> str:
    found = [costs(processes, BARE, figure) for figure in FIGURES]
    if not found[0]:
        return ""
    return " / ".join(f"±{max(map(abs, each)):.1f}" for each in found)


def _own(processes: list[Process], mode: str) -> str:
    found = [p.own_percent for p in processes if p.mode == mode and p.own_percent is not None]
    return f"{statistics.median(found):+.1f}" if found else ""


def machine() -> dict[str, str]:
    """What the figures are of."""
    import torch
    import triton

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return {
        "machine": f"{gpu}, {os.cpu_count()} cores",
        "Python": platform.python_version(),
        "torch": torch.__version__,
        "triton": triton.__version__,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", nargs="+", choices=tuple(PROGRAMS))
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--pairs", type=int, default=5, help="rounds of every mode")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--json", type=Path, default=Path("real_programs.json"))
    parser.add_argument("--show", type=Path, nargs="+", help="print the table of these files")
    options = parser.parse_args()
    if options.show:
        print(table(read_results(options.show)))
        return 0
    sys.path.insert(0, str(ROOT))
    if not list((ROOT / "kvtrace" / "capture").glob("_hot*.so")):
        print("kvtrace's C parts are not built: python setup.py build_ext --inplace")
        return 2
    chosen = options.programs or [name for name, each in PROGRAMS.items() if each.gpu]
    settings = {"steps": options.steps, "pairs": options.pairs}
    results = Results(machine(), settings)
    with tempfile.TemporaryDirectory() as scratch:
        runner = Runner(options, Path(scratch), results)
        for name in chosen:
            lack = missing(PROGRAMS[name])
            if lack is not None:
                runner.note(f"{name}: {lack}")
                continue
            try:
                runner.measure(name)
            except OutOfTimeError:
                runner.note(f"{name}: its rounds ended when {options.minutes:g} minutes were over")
                break
    results.write(options.json)
    print(table(results))
    return 0 if results.programs else 2


if __name__ == "__main__":
    sys.exit(main())
