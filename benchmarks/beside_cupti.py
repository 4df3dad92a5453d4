"""Cost of a recording beside CUPTI alone: processes that run at once, on cores that change.

    python benchmarks/beside_cupti.py [--programs NAME ...] [--modes MODE ...] [--at-once 3]
        [--gpus 1] [--rounds 9] [--steps 200] [--settle 200] [--minutes 9] [--json FILE] [--dry-run]
    python benchmarks/beside_cupti.py --show FILE ...

A round starts one process a mode, `--at-once` of them side by side: bare, and others in turn. Each
has cores of its own, and GPUs if `--gpus` suffice, which are another process's in the next round.
On a GPU that is shared, a process gains what another one loses. All wait until each has warmed up
(15 steps), and then step at the same time: `--steps` first ones, `--settle` uncounted ones, and
as many steady ones again. For each phase are printed, over rounds: the median of the ratio to the
bare process of the same round (median step), the ratio to CUPTI alone of that round, what the
longest step is above the bare twin's longest, and the processor time of the process, a step.

Modes: `bare`, `cupti` (CUPTI's records of kernels and copies, and of the nodes of graphs, with none
of kvtrace's code: programs/empty_cupti.py), `launch` and `timeline` (all other settings at their
defaults). A program whose package is missing is left out with a sentence, and so is a process that
fails. One bare process before the first round fills compilers' caches. `--dry-run` runs a program
without a GPU, a few steps, to see that all works. FILE is written after each round.
"""

import argparse
import contextlib
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from real_programs import (
    BARE,
    FOLDER,
    PROFILED,
    RECORDED,
    ROOT,
    START,
    VARIABLES,
    Program,
    TurnTakingProcess,
    machine,
    missing_requirement,
)

MODES: Final = (BARE, "cupti", "launch", "timeline")
PHASES: Final = ("first", "steady")
LIGER: Final = ("transformers", "liger_kernel")
PROGRAMS: Final = {
    "vit-eager": Program("vit.py", (), ("--how", "eager")),
    "vit-graphs": Program("vit.py", (), ("--how", "graphs")),
    "llama-compiled": Program("compiled_llama.py", ()),
    "trainer-liger": Program("trainer_liger.py", (*LIGER, "accelerate")),
    "ddp-liger": Program("transformers_liger.py", LIGER, ("--ranks", "2")),
    "vit-cpu": Program(
        "vit.py", (), ("--device", "cpu", "--layers", "1", "--batch", "1"), gpu=False
    ),
    "standin": Program("standin.py", (), ("--launches", "50"), gpu=False),
}
DRY: Final = ("standin",)
TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Measured:
    """Figures of one process in one phase: milliseconds of steps, and of its processor a step."""

    program: str
    round: int
    mode: str
    phase: str
    median: float
    longest: float
    processor: float


def processor_seconds(process: int) -> float:
    """Return the processor time that a process has used, in all of its threads."""
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS


def step_together(
    processes: list[TurnTakingProcess], steps: int, until: float
) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Let all processes do `steps` steps at the same time; return seconds and processor time."""
    before = {}
    for process in processes:
        before[process.mode] = processor_seconds(process.process.pid)
        with contextlib.suppress(BrokenPipeError):  # it ended, which the answer tells
            os.write(process._due, f"{steps}\n".encode())
    seconds: dict[str, list[float]] = {}
    used: dict[str, float] = {}
    for process in processes:
        answer = process.answer(until)
        if answer:
            seconds[process.mode] = answer
            used[process.mode] = processor_seconds(process.process.pid) - before[process.mode]
    return seconds, used


class Runner:
    """Runner of the rounds of all programs."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options = options
        self.scratch = scratch
        self.measured: list[Measured] = []
        self.notes: list[str] = []
        self.end = time.monotonic() + 60 * options.minutes

    def measure(self, name: str) -> None:
        caches = ROOT / "build" / "beside_cupti" / name
        if not caches.exists():
            self.round(name, [BARE], -1, caches)
        others = [mode for mode in self.options.modes if mode != BARE]
        count = min(self.options.at_once - 1, len(others))
        groups = itertools.cycle(itertools.combinations(others, count))
        longest = 0.0
        for number in range(self.options.rounds):
            begin = time.monotonic()
            if begin + longest > self.end:
                self.note(f"{name}: {number} rounds, as {self.options.minutes:g} minutes are over")
                return
            self.round(name, [BARE, *next(groups)], number, caches)
            longest = max(longest, time.monotonic() - begin)

    def round(self, name: str, modes: list[str], number: int, caches: Path) -> None:
        """Start a process a mode on cores of its own, and measure both phases."""
        begin, processes = time.monotonic(), []
        all_cores = sorted(os.sched_getaffinity(0))
        share = max(1, len(all_cores) // len(modes))
        for position, mode in enumerate(modes):
            folder = self.scratch / f"{name}-{number}-{mode}"
            folder.mkdir()
            turn = (position + number) % len(modes)
            place = turn * share
            os.sched_setaffinity(0, all_cores[place : place + share] or all_cores)
            try:
                command = self.command(name, mode, folder)
                variables = self.variables(mode, folder) | self.gpus_of(turn, len(modes))
                processes.append(
                    TurnTakingProcess(command, variables | compiler_caches(caches), mode)
                )
            finally:
                os.sched_setaffinity(0, all_cores)
        living = [process for process in processes if process.answer(self.end) is not None]
        warm = time.monotonic() - begin
        if number >= 0:
            for phase in PHASES:
                seconds, used = step_together(living, self.options.steps, self.end)
                living = [process for process in living if process.mode in seconds]
                self.measured += [
                    Measured(
                        name, number, mode, phase, 1e3 * statistics.median(times),
                        1e3 * max(times), 1e3 * used[mode] / len(times),
                    )
                    for mode, times in seconds.items()
                ]  # fmt: skip
                if phase == PHASES[0] and self.options.settle:
                    step_together(living, self.options.settle, self.end)
        for process in processes:
            failure = process.end(self.end + 30)
            if failure is not None:
                self.note(f"{name}, round {number}, {process.mode}: {failure}")
        self.write()
        spent = time.monotonic() - begin
        print(f"{name} {number} {modes}: warm after {warm:.0f} s, {spent:.0f} s in all", flush=True)

    def command(self, name: str, mode: str, folder: Path) -> list[str]:
        program = PROGRAMS[name]
        return [
            sys.executable, "-c", START, str(FOLDER / program.file), *program.arguments,
            "--json", str(folder / "steps.json"),
            *(("--profiler", mode) if mode in PROFILED else ()),
        ]  # fmt: skip

    def variables(self, mode: str, folder: Path) -> dict[str, str]:
        variables = {
            name: value for name, value in os.environ.items() if not name.startswith("KVTRACE")
        }
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        variables["PYTHONPATH"] = os.pathsep.join(paths)
        variables.setdefault("EMPTY_CUPTI", "flush")
        if mode in RECORDED:
            variables |= {"KVTRACE": str(folder / "out"), **VARIABLES[mode]}
        return variables

    def gpus_of(self, turn: int, count: int) -> dict[str, str]:
        """Return what gives a process its own share of the GPUs, if they suffice."""
        share = self.options.gpus // count
        own = range(turn * share, (turn + 1) * share)
        return {"CUDA_VISIBLE_DEVICES": ",".join(map(str, own))} if own else {}

    def note(self, text: str) -> None:
        print(f"left out: {text}", flush=True)
        self.notes.append(text)

    def write(self) -> None:
        content = {"notes": self.notes, "measured": [asdict(one) for one in self.measured]}
        self.options.json.write_text(json.dumps(content, indent=1))


def compiler_caches(folder: Path) -> dict[str, str]:
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TRITON_CACHE_DIR": str(folder / "triton"),
    }


