"""Memories as kernels name them: `nl.sbuf`, `nl.psum`, `nl.hbm` and others."""

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.memory import Space
from kvtrace.forks import Lock


class Buffer(str):
    """A memory to allocate tensors in.

    kvtrace ignores a manual placement (`alloc` and others): each tensor is a separate buffer.
    """

    __slots__ = ("shared", "space")
    space: Space
    shared: bool

    def __new__(cls, name: str, space: Space, shared: bool = False) -> "Buffer":
        """Make a memory with a name."""
        buffer = super().__new__(cls, name)
        buffer.space = space
        buffer.shared = shared
        return buffer

    def __call__(self, *args: Any, **kwargs: Any) -> "Buffer":
        """Return the memory itself: the placement is ignored."""
        del args, kwargs
        return self

    def view(self, dtype: Any, shape: Any = None, size: Any = None, name: str = "") -> Any:
        """Allocate a tensor of `shape` (or `size`) in this memory, and return it."""
        from kvtrace.addons.neuron.ops.creation import ndarray

        return ndarray(size if shape is None else shape, dtype, buffer=self, name=name)

    #: Placement by a function, in a ring, and by the compiler.
    alloc = mod_alloc = auto_alloc = __call__


sbuf: Final = Buffer("sbuf", "sbuf")
psum: Final = Buffer("psum", "psum")
hbm: Final = Buffer("hbm", "hbm")
private_hbm: Final = Buffer("private_hbm", "hbm")
shared_hbm: Final = Buffer("shared_hbm", "hbm", shared=True)

# `nl.MemoryRegion.sbuf` and others: memories are attributes of the class, as in an enumeration.
for _buffer in (sbuf, psum, private_hbm, shared_hbm):
    setattr(Buffer, str(_buffer), _buffer)

_BY_NAME: Final[dict[str, Buffer]] = {
    str(memory): memory for memory in (sbuf, psum, hbm, private_hbm, shared_hbm)
}


_lock: Final = Lock()
#: For each running launch, the names that it has added to the builtins.
_added: Final[list[dict[str, Buffer]]] = []


@contextmanager
def bare_names() -> Iterator[None]:
    """Make memories builtin names (`sbuf`) in the context, in which several threads may be."""
    with _lock:
        _added.append({name: it for name, it in _BY_NAME.items() if not hasattr(builtins, name)})
        vars(builtins).update(_added[-1])
    try:
        yield
    finally:
        with _lock:
            names = _added.pop(0)
            _added[:1] = [names | later for later in _added[:1]]
            for name in names if not _added else ():
                delattr(builtins, name)


def buffer_of(value: Any) -> Buffer:
    """Return a memory, given its name or the `Buffer` itself; SBUF for None.

    Raises:
        NkiError: no memory has that name.
    """
    if value is None:
        return sbuf
    if isinstance(value, Buffer):
        return value
    buffer = _BY_NAME.get(value) if isinstance(value, str) else None
    if buffer is None:
        raise NkiError(f"{value!r} is not a memory; the memories are {', '.join(_BY_NAME)}")
    return buffer
