"""Bounds of rounding errors beside memory: how far a right device's results may be off.

The bounds (planes) are derived while the launches of a call are evaluated, and carried from launch
to launch. They end, with a reason, where PyTorch computes, or moves elements that a kernel has
written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.judge.comparing import EPSILON
from kvtrace.evaluate import evaluate
from kvtrace.evaluate.arguments import Argument, Storage
from kvtrace.evaluate.condition import FLOATS
from kvtrace.evaluate.errors import UNFIT
from kvtrace.evaluate.observe import Observer
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.scope import MOST_STEPS
from kvtrace.evaluate.shadows.errors.analysis import CHANCE, Deviations
from kvtrace.evaluate.shadows.errors.planes import PLANES
from kvtrace.evaluate.shadows.errors.roundings import constants_radius
from kvtrace.evaluate.shadows.errors.tt_memory import StoragePlanes
from kvtrace.ir import Module
from kvtrace.schema.errors import KvtraceError

#: Bounds are derived for launches on at most this much memory; planes take 14 times as much.
_MOST_BYTES: Final = 32 << 20
#: ... and with at most one in this many of the steps that an evaluation may take.
_STEPS_DIVISOR: Final = 8
_FORMS: Final = {name: FLOATS[name] for name in EPSILON}


@dataclass
class DerivedBounds:
    """Planes of storages by number, and the reasons why other storages have none.

    `launches` is the number of launches of the case: each takes its part of the chance.
    """

    launches: int
    planes: dict[int, StoragePlanes] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)

    def evaluate(
        self, module: Module, arguments: Sequence[Argument], grid: tuple[int, int, int],
        numbers: Mapping[int, Storage], observer: Observer, kernel: str,
    ) -> bool:  # fmt: skip
        """Evaluate a launch with planes; on failure restore memory, note why, and return False."""
        written = written_storages(module, arguments)
        writes = [number for number, storage in numbers.items() if storage in written]
        reason = next((self.reasons[n] for n in numbers if n in self.reasons), None)
        if reason is None and sum(storage.nbytes for storage in numbers.values()) > _MOST_BYTES:
            reason = f"{kernel} works on more than {_MOST_BYTES >> 20} MiB"
        if reason is None:
            reason = self._evaluate_with_planes(
                module, arguments, grid, numbers, observer, kernel, writes
            )
        if reason is not None:
            for number in writes:
                self._end_bounds(number, reason)
        return reason is None

    def _evaluate_with_planes(
        self, module: Module, arguments: Sequence[Argument], grid: tuple[int, int, int],
        numbers: Mapping[int, Storage], observer: Observer, kernel: str, writes: Sequence[int],
    ) -> str | None:  # fmt: skip
        """Evaluate a launch with planes; return the reason if that was not possible."""
        written = [data for number in writes if (data := numbers[number].data) is not None]
        copies = [data.copy() for data in written]
        deviations = Deviations(
            module,
            chance=CHANCE / max(self.launches, 1),
            before={id(numbers[n]): planes for n, planes in self.planes.items() if n in numbers},
        )
        reason = None
        try:
            evaluate(
                module, arguments, grid, observers=(observer,), kernel=kernel,
                instrument=deviations, most_steps=MOST_STEPS // _STEPS_DIVISOR,
            )  # fmt: skip
        except (KvtraceError, *UNFIT) as error:
            reason = f"of {kernel} none is derived: {error}"
        if reason is None and deviations.open:
            reason = f"which way {kernel} goes depends on roundings"
        if reason is not None:
            for data, copy in zip(written, copies, strict=True):
                data[...] = copy
            return reason
        memory = deviations.memory
        assert memory is not None
        memory.finish()
        for number in writes:
            kept_planes = memory.planes.by_storage.get(id(numbers[number]))
            if kept_planes is not None:
                self.planes[number] = kept_planes
        return None

    def note_move(
        self, number: int, sources: Sequence[int], values: NDArray[Any], moved: Sequence[Any]
    ) -> None:
        """End the bounds of a storage if PyTorch moved elements that have bounds, or rounded them.

        `moved` are the elements before the move, `values` those in the storage after it.
        """
        reason = next((self.reasons[n] for n in sources if n in self.reasons), None)
        if reason is None and any(n in self.planes for n in (number, *sources)):
            reason = "PyTorch moves what a kernel wrote"
        if reason is None and any(_rounds(array, values.dtype) for array in moved):
            reason = f"PyTorch rounds to {values.dtype}"
        if reason is not None:
            self._end_bounds(number, reason)

    def note_contents(self, number: int, name: str, values: NDArray[Any] | None) -> None:
        """Note contents that neither launches nor moves explain; None: memory without contents."""
        self.planes.pop(number, None)
        self.reasons.pop(number, None)
        form = None if values is None else _FORMS.get(values.dtype.name)
        if values is None or form is None:
            return
        if constants_radius(form, values.astype(np.float64)).any():
            self._end_bounds(number, f"Python or PyTorch computed what {name} holds")

    def planes_of(self, entry: Mapping[str, Any], itemsize: int) -> NDArray[Any] | str:
        """Return the planes of a result in its shape, or the reason why there are none."""
        if "storage" not in entry:
            return "Python or PyTorch computed it"
        number, shape = int(entry["storage"]), tuple(map(int, entry["shape"]))
        if number in self.reasons:
            return self.reasons[number]
        if number not in self.planes:
            return np.zeros(shape, PLANES)
        size, phase, planes = self.planes[number]
        if (size, phase) != (itemsize, 0):
            return "a kernel wrote elements of another size"
        steps = tuple(int(step) * PLANES.itemsize for step in entry["strides"])
        return np.lib.stride_tricks.as_strided(planes[int(entry["offset"]) :], shape, steps)

    def _end_bounds(self, number: int, reason: str) -> None:
        self.planes.pop(number, None)
        self.reasons[number] = reason


def _rounds(values: NDArray[Any], to: np.dtype[Any]) -> bool:
    """Return whether a conversion to a type changes elements."""
    if values.dtype == to or to.name not in _FORMS:
        return False
    with np.errstate(all="ignore"):
        before, after = values.astype(np.float64), values.astype(to).astype(np.float64)
    return not np.array_equal(before, after, equal_nan=True)
