"""Reused MLIR contexts with Triton's dialects.

Making a context takes a millisecond or two, longer than reading or printing a small kernel. A
context stores every type, constant and location that it has met, so a context is dropped after some
uses; and a context may have threads, which a forked child does not have, so contexts are dropped at
a fork.
"""

import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Final

#: Uses after which a context is dropped.
_USES: Final = 64
_idle: dict[Hashable, list[tuple[Any, int]]] = {}


@contextmanager
def context_with(dialects: Hashable, load: Callable[[Any], None]) -> Iterator[Any]:
    """Yield a context with dialects that nobody else uses meanwhile; after an error it is dropped.

    Args:
        dialects: The name under which contexts with these dialects are cached.
        load: A function that loads the dialects into a new context.

    """
    idle = _idle.setdefault(dialects, [])
    process = os.getpid()
    try:
        context, uses = idle.pop()
    except IndexError:
        from triton._C.libtriton import ir

        context, uses = ir.context(), 0
        load(context)
    yield context
    if uses + 1 < _USES and os.getpid() == process:
        idle.append((context, uses + 1))


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(before=_idle.clear)
