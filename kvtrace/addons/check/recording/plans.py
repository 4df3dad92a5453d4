"""Plans of examinations: memory that a launch may touch, and which kernel of ours reads what."""

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from kvtrace.addons.check.recording.device_code import (
    CHECKED,
    FORMATS,
    SPANS,
)
from kvtrace.addons.check.recording.device_kernels import (
    LARGEST,
    Piece,
    Table,
    digest_table,
    finite_table,
)
from kvtrace.capture.arguments import address_of, tensor_of
from kvtrace.capture.copied_contents import view_of
from kvtrace.capture.host_devices import memory_kind

# Memory that a launch may touch in each storage, by its tensor arguments.


class Storage(NamedTuple):
    """Memory that a launch may touch in a storage: from the first to the last byte of its tensors.

    `arg` is the position of the first of these arguments, `base` the storage's address. `read` and
    `written`: the kernel reads, or writes, one of the tensors.
    """

    arg: int
    base: int
    piece: Piece
    read: bool
    written: bool

    def row(self, when: str) -> dict[str, Any]:
        """Return the columns `arg` and `when` of a row on this storage."""
        return {"arg": self.arg, "when": when}


def memory_key(value: Any) -> tuple[Any, ...] | None:
    """Return a key of a tensor's memory and layout, None for other values.

    `storages_of` returns the same for arguments with equal keys.
    """
    try:
        return (
            address_of(value), value.storage_offset(), value.dtype, value.shape, value.stride(),
        )  # fmt: skip
    except AttributeError:  # a descriptor, one of Triton's reinterpreted tensors, or no tensor
        tensor = tensor_of(value)
        return None if tensor is value else memory_key(tensor)


def storages_of(
    listed: Sequence[tuple[int, Any, str]], read: frozenset[int], written: frozenset[int]
) -> tuple[list[Storage], str]:
    """Return the memory a launch may touch in each storage, and the tensors' device type.

    Tensors that are neither read nor written, empty or larger than 32 GiB are left out.

    Args:
        listed: position in the signature, tensor and element type of each tensor argument.
        read: positions of tensors that the kernel reads.
        written: positions of tensors that the kernel writes.
    """
    by_address: dict[int, Storage] = {}
    device_type = ""
    for position, value, dtype in listed:
        base = tensor_of(value)
        if not hasattr(base, "untyped_storage") or not (position in read or position in written):
            continue
        storage = base.untyped_storage()
        storage_address = storage.data_ptr()
        if base.is_contiguous():
            address, size = base.data_ptr(), base.numel() * base.element_size()
        else:
            view = view_of(base, storage_address, storage.nbytes())
            address, size = (0, 0) if view is None else (view.address, view.size)
        if not storage_address or not size or size > LARGEST:
            continue
        float_format = FORMATS.get(dtype)
        is_float = (
            float_format is not None
            and address % float_format.bytes == 0 == size % float_format.bytes
        )
        piece = Piece(address, size, dtype if is_float else None)
        touched = Storage(position, storage_address, piece, position in read, position in written)
        earlier = by_address.get(storage_address)
        by_address[storage_address] = (
            touched if earlier is None else _merged_storage(earlier, touched)
        )
        if device_type in ("", "cpu"):  # device kernels can use host memory too
            device_type = memory_kind(base) or ""
    return list(by_address.values()), device_type


def _merged_storage(a: Storage, b: Storage) -> Storage:
    begin = min(a.piece.address, b.piece.address)
    end_address = max(storage.piece.address + storage.piece.size for storage in (a, b))
    dtype = a.piece.dtype if a.piece.dtype == b.piece.dtype else None
    return Storage(
        a.arg,
        a.base,
        Piece(begin, end_address - begin, dtype),
        a.read or b.read,
        a.written or b.written,
    )


