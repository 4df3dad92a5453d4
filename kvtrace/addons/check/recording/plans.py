"""Plans of examinations: the parts of a launch's memory that each of kvtrace's kernels reads."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from kvtrace.addons.check.recording.device_code import (
    CHECKED,
    FORMATS,
    SPANS,
)
from kvtrace.addons.check.recording.device_kernels import (
    Piece,
    Table,
    digest_table,
    finite_table,
)
from kvtrace.addons.check.recording.touched import Storage

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
