"""Cost of recording programs of other projects: processes compared that take turns.

    python benchmarks/real_programs.py [--programs NAME ...] [--modes MODE ...] [--pairs 5]
        [--turns 15] [--steps 10] [--minutes 9] [--json FILE]
    python benchmarks/real_programs.py --show FILE ...

Programs are files of benchmarks/programs, made of packages of PyPI; one whose package is missing is
left out with a sentence. A group is a process in each mode between two bare ones. They start side
by side, warm up, and then take turns on the same four cores: one does its steps while all others
wait for theirs, turn after turn, so that what else the machine does hits all of them alike. Steps
end with the device's work; the first two of a turn do not count, as what they use has left the
caches. What counts is the median step, and p10. A mode's cost is its step over the mean of the two
bare processes of its group, in per cent: the median over groups. The noise is the same of the
second of the two bare processes over the first. One bare process before the first group fills
compilers' caches and is not counted.

Modes: `launch` and `timeline` are KVTRACE_MODE with all other settings at their defaults,
`launch-none` is launch with KVTRACE_TENSORS=none, `cupti` is CUPTI's records of kernels and copies
with none of kvtrace's code (programs/empty_cupti.py; EMPTY_CUPTI chooses how), and `torch-cuda`,
`torch-both` and `proton` are torch.profiler with CUDA, with CPU and CUDA, and Proton. Profilers are
on for the timed steps, and what they do at their end is not waited for. The last columns are
kvtrace's own figure: what `runs.overhead` says of launches of known kernels, by step, over a bare
step.

After each group FILE and a table beside it (FILE.md) are written again. `--show` prints the table
of several files as of one run.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import platform
import select
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
WARM_UP: Final = 15  # steps, as programs/stepping.py has it
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
    """A file of benchmarks/programs with arguments, and the packages and device that it needs."""

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
    "liger-ranks": Program(
        "transformers_liger.py",
        ("transformers", "liger_kernel"),
        ("--ranks", "4", "--layers", "12"),
    ),
    "lightning": Program("lightning_loop.py", ("lightning|pytorch_lightning", "liger_kernel")),
    "torchvision": Program("torchvision_forward.py", ("torchvision",)),
    "diffusers": Program("diffusers_forward.py", ("diffusers",)),
    "fla": Program("fla_training.py", ("fla",)),
    "vllm": Program("vllm_requests.py", ("vllm",)),
    "standin": Program("standin.py", (), gpu=False),
}


@dataclass(frozen=True)
class Process:
    """Figures of one process: milliseconds of its steps, and kvtrace's own overhead figures."""

    round: int
    mode: str
    p10: float
    median: float
    active_s: float  # while it had its turns
    own_ms: float | None = None  # of a step
    launches: int | None = None
    info: dict[str, Any] = field(default_factory=dict)


@dataclass
class Results:
    """Figures of all processes by program, and notes on programs that were left out."""

    machine: dict[str, str]
    settings: dict[str, Any]
    programs: dict[str, list[Process]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(dataclasses.asdict(self), indent=1))
        path.with_name(path.name + ".md").write_text(table(self))


def read_results(paths: list[Path]) -> Results:
    """Merge the results in several files; rounds are renumbered, so that each stays one group."""
    merged: Results | None = None
    for number, path in enumerate(paths):
        file_content = json.loads(path.read_text())
        if merged is None:
            merged = Results(file_content["machine"], file_content["settings"])
        for name, processes in file_content["programs"].items():
            merged_processes = merged.programs.setdefault(name, [])
            merged_processes += [
                Process(**{**process, "round": process["round"] + 1000 * number})
                for process in processes
            ]
        merged.notes += [note for note in file_content["notes"] if note not in merged.notes]
    assert merged is not None
    return merged


class TurnTakingProcess:
    """A process that has warmed up and waits for its turns."""

    def __init__(self, command: list[str], variables: dict[str, str], mode: str) -> None:
        due, self._due = os.pipe()
        self._told, told = os.pipe()
        self.mode = mode
        self.seconds: list[float] = []
        self.active = 0.0
        self.steps = 0
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - for as long as the process
        self.process = subprocess.Popen(
            [*command, "--turns", str(due), str(told)], env=variables, pass_fds=(due, told),
            stdout=self._said, stderr=subprocess.STDOUT,
        )  # fmt: skip
        os.close(due)
        os.close(told)
        self._lines = os.fdopen(self._told, "r")

    def answer(self, until: float) -> list[float] | None:
        """Return the seconds that the process reports; None if it ends, or at the time `until`."""
        ready, _, _ = select.select([self._told], [], [], max(until - time.monotonic(), 0))
        line = self._lines.readline() if ready else ""
        return json.loads(line) if line else None

    def turn(self, steps: int, until: float) -> bool:
        """Let the process do `steps` steps, and store their times, without the first two.

        Returns whether the process has answered before `until`.
        """
        os.write(self._due, f"{steps}\n".encode())
        seconds = self.answer(until)
        if seconds is None:
            return False
        self.active += sum(seconds)
        self.steps += steps
        self.seconds += seconds[2:]
        return True

    def end(self, until: float) -> str | None:
        """Let the program end; return its output if it fails or does not end, else None."""
        os.close(self._due)
        try:
            code: int | None = self.process.wait(max(until - time.monotonic(), 1))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = None
        self._lines.close()
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines() or ["nothing"]
        return None if code == 0 else f"exit code {code}: {lines[-1][:300]}"


