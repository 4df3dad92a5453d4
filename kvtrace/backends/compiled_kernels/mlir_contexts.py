"""MLIR's contexts with Triton's dialects in them, used again and again.

Making one takes a millisecond or two, which is longer than reading or printing a small kernel.
A context keeps every type, constant and place that it has met, so none is used forever; and it may
have threads, which a forked child does not have, so none is kept over a fork.
"""

import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Final

#: Uses after which a context is given up, with what it has met.
_USES: Final = 64
_kept: dict[Hashable, list[tuple[Any, int]]] = {}


@contextmanager
def context_with(dialects: Hashable, load: Callable[[Any], None]) -> Iterator[Any]:
    """Lend a context exclusively; one in which something failed is dropped.

    Args:
        dialects: represents what `load` loads.
        load: loads dialects into a new context.

    """
    kept = _kept.setdefault(dialects, [])
    process = os.getpid()
    try:
        context, uses = kept.pop()
    except IndexError:
        from triton._C.libtriton import ir

        context, uses = ir.context(), 0
        load(context)
    yield context
    if uses + 1 < _USES and os.getpid() == process:
        kept.append((context, uses + 1))


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(before=_kept.clear)
