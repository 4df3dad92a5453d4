"""Refusals of instructions: what the reference of `nki.isa` asks of a call, one sentence each.

    refuses(
        "nisa.nc_transpose",
        Refusal("engine is tensor or vector", "engine", lambda call: …),
    )

Where the sentence does not hold of a call, that is a finding of the refusal's rule; with
`KVTRACE_NKI_STRICT=1` it is an error.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, Final, NamedTuple

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.findings import INSTRUCTION_ARGUMENT
from kvtrace.addons.neuron.targets import Target
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import Token, token_of


class Call:
    """The operands of an instruction by their names; None for a missing one.

    `dst` is what it writes, None where a new tile is given.
    """

    target: Target

    def __init__(self, operands: dict[str, Any]) -> None:
        """`operands` has the target as well."""
        self.__dict__ = operands

    def __getattr__(self, name: str) -> Any:
        return None


class Refusal(NamedTuple):
    """What holds of a right call, the operands that it is about, and how to see it."""

    says: str
    about: str
    holds: Callable[[Call], Any]
    rule: str = INSTRUCTION_ARGUMENT
    #: Whether it asks where in its memory an operand begins.
    by_place: bool = False

    def message(self, instruction: str, call: Call) -> str:
        """Say what is asked, and what was given."""
        given = ", ".join(f"{name}={_shown(getattr(call, name))}" for name in self.about.split())
        return f"{instruction}: {self.says}; here {given}"


#: Name of an op → its refusals.
REFUSALS: Final[dict[str, list[Refusal]]] = {}


def refuses(instruction: str, *refusals: Refusal) -> None:
    """Register refusals of an instruction."""
    REFUSALS.setdefault(instruction, []).extend(refusals)


def _shown(value: Any) -> str:
    if isinstance(value, Enum | Target):
        return value.name
    return getattr(value, "__name__", "") or repr(value)


# -- what refusals ask of operands ------------------------------------------------------------


def name_of(value: Any) -> str:
    """Return the name of a mode or an engine, "" for none."""
    return getattr(value, "name", "")


def engine_in(call: Call, *names: str) -> bool:
    """Whether the engine that is asked for, if one is, is among some."""
    return name_of(call.engine) in ("", "unknown", *names)


def token(operation: Any) -> Token:
    """Return the token that an `op=` names."""
    return token_of(operation)


def is_bits(operation: Any) -> bool:
    """Whether an operation works on bits."""
    return operation is not None and token_of(operation).kind == "bits"


def is_integer(*operands: Any) -> bool:
    """Whether all tensors among some operands are of integers."""
    return all(each.dtype in dtypes.BITS for each in operands if isinstance(each, Tensor))


def is_float(*operands: Any) -> bool:
    """Whether all tensors among some operands are of floats."""
    return all(each.dtype in dtypes.FLOATS for each in operands if isinstance(each, Tensor))


def is_type(operand: Any, *types: Any) -> bool:
    """Whether an operand, if it is a tensor, is of one of some element types."""
    return not isinstance(operand, Tensor) or operand.dtype in types


def is_not_type(operand: Any, *types: Any) -> bool:
    """Whether an operand is not a tensor of one of some element types."""
    return not isinstance(operand, Tensor) or operand.dtype not in types


def is_of_one_type(one: Any, other: Any) -> bool:
    """Whether two tensors are of one type; of anything else, yes."""
    tensors = isinstance(one, Tensor) and isinstance(other, Tensor)
    return not tensors or one.dtype == other.dtype


def lies_in(operand: Any, *spaces: str) -> bool:
    """Whether an operand, if it is a tensor, lies in one of some memories."""
    return not isinstance(operand, Tensor) or operand.memory.space in spaces


def not_both_in_psum(one: Any, other: Any) -> bool:
    """Whether at most one of two tensors lies in PSUM, except for where a compiler places them."""
    return not (_surely_in_psum(one) and _surely_in_psum(other))


def _surely_in_psum(operand: Any) -> bool:
    if not isinstance(operand, Tensor) or operand.memory.space != "psum":
        return False
    return not operand.memory.placed_later


def free_size(operand: Tensor) -> int:
    """Return the elements of a tile a partition."""
    return operand.size // max(operand.shape[0], 1)


def generation(call: Call) -> int:
    """Return the version of the core that the kernel is for."""
    return call.target.generation
