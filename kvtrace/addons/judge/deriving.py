"""Bounds of rounding errors of each element in memory: how far a right device may be off.

The bounds are derived while the launches of a call are evaluated, in arrays of the shape of memory
(planes), and carried from launch to launch. A storage loses them, with a reason, if PyTorch
computes its contents, or moves elements into it that a kernel has written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import evaluate
from kvtrace.evaluate.arguments import Argument, Storage
from kvtrace.evaluate.condition import FLOATS
from kvtrace.evaluate.errors import UNFIT, TooLarge
from kvtrace.evaluate.observe import Access, Observer
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.scope import MOST_STEPS
from kvtrace.evaluate.shadows.errors.analysis import CHANCE, Deviations
from kvtrace.evaluate.shadows.errors.planes import PLANES
from kvtrace.evaluate.shadows.errors.roundings import constants_radius
from kvtrace.evaluate.shadows.errors.tt_memory import StoragePlanes
from kvtrace.inputs.cases import EPSILON
from kvtrace.ir import Module
from kvtrace.schema.errors import KvtraceError

#: Bounds are derived for launches on at most this much memory; planes take 14 times as much.
_MOST_BYTES: Final = 32 << 20
#: ... and with at most one in this many of the steps that an evaluation may take.
_STEPS_DIVISOR: Final = 8
#: ... and with at most so much work (`Work`), some seconds of processor time.
_MOST_WORK: Final = 40_000_000
#: The work that evaluations may take for each second of a process: less than half of it, so that
#: slow machines are done in time.
WORK_OF_A_SECOND: Final = 8_000_000
#: The work of an access beside its elements, and of an evaluation with planes beside one without.
_ACCESS: Final = 2_000
_WITH_PLANES: Final = 16
_FORMS: Final = {name: FLOATS[name] for name in EPSILON}


class TooMuchWork(Exception):
    """Evaluating a case takes more work than is left, so that it was not judged to its end."""


class Work(Observer):
    """The work of evaluations, counted in elements that they access, and its limit.

    What is evaluated follows from counts alone, so that a judgment does not depend on how fast or
    busy a machine is.

    Attributes:
        done: The work so far.
        most: The limit, beyond which an evaluation raises TooLarge.
        wanted: The work that there would be with the access that was refused last; not counted.
    """

    def __init__(self, most: float) -> None:
        self.done = 0.0
        self.most = most
        self.wanted = 0.0
        self._weight = 1

    @property
    def is_over(self) -> bool:
        """An evaluation was ended at the limit."""
        return self.wanted > self.most

    @contextmanager
    def of_case(self) -> Iterator[None]:
        """Judge a case in the block: what was too much for one before may not be for this one.

        TooMuchWork ends the block; `is_over` says so afterwards.
        """
        self.wanted = 0.0
        with suppress(TooMuchWork):
            yield

    @contextmanager
    def with_planes(self) -> Iterator[None]:
        """Count an evaluation with planes, which has a limit of its own, in the block."""
        most, self.most = self.most, min(self.done + _MOST_WORK, self.most)
        self._weight = _WITH_PLANES
        try:
            yield
        finally:
            self.most, self._weight = most, 1

    def access(self, access: Access) -> None:
        """Count an access."""
        self.wanted = self.done + (_ACCESS + access.lanes) * self._weight
        if self.wanted > self.most:
            raise TooLarge("it takes too long")
        self.done = self.wanted


@dataclass
class DerivedBounds:
    """Planes of storages by number, and the reasons why other storages have none.

    `launches` is the number of launches of the case, over which the chance of an error beyond the
    bounds is divided. A storage in neither has exact contents.
    """

    launches: int
    planes: dict[int, StoragePlanes] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)

    def evaluate(
        self, module: Module, arguments: Sequence[Argument], grid: tuple[int, int, int],
        numbers: Mapping[int, Storage], observer: Observer, work: Work, kernel: str,
    ) -> bool:  # fmt: skip
        """Evaluate a launch with planes, and return whether that was possible.

        If not, memory is unchanged, and the storages that the launch writes get the reason.
        """
        storages_written = written_storages(module, arguments)
        writes = [number for number, storage in numbers.items() if storage in storages_written]
        reason = next((self.reasons[n] for n in numbers if n in self.reasons), None)
        if reason is None and sum(storage.nbytes for storage in numbers.values()) > _MOST_BYTES:
            reason = f"{kernel} works on more than {_MOST_BYTES >> 20} MiB"
        if reason is None:
            reason = self._evaluate_with_planes(
                module, arguments, grid, numbers, (observer, work), kernel, writes
            )
        if reason is not None:
            for number in writes:
                self._end_bounds(number, reason)
        return reason is None

    def _evaluate_with_planes(
        self, module: Module, arguments: Sequence[Argument], grid: tuple[int, int, int],
        numbers: Mapping[int, Storage], observers: tuple[Observer, Work], kernel: str,
        writes: Sequence[int],
    ) -> str | None:  # fmt: skip
        """Evaluate a launch, and store the planes of the storages `writes`.

        If that is not possible, restore memory and return the reason; else return None.
        """
        written_memory = [data for number in writes if (data := numbers[number].data) is not None]
        copies = [data.copy() for data in written_memory]
        deviations = Deviations(
            module,
            chance=CHANCE / max(self.launches, 1),
            before={id(numbers[n]): planes for n, planes in self.planes.items() if n in numbers},
        )
        reason = None
        try:
            with observers[1].with_planes():
                evaluate(
                    module, arguments, grid, observers=observers, kernel=kernel,
                    instrument=deviations, most_steps=MOST_STEPS // _STEPS_DIVISOR,
                )  # fmt: skip
        except (KvtraceError, *UNFIT) as error:
            reason = f"no bound can be derived for {kernel}: {error}"
        if reason is None and deviations.open:
            reason = f"roundings decide a branch of {kernel}"
        if reason is not None:
            for data, copy in zip(written_memory, copies, strict=True):
                data[...] = copy
            return reason
        memory = deviations.memory
        assert memory is not None
        memory.finish()
        for number in writes:
            storage_planes = memory.planes.by_storage.get(id(numbers[number]))
            if storage_planes is not None:
                self.planes[number] = storage_planes
        return None

    def note_move(
        self, number: int, sources: Sequence[int], values: NDArray[Any], moved: Sequence[Any]
    ) -> None:
        """Update the bounds of storage `number` after PyTorch moved elements from `sources` to it.

        The bounds end if moved elements have bounds, or if the move rounded them. `moved` are the
        elements before the move, `values` those in the storage after it.
        """
        reason = next((self.reasons[n] for n in sources if n in self.reasons), None)
        if reason is None and any(n in self.planes for n in (number, *sources)):
            reason = "PyTorch moves elements that a kernel wrote"
        if reason is None and any(_rounds(array, values.dtype) for array in moved):
            reason = f"PyTorch rounds to {values.dtype}"
        if reason is not None:
            self._end_bounds(number, reason)

    def note_contents(self, number: int, name: str, values: NDArray[Any] | None) -> None:
        """Reset the bounds of a storage that got unexplained contents; None: no contents yet.

        Floats that are not simple constants may be rounded results, so that they end the bounds.
        """
        self.planes.pop(number, None)
        self.reasons.pop(number, None)
        float_format = None if values is None else _FORMS.get(values.dtype.name)
        if values is None or float_format is None:
            return
        if constants_radius(float_format, values.astype(np.float64)).any():
            self._end_bounds(number, f"Python or PyTorch computed the contents of {name}")

    def planes_of(self, entry: Mapping[str, Any], itemsize: int) -> NDArray[Any] | str:
        """Return the planes of a logged result in its shape, or the reason why there are none."""
        if "storage" not in entry:
            return "Python or PyTorch computed the result"
        number, shape = int(entry["storage"]), tuple(map(int, entry["shape"]))
        if number in self.reasons:
            return self.reasons[number]
        if number not in self.planes:
            return np.zeros(shape, PLANES)
        size, phase, planes = self.planes[number]
        if (size, phase) != (itemsize, 0):
            return "a kernel wrote elements of another size"
        byte_strides = tuple(int(step) * PLANES.itemsize for step in entry["strides"])
        return np.lib.stride_tricks.as_strided(planes[int(entry["offset"]) :], shape, byte_strides)

    def _end_bounds(self, number: int, reason: str) -> None:
        self.planes.pop(number, None)
        self.reasons[number] = reason


def _rounds(values: NDArray[Any], to: np.dtype[Any]) -> bool:
    """Return whether converting elements to the float type `to` changes some of them."""
    if values.dtype == to or to.name not in _FORMS:
        return False
    with np.errstate(all="ignore"):
        before, after = values.astype(np.float64), values.astype(to).astype(np.float64)
    return not np.array_equal(before, after, equal_nan=True)
