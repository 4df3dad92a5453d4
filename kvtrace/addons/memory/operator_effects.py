"""Effects of operators of torch on the memory of their tensors, by their names and schemas.

A schema says which arguments an operator changes, and results that alias no argument are new. Three
things it does not say, and the sets below do: which new results have no values (`aten::empty`),
which arguments are changed without being read (`aten::copy_`), and which operators move values
without computing with them. An operator that is in no set reads and writes as its schema says: all
elements of the tensors that it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.addons.memory.states import Effect
from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.types import element_of_short_name
from kvtrace.metrics.byte_ranges import MOST_RANGES, NOTHING, ByteRanges, TooManyRanges
from kvtrace.metrics.unique_bytes import Repetition
from kvtrace.schema.errors import DamagedFile

if TYPE_CHECKING:
    from kvtrace.addons.memory.events import Operated


def tensor_bytes(
    offset_bytes: int, shape: Sequence[int], strides: Sequence[int], element_bytes: int
) -> ByteRanges:
    """Return the bytes of a tensor's elements; shape and strides are in elements.

    Raises:
        TooManyRanges: they are in more than MOST_RANGES ranges.
    """
    if 0 in shape:
        return NOTHING
    axes = zip(strides, shape, strict=True)
    steps = [(stride * element_bytes, size) for stride, size in axes if stride and size > 1]
    elements = Repetition.of_elements(offset_bytes, steps, element_bytes, MOST_RANGES)
    return elements.listed(MOST_RANGES)


Role = Literal["read", "written", "created", "viewed"]
#: What an operator on storages is a part of: `torch.load`, whose storages have what was read from a
#: file, or `share_memory_`, which copies one.
Within = Literal["load", "share"]

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
        "as_strided_", "detach_", "full_like", "new_full", "new_ones",
        "new_zeros", "ones_like", "rand_like", "randint_like", "randn_like", "record_stream",
        "requires_grad_", "retain_grad", "set_", "set_data", "squeeze_",
        "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_", "zeros_like",
    )
)  # fmt: skip
#: Operators that may move a storage into larger memory, whose end has no values yet.
RESIZING: Final = frozenset(("aten::_resize_output_", "aten::resize_", "aten::resize_as_"))
#: Operators whose result is in memory that was there before, although no tensor argument shows it.
SHARING: Final = frozenset(("aten::_nested_view_from_jagged", "aten::set_"))
#: Operators without a tensor as result that read values. Others without one use shapes and types,
#: as `aten::is_same_size`, or raised an error before they read, or their result is no dense tensor.
_READING_ONLY: Final = frozenset(
    f"aten::{name}"
    for name in (
        "Bool", "Complex", "Float", "Int", "_assert_async", "_linalg_check_errors",
        "_local_scalar_dense", "allclose", "equal", "is_nonzero", "item",
    )
)  # fmt: skip
#: Operators that read some elements of their arguments: which, data or an option says.
_READING_SOME: Final = frozenset(
    f"aten::{name}"
    for name in (
        "_ctc_loss", "_efficient_attention_forward", "_embedding_bag",
        "_embedding_bag_forward_only", "_flash_attention_forward", "_grouped_mm",
        "_pack_padded_sequence", "_scaled_grouped_mm", "_upsample_nearest_exact1d",
        "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "bucketize", "cholesky",
        "cholesky_inverse", "cholesky_solve", "ctc_loss", "embedding_bag", "grid_sampler",
        "index_reduce", "linalg_cholesky", "linalg_cholesky_ex", "linalg_eigh",
        "linalg_eigvalsh", "linalg_solve_triangular", "nll_loss", "nll_loss2d",
        "nll_loss_forward", "nll_loss_nd", "scatter_reduce", "searchsorted", "segment_reduce",
        "trace", "triangular_solve", "upsample_nearest1d", "upsample_nearest2d",
        "upsample_nearest3d",
    )
)  # fmt: skip
#: Operators that read their first argument, unless their factor `beta` is 0.
_TIMES_BETA: Final = frozenset(
    f"aten::{name}"
    for name in (
        "_addmm_activation", "addbmm", "addbmm_", "addmm", "addmm_", "addmv", "addmv_", "addr",
        "addr_", "baddbmm", "baddbmm_",
    )
)  # fmt: skip
#: Operators on lists that read no momentum in their first step, which then is empty memory.
_FIRST_STEPS: Final = frozenset(("aten::_fused_sgd", "aten::_fused_sgd_"))
#: Operators that are given a tensor which Python code has filled, as `torch.tensor` does.
_FILLED: Final = frozenset(("aten::lift", "aten::lift_fresh"))
#: Operators that write all elements of the argument that they change, and read none of them.
_OVERWRITING: Final = frozenset(
    f"aten::{name}"
    for name in (
        "_foreach_copy_", "_foreach_zero_", "_no_grad_fill_", "_no_grad_normal_",
        "_no_grad_uniform_", "_no_grad_zero_", "bernoulli_", "cauchy_", "copy_", "exponential_",
        "fill_", "geometric_", "log_normal_", "normal_", "random_", "uniform_", "zero_",
    )
)  # fmt: skip
CHOSEN: Final = (
    "an index or mask chooses, which no setting records of an operator: torch.zeros in place of "
    "torch.empty makes the read known"
)
#: Operators that write some elements of the argument that they change: which, data says.
_WRITING_SOME: Final = frozenset(
    f"aten::{name}"
    for name in (
        "_index_put_impl_", "embedding_renorm_", "fill_diagonal_", "index_add_", "index_copy_",
        "index_fill_", "index_put_", "index_reduce_", "masked_fill_", "masked_scatter_", "put_",
        "scatter_", "scatter_add_", "scatter_reduce_", "tril_", "triu_",
    )
)  # fmt: skip
#: Those of them that read what they change, or do so by a number that is not recorded.
_ACCUMULATING: Final = frozenset(
    f"aten::{name}"
    for name in (
        "_index_put_impl_", "embedding_renorm_", "index_add_", "index_put_", "index_reduce_",
        "put_", "scatter_add_", "scatter_reduce_",
    )
)  # fmt: skip
#: Those that add to at least one element if none of their tensors is empty.
_ADDING: Final = frozenset(("aten::index_add_", "aten::scatter_add_"))
#: Operators whose result has values of their arguments: unwritten bytes are passed on.
MOVING: Final = RESIZING | frozenset(
    f"aten::{name}"
    for name in (
        "_foreach_copy_", "_reshape_copy", "_to_copy", "_unsafe_index", "_unsafe_index_put",
        "_pin_memory", "_unsafe_view", "as_strided_scatter", "cat", "clone", "column_stack",
        "concat", "concatenate", "constant_pad_nd", "contiguous", "copy_", "diag", "diag_embed",
        "diagonal_scatter", "dstack", "embedding", "flatten", "flip", "fliplr", "flipud",
        "gather", "hstack", "index", "index_copy", "index_copy_", "index_fill", "index_put",
        "index_put_", "index_select", "masked_fill", "masked_scatter", "masked_scatter_",
        "masked_select", "narrow_copy", "pad", "pin_memory", "put_", "repeat", "repeat_interleave",
        "reshape", "reshape_as", "roll", "rot90", "scatter", "scatter_", "select_scatter",
        "slice_copy", "slice_scatter", "split_copy", "stack", "take", "take_along_dim",
        "tile", "to", "tril", "triu", "type_as", "unfold_copy", "view_copy", "vstack",
        "where",
    )
)  # fmt: skip

#: Sizes in bytes of the element types that torch has and Triton has not.
_TORCH_ELEMENT_BYTES: Final = {
    "bits16": 2, "complex32": 4, "complex64": 8, "complex128": 16, "qint32": 4,
    **dict.fromkeys(
        (
            "bits1x8", "bits2x4", "bits4x2", "bits8", "float4_e2m1fn_x2", "float8_e8m0fnu",
            "qint8", "quint2x4", "quint4x2", "quint8",
            *(f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8)),
        ),
        1,
    ),
}  # fmt: skip


class OperatorTensor(Struct, frozen=True):
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
        """The size of an element in bytes; raises UnsupportedOp for a dtype that is not known."""
        return _TORCH_ELEMENT_BYTES.get(self.dtype) or element_of_short_name(self.dtype).bytes

    @property
    def has_known_size(self) -> bool:
        """The size of an element is known."""
        try:
            return self.element_bytes > 0
        except UnsupportedOp:
            return False

    @property
    def bytes(self) -> ByteRanges:
        """The bytes of its elements, from the storage's begin; raises TooManyRanges."""
        return tensor_bytes(self.offset_bytes, self.shape, self.strides, self.element_bytes)

    @property
    def span(self) -> ByteRanges:
        """The bytes from its first element to its last one, with gaps between elements."""
        axes = zip(self.shape, self.strides, strict=True)
        last = sum((size - 1) * stride for size, stride in axes)
        return ByteRanges.of(self.offset_bytes, self.offset_bytes + (last + 1) * self.element_bytes)


