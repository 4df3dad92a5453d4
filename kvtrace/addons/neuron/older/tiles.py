"""Tensors of the older interface, with operators and assignment to parts."""

from collections.abc import Callable
from typing import Any

from kvtrace.addons.neuron.machine import current
from kvtrace.addons.neuron.ops import elementwise, moves
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import TOKENS

_PRODUCTS = ("nisa.nc_matmul", "nl.matmul")


def _operator(name: str, of_bools: str | None = None) -> Callable[["Tile", Any], Any]:
    """Return a method that executes the token `name`, or `of_bools` if the tile has bools."""

    def apply(self: "Tile", other: Any) -> Any:
        return _execute(of_bools if of_bools and self.dtype.kind == "b" else name, self, other)

    return apply


def _reflected_operator(name: str) -> Callable[["Tile", Any], Any]:
    def apply(self: "Tile", other: Any) -> Any:
        return _execute(name, other, self)

    return apply


def _in_place_operator(name: str) -> Callable[["Tile", Any], "Tile"]:
    def apply(self: "Tile", other: Any) -> "Tile":
        elementwise.LANGUAGE[name].into(self, self, other)
        return self

    return apply


def _execute(name: str, *operands: Any) -> Any:
    execute = TOKENS[name].execute
    assert execute is not None
    return execute(*operands)


class Tile(Tensor):
    """A tensor of the older interface, `neuronxcc.nki`."""

    __slots__ = ()

    def astype(self, dtype: Any) -> "Tile":
        """Return a new tile with the elements converted to another type."""
        copied: Tile = moves.copy.older(self, dtype=dtype)
        return copied

    # -- assignment -------------------------------------------------------------------------

    def __setitem__(self, key: Any, value: Any) -> None:
        target = self[key]
        if isinstance(value, Tensor) and target.same_elements(value):
            return  # `tile[...] += x` has written the elements in place
        moves.put(target, value)

    # -- operators --------------------------------------------------------------------------

    __add__ = _operator("add")
    __sub__ = _operator("subtract")
    __mul__ = _operator("multiply")
    __truediv__ = _operator("divide")
    __pow__ = _operator("power")
    __mod__ = _operator("mod")
    __radd__ = _reflected_operator("add")
    __rsub__ = _reflected_operator("subtract")
    __rmul__ = _reflected_operator("multiply")
    __rtruediv__ = _reflected_operator("divide")
    __rpow__ = _reflected_operator("power")
    __and__ = _operator("bitwise_and", of_bools="logical_and")
    __or__ = _operator("bitwise_or", of_bools="logical_or")
    __xor__ = _operator("bitwise_xor", of_bools="logical_xor")
    __lshift__ = _operator("left_shift")
    __rshift__ = _operator("right_shift")
    __lt__ = _operator("less")
    __le__ = _operator("less_equal")
    __gt__ = _operator("greater")
    __ge__ = _operator("greater_equal")
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        return False if other is None else _execute("equal", self, other)

    def __ne__(self, other: object) -> Any:
        return True if other is None else _execute("not_equal", self, other)

    __isub__ = _in_place_operator("subtract")
    __imul__ = _in_place_operator("multiply")
    __itruediv__ = _in_place_operator("divide")

    def __iadd__(self, other: Any) -> "Tile":
        if _is_last_product(other) and self.memory.space == "psum":
            _accumulate_product(self, other)
            return self
        elementwise.LANGUAGE["add"].into(self, self, other)
        return self

    def __neg__(self) -> Any:
        return _execute("negative", self)

    def __abs__(self) -> Any:
        return _execute("abs", self)

    def __invert__(self) -> Any:
        return _execute("logical_not" if self.dtype.kind == "b" else "invert", self)


def _is_last_product(value: Any) -> bool:
    if not isinstance(value, Tensor) or not moves.is_last_result(value):
        return False
    recorder = current().recorder
    return recorder.sites[value.memory.life.site].op in _PRODUCTS


def _accumulate_product(target: Tile, product: Tensor) -> None:
    """Make the tensor engine's last product accumulate into a tile in PSUM."""
    moves.redirect_last_result(target, product, add=True)
