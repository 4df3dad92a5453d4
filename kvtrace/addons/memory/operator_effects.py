"""What operators of torch do to the memory of their tensors, by their names and schemas.

A schema says which arguments an operator changes, and results that alias no argument are new. Three
things it does not say, and the sets below do: which new results have no values (`aten::empty`),
which arguments are changed without being read (`aten::copy_`), and which operators move values
without computing with them. An operator that is in no set reads and writes as its schema says: all
elements of the tensors that it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kvtrace.addons.memory.byte_ranges import ByteRanges
from kvtrace.addons.memory.states import Effect
from kvtrace.addons.memory.tensor_bytes import tensor_bytes
from kvtrace.evaluate.types import element_of_short_name

Role = Literal["read", "written", "created", "viewed"]

#: Operators whose new results have no values yet.
UNINITIALIZED: Final = frozenset(
    f"aten::{name}"
    for name in (
        "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided",
    )
)  # fmt: skip
#: Operators that use shapes and types of what they are given, and no values.
_SHAPES_ONLY: Final = UNINITIALIZED | frozenset(
    f"aten::{name}"
    for name in (
        "_has_compatible_shallow_copy_type", "full_like", "new_full", "new_ones", "new_zeros",
        "ones_like", "rand_like", "randint_like", "randn_like", "record_stream", "resize_",
        "resize_as_", "set_", "set_data", "zeros_like",
    )
)  # fmt: skip
#: Operators that are given a tensor which Python code has filled, as `torch.tensor` does.
_FILLED: Final = frozenset(("aten::lift", "aten::lift_fresh"))
#: Operators that write all elements of the argument that they change, and read none of them.
_OVERWRITING: Final = frozenset(
    f"aten::{name}"
    for name in (
        "bernoulli_", "cauchy_", "copy_", "exponential_", "fill_", "geometric_", "log_normal_",
        "normal_", "random_", "uniform_", "zero_",
    )
)  # fmt: skip
#: Operators that write some elements of the argument that they change: which, data says.
_WRITING_SOME: Final = frozenset(
    f"aten::{name}"
    for name in (
        "_index_put_impl_", "_unsafe_index_put", "index_add_", "index_copy_", "index_fill_",
        "index_put_", "index_reduce_", "masked_fill_", "masked_scatter_", "put_", "scatter_",
        "scatter_add_", "scatter_reduce_", "tril_", "triu_",
    )
)  # fmt: skip
#: Operators whose result has values of their arguments: unwritten bytes are passed on.
MOVING: Final = frozenset(
    f"aten::{name}"
    for name in (
        "_reshape_copy", "_to_copy", "_unsafe_view", "cat", "clone", "constant_pad_nd",
        "contiguous", "copy_", "flatten", "flip", "gather", "index", "index_select",
        "narrow_copy", "pad", "repeat", "repeat_interleave", "reshape", "roll", "slice_copy",
        "split_copy", "stack", "to", "unfold_copy", "view_copy",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OperatorTensor:
    """A tensor of an operator: an argument or a result, as in the table `operators`.

    Shape and strides are in elements. `is_of_host`: it lies in memory of the host, which programs
    also write without operators (`tensor.numpy()`).
    """

    role: Role
    dtype: str
    is_of_host: bool
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset_bytes: int
    storage_bytes: int

    @property
    def element_bytes(self) -> int:
        """The size of an element in bytes."""
        return element_of_short_name(self.dtype).bytes

    @property
    def bytes(self) -> ByteRanges:
        """The bytes of its elements, from the storage's begin."""
        return tensor_bytes(self.offset_bytes, self.shape, self.strides, self.element_bytes)


@dataclass(frozen=True, slots=True)
class OperatorEffects:
    """What an operator does, tensor by tensor.

    Attributes:
        effects: of each tensor; None where it does nothing to the tensor's bytes.
        writes: the same without reads: what is done to tensors that it writes.
        moves: whether it passes values on without computing with them.
    """

    effects: tuple[Effect | None, ...]
    writes: tuple[Effect | None, ...]
    moves: bool


def operator_effects(name: str, tensors: Sequence[OperatorTensor]) -> OperatorEffects:
    """Return what an operator does; `name` is as in the table `operators`: `aten::add.Tensor`."""
    base, _, overload = name.partition(".")
    effects = tuple(_effect(base, overload, tensor, tensors) for tensor in tensors)
    written = [None if effect is None else effect.may_write for effect in effects]
    return OperatorEffects(
        effects,
        tuple(_writing(region) if region else None for region in written),
        base in MOVING,
    )


def _effect(
    base: str, overload: str, tensor: OperatorTensor, tensors: Sequence[OperatorTensor]
) -> Effect | None:
    if tensor.role == "viewed":
        return None
    if base in _FILLED:
        return _writing(tensor.bytes) if tensor.role == "read" else None
    if tensor.role == "read":
        reads_values = base not in _SHAPES_ONLY and not _makes_views(tensors)
        return _reading(tensor.bytes) if reads_values else None
    if base in _SHAPES_ONLY and (tensor.role == "written" or base in UNINITIALIZED):
        return None
    if tensor.role == "created":
        return _writing(tensor.bytes)
    if base in _WRITING_SOME:
        what = f"{base.removeprefix('aten::')} writes elements that its data chooses"
        return Effect(may_write=tensor.bytes, reason=what)
    if base in _OVERWRITING or overload.endswith("out") or base.endswith("_out"):
        return _writing(tensor.bytes)
    return Effect(tensor.bytes, tensor.bytes, tensor.bytes, tensor.bytes)


def _makes_views(tensors: Sequence[OperatorTensor]) -> bool:
    """Return whether an operator only makes views of its arguments."""
    roles = {tensor.role for tensor in tensors}
    return "viewed" in roles and roles <= {"viewed", "read"}


def _reading(region: ByteRanges) -> Effect:
    return Effect(reads=region, may_read=region)


def _writing(region: ByteRanges) -> Effect:
    return Effect(writes=region, may_write=region)
