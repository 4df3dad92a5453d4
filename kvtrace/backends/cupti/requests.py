"""Requests of the host to the driver, with call stacks and durations.

CUPTI calls `_requests.c` when a function of the driver or the runtime is entered. An execution has
the correlation id of the request that caused it, and so gets the request's time and stack.
Ids of functions: cupti_driver_cbid.h and cupti_runtime_cbid.h (CUDA 12 and 13).
"""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.backends.cupti.autograd_nodes import NodesUnknown, find_autograd
from kvtrace.backends.cupti.frames import FramesUnknown, find_frame_offsets
from kvtrace.backends.cupti.node_stacks import NodeStacks
from kvtrace.backends.cupti.read_stacks import ReadStacks
from kvtrace.capture.records import Frame
from kvtrace.figures.causes import NONE, RequestRows

_DRIVER: Final = 1  # CUPTI_CB_DOMAIN_DRIVER_API
_RUNTIME: Final = 2  # CUPTI_CB_DOMAIN_RUNTIME_API
_LAUNCH: Final = 1
#: Kinds of `host_events` by the compiled part's numbers.
KINDS: Final = {2: "synchronize", 3: "allocate", 4: "allocate_host", 5: "free"}

#: (domain, kind) → functions that are followed.
_FUNCTIONS: Final = {
    # cuLaunchKernel, cuLaunchKernelEx, cuLaunchCooperativeKernel, cuGraphLaunch; each for both
    # meanings of the default stream
    (_DRIVER, _LAUNCH): (307, 442, 652, 653, 477, 478, 514, 515),
    # cudaMemcpy, cudaMemcpyAsync, cudaMemsetAsync
    (_RUNTIME, _LAUNCH): (31, 41, 51),
    # cudaStreamSynchronize, cudaEventSynchronize, cudaDeviceSynchronize
    (_RUNTIME, 2): (131, 137, 165),
    (_DRIVER, 3): (243, 549),  # cuMemAlloc_v2, cuMemCreate
    (_DRIVER, 4): (39,),  # cuMemHostAlloc
    (_DRIVER, 5): (245, 550),  # cuMemFree_v2, cuMemRelease
    # cuStreamBeginCapture, _v2, cuStreamBeginCaptureToGraph; cuStreamEndCapture
    (_DRIVER, 6): (495, 496, 539, 540, 720, 721),
    (_DRIVER, 7): (497, 498),
}
#: Pairs (domain, id) of the functions for which CUPTI calls back.
FOLLOWED: Final = tuple((domain, id_) for (domain, _), ids in _FUNCTIONS.items() for id_ in ids)

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
                native.expect(domain, id_, kind)
        self.stackless: str | None = None
        try:
            find_frame_offsets(native)
        except FramesUnknown as error:
            self.stackless = str(error)
        self.nodeless: str | None = None
        self._follows_autograd = self.stackless is not None
        self._stacks = ReadStacks()
        self._nodes = NodeStacks(self._stacks.frames)
        self.lost = 0
        #: by the number of a stack, from 1: its id in the trace, 0 where no frame is the program's
        self._ids: dict[int, int] = {}
        self._launches: list[tuple[RequestRows, NDArray[Any], NDArray[np.int64]]] = []

    def take(self) -> NDArray[Any]:
        """Return the events, other than launches, since the last call; store launches for `of`."""
        self._follow_autograd()
        content, news, lost = self._native.take()
        self.lost += lost
        self._stacks.add(news)
        rows = np.frombuffer(content, _LAYOUT)
        launches = rows["kind"] == _LAUNCH
        self._add(rows[launches])
        events: NDArray[Any] = rows[~launches]
        return events

    @property
    def captures(self) -> int:
        """Number of CUDA graphs that are being captured."""
        number: int = self._native.captures()
        return number

    def _follow_autograd(self) -> None:
        if self._follows_autograd:
            return
        try:
            self._follows_autograd = find_autograd(self._native)
        except NodesUnknown as error:
            self._follows_autograd = True
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
        ids = np.asarray([self._ids[stack] for stack in distinct.tolist()], np.int64)[codes]
        return ids, ids == 0

    def frames(self, number: int) -> tuple[Frame, ...]:
        """Return the program's frames of the stack `number`, innermost first; () if unknown."""
        return self._nodes.frames(number)
