"""The background thread of a recording, which writes waiting rows at least every second.

One lock covers everything that touches the writer. A fork waits for the lock, so that the child
never inherits a half-written batch; the child gets a separate journal.

Order of writing: the row of a call must be written before launches of that call. So each batch of
drained launches has the number of submissions before it, and is written once so many have been
processed. Example: after 5 submissions launches are drained; they are written after submission 5.
"""

import math
import platform
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from kvtrace.capture.collector import Uncounted
from kvtrace.capture.context import RunContext, process_facts
from kvtrace.capture.descriptors import Descriptors
from kvtrace.capture.hot import Recorder
from kvtrace.capture.listeners import Listener
from kvtrace.capture.messages import CLOCK_MESSAGE, GRAPH_MESSAGE, message_row
from kvtrace.capture.overhead import Overhead
from kvtrace.capture.pacing import INTERVAL, Pace
from kvtrace.capture.rounds import HostEventRows
from kvtrace.capture.run_limits import RunLimits
from kvtrace.capture.sealing_time import PATIENCE, SealingTime
from kvtrace.capture.spool import Spool, remove_useless_memories
from kvtrace.capture.stacks import LINE_ORIGINS, generated_from
from kvtrace.capture.threads import RecordingThread, without_size_signal
from kvtrace.forks import Lock
from kvtrace.schema.content import UNKNOWN, Producer, content_hash
from kvtrace.schema.errors import SchemaMismatch, TraceWriteError, lacks_descriptor
from kvtrace.schema.spool import ROW
from kvtrace.surroundings import Event, print_error

if TYPE_CHECKING:
    from kvtrace.schema.writer import RunWriter

#: Rows that are converted at once, some milliseconds of work.
_ROWS: Final = 64

#: Tables that nearly every run has.
_USUAL_TABLES: Final = (
    "artifacts", "stacks", "kernels", "calls", "launches", "messages", "host_events",
)  # fmt: skip

#: A submission: adds rows to the journal when the journal's thread calls it.
Waiting = Callable[["Journal"], None]


