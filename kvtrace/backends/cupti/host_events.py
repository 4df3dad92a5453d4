"""Requests of the host to the driver; its waits, allocations and collections as `host_events`."""

import gc
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kvtrace.backends.cupti.frames import FramesUnknown, find_frame_offsets
from kvtrace.backends.cupti.library import Cupti, CuptiUnavailable
from kvtrace.backends.cupti.node_stacks import NodeStacks, NodesUnknown, find_autograd
from kvtrace.backends.cupti.read_stacks import ReadStacks
from kvtrace.capture import threads as recording_threads
from kvtrace.capture.pacing import rest
from kvtrace.capture.records import Frame
from kvtrace.capture.stacks import current_stack
from kvtrace.figures.causes import NONE, RequestRows
from kvtrace.schema.arrays import array_of
from kvtrace.schema.numpy_arrays import array_of_numpy
from kvtrace.schema.table_types import NAME
from kvtrace.surroundings import Local, get_ident

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
            "record": _records(journal, len(events)),
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
            "record": _records(journal, len(collections)),
            "kind": array_of(kinds, NAME),
            "begin": np.asarray(begin, np.int64),
            "end": np.asarray(end, np.int64),
            "thread": np.asarray(thread, np.int64),
            "bytes": pa.nulls(len(collections), pa.int64()),
            "stack_id": array_of(ids, pa.int64()),
        }


def _records(journal: "Journal", count: int) -> NDArray[np.int64]:
    return np.asarray(journal.host_events.numbers(count), np.int64)


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
        self._began = Local()
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
            is_own = get_ident() in recording_threads.running
            kind = _COLLECT_RECORDING if is_own else _COLLECT
            self._collections.append((kind, begin, now, threading.get_native_id(), current_stack()))
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._problem(error)


# Requests of the host to the driver, with call stacks and durations.
#
# CUPTI calls `_requests.c` when a function of the driver or the runtime is entered. An execution
# has the correlation id of the request that caused it, and so gets the request's time and stack.
# Ids of functions: cupti_driver_cbid.h and cupti_runtime_cbid.h (CUDA 12 and 13).

_DRIVER: Final = 1  # CUPTI_CB_DOMAIN_DRIVER_API
_RUNTIME: Final = 2  # CUPTI_CB_DOMAIN_RUNTIME_API
#: What requests do, by the numbers of `_requests.c`; for some, the kind of the `host_events`.
KINDS: Final = (
    "nothing", "launch", "synchronize", "allocate", "allocate_host", "free", "begin_capture",
    "end_capture",
)  # fmt: skip
_LAUNCH: Final = KINDS.index("launch")

#: (domain, kind) → functions that are followed.
_FUNCTIONS: Final = {
    # cuLaunchKernel, cuLaunchKernelEx, cuLaunchCooperativeKernel, cuGraphLaunch; each for both
    # meanings of the default stream
    (_DRIVER, "launch"): (307, 442, 652, 653, 477, 478, 514, 515),
    # cudaMemcpy, cudaMemcpyAsync, cudaMemsetAsync
    (_RUNTIME, "launch"): (31, 41, 51),
    # cudaStreamSynchronize, cudaEventSynchronize, cudaDeviceSynchronize
    (_RUNTIME, "synchronize"): (131, 137, 165),
    (_DRIVER, "allocate"): (243, 549),  # cuMemAlloc_v2, cuMemCreate
    (_DRIVER, "allocate_host"): (39,),  # cuMemHostAlloc
    (_DRIVER, "free"): (245, 550),  # cuMemFree_v2, cuMemRelease
    # cuStreamBeginCapture, _v2, cuStreamBeginCaptureToGraph; cuStreamEndCapture
    (_DRIVER, "begin_capture"): (495, 496, 539, 540, 720, 721),
    (_DRIVER, "end_capture"): (497, 498),
}
#: Pairs (domain, id) of the functions for which CUPTI calls back.
FOLLOWED: Final = tuple((domain, id_) for (domain, _), ids in _FUNCTIONS.items() for id_ in ids)

