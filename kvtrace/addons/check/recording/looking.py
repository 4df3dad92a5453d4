"""Examination of launches' outputs by `finite` and `digest`, parts of the setting `check`.

Trial launches of autotuners are not examined. `OutputExaminer` has the methods of `LaunchSelector`.
"""

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.check.recording.checking import launched
from kvtrace.addons.check.recording.plans import memory_key, storages_of
from kvtrace.backends.compiled_kernels.around import Grid, Variant
from kvtrace.backends.compiled_kernels.contents_to_copy import in_trials, is_memory
from kvtrace.capture.device_copies import CopyFailed
from kvtrace.capture.records import Parameter
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.addons.check.recording.outputs import ExaminedLaunch, Outputs
    from kvtrace.addons.check.recording.plans import Plan
    from kvtrace.capture.session import Session
    from kvtrace.ir import Module
    from kvtrace.ir.index_arguments import IndexArguments

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
    plans: dict[Any, "Plan"] = field(default_factory=dict)  # by memory


class OutputExaminer:
    """Wrapper that examines the outputs of launches of one backend in one session."""

    def __init__(self, session: "Session", outputs: "Outputs") -> None:
        self._session = session
        self._outputs = outputs
        self._kernels: weakref.WeakKeyDictionary[Any, ExaminedKernel | None] = (
            weakref.WeakKeyDictionary()
        )

    def follow(self) -> None:
        """Make the run's journal report launches to `Outputs`; called for each new call."""
        self._outputs.follow()

    def variant(self, kernel: Any, make: Callable[[], Variant]) -> ExaminedKernel | None:
        """Return the record of `kernel`, on first use created from `make()`.

        None if the settings exclude the kernel, or if it has no memory parameter.
        """
        if kernel not in self._kernels:
            variant = make()
            pointers = tuple(
                (position, _element_type(parameter.type))
                for position, parameter in enumerate(variant.parameters)
                if is_memory(parameter)
            )
            is_recorded = self._session.settings.records_kernel(variant.name) and pointers
            self._kernels[kernel] = ExaminedKernel(variant, pointers) if is_recorded else None
        return self._kernels[kernel]

    def is_due(self, examined: ExaminedKernel) -> bool:
        """Return whether the kernel's next launch is examined; count others, except for trials."""
        return not in_trials(self._session) and self._outputs.is_due(id(examined))

    def before(
        self,
        examined: ExaminedKernel,
        grid: Callable[[], Grid],
        values: Any,
        stream: int,
        module: "Callable[[], Module]",
    ) -> "ExaminedLaunch | None":
        """Digest and copy memory that a launch about to start will change; None: not examined.

        `module` is called for the kernel's IR, at the kernel's first launch. Errors are counted,
        not raised.
        """
        del grid
        try:
            if examined.roles is None:
                examined.roles = _roles(module, examined.variant.parameters)
            flat = examined.variant.pick(values)
            key = tuple([memory_key(flat[position]) for position, _ in examined.pointers])
            plan = examined.plans.get(key)
            if plan is None:
                plan = self._new_plan(examined, flat, examined.roles)
                if len(examined.plans) >= _PLANS:
                    examined.plans.clear()
                examined.plans[key] = plan
            return self._outputs.before(plan, id(examined), int(stream or 0))
        except CopyFailed as error:
            self._outputs.failed(error)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)
        return None

    def _new_plan(
        self,
        examined: ExaminedKernel,
        flat: Sequence[Any],
        roles: tuple[frozenset[int], frozenset[int]],
    ) -> "Plan":
        from kvtrace.addons.check.recording.plans import Plan

        pointer_arguments = [
            (position, flat[position], element_type) for position, element_type in examined.pointers
        ]
        return Plan(*storages_of(pointer_arguments, *roles))

    def launched(self, looked: "ExaminedLaunch", launch: Callable[[], Any], number: int = 0) -> Any:
        """Call `launch`, examine its outputs, and return its result.

        `number` is the launch's number if another wrapper gave it one, else 0.
        """
        return launched(self._session, self._outputs, looked, self._outputs.after, launch, number)


def _element_type(kind: str) -> str:
    """Return the element type of a pointer (`*fp32`, `*kfp32`) or descriptor type."""
    return kind.partition("<")[2].partition("[")[0] or kind.lstrip("*").removeprefix("k")


def _roles(
    module: "Callable[[], Module]", parameters: Sequence[Parameter]
) -> tuple[frozenset[int], frozenset[int]]:
    """Return the positions of parameters that a kernel may read, and those it may write.

    Without readable IR, all memory parameters are both.
    """
    from kvtrace.ir.index_arguments import IndexArguments, index_arguments

    try:
        index_arguments_of_ir = index_arguments(module())
    except KvtraceError:  # reported where the kernel is recorded
        index_arguments_of_ir = IndexArguments(None, None)
    return _signature_positions(
        index_arguments_of_ir.loaded, index_arguments_of_ir, parameters
    ), _signature_positions(index_arguments_of_ir.written, index_arguments_of_ir, parameters)


def _signature_positions(
    positions: frozenset[int] | None, arguments: "IndexArguments", parameters: Sequence[Parameter]
) -> frozenset[int]:
    """Return the signature positions of the memory parameters at `positions` of the IR's arguments.

    If `positions` is None, or does not fit the signature, these are all memory parameters.
    A descriptor is several arguments of the IR, but the order of memory arguments is the same.
    """
    memory = [
        position_in_signature
        for position_in_signature, parameter in enumerate(parameters)
        if is_memory(parameter)
    ]
    if positions is None or len(memory) != len(arguments.memory):
        return frozenset(memory)
    position_by_argument = dict(zip(arguments.memory, memory, strict=True))
    return frozenset(position_by_argument[position] for position in positions)
