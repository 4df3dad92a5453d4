"""How far a right device may be from exact arithmetic, carried through the launches of a case.

Beside each element that a kernel has written stands what the shadow of deviations knows of it; the
next launch that reads it goes on from there. Where something else made or moved elements, that is
lost, and results that depend on them are compared with a fixed tolerance, which is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import TensorArgument, evaluate
from kvtrace.evaluate.errors import UNFIT
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.scope import MOST_STEPS
from kvtrace.evaluate.shadows.deviation.deviations import Deviations
from kvtrace.evaluate.shadows.deviation.planes import meaning_radius
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.evaluate import Argument, Storage
    from kvtrace.evaluate.observe import Observer
    from kvtrace.evaluate.shadows.shadow_memory import Kept
    from kvtrace.ir import Module

#: Tensors of a launch with more elements take too long: bounds cost 10 to 100 times an evaluation.
MOST_ELEMENTS: Final = 1 << 20


@dataclass
class Bounds:
    """What is known of the elements of a case's storages, by the storages' numbers.

    Attributes:
        planes: Beside elements that launches have written; others are exact.
        lost: Why nothing is known of a storage.

    """

    planes: dict[int, Kept] = field(default_factory=dict)
    lost: dict[int, str] = field(default_factory=dict)

    def launch(
        self, module: Module, arguments: Sequence[Argument], grid: tuple[int, int, int],
        kernel: str, storages: Mapping[int, Storage], observer: Observer,
    ) -> None:  # fmt: skip
        """Evaluate a launch, with bounds where they can be derived.

        Args:
            module: The kernel's IR.
            arguments: Its arguments.
            grid: Its programs.
            kernel: Its name.
            storages: The storages of its arguments, by number.
            observer: Observes its accesses.

        Raises:
            KvtraceError: it is not evaluated to its end.

        """
        reason = self._in_the_way(arguments, storages)
        if reason is None:
            before = [(each.data, each.data.copy()) for each in storages.values()
                      if each.data is not None]  # fmt: skip
            try:
                self._derive(module, arguments, grid, kernel, storages, observer)
            except (KvtraceError, *UNFIT) as error:
                reason = f"of {kernel} no bounds are derived: {error}"
                for held, first in before:
                    held[:] = first
            else:
                return
        evaluate(module, arguments, grid, observers=(observer,), kernel=kernel,
                 most_steps=MOST_STEPS)  # fmt: skip
        self._lose(module, arguments, storages, reason)

    def _in_the_way(
        self, arguments: Sequence[Argument], storages: Mapping[int, Storage]
    ) -> str | None:
        found = next((self.lost[number] for number in storages if number in self.lost), None)
        elements = sum(
            int(np.prod(each.shape)) for each in arguments if isinstance(each, TensorArgument)
        )
        if found is None and elements > MOST_ELEMENTS:
            return f"its tensors have more than {MOST_ELEMENTS:,} elements"
        return found

    def _derive(
        self, module: Module, arguments: Sequence[Argument], grid: tuple[int, int, int],
        kernel: str, storages: Mapping[int, Storage], observer: Observer,
    ) -> None:  # fmt: skip
        known = {id(each): self.planes[n] for n, each in storages.items() if n in self.planes}
        deviations = Deviations(module, known=known)
        evaluate(module, arguments, grid, observers=(observer,), kernel=kernel,
                 most_steps=MOST_STEPS, instrument=deviations)  # fmt: skip
        memory = deviations.memory
        assert memory is not None
        memory.finish()
        for number, each in storages.items():
            if id(each) in memory.planes.kept:
                self.planes[number] = memory.planes.kept[id(each)]
        if deviations.open:
            self._lose(module, arguments, storages, f"the path of {kernel} depends on roundings")

    def _lose(
        self, module: Module, arguments: Sequence[Argument], storages: Mapping[int, Storage],
        reason: str | None,
    ) -> None:  # fmt: skip
        written = {id(each) for each in written_storages(module, arguments)}
        for number, each in storages.items():
            if id(each) in written:
                self.forget(number, reason or "it is not known")

    def forget(self, number: int, reason: str | None = None) -> None:
        """Take what a storage holds now as exact; with a reason: as not known."""
        self.planes.pop(number, None)
        self.lost.pop(number, None)
        if reason is not None:
            self.lost[number] = reason

    def moved(self, number: int, taken: Sequence[int], *, whole: bool, rounds: bool) -> None:
        """Note what PyTorch moved into a storage.

        Args:
            number: The storage.
            taken: Those that elements were taken from.
            whole: Whether nothing stays that it held.
            rounds: Whether elements were rounded to another type.

        """
        before = [] if whole else [number]
        loose = any(each in self.planes or each in self.lost for each in (*taken, *before))
        reason = "PyTorch moved what a kernel made" if loose else None
        self.forget(number, "PyTorch rounded what it moved" if rounds else reason)

    def around(self, view: Mapping[str, Any], exact: NDArray[np.float64]) -> Allowed | str:
        """Return how far a result may be from the exact one; a sentence where that is not known.

        Args:
            view: The result's tensor, as the log tells of it.
            exact: What it should be.

        """
        number = int(view["storage"])
        if number in self.lost:
            return self.lost[number]
        kept = self.planes.get(number)
        if kept is None:
            return meaning_radius(np.zeros(exact.shape), exact)
        size, phase, planes = kept
        if phase or size != int(view["bytes"]):
            return "a kernel wrote it as elements of another size"
        start = int(view["offset"])
        steps = tuple(int(each) * planes.itemsize for each in view["strides"])
        shape = tuple(int(each) for each in view["shape"])
        seen = np.lib.stride_tricks.as_strided(planes[start:], shape, steps)
        radius: NDArray[np.float64] = seen["near"] + meaning_radius(seen["meaning"], exact)
        return radius


Allowed = NDArray[np.float64]
