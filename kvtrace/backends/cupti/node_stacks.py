"""Stacks at which autograd's nodes were made, found by the numbers that autograd gives to nodes.

Each thread numbers the nodes that it makes. A differentiable operator makes its node and then
launches its kernels, so a launch comes right after the node whose number is one below the thread's
next number. Example: in one thread

    launch of        next number    stack
    packed           41             Attention.forward, Linear.forward
    rotate           44             Attention.forward, rotate

Node 43 is that of `rotate`, and was made at its stack. Nodes 41 and 42, of a split that launched
nothing, were made somewhere between the two launches: what is certain are the frames that both
stacks have in common, here Attention.forward.
"""

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.capture.records import Frame
from kvtrace.capture.threads import RecordingThread
from kvtrace.figures.modules import engine_row, module_rows, node_row
from kvtrace.schema.errors import KvtraceError

_WORD: Final = ctypes.sizeof(ctypes.c_void_p)
_LIBRARY: Final = "libtorch_cpu.so"
#: Functions: the number of the next node of a thread, the thread's number, the running node.
_NEXT: Final = "_ZN2at15sequence_number4peekEv"
_THREAD: Final = "_ZN2at14RecordFunction15currentThreadIdEv"
_RUNNING: Final = "_ZN5torch8autograd16get_current_nodeEv"
#: Offsets in bytes: of the pointer in a Python object of a node; of the count of owners in the
#: block of a shared pointer, and in a node; of the number in a node; of the thread after it.
_POINTER: Final = 2 * _WORD
_OWNERS: Final = _WORD
_NUMBERS: Final = {True: 3 * _WORD, False: 2 * _WORD}
_MAKER: Final = 3 * _WORD
#: Nodes made before those that are looked at: a number above all that other fields have.
_BEFORE: Final = 1_000
#: The number of the running node where no node runs, or one that accumulates gradients.
NO_NODE: Final = 2**64 - 1
#: Launches of a thread, the newest, whose stacks are kept for nodes to come, at least.
_LIMIT: Final = 1 << 18


