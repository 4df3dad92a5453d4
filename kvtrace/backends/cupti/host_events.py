"""Rows of `host_events`: the host's synchronizations, allocations and garbage collections."""

import gc
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kvtrace.backends.cupti.library import Cupti, CuptiUnavailable
from kvtrace.backends.cupti.requests import FOLLOWED, KINDS, Requests
from kvtrace.capture import threads as recording_threads
from kvtrace.capture.records import Frame
from kvtrace.capture.stacks import current_stack
from kvtrace.schema.arrays import array_of
from kvtrace.schema.numpy_arrays import array_of_numpy
from kvtrace.schema.table_types import NAME

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal
    from kvtrace.capture.windows import Window

#: Shortest garbage collection that is recorded, in nanoseconds: there may be thousands a second.
_SHORTEST: Final = 100_000
#: The kind of a collection in a thread of the program, and in one of kvtrace's.
_COLLECT: Final = "collect"
_COLLECT_RECORDING: Final = "collect_recording"

#: Kind, begin, end, thread and stack of a collection.
_Collection = tuple[str, int, int, int, tuple[Frame, ...]]


class HostEvents:
    """Recorder of the host's requests to the driver, and of Python's garbage collections."""

    def __init__(
        self, native: Any, problem: Callable[[Exception], None], window: "Window | None"
    ) -> None:
        """Begin to record garbage collections; `native` is the C module `_requests`.

        Events that begin outside of the `window` are not recorded.
        """
        self._window = window
        self._requests = Requests(native)
        self._collections = Collections(problem)
        self._next_record = 0
        self._events: list[NDArray[Any]] = []

    def begin(self, cupti: Cupti) -> str | None:
        """Begin to record requests; return a sentence if some cannot be recorded, else None."""
        try:
            cupti.follow(self._requests.callback, FOLLOWED)
        except CuptiUnavailable as error:
            return f"which lines launch the kernels of libraries is not recorded: {error}"
        reason = self._requests.stackless
        if reason is not None:
            return f"stacks of what libraries launch are not recorded with this Python: {reason}"
        return None

    def take(self) -> None:
        """Read the requests since the last call; called after executions were read from CUPTI."""
        events = self._requests.take()
        events = events[within(self._window, events["begin"].astype(np.int64))]
        if len(events):
            self._events.append(events)

    def end(self) -> int:
        """Stop recording garbage collections, and return how many requests were lost."""
        self._collections.end()
        return self._requests.lost

    @property
    def is_capturing(self) -> bool:
        """A thread captures a CUDA graph."""
        return self._requests.captures > 0

    @property
    def nodeless(self) -> str | None:
        """The reason why the running nodes of autograd cannot be read, or None."""
        return self._requests.nodeless

    def write(self, journal: "Journal") -> None:
        """Write the events that were read since the last call to `host_events`."""
        events, self._events = self._events, []
        for batch in events:
            journal.append("host_events", self._columns(batch, journal))
        collected = self._collections.take()
        begins = np.asarray([begin for _, begin, *_ in collected], np.int64)
        collected = [
            event
            for event, is_within in zip(collected, within(self._window, begins), strict=True)
            if is_within
        ]
        if collected:
            journal.append("host_events", self._collected(collected, journal))

    def in_window(
        self, correlation: NDArray[np.int64], start: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return a mask of executions that were requested within the window.

        Where the request is not known, the execution's start counts.
        """
        if self._window is None:
            return np.ones(len(start), bool)
        begin, *_ = self._requests.of(correlation)
        return within(self._window, np.where(begin == 0, start, begin))

    def asked(
        self, correlation: NDArray[np.int64], wanted: NDArray[np.bool_], journal: "Journal"
    ) -> dict[str, Any]:
        """Return columns of executions by correlation id: `requested` and both stacks.

        They are null where the request is not known, the first two also where `wanted` is False.
        """
        begin, stack, node_stack = self._requests.of(correlation)
        stack[~wanted] = 0
        ids, without = self._requests.stack_ids(stack, journal.add_stack)
        node_ids, without_node = self._requests.stack_ids(node_stack, journal.add_stack)
        return {
            "requested": array_of_numpy(begin, (begin == 0) | ~wanted),
            "stack_id": array_of_numpy(ids, without),
            "forward_stack_id": array_of_numpy(node_ids, without_node),
        }

    def _columns(self, events: NDArray[Any], journal: "Journal") -> Mapping[str, Any]:
        ids, without = self._requests.stack_ids(events["stack"], journal.add_stack)
        sizes = events["bytes"].astype(np.int64)
        return {
            "record": self._records(len(events)),
            "kind": array_of([KINDS[kind] for kind in events["kind"].tolist()], NAME),
            "begin": events["begin"].astype(np.int64),
            "end": events["end"].astype(np.int64),
            "thread": events["thread"].astype(np.int64),
            "bytes": array_of_numpy(sizes, sizes == 0),
            "stack_id": array_of_numpy(ids, without),
        }

    def _collected(self, collections: list[_Collection], journal: "Journal") -> Mapping[str, Any]:
        kinds, begin, end, thread, stacks = zip(*collections, strict=True)
        ids = [journal.add_stack(frames) if frames else None for frames in stacks]
        return {
            "record": self._records(len(collections)),
            "kind": array_of(kinds, NAME),
            "begin": np.asarray(begin, np.int64),
            "end": np.asarray(end, np.int64),
            "thread": np.asarray(thread, np.int64),
            "bytes": pa.nulls(len(collections), pa.int64()),
            "stack_id": array_of(ids, pa.int64()),
        }

    def _records(self, count: int) -> NDArray[np.int64]:
        begin = self._next_record
        self._next_record += count
        return np.arange(begin, begin + count)


def within(window: "Window | None", times: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the times, in ns since 1970, at which the window was open."""
    if window is None:
        return np.ones(len(times), bool)
    begins, ends = (np.asarray(moments, np.int64) for moments in window.spans())
    span = np.searchsorted(begins, times, side="right") - 1
    known = span >= 0
    result: NDArray[np.bool_] = known.copy()
    result[known] = times[known] <= ends[span[known]]
    return result


class Collections:
    """Recorder of Python's garbage collections of at least `_SHORTEST` nanoseconds."""

    def __init__(self, problem: Callable[[Exception], None]) -> None:
        """Begin to record; `problem` is called with kvtrace's failures."""
        self._problem = problem
        self._process = os.getpid()
        self._began = threading.local()
        self._collections: list[_Collection] = []
        gc.callbacks.append(self._notice)

    def take(self) -> list[_Collection]:
        """Return the collections since the last call."""
        collections, self._collections = self._collections, []
        return collections

    def end(self) -> None:
        """Stop recording Python's garbage collections."""
        if self._notice in gc.callbacks:
            gc.callbacks.remove(self._notice)

    def _notice(self, phase: str, _info: Mapping[str, int]) -> None:
        try:
            now = time.time_ns()
            if phase == "start":
                self._began.at = now
                return
            begin = getattr(self._began, "at", now)
            if now - begin < _SHORTEST or os.getpid() != self._process:
                return
            is_own = threading.get_ident() in recording_threads.running
            kind = _COLLECT_RECORDING if is_own else _COLLECT
            self._collections.append((kind, begin, now, threading.get_native_id(), current_stack()))
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._problem(error)
