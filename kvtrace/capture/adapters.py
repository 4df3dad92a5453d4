"""Interfaces that the hot path calls: a backend's adapter, and the description of arguments."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

Problem = Callable[[Exception], None]
"""Receives an exception raised by the hot path itself; the program never sees the exception."""

Apart = tuple[int, int, int, Any]
"""Result of `Adapter.new_kernel` with a fourth entry: how the kernel's launches are recorded."""


class Adapter(Protocol):
    """The backend's functions that the hot path calls at the first launch of a kernel or call."""

    def new_kernel(self, owner: Any, kernel: Any) -> tuple[int, int, int] | Apart:
        """Record a compiled variant.

        Returns the kernel id (-1: not to be recorded), and the DLPack kind and index of the device
        that the kernel runs on. An optional fourth entry is, for the hot path, the object
        that inspects the kernel's launches before they are made (None: no inspection), or, for
        `Recorder.wrap_choosing`, True if the launches go to `uncommon`.
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
    """Type of `arguments.Identities`: the identity of an argument that is no tensor or number."""

    def __call__(self, value: Any, /) -> Sequence[Any]:
        """Return the identity of an argument and the spans of its tensors.

        A span is the address of a tensor's data, and the first and one-past-last address of its
        bytes. The spans are None for an object that never changes, and may be kept alive forever;
        else the caller compares them with those of other arguments, as aliasing and the distances
        of tensors that overlap are part of a call's identity. An optional third entry names the
        fields that the hot path compares from then on for objects of the value's type.
        """
