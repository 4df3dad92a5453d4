"""Types of progress displays of passes over calls."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

#: A function called after each call with the numbers of finished and of all calls.
Progress = Callable[[int, int], None]
#: A function from a pass's title to a context of its progress function, or of None.
Shown = Callable[[str], AbstractContextManager[Progress | None]]


def unshown(title: str) -> AbstractContextManager[Progress | None]:  # noqa: ARG001 - as Shown
    """Return a context of no progress function, so that nothing is shown."""
    return nullcontext()
