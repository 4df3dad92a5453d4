"""Marks of a program that are its steps.

A mark that names a step comes first, however often it occurs: a program that says what its step is
does not need a guess. `ProfilerStep#7`, `step_7` and `step[DECODE bs=32]` name one: its name has
the word "step" or "iteration", or its attributes a number `step`. Else a mark counts that repeats
(`image`, or `image 0`, `image 1` …), covers most of its time, and has most of the run's work.
Ranges of libraries (`nccl:all_reduce`) are never steps, and files of other tools have more of them.
But where no mark is one, the ends of torch's `Optimizer.step#SGD.step` lie between the steps.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow.compute as pc
from msgspec import Struct

from kvtrace.figures.columns import Integers, coded, integers
from kvtrace.schema.trace import Run, Trace

#: Fewest steps of a mark that names no step: of a recorded program's own, and of an imported one.
_LEAST_STEPS: Final = 2
_LEAST_IMPORTED: Final = 3
#: Least part of the time of such a mark that its ranges take, and of the run's work in that time.
_LEAST_COVERED: Final = 0.5
#: Names that libraries give to their ranges: communication, torch, its compiler, and math.
_OF_LIBRARIES: Final = re.compile(
    r"nccl|rccl|xccl|hccl|(?:gloo|mpi|ucc):|(?:c10d|aten|autograd|torch|FSDP)::"
    r"|cu(?:blas|dnn|sparse|fft|solver)|hipblas|DistributedDataParallel\.|Optimizer\."
    r"|enumerate\(DataLoader\)|Torch-Compiled Region|TorchDynamo |## Call CompiledFxGraph"
    r"|AOTDispatch|CompiledFunction"
)
_OF_OPTIMIZER: Final = re.compile(r"Optimizer\.step#")
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_STEP_WORDS: Final = frozenset({"step", "steps", "iter", "iteration", "iterations"})
#: Words of names of a part of a step, as in `optimizer_step`.
_PART_WORDS: Final = frozenset({"optimizer", "optim", "scheduler", "scaler", "lr"})
#: vLLM's ranges of a step of its engine, in vllm/v1/worker of https://github.com/vllm-project/vllm.
_OF_ENGINES: Final = re.compile(r"execute_(?:\d+_)?context_\d")
_PARAMETERS: Final = re.compile(r"[\[({<]")
_DIGITS: Final = re.compile(r"\d+")
_NUMBERED: Final = re.compile(r"[\w .#-]*\d[\w .#-]*")


class StepMark(Struct, frozen=True):
    """A mark whose occurrences are steps.

    Attributes:
        name: Its name; `#` stands for numbers in which the names of steps differ.
        ranges: Begin and end of each range, in ns since 1970; () for a mark of instants.
        instants: The sorted times of instants; () for a mark of ranges. Steps lie between them.

    """

    name: str
    ranges: tuple[tuple[int, int], ...] = ()
    instants: tuple[int, ...] = ()

    @property
    def bounds(self) -> Integers:
        """The begin of each step and the end of the last one, in ns since 1970."""
        if not self.ranges:
            return np.array(self.instants, np.int64)
        begins = sorted(begin for begin, _ in self.ranges)
        return np.array([*begins, max(end for _, end in self.ranges)], np.int64)

    @property
    def _covered(self) -> int:
        """Total time of its ranges, or the time between its first and last instant, in ns."""
        if self.ranges:
            return sum(end - begin for begin, end in self.ranges)
        return self.instants[-1] - self.instants[0]

    @property
    def order(self) -> tuple[bool, bool, int]:
        """Key by which the larger of two marks is the better one."""
        return self.bounds.size > 2, bool(self.ranges), self._covered

    def repeats(self, least: int) -> bool:
        """Return whether there are enough steps, which take most of the time of all."""
        lasts = int(self.bounds[-1] - self.bounds[0])
        return self.bounds.size > least and self._covered >= _LEAST_COVERED * lasts

    def number_of(self, times: Integers) -> int:
        """Return how many times lie between the first step's begin and the end of ranges."""
        first, last = self.bounds[[0, -1]]
        return int(((first <= times) & ((times < last) | (not self.ranges))).sum())


