"""Where passes over calls show how far they are."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

#: Called after each call with how many are done and how many there are.
Progress = Callable[[int, int], None]
#: Called with a pass's title: what to report progress to, or None.
Shown = Callable[[str], AbstractContextManager[Progress | None]]


def unshown(title: str) -> AbstractContextManager[Progress | None]:  # noqa: ARG001 - as Shown
    """Show nothing."""
    return nullcontext()
