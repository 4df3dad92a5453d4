"""Loads and stores: bounds first, then strided views, gathers for the rest.

Lanes outside their storage never touch memory: a load gives zero, a store is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kvtrace.evaluate.arguments import Storage, TensorArgument
from kvtrace.evaluate.bounds import loose_extremes, mask_factors
from kvtrace.evaluate.errors import UnknownAddress
from kvtrace.evaluate.integers import both
from kvtrace.evaluate.numerics import from_memory, to_memory
from kvtrace.evaluate.observe import AccessKind
from kvtrace.evaluate.registry import place, unsupported
from kvtrace.evaluate.reports import report_access, report_defects
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import ElementType, ValueType
from kvtrace.evaluate.values import (
    Array,
    Pointer,
    PointerChoice,
    Sum,
    Unknown,
    conjunction,
    select_programs,
    sum_of_terms,
    unknown_of,
)
from kvtrace.evaluate.windows import read_window, window_of, write_window
from kvtrace.ir import Op


@dataclass(frozen=True)
class Request:
    """One memory op as the engine sees it: `type_` is that of the block read or written.

    `offset` counts bytes from the argument's data pointer. `mask`: None, an array or a Mask.
    """

    op: Op
    kind: AccessKind
    scope: Scope
    argument: int
    tensor: TensorArgument
    offset: Sum
    mask: Any
    type_: ValueType

    @property
    def rank(self) -> int:
        """Axes of arrays of this access, the programs' included."""
        return len(self.type_.shape) + 1

    def at(self, index: Array) -> Request:
        """Give the same access for some of the programs."""
        return Request(
            self.op,
            self.kind,
            self.scope.restricted(index),
            self.argument,
            self.tensor,
            select_programs(self.offset, index),
            None if self.mask is None else select_programs(self.mask, index),
            self.type_,
        )


