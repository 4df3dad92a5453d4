"""Random kernels of one program whose lanes meet in memory, and what their lanes may leave.

A kernel is a list of steps, run here lane by lane in other orders than the kernel's: a lane runs
ahead, or stays behind, as far as barriers let it. Nothing is shared with the rule but the kernel.
"""

import importlib.util
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LANES = 8
CELLS = 40

#: How a lane's index follows from its number: as Triton's text and as Python's function.
PLACES: tuple[tuple[str, Callable[[int], int]], ...] = (
    ("lanes", lambda lane: lane),
    ("lanes", lambda lane: lane),
    (f"{LANES - 1} - lanes", lambda lane: LANES - 1 - lane),
    (f"(lanes + 1) % {LANES}", lambda lane: (lane + 1) % LANES),
    ("lanes ^ 1", lambda lane: lane ^ 1),
    ("2 * lanes", lambda lane: 2 * lane),
    ("lanes + 4", lambda lane: lane + 4),
    (f"lanes + {LANES}", lambda lane: lane + LANES),
)
MASKS: tuple[tuple[str, Callable[[int], bool]], ...] = (
    ("", lambda _: True),
    ("", lambda _: True),
    ("lanes < 5", lambda lane: lane < 5),
    ("lanes % 2 == 0", lambda lane: lane % 2 == 0),
    ("lanes % 2 == 1", lambda lane: lane % 2 == 1),
    ("lanes >= 3", lambda lane: lane >= 3),
)


@dataclass(frozen=True)
class Step:
    """One line: `what` is load, store or barrier, of a lane each (`place`) or of a scalar.

    `register` is what a load gives, or what a store stores (None: the lane's number, or 7).
    """

    what: str
    place: int | None = None
    base: int = 0
    mask: int = 0
    register: int | None = None
    of_trip: int = 0


@dataclass(frozen=True)
class Kernel:
    """Steps before a loop, in it, and after it."""

    before: tuple[Step, ...]
    loop: tuple[Step, ...]
    after: tuple[Step, ...]
    trips: int

    def text(self) -> str:
        lines = ["    lanes = tl.arange(0, 8)"]
        lines += [f"    r{number} = lanes * 0" for number in (0, 2, 4)]
        lines += [f"    r{number} = tl.program_id(0)" for number in (1, 3)]  # the only one is 0
        lines += [f"    {line}" for step in self.before for line in _line(step, "0")]
        if self.loop:
            lines.append(f"    for trip in range({self.trips}):")
            lines += [f"        {line}" for step in self.loop for line in _line(step, "trip")]
        lines += [f"    {line}" for step in self.after for line in _line(step, "0")]
        return "@triton.jit\ndef kernel(x):\n" + "\n".join(lines) + "\n"

    def run(self) -> list[tuple[Step, int]]:
        """All steps in order, each with its trip."""
        inside = [(step, trip) for trip in range(self.trips) for step in self.loop]
        return [*((s, 0) for s in self.before), *inside, *((s, 0) for s in self.after)]


def _line(step: Step, trip: str) -> list[str]:
    if step.what == "barrier":
        return ["tl.debug_barrier()"]
    moved = f"{step.base} + {step.of_trip} * {trip}" if step.of_trip else f"{step.base}"
    scalar = step.place is None
    where = f"x + {moved}" if scalar else f"x + {moved} + ({PLACES[step.place or 0][0]})"
    mask = "" if scalar else MASKS[step.mask][0]
    if step.what == "load":
        rest = f", mask={mask}, other=0" if mask else ""
        return [f"r{step.register} = tl.load({where}{rest})"]
    value = f"r{step.register} + 1" if step.register is not None else "7" if scalar else "lanes + 9"
    return [f"tl.store({where}, {value}{f', mask={mask}' if mask else ''})"]


