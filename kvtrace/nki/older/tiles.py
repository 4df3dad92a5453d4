"""The older interface's tensors: tiles have operators, and parts of them can be assigned to."""

from typing import Any

from kvtrace.nki.machine import current
from kvtrace.nki.ops import elementwise, moves
from kvtrace.nki.tensors import Tensor
from kvtrace.nki.tokens import TOKENS

_PRODUCTS = ("nisa.nc_matmul", "nl.matmul")


class Tile(Tensor):
    """A tensor of `neuronxcc.nki`."""

    __slots__ = ()

    def astype(self, dtype: Any) -> "Tile":
        """Return a copy in another type."""
        copied: Tile = moves.copy.older(self, dtype=dtype)
        return copied

    # -- assignment -------------------------------------------------------------------------

    def __setitem__(self, key: Any, value: Any) -> None:
        target = self[key]
        if isinstance(value, Tensor) and target.same_elements(value):
            return  # `tile[...] += x` has written it in place already
        _assign(target, value)

    # -- operators --------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        return _run("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _run("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _run("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _run("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return _run("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _run("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _run("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _run("divide", other, self)

    def __pow__(self, other: Any) -> Any:
        return _run("power", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _run("power", other, self)

    def __mod__(self, other: Any) -> Any:
        return _run("mod", self, other)

    def __neg__(self) -> Any:
        return _run("negative", self)

    def __abs__(self) -> Any:
        return _run("abs", self)

    def __invert__(self) -> Any:
        return _run("logical_not" if self.dtype.kind == "b" else "invert", self)

    def __and__(self, other: Any) -> Any:
        return _run("logical_and" if self.dtype.kind == "b" else "bitwise_and", self, other)

    def __or__(self, other: Any) -> Any:
        return _run("logical_or" if self.dtype.kind == "b" else "bitwise_or", self, other)

    def __xor__(self, other: Any) -> Any:
        return _run("logical_xor" if self.dtype.kind == "b" else "bitwise_xor", self, other)

    def __lshift__(self, other: Any) -> Any:
        return _run("left_shift", self, other)

    def __rshift__(self, other: Any) -> Any:
        return _run("right_shift", self, other)

    def __lt__(self, other: Any) -> Any:
        return _run("less", self, other)

    def __le__(self, other: Any) -> Any:
        return _run("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return _run("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return _run("greater_equal", self, other)

    def __eq__(self, other: object) -> Any:
        return _run("equal", self, other)

    def __ne__(self, other: object) -> Any:
        return _run("not_equal", self, other)

    __hash__ = None  # type: ignore[assignment]

    # -- in place ---------------------------------------------------------------------------

    def __iadd__(self, other: Any) -> "Tile":
        if _is_fresh_product(other) and self.memory.space == "psum":
            _accumulate(self, other)
            return self
        return _in_place("add", self, other)

    def __isub__(self, other: Any) -> "Tile":
        return _in_place("subtract", self, other)

    def __imul__(self, other: Any) -> "Tile":
        return _in_place("multiply", self, other)

    def __itruediv__(self, other: Any) -> "Tile":
        return _in_place("divide", self, other)


def _run(name: str, *operands: Any) -> Any:
    execute = TOKENS[name].execute
    assert execute is not None
    return execute(*operands)


def _in_place(name: str, tile: Tile, other: Any) -> Tile:
    elementwise.LANGUAGE[name].into(tile, tile, other)
    return tile


def _assign(target: Tensor, value: Any) -> None:
    """Write to a part of a tile; the result of the op that ran last is written there itself."""
    if isinstance(value, Tensor) and _is_fresh(value):
        moves.settle(target, value)
        return
    moves.assign.older(target, value)


def _is_fresh(value: Tensor) -> bool:
    recorder = current().recorder
    return 0 <= value.memory.fresh == recorder.count - 1 and value.memory.life.bytes == (
        value.size * value.itemsize
    )


def _is_fresh_product(value: Any) -> bool:
    if not isinstance(value, Tensor) or not _is_fresh(value):
        return False
    recorder = current().recorder
    return recorder.sites[value.memory.life.site].op in _PRODUCTS


def _accumulate(target: Tile, product: Tensor) -> None:
    """Add the product that the tensor engine has just made, as it does in PSUM itself."""
    moves.settle(target, product, add=True)