#: `struct request` of `_requests.c`. Of autograd (`node_stacks.py`): the thread's `next` node, the
#: running `node`; torch's numbers of the thread (`here`) and of the running node's `maker`.
_LAYOUT: Final = np.dtype(
    [
        ("begin", "<u8"), ("end", "<u8"), ("bytes", "<u8"), ("thread", "<u8"),
        ("correlation", "<u4"), ("kind", "<u4"), ("stack", "<u8"),
        ("next", "<u8"), ("node", "<u8"), ("here", "<u4"), ("maker", "<u4"),
    ]
)  # fmt: skip
#: Rounds of the journal that a request waits for the execution.
_ROUNDS: Final = 40


class Requests:
    """Requests of the last rounds, and the stacks of all requests.

    `stackless` is the reason why stacks cannot be read, or None; `nodeless` the reason why running
    nodes of autograd cannot; `lost` counts lost requests.
    """

    def __init__(self, native: ModuleType) -> None:
        """Register the CUDA functions in `_FUNCTIONS` with the C module `_requests`."""
        self._native = native
        native.forget()
        self.callback: int = native.CALLBACK
        for (domain, kind), ids in _FUNCTIONS.items():
            for id_ in ids:
                native.expect(domain, id_, KINDS.index(kind))
        self.stackless: str | None = None
        try:
            find_frame_offsets(native)
        except FramesUnknown as error:
            self.stackless = str(error)
        self.nodeless: str | None = None
        self._seeks_autograd = self.stackless is None  # until torch is loaded
        self._stacks = ReadStacks()
        self._nodes = NodeStacks(self._stacks.frames)
        self.lost = 0
        #: by the number of a stack, from 1: its id in the trace, 0 where no frame is the program's
        self._ids: dict[int, int] = {}
        self._launches: list[tuple[RequestRows, NDArray[Any], NDArray[np.int64]]] = []

    def take(self) -> NDArray[Any]:
        """Return the events, other than launches, since the last call; store launches for `of`."""
        self._seek_autograd()
        events, is_left = [], True
        while is_left:
            content, news, lost, is_left = self._native.take()
            self.lost += lost
            self._stacks.add(news)
            rows = np.frombuffer(content, _LAYOUT)
            launches = rows["kind"] == _LAUNCH
            self._add(rows[launches])
            events.append(rows[~launches])
        return np.concatenate(events)

    @property
    def captures(self) -> int:
        """Number of CUDA graphs that are being captured."""
        number: int = self._native.captures()
        return number

    def _seek_autograd(self) -> None:
        if not self._seeks_autograd:
            return
        try:
            self._seeks_autograd = not find_autograd(self._native)
        except NodesUnknown as error:
            self._seeks_autograd = False
            self.nodeless = str(error)

    def _add(self, launches: NDArray[Any]) -> None:
        node_stacks = self._nodes.add(launches)
        self._launches.append((RequestRows(launches["correlation"]), launches, node_stacks))
        del self._launches[:-_ROUNDS]

    def of(self, correlation: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """Return the time, in ns since 1970, and two stacks' numbers, of each execution's request.

        Executions have the request's correlation id. The stacks are that of the request, and that
        at which autograd made the node that ran. All are 0 where they are not known.
        """
        begin, stack, node_stack = (np.zeros(len(correlation), np.int64) for _ in range(3))
        if not len(correlation):
            return begin, stack, node_stack
        first, last = correlation.min(), correlation.max()
        for rows, launches, node_stacks in self._launches:
            if not rows.may_have(first, last):
                continue
            row = rows.of(correlation)
            has_request = row != NONE
            begin[has_request] = launches["begin"][row[has_request]]
            stack[has_request] = launches["stack"][row[has_request]]
            node_stack[has_request] = node_stacks[row[has_request]]
        return begin, stack, node_stack

    def stack_ids(
        self, numbers: NDArray[Any], add: Callable[[Sequence[Frame]], int]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the id in the trace of each stack, given its number, and a mask of missing ids.

        `add` records the frames of a new stack and returns its id.
        """
        distinct, codes = np.unique(np.asarray(numbers, np.int64), return_inverse=True)
        for stack in distinct.tolist():
            if stack not in self._ids:
                frames = self.frames(stack)
                self._ids[stack] = add(frames) if frames else 0
                rest()
        ids = np.asarray([self._ids[stack] for stack in distinct.tolist()], np.int64)[codes]
        return ids, ids == 0

    def frames(self, number: int) -> tuple[Frame, ...]:
        """Return the program's frames of the stack `number`, innermost first; () if unknown."""
        return self._nodes.frames(number)
