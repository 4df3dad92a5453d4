"""Results of operators on memory that nobody wrote: unwritten elements stay unwritten.

Copies with all elements in their order (`clone`, `reshape` …) and concatenations are followed
element by element. Of other moves, whose order the record does not tell, results are in doubt. So
are results of operators that compute, unless a tensor that they read is unwritten as a whole: then
they are, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.memory.byte_ranges import NOTHING, ByteRanges
from kvtrace.addons.memory.operator_effects import OperatorEffects, OperatorTensor
from kvtrace.addons.memory.states import Effect, Spoiling, State
from kvtrace.metrics.unique_bytes import TooManyRanges, merged

_Mask = NDArray[np.bool_]

#: Most elements of a tensor that are followed one by one.
MOST_ELEMENTS: Final = 1 << 22

#: Operators that copy all elements, in the order of their indices.
_IN_ORDER: Final = frozenset(
    f"aten::{name}"
    for name in (
        "_foreach_copy_", "_reshape_copy", "_to_copy", "_unsafe_view", "clone", "contiguous",
        "copy_", "flatten",
        "reshape", "reshape_as", "to", "view_copy",
    )
)  # fmt: skip


#: Beginnings of names of operators on lists of tensors, of which each may have its own result.
_ON_LISTS: Final = ("aten::_foreach_", "aten::_fused_", "aten::_amp_foreach_")


_COMPUTED: Final = "computed it from memory that may not have been written"


def is_computed(doubt: str) -> bool:
    """Return whether a doubt is that of one of torch's operators, whose reads are judged there."""
    return doubt.endswith(_COMPUTED)


class Source(NamedTuple):
    """A tensor that an operator reads: the state of its storage before, and what is read of it."""

    tensor: OperatorTensor
    state: State
    effect: Effect


def made_of(
    name: str,
    tensors: Sequence[OperatorTensor],
    effects: OperatorEffects,
    unwritten: Mapping[int, State],
) -> dict[int, Spoiling]:
    """Return what an operator leaves unwritten or in doubt, by the tensor that it writes.

    `unwritten` are the states of storages that it reads and that may not have been written.
    """
    base = name.partition(".")[0]
    sources = [
        Source(tensor, unwritten.get(index) or State(tensor.storage_bytes, NOTHING), effect)
        for index, (tensor, effect) in enumerate(zip(tensors, effects.effects, strict=True))
        if effect is not None and effect.may_read and tensor.storage_bytes
    ]
    made = {
        index: spoiling(base, sources, tensors[index])
        if effects.moves
        else computed(base, sources, effect, is_known=base.startswith("aten::"))
        for index, effect in enumerate(effects.writes)
        if effect is not None
    }
    return {index: spoiled for index, spoiled in made.items() if spoiled is not None}


def computed(
    name: str, sources: Sequence[Source], target: Effect, *, is_known: bool
) -> Spoiling | None:
    """Return what an operator that computes leaves unwritten or in doubt of what it writes.

    Args:
        name: the operator, as `aten::mul`.
        sources: the tensors that it reads.
        target: what it does to the tensor that it writes.
        is_known: whether it is known that it reads all elements, as torch's own do.

    """
    doubt = f"{name} {_COMPUTED if is_known else 'may have read what nobody wrote'}"
    in_doubt = Spoiling(doubtful=target.may_write, doubt=doubt)
    try:
        read = [s for s in sources if s.state.unwritten & s.effect.may_read]
        if not read and not any(s.state.doubtful & s.effect.may_read for s in sources):
            return None
        if (
            is_known
            and not name.startswith(_ON_LISTS)
            and any(s.effect.reads and not s.effect.reads - s.state.unwritten for s in read)
        ):
            return Spoiling(target.writes, target.may_write - target.writes, doubt)
    except TooManyRanges:
        return in_doubt
    return in_doubt


