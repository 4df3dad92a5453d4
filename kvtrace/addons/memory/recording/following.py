"""The recording of memory by one session: hooks in torch, and a listener of the run's journal.

Caching allocators of devices call a hook, by which torch's CSAN works. It gives each allocation and
free of `torch.cuda`'s memory, without Python on the way, and may be used if nothing else has it.
Its object is made in C (`_allocator.h`), with the places of its functions counted in torch's
header: if that is not as expected, frees are not recorded.

Sources: c10/core/impl/PyInterpreter.h, c10/core/impl/GPUTrace.h, c10/cuda/CUDACachingAllocator.cpp;
the Itanium C++ ABI for tables of virtual functions.
"""

import atexit
import ctypes
import os
import re
import weakref
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kvtrace.addons.memory.recording.layouts import COMMENT, Installed, TorchUnknown, install
from kvtrace.addons.memory.recording.operator_rows import OperatorRows
from kvtrace.backends.cupti.frames import FramesUnknown, find_frame_offsets
from kvtrace.backends.replacements import Replacements
from kvtrace.capture import ends
from kvtrace.capture.hot_choice import capture_number

if TYPE_CHECKING:
    from kvtrace.capture.session import Session


#: Symbols of libc10 and libc10_cuda.
STATE: Final = "_ZN3c104impl8GPUTrace13gpuTraceStateE"
FLAG: Final = "_ZN3c104impl8GPUTrace9haveStateE"
DEVICE: Final = "_ZN3c104cuda9GetDeviceEPa"

_TABLE: Final = re.compile(r"struct C10_API PyInterpreterVTable \{(.*?)\n\};", re.DOTALL)
_OBJECT: Final = re.compile(
    r"struct C10_API PyInterpreter \{\s*const PyInterpreterVTable\* vtable_;"
)
_FUNCTION: Final = re.compile(r"\bvirtual\b[^;]*;")
_ALLOCATED: Final = "trace_gpu_memory_allocation"
_FREED: Final = "trace_gpu_memory_deallocation"
_PARAMETERS: Final = re.compile(r"\(\s*c10::DeviceType \w+,\s*uintptr_t \w+\)\s*const")


class AllocatorHook(NamedTuple):
    """An installed hook, with the addresses of torch's variables of it."""

    state: int
    flag: int


def install_hook(native: ModuleType, torch: Any) -> AllocatorHook | None:
    """Install the hook of the C module `_operators`; None if this torch has no CUDA.

    Raises:
        TorchUnknown: something is not as expected, or has the hook; nothing is installed.

    """
    libraries = Path(torch.__file__).parent / "lib"
    if not (libraries / "libc10_cuda.so").is_file():
        return None
    try:
        state, flag = (_address(libraries / "libc10.so", name) for name in (STATE, FLAG))
        device = _address(libraries / "libc10_cuda.so", DEVICE)
    except (OSError, ValueError) as error:
        raise TorchUnknown(f"the allocator's hook was not found ({error})") from error
    allocated, freed = function_places(torch)
    if not native.install_hook(state, flag, device, allocated, freed):
        raise TorchUnknown("something else, as torch's CSAN, uses the allocator's hook")
    return AllocatorHook(state, flag)


def _address(library: Path, name: str) -> int:
    return ctypes.addressof(ctypes.c_char.in_dll(ctypes.CDLL(str(library)), name))


