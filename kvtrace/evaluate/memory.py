"""Loads, stores and atomics on the storages of one launch.

Lanes outside their storage never access memory: a load returns zero, or the argument's `outside`
numbers; a store is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kvtrace.evaluate.arguments import Storage, TensorArgument
from kvtrace.evaluate.elements import Reach, read_box, read_lanes
from kvtrace.evaluate.errors import UnknownAddress
from kvtrace.evaluate.known import Key, KnownValues
from kvtrace.evaluate.observe import AccessKind
from kvtrace.evaluate.registry import unsupported
from kvtrace.evaluate.reports import report_unknown_address, unknown_address
from kvtrace.evaluate.requests import Request, check_bounds, touches_nothing, values_outside
from kvtrace.evaluate.rounding import from_memory, to_memory
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.sums import both, factors_of, mask_of
from kvtrace.evaluate.types import ElementType, ValueType, value_type
from kvtrace.evaluate.values import (
    Array,
    Pointer,
    PointerChoice,
    Sum,
    Unknown,
    conjunction,
    sum_of_terms,
    unknown_of,
)
from kvtrace.evaluate.windows import (
    Box,
    Window,
    box_of,
    cropped,
    leading_full,
    read_window,
    window_of,
    write_masked,
    write_window,
)
from kvtrace.ir import Op

_REMEMBERED_WINDOWS = 256
_LARGE_MASK = 1 << 16
"""The lanes of a mask that are copied for longer than their programs take as two chunks."""


class Memory:
    """The storages of one launch.

    `written` are the storages that the kernel may write to: loads from others may be views.
    `complete`: the data of all storages is known. `executes`: all storages belong to the running
    program, so the kernel is executed, and not judged or replayed.
    `version` grows with every change, to distinguish a spinning program from a working one.
    """

    known: KnownValues | None = None
    """The module's known values, if elements of accesses may be looked up there."""

    def __init__(self, arguments: Sequence[Any], written: frozenset[Storage]) -> None:
        self._arguments = arguments
        self.written = written
        self._flat: dict[tuple[int, str], tuple[Array, int]] = {}
        self._windows: dict[tuple[int, int], tuple[tuple[Array, ...], Window]] = {}
        self._copies: dict[Storage, Array] = {}
        self._forgotten: dict[int, frozenset[str]] = {}
        tensors = [argument for argument in arguments if isinstance(argument, TensorArgument)]
        self.complete = all(tensor.storage.data is not None for tensor in tensors)
        self.executes = all(tensor.storage.is_live for tensor in tensors)
        self.version = 0

    def is_known(self, tensor: TensorArgument) -> bool:
        """Return whether the contents of a tensor's storage were captured and are still known."""
        return tensor.storage.data is not None and id(tensor.storage) not in self._forgotten

    def load(
        self, op: Op, scope: Scope, pointer: Any, mask: Any, other: Any, type_: ValueType
    ) -> Any:
        """Return the values at pointers and report the access; Unknown if anything is unknown.

        Masked-off lanes have `other`, an array, or zero if None.
        """
        key, reach = self._known_reach(op, scope, pointer, mask)
        if reach is not None and not isinstance(other, Unknown):
            return self._read(self._arguments[pointer.argument], type_, reach, other)
        if isinstance(pointer, PointerChoice):
            return self._load_choice(op, scope, pointer, mask, other, type_)
        if touches_nothing(pointer, mask):
            zero = np.zeros((1,) * (len(type_.shape) + 1), type_.element.value)
            return zero if other is None else other
        request = self._request(op, "load", scope, pointer, mask, type_)
        if isinstance(request, Unknown):
            target = pointer.argument if isinstance(pointer, Pointer) else None
            named = frozenset() if target is None else {self._arguments[target].name}
            return Unknown(request.sources | named)
        guarded = check_bounds(request)
        unknown = self._unknown_contents(request)
        if unknown is not None:
            return unknown
        if isinstance(other, Unknown):
            return other
        if guarded is request:
            return self._read_kept(request, other, key, (pointer, mask))
        # Lanes out of bounds have the `outside` numbers, masked-off lanes `other`.
        outside = values_outside(request)
        values = self._read_kept(guarded, outside, None, ())
        if request.mask is None or (other is None and outside is None):
            return values
        masked = conjunction(factors_of(request.mask))
        fill = 0 if other is None else other
        return np.where(masked, values, fill).astype(values.dtype, copy=False)

    def store(
        self, op: Op, scope: Scope, pointer: Any, value: Any, mask: Any, type_: ValueType
    ) -> None:
        """Store a value through pointers and report the access; lanes out of bounds are dropped.

        If the value or address is unknown, the contents of storages that may be written become
        unknown. Without a mask, the last program's value stays at an address that several write.
        """
        key, reach = self._known_reach(op, scope, pointer, mask)
        if reach is not None and not isinstance(value, Unknown):
            self.version += 1
            self._store(self._arguments[pointer.argument], type_, reach, scope.programs, value)
            return
        if isinstance(pointer, PointerChoice):
            for option, lanes in self._choice_parts(pointer, mask):
                self.store(op, scope, option, value, lanes, type_)
            return
        if touches_nothing(pointer, mask):
            return
        request = self._request(op, "store", scope, pointer, mask, type_)
        if isinstance(request, Unknown):
            self._forget_targets(scope, pointer, request.sources)
            return
        unguarded, request = request, check_bounds(request)
        unknown = unknown_of((value, request.doubt))
        if unknown is not None or not scope.certain:
            self._forget(scope, request.tensor, unknown.sources if unknown else frozenset())
            return
        if not self.is_known(request.tensor):
            return
        self.version += 1
        reach = self.write(request, value)
        if unguarded is request and reach is not None:
            self._keep_reach(key, (pointer, mask), reach, scope)

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

        The access is reported. Return what `update` returned (old contents) as a block, with zero
        in inactive lanes; Unknown if the address or the contents are unknown.
        """
        if isinstance(pointer, PointerChoice):
            if_true, if_false = (
                self.atomic(op, scope, option, operands, lanes, type_, update)
                for option, lanes in self._choice_parts(pointer, mask)
            )
            return unknown_of((if_true, if_false)) or np.where(pointer.condition, if_true, if_false)
        if touches_nothing(pointer, mask):
            return np.zeros((1,) * (len(type_.shape) + 1), type_.element.value)
        request = self._request(op, "atomic", scope, pointer, mask, type_)
        if isinstance(request, Unknown):
            self._forget_targets(scope, pointer, request.sources)
            return Unknown(request.sources)
        unchecked, request = request, check_bounds(request)
        unknown = unknown_of((*operands, request.doubt))
        if unknown is not None or not scope.certain:
            self._forget(scope, request.tensor, unknown.sources if unknown else frozenset())
        unknown = self._unknown_contents(request)
        if unknown is not None:
            return unknown
        element = type_.element
        flat, start = self._elements(request.tensor, element)
        offsets = request.lane_bytes() - request.tensor.offset_bytes
        active = request.lane_mask()
        index = offsets[active]
        if (index % element.bytes).any():
            raise unsupported(op, scope.launch.kernel, "on an address that is not aligned")
        index = index // element.bytes + start
        lanes = [np.broadcast_to(to_memory(x, element), offsets.shape)[active] for x in operands]
        before = flat[index]
        old = update(flat, index, lanes)
        if before.tobytes() != flat[index].tobytes():
            self.version += 1
        result = np.zeros(offsets.shape, element.value)
        outside = None if unchecked is request else values_outside(unchecked)
        if outside is not None:
            result = np.where(unchecked.lane_mask(), outside, result)
        if old is not None:
            result[active] = from_memory(old, element)
        return result

    # -- pointers ------------------------------------------------------------------------------

    def _request(
        self, op: Op, kind: AccessKind, scope: Scope, pointer: Any, mask: Any, type_: ValueType
    ) -> Request | Unknown:
        """Return the access as a Request; Unknown, after a report, if the address is unknown."""
        if isinstance(mask, bool):
            mask = None if mask else np.zeros((1,) * (len(type_.shape) + 1), np.bool_)
        target = pointer if isinstance(pointer, Pointer) else Pointer(None, Unknown(frozenset()))
        unknown = unknown_of((target.offset, pointer))
        if target.argument is None and self.complete:
            raise UnknownAddress(unknown_address(op, scope, target.offset, mask))
        if target.argument is None and unknown is None:
            unknown = Unknown(frozenset({self._reason_for_address()}))
        if unknown is not None or not isinstance(target.offset, Sum) or target.argument is None:
            doubts = unknown_of((unknown, mask))
            sources = doubts.sources if doubts is not None else frozenset()
            report_unknown_address(op, kind, scope, target.argument, type_, mask, Unknown(sources))
            return Unknown(sources)
        tensor = self._arguments[target.argument]
        assert isinstance(tensor, TensorArgument)
        doubt = unknown_of((mask,))
        if doubt is not None:
            known_mask = mask_of(mask.factors)
            mask = None if known_mask is True else known_mask
        return Request(
            op, kind, scope, target.argument, tensor, target.offset, target.unit, mask, type_, doubt
        )

    def _reason_for_address(self) -> str:
        tensors = (a for a in self._arguments if isinstance(a, TensorArgument))
        if any(tensor.storage.address is not None for tensor in tensors):
            return "an address that lies in no tensor that was recorded"
        return "an address in no tensor of the call (KVTRACE_MEMORY=on records where tensors lie)"

    def _choice_parts(self, pointer: PointerChoice, mask: Any) -> list[tuple[Any, Any]]:
        """Return both pointers of a choice, each with the mask of its lanes."""
        lanes = True if mask is None else mask
        return [
            (pointer.first, both(lanes, pointer.condition)),
            (pointer.second, both(lanes, np.logical_not(pointer.condition))),
        ]

    def _load_choice(
        self, op: Op, scope: Scope, pointer: PointerChoice, mask: Any, other: Any, type_: ValueType
    ) -> Any:
        if_true, if_false = (
            self.load(op, scope, option, lanes, other, type_)
            for option, lanes in self._choice_parts(pointer, mask)
        )
        return unknown_of((if_true, if_false)) or np.where(pointer.condition, if_true, if_false)

    # -- contents ------------------------------------------------------------------------------

    def _elements(self, tensor: TensorArgument, element: ElementType) -> tuple[Array, int]:
        """Return a storage as elements, and the index of a tensor's data pointer in it.

        Elements are aligned to the data pointer, at any byte offset.
        """
        key = (id(tensor), element.name)
        elements = self._flat.get(key)
        if elements is None:
            data = self.bytes_of(tensor.storage)
            size = element.bytes
            phase = tensor.offset_bytes % size
            count = max(0, (tensor.storage.nbytes - phase) // size)
            flat: Array = data[phase : phase + count * size].view(element.memory)
            elements = (flat, (tensor.offset_bytes - phase) // size)
            self._flat[key] = elements
        return elements

    def bytes_of(self, storage: Storage) -> Array:
        """Return the bytes of a storage with data, as the kernel sees them.

        For a read-only storage that the kernel writes, they are a copy, made once per launch.
        """
        assert storage.data is not None
        if storage.data.flags.writeable or storage not in self.written:
            return storage.data
        return self._copies.setdefault(storage, storage.data.copy())

    def contents_at(self, pointer: Pointer, element_bytes: int) -> object:
        """Return what elements have, to be compared; of unknown contents, memory's version."""
        tensor = None if pointer.argument is None else self._arguments[pointer.argument]
        if tensor is None or not isinstance(pointer.offset, Sum) or not self.is_known(tensor):
            return self.version
        starts = np.ravel(sum_of_terms(pointer.offset)) + tensor.offset_bytes
        bytes_ = starts[:, None] + np.arange(element_bytes)
        return self.bytes_of(tensor.storage).take(bytes_, mode="clip").tobytes()

    def _sources(self, tensor: TensorArgument) -> frozenset[str]:
        """Return the names of the arguments that unknown contents of a tensor depend on."""
        return self._forgotten.get(id(tensor.storage), frozenset()) | {tensor.name}

    def _unknown_contents(self, request: Request) -> Unknown | None:
        """Return the Unknown that a read returns; None if mask and contents are known."""
        doubt = request.doubt
        if self.is_known(request.tensor):
            return doubt
        sources = self._sources(request.tensor)
        return Unknown(sources if doubt is None else sources | doubt.sources)

    def _forget(self, scope: Scope, tensor: TensorArgument, sources: frozenset[str]) -> None:
        """Mark the contents of a tensor's storage as unknown, for these sources."""
        key = id(tensor.storage)
        self._forgotten[key] = self._forgotten.get(key, frozenset()) | sources
        for observer in scope.launch.observers:
            observer.forget(tensor.storage, sources)
        self.version += 1

    def _forget_targets(self, scope: Scope, pointer: Any, sources: frozenset[str]) -> None:
        """Mark the contents of all tensors that a pointer may point to as unknown."""
        for position, argument in enumerate(self._arguments):
            if not isinstance(argument, TensorArgument):
                continue
            if isinstance(pointer, Pointer) and pointer.argument not in (None, position):
                continue
            self._forget(scope, argument, sources)

    # -- blocks --------------------------------------------------------------------------------

    def _element_offsets(self, request: Request, start: int) -> Sum | None:
        """Return offsets as element indices into the flat storage; None if some are unaligned."""
        size = request.type_.element.bytes
        offset = request.offset
        if request.unit % size and not _all_multiples(offset, size):
            return None
        terms = offset.terms if size == 1 else tuple(term // size for term in offset.terms)
        low, high = offset.low // size + start, offset.high // size + start
        return Sum(offset.constant // size + start, terms, low, high)

    def _window(self, request: Request, start: int) -> Window | None:
        """Return the access as a window; terms that repeat, as in a loop, are split once."""
        key = (id(request.offset.terms), request.type_.element.bytes)
        cached = self._windows.get(key)
        constant = request.offset.constant // request.type_.element.bytes + start
        aligned = request.unit % request.type_.element.bytes == 0
        if cached is not None and aligned:
            return Window(cached[1].base + constant, cached[1].strided)
        offset = self._element_offsets(request, start)
        if offset is None:
            return None
        window = window_of(Sum(0, offset.terms, 0, 0))
        if aligned:
            if len(self._windows) >= _REMEMBERED_WINDOWS:
                self._windows.clear()
            # A reference to the terms keeps their id from being reused.
            self._windows[key] = (request.offset.terms, window)
        return Window(window.base + offset.constant, window.strided)

    def _reach(self, request: Request, start: int) -> Reach | None:
        """Return the elements that an access touches; None if some are unaligned."""
        mask = request.mask
        box = None if mask is None else box_of(mask, request.type_.shape)
        if box is None:
            window = self._window(request, start)
            active = None if mask is None else conjunction(factors_of(mask))
            return None if window is None else Reach(window, None, active)
        offset = self._element_offsets(request, start)
        if offset is None:
            return None
        if box.is_empty:
            return Reach(Window(0, ()), box, None)
        factors = box.other_factors
        active = cropped(conjunction(factors), box) if factors else None
        return Reach(window_of(cropped(offset, box)), box, active)

    def _read_kept(
        self, request: Request, other: Any, key: Key | None, operands: tuple[Any, ...]
    ) -> Array:
        """Return a request's elements, as `_read`; keep where they lie under `key`, if given."""
        _, start = self._elements(request.tensor, request.type_.element)
        reach = self._reach(request, start)
        if reach is None:
            return self._read_unaligned(request, other)
        self._keep_reach(key, operands, reach, request.scope)
        return self._read(request.tensor, request.type_, reach, other)

    def _known_reach(
        self, op: Op, scope: Scope, pointer: Any, mask: Any
    ) -> tuple[Key | None, Reach | None]:
        """Return the key of an access that nobody observes, and its elements if they are known."""
        if self.known is None or type(pointer) is not Pointer or pointer.argument is None:
            return None, None
        tensor = self._arguments[pointer.argument]
        if scope.launch.access_observers or not scope.certain or not self.is_known(tensor):
            return None, None
        key = (
            op.index, id(pointer), id(mask), scope.programs,
            tensor.offset_bytes, tensor.storage.nbytes, tensor.shape, tensor.strides, tensor.dtype,
        )  # fmt: skip
        entry = self.known.results.get(key)
        return key, None if entry is None else entry[0]

    def _keep_reach(
        self, key: Key | None, operands: tuple[Any, ...], reach: Reach, scope: Scope
    ) -> None:
        """Keep known elements; and the first programs, if they have all lanes and others not."""
        known, line, active = self.known, scope.linear, reach.active
        if known is None or key is None or not all(map(known.holds, operands)):
            return
        known.keep(key, reach, operands)
        if active is not None and active.size >= _LARGE_MASK and known.holds(line):
            full = leading_full(reach.window, active)
            if 0 < full < len(line):
                known.once(("full", id(line)), lambda: line[:full], line)

    def _read(self, tensor: TensorArgument, type_: ValueType, reach: Reach, other: Any) -> Array:
        """Return elements in the storage; `other`, or zero if None, in masked-off lanes."""
        element = type_.element
        flat, _ = self._elements(tensor, element)
        if reach.box is not None:
            return read_box(flat, reach, reach.box, type_, other)
        if reach.active is not None:
            return read_lanes(flat, reach.window, type_, reach.active, other)
        copy = tensor.storage in self.written
        values = read_window(flat, reach.window, len(type_.shape) + 1, copy=copy)
        return from_memory(values, element)

    def _read_unaligned(self, request: Request, other: Any) -> Array:
        """Return elements at addresses that are not multiples of their size, byte by byte."""
        element = request.type_.element
        data = self.bytes_of(request.tensor.storage)
        index, mask = request.lane_bytes(), request.lane_mask()[..., None]
        bytes_ = index[..., None] + np.arange(element.bytes)
        raw = np.ascontiguousarray(data.take(np.where(mask, bytes_, 0)))
        values = from_memory(raw.view(element.memory)[..., 0], element)
        fill = 0 if other is None else other
        return np.where(mask[..., 0], values, fill).astype(element.value, copy=False)

    def stored_view(
        self, store: Op, values: list[Any], scope: Scope
    ) -> tuple[Array | None, Box | None]:
        """Return the elements that a store sets, None unless known and one view, and their box."""
        type_, mask = value_type(store.operand("value").type), store.optional("mask")
        pointer, lanes = (
            values[store.operand("pointer").id],
            None if mask is None else values[mask.id],
        )
        _, reach = self._known_reach(store, scope, pointer, lanes)
        if reach is None or reach.active is not None or not isinstance(reach.window.base, int):
            return None, None
        if reach.box is not None and reach.box.is_empty:
            return None, None
        flat, _ = self._elements(self._arguments[pointer.argument], type_.element)
        return read_window(flat, reach.window, len(type_.shape) + 1, copy=False), reach.box

    def write(self, request: Request, values: Array) -> Reach | None:
        """Store values at a request's active lanes, which must lie inside the storage.

        Return the elements that were stored; None if some are unaligned.
        """
        _, start = self._elements(request.tensor, request.type_.element)
        reach = self._reach(request, start)
        if reach is None:
            self._write_unaligned(request, to_memory(values, request.type_.element))
        else:
            self._store(request.tensor, request.type_, reach, request.scope.programs, values)
        return reach

    def _store(
        self, tensor: TensorArgument, type_: ValueType, reach: Reach, programs: int, values: Array
    ) -> None:
        """Store values in elements of a storage."""
        flat, _ = self._elements(tensor, type_.element)
        stored, shape, box = to_memory(values, type_.element), type_.shape, reach.box
        if box is not None:
            if box.is_empty:
                return
            shape = box.extents
            if stored.shape[1:] != shape:  # else cropped already, or the same inside
                stored = cropped(stored, box)
        if reach.active is None:
            write_window(flat, reach.window, len(shape) + 1, stored)
        else:
            write_masked(flat, reach.window, (programs, *shape), stored, reach.active)

    def _write_unaligned(self, request: Request, stored: Array) -> None:
        data = self.bytes_of(request.tensor.storage)
        index, mask = request.lane_bytes(), request.lane_mask()
        size = stored.dtype.itemsize
        lanes = np.ascontiguousarray(np.broadcast_to(stored, index.shape)[mask])
        data[index[mask][:, None] + np.arange(size)] = lanes.view(np.uint8).reshape(-1, size)


def _all_multiples(offset: Sum, size: int) -> bool:
    return offset.constant % size == 0 and not any((term % size).any() for term in offset.terms)
