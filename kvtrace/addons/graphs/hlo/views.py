"""Views: tensors that share memory with another tensor in NumPy, so that assignments reach both.

A view can be read from its base, and a new value of the view can be written into the base. Where
NumPy copies or views depending on memory layout (reshape of a view), writing is refused.
"""

from collections.abc import Callable

from msgspec import Struct

from kvtrace.addons.graphs.hlo.errors import RefusedMutation
from kvtrace.addons.graphs.hlo.primitives import row_by_row
from kvtrace.addons.graphs.hlo.wrapper import Tensor

Read = Callable[[Tensor], Tensor]
Write = Callable[[Tensor, Tensor], Tensor]


class View(Struct, eq=False):
    """The relation of a tensor to its base, the tensor whose elements it views.

    Attributes:
        base: The viewed tensor.
        read, write: The functions of `viewed`; `refusal` is the error of a missing `write`.
        window: The identity of the viewed elements, or None: equal windows view the same elements.
        version: The base's version that was read last.

    """

    base: Tensor
    read: Read
    write: Write | None
    refusal: str
    window: object
    version: int

    def read_again(self) -> Tensor:
        """Return the view's value, read from the present value of the base.

        Raises:
            RefusedMutation: It is unknown whether the array would view or copy in NumPy.

        """
        if self.write is None:
            raise RefusedMutation.here(self.refusal)
        return self.read(row_by_row(self.base))

    def write_back(self, value: Tensor) -> None:
        """Write a new value of the view into the base.

        Raises:
            RefusedMutation: It is unknown whether the array would view or copy in NumPy.

        """
        if self.write is None:
            raise RefusedMutation.here(self.refusal)
        self.base._become(self.write(row_by_row(self.base), value))


def viewed(
    base: Tensor,
    read: Read,
    write: Write | None,
    refusal: str = "",
    window: object = None,
) -> Tensor:
    """Return a view of `base`: `read(base)` is its value, `write(base, value)` writes to the base.

    `write` is None if the memory layout decides between copy and view in NumPy, or if the view is
    read-only; `refusal` is the error's text for a write. Views of a base with equal `window` have
    the same elements.
    """
    value = row_by_row(read(row_by_row(base)))
    value._permuted = base._permuted
    value._view = View(base, read, write, refusal, window, base._version)
    return value


def is_contiguous(tensor: Tensor) -> bool:
    """Return whether NumPy is certain to reshape without a copy: not a view, and row-major."""
    return tensor._view is None and not tensor._permuted
