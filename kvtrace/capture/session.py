"""Session: one recording in one process, called by backends, that never raises into the program.

Nothing is written, and no thread runs, before the first launch or mark. A forked child inherits
the session and begins a separate run at the child's first launch.
"""

import errno
import itertools
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from kvtrace.capture import process_sessions
from kvtrace.capture.arguments import Identities
from kvtrace.capture.collector import Uncounted
from kvtrace.capture.descriptors import Descriptors
from kvtrace.capture.first_write import import_modules
from kvtrace.capture.hot import Recorder
from kvtrace.capture.journal import Journal
from kvtrace.capture.listeners import Listener
from kvtrace.capture.messages import Messages, place_of
from kvtrace.capture.record_rows import call_row, kernel_row, mark_row, spooled_call
from kvtrace.capture.records import NO_FACTS, ArgumentRecord, CallFacts, Frame, KernelSource
from kvtrace.capture.run_limits import RunLimits
from kvtrace.capture.spool import Spool
from kvtrace.capture.stacks import current_stack, forget_code
from kvtrace.capture.windows import Window
from kvtrace.forks import Lock
from kvtrace.schema.errors import KvtraceError, RecordingUnavailable, lacks_descriptor
from kvtrace.schema.layout import new_run_id
from kvtrace.schema.spool import PHASES
from kvtrace.settings import Settings, without_missing_packages
from kvtrace.surroundings import print_error

if TYPE_CHECKING:
    from kvtrace.capture.copied_contents import Contents
    from kvtrace.capture.launch_copies import LaunchCopier

Copier = TypeVar("Copier", bound="LaunchCopier[Any]")


