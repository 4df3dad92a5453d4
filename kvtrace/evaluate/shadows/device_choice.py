"""What the instruments of a device's roundings have in common: what they cannot conclude about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.order import memory_sites
from kvtrace.evaluate.registry import place
from kvtrace.evaluate.shadows.driver import Shadows
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import actual
from kvtrace.ir.flow import flow_of
from kvtrace.ir.ops import operator_of
from kvtrace.ir.updates import update_of

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step
    from kvtrace.evaluate.scope import Launch
    from kvtrace.evaluate.shadows.shadow_memory import ShadowMemory
    from kvtrace.evaluate.types import ElementType
    from kvtrace.evaluate.values import Array
    from kvtrace.ir import Module, Op

_ADDING: Final = frozenset({"add", "fadd"})
_COMMUTING: Final = frozenset({"add", "and", "or", "xor", "max", "min", "umax", "umin"})


class DeviceChoice(Shadows):
    """Follows what a device may compute otherwise, since how it rounds and orders is its choice."""

    enters_reductions = True
    memory: ShadowMemory | None

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._shared: set[int] | None = set()

    def begin(self, launch: Launch, values: list[Any]) -> None:
        """Find the storages through which programs may see each other."""
        del values
        self._shared = _shared_storages(self.module, launch)

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap an op; in which order `cat` puts elements is the compiler's choice."""
        if operator_of(op) == "cat":
            return self.unruled(op, step, always=True)
        return super().wrapped(op, step)

    def unruled(self, op: Op, step: Step, *, always: bool = False) -> Step:
        """Run an op that no rule is for: in doubt about one operand, all that it gives is."""
        raise NotImplementedError

    def is_used(self, op: Op) -> bool:
        """Whether the kernel uses what an atomic op found in memory."""
        return bool(op.results) and bool(flow_of(self.module).uses(op.results[0]))

    def see_that_nothing_is_shared(self, op: Op, pointer: Any) -> None:
        """Refuse an access, in a launch whose programs' order matters, to what others write."""
        assert self.memory is not None
        storages = self.memory.storages_of(actual(pointer))
        if self._shared is None or not storages.isdisjoint(self._shared):
            raise Undecided(
                f"at {place(op)} programs find in memory what others wrote, so their order decides"
            )


def device_decides(op: Op) -> Undecided:
    """Return that what decides a branch, a loop or an address is not certain."""
    return Undecided(
        f"what decides at {place(op)} depends on a rounding, or an order, that is the "
        "device's choice"
    )


def float_sum(op: Op) -> ElementType | None:
    """Return the type that an atomic addition of floats rounds to; None: it adds none."""
    element = value_type(op.operand("value").type).element
    return element if element.kind == "f" and update_of(op) in _ADDING else None


def commutes(op: Op) -> bool:
    """Whether updates of an atomic op leave the same in any order, except for roundings."""
    return update_of(op) in _COMMUTING or float_sum(op) is not None


def fitted(radius: Array, shape: tuple[int, ...]) -> Array:
    """Give a radius of a descriptor's block the axes of the tensor that it becomes."""
    if radius.ndim == len(shape):
        return radius
    return np.broadcast_to(radius.max(), (1,) * len(shape))


def _shared_storages(module: Module, launch: Launch) -> set[int] | None:
    """Return the storages that a launch reads and writes; None: its programs wait for others."""
    kinds: dict[int, set[str]] = {}
    for site in memory_sites(module):
        if site.waits:
            return None
        for place_, argument in enumerate(launch.arguments):
            if isinstance(argument, TensorArgument) and site.reaches(place_):
                kinds.setdefault(id(argument.storage), set()).add(site.kind)
    return {storage for storage, found in kinds.items() if len(found) > 1}
