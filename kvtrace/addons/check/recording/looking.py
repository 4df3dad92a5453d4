"""Looks at the outputs of launches of compiled kernels: the settings `finite` and `digest`.

Launches in which an autotuner tries its configurations are not checked. It is asked as `Checking`
is, by the same hooks.
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
    from kvtrace.addons.check.recording.outputs import Looked, Outputs, Plan
    from kvtrace.capture.session import Session
    from kvtrace.ir import Module
    from kvtrace.verdicts.contents.index_arguments import IndexArguments

#: Different memory of one kernel's launches for which it is known what is done.
_PLANS: Final = 256


@dataclass(slots=True)
class Seen:
    """A compiled kernel: its pointers' places and types, and which are read and written."""

    variant: Variant
    pointers: tuple[tuple[int, str], ...]
    roles: tuple[frozenset[int], frozenset[int]] | None = None
    plans: dict[Any, "Plan"] = field(default_factory=dict)  # by what they were made of


class Looking:
    """Has the launches of one backend in one session checked."""

    def __init__(self, session: "Session", outputs: "Outputs") -> None:
        """Know of no kernel yet."""
        self._session = session
        self._outputs = outputs
        self._seen: weakref.WeakKeyDictionary[Any, Seen | None] = weakref.WeakKeyDictionary()

    def follow(self) -> None:
        """Have the run's journal tell of launches; for each new call."""
        self._outputs.follow()

    def variant(self, kernel: Any, make: Callable[[], Variant]) -> Seen | None:
        """Return what is known of a kernel, made when first asked for; None: it is not recorded."""
        if kernel not in self._seen:
            made = make()
            pointers = tuple(
                (place, _element(each.type))
                for place, each in enumerate(made.parameters)
                if is_memory(each)
            )
            recorded = self._session.settings.records_kernel(made.name) and pointers
            self._seen[kernel] = Seen(made, pointers) if recorded else None
        return self._seen[kernel]

    def is_due(self, seen: Seen) -> bool:
        """Whether the next launch is to be checked."""
        return not in_trials(self._session) and self._outputs.is_due(id(seen))

    def before(
        self,
        seen: Seen,
        grid: Callable[[], Grid],
        values: Any,
        stream: int,
        module: "Callable[[], Module]",
    ) -> "Looked | None":
        """Look at what a launch that comes now will change; None where it is not checked.

        `module` reads the kernel's IR.
        """
        del grid
        try:
            if seen.roles is None:
                seen.roles = _roles(module, seen.variant.parameters)
            flat = seen.variant.pick(values)
            key = tuple([memory_key(flat[place]) for place, _ in seen.pointers])
            plan = seen.plans.get(key)
            if plan is None:
                plan = self._plan(seen, flat, seen.roles)
                if len(seen.plans) >= _PLANS:
                    seen.plans.clear()
                seen.plans[key] = plan
            return self._outputs.before(plan, id(seen), int(stream or 0))
        except CopyFailed as error:
            self._outputs.failed(error)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)
        return None

    def _plan(
        self, seen: Seen, flat: Sequence[Any], roles: tuple[frozenset[int], frozenset[int]]
    ) -> "Plan":
        from kvtrace.addons.check.recording.outputs import Plan

        listed = [(place, flat[place], kind) for place, kind in seen.pointers]
        return Plan(*storages_of(listed, *roles))

    def launched(self, looked: "Looked", launch: Callable[[], Any], number: int = 0) -> Any:
        """Make the launch, and look at what it made; `number` is one that it has, or 0."""
        return launched(self._session, self._outputs, looked, self._outputs.after, launch, number)


def _element(kind: str) -> str:
    """Name what a pointer (`*fp32`, `*kfp32`) or a descriptor (`tensordesc<fp32[64]>`) leads to."""
    return kind.partition("<")[2].partition("[")[0] or kind.lstrip("*").removeprefix("k")


def _roles(
    module: "Callable[[], Module]", parameters: Sequence[Parameter]
) -> tuple[frozenset[int], frozenset[int]]:
    """Return the places of the parameters that a kernel may read, and may write."""
    from kvtrace.verdicts.contents.index_arguments import IndexArguments, index_arguments

    try:
        found = index_arguments(module())
    except KvtraceError:  # reported where the kernel is recorded
        found = IndexArguments(None, None)
    return _places(found.loaded, found, parameters), _places(found.written, found, parameters)


def _places(
    positions: frozenset[int] | None, found: "IndexArguments", parameters: Sequence[Parameter]
) -> frozenset[int]:
    """Return the places in the signature of what leads to memory; all where it is not known which.

    Descriptors are several arguments of the IR each, but what leads to memory keeps its order.
    """
    memory = [place for place, each in enumerate(parameters) if is_memory(each)]
    if positions is None or len(memory) != len(found.memory):
        return frozenset(memory)
    places = dict(zip(found.memory, memory, strict=True))
    return frozenset(places[position] for position in positions)