class OperatorEffects(Struct, frozen=True):
    """The effects of an operator, tensor by tensor.

    Attributes:
        effects: of each tensor; None where it does nothing to the tensor's bytes.
        writes: the same without reads: what is done to tensors that it writes.
        moves: whether it passes values on without computing with them.
    """

    effects: tuple[Effect | None, ...]
    writes: tuple[Effect | None, ...]
    moves: bool


@dataclass(frozen=True, slots=True)
class Operator:
    """A unique call of an operator: a row of the table `operators`, and what it does."""

    name: str
    tensors: tuple[OperatorTensor, ...]
    effects: OperatorEffects
    stack_id: int | None = None
    within: Within | None = None
    is_torchs: bool = field(init=False)
    """The operator is one of torch's own: what happens inside of it is not recorded apart."""
    hands_over: bool = field(init=False)
    """Memory of the host is handed to torch: by numpy, a storage, or torch where it filled it."""

    def __post_init__(self) -> None:
        """Set what is read at each call."""
        object.__setattr__(self, "is_torchs", self.name.startswith("aten::"))
        base, _, overload = self.name.partition(".")
        hands_over = base in _FILLED or (
            base in SHARING and overload.startswith("source_Storage") and self.within is None
        )
        object.__setattr__(self, "hands_over", hands_over)

    @property
    def is_empty(self) -> bool:
        """The operator makes memory without values."""
        return self.name.partition(".")[0] in UNINITIALIZED | RESIZING

    def placed(self, call: Operated) -> list[tuple[OperatorTensor, int]]:
        """Return the tensors with their addresses in a call; raise DamagedFile."""
        try:
            return list(zip(self.tensors, call.addresses, strict=True))
        except ValueError as error:
            raise DamagedFile(
                f"operator {call.operator_id} ({self.name}) and a call of it have different "
                "numbers of tensors: operators and operations do not fit together; copy the trace "
                "again"
            ) from error