class Memory:
    """The storages of one launch.

    `written` holds those that the kernel may write to: loads from others may be views.
    `version` grows with every change, so that a spinning program can be told from a waiting one.
    """

    def __init__(self, arguments: Sequence[Any], written: frozenset[Storage]) -> None:
        self._arguments = arguments
        self._written = written
        self._flat: dict[tuple[int, str], tuple[Array, int]] = {}
        self._forgotten: dict[int, frozenset[str]] = {}
        self._complete = all(
            argument.storage.data is not None
            for argument in arguments
            if isinstance(argument, TensorArgument)
        )
        self.version = 0

    def flat(self, tensor: TensorArgument, element: ElementType) -> tuple[Array, int]:
        """Give a storage as elements, and the index of a tensor's data pointer in it.

        Elements are aligned to the data pointer, wherever it lies.
        """
        key = (id(tensor), element.name)
        found = self._flat.get(key)
        if found is None:
            data = tensor.storage.data
            assert data is not None
            size = element.bytes
            phase = tensor.offset_bytes % size
            count = max(0, (tensor.storage.nbytes - phase) // size)
            flat: Array = data[phase : phase + count * size].view(element.memory)
            found = (flat, (tensor.offset_bytes - phase) // size)
            self._flat[key] = found
        return found

    def is_known(self, tensor: TensorArgument) -> bool:
        """Whether the contents of a tensor's storage can be read."""
        return tensor.storage.data is not None and id(tensor.storage) not in self._forgotten

    def sources(self, tensor: TensorArgument) -> frozenset[str]:
        """Say what unknown contents of a tensor hang on."""
        return self._forgotten.get(id(tensor.storage), frozenset()) | {tensor.name}

    def forget(self, tensor: TensorArgument, sources: frozenset[str]) -> None:
        """Note that a storage's contents are no longer known."""
        key = id(tensor.storage)
        self._forgotten[key] = self._forgotten.get(key, frozenset()) | sources
        self.version += 1

    def forget_all(self, sources: frozenset[str]) -> None:
        """Note that any storage may have changed."""
        for argument in self._arguments:
            if isinstance(argument, TensorArgument):
                self.forget(argument, sources)

    # -- pointers ------------------------------------------------------------------------------

    def request(
        self, op: Op, kind: AccessKind, scope: Scope, pointer: Any, mask: Any, type_: ValueType
    ) -> Request | Unknown:
        """Resolve a pointer; Unknown, already reported, if address or mask are not known."""
        if isinstance(mask, bool):
            mask = None if mask else np.zeros((1,) * (len(type_.shape) + 1), np.bool_)
        target = pointer if isinstance(pointer, Pointer) else Pointer(None, Unknown(frozenset()))
        unknown = unknown_of((target.offset, mask, pointer))
        if target.argument is None and self._complete:
            raise UnknownAddress(
                f"the address of {op.name!r} at {place(op)} in kernel {scope.launch.kernel!r} "
                "comes from no tensor argument (a pointer made from an integer, or loaded from "
                "memory); kvtrace cannot execute such an access"
            )
        if unknown is not None or not isinstance(target.offset, Sum) or target.argument is None:
            sources = unknown.sources if unknown is not None else frozenset()
            report_access(op, kind, scope, target.argument, type_, None, None, Unknown(sources))
            return Unknown(sources)
        tensor = self._arguments[target.argument]
        assert isinstance(tensor, TensorArgument)
        return Request(op, kind, scope, target.argument, tensor, target.offset, mask, type_)

    def checked(self, request: Request) -> Request:
        """Report the access and its defects; give it with lanes outside the storage masked off."""
        if request.scope.launch.access_observers:
            report_access(
                request.op,
                request.kind,
                request.scope,
                request.argument,
                request.type_,
                request.offset,
                request.mask,
                None,
            )
        size = request.type_.element.bytes
        low, high = request.tensor.view_bytes
        first, last = request.tensor.storage_bytes
        low, high = max(low, first), min(high, last)
        offset = request.offset
        if low <= offset.low and offset.high + size <= high:
            return request
        lowest, highest = loose_extremes(offset)
        suspects = np.flatnonzero((lowest < low) | (highest + size > high))
        if not len(suspects):
            return request
        if len(lowest) == 1:
            suspects = np.arange(request.scope.programs)
        inside = report_defects(request.at(suspects), (low, high), (first, last))
        if inside is None:
            return request
        allowed = np.ones((request.scope.programs, *inside.shape[1:]), np.bool_)
        allowed[suspects] = inside
        mask = allowed if request.mask is None else both(request.mask, allowed)
        return Request(
            request.op,
            request.kind,
            request.scope,
            request.argument,
            request.tensor,
            offset,
            mask,
            request.type_,
        )

    # -- loads ---------------------------------------------------------------------------------

    def load(
        self, op: Op, scope: Scope, pointer: Any, mask: Any, other: Any, type_: ValueType
    ) -> Any:
        """Read a block; masked-off lanes give `other`, an array, or zero if it is None."""
        if isinstance(pointer, PointerChoice):
            return self._load_choice(op, scope, pointer, mask, other, type_)
        request = self.request(op, "load", scope, pointer, mask, type_)
        if isinstance(request, Unknown):
            target = pointer.argument if isinstance(pointer, Pointer) else None
            named = frozenset() if target is None else {self._arguments[target].name}
            return Unknown(request.sources | named)
        guarded = self.checked(request)
        if not self.is_known(request.tensor):
            return Unknown(self.sources(request.tensor))
        if isinstance(other, Unknown):
            return other
        if guarded is not request:
            # Lanes out of bounds give zero, masked ones `other`.
            values = self._read(guarded, None)
            if request.mask is None or other is None:
                return values
            masked = conjunction(mask_factors(request.mask))
            return np.where(masked, values, other).astype(values.dtype, copy=False)
        return self._read(request, other)

    def _load_choice(
        self,
        op: Op,
        scope: Scope,
        pointer: PointerChoice,
        mask: Any,
        other: Any,
        type_: ValueType,
    ) -> Any:
        lanes = True if mask is None else mask
        first = self.load(op, scope, pointer.first, both(lanes, pointer.condition), other, type_)
        chosen = both(lanes, np.logical_not(pointer.condition))
        second = self.load(op, scope, pointer.second, chosen, other, type_)
        unknown = unknown_of((first, second))
        return unknown or np.where(pointer.condition, first, second)

    def _read(self, request: Request, other: Any) -> Array:
        """Read with all active lanes inside the storage."""
        element = request.type_.element
        flat, start = self.flat(request.tensor, element)
        offset = self._element_offset(request, start)
        if offset is None:
            return self._read_unaligned(request, other)
        copy = request.tensor.storage in self._written
        if request.mask is None:
            return self._read_all(flat, offset, request, element, copy)
        boxed = _boxed(offset, request.mask, request.type_.shape)
        if boxed is not None:
            return self._read_box(flat, boxed, request, element, other)
        mask = conjunction(mask_factors(request.mask))
        fill: Any = element.value.type(0) if other is None else other
        if offset.low >= 0 and offset.high < len(flat):
            values = self._read_all(flat, offset, request, element, False)
            return np.where(mask, values, fill).astype(element.value, copy=False)
        lowest, highest = loose_extremes(offset)
        whole = np.broadcast_to((lowest >= 0) & (highest < len(flat)), (request.scope.programs,))
        if not whole.any():
            return self._gather(flat, offset, mask, request, element, fill)
        lanes = np.broadcast_shapes(
            mask.shape[1:], *(term.shape[1:] for term in offset.terms), np.shape(fill)[1:]
        )
        result = np.empty((request.scope.programs, *lanes), element.value)
        index = np.flatnonzero(whole)
        values = self._read_all(
            flat, _tightened(select_programs(offset, index), len(flat)), request, element, False
        )
        result[index] = np.where(select_programs(mask, index), values, _selected_fill(fill, index))
        index = np.flatnonzero(~whole)
        result[index] = self._gather(
            flat,
            select_programs(offset, index),
            select_programs(mask, index),
            request,
            element,
            _selected_fill(fill, index),
        )
        return result

    def _element_offset(self, request: Request, start: int) -> Sum | None:
        """Offsets in elements of the flat storage; None if some are not multiples of the size."""
        size = request.type_.element.bytes
        offset = request.offset
        if size != 1:
            if offset.constant % size or not all(_divisible(t, size) for t in offset.terms):
                return None
            terms = tuple(term // size for term in offset.terms)
            offset = Sum(offset.constant // size, terms, offset.low // size, offset.high // size)
        return Sum(offset.constant + start, offset.terms, offset.low + start, offset.high + start)

    def _read_all(
        self, flat: Array, offset: Sum, request: Request, element: ElementType, copy: bool
    ) -> Array:
        window = window_of(offset)
        return from_memory(read_window(flat, window, request.rank, copy=copy), element)

    def _read_box(
        self,
        flat: Array,
        boxed: tuple[Sum, tuple[tuple[int, int], ...]],
        request: Request,
        element: ElementType,
        other: Any,
    ) -> Array:
        offset, box = boxed
        shape = request.type_.shape
        fill: Any = 0 if other is None else other
        arrays = (*offset.terms, fill) if isinstance(fill, np.ndarray) else offset.terms
        programs = max([1, *(array.shape[0] for array in arrays)])
        lanes = []
        for axis, extent in enumerate(shape):
            whole = box[axis] == (0, extent) and all(x.shape[axis + 1] == 1 for x in arrays)
            lanes.append(1 if whole else extent)
        result = np.empty((programs, *lanes), element.value)
        result[...] = fill
        if all(low < high for low, high in box):
            values = self._read_all(flat, offset, request, element, False)
            inside = tuple(
                slice(low, high) if extent != 1 else slice(None)
                for (low, high), extent in zip(box, lanes, strict=True)
            )
            result[(slice(None), *inside)] = values
        return result

    def _gather(
        self,
        flat: Array,
        offset: Sum,
        mask: Array,
        request: Request,
        element: ElementType,
        fill: Any,
    ) -> Array:
        index = sum_of_terms(offset)
        index = np.asarray(index) if isinstance(index, np.ndarray) else np.full((1,), index)
        if index.ndim != request.rank:
            index = index.reshape((1,) * request.rank)
        safe = np.where(mask, index, 0)
        if not len(flat):
            values = np.zeros(safe.shape, element.value)
        else:
            values = from_memory(flat.take(safe), element)
        return np.where(mask, values, fill).astype(element.value, copy=False)

    def _read_unaligned(self, request: Request, other: Any) -> Array:
        """Read elements that do not lie at multiples of their size, byte by byte."""
        element = request.type_.element
        data = request.tensor.storage.data
        assert data is not None
        index = _lane_bytes(request)
        mask = _lane_mask(request)
        safe = np.where(mask, index, 0)[..., None] + np.arange(element.bytes)
        raw = np.ascontiguousarray(data.take(np.where(mask[..., None], safe, 0)))
        values = from_memory(raw.view(element.memory)[..., 0], element)
        fill = 0 if other is None else other
        return np.where(mask, values, fill).astype(element.value, copy=False)

    # -- stores --------------------------------------------------------------------------------

    def store(
        self, op: Op, scope: Scope, pointer: Any, value: Any, mask: Any, type_: ValueType
    ) -> None:
        """Write a block; programs write in ascending order."""
        if isinstance(pointer, PointerChoice):
            lanes = True if mask is None else mask
            chosen = both(lanes, pointer.condition)
            self.store(op, scope, pointer.first, value, chosen, type_)
            chosen = both(lanes, np.logical_not(pointer.condition))
            self.store(op, scope, pointer.second, value, chosen, type_)
            return
        request = self.request(op, "store", scope, pointer, mask, type_)
        if isinstance(request, Unknown):
            self._forget_behind(pointer, request.sources)
            return
        request = self.checked(request)
        unknown = unknown_of((value,))
        if unknown is not None or not scope.certain:
            self.forget(request.tensor, unknown.sources if unknown else frozenset())
            return
        if not self.is_known(request.tensor):
            return
        self.version += 1
        self._write(request, value)

    def _forget_behind(self, pointer: Any, sources: frozenset[str]) -> None:
        if isinstance(pointer, Pointer) and pointer.argument is not None:
            self.forget(self._arguments[pointer.argument], sources)
            return
        self.forget_all(sources)

    def _write(self, request: Request, values: Array) -> None:
        element = request.type_.element
        flat, start = self.flat(request.tensor, element)
        offset = self._element_offset(request, start)
        if offset is None:
            self._write_unaligned(request, values)
            return
        shape = request.type_.shape
        box = tuple((0, extent) for extent in shape)
        rest = request.mask
        if rest is not None:
            boxed = _boxed(offset, rest, shape)
            if boxed is None:
                self._scatter(flat, offset, request, values)
                return
            offset, box = boxed
            values = _cut(values, box)
        if any(low >= high for low, high in box):
            return
        stored = to_memory(values, element)
        write_window(flat, window_of(offset), request.rank, stored)

    def _scatter(self, flat: Array, offset: Sum, request: Request, values: Array) -> None:
        """Write under a mask that is no box: whole programs as windows, the others by index."""
        element = request.type_.element
        programs = request.scope.programs
        mask = conjunction(mask_factors(request.mask))
        stored = to_memory(values, element)
        shape = (programs, *request.type_.shape)
        axes = tuple(range(1, mask.ndim))
        whole = np.broadcast_to(mask.all(axis=axes), (programs,))
        varies = any(term.shape[0] != 1 for term in offset.terms)
        if varies and programs > 1 and whole.any() and not whole.all():
            # Programs may write the same addresses, so keep their order within each part only if
            # the parts are runs: partial programs after (or before) whole ones.
            for index in _runs(whole):
                part = Request(
                    request.op,
                    request.kind,
                    request.scope.restricted(index),
                    request.argument,
                    request.tensor,
                    request.offset,
                    request.mask,
                    request.type_,
                )
                cut_offset = select_programs(offset, index)
                if whole[index[0]]:
                    cut = select_programs(stored, index)
                    write_window(flat, window_of(cut_offset), part.rank, cut)
                else:
                    _put(
                        flat,
                        cut_offset,
                        select_programs(mask, index),
                        select_programs(stored, index),
                        (len(index), *request.type_.shape),
                    )
            return
        _put(flat, offset, mask, stored, shape)

    # -- atomics -------------------------------------------------------------------------------

    def atomic(
        self,
        op: Op,
        scope: Scope,
        pointer: Any,
        operands: Sequence[Any],
        mask: Any,
        type_: ValueType,
        update: Callable[[Array, Array, list[Array]], Array | None],
    ) -> Any:
        """Apply `update(flat storage, element index, operands)` to the active lanes.

        Gives what `update` gives (old contents), zero in inactive lanes; Unknown if data are.
        """
        request = self.request(op, "atomic", scope, pointer, mask, type_)
        if isinstance(request, Unknown):
            self._forget_behind(pointer, request.sources)
            return Unknown(request.sources)
        request = self.checked(request)
        unknown = unknown_of(operands)
        if unknown is not None or not scope.certain:
            self.forget(request.tensor, unknown.sources if unknown else frozenset())
        if not self.is_known(request.tensor):
            return Unknown(self.sources(request.tensor))
        element = type_.element
        flat, start = self.flat(request.tensor, element)
        offset = self._element_offset(request, start)
        if offset is None:
            raise unsupported(op, scope.launch.kernel, "on an address that is not aligned")
        shape = (scope.programs, *type_.shape)
        index = np.broadcast_to(sum_of_terms(offset), shape)
        active = _lane_mask(request)
        lanes = [np.broadcast_to(to_memory(x, element), shape)[active] for x in operands]
        index = index[active]
        before = flat[index]
        old = update(flat, index, lanes)
        if not np.array_equal(before.view(np.uint8), flat[index].view(np.uint8)):
            self.version += 1
        result = np.zeros(shape, element.value)
        if old is not None:
            result[active] = from_memory(old, element)
        return result

    def _write_unaligned(self, request: Request, values: Array) -> None:
        element = request.type_.element
        data = request.tensor.storage.data
        assert data is not None
        index, mask = _lane_bytes(request), _lane_mask(request)
        stored = np.broadcast_to(to_memory(values, element), index.shape)
        raw = np.ascontiguousarray(stored[mask]).view(np.uint8).reshape(-1, element.bytes)
        data[index[mask][:, None] + np.arange(element.bytes)] = raw


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _selected_fill(fill: Any, index: Array) -> Any:
    return select_programs(fill, index) if _is_array(fill) and np.ndim(fill) else fill


def _divisible(term: Array, size: int) -> bool:
    return not (term & (size - 1)).any() if size & (size - 1) == 0 else not (term % size).any()


def _tightened(offset: Sum, limit: int) -> Sum:
    return Sum(offset.constant, offset.terms, max(offset.low, 0), min(offset.high, limit - 1))


def _runs(flags: Array) -> list[Array]:
    """Split positions into maximal runs of equal flags, or two groups if there are many runs."""
    changes = np.flatnonzero(np.diff(flags)) + 1
    return list(np.split(np.arange(len(flags)), changes))


def _put(flat: Array, offset: Sum, mask: Array, stored: Array, shape: tuple[int, ...]) -> None:
    index = sum_of_terms(offset)
    mask = np.broadcast_to(mask, shape)
    flat[np.broadcast_to(index, shape)[mask]] = np.broadcast_to(stored, shape)[mask]


def _lane_bytes(request: Request) -> Array:
    """Give the byte index into the storage of every lane, in full shape."""
    shape = (request.scope.programs, *request.type_.shape)
    total = sum_of_terms(request.offset)
    result: Array = np.broadcast_to(total, shape) + request.tensor.offset_bytes
    return result


def _lane_mask(request: Request) -> Array:
    shape = (request.scope.programs, *request.type_.shape)
    if request.mask is None:
        return np.ones(shape, np.bool_)
    return np.broadcast_to(conjunction(mask_factors(request.mask)), shape)


def _boxed(
    offset: Sum, mask: Any, shape: tuple[int, ...]
) -> tuple[Sum, tuple[tuple[int, int], ...]] | None:
    """Cut offsets to the box of lanes that a mask leaves, if it leaves the same box everywhere."""
    box = [(0, extent) for extent in shape]
    for factor in mask_factors(mask):
        axes = [axis for axis, extent in enumerate(factor.shape) if extent != 1]
        if not axes:
            if not factor.reshape(-1)[0]:
                box = [(0, 0)] * len(box)
                if not box:
                    return None
            continue
        if len(axes) != 1 or axes[0] == 0:
            return None
        active = np.flatnonzero(factor.reshape(-1))
        axis = axes[0] - 1
        if not len(active):
            box[axis] = (0, 0)
            continue
        low, high = int(active[0]), int(active[-1]) + 1
        if high - low != len(active):
            return None
        box[axis] = (max(low, box[axis][0]), min(high, box[axis][1]))
    if not box:
        return None
    terms = tuple(_cut(term, tuple(box)) for term in offset.terms)
    return Sum(offset.constant, terms, offset.low, offset.high), tuple(box)


def _cut(array: Array, box: tuple[tuple[int, int], ...]) -> Array:
    """Keep the lanes inside a box; axes along which the array does not vary stay."""
    index = tuple(
        slice(None) if extent == 1 else slice(low, high)
        for extent, (low, high) in zip(array.shape[1:], box, strict=True)
    )
    return array[(slice(None), *index)]
