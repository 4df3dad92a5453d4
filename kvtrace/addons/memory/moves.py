"""Results of operators on memory that nobody wrote: unwritten elements stay unwritten.

Copies with all elements in their order (`clone`, `reshape` …), concatenations, stacks and
repetitions are followed element by element, growing storages byte by byte. Of other moves, whose
order the record does not tell, results are in doubt. So are results of operators that compute,
unless a tensor that they read is unwritten as a whole: then they are, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.memory.operator_effects import (
    CHOSEN,
    RESIZING,
    OperatorEffects,
    OperatorTensor,
)
from kvtrace.addons.memory.states import Effect, Spoiling, State
from kvtrace.metrics.byte_ranges import NOTHING, ByteRanges, TooManyRanges

_Mask = NDArray[np.bool_]

#: Most elements of a tensor that are followed one by one.
MOST_ELEMENTS: Final = 1 << 22

#: Operators that copy all elements, in the order of their indices.
_IN_ORDER: Final = frozenset(
    f"aten::{name}"
    for name in (
        "_foreach_copy_", "_reshape_copy", "_to_copy", "_unsafe_view", "clone", "contiguous",
        "_pin_memory", "copy_", "flatten", "pin_memory", "reshape", "reshape_as", "to", "view_copy",
    )
)  # fmt: skip


#: Operators whose result has elements of their first tensor alone, whatever the others choose.
_SELECTING: Final = frozenset(
    f"aten::{name}"
    for name in (
        "_unsafe_index", "embedding", "flip", "fliplr", "flipud", "gather", "index", "index_select",
        "masked_select", "roll", "rot90", "take", "take_along_dim",
    )
)  # fmt: skip
#: Operators that repeat a whole tensor along its axes.
_REPEATING: Final = frozenset(("aten::repeat", "aten::tile"))

#: Operators that join tensors along an axis that they are given, and that NumPy has, too.
_JOINING: Final[Mapping[str, Callable[[Sequence[_Mask], int], _Mask]]] = {
    "aten::cat": np.concatenate,
    "aten::concat": np.concatenate,
    "aten::concatenate": np.concatenate,
    "aten::stack": np.stack,
    "aten::hstack": lambda masks, _: np.hstack(masks),
    "aten::vstack": lambda masks, _: np.vstack(masks),
    "aten::dstack": lambda masks, _: np.dstack(masks),
    "aten::column_stack": lambda masks, _: np.column_stack(masks),
}

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
    sources = {
        index: Source(tensor, unwritten.get(index) or State(tensor.storage_bytes, NOTHING), effect)
        for index, (tensor, effect) in enumerate(zip(tensors, effects.effects, strict=True))
        if effect is not None and effect.may_read and tensor.storage_bytes
    }
    made: dict[int, Spoiling | None] = {}
    for index, effect in enumerate(effects.writes):
        if effect is None:
            continue
        # of a tensor in which data chooses what changes, each element is in doubt by itself alone
        of = [
            source
            for other, source in sources.items()
            if other != index or effect.writes or effect.adds
        ]
        if effects.moves:
            made[index] = spoiling(base, of, tensors[index])
        else:
            made[index] = computed(base, of, effect, is_known=base.startswith("aten::"))
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
    read = [(tensor, state, effect.may_read) for tensor, state, effect in sources]
    if all(not (state.unwritten & region or state.doubtful & region) for _, state, region in read):
        return None
    doubt = f"{name} passed on bytes that may not have been written"
    if name in _SELECTING and len(sources) > 1:
        doubt += f", of elements that {CHOSEN}"
    in_doubt = Spoiling(doubtful=_bytes_or_span(target), doubt=doubt)
    try:
        (_, state, effect), *others = sources
        if (
            name in _SELECTING
            and effect.reads
            and not effect.reads - state.unwritten
            and all(other.state.whole for other in others)
        ):
            return Spoiling(target.bytes)
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
    if name in RESIZING:
        return sources[0][1] & ByteRanges.of(0, target.storage_bytes)
    tensors = [tensor for tensor, _ in sources] + [target]
    if any(prod(tensor.shape) > MOST_ELEMENTS for tensor in tensors):
        return None
    masks = [_mask(tensor, marked) for tensor, marked in sources]
    if name in _IN_ORDER and len(masks) == 1:
        mask = masks[0]
        if mask.size == prod(target.shape):
            return _bytes(target, mask.reshape(target.shape))
        return _bytes(target, np.broadcast_to(mask, target.shape))
    if name in _REPEATING:
        mask = masks[0][(None,) * (len(target.shape) - masks[0].ndim)]
        times = [to // of for to, of in zip(target.shape, mask.shape, strict=True)]
        return _bytes(target, np.tile(mask, times))
    joined = _joined(name, masks, target.shape)
    return None if joined is None else _bytes(target, joined)


def _joined(name: str, masks: Sequence[_Mask], shape: tuple[int, ...]) -> _Mask | None:
    """Return masks joined to one of a shape; None if the axis, which is not recorded, matters."""
    join = _JOINING.get(name)
    if join is None:
        return None
    joined: list[_Mask] = []
    for axis in range(len(shape)):
        try:
            mask = join([mask for mask in masks if mask.shape != (0,)], axis)
        except ValueError:
            continue  # the shapes differ along another axis
        if mask.shape == shape:
            joined.append(mask)
    return joined[0] if joined and all(np.array_equal(joined[0], m) for m in joined) else None


def _begins(tensor: OperatorTensor) -> NDArray[np.int64]:
    """Return where each element begins in the storage, in bytes; shaped as the tensor."""
    begins = np.full((1,) * len(tensor.shape), tensor.offset_bytes, np.int64)
    for axis, (size, stride) in enumerate(zip(tensor.shape, tensor.strides, strict=True)):
        steps = np.arange(size, dtype=np.int64) * (stride * tensor.element_bytes)
        begins = begins + steps.reshape([-1 if axis == a else 1 for a in range(len(tensor.shape))])
    return begins


def _mask(tensor: OperatorTensor, marked: ByteRanges) -> _Mask:
    """Return which elements have a marked byte; shaped as the tensor."""
    return overlapping(_begins(tensor), tensor.element_bytes, marked)


def overlapping(begins: NDArray[np.int64], element_bytes: int, marked: ByteRanges) -> _Mask:
    """Return which elements, by their first bytes, have a marked byte."""
    ranges = marked.array
    if not len(ranges):
        return np.zeros(begins.shape, np.bool_)
    behind = np.searchsorted(ranges[:, 1], begins, "right")  # the first range that ends later
    starts = np.append(ranges[:, 0], np.iinfo(np.int64).max)
    mask: _Mask = starts[behind] < begins + element_bytes
    return mask


def _bytes(tensor: OperatorTensor, mask: _Mask) -> ByteRanges:
    begins = np.sort(_begins(tensor)[mask])
    return ByteRanges.of_elements(begins, tensor.element_bytes)
