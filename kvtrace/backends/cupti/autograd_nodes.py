"""Autograd's nodes as memory: where torch keeps a node's number, found and checked before use.

Autograd numbers the nodes that a thread makes. A kernel of a backward belongs to the module in
which its node was made, and at a launch the running node is known only to torch's C++, which
`_requests.c` asks without Python's lock. Two of its functions return numbers. The third returns an
owning pointer to the running node: a `std::shared_ptr` in torch 2.11, an intrusive one in torch
2.13. `_requests.c` reads two words of the node and gives the ownership back, so it has to know
where the words and the count of owners lie.

Nodes that this module makes, in threads of its own, have known numbers. Example: if the word at 24
bytes of each node equals its number, that is the number's field. The count of owners is the field
that grows by one when another node begins to refer to the node. If a field is not where torch's
sources have it, nothing is read.

Sources: torch/csrc/autograd/function.h, c10/util/intrusive_ptr.h (tried with torch 2.11 and 2.13).
"""

import ctypes
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any, Final

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

    thread = threading.Thread(target=run, name="kvtrace-autograd", daemon=True)
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