class ProgramMarks:
    """A run's marks, by name."""

    def __init__(self, trace: Trace, run: Run) -> None:
        self._trace, self._run = trace, run
        table = trace.table("marks", [run], ["name", "begin", "end", "attributes"])
        table = table.filter(pc.is_valid(table["begin"]))
        names, codes = coded(table["name"])
        begins, ends = integers(table["begin"]), integers(table["end"], -1)
        is_numbered = pc.map_lookup(table["attributes"], "step", "first").is_valid().to_numpy()
        numbered = set(np.unique(codes[is_numbered]).tolist())
        self._ranges: dict[str, list[tuple[int, int]]] = {}
        self._instants: dict[str, list[int]] = {}
        self._stepping: list[str] = []
        order = np.argsort(codes, kind="stable")
        first = np.searchsorted(codes[order], np.arange(len(names) + 1))
        for code, name in enumerate(names):
            rows = order[first[code] : first[code + 1]]
            if name is None or not rows.size:
                continue
            is_range = ends[rows] >= 0
            ranges, instants = rows[is_range], rows[~is_range]
            if ranges.size:
                spans = zip(begins[ranges].tolist(), ends[ranges].tolist(), strict=True)
                self._ranges[name] = list(spans)
            if instants.size:
                self._instants[name] = begins[instants].tolist()
            if code in numbered or names_step(name):
                self._stepping.append(name)

    def called(self, name: str) -> StepMark | None:
        """Return the mark with a name, or those that name steps and share it; None without any."""
        if name in self._ranges:
            return StepMark(name, tuple(self._ranges[name]))
        if name in self._instants:
            return StepMark(name, instants=tuple(sorted(self._instants[name])))
        marks = self._titled(self._stepping) + self._others()
        return next((mark for mark in marks if mark.name == name), None)

    def times(self, names: frozenset[str]) -> tuple[list[tuple[int, int]], list[int]]:
        """Return the ranges, and the sorted instants, of the marks with any of the names."""
        ranges = [span for name in names for span in self._ranges.get(name, ())]
        return ranges, sorted(time for name in names for time in self._instants.get(name, ()))

    def steps(self) -> StepMark | None:
        """Return the mark that names steps and covers most time, else that which repeats.

        The first may have a single range. None without either.
        """
        named = self._titled(self._stepping)
        if named:
            return named[0] if len(named) == 1 else max(named, key=lambda mark: mark.order)
        least = _LEAST_STEPS if self._run.source is None else _LEAST_IMPORTED
        marks = [mark for mark in self._others() if mark.repeats(least)] or self._optimizers()
        if marks:
            marks = self._with_most_work(marks)
        return max(marks, key=lambda mark: mark.order, default=None)

    def _others(self) -> list[StepMark]:
        """Return the marks that name no step; numbered names that occur once each are one mark."""
        of_name: Mapping[str, Sequence[object]] = {**self._instants, **self._ranges}
        names: tuple[list[str], list[str]] = [], []
        for name in of_name:
            if not _OF_LIBRARIES.match(name):
                names[len(of_name[name]) == 1 and bool(_NUMBERED.fullmatch(name))].append(name)
        single = [mark for name in names[False] if (mark := self.called(name))]
        return single + self._titled(names[True])

    def _optimizers(self) -> list[StepMark]:
        """Return the ends of the steps of torch's optimizers, of those with several steps."""
        marks = [
            StepMark(name, instants=tuple(sorted(end for _, end in ranges)))
            for name, ranges in self._ranges.items()
            if _OF_OPTIMIZER.match(name)
        ]
        return [mark for mark in marks if len(mark.instants) > _LEAST_IMPORTED]

    def _titled(self, names: Iterable[str]) -> list[StepMark]:
        """Return marks with these names; those that differ in numbers or parameters are one."""
        ranges: dict[str, list[tuple[int, int]]] = {}
        instants: dict[str, list[int]] = {}
        for name in names:
            title = _title(name)
            if name in self._ranges:
                ranges.setdefault(title, []).extend(self._ranges[name])
            if name in self._instants:
                instants.setdefault(title, []).extend(self._instants[name])
        return [
            *(StepMark(title, tuple(sorted(spans))) for title, spans in ranges.items()),
            *(StepMark(title, instants=tuple(sorted(times))) for title, times in instants.items()),
        ]

    def _with_most_work(self, marks: list[StepMark]) -> list[StepMark]:
        """Return the marks that have most of the run's executions, without any of its launches."""
        for table, *names in (("gpu_kernels", "requested", "start"), ("launches", "enter")):
            work, of_marks = 0, np.zeros(len(marks), np.int64)
            for piece in self._trace.pieces(table, [self._run], names):
                times = integers(pc.coalesce(*(piece[name] for name in names)).drop_null())
                work += times.size
                of_marks += [mark.number_of(times) for mark in marks]
            if work:
                return [
                    m for m, n in zip(marks, of_marks, strict=True) if n >= _LEAST_COVERED * work
                ]
        return marks


def names_step(name: str) -> bool:
    """Return whether a mark's name says that it is a step of the program."""
    if _OF_LIBRARIES.match(name):
        return False
    words = {word.lower() for word in _WORDS.findall(name)}
    named = bool(words & _STEP_WORDS) and not words & _PART_WORDS
    return named or _OF_ENGINES.match(name) is not None


def _title(name: str) -> str:
    """Return the common name of a program's steps, without parameters and numbers."""
    return _DIGITS.sub("#", _PARAMETERS.split(name, maxsplit=1)[0].strip() or name)