def function_places(torch: Any) -> tuple[int, int]:
    """Return the places of the functions for allocations and frees in the table of the hook.

    Raises:
        TorchUnknown: torch's header cannot be read, or is not as expected.

    """
    header = Path(torch.__file__).parent / "include/c10/core/impl/PyInterpreter.h"
    try:
        text = COMMENT.sub("", header.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise TorchUnknown(f"torch's header {header.name} cannot be read ({error})") from error
    table = _TABLE.search(text)
    functions = _FUNCTION.findall(table[1]) if table and _OBJECT.search(text) else []
    places = [
        # A destructor has two places.
        index + 1
        for name in (_ALLOCATED, _FREED)
        for index, function in enumerate(functions)
        if re.search(rf"\bvoid {name}\b", function) and _PARAMETERS.search(function)
    ]
    if len(places) != 2 or "~" not in functions[0]:
        raise TorchUnknown(f"torch {torch.__version__} has another hook of its allocators")
    return places[0], places[1]


#: Functions by which Inductor's code allocates, past the dispatcher.
_ALLOCATING: Final = ("_empty_strided_cpu", "_empty_strided_cuda")
_NO_GRAPH: Final = -1


class MemoryRecording:
    """The recording of memory in one session, from `begin` to `end`."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._native: ModuleType | None = None
        self._installed: Installed | None = None
        self._hook: AllocatorHook | None = None
        self._replaced = Replacements()
        self._has_stacks = False

    def begin(self) -> None:
        """Begin to record; what cannot be recorded here is named in a message of the run."""
        import torch

        self._session.recorder.keeps_addresses = True
        try:
            from kvtrace.addons.memory.recording import _operators  # type: ignore[attr-defined]
        except ImportError as error:
            self._leave_out(f"the extension is not built here ({error})")
            return
        _operators.forget()
        try:
            self._installed = install(_operators, torch)
        except TorchUnknown as error:
            self._leave_out(str(error))
            return
        self._native = _operators
        self._read_stacks()
        self._install_hook(torch)
        self._replace(torch)
        ends.watchers.append(self._follow)
        if self._session.run_id is not None:  # its first rows came before torch
            self._follow(self._session)
        _recordings.add(self)
        _operators.record_calls(True)
        # Schemas are asked for while the program's operators are registered: torch removes those of
        # a `torch.library.Library` in an exit function, which runs after this one.
        atexit.register(self._session.flush)

    def end(self) -> None:
        """Remove the hooks; the session has ended, or ends."""
        self._replaced.undo()
        atexit.unregister(self._session.flush)
        if self._native is None or self._installed is None:
            return
        self._native.record_calls(False)
        self._installed.remove(self._installed.handle)
        if self._hook is not None and not self._native.uninstall_hook(*self._hook):
            text = "frees are not recorded after something else, as torch's CSAN, took the hook"
            self._session.message("warning", "memory-left-out", text)
        self._native = None
        if self._follow in ends.watchers:
            ends.watchers.remove(self._follow)

    def _leave_out(self, reason: str) -> None:
        text = f"operators are not recorded, only addresses of launches' tensors: {reason}"
        self._session.message("warning", "memory-left-out", text)

    def _read_stacks(self) -> None:
        try:
            find_frame_offsets(self._native_module)
        except FramesUnknown as error:
            text = f"operators have no Python stacks: {error}"
            self._session.message("info", "memory-left-out", text)
        else:
            self._has_stacks = True

    def _install_hook(self, torch: Any) -> None:
        try:
            self._hook = install_hook(self._native_module, torch)
        except TorchUnknown as error:
            text = f"frees of memory are not recorded: {error}"
            self._session.message("info", "memory-left-out", text)

    @property
    def _native_module(self) -> "ModuleType":
        assert self._native is not None
        return self._native

    def _replace(self, torch: Any) -> None:
        guards = torch._C._dynamo.guards
        for name in _ALLOCATING:
            original = getattr(guards, name, None)
            if original is not None:
                wrapper = self._native_module.wrap_allocating(original)
                self._replaced.put(guards, name, wrapper)
        graph: Any = getattr(torch.cuda, "CUDAGraph", None)
        if hasattr(graph, "capture_begin"):
            self._replaced.put(graph, "capture_begin", self._beginning(graph.capture_begin, torch))
            self._replaced.put(graph, "capture_end", self._ending(graph.capture_end))

    def _beginning(self, begin: Callable[..., Any], torch: Any) -> Callable[..., Any]:
        """Return `CUDAGraph.capture_begin` that sets the graph of the operations from then on."""
        number_of = capture_number(torch)

        def capture_begin(*args: Any, **kwargs: Any) -> Any:
            result = begin(*args, **kwargs)
            try:
                number = number_of()
                if self._native is not None:
                    self._native.set_graph(_NO_GRAPH if number is None else number)
            except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                self._session.problem(error)
            return result

        return capture_begin

    def _ending(self, end: Callable[..., Any]) -> Callable[..., Any]:
        def capture_end(*args: Any, **kwargs: Any) -> Any:
            if self._native is not None:
                self._native.set_graph(_NO_GRAPH)
            return end(*args, **kwargs)

        return capture_end

    def _follow(self, session: "Session") -> None:
        """Write rows to the journal of the session's run, which has just begun."""
        if session is not self._session or self._native is None or self._installed is None:
            return
        session.follow(OperatorRows(self._native, self._installed.dtypes, session.message))

    def renew(self) -> None:
        """Forget what the parent of this forked process has recorded; it writes that itself."""
        if self._native is not None:
            self._native.forget()
            if self._has_stacks:
                self._native.trust()


_recordings: "weakref.WeakSet[MemoryRecording]" = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for recording in list(_recordings):
        recording.renew()


os.register_at_fork(after_in_child=_after_fork_in_child)
