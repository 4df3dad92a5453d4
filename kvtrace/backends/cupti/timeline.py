"""The device timeline of a session: rows of `gpu_kernels`, read from CUPTI in journal rounds."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kvtrace.backends.cupti.host_events import HostEvents
from kvtrace.backends.cupti.joining import JoinedExecutions, Joiner, concatenated
from kvtrace.backends.cupti.library import (
    PATIENCE,
    Cupti,
    CuptiLoan,
    CuptiUnavailable,
    SilenceTimer,
    name_at,
)
from kvtrace.backends.cupti.own_cost import CostUnknown
from kvtrace.backends.cupti.records import (
    Executions,
    Kernels,
    Looks,
    Transfers,
    read_kernels,
    read_transfers,
)
from kvtrace.capture.groups import rank_facts
from kvtrace.capture.messages import message_row
from kvtrace.capture.pacing import rest
from kvtrace.capture.records import GRAPH_CAPTURE
from kvtrace.capture.threads import RecordingThread
from kvtrace.figures.causes import NONE, Launches, device_look, places
from kvtrace.figures.names import readable
from kvtrace.forks import Lock
from kvtrace.schema.arrays import array_of
from kvtrace.schema.collective_names import is_collective
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.features import keeps_collectives_alone
from kvtrace.schema.numpy_arrays import array_of_numpy, numpy_of
from kvtrace.schema.table_types import NAME
from kvtrace.surroundings import pause

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal
    from kvtrace.capture.session import Session

#: Seconds that the end of a recording waits for kernels that still run.
_PATIENCE: Final = 10.0
#: Most kernels without a launch that a message names.
_NAMED: Final = 12


class Timeline:
    """The listener of one session's journal that reads executions from CUPTI and writes them."""

    def __init__(self, session: Session) -> None:
        """Start CUPTI.

        Raises:
            CuptiUnavailable: CUPTI cannot be used here; the message gives the reason.
        """
        import kvtrace.schema.writer  # noqa: F401 - here, not in a round beside the program

        try:
            from kvtrace.backends.cupti import _buffers, _requests  # type: ignore[attr-defined]
        except ImportError as error:
            raise CuptiUnavailable(
                f"the device timeline needs kvtrace's compiled part, which is not built ({error}); "
                "launches are recorded without it"
            ) from error
        self._session = session
        self._buffers = _buffers
        self._cupti = Cupti()
        self._host = HostEvents(_requests, session.problem, session.window)
        self._has_host_message = False
        self._reading = Lock()
        self._sharing = CuptiLoan(self._yield, session.problem, self._cupti.path)
        self._clock_begin: int | None = None
        if not self._sharing.lent:
            self._begin()
        self._looks = Looks()
        self._joiner = Joiner()
        #: Executions read in the last round; all their launches have been reported by now.
        self._unjoined: list[Kernels] = []
        #: Copies and fills, which no launch of a kernel caused.
        self._transfers: list[Transfers] = []
        self._grids: dict[int, tuple[int, tuple[int, int, int]]] = {}
        self._functions: dict[int, tuple[str | None, str | None, int | None]] = {}
        self._names: dict[int, str] = {}
        self._next_record = 0
        #: Of a rank that the setting `ranks` leaves out, only collectives are kept.
        self._collectives_alone = False
        #: executions that no launch of Python's Triton caused, by the kernel's name
        self._foreign: Counter[str] = Counter()
        self._transferred = 0
        self._lost = 0
        self._silence = SilenceTimer()
        self._ended = False
        begun = f"kernels on the device are recorded by CUPTI {self._cupti.version}"
        session.message("info", "device-timeline", f"{begun} ({self._cupti.path})")

    # -- as listener of the journal ---------------------------------------------------------

    def row(self, table: str, row: Mapping[str, Any]) -> None:
        """Store name and grid from a row of `kernels` or `calls`; ignore other rows."""
        if table == "kernels":
            facts = (row.get("function"), row["name"], row.get("num_ctas"))
            self._functions[row["kernel_id"]] = facts
        elif table == "calls":
            grid = (row["grid_x"], row["grid_y"], row["grid_z"])
            self._grids[row["call_id"]] = (row["kernel_id"], grid)

    def launches(self, columns: Mapping[str, Any], _copied: Sequence[tuple[int, int, int]]) -> None:
        """Add launches to the join with executions."""
        if self._collectives_alone:
            return
        device = numpy_of(columns["device"], -1).astype(np.int64)
        call = numpy_of(columns["call_id"])
        phase = numpy_of(columns["phase"].indices)
        graph = numpy_of(columns["graph_id"], 0).astype(np.int64)
        captured = phase == GRAPH_CAPTURE
        look = self._looks_of(call)
        joinable = (look >= 0) & (device >= 0) & (~captured | (graph > 0))
        if not joinable.any():
            return
        at_once = joinable & ~captured
        if at_once.any():
            self._silence.expect()
        streams = numpy_of(columns["stream"], 0).astype(np.int64)
        place = places(device, self._stream_ids(device, streams, at_once))
        rows = np.flatnonzero(joinable)
        self._joiner.add_launches(
            Launches(
                seq=numpy_of(columns["seq"])[rows],
                call=call[rows],
                enter=numpy_of(columns["enter"])[rows],
                leave=numpy_of(columns["exit"])[rows],
                place=place[rows],
                graph=np.where(captured, graph, NONE)[rows],
                look=look[rows],
            )
        )

    def round(self, journal: Journal) -> None:
        """Read the executions that have ended, or join and write those that the last round read.

        Not both in one round, to hold the interpreter's lock for a shorter time.
        """
        if self._ended:
            return
        if self._unjoined or self._transfers:
            self._join_waiting()
            self._write(journal, self._joiner.take())
            return
        try:
            if self._sharing.lent:
                self._take_back()
            else:
                self._cupti.flush()
                self._read()
                self._notice_silence()
        except KvtraceError as error:
            self._give_up(str(error))

    def finish(self, journal: Journal) -> None:
        """Read, join and write the remaining executions, and stop CUPTI."""
        if self._ended:
            return
        self._ended = True
        self._sharing.end()
        waiting_thread = RecordingThread(self._wait)
        try:
            waiting_thread.start()
            waiting_thread.join(_PATIENCE)
        except RuntimeError:
            self._wait()  # the interpreter is ending and starts no threads
        try:
            if not self._sharing.lent:
                self._cupti.flush(forced=True)
                self._read()
                self._end_cupti(journal)
        except KvtraceError as error:
            self._session.message("warning", "device-timeline-ended", str(error))
        lost = self._host.end()
        if lost:
            text = (
                f"{lost} requests of the host or their stacks were lost: they came faster than "
                "they were read, or memory was lacking"
            )
            self._session.message("warning", "host-events-lost", text)
        if self._host.nodeless is not None:
            text = f"modules of what autograd launches are not recorded: {self._host.nodeless}"
            self._session.message("info", "autograd-nodes", text)
        self._join_waiting()
        self._write(journal, self._joiner.take(final=True))
        self._summarize()
        if self._foreign:
            journal.add("messages", foreign_message(self._foreign))

    def _wait(self) -> None:
        """Wait for the devices, once no graph is captured: CUDA would break off the capture."""
        end = time.monotonic() + _PATIENCE
        while self._host.is_capturing:
            if time.monotonic() > end:
                return
            pause(0.001)
        self._cupti.wait()

    def _end_cupti(self, journal: Journal) -> None:
        """Stop CUPTI, and measure its cost for `runs.overhead`; all records have been read."""
        try:
            journal.overhead.profiler_took(self._cupti.end_and_measure())
        except CostUnknown as error:
            text = f"the time that CUPTI itself took in the program is not known: {error}"
            self._session.message("info", "device-timeline-cost", text)
        self._cupti.flush(forced=True)
        self._buffers.take(*self._cupti.record_lengths)  # launches of the measurement

    # -- parts ------------------------------------------------------------------------------

    def _read(self) -> None:
        """Read CUPTI's buffers, of executions and of requests of the host."""
        with self._reading:
            lengths = self._cupti.record_lengths
            contents = self._buffers.take(*lengths)
            for kernels, transfers, unread in contents:
                if kernels:
                    records = read_kernels(kernels, lengths[0], self._name, self._looks)
                    self._unjoined.append(records)
                if transfers:
                    self._transfers.append(read_transfers(transfers))
                if unread:
                    text = f"{unread} bytes in a buffer of CUPTI are records of an unknown kind"
                    self._session.message("info", "device-timeline-buffer", text)
                    self._joiner.lose_order()
            self._host.take()
            dropped = self._cupti.dropped()
            if dropped:
                self._lost += dropped
                self._joiner.lose_order()
            if contents:
                self._silence.end()

    def _join_waiting(self) -> None:
        unjoined, self._unjoined = self._unjoined, []
        if self._session.settings.ranks and not self._collectives_alone:
            settings, rank = self._session.settings.as_facts(), rank_facts(os.environ).get("rank")
            self._collectives_alone = keeps_collectives_alone(settings, rank)
        for kernels in unjoined:
            rest()
            wanted = self._host.in_window(kernels.correlation, kernels.start)
            if self._collectives_alone:
                names = [is_collective(name) for name, _ in self._looks.known]
                wanted &= np.array(names, bool)[kernels.look]
            if wanted.any():
                self._joiner.add_kernels(kernels.chosen(wanted))

    def _name(self, address: int) -> str:
        if address not in self._names:
            self._names[address] = name_at(address)
        return self._names[address]

    def _begin(self) -> None:
        buffers = self._buffers
        self._cupti.begin(buffers.REQUEST, buffers.COMPLETE, buffers.REALTIME)
        missing_events = self._host.begin(self._cupti)
        if missing_events is not None and not self._has_host_message:
            self._has_host_message = True
            self._session.message("info", "host-events", missing_events)
        if self._clock_begin is None:
            self._clock_begin = self._clock_offset()

    def _yield(self) -> None:
        """Stop using CUPTI, since another profiler begins; called in that profiler's thread."""
        if self._ended:
            return
        with self._reading:
            self._cupti.flush(forced=True)
            self._read()
            self._cupti.end()
            self._joiner.lose_order()
        text = (
            "another profiler uses CUPTI for a while; kernels that ran meanwhile are not in "
            "gpu_kernels"
        )
        self._session.message("info", "device-timeline-shared", text)

    def _take_back(self) -> None:
        """Resume recording if the other profiler has ended."""
        if self._sharing.over():
            self._silence.end()
            self._joiner.lose_order()
            self._begin()

    def _notice_silence(self) -> None:
        if self._silence.lasts():
            text = (
                f"CUPTI has reported no kernel for {PATIENCE:g} s after a launch: another profiler "
                "may be using it, or a kernel takes that long"
            )
            self._session.message("warning", "device-timeline-silent", text)

    def _give_up(self, text: str) -> None:
        self._ended = True
        self._session.message("warning", "device-timeline-ended", text)

    def _looks_of(self, calls: NDArray[np.int64]) -> NDArray[np.int64]:
        distinct, codes = np.unique(calls, return_inverse=True)
        looks = np.asarray([self._look(call) for call in distinct.tolist()], np.int64)
        return looks[codes]

    def _look(self, call: int) -> int:
        """Return the code of a call's name and grid; NONE for an unknown or empty grid."""
        kernel, grid = self._grids.get(call, (NONE, None))
        if grid is None or kernel not in self._functions:
            return NONE
        look = device_look(*self._functions[kernel], grid)
        return NONE if look is None else self._looks.number(*look)

    def _stream_ids(
        self, device: NDArray[np.int64], stream: NDArray[np.int64], wanted: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        ids = np.full(len(stream), NONE, np.int64)
        for handle in np.unique(stream[wanted]).tolist():
            on_handle = wanted & (stream == handle)
            for on in np.unique(device[on_handle]).tolist():
                stream_number = self._cupti.stream_id(on, handle)
                ids[on_handle & (device == on)] = NONE if stream_number is None else stream_number
        return ids

    def _write(self, journal: Journal, parts: list[JoinedExecutions]) -> None:
        """Write executions of kernels, then copies and fills, then requests of the host."""
        decided = [part for part in parts if len(part.kernels)]
        if decided:  # one batch a round: a stream that is often idle has many parts
            rest()
            executions = concatenated(decided)
            kernels = executions.kernels
            requests = self._host.asked(kernels.correlation, executions.by_request, journal)
            rest()
            self._append(journal, kernels, self._columns(executions) | requests)
            self._count_foreign(kernels.look[executions.foreign])
        transfers, self._transfers = self._transfers, []
        for recorded in () if self._collectives_alone else transfers:
            batch = recorded.chosen(self._host.in_window(recorded.correlation, recorded.start))
            if len(batch):
                requests = self._host.asked(batch.correlation, np.ones(len(batch), bool), journal)
                self._append(journal, batch, self._transfer_columns(batch) | requests)
        self._host.write(journal)

    def _append(self, journal: Journal, part: Executions, columns: Mapping[str, Any]) -> None:
        journal.append("gpu_kernels", columns)
        # Those of a graph are not launched one by one, and cost nothing in the thread.
        journal.overhead.add_executions(int((part.graph == 0).sum()))
        rest()

    def _count_foreign(self, looks: NDArray[np.int64]) -> None:
        distinct, counts = np.unique(looks, return_counts=True)
        for look, count in zip(distinct.tolist(), counts.tolist(), strict=True):
            self._foreign[self._looks.known[look][0]] += count

    def _columns(self, part: JoinedExecutions) -> dict[str, Any]:
        kernels = part.kernels
        distinct, codes = np.unique(kernels.look, return_inverse=True)
        known = self._looks.known
        names = array_of([known[look][0] for look in distinct.tolist()], pa.string())
        return {
            "record": self._records(len(kernels)),
            "launch_seq": array_of_numpy(part.seq, part.seq == NONE),
            "call_id": array_of_numpy(part.call, part.call == NONE),
            **_placed(kernels),
            "name": pa.DictionaryArray.from_arrays(array_of_numpy(codes.astype(np.int32)), names),
            "grid_x": np.ascontiguousarray(kernels.grid[:, 0]),
            "grid_y": np.ascontiguousarray(kernels.grid[:, 1]),
            "grid_z": np.ascontiguousarray(kernels.grid[:, 2]),
            "registers": kernels.registers.astype(np.int32),
            "shared_bytes": kernels.shared_bytes,
            "kind": pa.nulls(len(kernels), NAME),
            "bytes": pa.nulls(len(kernels), pa.int64()),
        }

    def _transfer_columns(self, part: Transfers) -> dict[str, Any]:
        count = len(part)
        self._transferred += count
        nothing = pa.nulls(count, pa.int64())
        return {
            "record": self._records(count),
            "launch_seq": nothing,
            "call_id": nothing,
            **_placed(part),
            "name": array_of(part.names, NAME),
            **dict.fromkeys(("grid_x", "grid_y", "grid_z", "shared_bytes"), nothing),
            "registers": pa.nulls(count, pa.int32()),
            "kind": array_of(["fill" if fill else "copy" for fill in part.fill.tolist()], NAME),
            "bytes": part.bytes,
        }

    def _records(self, count: int) -> NDArray[np.int64]:
        begin = self._next_record
        self._next_record += count
        return np.arange(begin, begin + count)

    def _clock_offset(self) -> int:
        """Return CUPTI's clock minus the realtime clock, in ns: the fastest of 8 comparisons."""
        comparisons = []
        for _ in range(8):
            before = time.time_ns()
            cupti_time = self._cupti.now()
            after = time.time_ns()
            comparisons.append((after - before, cupti_time - (before + after) // 2))
        _, offset = min(comparisons, key=lambda comparison: comparison[0])
        return offset

    def _summarize(self) -> None:
        counts = self._joiner.counts
        total = counts.joined + counts.foreign + counts.ambiguous
        text = (
            f"{total} kernels ran on the device: {counts.joined} joined to launches, "
            f"{counts.foreign} without a launch by Python's Triton; memory was copied or filled "
            f"{self._transferred} times"
        )
        self._session.message("info", "device-kernels", text)
        if counts.ambiguous:
            text = (
                f"{counts.ambiguous} kernels have the name and grid of launches but their order "
                "does not fit, so they are left without a launch"
            )
            self._session.message("info", "device-join-ambiguous", text)
        if self._lost:
            text = f"CUPTI lost {self._lost} kernel records"
            self._session.message("warning", "device-records-lost", text)
        if self._clock_begin is None or self._sharing.lent:
            return
        text = (
            f"CUPTI's clock was {self._clock_begin} ns off the realtime clock at the start and "
            f"{self._clock_offset()} ns at the end"
        )
        self._session.message("info", "device-clock", text)


def foreign_message(executions: Mapping[str, int]) -> dict[str, Any]:
    """Return a row of `messages` that names kernels without a launch, the most frequent first.

    `executions` has the number of executions by name.
    """
    count_by_title: Counter[str] = Counter()
    for symbol, count in executions.items():
        count_by_title[readable(symbol)] += count
    listed = ", ".join(f"{name} ({count:,})" for name, count in count_by_title.most_common(_NAMED))
    unlisted = f" and {len(count_by_title) - _NAMED} others" if len(count_by_title) > _NAMED else ""
    text = (
        "these kernels ran without a launch by Python's Triton, as those of AOTInductor, C++ "
        f"launchers and libraries do, and are in gpu_kernels without one: {listed}{unlisted}"
    )
    return message_row("info", "kernels-without-launch", text, count_by_title.total())


def _placed(part: Executions) -> dict[str, Any]:
    """Return the columns of `gpu_kernels` for executions' times, devices, streams and graphs."""
    untimed = (part.start == 0) | (part.end == 0)
    return {
        "start": array_of_numpy(part.start, untimed),
        "end": array_of_numpy(part.end, untimed),
        "device": part.device.astype(np.int32),
        "stream": part.stream,
        "correlation_id": part.correlation,
        "graph_id": array_of_numpy(part.graph, part.graph == 0),
        "graph_node_id": array_of_numpy(part.graph_node, part.graph == 0),
    }
