"""Wrappers around launches of compiled kernels: the registry's group `around_launches`.

An entry is a function from a session to the wrappers that the session's settings ask for. Without
wrappers no hook is installed, and a known call enters no Python.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kvtrace import registry

if TYPE_CHECKING:
    from kvtrace.capture.records import Parameter
    from kvtrace.capture.session import Session
    from kvtrace.ir import Module

Grid = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Variant:
    """The facts of a compiled kernel that a wrapper of its launches needs.

    Attributes:
        name: The kernel's name.
        parameters: The flattened signature.
        pick: A function from a launch's arguments to the flattened values.
    """

    name: str
    parameters: "Sequence[Parameter]"
    pick: Callable[[Any], Sequence[Any]]


class AroundLaunches(Protocol):
    """A wrapper of a backend's launches, which reads their tensors before and after.

    If `variant` returns data for a kernel, and `is_due` is True, `before` is called before the
    launch. If that returns a result, it is passed to `launched`, which makes the launch. No method
    raises errors of its own.
    """

    def follow(self) -> None:
        """Add the wrapper to the listeners of the run's journal; called at each new call."""

    def variant(self, kernel: Any, make: Callable[[], Variant]) -> Any:
        """Return the wrapper's data for a kernel, made at its first launch; None: not wrapped."""

    def is_due(self, variant: Any) -> bool:
        """Return whether the kernel's next launch is to be wrapped."""

    def before(
        self,
        variant: Any,
        grid: Callable[[], Grid],
        values: Any,
        stream: int,
        module: "Callable[[], Module]",
    ) -> Any:
        """Read a launch's tensors, and return `begun` for `launched`; None: do not wrap.

        `module` returns the kernel's parsed IR.
        """

    def launched(self, begun: Any, launch: Callable[[], Any], number: int = 0) -> Any:
        """Make the launch, read its tensors, and return the launch's result.

        `begun` is the result of `before`, `number` that of the launch's copies, or 0.
        """


def around_launches(session: "Session") -> tuple[AroundLaunches, ...]:
    """Return new wrappers, for one backend, of all entries whose settings are on in the session."""
    wrappers: list[AroundLaunches] = []
    for _, make in registry.loaded("around_launches"):
        try:
            session_wrappers: Iterable[AroundLaunches] = make(session)
            wrappers += session_wrappers
        except Exception as error:  # noqa: BLE001 - launches are recorded without it
            session.problem(error)
    return tuple(wrappers)


__all__ = ["AroundLaunches", "Grid", "Variant", "around_launches"]