def memory_of(piece: Piece) -> Any:
    """Return host memory as an array of bytes, without a copy."""
    import numpy as np

    buffer: Any = (ctypes.c_ubyte * piece.size).from_address(piece.address)
    return np.frombuffer(buffer, np.uint8)


#: Largest tensor, read and written by a launch, that is copied before the launch.
IN_PLACE_BYTES: Final = 1 << 20

#: Largest input that is digested in full; of larger ones, one line in `LINES` is digested.
WHOLE_BYTES: Final = 1 << 20
LINES: Final = 16

#: Most cached tables of a plan, one per stream.
_STREAMS: Final = 8


class StorageMoment(NamedTuple):
    """A storage before or after the launch, and the memory to read its contents from."""

    storage: Storage
    when: str
    piece: Piece


Part = tuple[tuple[StorageMoment, ...], Table]
"""Storages examined by one launch of kvtrace's kernel, and their table."""


class Plan:
    """Tables of the memory to examine, for launches that touch the same memory.

    A program's steps mostly repeat launches, so plans are reused. `before` and `after` are the
    parts to digest before and after the launch, `floats` the outputs to search for NaNs, `changed`
    the storages both read and written, `small` those of them that are copied before the launch.
    """

    __slots__ = ("after", "before", "changed", "flags", "floats", "kind", "small", "storages")

    def __init__(self, storages: Sequence[Storage], kind: str) -> None:
        self.storages = tuple(storages)
        self.kind = kind
        written = [storage for storage in storages if storage.written]
        self.floats = [storage for storage in written if storage.piece.dtype in FORMATS]
        self.changed = [storage for storage in written if storage.read]
        self.small = [s for s in self.changed if s.piece.size <= IN_PLACE_BYTES]
        self.before = _digest_parts([StorageMoment(s, "before", s.piece) for s in self.changed])
        moments = [StorageMoment(storage, "after", storage.piece) for storage in written]
        for storage in storages:
            if not storage.written:
                lines = LINES if storage.piece.size > WHOLE_BYTES else 1
                piece = storage.piece._replace(lines=lines)
                moments.append(StorageMoment(storage, "before", piece))
        self.after = _digest_parts(moments)
        #: By copies put aside: parts, and whether a part has all inputs of the launch.
        self.flags: dict[tuple[Any, ...], list[tuple[Part, bool]]] = {}

    def finite_parts(self, apart: Mapping[int, Any]) -> list[tuple[Part, bool]]:
        """Return the parts that `finite` examines, a part for each launch of the kernel `finite`.

        `apart` are copies from before the launch, by argument. The bool of a part: it has all the
        launch's inputs. Cached in `flags`.
        """
        key = tuple(apart.items())
        cached = self.flags.get(key)
        if cached is not None:
            return cached
        input_moments = [
            StorageMoment(storage, "before", apart.get(storage.arg, storage.piece))
            for storage in self.storages
            if storage.read and (not storage.written or storage.arg in apart)
        ]
        parts: list[tuple[Part, bool]] = []
        for begin in range(0, len(self.floats), CHECKED):
            checked_outputs = self.floats[begin : begin + CHECKED]
            outputs = [
                StorageMoment(storage, "after", storage.piece) for storage in checked_outputs
            ]
            inputs = (
                input_moments
                if len(self.floats) <= CHECKED and len(input_moments) <= SPANS - CHECKED
                else []
            )
            table = finite_table([m.piece for m in outputs], [m.piece for m in inputs])
            parts.append((((*outputs, *inputs), table), len(inputs) == len(input_moments)))
        if len(self.flags) < _STREAMS:
            self.flags[key] = parts
        return parts


def _digest_parts(moments: Sequence[StorageMoment]) -> list[Part]:
    """Return the parts that `digest` examines, each of up to 16 storages."""
    chunks = [tuple(moments[begin : begin + SPANS]) for begin in range(0, len(moments), SPANS)]
    return [(chunk, digest_table([moment.piece for moment in chunk])) for chunk in chunks]
