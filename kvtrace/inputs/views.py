"""Views of larger storages in place of contiguous tensors: of all tensors, or of one at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from kvtrace.inputs.cases import Input, TensorInput, contiguous_strides

#: Axes that a tensor needs for views of a kind; elements between rows of padded views.
_LEAST_AXES: Final = {
    "strided": 1, "offset": 1, "transposed": 2, "padded": 2, "expanded": 2, "reversed": 3
}  # fmt: skip
_PADDING: Final = 3
_MOST_MIXED: Final = 6


def views_of(inputs: Sequence[Input]) -> Iterator[tuple[str, tuple[Input, ...]]]:
    """Yield label and inputs as views: all of one kind, one tensor at a time, and mixed kinds.

    A kernel that uses the strides of one tensor for another is right while both have equal ones.
    In the mixed views any two of the first tensors differ in some case, in either order.
    """
    tensors = [at for at, entry in enumerate(inputs) if isinstance(entry, TensorInput)]
    axes = max((len(inputs[at].shape) for at in tensors), default=0)  # type: ignore[union-attr]
    kinds = [kind for kind, least in _LEAST_AXES.items() if axes >= least]
    for kind in kinds:
        yield f"{kind} views", tuple(as_view(entry, kind) for entry in inputs)
    if len(tensors) < 2:
        return
    alone = [kind for kind in ("transposed", "padded", "strided") if kind in kinds][:2]
    yielded = {inputs}
    for at in tensors[:_MOST_MIXED]:
        for kind in alone:
            view = (*inputs[:at], as_view(inputs[at], kind), *inputs[at + 1 :])
            if view not in yielded:
                yielded.add(view)
                yield f"{inputs[at].name} alone as a {kind} view", view
    mixed = ["", *alone]
    for number in range(len(mixed)):
        chosen = {at: mixed[(number + rank) % len(mixed)] for rank, at in enumerate(tensors)}
        view = tuple(as_view(entry, chosen.get(at, "")) for at, entry in enumerate(inputs))
        if view not in yielded:
            yielded.add(view)
            yield f"mixed views {number + 1}", view


def as_view(entry: Input, kind: str) -> Input:
    """Return a tensor as a view of one kind; scalars and tensors with too few axes stay.

    `strided`: every other element of a storage. `offset`: from the fourth element on. `transposed`:
    the last two axes exchanged. `reversed`: the first axis innermost. `padded`: gaps between rows.
    `expanded`: floats that are the same along the first axis. "": the tensor itself.
    """
    if not kind or not isinstance(entry, TensorInput) or len(entry.shape) < _LEAST_AXES[kind]:
        return entry
    shape = entry.shape
    if kind == "reversed":
        return replace(entry, strides=contiguous_strides(shape[::-1])[::-1])
    if kind == "padded":
        strides = contiguous_strides((*shape[:-1], shape[-1] + _PADDING))
        return replace(
            entry, strides=strides, storage=math.prod(shape[:-1]) * (shape[-1] + _PADDING)
        )
    if kind == "expanded":
        if not entry.dtype.startswith(("float", "bfloat")):
            return entry
        return replace(entry, strides=(0, *entry.strides[1:]), storage=math.prod(shape[1:]))
    if kind == "strided":
        strides = tuple(2 * step for step in entry.strides)
        return replace(entry, strides=strides, storage=2 * entry.storage + 2)
    if kind == "transposed":
        strides = contiguous_strides((*shape[:-2], *shape[:-3:-1]))
        return replace(entry, strides=(*strides[:-2], *strides[:-3:-1]))
    return replace(entry, offset=3, storage=entry.storage + 7)
