"""Limits on the size of a run: the settings `limit` and `sample`, applied by the journal.

If a run keeps only the newest launches, tables that grow with every launch are sealed in parts of
an eighth of the amount, and the oldest part is deleted when a new one is sealed. Example: if the
newest 8,000 launches are kept, a part has 1,000. Kernels, calls, stacks, contents of tensors, marks
and messages are not deleted, since later launches refer to them. After `sums:`, what launches and
executions of a part add up to is written before it is deleted (`schema/older_sums.py`).
"""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kvtrace.amounts import Amounts
from kvtrace.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa

    from kvtrace.schema.older_sums import OlderSums
    from kvtrace.schema.sampled_rows import SampledExecutions, SampledLaunches
    from kvtrace.schema.writer import RunWriter, SealedPart

#: Tables that grow with every launch, whose old parts are deleted.
_DROPPED: Final = (
    "launches", "gpu_kernels", "digests", "non_finite", "operations", "allocations",
)  # fmt: skip
#: Of these, tables whose rows are added up.
_SUMMED: Final = ("launches", "gpu_kernels")
#: Parts, about, that the newest launches are kept in.
_PARTS: Final = 8


class RunLimits:
    """The limits of one run: which launches are written, and which parts are deleted."""

    def __init__(self, settings: Settings, out: str, run_id: str) -> None:
        """Read the settings `limit` and `sample`, and begin to count the run's seconds."""
        self._out, self._run_id = out, run_id
        self._text = settings.limit
        limit = settings.limits
        self._end, self._newest, self._keeps_sums = limit.end, limit.newest, limit.sums
        self._keeps_newest = self._newest != Amounts()
        self._began = time.monotonic()
        #: Sealed parts, each with the number of launches and the time at which it was sealed.
        self._parts: deque[tuple[SealedPart, int, float]] = deque()
        self._rotated = dict.fromkeys(_DROPPED, self._began)
        self._launches: SampledLaunches | None = None
        self._executions: SampledExecutions | None = None
        self._sums: OlderSums | None = None
        self._one_in = settings.one_in
        self.full = False

    # -- launches and executions ------------------------------------------------------------

    def room(self, launches: int) -> int | None:
        """Return how many launches may be recorded beyond `launches`; None without a limit."""
        launch_limit = self._end.launches
        return None if launch_limit is None else max(0, launch_limit - launches)

    def launches(
        self, columns: Mapping[str, Any], copied: Sequence[tuple[int, int, int]]
    ) -> Mapping[str, Any]:
        """Return the launches to write, with weights if they are sampled.

        `copied` is `LaunchRows.copied` of these launches.
        """
        if self._one_in == 1:
            return columns
        from kvtrace.schema.sampled_rows import SampledLaunches

        self._launches = self._launches or SampledLaunches(self._one_in)
        return _columns(self._launches.chosen(columns, copied))

    def executions(self, columns: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the rows of `gpu_kernels` to write, with weights if they are sampled."""
        if self._one_in == 1:
            return columns
        import pyarrow as pa

        from kvtrace.schema.sampled_rows import SampledExecutions

        self._executions = self._executions or SampledExecutions(self._one_in)
        return _columns(self._executions.chosen(pa.table(dict(columns))))

    def refer(self, table: str, row: Mapping[str, Any]) -> None:
        """Note a row of `kernels` or `calls`, to which sums of older launches may refer."""
        if self._keeps_sums and table in ("kernels", "calls"):
            # Before the first launch the sums are imported: imports fail at a program's end.
            self.sums.refer(table, row)

    def rest(self, append: Callable[[str, Mapping[str, Any]], None]) -> None:
        """At the end, append rows for launches and executions since the last sampled rows."""
        for table, sampler in (("launches", self._launches), ("gpu_kernels", self._executions)):
            rows = None if sampler is None else sampler.rest()
            if rows is not None:
                append(table, _columns(rows))

    # -- limits -----------------------------------------------------------------------------

    def after_round(self, writer: "RunWriter", launches: int) -> str | None:
        """Delete parts that are too old; if a limit is reached first now, return a sentence.

        `full` is then True, and the recording has to end.

        Raises:
            TraceWriteError: as `RunWriter.flush`.

        """
        if self._keeps_newest:
            self._rotate_parts(writer, launches)
        if self.full:
            return None
        reason = self._reached_limit(writer, launches)
        if reason is None:
            return None
        self.full = True
        return (
            f"recording has ended: {reason} (KVTRACE_LIMIT={self._text}); the program continues, "
            "and the recorded launches are kept"
        )

    def _reached_limit(self, writer: "RunWriter", launches: int) -> str | None:
        """Return a sentence on the limit that is reached, or None.

        With `ring:`, it is reached if the rows that are never deleted take all of the bytes.
        """
        limits, ring_bytes = self._end, self._newest.bytes
        size = writer.size_bytes + (0 if self._sums is None else self._sums.size_bytes)
        if limits.seconds is not None and time.monotonic() - self._began >= limits.seconds:
            return f"{limits.seconds:,g} seconds have passed"
        if limits.launches is not None and launches >= limits.launches:
            return f"{limits.launches:,} launches were made"
        if limits.bytes is not None and size >= limits.bytes:
            return f"the run takes {size:,} bytes"
        if ring_bytes is None or size <= ring_bytes:
            return None
        parts = sum(part.size_bytes for part, _, _ in self._parts)
        permanent = size - parts - sum(writer.open_segment(table)[1] for table in _DROPPED)
        if permanent < ring_bytes:
            return None
        older = ", sums of older launches" if self._keeps_sums else ""
        return (
            f"kernels, calls{older} and contents of tensors, which are never deleted, take "
            f"{permanent:,} bytes"
        )

    def _rotate_parts(self, writer: "RunWriter", launches: int) -> None:
        """Seal the open parts that are large or old enough, and delete sealed parts too old."""
        now = time.monotonic()
        for table in _DROPPED:
            if self._is_due(table, *writer.open_segment(table), now):
                writer.rotate(table)
                self._rotated[table] = now
        self._take_sealed(writer, launches, now)
        while len(self._parts) > 1 and self._is_too_old(writer, launches, now):
            self._drop_oldest(writer, launches, now)

    def _drop_oldest(self, writer: "RunWriter", launches: int, now: float) -> None:
        """Delete the oldest part, and others that could not be understood without it.

        A kept execution whose launch was a trial would no longer be known for one, so executions of
        trials go before their launches; and so does a launch that holds trials, after these.
        """
        oldest = self._parts[0][0]
        if not self._keeps_sums or oldest.table != "launches":
            self._drop(writer, oldest)
            return
        part: SealedPart | None = oldest
        while part is not None:
            self._drop_executions_of_trials(writer, part, launches, now)
            self._drop(writer, part)
            if not self.sums.ends_in_trials:
                return
            part = next((p for p, _, _ in self._parts if p.table == "launches"), None)

    def _drop_executions_of_trials(
        self, writer: "RunWriter", part: "SealedPart", launches: int, now: float
    ) -> None:
        """Delete the parts that may have executions of a part's trials, and those before them."""
        last_trial = self.sums.last_trial(part.path)
        if last_trial is None:
            return
        if writer.open_segment("gpu_kernels")[0]:
            writer.rotate("gpu_kernels")
            self._take_sealed(writer, launches, now)
        executions = [p for p, _, _ in self._parts if p.table == "gpu_kernels"]
        refer = [self.sums.first_launch(p.path) <= last_trial for p in executions]
        last = max((number for number, does in enumerate(refer) if does), default=-1)
        for executed in executions[: last + 1]:
            self._drop(writer, executed)

    def _drop(self, writer: "RunWriter", part: "SealedPart") -> None:
        """Delete a part, and forget it."""
        self._parts = deque(entry for entry in self._parts if entry[0] is not part)
        writer.drop(part, self._add_up)

    def _add_up(self, part: "SealedPart") -> None:
        """Write what a part adds up to, if that is kept."""
        if self._keeps_sums and part.table in _SUMMED:
            self.sums.add(part.table, part.path)

    @property
    def sums(self) -> "OlderSums":
        """The sums of what is dropped."""
        if self._sums is None:
            from kvtrace.schema.older_sums import OlderSums

            self._sums = OlderSums(Path(self._out), self._run_id)
        return self._sums

    def _take_sealed(self, writer: "RunWriter", launches: int, now: float) -> None:
        """Note the parts that were sealed since the last call."""
        for part in writer.take_sealed():
            if part.table in _DROPPED:
                self._parts.append((part, launches, now))
            if not self._keeps_sums:
                continue
            if part.table == "launches":
                self.sums.note(part.path)
            elif part.table == "gpu_kernels" and writer.open_segment("launches")[0]:
                writer.rotate("launches")  # which of the executions are of trials
                self._take_sealed(writer, launches, now)

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
        """Return whether all rows of the oldest sealed part are beyond the amount to keep."""
        newest, (_, launches_then, sealed_at) = self._newest, self._parts[0]
        return (
            (newest.bytes is not None and writer.size_bytes > newest.bytes)
            or (newest.launches is not None and launches_then <= launches - newest.launches)
            or (newest.seconds is not None and sealed_at < now - newest.seconds)
        )


def _columns(rows: "pa.Table") -> dict[str, Any]:
    return {name: rows[name].combine_chunks() for name in rows.column_names}