class NodeStacks:
    """The launches after which threads made nodes, by the number of the newest node.

    Stacks are numbers. Negative numbers are of stacks that are made of two others.
    """

    def __init__(self, frames: Callable[[int], tuple[Frame, ...]]) -> None:
        """Begin without launches; `frames` returns the frames of a positive number."""
        self._frames = frames
        self._made: dict[int, _MadeNodes] = {}  # by thread
        self._forward: dict[int, bool] = {}  # by stack: a module's forward is in it
        self._numbers: dict[tuple[bool, int, int], int] = {}
        self._made_of: list[tuple[bool, int, int]] = []

    def frames(self, number: int) -> tuple[Frame, ...]:
        """Return the frames of a stack, innermost first; () if unknown."""
        if number >= 0:
            return self._frames(number)
        is_common, first, second = self._made_of[-1 - number]
        frames, others = self.frames(first), self.frames(second)
        if is_common:
            return _common_frames(frames, others)
        return (*frames[: engine_row(_functions(frames))], *others[node_row(_functions(others)) :])

    def add(self, launches: NDArray[Any]) -> NDArray[np.int64]:
        """Add launches in order of time; return the stack at which each one's node was made.

        0: no node ran, or the stack is not known.
        """
        stacks = launches["stack"].astype(np.int64)
        runs_node = launches["node"] != NO_NODE
        self._enter(launches[~runs_node], stacks[~runs_node])
        result = self._stacks(launches, runs_node)
        # A node may make nodes: in a checkpoint's forward, or for derivatives of derivatives.
        makers = np.where(runs_node, result, 0)
        for stack in np.unique(stacks[runs_node]).tolist():
            if self._is_forward(stack):
                rows = runs_node & (stacks == stack)
                makers[rows] = self._combined(stacks[rows], result[rows], is_common=False)
        self._enter(launches, makers)
        missing = runs_node & (result == 0)
        return np.where(missing, self._stacks(launches, missing), result)

    def _is_forward(self, stack: int) -> bool:
        if stack not in self._forward:
            self._forward[stack] = bool(module_rows(_functions(self._frames(stack))))
        return self._forward[stack]

    def _enter(self, launches: NDArray[Any], stacks: NDArray[np.int64]) -> None:
        newest = launches["next"].astype(np.int64) - 1
        for thread in np.unique(launches["here"]).tolist():
            rows = np.flatnonzero((launches["here"] == thread) & (newest >= 0) & (stacks != 0))
            if not len(rows):
                continue
            self._made.setdefault(thread, _MadeNodes()).add(newest[rows], stacks[rows])

    def _stacks(self, launches: NDArray[Any], wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
        result = np.zeros(len(launches), np.int64)
        for thread in np.unique(launches["maker"][wanted]).tolist():
            if thread not in self._made:
                continue
            numbers, stacks = self._made[thread].columns
            rows = np.flatnonzero(wanted & (launches["maker"] == thread))
            nodes = launches["node"][rows].astype(np.int64)
            after = np.searchsorted(numbers, nodes)
            inside = after < len(numbers)
            rows, nodes, after = rows[inside], nodes[inside], after[inside]
            exact = numbers[after] == nodes
            result[rows[exact]] = stacks[after[exact]]
            between = ~exact & (after > 0)
            before, behind = stacks[after[between] - 1], stacks[after[between]]
            result[rows[between]] = self._combined(before, behind, is_common=True)
        return result

    def _combined(
        self, first: NDArray[np.int64], second: NDArray[np.int64], *, is_common: bool
    ) -> NDArray[np.int64]:
        """Return numbers of two stacks' common frames, or of the first's frames in the second."""
        pairs, codes = np.unique(np.stack((first, second), 1), axis=0, return_inverse=True)
        numbers = [self._number(is_common, a, b) for a, b in pairs.tolist()]
        return np.asarray(numbers, np.int64)[codes.reshape(-1)]

    def _number(self, is_common: bool, first: int, second: int) -> int:
        if is_common and first == second:
            return first
        key = (is_common, first, second)
        if key not in self._numbers:
            self._made_of.append(key)
            self._numbers[key] = -len(self._made_of)
        return self._numbers[key]


class _MadeNodes:
    """The newest nodes of a thread, in order, with the stacks at which they were made.

    Threads number nodes upward, so new ones are appended to what is sorted already: a round costs
    as much as its launches, not as all that are kept.
    """

    def __init__(self) -> None:
        self._count = 0
        self._numbers, self._stacks = (np.zeros(1024, np.int64) for _ in range(2))

    @property
    def columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of nodes in ascending order, and their stacks."""
        return self._numbers[: self._count], self._stacks[: self._count]

    def add(self, numbers: NDArray[np.int64], stacks: NDArray[np.int64]) -> None:
        """Add nodes; beyond twice `_LIMIT`, forget all but the newest `_LIMIT`."""
        begin = np.searchsorted(self._numbers[: self._count], numbers.min(), side="right")
        numbers = np.concatenate((self._numbers[begin : self._count], numbers))
        stacks = np.concatenate((self._stacks[begin : self._count], stacks))
        if (np.diff(numbers) < 0).any():
            order = np.argsort(numbers, kind="stable")
            numbers, stacks = numbers[order], stacks[order]
        changed = np.ones(len(numbers), bool)
        changed[1:] = (np.diff(numbers) != 0) | (np.diff(stacks) != 0)
        numbers, stacks = numbers[changed], stacks[changed]
        if begin + len(numbers) > 2 * _LIMIT:
            dropped = max(0, int(begin) - _LIMIT)
            self._numbers, self._stacks = self._numbers[dropped:], self._stacks[dropped:]
            begin -= dropped
        self._count = int(begin) + len(numbers)
        lacking = self._count - len(self._numbers)
        if lacking > 0:
            room = (0, lacking + self._count)
            self._numbers, self._stacks = np.pad(self._numbers, room), np.pad(self._stacks, room)
        self._numbers[begin : self._count] = numbers
        self._stacks[begin : self._count] = stacks


def _functions(frames: tuple[Frame, ...]) -> list[str]:
    return [frame.function for frame in frames]


def _common_frames(first: tuple[Frame, ...], second: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Return the frames that two stacks share; the innermost may be at two lines."""
    common: list[Frame] = []
    for a, b in zip(reversed(first), reversed(second), strict=False):
        if (a.file, a.function) != (b.file, b.function):
            break
        common.append(a)
        if a != b:
            break
    return tuple(reversed(common))


# Autograd's nodes as memory: where torch keeps a node's number, found and checked before use.
#
# Autograd numbers the nodes that a thread makes. A kernel of a backward belongs to the module in
# which its node was made, and at a launch the running node is known only to torch's C++, which
# `_requests.c` asks without Python's lock. Two of its functions return numbers. The third returns
# an owning pointer to the running node: a `std::shared_ptr` in torch 2.11, an intrusive one in
# torch 2.13. `_requests.c` reads two words of the node and gives the ownership back, so it has to
# know where the words and the count of owners lie.
#
# Nodes that this module makes, in threads of its own, have known numbers. Example: if the word at
# 24 bytes of each node equals its number, that is the number's field. The count of owners is the
# field that grows by one when another node begins to refer to the node. If a field is not where
# torch's sources have it, nothing is read.
#
# Sources and versions: `capture/_layouts.h`.


class NodesUnknown(KvtraceError):
    """Raised when this torch's autograd nodes cannot be read."""

    slug = "autograd-nodes-unknown"


def find_autograd(native: ModuleType) -> bool:
    """Pass functions and offsets of autograd to `_requests`; return False if torch is not imported.

    Raises:
        NodesUnknown: this torch has not what is expected.

    """
    torch = sys.modules.get("torch")
    if torch is None or getattr(torch.__spec__, "_initializing", False):
        return False
    try:
        library = ctypes.CDLL(str(Path(str(torch.__file__)).parent / "lib" / _LIBRARY))
        functions = [getattr(library, name) for name in (_NEXT, _THREAD, _RUNNING)]
    except (OSError, AttributeError) as error:
        raise NodesUnknown(f"torch's functions were not found ({error})") from error
    functions[0].restype = functions[1].restype = ctypes.c_uint64
    layouts = [_in_own_thread(torch, functions[1]) for _ in range(2)]
    if layouts[0] is None or layouts[0] != layouts[1]:
        raise NodesUnknown(f"torch {torch.__version__} keeps autograd's nodes in another way")
    is_shared = layouts[0]
    addresses = [ctypes.cast(function, ctypes.c_void_p).value for function in functions]
    number = _NUMBERS[is_shared]
    native.follow_autograd(*addresses, number, number + _MAKER, int(is_shared))
    return True


def _in_own_thread(torch: Any, thread_number: Any) -> bool | None:
    """Return the layout that `_layout` finds in a new thread, which numbers nodes on its own.

    Raises:
        NodesUnknown: the thread could not be started, or failed.

    """
    results: list[bool | Exception | None] = []

    def run() -> None:
        try:
            results.append(_layout(torch, thread_number))
        except Exception as error:  # noqa: BLE001 - raised below, in the calling thread
            results.append(error)

    thread = RecordingThread(run)
    try:
        thread.start()
    except RuntimeError as error:  # the interpreter is ending and starts no threads
        raise NodesUnknown(f"autograd's nodes could not be made ({error})") from error
    thread.join()
    result = results[0]
    if isinstance(result, Exception):
        raise NodesUnknown(f"autograd's nodes could not be made ({result})") from result
    return result


def _layout(torch: Any, thread_number: Any) -> bool | None:
    """Return True if nodes have shared pointers, False if intrusive ones, None if neither fits."""
    leaf = torch.ones(1, device="cpu", requires_grad=True)
    for _ in range(_BEFORE):
        leaf.view(1)
    thread = int(thread_number())
    layouts = {_layout_of_new_node(leaf, thread) for _ in range(3)}
    return layouts.pop() if len(layouts) == 1 else None


def _layout_of_new_node(leaf: Any, thread: int) -> bool | None:
    result = leaf * 2
    node = result.grad_fn
    is_shared = _layout_of(node)
    if is_shared is None or _word(_number(node, is_shared) + _MAKER) != thread:
        return None
    before = _owners(node, is_shared)
    further = result * 2  # refers to the node
    is_counted = _owners(node, is_shared) == before + 1
    del further
    return is_shared if is_counted and before == _owners(node, is_shared) >= 1 else None


def _layout_of(node: Any) -> bool | None:
    """Return as `_layout`, by the place of the node's number."""
    for is_shared in (True, False):
        if _word(_number(node, is_shared)) == node._sequence_nr():
            return is_shared
    return None


def _number(node: Any, is_shared: bool) -> int:
    return _word(id(node) + _POINTER) + _NUMBERS[is_shared]


def _owners(node: Any, is_shared: bool) -> int:
    """Return the count of owners of a node."""
    block = _word(id(node) + _POINTER + (_WORD if is_shared else 0))
    return ctypes.c_int32.from_address(block + _OWNERS).value


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value