class Runner:
    """Runner of processes that start side by side, and then take turns."""

    def __init__(self, options: argparse.Namespace, scratch: Path, results: Results) -> None:
        self.options = options
        self.scratch = scratch
        self.results = results
        self.end = time.monotonic() + 60 * options.minutes

    def measure(self, name: str) -> None:
        """Run a program in all modes, group after group of processes."""
        self.results.programs[name] = []
        caches = ROOT / "build" / "real_programs" / name
        if not caches.exists():  # the others of the first group find what this one compiled
            self.group(name, [BARE], -1, caches)
        for number in range(self.options.pairs):
            if time.monotonic() > self.end - self.options.reserve:
                self.note(
                    f"{name}: its groups ended when {self.options.minutes:g} minutes were over"
                )
                return
            self.group(name, [BARE, *self.options.modes, BARE], number, caches)

    def group(self, name: str, modes: list[str], number: int, caches: Path) -> None:
        """Start one process per mode, wait until all are warm, and let them take turns."""
        begin = time.monotonic()
        parts, folders = [], []
        for position, mode in enumerate(modes):
            folder = self.scratch / f"{name}-{number}-{position}"
            folder.mkdir()
            folders.append(folder)
            parts.append(
                TurnTakingProcess(
                    self.command(name, mode, folder), self.variables(mode, folder, caches), mode
                )
            )
        ready = [process.answer(self.end) is not None for process in parts]
        warm = time.monotonic() - begin
        living = [process for process, is_ready in zip(parts, ready, strict=True) if is_ready]
        cores = sorted(os.sched_getaffinity(0))[4:8]
        for process in living if len(cores) == 4 else ():
            _keep_on_cores(process.process.pid, cores)
        for turn in range(self.options.turns if number >= 0 else 0):
            order = living if turn % 2 else living[::-1]
            living = [
                process for process in order if process.turn(self.options.steps + 2, self.end)
            ]
            living.sort(key=parts.index)
        for process, folder in zip(parts, folders, strict=True):
            wrong = process.end(self.end + 20)
            if wrong is not None or (number >= 0 and not process.seconds):
                self.note(f"{name}, {process.mode}: {wrong or 'no steps were timed'}")
            elif number >= 0:
                self.results.programs[name].append(self.measured(name, number, process, folder))
        self.results.write(self.options.json)
        print(f"{name} {number}: warm after {warm:.0f} s, {time.monotonic() - begin:.0f} s in all")

    def command(self, name: str, mode: str, folder: Path) -> list[str]:
        program = PROGRAMS[name]
        return [
            sys.executable, "-c", START, str(FOLDER / program.file),
            *program.arguments, "--json", str(folder / "steps.json"),
            *(("--profiler", mode) if mode in PROFILED else ()),
        ]  # fmt: skip

    def measured(self, name: str, number: int, part: TurnTakingProcess, folder: Path) -> Process:
        overhead: dict[str, Any] = {}
        if part.mode in RECORDED:
            try:
                overhead = overhead_by_kvtrace(folder / "out", part.steps + WARM_UP)
            except Exception as error:  # noqa: BLE001 - the times are good without it
                self.note(f"{name}, {part.mode}: no figure of kvtrace's ({error!r})")
        seconds = sorted(part.seconds)
        process = Process(
            number, part.mode, 1e3 * seconds[len(seconds) // 10], 1e3 * statistics.median(seconds),
            part.active, **overhead,
        )  # fmt: skip
        print(
            f"{name:16s} {number} {part.mode:12s} p10 {process.p10:8.3f} ms, median "
            f"{process.median:8.3f} ms of {len(seconds)} steps",
            flush=True,
        )
        return process

    def variables(self, mode: str, folder: Path, caches: Path) -> dict[str, str]:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("KVTRACE")
        }
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        environment["TORCHINDUCTOR_CACHE_DIR"] = str(caches / "inductor")
        environment["TRITON_CACHE_DIR"] = str(caches / "triton")
        environment.setdefault("EMPTY_CUPTI", "flush")
        if mode in RECORDED:
            environment |= {"KVTRACE": str(folder / "out"), **VARIABLES[mode]}
        return environment

    def note(self, text: str) -> None:
        print(f"left out: {text}", flush=True)
        self.results.notes.append(text)


def _keep_on_cores(process: int, cores: list[int]) -> None:
    """Restrict all threads of a process to `cores`."""
    for thread in Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), cores)


