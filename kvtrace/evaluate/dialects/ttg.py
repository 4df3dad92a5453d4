"""`ttg`: ops that TTGIR has besides TTIR. Layouts change no value; shared memory is memory.

Shared memory, and when copies into it arrive, are in shared_memory.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec.structs import replace

from kvtrace.evaluate.compiler import Compiler, computed
from kvtrace.evaluate.dialects.tt_dot import unpacked
from kvtrace.evaluate.dialects.tt_memory import masked_load
from kvtrace.evaluate.registry import Step, place, semantics, unsupported
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.shared_layouts import element_places, reinterprets
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import (
    Array,
    Pointer,
    SharedView,
    Unknown,
    full_array,
    to_array,
    unknown_of,
)
from kvtrace.ir import Op
from kvtrace.ir.asynchronous import allowed_in_flight
from kvtrace.ir.model import attribute


@semantics("ttg.local_alloc")
def local_alloc(op: Op, compiler: Compiler) -> Step:
    """Return the step that allocates a buffer and writes the op's tensor to it, if any."""
    result, type_ = op.results[0].id, value_type(op.results[0].type)
    source, places = op.optional("source"), None
    if reinterprets(compiler.module):
        places = element_places(compiler.module, op.results[0])
    initial = None if source is None else (source.id, value_type(source.type))

    def step(values: list[Any], scope: Scope) -> None:
        shared = scope.launch.shared
        view = values[result] = shared.allocate(scope, type_, places)
        if initial is not None:
            shared.write(op, scope, view, values[initial[0]], initial[1])

    return step


@semantics("ttg.local_dealloc")
def local_dealloc(op: Op, _compiler: Compiler) -> Step:
    """Return the step that frees a buffer."""
    slot = op.operand("shared").id
    return lambda values, scope: scope.launch.shared.forget(values[slot])


@semantics("ttg.local_load")
def local_load(op: Op, _compiler: Compiler) -> Step:
    """Return the step that loads a view as a tensor."""
    slot, result = op.operand("shared").id, op.results[0].id

    def step(values: list[Any], scope: Scope) -> None:
        values[result] = scope.launch.shared.read(op, values[slot])

    return step


@semantics("ttg.local_store")
def local_store(op: Op, _compiler: Compiler) -> Step:
    """Return the step that stores a tensor to a view."""
    target, source = op.operand("shared").id, op.operand("value").id
    type_ = value_type(op.operand("value").type)

    def step(values: list[Any], scope: Scope) -> None:
        scope.launch.shared.write(op, scope, values[target], values[source], type_)

    return step


@semantics("ttg.local_gather", "ttg.local_scatter")
def local_pick(op: Op, _compiler: Compiler) -> Step:
    """Return the step that loads or stores elements of a view by their places along an axis.

    Of elements that are stored to one place, any may be the last.
    """
    slot, index_slot = op.operand("shared").id, op.operand("place").id
    stored = None if op.results else op.operand("value")
    type_, axis = value_type(op.operand("place").type), int(attribute(op, "axis")) + 1

    def step(values: list[Any], scope: Scope) -> None:
        view, index = values[slot], values[index_slot]
        unknown = unknown_of((view, index))
        if unknown is None:
            index = np.broadcast_to(full_array(index, type_), (scope.programs, *type_.shape))
            if index.size and not 0 <= index.min() <= index.max() < view.offsets.shape[axis - 1]:
                unknown = Unknown(frozenset({f"an element beyond a view ({place(op)})"}))
            else:
                # Of the places [[5, 6, 7]] of one program, the index [[2, 0]] picks [[7, 5]].
                indices = list(np.indices(index.shape, sparse=True))
                indices[axis] = index
                view = replace(view, picked=view.places[tuple(indices)])
                if stored is not None and len(np.unique(view.places)) < view.places.size:
                    unknown = Unknown(frozenset({f"elements of one place ({place(op)})"}))
        if stored is None:
            values[op.results[0].id] = scope.launch.shared.read(op, unknown or view)
        else:
            value = unknown or values[stored.id]
            scope.launch.shared.write(op, scope, view, value, value_type(stored.type))

    return step


def view_step(op: Op, change: Callable[[Array], Array]) -> Step:
    """Return a step that sets a view of the same buffer, with offsets changed by `change`."""
    return _changed_view(op, lambda v: SharedView(v.buffer, v.starts, change(v.offsets)))


def _changed_view(op: Op, change: Callable[[SharedView], SharedView]) -> Step:
    slot, result = op.operand("shared").id, op.results[0].id

    def step(values: list[Any], _scope: Scope) -> None:
        view = values[slot]
        if isinstance(view, SharedView):
            view = change(view)
        values[result] = view

    return step


