"""Tensors as kernels see them: operators, assignment to parts, and further views by name."""

from collections.abc import Callable
from typing import Any, Final

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.errors import NkiError, missing_name_handler
from kvtrace.addons.neuron.machine import current
from kvtrace.addons.neuron.ops import elementwise, moves
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import TOKENS

_PRODUCTS: Final = ("nisa.nc_matmul", "nl.matmul")


def _executed(name: str, *operands: Any) -> Any:
    """Execute the token `name`; if the first operand has bools, its logical counterpart."""
    _require_operators()
    if getattr(operands[0], "dtype", None) == dtypes.bool_ and name in _OF_BOOLS:
        name = _OF_BOOLS[name]
    execute = TOKENS[name].execute
    assert execute is not None
    return execute(*operands)


_OF_BOOLS: Final = {
    "bitwise_and": "logical_and",
    "bitwise_or": "logical_or",
    "bitwise_xor": "logical_xor",
    "invert": "logical_not",
}


def _require_operators() -> None:
    if current().interface == "newer":
        raise NkiError(
            "tensors of nki have no operators; use an instruction such as nisa.tensor_tensor"
        )


def _operator(name: str) -> Callable[..., Any]:
    return lambda self, *others: _executed(name, self, *others)


def _reflected(name: str) -> Callable[..., Any]:
    return lambda self, other: _executed(name, other, self)


def _in_place(name: str) -> Callable[..., "Tile"]:
    def apply(self: "Tile", other: Any) -> "Tile":
        _require_operators()
        if name == "add" and self.memory.space == "psum" and _is_last_product(other):
            moves.redirect_last_result(self, other, add=True)  # the tensor engine accumulates
        else:
            elementwise.LANGUAGE[name].into(self, self, other)
        return self

    return apply


class Tile(Tensor):
    """A tensor in a kernel; only the older interface, `neuronxcc.nki`, has operators."""

    def __setitem__(self, key: Any, value: Any) -> None:
        target = self[key]
        if isinstance(value, Tensor) and target.same_elements(value):
            return  # `tile[...] += x` has written the elements in place
        if target.on_chip:
            moves.put(target, value)
        else:
            moves.store.older(target, value)

    __add__, __radd__, __iadd__ = _operator("add"), _reflected("add"), _in_place("add")
    __sub__, __rsub__ = _operator("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _operator("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _operator("divide"), _reflected("divide")
    __pow__, __rpow__, __mod__ = _operator("power"), _reflected("power"), _operator("mod")
    __isub__, __imul__ = _in_place("subtract"), _in_place("multiply")
    __itruediv__ = _in_place("divide")
    __and__, __or__ = _operator("bitwise_and"), _operator("bitwise_or")
    __xor__, __invert__ = _operator("bitwise_xor"), _operator("invert")
    __lshift__, __rshift__ = _operator("left_shift"), _operator("right_shift")
    __lt__, __le__ = _operator("less"), _operator("less_equal")
    __gt__, __ge__ = _operator("greater"), _operator("greater_equal")
    __neg__, __abs__ = _operator("negative"), _operator("abs")
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        return False if other is None else _executed("equal", self, other)

    def __ne__(self, other: object) -> Any:
        return True if other is None else _executed("not_equal", self, other)

    def __getattr__(self, name: str) -> Any:
        missing_name_handler("nki.language.NkiTensor")(name)

    # -- views by name ----------------------------------------------------------------------

    def astype(self, dtype: Any) -> "Tile":
        """Return a new tile with the elements converted to another type."""
        copied: Tile = moves.copy.older(self, dtype=dtype)
        return copied

    @property
    def name(self) -> str:
        """The program's name of the viewed buffer, or ""."""
        return self.memory.argument or self.memory.life.name

    expand_dim = Tensor.expand_dims


def _is_last_product(value: Any) -> bool:
    if not isinstance(value, Tensor) or not moves.is_last_result(value):
        return False
    return current().recorder.sites[value.memory.life.site].op in _PRODUCTS