class Journal:
    """The writer of one run, and the thread that calls it.

    The thread calls submitted functions with this journal, so that expensive work (compressing
    artifacts, printing IR) does not delay the program. `overhead` sums the cost to the program for
    the column `runs.overhead`.
    """

    def __init__(
        self,
        out: str,
        run_id: str,
        recorder: Recorder,
        facts: Mapping[str, Any],
        failed: Callable[[Exception], None],
        problem: Callable[[Exception], None],
        keeping: RunLimits,
        limited: Callable[[str], None],
        end: Callable[[], None],
        descriptors: Descriptors,
    ) -> None:
        """Make a journal without files and thread.

        `failed` is called with the error after which nothing can be written, `problem` with an
        error that lost a row. At a limit of the setting `limit`, `limited` is called with the
        reason, and then `end` in the journal's thread. `descriptors` are held between rounds.
        """
        self._pace = Pace()
        self._paces_itself = False
        self.lock = Lock(taken=True, wanted=self._pace.hurry)
        self.run_id = run_id
        self._out = out
        self._recorder = recorder
        self._facts = dict(facts)
        self._failed = failed
        self._problem = problem
        self._keeping = keeping
        self._limited = limited
        self._end = end
        self._descriptors = descriptors
        self._waiting: deque[Waiting] = deque()
        self._rows: dict[str, list[dict[str, Any]]] = {}
        #: Artifacts without rows so far: hash, kind and content.
        self._artifacts: list[tuple[str, str, bytes, Producer]] = []
        #: Drained launches that are not written yet: number of submissions before, rows, and
        #: addresses as `Recorder.drain_addresses` returns them, if they are kept.
        self._launches: deque[tuple[int, bytes, tuple[bytes, bytes, bytes] | None]] = deque()
        self._taken = 0
        self._written: set[Any] = set()
        self._writer: RunWriter | None = None
        self._run_context = RunContext()
        self.broken = self._sealed = False
        self._next_seq = 0
        self.host_events = HostEventRows()
        self._saw_graph_capture = self._saw_clock_step = False
        self._last_exit = 0
        self._closing = False
        self.overhead = Overhead(recorder)
        of_host = {"run_id": run_id, "host": platform.node()}
        self.spool = Spool(recorder, out, run_id, of_host | self._facts | process_facts())
        self._uncounted = Uncounted()  # the round in progress
        self._spooled = 0  # number of submissions when the spool was switched
        self._context: dict[str, Any] = {}
        self.listeners: list[Listener] = []
        self._ended, self._closed, self._wake = Event(), Event(), Event()
        self._thread = RecordingThread(self._work)

    # -- from any thread --------------------------------------------------------------------

    @without_size_signal()
    def start(self) -> None:
        """Create the files, while the program has descriptors for them, and start the thread."""
        with self.lock, suppress(Exception):  # the first round tries again, and reports it
            self._open().open_ahead(_USUAL_TABLES)
        try:
            self._thread.start()
        except RuntimeError:
            return  # the interpreter is ending and starts no threads; `close` writes all

    def submit(self, waiting: Waiting) -> None:
        """Queue a function, which the thread calls with this journal."""
        self._waiting.append(waiting)

    @without_size_signal()
    def flush(self) -> None:
        """Write all waiting rows to the operating system, now, in the calling thread."""
        self._pace.hurry()
        if not self.lock.acquire(timeout=PATIENCE):
            return  # a write hangs
        try:
            if not self._sealed:
                self._cycle(whole=True)
        finally:
            self.lock.release()

    @without_size_signal()
    def close(self, ending: str, hurry: bool = False) -> None:
        """Write waiting rows and seal the files, in this thread; `hurry`: do not wait for git."""
        sealing = SealingTime(self._out)
        self._closing = True
        self._ended.set()
        self._wake.set()
        self._pace.hurry()
        if not self.lock.acquire(timeout=PATIENCE):
            self._closed.set()
            return  # a write hangs: what was flushed stays in the journal
        try:
            with Uncounted():
                self._cycle()
                if not self.broken:
                    self._notify(lambda listener: listener.finish(self))
                for _ in range(2):  # the second writes messages of the first
                    sealing.goes_on()
                    self._cycle(whole=True)
                self._seal("limit" if self._keeping.full else ending, hurry, sealing)
        finally:
            self.lock.release()
            self._closed.set()

    def await_close(self) -> None:
        """Wait, for `PATIENCE` seconds at most, until another thread has closed the journal."""
        if not self._thread.is_current():
            self._closed.wait(PATIENCE)

    def leave(self) -> None:
        """Close the files in a forked child, which needs the descriptors for its own."""
        if self._writer is not None:
            self._writer.close()

    @property
    def ended(self) -> bool:
        """The journal is closing or closed, so that submissions are not written."""
        return self._ended.is_set()

    # -- for submissions --------------------------------------------------------------------

    def add(self, table: str, row: Mapping[str, Any]) -> None:
        """Queue a row of a table for the next write, and pass it to the listeners."""
        self._notify(lambda listener: listener.row(table, row))
        self._keeping.refer(table, row)
        if table == "kernels":
            self.overhead.add_kernel()
            self._uncounted.leaves_objects = True  # of the kernel's IR
            if self._writer is None:  # the writer's imports take a while
                self.spool.add(table, row)
        self._rows.setdefault(table, []).append(dict(row))

    def append(self, table: str, columns: Mapping[str, Any]) -> None:
        """Write the added rows, to which `columns` may refer, and then rows given as columns.

        With the setting `sample`, only the sampled rows of `gpu_kernels` are written.
        """
        if table == "gpu_kernels":
            columns = self._keeping.executions(columns)
        writer = self._open()
        self._write_rows()
        writer.append(table, columns)

    def add_artifact(
        self, kind: str, content: bytes, producer: Producer = UNKNOWN, digest: str | None = None
    ) -> str:
        """Queue a row of `artifacts` unless this content has one; return its SHA-256.

        `digest` is the SHA-256 if it is known.
        """
        digest = digest or content_hash(content)
        if digest not in self._written:
            self._written.add(digest)
            self._artifacts.append((digest, kind, content, producer))
            if self._writer is None:
                self.spool.add_artifact(kind, content, producer, digest)
        return digest

    def add_stack(self, frames: Any, files: Callable[[], list[Any]] | None = None) -> int:
        """Queue a row of `stacks` unless this call stack has one; return its id."""
        from kvtrace.schema.content import stack_row

        row = stack_row(frames)
        identity = int(row["stack_id"])
        if identity not in self._written:
            self._written.add(identity)
            origins = generated_from(frames) if LINE_ORIGINS else None
            dicts = None if origins is None else [asdict(origin) for origin in origins]
            self.add("stacks", row | {"origins": dicts, "files": files and files()})
        return identity

    # -- the thread -------------------------------------------------------------------------

    def _work(self) -> None:
        remove_useless_memories()  # here, as a program may watch what its own thread deletes
        while not self._ended.is_set():
            begin = time.monotonic()
            self._pace.calm()
            with self.lock:
                if self._ended.is_set():
                    break
                self._cycle(INTERVAL)
            if self._keeping.full:
                self._end()
                break
            self._thread.show_name()
            if not self._paces_itself:
                self._paces_itself = True  # after the first round, which creates the files at once
                self._pace.begin()
            waiting_bytes = sum(len(launches) for _, launches, _ in self._launches)
            self._pace.set_backlog(len(self._waiting), waiting_bytes)
            self._pace.rest()
            self._wake.wait(self._pace.seconds_to_next(time.monotonic() - begin))
        self._pace.end()

    def _cycle(self, patience: float = math.inf, *, whole: bool = False) -> None:
        """Execute one round: write waiting rows and launches; after an error, only count them.

        Submissions are processed before launches that were drained after them. Submissions
        not processed within `patience` seconds wait for the next round. With `whole`, sampling also
        writes rows that represent the launches since the last recorded launch.
        """
        begin = time.monotonic_ns()
        self.overhead.begin_round()
        deadline = time.monotonic() + patience
        try:
            self._descriptors.release()
            with Uncounted() as self._uncounted:
                self._round(deadline, whole)
        except Exception as error:  # noqa: BLE001 - reported once; the program continues unrecorded
            if self._writer is None and lacks_descriptor(error) and not self._closing:
                return  # nothing was taken yet: the next round tries again
            self.broken = True
            self._failed(error)
            self._lose_waiting()
            self.spool.end()
            self.spool.remove()
        finally:
            if not self._closing:
                self._descriptors.hold()
            self.overhead.end_round(self._program_wait(begin))
            if self._thread.is_current():  # the next round writes it
                row = self.host_events.of_round(time.monotonic_ns() - begin, self.overhead.round_ns)
                self._rows.setdefault("host_events", []).extend(row)

    def _round(self, deadline: float, whole: bool) -> None:
        if self.broken:
            self._take_launches()
            self._lose_waiting()
            return
        if not self.spool.switched:
            self.spool.switch()
            self._spooled = self._taken + len(self._waiting)  # the former file has as many
        self._process_waiting(deadline)
        self._open()
        self._take_launches()
        self._process_waiting(deadline)
        self._write_launches()
        self._pace.rest()
        if not self._launches:  # listeners may rely on having seen all launches
            self._notify(lambda listener: listener.round(self))
            self._pace.rest()
        self._write_rows()
        self._write_context()
        assert self._writer is not None
        if whole:
            self._keeping.rest(self._writer.append)
        is_written = self._writer.flush()
        if is_written and self._taken >= self._spooled and not self._launches:
            self.spool.empty()
        reached = self._keeping.after_round(self._writer, self._next_seq)
        if reached is not None:
            self._limited(reached)

    def _program_wait(self, begin: int) -> int | None:
        """Return the ns that the program waited for a round that began at `begin`.

        All of it in a thread of the program; None, for an estimate, in the journal's thread.
        """
        if self._closing:
            return 0  # the end is counted as a whole
        if self._thread.is_current():
            return None
        return time.monotonic_ns() - begin

    def _lose_waiting(self) -> None:
        """Drop all waiting rows and count them as lost; a submission counts as one row."""
        lost = len(self._waiting) + sum(map(len, self._rows.values()))
        lost += sum(len(launches) // ROW.size for _, launches, _ in self._launches)
        for _ in range(len(self._waiting)):
            self._waiting.popleft()
        self._launches.clear()
        self._rows, self._artifacts = {}, []
        if self._writer is not None:
            self._writer.lose(lost)

    def _open(self) -> "RunWriter":
        """Return the writer; the first call creates the run's files."""
        if self._writer is None:
            from kvtrace.schema.writer import RunWriter

            self._writer = RunWriter(self._out, self.run_id)
            self._run_context.begin_git()
            self._writer.append_rows("runs", [self._facts | process_facts()])
        return self._writer

    def _take_launches(self) -> None:
        drained = self._recorder.drain()
        if drained:
            keeps = self._recorder.keeps_addresses
            count = len(drained) // ROW.size
            addresses = self._recorder.drain_addresses(count) if keeps else None
            self._launches.append((self._taken + len(self._waiting), drained, addresses))

    def _process_waiting(self, deadline: float) -> None:
        for _ in range(len(self._waiting)):  # later submissions are for the next round
            if time.monotonic() > deadline:
                return
            submission = self._waiting.popleft()
            self._taken += 1
            try:
                submission(self)
            except Exception as error:  # noqa: BLE001 - one lost row; the others are kept
                self._problem(error)
            self._pace.rest()

    def _write_launches(self) -> None:
        """Write the launches before which all submissions have been processed."""
        while self._launches and self._launches[0][0] <= self._taken:
            self._write_first_launches()

    def _write_first_launches(self) -> None:
        from kvtrace.capture.hot_choice import launch_rows
        from kvtrace.schema.arrays import memory_of
        from kvtrace.schema.hot_rows import address_lists

        _, content, addresses = self._launches[0]
        room = self._keeping.room(self._next_seq)
        if room is not None:
            content = content[: room * ROW.size]
        if not content:
            self._launches.popleft()
            return
        launches = launch_rows(content, self._next_seq, self._last_exit)
        columns = launches.columns
        if addresses is not None:
            columns["addresses"] = address_lists(*addresses)[: len(columns["seq"])]
        if not self._saw_graph_capture and launches.saw_graph_capture:
            self._saw_graph_capture = True
            self.add("messages", message_row(*GRAPH_MESSAGE))
        if launches.stepped_back and not self._saw_clock_step:
            self._saw_clock_step = True
            self.add("messages", message_row(*CLOCK_MESSAGE))
        self._last_exit = memory_of(columns["exit"])[-1]
        count = len(columns["seq"])
        self._next_seq += count
        self.overhead.add_launches(launches.threads, count)
        self._notify(lambda listener: listener.launches(columns, launches.copied))
        sampled = self._keeping.launches(columns, launches.copied)
        self._write_rows()
        self._launches.popleft()  # the writer counts rows that it cannot write
        assert self._writer is not None
        if len(sampled["seq"]):
            self._writer.append("launches", sampled)

    def _notify(self, notify: Callable[[Listener], None]) -> None:
        """Call `notify` with each listener; a listener that fails is reported and removed."""
        for listener in tuple(self.listeners):
            try:
                notify(listener)
            except TraceWriteError:
                raise  # nothing can be written any more
            except Exception as error:  # noqa: BLE001 - launches are still recorded
                self.listeners.remove(listener)
                self._problem(error)

    def _write_rows(self) -> None:
        """Write the added rows, beginning with tables that other tables refer to."""
        from kvtrace.schema.content import artifact_row
        from kvtrace.schema.writer import REFERRED_TO

        artifacts, self._artifacts = self._artifacts, []
        for digest, kind, content, producer in artifacts:
            self.add("artifacts", artifact_row(kind, content, digest, producer))
        for table in (*REFERRED_TO, *self._rows):
            waiting = self._rows.get(table, [])  # counted as lost if writing ends in between
            waiting.reverse()
            while waiting:
                rows = waiting[: -_ROWS - 1 : -1]
                del waiting[-_ROWS:]
                self._append_rows(table, rows)
                self._pace.rest()
        self._rows = {table: rows for table, rows in self._rows.items() if rows}

    def _append_rows(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Append rows to a table; a row that does not fit the schema is reported as lost."""
        assert self._writer is not None
        try:
            self._writer.append_rows(table, rows)
        except SchemaMismatch as error:
            if len(rows) == 1:
                self._writer.lose(1)
                self._problem(error)
                return
            waiting = self._rows[table]
            waiting += rows[::-1]  # counted as lost if writing ends in between
            for _ in rows:
                self._append_rows(table, [waiting.pop()])

    def _write_context(self) -> None:
        """Write versions, devices, ranks and git's facts to `runs` if they have changed."""
        assert self._writer is not None
        context = self._run_context.facts()
        if context != self._context:
            self._context = context
            self._writer.append_rows("runs", [context])

    def _seal(self, ending: str, hurry: bool, sealing: SealingTime) -> None:
        self.spool.end()
        if self._writer is None:
            return
        row = self._run_context.facts(wait=not hurry) | {"ended": time.time_ns(), "ending": ending}
        in_program = not self._thread.is_current()

        def at_last() -> dict[str, Any]:
            assert self._writer is not None
            in_flight = len(self._recorder.drain()) // ROW.size  # until the recording ended
            self._writer.lose(self._recorder.dropped + in_flight)
            if in_program:
                self.overhead.end(sealing.begin)
            return self.overhead.columns()

        try:
            self._sealed = self._writer.seal(row, at_last, sealing.goes_on)
        except Exception as error:  # noqa: BLE001 - the journal stays, and readers find it
            if self.broken:
                return
            self.broken = True
            if not lacks_descriptor(error):
                self._failed(error)
                return
            text = "its records stay in the journal, which commands read"
            print_error(f"no file descriptor is left to seal the trace in {self._out}: {text}")