def spoiling(name: str, sources: Sequence[Source], target: OperatorTensor) -> Spoiling | None:
    """Return what a move leaves unwritten, or in doubt, in a tensor that it writes; None: nothing.

    Args:
        name: the operator, as `aten::cat`.
        sources: the tensors that are read, in their order.
        target: the tensor that is written.

    """
    read = [(tensor, state, _bytes_or_span(tensor)) for tensor, state, _ in sources]
    if all(not (state.unwritten & region or state.doubtful & region) for _, state, region in read):
        return None
    in_doubt = Spoiling(
        doubtful=_bytes_or_span(target),
        doubt=f"{name} passed on bytes that may not have been written",
    )
    try:
        unwritten = _moved(name, [(t, s.unwritten & r) for t, s, r in read], target)
        doubtful = _moved(name, [(t, s.doubtful & r) for t, s, r in read], target)
    except TooManyRanges:
        return in_doubt
    if unwritten is None or doubtful is None:
        return in_doubt
    doubt = next((state.doubt for _, state, _ in read if state.doubt), "")
    return Spoiling(unwritten, doubtful - unwritten, doubt)


def _bytes_or_span(tensor: OperatorTensor) -> ByteRanges:
    try:
        return tensor.bytes
    except TooManyRanges:
        return tensor.span


def _moved(
    name: str, sources: Sequence[tuple[OperatorTensor, ByteRanges]], target: OperatorTensor
) -> ByteRanges | None:
    """Return where bytes of sources are in the target; None: not known."""
    if not any(marked for _, marked in sources):
        return NOTHING
    tensors = [tensor for tensor, _ in sources] + [target]
    if any(prod(tensor.shape) > MOST_ELEMENTS for tensor in tensors):
        return None
    masks = [_mask(tensor, marked) for tensor, marked in sources]
    if name in _IN_ORDER and len(masks) == 1:
        mask = masks[0]
        if mask.size == prod(target.shape):
            return _bytes(target, mask.reshape(target.shape))
        return _bytes(target, np.broadcast_to(mask, target.shape))
    if name == "aten::cat":
        axis = _joined_axis([tensor.shape for tensor, _ in sources], target.shape)
        return None if axis is None else _bytes(target, np.concatenate(masks, axis))
    return None


def _joined_axis(shapes: Sequence[tuple[int, ...]], result: tuple[int, ...]) -> int | None:
    """Return the axis along which shapes are joined to a result; None if several may be."""
    axes = [
        axis
        for axis in range(len(result))
        if all(
            len(shape) == len(result)
            and shape[:axis] + shape[axis + 1 :] == result[:axis] + result[axis + 1 :]
            for shape in shapes
        )
        and sum(shape[axis] for shape in shapes) == result[axis]
    ]
    return axes[0] if len(axes) == 1 or (len(shapes) == 1 and axes) else None


def _begins(tensor: OperatorTensor) -> NDArray[np.int64]:
    """Return where each element begins in the storage, in bytes; shaped as the tensor."""
    begins = np.full((1,) * len(tensor.shape), tensor.offset_bytes, np.int64)
    for axis, (size, stride) in enumerate(zip(tensor.shape, tensor.strides, strict=True)):
        steps = np.arange(size, dtype=np.int64) * (stride * tensor.element_bytes)
        begins = begins + steps.reshape([-1 if axis == a else 1 for a in range(len(tensor.shape))])
    return begins


def _mask(tensor: OperatorTensor, marked: ByteRanges) -> _Mask:
    """Return which elements have a marked byte; shaped as the tensor."""
    begins = _begins(tensor)
    ranges = marked.array
    if not len(ranges):
        return np.zeros(begins.shape, np.bool_)
    behind = np.searchsorted(ranges[:, 1], begins, "right")  # the first range that ends later
    starts = np.append(ranges[:, 0], np.iinfo(np.int64).max)
    mask: _Mask = starts[behind] < begins + tensor.element_bytes
    return mask


def _bytes(tensor: OperatorTensor, mask: _Mask) -> ByteRanges:
    begins = np.sort(_begins(tensor)[mask])
    return ByteRanges(merged(begins, begins + tensor.element_bytes))
