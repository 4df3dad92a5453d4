"""What the hot path asks of others: of a backend's adapter, and of what describes arguments."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

Problem = Callable[[Exception], None]
"""Takes an exception of the hot path's own, which the program never sees."""

Apart = tuple[int, int, int, Any]
"""What `Adapter.new_kernel` returns where it says how launches of the kernel are recorded."""


class Adapter(Protocol):
    """A backend's side of the hot path: what to do with what has not been seen before."""

    def new_kernel(self, owner: Any, kernel: Any) -> tuple[int, int, int] | Apart:
        """Record a compiled variant.

        Returns its kernel id (-1: not to be recorded), and the DLPack kind and index of the device
        that it runs on; and perhaps what looks at its launches before they are made, in the native
        hot path alone (None: nothing does), or, for `Recorder.wrap_choosing`, that they are
        `uncommon` (True).
        """

    def new_call(
        self,
        owner: Any,
        kernel: Any,
        kernel_id: int,
        grid: tuple[int, int, int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> int:
        """Record a unique call; return its id (-1: not to be recorded)."""


class Describe(Protocol):
    """Returns the exact identity of an argument of no common type, and the pointers in it."""

    def __call__(self, value: Any, /) -> Sequence[Any]:
        """Return the identity, and data pointers, whose equality pattern is part of the call's.

        None instead of pointers: this object never changes, and may be kept alive forever. The
        native hot path may get the names of fields, too, by which it distinguishes objects of the
        value's type from then on.
        """
