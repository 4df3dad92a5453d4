"""Memory that a launch touches in each storage, from its tensor arguments."""

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

from kvtrace.addons.check.recording.device_code import FORMATS
from kvtrace.addons.check.recording.device_kernels import LARGEST, Piece
from kvtrace.capture.copied_contents import view_of
from kvtrace.capture.host_devices import memory_kind


class Storage(NamedTuple):
    """Memory that a launch touches in a storage: first to last byte of its arguments.

    `arg` is the position of the first such argument, `base` the storage's address.
    """

    arg: int
    base: int
    piece: Piece
    read: bool
    written: bool

    def row(self, when: str) -> dict[str, Any]:
        """Return the columns that identify the storage."""
        return {"arg": self.arg, "when": when}


def memory_key(value: Any) -> tuple[Any, ...] | None:
    """Return a key of a tensor's memory; `storages_of` returns the same for equal keys."""
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
    """Return the memory a launch touches in each storage, and the tensors' device type.

    Args:
        listed: position in the signature, tensor and type of each tensor argument.
        read: positions of tensors that the kernel reads.
        written: positions of tensors that the kernel writes.
    """
    by_address: dict[int, Storage] = {}
    kind = ""
    for place, value, dtype in listed:
        base = getattr(value, "base", value)  # Triton's reinterpreted tensors wrap a tensor
        if not hasattr(base, "untyped_storage") or not (place in read or place in written):
            continue
        storage = base.untyped_storage()
        start = storage.data_ptr()
        if base.is_contiguous():
            address, size = base.data_ptr(), base.numel() * base.element_size()
        else:
            view = view_of(base, start, storage.nbytes())
            address, size = (0, 0) if view is None else (view.address, view.size)
        if not start or not size or size > LARGEST:
            continue
        form = FORMATS.get(dtype)
        is_float = form is not None and address % form.bytes == 0 == size % form.bytes
        piece = Piece(address, size, dtype if is_float else None)
        touched = Storage(place, start, piece, place in read, place in written)
        before = by_address.get(start)
        by_address[start] = touched if before is None else _both(before, touched)
        if kind in ("", "cpu"):  # device kernels can use host memory too
            kind = memory_kind(base) or ""
    return list(by_address.values()), kind


def _both(a: Storage, b: Storage) -> Storage:
    begin = min(a.piece.address, b.piece.address)
    end = max(each.piece.address + each.piece.size for each in (a, b))
    dtype = a.piece.dtype if a.piece.dtype == b.piece.dtype else None
    return Storage(
        a.arg, a.base, Piece(begin, end - begin, dtype), a.read or b.read, a.written or b.written
    )


def memory_of(piece: Piece) -> Any:
    """Return host memory as an array of bytes, without a copy."""
    import numpy as np

    buffer: Any = (ctypes.c_ubyte * piece.size).from_address(piece.address)
    return np.frombuffer(buffer, np.uint8)
