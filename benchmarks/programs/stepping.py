"""Steps of a program, timed one by one, bare or under a profiler that is not kvtrace.

A program of this folder makes a function that does one step and waits for the device, and hands it
to `run`; one whose loop is a library's asks `Steps.more` before each step. Programs know nothing of
kvtrace but the mark "steady", which is set if kvtrace records.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

WARM_UP = 15


def _torch_profiler(*activities: str) -> Callable[[Path], None]:
    def start(_folder: Path) -> None:
        from torch.profiler import ProfilerActivity, profile

        profiler_activities = [getattr(ProfilerActivity, name) for name in activities]
        profile(activities=profiler_activities).__enter__()

    return start


def _proton(folder: Path) -> None:
    import triton.profiler

    triton.profiler.start(str(folder / "proton"))


def _cupti(folder: Path) -> None:
    from empty_cupti import start

    start(folder, os.environ.get("EMPTY_CUPTI", ""))


PROFILERS: dict[str, Callable[[Path], None]] = {
    "torch-cuda": _torch_profiler("CUDA"),
    "torch-both": _torch_profiler("CPU", "CUDA"),
    "proton": _proton,
    "cupti": _cupti,
}


def parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options that every program has."""
    argument_parser = argparse.ArgumentParser(description=description)
    argument_parser.add_argument("--steps", type=int, default=150)
    argument_parser.add_argument("--warm-up", type=int, default=WARM_UP)
    argument_parser.add_argument("--json", type=Path, help="gets the seconds of each step")
    argument_parser.add_argument("--turns", type=int, nargs=2, help="descriptors: see Turns")
    argument_parser.add_argument("--profiler", choices=tuple(PROFILERS))
    return argument_parser


class Turns:
    """Protocol of turns with other processes: a line has the steps to do, another their times.

    Args:
        due: descriptor to read from; an end of it, or 0, ends the program.
        reports: descriptor to write to: a JSON list of seconds a turn, an empty one when warmed up.

    """

    def __init__(self, due: int, reports: int) -> None:
        self.due = os.fdopen(due, "r")
        self.reports = os.fdopen(reports, "w")
        self.left = 0

    def wait(self, seconds: list[float]) -> bool:
        """When a turn is over, report its `seconds` and wait for the next; False if none comes."""
        if not self.left:
            print(json.dumps(seconds), file=self.reports, flush=True)
            seconds.clear()
            self.left = self.due_steps()
        self.left -= 1
        return self.left >= 0

    def due_steps(self) -> int:
        """Return the number of steps of the next turn, 0 if none comes."""
        return int(self.due.readline() or 0)


class Steps:
    """Counter of steps: first untimed steps of warm-up, then timed steps, until all are done."""

    def __init__(self, options: argparse.Namespace, turns: type[Turns] = Turns) -> None:
        self.options = options
        self.seconds: list[float] = []
        self.warm_up = options.warm_up
        self.profiler = options.profiler
        self.begin: float | None = None
        self.turns = None if options.turns is None else turns(*options.turns)

    def more(self) -> bool:
        """End the current step, if any; begin another and return True, or return False."""
        if self.begin is not None:
            self.seconds.append(time.perf_counter() - self.begin)
            if self.turns is None and len(self.seconds) == self.options.steps:
                self._finish()
                return False
        elif self.warm_up:
            self.warm_up -= 1
            return True
        elif self.profiler:
            PROFILERS[self.profiler]((self.options.json or Path("x")).absolute().parent)
            self.profiler, self.warm_up = None, self.options.warm_up  # its first steps are slow
            return True
        elif os.environ.get("KVTRACE"):
            import kvtrace

            kvtrace.mark("steady")
        if self.turns is not None and not self.turns.wait(self.seconds):
            self._finish()
            return False
        self.begin = time.perf_counter()
        return True

    def _finish(self) -> None:
        if self.options.json is not None:
            self.options.json.write_text(json.dumps(self.seconds))
        if self.options.profiler:  # reading its records would take longer than the steps did
            sys.stdout.flush()
            os._exit(0)


def run(step: Callable[[], object], options: argparse.Namespace) -> None:
    """Warm up, then time each step; what a profiler does at its end is not waited for."""
    steps = Steps(options)
    while steps.more():
        step()
