"""Views: tensors that share memory with another in NumPy, and so see each other's assignments.

A view knows how to be read from its base, and how a new value of it changes the base. Where NumPy
would copy or view as the memory happens to lie (reshape of a view), writing is refused.
"""

from collections.abc import Callable

from kvtrace.addons.graphs.hlo.errors import RefusedMutation
from kvtrace.addons.graphs.hlo.primitives import row_by_row
from kvtrace.addons.graphs.hlo.wrapper import Tensor

Read = Callable[[Tensor], Tensor]
Write = Callable[[Tensor, Tensor], Tensor]


class View:
    """How one tensor is seen in another.

    Attributes:
        base: what is viewed.
        version: the base's version that was read last.
        window: what is seen, where it is named: equal windows see the same elements.

    """

    __slots__ = ("_read", "_refusal", "_write", "base", "version", "window")

    def __init__(
        self, base: Tensor, read: Read, write: Write | None, refusal: str, window: object
    ) -> None:
        self.base = base
        self.version = base._version
        self._read = read
        self._write = write
        self._refusal = refusal
        self.window = window

    def read_again(self) -> Tensor:
        """Read the view's value from the base as it is now.

        Raises:
            RefusedMutation: whether NumPy would see the base's new value is unknown.

        """
        if self._write is None:
            raise RefusedMutation.here(self._refusal)
        return self._read(row_by_row(self.base))

    def write_back(self, value: Tensor) -> None:
        """Change the base by the view's new value.

        Raises:
            RefusedMutation: what NumPy would write to is unknown.

        """
        if self._write is None:
            raise RefusedMutation.here(self._refusal)
        self.base._become(self._write(row_by_row(self.base), value))


def viewed(
    base: Tensor,
    read: Read,
    write: Write | None,
    refusal: str = "",
    window: object = None,
) -> Tensor:
    """Make the view of a tensor that `read` gives and `write(base, value)` takes back.

    `write` None: it is a copy or a view in NumPy, as memory lies; `refusal` explains it.
    """
    value = row_by_row(read(row_by_row(base)))
    value._permuted = base._permuted
    value._view = View(base, read, write, refusal, window)
    return value


def is_contiguous(tensor: Tensor) -> bool:
    """Whether NumPy would surely reshape the array without a copy: no view, and row by row."""
    return tensor._view is None and not tensor._permuted