@semantics("ttg.memdesc_trans")
def memdesc_trans(op: Op, _compiler: Compiler) -> Step:
    """Return the step that permutes a view's axes."""
    order = tuple(attribute(op, "order"))
    return view_step(op, lambda offsets: offsets.transpose(order))


@semantics("ttg.memdesc_reshape")
def memdesc_reshape(op: Op, _compiler: Compiler) -> Step:
    """Return the step that changes a view's shape, in row-major order."""
    shape = value_type(op.results[0].type).shape
    return view_step(op, lambda offsets: offsets.reshape(shape))


@semantics("ttg.memdesc_subslice")
def memdesc_subslice(op: Op, _compiler: Compiler) -> Step:
    """Return the step that selects a block of a view, beginning at constant offsets."""
    shape = value_type(op.results[0].type).shape
    starts = attribute(op, "offsets")
    block = tuple(slice(first, first + n) for first, n in zip(starts, shape, strict=True))
    return view_step(op, lambda offsets: offsets[block])


@semantics("ttg.memdesc_reinterpret")
def memdesc_reinterpret(op: Op, compiler: Compiler) -> Step:
    """Return the step that views the same bytes as elements of another type, shape and layout."""
    target, type_ = op.results[0], value_type(op.results[0].type)

    def seen(view: SharedView) -> SharedView:
        places = element_places(compiler.module, target, view.buffer.owner.pitch)
        result: SharedView = view.buffer.seen_as(view, type_, places)
        return result

    return _changed_view(op, seen)


@semantics("ttg.memdesc_index")
def memdesc_index(op: Op, compiler: Compiler) -> Step:
    """Return the step that selects a part of a view's first axis by each program's index."""
    slot, index_slot, result = op.operand("shared").id, op.operand("index").id, op.results[0].id
    type_, shape = value_type(op.operand("index").type), value_type(op.results[0].type).shape

    def step(values: list[Any], scope: Scope) -> None:
        view, index = values[slot], values[index_slot]
        unknown = unknown_of((view, index))
        if unknown is not None:
            values[result] = unknown
            return
        indices = np.broadcast_to(to_array(index, type_).reshape(-1), view.starts.shape)
        count = len(view.offsets)
        if indices.size and not 0 <= indices.min() <= indices.max() < count:
            if scope.programs > 1:
                raise unsupported(op, compiler.kernel, f"beyond the {count} parts of the view")
            text = f"part {int(indices[0])} of the {count} parts of a view ({place(op)})"
            values[result] = Unknown(frozenset({text}))  # harmless if a predicate skips its uses
            return
        first_of_parts = view.offsets.reshape(count, -1)[:, 0]
        within_part = (view.offsets[0] - first_of_parts[0]).reshape(shape)
        starts = view.starts + first_of_parts[indices]
        values[result] = SharedView(view.buffer, starts, within_part)

    return step


@semantics("ttg.async_copy_global_to_local")
def async_copy_global_to_local(op: Op, _compiler: Compiler) -> Step:
    """Return the step that begins a copy; masked-off lanes get `other`, or zero."""
    target, type_ = op.operand("shared").id, value_type(op.operand("shared").type)
    loaded = masked_load(op, type_)

    def step(values: list[Any], scope: Scope) -> None:
        scope.launch.shared.copy(op, scope, values[target], loaded(values, scope), type_)

    return step


@semantics("ttg.async_commit_group")
def async_commit_group(_op: Op, _compiler: Compiler) -> Step:
    """Return the step that closes a program's group of copies."""
    return lambda _values, scope: scope.launch.shared.commit(scope)


def wait(op: Op, _compiler: Compiler, kind: str = "copies") -> Step:
    """Return the step that waits until at most some operations of a kind are in flight."""
    most_in_flight = allowed_in_flight(op)
    return lambda _values, scope: scope.launch.shared.wait(scope, most_in_flight, kind)


semantics("ttg.async_wait")(wait)


@semantics("ttg.global_scratch_alloc")
def global_scratch_alloc(op: Op, _compiler: Compiler) -> Step:
    """Return the step of scratch memory at an unknown address, for a later descriptor."""
    result = op.results[0].id

    def step(values: list[Any], _scope: Scope) -> None:
        values[result] = Pointer(None, Unknown(frozenset({"the device's scratch memory"})))

    return step


@semantics("ttg.fp4_to_fp")
def fp4_to_fp(op: Op, compiler: Compiler) -> Step:
    """Return the step that unpacks two 4-bit floats from each byte, along an axis."""
    type_, target = value_type(op.operand("source").type), value_type(op.results[0].type)
    axis = int(attribute(op, "axis")) - len(type_.shape)

    def floats(value: Any) -> Array:
        return unpacked(full_array(value, type_), "e2m1", axis).astype(target.element.value)

    return compiler.counting_step(op, computed(op, floats), target.size, 0)