class Session:
    """A recording into `out`. Methods may be called from any thread, and never raise.

    A backend calls `add_kernel` once per compiled variant, `add_call` once per unique call and
    `add_launch` for each launch; or it wraps its launching function by `recorder`, which does all
    three in the fastest way. Ids are valid only in the process that they were returned in.
    """

    def __init__(
        self, out: str, settings: Settings, *, leaves_nothing: bool = False,
        watches_ends: bool = True,
    ) -> None:  # fmt: skip
        """Make a session that is ready to record into the directory `out`.

        One that `leaves_nothing` removes its hooks when it ends, except for those that seal the
        files if the process ends without exit functions; it has none of these unless it
        `watches_ends`.
        """
        self.out = out
        self.settings, package_messages = without_missing_packages(settings)
        #: Called when the recording has ended, before its files are sealed.
        self.at_end: list[Callable[[], None]] = []
        #: Called with a call's id and defects, if calls are judged while the program runs.
        self.on_defects: list[Callable[[int, Sequence[Any]], None]] = []
        self._lock = Lock(renewed=self._begin_in_child)
        self.identities = Identities(lambda text: self.message("info", "argument-identity", text))
        self.leaves_nothing = leaves_nothing
        self._watches_ends = watches_ends
        self._recorder: Recorder | None = None
        self._journal: Journal | None = None
        self._copiers: dict[Any, Any] = {}  # by class
        self._parent: str | None = None
        self._ended = self._closed = self._process_ends = False
        self._failure: str | None = None
        self._process = os.getpid()
        self._descriptors = Descriptors()
        part = self.settings.recorded_part
        #: The part of the program in which launches are recorded; None: all of it.
        self.window: Window | None = None
        if part is not None:
            self.window = Window(self.settings.window, part, self._switch)
        self._clear()
        for text in package_messages:
            self.message("warning", "missing-package", text)
        unwatched = None if self.window is None else self.window.watch_signal()
        if unwatched is not None:
            self.message("warning", "window-empty", unwatched)
        process_sessions.sessions.add(self)
        import_modules(self.settings)

    def __repr__(self) -> str:
        return f"kvtrace: {'recorded' if self._ended else 'records'} launches into {self.out}"

    def _clear(self) -> None:
        self._kernel_ids = itertools.count()
        self._call_ids = itertools.count()
        self._mark_ids = itertools.count()
        #: Numbers of launches' copies; see `Recorder.tag`.
        self.copy_numbers = itertools.count(1)
        self._messages = Messages(self._submit_message)
        self._had_problem = False
        self._began = time.time_ns()
        self._early: list[Callable[[Journal], None]] = []
        self._spent_early = 0
        self._timeline_asked = False
        self._has_calls = False
        self._has_unspooled_kernel = False

    # -- state ------------------------------------------------------------------------------

    @property
    def recording(self) -> bool:
        """The session has not ended."""
        return not self._ended

    @property
    def records_launches(self) -> bool:
        """Launches are recorded now: the session has not ended, and its window is open."""
        return not self._ended and (self.window is None or self.window.is_open)

    @property
    def has_launched_nothing(self) -> bool:
        """True if this process launched no recorded kernel, and no warning gave the reason."""
        is_of_program = self._process == os.getpid()
        return is_of_program and not self._has_calls and not self._messages.explain_no_launch

    @property
    def run_id(self) -> str | None:
        """The run's id; None before the first launch."""
        return None if self._journal is None else self._journal.run_id

    @property
    def recorder(self) -> Recorder:
        """The launch hot path; made at the first access, which may raise RecordingUnavailable."""
        if self._recorder is None:
            with self._lock:
                if self._recorder is None:
                    self._recorder = self._make_recorder()
        return self._recorder

    def _make_recorder(self) -> Recorder:
        from kvtrace.capture.hot_choice import make_recorder

        recorder = make_recorder(self.identities, self.problem, self.settings.max_calls)
        recorder.active = self.records_launches
        if self.window is not None:
            self.window.watch_clock()
        return recorder

    def _switch(self) -> None:
        """Switch the hot path on or off, as the window is; may be called by a signal handler."""
        recorder = self._recorder
        if recorder is not None:
            recorder.active = self.records_launches
            if self._ended:  # in between
                recorder.active = False

    def process_ends(self) -> None:
        """Record no more launches; count those of daemon threads, which go on, as dropped."""
        self._process_ends = True
        if self._recorder is not None:
            self._recorder.end()

    def remove_hooks(self, undo: Callable[[], None]) -> None:
        """Call `undo`, which restores functions; at finalization if the process ends."""
        if self._process_ends:
            from kvtrace.capture.ends import before_finalization

            before_finalization(undo)
        else:
            undo()

    def stop(self, ending: str = "stopped", hurry: bool = False) -> None:
        """End the recording and seal its files, once; with `hurry`, git is not waited for."""
        with self._lock:
            self._descriptors.release()
            journal = self._journal
            closing = self._closed
            self._closed = journal is not None
            if not self._ended:
                self._report_empty_window()
            self._end()
        if journal is None:
            return
        if closing:  # perhaps in the journal's thread, as a limit was reached
            journal.await_close()
            return
        if not journal.broken:
            self._finish_derived(journal)
            if self._recorder is not None and self._recorder.overflows:
                text = (
                    f"more than {self.settings.max_calls} unique calls: the table in memory was "
                    "cleared, so calls that recurred have several ids"
                )
                self._messages.say("info", "calls-forgotten", text, self._recorder.overflows)
            self._messages.end()
        journal.close(self._failure or ending, hurry)

    def _report_empty_window(self) -> None:
        """Add a message if this process launched kernels, but none within the window."""
        window, recorder = self.window, self._recorder
        is_of_program = recorder is not None and self._process == os.getpid()
        if window is not None and is_of_program and not self._has_calls:
            self.message("warning", "window-empty", window.why_empty())

    def _finish_derived(self, journal: Journal) -> None:
        """Call the functions in `at_end`, which write tables that were derived during the run."""
        if self.at_end:
            journal.flush()
        for finish in self.at_end:
            try:
                finish()
            except Exception as error:  # noqa: BLE001 - said; what was captured is sealed anyway
                text = f"{type(error).__name__}: {error}{place_of(error)}"
                self.message("warning", "derived-failed", f"access records were dropped: {text}")

    def _end(self) -> None:
        self._ended = True
        if self.window is not None:
            self.window.end()
        if self._recorder is not None:
            self._recorder.active = False
        forget_code()

    def flush(self) -> None:
        """Write all records to the operating system, so that they outlive the process."""
        journal = self._journal
        if journal is not None and not self._ended:
            journal.flush()

    # -- recording --------------------------------------------------------------------------

    def add_kernel(self, record: KernelSource, early: KernelSource | None = None) -> int:
        """Record a compiled variant; return the kernel's id.

        `record` may be a function that returns the record, called in the background thread; until
        then, the spool has the `early` record, made now, with the IR: a process that is killed at
        the kernel's first launches can be judged.
        """
        kernel_id = next(self._kernel_ids)
        if early is None and not callable(record):
            early = record

        def write(journal: Journal) -> None:
            kernel = record() if callable(record) else record
            journal.add("kernels", kernel_row(journal.add_artifact, kernel_id, kernel))

        def spool(spool: Spool) -> None:
            if early is not None:
                kernel = early() if callable(early) else early
                spool.add("kernels", kernel_row(spool.add_artifact, kernel_id, kernel))

        self._has_unspooled_kernel = True
        self._submit(write, spool)
        return kernel_id

    def add_call(
        self,
        kernel_id: int,
        grid: tuple[int, int, int],
        args: Sequence[ArgumentRecord],
        stack: Sequence[Frame] | None = None,
        facts: CallFacts = NO_FACTS,
    ) -> int:
        """Record a unique call; return the call's id. `stack` is by default the caller's."""
        call_id = next(self._call_ids)
        self._has_calls = True
        frames = current_stack() if stack is None else tuple(stack)
        call, keep = (call_id, kernel_id, grid, tuple(args), frames, facts), self.settings.source

        def write(journal: Journal) -> None:
            journal.add("calls", call_row(journal, *call, keep))

        def spool(spool: Spool) -> None:
            spool.add("calls", spooled_call(*call))
            if self._has_unspooled_kernel:
                self._has_unspooled_kernel = False
                spool.write()

        self._submit(write, spool)
        return call_id

    def add_columns(
        self,
        table: str,
        make: Callable[[Callable[[Sequence[Frame]], int]], Mapping[str, Any]],
    ) -> None:
        """Record rows of a table that a backend fills itself, as `buffers`.

        `make` returns the rows as columns, in the background thread. Its argument is a function
        that records a call stack, innermost frame first, and returns the stack's id.
        """
        self._submit(lambda journal: journal.append(table, make(journal.add_stack)))

    def report_defects(self, call_id: int, defects: Sequence[Any]) -> None:
        """Call each function in `on_defects` with the call id and its defects, if there are any."""
        for tell in self.on_defects if defects else ():
            tell(call_id, defects)

    def follow(self, listener: Listener) -> None:
        """Add a listener to the run's journal, which begins if it has not yet."""
        self._submit(lambda journal: journal.listeners.append(listener))

    def listen(self, listener: Listener) -> None:
        """Add a listener to the run's journal as soon as that begins, if it does."""
        self._submit_message(lambda journal: journal.listeners.append(listener))

    def later(self, work: Callable[[], None]) -> None:
        """Call `work` in the background thread; a failure is counted."""
        self._submit(lambda _journal: work())

    @property
    def contents(self) -> "Contents | None":
        """The copier of tensors' contents; None with the setting `tensors=none`."""
        if self.settings.tensors == "none":
            return None
        from kvtrace.capture.copied_contents import Contents

        return self.copier(Contents)

    def copier(self, kind: "Callable[[Session], Copier]") -> Copier:
        """Return the session's only object of a copier class; a fork calls its `renew`."""
        if kind not in self._copiers:
            self._copiers[kind] = kind(self)
        copier: Copier = self._copiers[kind]
        return copier

    def add_launch(
        self, call_id: int, enter: int, leave: int, device: int | None = None, stream: int = 0
    ) -> None:
        """Record one launch of a known call; times are `time.time_ns`."""
        if self.records_launches:  # once it has ended, no thread drains the rows
            self.recorder.append(call_id, enter, leave, -1 if device is None else device, stream)

    def add_mark(
        self, name: str, begin: int, end: int | None, attributes: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Record a user's range, or an instant if `end` is None; times in ns since 1970.

        Return a list with the row. If the list is cleared before the journal's next round, the mark
        is not written.
        """
        rows = [mark_row(next(self._mark_ids), name, begin, end, attributes)]

        def write(journal: Journal) -> None:
            for mark in rows[:]:
                journal.add("marks", mark)

        self._submit(write)
        return rows

    def begin_timeline(self, start: "Callable[[Session], Listener]") -> None:
        """Start to record executions on the device, with the setting `mode=timeline`.

        Backends call this before the first launch. `start` starts and returns the timeline, or
        raises KvtraceError with the reason why there is none, which becomes a message. Later calls
        do nothing.
        """
        if self._timeline_asked or self._ended or self.settings.mode != "timeline":
            return
        self._timeline_asked = True
        try:
            with Uncounted():
                timeline = start(self)
        except Exception as error:  # noqa: BLE001 - launches are recorded without it
            failure = f"the device timeline fails: {type(error).__name__}: {error}{place_of(error)}"
            known = isinstance(error, KvtraceError)
            self.message("warning", "no-device-timeline", str(error) if known else failure)
        else:
            self.follow(timeline)
            self._submit(lambda journal: journal.add("runs", {"mode": "timeline"}))

    def spent(self, nanoseconds: int) -> None:
        """Add time that kvtrace took in a thread of the program, outside of the hot path."""
        if self._journal is None:
            self._spent_early += nanoseconds
        else:
            self._journal.overhead.spend(nanoseconds)

    @contextmanager
    def in_phase(self, phase: str) -> Iterator[None]:
        """Give the thread's launches within the context the given phase."""
        recorder = self.recorder
        before = recorder.swap_phase(PHASES.index(phase))
        try:
            yield
        finally:
            recorder.swap_phase(before)

    def message(
        self, level: str, code: str, text: str, times: int = 1, *, is_printed: bool = False
    ) -> None:
        """Add a message on the run, as `Messages.say` does."""
        self._messages.say(level, code, text, times, is_printed=is_printed)

    def _submit_message(self, write: Callable[[Journal], None]) -> None:
        if self._journal is None:
            self._early.append(write)  # a message alone makes no files
        else:
            self._journal.submit(write)  # also while the run is being closed

    def problem(self, error: Exception) -> None:
        """Count a failure of kvtrace's own; the program never sees it."""
        if isinstance(error, RecordingUnavailable):
            self.message("warning", "recording-unavailable", str(error))
            return
        what = f"{type(error).__name__}: {error}{place_of(error)}"
        level = "error" if self._had_problem else "warning"  # only the first is printed
        self._had_problem = True
        self.message(level, "capture-failure", f"a launch could not be recorded whole: {what}")

    # -- opening, failing -------------------------------------------------------------------

    def _submit(
        self, write: Callable[[Journal], None], spool: Callable[[Spool], None] | None = None
    ) -> None:
        """Queue `write` for the journal's thread; `spool` adds the rows to the spool now."""
        if self._ended:
            return
        journal = self._journal
        if journal is None:
            journal = self._open()
        if not journal.ended:
            journal.submit(write)  # first: a round empties the spool of what came before it
            if spool is not None and journal.spool.is_written:
                try:
                    spool(journal.spool)
                except Exception as error:  # noqa: BLE001 - the journal still records it
                    self.problem(error)

    def _open(self) -> Journal:
        with self._lock:
            if self._journal is not None:
                return self._journal
            self._descriptors.release()
            facts = {
                "started": self._began,
                # `begin_timeline` sets "timeline" once the timeline has begun.
                "mode": "launch" if self.settings.mode == "timeline" else self.settings.mode,
                "settings": self.settings.as_facts(),
                "parent_run_id": self._parent,
            }
            recorder = self.recorder
            run_id = new_run_id()
            journal = Journal(
                self.out,
                run_id,
                recorder,
                facts,
                self._writing_failed,
                self.problem,
                RunLimits(self.settings, self.out, run_id),
                lambda text: self.message("warning", "limit-reached", text),
                lambda: self.stop("limit"),
                self._descriptors,
            )
            self._descriptors.hold_all()  # for files that the journal's thread opens
            while self._early:
                journal.submit(self._early.pop(0))
            self._journal = journal
            self.spent(self._spent_early)
            if self._watches_ends:
                process_sessions.watch_ends(self)
            journal.start()
        return journal

    def _writing_failed(self, error: Exception) -> None:
        """Print the error after which nothing can be written; called once by the journal."""
        number = getattr(error.__cause__ or error, "errno", None)
        if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            self._failure = "disk-full"
        if lacks_descriptor(error):
            text = "the program uses up all file descriptors; raise their number with ulimit -n"
            error = OSError(text)
        print_error(f"recording has ended: {error}")

    # -- forks ------------------------------------------------------------------------------

    def _begin_in_child(self) -> None:
        if self._journal is not None:
            self._journal.leave()
            _inherited.append(self._journal)  # kept forever: its spool and thread are the parent's
            self._parent = self._journal.run_id
            self._journal = None
        self._clear()
        for copier in self._copiers.values():
            copier.renew()
        if self.window is not None:
            self.window.renew()
        if self._recorder is not None:
            self._recorder.forget()
            if self.window is not None and not self._ended:
                self._switch()
                self.window.watch_clock()


_inherited: list[Journal] = []
