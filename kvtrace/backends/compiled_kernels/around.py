"""What wraps the launches of compiled kernels: the registry's group `around_launches`.

An entry is a function of a session, which gives what the session's settings ask for. Where that is
nothing, no hook is installed, and a known call enters no Python.
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
    """A compiled kernel whose launches something may wrap.

    Attributes:
        name: the kernel's name.
        parameters: the flattened signature.
        pick: gives the flattened values of a launch.
    """

    name: str
    parameters: "Sequence[Parameter]"
    pick: Callable[[Any], Sequence[Any]]


class AroundLaunches(Protocol):
    """What wraps a backend's launches, and sees their tensors before and after.

    A launch of a kernel that has a `variant`, and `is_due`, begins with `before`; what that gives,
    if it is something, goes to `launched`, which makes the launch. None of them raises what is not
    the launch's.
    """

    def follow(self) -> None:
        """Have the run's journal tell of launches; for each new call."""

    def variant(self, kernel: Any, make: Callable[[], Variant]) -> Any:
        """Return what is known of a kernel, made when first asked for; None: it is not seen."""

    def is_due(self, variant: Any) -> bool:
        """Whether the kernel's next launch is to be seen."""

    def before(
        self,
        variant: Any,
        grid: Callable[[], Grid],
        values: Any,
        stream: int,
        module: "Callable[[], Module]",
    ) -> Any:
        """See a launch that comes now; None where it is to be made without more.

        `module` reads the kernel's IR.
        """

    def launched(self, begun: Any, launch: Callable[[], Any], number: int = 0) -> Any:
        """Make the launch, and see what it left; `number` is one that its copies have, or 0."""


def around_launches(session: "Session") -> tuple[AroundLaunches, ...]:
    """Return what wraps one backend's launches in a session: what its settings ask for."""
    found: list[AroundLaunches] = []
    for _, asked_for in registry.loaded("around_launches"):
        try:
            each: Iterable[AroundLaunches] = asked_for(session)
            found += each
        except Exception as error:  # noqa: BLE001 - launches are recorded without it
            session.problem(error)
    return tuple(found)


__all__ = ["AroundLaunches", "Grid", "Variant", "around_launches"]
