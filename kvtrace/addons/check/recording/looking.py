"""Examination of the outputs of compiled kernels' launches: the settings `finite` and `digest`.

Trial launches of autotuners are not examined. Hooks call `Looking` in the same way as `Checking`.
"""

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.check.recording.checking import launched
from kvtrace.addons.check.recording.touched import memory_key, storages_of
from kvtrace.backends.compiled_kernels.around import Grid, Variant
from kvtrace.backends.compiled_kernels.contents_to_copy import in_trials, is_memory
from kvtrace.capture.device_copies import CopyFailed
from kvtrace.capture.records import Parameter
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.addons.check.recording.outputs import ExaminedLaunch, Outputs, Plan
    from kvtrace.capture.session import Session
    from kvtrace.ir import Module
    from kvtrace.verdicts.contents.index_arguments import IndexArguments

#: Most stored plans of a kernel, one for each set of memory.
_PLANS: Final = 256


@dataclass(slots=True)
class ExaminedKernel:
    """A compiled kernel: positions and types of its pointers, and which are read or written."""

    variant: Variant
    pointers: tuple[tuple[int, str], ...]
    roles: tuple[frozenset[int], frozenset[int]] | None = None
    plans: dict[Any, "Plan"] = field(default_factory=dict)  # by memory


class Looking:
    """Examination of the launches of one backend in one session."""

    def __init__(self, session: "Session", outputs: "Outputs") -> None:
        """Create the examination, without any kernel."""
        self._session = session
        self._outputs = outputs
        self._kernels: weakref.WeakKeyDictionary[Any, ExaminedKernel | None] = (
            weakref.WeakKeyDictionary()
        )

    def follow(self) -> None:
        """Make the run's journal report launches; called for each new call."""
        self._outputs.follow()

    def variant(self, kernel: Any, make: Callable[[], Variant]) -> ExaminedKernel | None:
        """Return the record of a kernel, created on first use; None if it is not recorded."""
        if kernel not in self._kernels:
            variant = make()
            pointers = tuple(
                (place, _element(parameter.type))
                for place, parameter in enumerate(variant.parameters)
                if is_memory(parameter)
            )
            is_recorded = self._session.settings.records_kernel(variant.name) and pointers
            self._kernels[kernel] = ExaminedKernel(variant, pointers) if is_recorded else None
        return self._kernels[kernel]

    def is_due(self, examined: ExaminedKernel) -> bool:
        """Return whether the next launch is examined."""
        return not in_trials(self._session) and self._outputs.is_due(id(examined))

    def before(
        self,
        examined: ExaminedKernel,
        grid: Callable[[], Grid],
        values: Any,
        stream: int,
        module: "Callable[[], Module]",
    ) -> "ExaminedLaunch | None":
        """Examine memory that a launch about to start will change; None if not examined.

        `module` reads the kernel's IR.
        """
        del grid
        try:
            if examined.roles is None:
                examined.roles = _roles(module, examined.variant.parameters)
            flat = examined.variant.pick(values)
            key = tuple([memory_key(flat[place]) for place, _ in examined.pointers])
            plan = examined.plans.get(key)
            if plan is None:
                plan = self._plan(examined, flat, examined.roles)
                if len(examined.plans) >= _PLANS:
                    examined.plans.clear()
                examined.plans[key] = plan
            return self._outputs.before(plan, id(examined), int(stream or 0))
        except CopyFailed as error:
            self._outputs.failed(error)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)
        return None

    def _plan(
        self,
        examined: ExaminedKernel,
        flat: Sequence[Any],
        roles: tuple[frozenset[int], frozenset[int]],
    ) -> "Plan":
        from kvtrace.addons.check.recording.outputs import Plan

        listed = [(place, flat[place], kind) for place, kind in examined.pointers]
        return Plan(*storages_of(listed, *roles))

    def launched(self, looked: "ExaminedLaunch", launch: Callable[[], Any], number: int = 0) -> Any:
        """Make the launch, and examine its outputs; `number` is the launch's, or 0."""
        return launched(self._session, self._outputs, looked, self._outputs.after, launch, number)


def _element(kind: str) -> str:
    """Return the element type of a pointer (`*fp32`, `*kfp32`) or descriptor type."""
    return kind.partition("<")[2].partition("[")[0] or kind.lstrip("*").removeprefix("k")


def _roles(
    module: "Callable[[], Module]", parameters: Sequence[Parameter]
) -> tuple[frozenset[int], frozenset[int]]:
    """Return the positions of parameters that a kernel may read, and may write."""
    from kvtrace.verdicts.contents.index_arguments import IndexArguments, index_arguments

    try:
        arguments = index_arguments(module())
    except KvtraceError:  # reported where the kernel is recorded
        arguments = IndexArguments(None, None)
    return _places(arguments.loaded, arguments, parameters), _places(
        arguments.written, arguments, parameters
    )


def _places(
    positions: frozenset[int] | None, arguments: "IndexArguments", parameters: Sequence[Parameter]
) -> frozenset[int]:
    """Return the signature positions of the memory parameters at `positions` of the IR's arguments.

    If `positions` is None, or does not fit the signature, these are all memory parameters.
    A descriptor is several arguments of the IR, but the order of memory arguments is the same.
    """
    memory = [place for place, parameter in enumerate(parameters) if is_memory(parameter)]
    if positions is None or len(memory) != len(arguments.memory):
        return frozenset(memory)
    places = dict(zip(arguments.memory, memory, strict=True))
    return frozenset(places[position] for position in positions)
