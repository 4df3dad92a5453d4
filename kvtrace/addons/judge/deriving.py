"""Planes beside what launches leave in memory: how far a right device's results may be off.

They are derived while the launches of a call are evaluated, and carried from one to the next. What
PyTorch computes, or moves after a kernel has written it, ends them, with the reason.
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
from kvtrace.evaluate.shadows.deviation.deviations import CHANCE, Deviations
from kvtrace.evaluate.shadows.deviation.planes import PLANES
from kvtrace.evaluate.shadows.deviation.roundings import constants_radius
from kvtrace.evaluate.shadows.shadow_memory import Kept
from kvtrace.ir import Module
from kvtrace.schema.errors import KvtraceError

#: Bounds are derived of launches on at most so much memory: planes take 14 times as much.
_MOST_BYTES: Final = 32 << 20
#: ... and of at most this share of the steps that an evaluation may take.
_SHARE: Final = 8
_FORMS: Final = {name: FLOATS[name] for name in EPSILON}


@dataclass
class DerivedBounds:
    """Planes of storages, by number, and of which storages none are known, and why.

    `launches` is how many the case has: each takes its part of the chance.
    """

    launches: int
    kept: dict[int, Kept] = field(default_factory=dict)
    lost: dict[int, str] = field(default_factory=dict)

    def evaluated(
        self, module: Module, arguments: Sequence[Argument], grid: tuple[int, int, int],
        numbers: Mapping[int, Storage], observer: Observer, kernel: str,
    ) -> bool:  # fmt: skip
        """Evaluate a launch with planes; False: it was not, memory is as before, and `lost` why."""
        written = written_storages(module, arguments)
        writes = [number for number, storage in numbers.items() if storage in written]
        why = next((self.lost[each] for each in numbers if each in self.lost), None)
        if why is None and sum(each.nbytes for each in numbers.values()) > _MOST_BYTES:
            why = f"{kernel} works on more than {_MOST_BYTES >> 20} MiB"
        if why is None:
            why = self._evaluated(module, arguments, grid, numbers, observer, kernel, writes)
        if why is not None:
            for number in writes:
                self._lose(number, why)
        return why is None

    def _evaluated(
        self, module: Module, arguments: Sequence[Argument], grid: tuple[int, int, int],
        numbers: Mapping[int, Storage], observer: Observer, kernel: str, writes: Sequence[int],
    ) -> str | None:  # fmt: skip
        """Evaluate a launch with planes; return why that was not possible."""
        data = [held for each in writes if (held := numbers[each].data) is not None]
        before = [held.copy() for held in data]
        deviations = Deviations(
            module,
            chance=CHANCE / max(self.launches, 1),
            before={id(numbers[n]): kept for n, kept in self.kept.items() if n in numbers},
        )
        why = None
        try:
            evaluate(
                module, arguments, grid, observers=(observer,), kernel=kernel,
                instrument=deviations, most_steps=MOST_STEPS // _SHARE,
            )  # fmt: skip
        except (KvtraceError, *UNFIT) as error:
            why = f"of {kernel} none is derived: {error}"
        if why is None and deviations.open:
            why = f"which way {kernel} goes depends on roundings"
        if why is not None:
            for held, contents in zip(data, before, strict=True):
                held[...] = contents
            return why
        memory = deviations.memory
        assert memory is not None
        memory.finish()
        for number in writes:
            kept = memory.planes.kept.get(id(numbers[number]))
            if kept is not None:
                self.kept[number] = kept
        return None

    def moved(
        self, number: int, sources: Sequence[int], values: NDArray[Any], given: Sequence[Any]
    ) -> None:
        """Note that PyTorch moved elements into a storage: `given`, which became `values`."""
        why = next((self.lost[each] for each in sources if each in self.lost), None)
        if why is None and any(each in self.kept for each in (number, *sources)):
            why = "PyTorch moves what a kernel wrote"
        if why is None and any(_rounds(each, values.dtype) for each in given):
            why = f"PyTorch rounds to {values.dtype}"
        if why is not None:
            self._lose(number, why)

    def taken(self, number: int, name: str, values: NDArray[Any] | None) -> None:
        """Note contents that neither launches nor moves gave; None: memory is only allocated."""
        self.kept.pop(number, None)
        self.lost.pop(number, None)
        form = None if values is None else _FORMS.get(values.dtype.name)
        if values is None or form is None:
            return
        if constants_radius(form, values.astype(np.float64)).any():
            self._lose(number, f"Python or PyTorch computed what {name} holds")

    def planes_of(self, entry: Mapping[str, Any], itemsize: int) -> NDArray[Any] | str:
        """Return the planes of a result, of its shape; a text: why there are none."""
        if "storage" not in entry:
            return "Python or PyTorch computed it"
        number, shape = int(entry["storage"]), tuple(map(int, entry["shape"]))
        if number in self.lost:
            return self.lost[number]
        if number not in self.kept:
            return np.zeros(shape, PLANES)
        size, phase, planes = self.kept[number]
        if (size, phase) != (itemsize, 0):
            return "a kernel wrote elements of another size"
        steps = tuple(int(step) * PLANES.itemsize for step in entry["strides"])
        return np.lib.stride_tricks.as_strided(planes[int(entry["offset"]) :], shape, steps)

    def _lose(self, number: int, why: str) -> None:
        self.kept.pop(number, None)
        self.lost[number] = why


def _rounds(values: NDArray[Any], to: np.dtype[Any]) -> bool:
    """Whether elements change when they get another type."""
    if values.dtype == to or to.name not in _FORMS:
        return False
    with np.errstate(all="ignore"):
        before, after = values.astype(np.float64), values.astype(to).astype(np.float64)
    return not np.array_equal(before, after, equal_nan=True)
