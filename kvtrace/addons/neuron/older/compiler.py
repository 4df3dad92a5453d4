"""`neuronxcc.nki.compiler`: memories for manual placement, and decorators without effect."""

from collections.abc import Callable
from typing import Any, TypeVar

from kvtrace.addons.neuron.buffers import psum, sbuf
from kvtrace.addons.neuron.loops import no_reorder

__all__ = [
    "enable_stack_allocator",
    "force_auto_alloc",
    "no_reorder",
    "psum",
    "sbuf",
    "skip_middle_end_transformations",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _unchanged(function: _Function | None = None, **settings: Any) -> Any:
    del settings
    return (lambda decorated: decorated) if function is None else function


enable_stack_allocator = _unchanged
force_auto_alloc = _unchanged
skip_middle_end_transformations = _unchanged
