"""The recording of memory by one session: hooks in torch, and a listener of the run's journal."""

import atexit
import os
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.memory.recording.allocator_hook import AllocatorHook, install_hook
from kvtrace.addons.memory.recording.layouts import Installed, TorchUnknown, install
from kvtrace.addons.memory.recording.operator_rows import OperatorRows
from kvtrace.backends.cupti.frames import FramesUnknown, find_frame_offsets
from kvtrace.backends.replacements import Replacements
from kvtrace.capture import ends
from kvtrace.capture.hot_choice import capture_number

if TYPE_CHECKING:
    from types import ModuleType

    from kvtrace.capture.session import Session

#: Functions by which Inductor's code allocates, past the dispatcher.
_ALLOCATING: Final = ("_empty_strided_cpu", "_empty_strided_cuda")
_NO_GRAPH: Final = -1


class MemoryRecording:
    """What one session records of memory, from `begin` to `end`."""

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
        self._native.uninstall(self._installed.remove, self._installed.handle)
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