def random_kernel(seed: int) -> Kernel:
    """A kernel; registers of lanes have even numbers, those of scalars odd ones."""
    source = random.Random(seed)
    known: list[int] = []

    def steps(count: int, *, loops: bool) -> tuple[Step, ...]:
        found = []
        for _ in range(count):
            kind = source.choice(("load", "store", "store", "load", "barrier", "scalar"))
            of_trip = source.choice((0, 0, 1, LANES)) if loops else 0
            place, base = source.randrange(len(PLACES)), source.choice((0, 0, 0, 1, 8))
            mask = source.randrange(len(MASKS))
            if kind == "barrier":
                found.append(Step("barrier"))
            elif kind == "load":
                register = 2 * source.randrange(3)
                found.append(Step("load", place, base, mask, register, of_trip))
                known.append(register)
            elif kind == "scalar" and source.random() < 0.5:
                register = 1 + 2 * source.randrange(2)
                found.append(Step("load", None, source.randrange(6), 0, register, of_trip))
                known.append(register)
            elif kind == "scalar":
                scalars = [each for each in known if each % 2]
                register = source.choice([None, *scalars])
                found.append(Step("store", None, source.randrange(6), 0, register, of_trip))
            else:
                register = source.choice([None, *known])
                found.append(Step("store", place, base, mask, register, of_trip))
        return tuple(found)

    before = steps(source.randrange(1, 4), loops=False)
    loop = steps(source.randrange(1, 4), loops=True) if source.random() < 0.4 else ()
    after = steps(source.randrange(1, 3), loops=False)
    last = tuple(
        Step("store", 0, 24 + 8 * number, 0, register)
        for number, register in enumerate(sorted(set(known))[:2])
    )
    return Kernel(before, loop, after + last, source.randrange(1, 4) if loop else 1)


def compiled_from(kernel: Kernel, folder: Path, name: str) -> Any:
    """The kernel as a function of Triton's."""
    path = folder / f"{name}.py"
    path.write_text("import triton\nimport triton.language as tl\n\n\n" + kernel.text())
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.kernel


# -- what lanes may leave --------------------------------------------------------------------------


class _Machine:
    """Memory, and each lane's registers."""

    def __init__(self) -> None:
        self.cells = [1 + (7 * cell + cell // 5) % 89 for cell in range(CELLS)]
        self.registers = [dict[int, int]() for _ in range(LANES)]

    def do(self, step: Step, trip: int, lane: int) -> None:
        scalar = step.place is None
        if not scalar and not MASKS[step.mask][1](lane):
            if step.what == "load":
                self.registers[lane][step.register or 0] = 0
            return
        cell = step.base + step.of_trip * trip
        cell += 0 if scalar else PLACES[step.place or 0][1](lane)
        if step.what == "load":
            self.registers[lane][step.register or 0] = self.cells[cell]
        elif not scalar or lane == 0:  # one thread stores a scalar
            if step.register is None:
                self.cells[cell] = 7 if scalar else lane + 9
            else:
                self.cells[cell] = self.registers[lane].get(step.register, 0) + 1


def _segments(kernel: Kernel) -> list[list[tuple[Step, int]]]:
    found: list[list[tuple[Step, int]]] = [[]]
    for step, trip in kernel.run():
        if step.what == "barrier":
            found.append([])
        else:
            found[-1].append((step, trip))
    return found


def in_order(kernel: Kernel) -> list[int]:
    """What is left if each step is done by all lanes at once: loads of a step before its stores."""
    machine = _Machine()
    for segment in _segments(kernel):
        for step, trip in segment:
            for lane in range(LANES):
                machine.do(step, trip, lane)
    return machine.cells


def in_other_orders(kernel: Kernel) -> Iterator[list[int]]:
    """What is left if one lane runs ahead in one segment, or stays behind, by any number of steps.

    Besides, lanes run one after the other, upwards and downwards.
    """
    segments = _segments(kernel)
    for number, segment in enumerate(segments):
        for lane in range(LANES):
            for start in range(len(segment)):
                for end in range(start + 1, len(segment) + 1):
                    for ahead in (True, False):
                        yield _left(segments, number, (lane, start, end, ahead))
    for turn in (1, -1):
        machine = _Machine()
        for segment in segments:
            for lane in range(LANES)[::turn]:
                for step, trip in segment:
                    machine.do(step, trip, lane)
        yield machine.cells


def _left(
    segments: list[list[tuple[Step, int]]], number: int, who: tuple[int, int, int, bool]
) -> list[int]:
    chosen, start, end, ahead = who
    machine = _Machine()
    for position, segment in enumerate(segments):
        others = [lane for lane in range(LANES) if lane != chosen or position != number]
        for index, (step, trip) in enumerate(segment):
            if position == number and ahead and index == start:
                for early, its_trip in segment[start:end]:
                    machine.do(early, its_trip, chosen)
            for lane in others:
                machine.do(step, trip, lane)
            if position != number:
                continue
            if not start <= index < end:
                machine.do(step, trip, chosen)
            elif not ahead and index == end - 1:
                for late, its_trip in segment[start:end]:
                    machine.do(late, its_trip, chosen)
    return machine.cells
