"""Memory that a launch may touch in each storage, by its tensor arguments."""

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

from kvtrace.addons.check.recording.device_code import FORMATS
from kvtrace.addons.check.recording.device_kernels import LARGEST, Piece
from kvtrace.capture.copied_contents import view_of
from kvtrace.capture.host_devices import memory_kind


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
            value.data_ptr(), value.storage_offset(), value.dtype, value.shape, value.stride(),
        )  # fmt: skip
    except AttributeError:  # a descriptor, one of Triton's reinterpreted tensors, or no tensor
        base = getattr(value, "base", None)
        return None if base is None else memory_key(base)


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
        base = getattr(value, "base", value)  # Triton's reinterpreted tensors wrap a tensor
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