def overhead_by_kvtrace(out: Path, steps: int) -> dict[str, Any]:
    """Return the overhead of recording per step and the number of launches, as `kvtrace info`.

    Of several ranks, those of the first in the trace.
    """
    from kvtrace.converters.info.info import overhead_percent
    from kvtrace.schema.trace import open_trace

    trace = open_trace(out)
    run = trace.runs[0]
    launches, executions = (
        trace.table(table, [run], [column]).num_rows
        for table, column in (("launches", "seq"), ("gpu_kernels", "record"))
    )
    parts, shares = run.overhead, overhead_percent(run)
    if parts is None or shares is None:
        return {"launches": launches}
    lasting = sum(parts[f"{name}_ns"] or 0 for name in shares if name != "total")
    return {
        "own_ms": lasting / steps / 1e6,
        "launches": launches,
        "info": {"overhead": parts, "executions": executions},
    }


def missing_requirement(program: Program) -> str | None:
    """Return a text on a missing package or GPU of a program; None if it can run."""
    from importlib.util import find_spec

    for need in program.needs:
        if not any(find_spec(name) for name in need.split("|")):
            return f"{program.file} needs {need.replace('|', ' or ')}, which is not installed"
    if program.gpu:
        import torch

        if not torch.cuda.is_available():
            return f"{program.file} needs a CUDA device"
    return None


def relative_costs(processes: list[Process], mode: str, figure: str) -> list[float]:
    """Return a mode's cost in each group, in per cent of the mean of the group's bare processes.

    For the mode `BARE`: by how much the second bare process differs from the first.
    """
    per_cent = []
    for group_number in sorted({process.round for process in processes}):
        group = [process for process in processes if process.round == group_number]
        bare = [getattr(process, figure) for process in group if process.mode == BARE]
        if mode == BARE:
            per_cent += [100 * (bare[1] / bare[0] - 1)] if len(bare) == 2 else []
        elif bare:
            figures_of_mode = [
                getattr(process, figure) for process in group if process.mode == mode
            ]
            per_cent += [100 * (process / statistics.mean(bare) - 1) for process in figures_of_mode]
    return per_cent


def table(results: Results) -> str:
    """Return the table of all figures in Markdown: p10 and median of each program and mode."""
    modes = [mode for mode in MODES if any(
        member.mode == mode for members in results.programs.values() for member in members
    )]  # fmt: skip
    recorded = [mode for mode in modes if mode in RECORDED]
    heading = ["program", "bare, ms", "noise", *modes, *(f"kvtrace says, {m}" for m in recorded)]
    lines = [", ".join(f"{name} {value}" for name, value in results.machine.items()), ""]
    lines += [f"| {' | '.join(heading)} |", "|" + "---|" * len(heading)]
    for name, processes in results.programs.items():
        bare = [member for member in processes if member.mode == BARE]
        if not bare:
            continue
        cells = [
            name,
            " / ".join(f"{statistics.median(getattr(b, f) for b in bare):.2f}" for f in FIGURES),
            _noise(processes),
        ]
        cells += [_cost(processes, mode) for mode in modes]
        cells += [_own_overhead(processes, mode) for mode in recorded]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "p10 / median of steps; per cent over bare, medians over groups (groups in brackets).",
    ]
    lines += [f"Left out: {note}." for note in results.notes]
    return "\n".join(lines) + "\n"


FIGURES: Final = ("p10", "median")


def _cost(processes: list[Process], mode: str) -> str:
    costs_by_figure = [relative_costs(processes, mode, figure) for figure in FIGURES]
    if not costs_by_figure[0]:
        return ""
    return (
        " / ".join(f"{statistics.median(figure_costs):+.1f}" for figure_costs in costs_by_figure)
        + f" ({len(costs_by_figure[0])})"
    )


def _noise(processes: list[Process]) -> str:
    costs_by_figure = [relative_costs(processes, BARE, figure) for figure in FIGURES]
    if not costs_by_figure[0]:
        return ""
    return " / ".join(f"±{max(map(abs, figure_costs)):.1f}" for figure_costs in costs_by_figure)


def _own_overhead(processes: list[Process], mode: str) -> str:
    overheads = [p.own_ms for p in processes if p.mode == mode and p.own_ms is not None]
    bare = statistics.median(process.median for process in processes if process.mode == BARE)
    return f"{100 * statistics.median(overheads) / bare:+.1f}" if overheads else ""


def machine() -> dict[str, str]:
    """Return the machine, GPU and versions by name."""
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
    parser.add_argument("--pairs", type=int, default=5, help="groups of processes")
    parser.add_argument("--turns", type=int, default=15, help="of each process of a group")
    parser.add_argument("--steps", type=int, default=10, help="of a turn that count")
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--reserve", type=float, default=60, help="seconds that a group may take")
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
    program_names = options.programs or [name for name, program in PROGRAMS.items() if program.gpu]
    settings = {"steps": options.steps, "turns": options.turns, "pairs": options.pairs}
    results = Results(machine(), settings)
    with tempfile.TemporaryDirectory() as scratch:
        runner = Runner(options, Path(scratch), results)
        for name in program_names:
            lack = missing_requirement(PROGRAMS[name])
            if lack is not None:
                runner.note(f"{name}: {lack}")
                continue
            runner.measure(name)
    results.write(options.json)
    print(table(results))
    return 0 if results.programs else 2


if __name__ == "__main__":
    sys.exit(main())
