"""Examination of launches' outputs by `finite` and `digest`, parts of the setting `check`.

Trial launches of autotuners are not examined.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.check.recording.checking import LaunchWrapper
from kvtrace.addons.check.recording.plans import Plan, memory_key, storages_of
from kvtrace.backends.compiled_kernels.around import Grid, Variant
from kvtrace.backends.compiled_kernels.contents_to_copy import (
    in_trials,
    is_memory,
    places_of,
    pointers_of,
)
from kvtrace.capture.records import Parameter

if TYPE_CHECKING:
    from kvtrace.addons.check.recording.outputs import ExaminedLaunch, Outputs
    from kvtrace.capture.session import Session
    from kvtrace.ir import Module

#: Most stored plans of a kernel, one for each set of memory.
_PLANS: Final = 256


@dataclass(slots=True)
class ExaminedKernel:
    """A compiled kernel whose outputs are examined.

    `pointers` are position and element type of each memory parameter; `roles` are the positions
    that the kernel reads, and that it writes; None: its IR was not read yet.
    """

    variant: Variant
    pointers: tuple[tuple[int, str], ...]
    roles: tuple[frozenset[int], frozenset[int]] | None = None
    plans: dict[Any, Plan] = field(default_factory=dict)  # by memory


class OutputExaminer(LaunchWrapper):
    """Wrapper that examines the outputs of launches."""

    def __init__(self, session: "Session", outputs: "Outputs") -> None:
        super().__init__(session, outputs)
        self._outputs = outputs

    def _record_of(self, variant: Variant) -> ExaminedKernel | None:
        pointers = tuple(
            (position, _element_type(parameter.type))
            for position, parameter in enumerate(variant.parameters)
            if is_memory(parameter)
        )
        return ExaminedKernel(variant, pointers) if pointers else None

    def is_due(self, examined: ExaminedKernel) -> bool:
        """Return whether the kernel's next launch is examined; count others, except for trials."""
        return not in_trials(self._session) and self._outputs.is_due(id(examined))

    def _before(
        self,
        examined: ExaminedKernel,
        grid: Callable[[], Grid],
        values: Sequence[Any],
        stream: int,
        module: "Callable[[], Module]",
    ) -> "ExaminedLaunch | None":
        """Digest and copy memory that a launch about to start will change; None: not examined."""
        del grid
        if examined.roles is None:
            examined.roles = _roles(module, examined.variant.parameters)
        key = tuple([memory_key(values[position]) for position, _ in examined.pointers])
        plan = examined.plans.get(key)
        if plan is None:
            arguments = [(position, values[position], kind) for position, kind in examined.pointers]
            plan = Plan(*storages_of(arguments, *examined.roles))
            if len(examined.plans) >= _PLANS:
                examined.plans.clear()
            examined.plans[key] = plan
        return self._outputs.before(plan, id(examined), int(stream or 0))


def _element_type(kind: str) -> str:
    """Return the element type of a pointer (`*fp32`, `*kfp32`) or descriptor type."""
    return kind.partition("<")[2].partition("[")[0] or kind.lstrip("*").removeprefix("k")


def _roles(
    module: "Callable[[], Module]", parameters: Sequence[Parameter]
) -> tuple[frozenset[int], frozenset[int]]:
    """Return the positions of parameters that a kernel may read, and those it may write.

    Without readable IR, all memory parameters are both.
    """
    pointers = pointers_of(module)
    loaded, written = (
        places_of(positions, pointers, parameters)
        for positions in (pointers.loaded, pointers.written)
    )
    return loaded, written
