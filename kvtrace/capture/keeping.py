"""How much of a run is recorded: the settings `limit` and `sample`, as its journal obeys them.

Where a run keeps the newest, the journals of what grows with every launch become parts early, an
eighth of the amount each, and the oldest parts go as new ones come. Kernels, calls, stacks, what
tensors held, marks and messages stay: later launches are of the same calls.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from kvtrace.settings import Amounts, Settings

if TYPE_CHECKING:
    import pyarrow as pa

    from kvtrace.capture.sampling import (
        NativeSampledLaunches,
        Sample,
        SampledExecutions,
        SampledLaunches,
    )
    from kvtrace.schema.writer import RunWriter, SealedPart

#: What grows with every launch, and goes when it is old.
_DROPPED: Final = ("launches", "gpu_kernels", "digests", "non_finite")
#: In so many parts, about, the newest is kept; the oldest of them goes at a time.
_PARTS: Final = 8


class Keeping:
    """Decides for one run what is written, and what is dropped again."""

    def __init__(self, settings: Settings) -> None:
        """Begin the run's time now."""
        self._text = settings.limit
        limit = settings.limits
        self._end, self._newest = limit.end, limit.newest
        self._keeps_newest = self._newest != Amounts()
        self._began = time.monotonic()
        #: Sealed parts with the number of launches, and the moment, when they were.
        self._parts: deque[tuple[SealedPart, int, float]] = deque()
        self._rotated = dict.fromkeys(_DROPPED, self._began)
        self._launches: SampledLaunches | NativeSampledLaunches | None = None
        self._executions: SampledExecutions | None = None
        self._one_in = settings.one_in
        self.full = False

    # -- launches and executions ------------------------------------------------------------

    def room(self, launches: int) -> int | None:
        """How many more launches are recorded after so many; None: all that come."""
        end = self._end.launches
        return None if end is None else max(0, end - launches)

    def launches(self, columns: Mapping[str, Any], content: bytes, first: int) -> Mapping[str, Any]:
        """Return the launches that are recorded in detail; `content` has them as rows of `ROW`."""
        if self._one_in == 1:
            return columns
        from kvtrace.capture.sampling import sampled_launches

        self._launches = self._launches or sampled_launches(self._one_in)
        return _sampled(self._launches.chosen(content, first))

    def executions(self, columns: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the rows of `gpu_kernels` that are recorded."""
        if self._one_in == 1:
            return columns
        import pyarrow as pa

        from kvtrace.capture.sampling import SampledExecutions

        self._executions = self._executions or SampledExecutions(self._one_in)
        return _columns(self._executions.chosen(pa.table(dict(columns))))

    def rest(self, append: Callable[[str, Mapping[str, Any]], None]) -> None:
        """Append what represents launches and executions that are only counted so far."""
        if self._launches is not None:
            last = self._launches.rest()
            if last.rows:
                append("launches", _sampled(last))
        left = None if self._executions is None else self._executions.rest()
        if left is not None:
            append("gpu_kernels", _columns(left))

    # -- limits -----------------------------------------------------------------------------

    def after_round(self, writer: "RunWriter", launches: int) -> str | None:
        """Drop what is too old; return a sentence where the recording is to end, once.

        Raises:
            TraceWriteError: as `RunWriter.flush`.

        """
        if self._keeps_newest:
            self._drop(writer, launches)
        if self.full:
            return None
        why = self._reached(writer, launches)
        if why is None:
            return None
        self.full = True
        return (
            f"recording has ended: {why} (KVTRACE_LIMIT={self._text}); the program continues, and "
            "what was recorded is kept"
        )

    def _reached(self, writer: "RunWriter", launches: int) -> str | None:
        """Say which limit is reached, or what leaves no room for the newest."""
        end, most, taken = self._end, self._newest.bytes, writer.size_bytes
        if end.seconds is not None and time.monotonic() - self._began >= end.seconds:
            return f"{end.seconds:,g} seconds have passed"
        if end.launches is not None and launches >= end.launches:
            return f"{end.launches:,} launches were made"
        if end.bytes is not None and taken >= end.bytes:
            return f"the run takes {taken:,} bytes"
        if most is None or taken <= most:
            return None
        dropped = sum(part.size_bytes for part, _, _ in self._parts)
        stays = taken - dropped - sum(writer.open_segment(table)[1] for table in _DROPPED)
        if stays < most:
            return None
        return f"kernels, calls and contents of tensors take {stays:,} bytes, and are not dropped"

    def _drop(self, writer: "RunWriter", launches: int) -> None:
        now = time.monotonic()
        for table in _DROPPED:
            if self._is_due(table, *writer.open_segment(table), now):
                writer.rotate(table)
                self._rotated[table] = now
        for part in writer.take_sealed():
            if part.table in _DROPPED:
                self._parts.append((part, launches, now))
        while len(self._parts) > 1 and self._is_too_old(writer, launches, now):
            writer.drop(self._parts.popleft()[0])

    def _is_due(self, table: str, rows: int, size_bytes: int, now: float) -> bool:
        newest = self._newest
        return rows > 0 and (
            (newest.bytes is not None and size_bytes * _PARTS >= newest.bytes)
            or (newest.launches is not None and rows * _PARTS >= newest.launches)
            or (
                newest.seconds is not None
                and (now - self._rotated[table]) * _PARTS >= newest.seconds
            )
        )

    def _is_too_old(self, writer: "RunWriter", launches: int, now: float) -> bool:
        """Whether the oldest part has nothing that is to be kept."""
        newest, (_, launched, sealed) = self._newest, self._parts[0]
        return (
            (newest.bytes is not None and writer.size_bytes > newest.bytes)
            or (newest.launches is not None and launched <= launches - newest.launches)
            or (newest.seconds is not None and sealed < now - newest.seconds)
        )


def _sampled(sample: "Sample") -> Mapping[str, Any]:
    """Return columns of `launches` that represent others, too."""
    from kvtrace.capture.launch_rows import launch_rows
    from kvtrace.schema.hot_rows import integers

    columns = launch_rows(sample.rows, 0, 0).columns
    return columns | {"seq": integers(sample.seq), "weight": integers(sample.weights)}


def _columns(rows: "pa.Table") -> dict[str, Any]:
    return {name: rows[name].combine_chunks() for name in rows.column_names}