def operator_effects(name: str, tensors: Sequence[OperatorTensor]) -> OperatorEffects:
    """Return what an operator does; `name` is as in the table `operators`: `aten::add.Tensor`."""
    base, _, overload = name.partition(".")
    effects = tuple(_bounded_effect(base, overload, tensor, tensors) for tensor in tensors)
    return OperatorEffects(
        effects,
        tuple(
            replace(effect, reads=NOTHING, may_read=NOTHING)
            if effect is not None and effect.may_write
            else None
            for effect in effects
        ),
        base in MOVING and all(tensor.has_known_size for tensor in tensors),
    )


def _bounded_effect(
    base: str, overload: str, tensor: OperatorTensor, tensors: Sequence[OperatorTensor]
) -> Effect | None:
    """Return the effect on a tensor; bounds of it if its elements cannot be listed."""
    try:
        return _effect(base, overload, tensor, tensors)
    except TooManyRanges:
        span = tensor.span
        reason = f"{_short(base)} is given elements in too many places of memory"
    except UnsupportedOp:
        span = ByteRanges.of(0, tensor.storage_bytes)
        reason = f"the size of an element of dtype {tensor.dtype} is not known"
    reads = NOTHING if tensor.role == "created" else span
    writes = tensor.role in ("written", "created")
    return Effect(may_read=reads, may_write=span if writes else NOTHING, reason=reason)


