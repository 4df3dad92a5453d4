"""The memories that a program names: `nl.sbuf`, `nl.psum`, `nl.hbm` and their kin."""

import builtins
from typing import Any, Final

from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.memory import Space
from kvtrace.forks import Lock


class Buffer(str):
    """A memory to allocate in. `alloc` and `mod_alloc` place a tensor by hand.

    Where it is placed is not followed here: a tensor is a separate buffer wherever it lies.
    """

    __slots__ = ("shared", "space")
    space: Space
    shared: bool

    def __new__(cls, name: str, space: Space, shared: bool = False) -> "Buffer":
        """Make a memory of its name."""
        made = super().__new__(cls, name)
        made.space = space
        made.shared = shared
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> "Buffer":
        """Return the memory itself, whatever the placement."""
        del args, kwargs
        return self

    def view(self, dtype: Any, shape: Any = None, size: Any = None, name: str = "") -> Any:
        """Allocate a tensor in the memory."""
        from kvtrace.addons.neuron.ops.creation import ndarray

        return ndarray(size if shape is None else shape, dtype, buffer=self, name=name)

    def alloc(self, *args: Any, **kwargs: Any) -> "Buffer":
        """Place tensors by a given function."""
        return self(*args, **kwargs)

    def mod_alloc(self, *args: Any, **kwargs: Any) -> "Buffer":
        """Place tensors one after the other, and round again."""
        return self(*args, **kwargs)

    def auto_alloc(self, *args: Any, **kwargs: Any) -> "Buffer":
        """Leave the placement to the compiler."""
        return self(*args, **kwargs)


sbuf: Final = Buffer("sbuf", "sbuf")
psum: Final = Buffer("psum", "psum")
hbm: Final = Buffer("hbm", "hbm")
private_hbm: Final = Buffer("private_hbm", "hbm")
shared_hbm: Final = Buffer("shared_hbm", "hbm", shared=True)

# `nl.MemoryRegion.sbuf` and its kin: the class has its members, as an enumeration has.
for _buffer in (sbuf, psum, private_hbm, shared_hbm):
    setattr(Buffer, str(_buffer), _buffer)

_BY_NAME: Final[dict[str, Buffer]] = {
    str(each): each for each in (sbuf, psum, hbm, private_hbm, shared_hbm)
}


class BareNames:
    """While a kernel runs, memories are names that need no import, as for Neuron's compiler."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._runs = 0
        self._given: list[str] = []

    def __enter__(self) -> None:
        with self._lock:
            self._runs += 1
            if self._runs == 1:
                self._given = [name for name in _BY_NAME if not hasattr(builtins, name)]
                vars(builtins).update((name, _BY_NAME[name]) for name in self._given)

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._runs -= 1
            if not self._runs:
                for name in self._given:
                    delattr(builtins, name)


BARE_NAMES: Final = BareNames()


def buffer_of(value: Any) -> Buffer:
    """Return the memory that a program names; SBUF where it names none.

    Raises:
        NkiError: there is no such memory.
    """
    if value is None:
        return sbuf
    if isinstance(value, Buffer):
        return value
    found = _BY_NAME.get(value) if isinstance(value, str) else None
    if found is None:
        raise NkiError(f"{value!r} is not a memory; the memories are {', '.join(_BY_NAME)}")
    return found
