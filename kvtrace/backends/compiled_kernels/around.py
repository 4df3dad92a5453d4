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
    """A compiled kernel whose launches may be wrapped.

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

    `before` is called for a launch of a kernel that has a `variant`, and `is_due`. A result other
    than None is passed to `launched`, which makes the launch. No method raises errors other than
    the launch's.
    """

    def follow(self) -> None:
        """Subscribe to launches in the run's journal; called at each new call."""

    def variant(self, kernel: Any, make: Callable[[], Variant]) -> Any:
        """Return the wrapper's data for a kernel, made at the first call; None for no wrapping."""

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
        """Read a launch's tensors before the launch; None if the launch needs no further wrapping.

        `module` returns the kernel's parsed IR.
        """

    def launched(self, begun: Any, launch: Callable[[], Any], number: int = 0) -> Any:
        """Make the launch, and read its tensors; `number` identifies its copies, or is 0."""


def around_launches(session: "Session") -> tuple[AroundLaunches, ...]:
    """Return the wrappers of one backend's launches that a session's settings ask for."""
    wrappers: list[AroundLaunches] = []
    for _, make in registry.loaded("around_launches"):
        try:
            session_wrappers: Iterable[AroundLaunches] = make(session)
            wrappers += session_wrappers
        except Exception as error:  # noqa: BLE001 - launches are recorded without it
            session.problem(error)
    return tuple(wrappers)


__all__ = ["AroundLaunches", "Grid", "Variant", "around_launches"]