def _effect(
    base: str, overload: str, tensor: OperatorTensor, tensors: Sequence[OperatorTensor]
) -> Effect | None:
    if tensor.role == "viewed":
        return None
    if base in _FILLED:
        return _writing(tensor.bytes) if tensor.role == "read" else None
    read = sum(other.role == "read" for other in tensors)  # two if it is recorded that beta is 0
    if base in _TIMES_BETA and tensor is tensors[0] and (tensor.role == "written" or read == 3):
        region = tensor.bytes
        writes = region if tensor.role == "written" else NOTHING
        reason = (
            f"{_short(base)} does not read what it adds to if beta is 0, which is recorded only of "
            "operators that are not in place"
        )
        return Effect(may_read=region, writes=writes, may_write=writes, reason=reason)
    if base in _FIRST_STEPS and tensor.role == "written":
        region = tensor.bytes
        reason = f"{_short(base)} does not read its momentum in its first step"
        return Effect(may_read=region, writes=region, may_write=region, reason=reason)
    if base in RESIZING:
        return _resizing(tensor, tensors)
    if tensor.role == "read":
        if base in _SHAPES_ONLY or _reads_no_values(base, tensors):
            return None
        if base in _READING_SOME:
            reason = f"{_short(base)} may read only some of the elements"
            return Effect(may_read=tensor.bytes, reason=reason)
        return _reading(tensor.bytes)
    if base in _SHAPES_ONLY and (tensor.role == "written" or base in UNINITIALIZED):
        return None
    if tensor.role == "created":
        is_of_file = base in SHARING  # the whole storage, of which a tensor may have a part
        return _writing(ByteRanges.of(0, tensor.storage_bytes) if is_of_file else tensor.bytes)
    if base in _WRITING_SOME:
        adds = base in _ACCUMULATING or "reduce" in overload
        doing = "may change" if adds else "writes"
        reason = f"{_short(base)} {doing} elements that {CHOSEN}"
        region = tensor.bytes
        is_certain = base in _ADDING and all(0 not in other.shape for other in tensors)
        reads = region if adds else NOTHING
        return Effect(may_read=reads, may_write=region, reason=reason, adds=is_certain)
    # An overload that writes and is not in place (`add_`) has results as arguments: `sort.values`.
    has_out = (overload and not base.endswith("_")) or overload.endswith("out")
    if base in _OVERWRITING or has_out or base.endswith("_out"):
        return _writing(tensor.bytes)
    return Effect(tensor.bytes, tensor.bytes, tensor.bytes, tensor.bytes)


def _resizing(tensor: OperatorTensor, tensors: Sequence[OperatorTensor]) -> Effect | None:
    """Return the effect of memory that grows: all bytes of the smaller one move to its begin."""
    if all(other.role != "created" for other in tensors):
        return None
    kept = min(other.storage_bytes for other in tensors if other.role in ("written", "created"))
    region = ByteRanges.of(0, kept)
    if tensor.role == "created":
        return _writing(region)
    return Effect(may_read=region) if tensor.role == "written" else None


def _short(base: str) -> str:
    return base.removeprefix("aten::")


def _reads_no_values(base: str, tensors: Sequence[OperatorTensor]) -> bool:
    """Return whether an operator makes views of its arguments only, or uses their shapes only.

    A result with elements and without memory is a wrapper, such as a nested tensor.
    """
    roles = {tensor.role for tensor in tensors if tensor.storage_bytes or 0 in tensor.shape}
    if "viewed" in roles:
        return roles <= {"viewed", "read"}
    return roles == {"read"} and base.startswith("aten::") and base not in _READING_ONLY


def _reading(region: ByteRanges) -> Effect:
    return Effect(reads=region, may_read=region)


def _writing(region: ByteRanges) -> Effect:
    return Effect(writes=region, may_write=region)