def table(measured: list[Measured]) -> str:
    """Return the table of all programs, phases and modes, in Markdown."""
    heading = (
        "program", "phase", "mode", "rounds", "median step, ms", "× bare", "× CUPTI alone",
        "longest step less bare's, ms", "processor, ms a step",
    )  # fmt: skip
    lines = [f"| {' | '.join(heading)} |", "|---" * len(heading) + "|"]
    groups: dict[tuple[str, str, str], list[Measured]] = defaultdict(list)
    found = {(one.program, one.phase, one.mode, one.round): one for one in measured}
    for one in measured:
        groups[one.program, one.phase, one.mode].append(one)
    order = sorted(
        groups, key=lambda key: (list(PROGRAMS).index(key[0]), key[1], MODES.index(key[2]))
    )
    for program, phase, mode in order:
        ones = groups[program, phase, mode]

        def twins(other: str, ones: list[Measured] = ones) -> list[tuple[Measured, Measured]]:
            keys = [(one, (one.program, one.phase, other, one.round)) for one in ones]
            return [(one, found[key]) for one, key in keys if key in found]

        cells = [
            program, phase, mode, str(len(ones)),
            f"{statistics.median(one.median for one in ones):.2f}",
            _middle([one.median / twin.median for one, twin in twins(BARE)]),
            _middle([one.median / twin.median for one, twin in twins("cupti")]),
            _middle([one.longest - twin.longest for one, twin in twins(BARE)], most=True),
            f"{statistics.median(one.processor for one in ones):.2f}",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _middle(values: list[float], most: bool = False) -> str:
    if not values:
        return ""
    text = f"{statistics.median(values):.3f}"
    return f"{text} (most {max(values):.1f})" if most else text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", nargs="+", choices=tuple(PROGRAMS))
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--at-once", type=int, default=3, help="processes side by side")
    parser.add_argument("--gpus", type=int, default=1, help="of the machine")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=200, help="of each phase")
    parser.add_argument("--settle", type=int, default=200, help="uncounted, between the phases")
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--json", type=Path, default=Path("beside_cupti.json"))
    parser.add_argument("--show", type=Path, nargs="+", help="print the table of these files")
    parser.add_argument("--dry-run", action="store_true", help="without a GPU, a few steps")
    options = parser.parse_args()
    if options.show:
        contents = [json.loads(path.read_text()) for path in options.show]
        measured = [
            Measured(**{**one, "round": one["round"] + 1000 * number})
            for number, content in enumerate(contents)
            for one in content["measured"]
        ]
        print(table(measured))
        return 0
    if not list((ROOT / "kvtrace" / "capture").glob("_hot*.so")):
        print("kvtrace's C parts are not built: python setup.py build_ext --inplace")
        return 2
    if options.dry_run:
        options.modes = [mode for mode in options.modes if mode not in PROFILED]
        options.steps, options.settle, options.rounds = 5, 2, 2
    names = options.programs or [
        name for name, program in PROGRAMS.items() if program.gpu and not options.dry_run
    ]
    with tempfile.TemporaryDirectory() as scratch:
        runner = Runner(options, Path(scratch))
        for name in names or DRY:
            lack = missing_requirement(PROGRAMS[name])
            if lack is not None:
                runner.note(f"{name}: {lack}")
                continue
            runner.measure(name)
        runner.write()
    print(", ".join(f"{name} {value}" for name, value in machine().items()), "\n")
    print(table(runner.measured))
    print(*(f"Left out: {note}." for note in runner.notes), sep="\n")
    return 0 if runner.measured else 2


if __name__ == "__main__":
    sys.exit(main())
