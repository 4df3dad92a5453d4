"""A simulated GPU for programs that need one on a machine without a GPU, in torch and libraries.

Libraries query the name or capability of a device by `torch.cuda` when they are imported, and put
tensors on "cuda". Both fail without a GPU, long before a kernel is launched. The setting `device`
selects what a recording does. `none`: nothing. `answers`: once Triton has found no GPU, queries
that would fail return values of the target. `cpu`: torch reports one GPU, and tensors requested on
that GPU are made on the CPU. On a machine with a GPU, nothing here is used.

`facts.py` has the values, `answers.py` puts them into torch, `streams.py` has streams and events
without a device, `tuning.py` replaces the driver's library and the autotuning of Inductor and
Helion. For `cpu`, `device.py` makes torch's C++ count a device, makes storages and pinned memory,
and installs the other modules: `device_memory.py` has tensors on that device, `operators.py` runs
operators on these tensors and `wider_operators.py` the operators that GPUs have for more types,
`generators.py` draws random numbers, `torch_functions.py` has the functions of a build for CUDA.

A tensor on "cuda" is a plain `torch.Tensor` whose C++ says CUDA (device, dispatch key, storage);
its memory is the host's, from a DLPack capsule with another device written into it. Each of the
CPU's operators gets a kernel for the key CUDA that runs the CPU's operator on views. Invariants: a
tensor on the CPU alone never reaches that key; a result aliases a tensor on the device exactly
where the CPU's result aliases its view; code that needs to know where memory is calls
`capture.host_devices.memory_kind`, not `tensor.device`. Torch's C++ wants a device guard and an
answer to "which accelerator is there?", a virtual function whose slot is searched for; if either is
not as expected, nothing is changed. The autograd engine runs in the caller's thread, so that
programs that fork can.

Tried in torch 2.13 and worse: marks on storages (results of operators carry none), a subclass with
`__torch_dispatch__` (`data_ptr()` is 0, autograd ends the process), `PrivateUse1` (cannot be named
`cuda`, `is_cuda` stays false), a dispatch mode (belongs to one thread; C++ still says `cpu`).
"""

import multiprocessing
import sys
from typing import TYPE_CHECKING, Any, Final

from kvtrace.backends.replacements import Replacements
from kvtrace.capture.ends import before_finalization
from kvtrace.capture.host_devices import has_accelerator, lie_in_host_memory
from kvtrace.surroundings import print_error

if TYPE_CHECKING:
    from kvtrace.capture.session import Session

__all__ = [
    "EXTENSIONS",
    "HELION",
    "INDUCTOR",
    "INDUCTOR_CHOICES",
    "INDUCTOR_RUNTIME",
    "NVML",
    "NVML_OF_VLLM",
    "TORCH",
]


class _State:
    """The process's replacements in other libraries."""

    replaced: Replacements | None = None
    on_host: bool = False  # whether torch reports a GPU


_state: Final = _State()


def on_host() -> bool:
    """Return whether torch reports a simulated GPU, whose tensors are made on the CPU."""
    return _state.on_host


def answer(session: "Session", target: str) -> None:
    """Make queries to torch that fail without a GPU return values of `target`.

    Only with the setting `device=answers`, and if torch has no accelerator.
    """
    if session.settings.device == "none" or "torch" not in sys.modules or _state.replaced:
        return
    from kvtrace.backends.triton.absent_gpu.answers import install_answers

    _state.replaced = install_answers(session, target)


def no_longer() -> None:
    """Undo all replacements in torch and in other libraries."""
    _state.on_host = False
    lie_in_host_memory("cuda", so=False)
    for backend in _OF_LIBRARIES:
        backend.uninstall()
    if _state.replaced is not None:
        _state.replaced.undo()
        _state.replaced = None


class HostBackend:
    """The backend that makes torch report a GPU, and create its tensors on the CPU."""

    name: Final = "absent-gpu"
    libraries: Final = ("torch",)
    _session: "Session | None" = None

    def install(self, session: "Session") -> None:
        """Replace parts of torch with the setting `device=cpu`, if there is no GPU."""
        no_longer()  # replacements of an earlier session with other settings
        self._session = session
        if session.settings.device != "cpu":
            return
        torch: Any = sys.modules["torch"]
        if has_accelerator(torch):
            text = "this machine has a GPU, so KVTRACE_DEVICE=cpu has no effect"
            session.message("info", "device-unused", text)
            return
        from kvtrace.backends.triton.absent_gpu.device import UnknownBuild, install_everything

        try:
            _state.replaced = install_everything(session)
        except UnknownBuild as error:
            text = (
                f"KVTRACE_DEVICE=cpu does not know this build of torch, {torch.__version__} "
                f"({error}), and changes nothing"
            )
            session.message("warning", "device-unknown-build", text)
            return
        _state.on_host = True
        lie_in_host_memory("cuda", so=True)
        for backend in _OF_LIBRARIES:  # torch imports pynvml itself
            backend.install(session)

    def uninstall(self) -> None:
        """Undo the replacements after `kvtrace.capture`; otherwise they stay until Python exits."""
        if self._session is not None and on_host():
            _report_requests(self._session)
        if self._session is not None and self._session.leaves_nothing:
            no_longer()
        else:
            before_finalization(no_longer)
        self._session = None


def _report_requests(session: "Session") -> None:
    from kvtrace.backends.triton.absent_gpu.facts import device_requests

    text = device_requests.summary()
    if text is None:
        return
    session.message("info", "device-summary", text)
    if multiprocessing.parent_process() is None:  # once, not again in each process that it starts
        print_error(text)


class LibraryBackend:
    """A backend that replaces parts of a library's module while a GPU is simulated."""

    def __init__(self, name: str, library: str) -> None:
        """`library` is the name of a module in `tuning.PARTS`."""
        self.name: Final = f"absent-gpu-{name}"
        self.libraries: Final = (library,)
        self._replaced: Replacements | None = None

    def install(self, session: "Session") -> None:
        """Replace the module's parts if torch reports a simulated GPU, and only once."""
        (library,) = self.libraries
        module = sys.modules.get(library)
        if not on_host() or module is None or self._replaced is not None:
            return
        from kvtrace.backends.triton.absent_gpu.facts import target_with_facts
        from kvtrace.backends.triton.absent_gpu.tuning import PARTS

        self._replaced = Replacements()
        PARTS[library](module, self._replaced, target_with_facts(session.settings.target))

    def uninstall(self) -> None:
        """Restore the module's own parts."""
        if self._replaced is not None:
            self._replaced.undo()
            self._replaced = None


TORCH: Final = HostBackend()
INDUCTOR: Final = LibraryBackend("inductor", "torch._inductor.config")
INDUCTOR_RUNTIME: Final = LibraryBackend(
    "inductor-runtime", "torch._inductor.runtime.triton_heuristics"
)
INDUCTOR_CHOICES: Final = LibraryBackend("inductor-choices", "torch._inductor.select_algorithm")
HELION: Final = LibraryBackend("helion", "helion.runtime.kernel")
EXTENSIONS: Final = LibraryBackend("extensions", "torch.utils.cpp_extension")
NVML: Final = LibraryBackend("pynvml", "pynvml")
NVML_OF_VLLM: Final = LibraryBackend("vllm.third_party.pynvml", "vllm.third_party.pynvml")
_OF_LIBRARIES: Final = (
    INDUCTOR, INDUCTOR_RUNTIME, INDUCTOR_CHOICES, HELION, EXTENSIONS, NVML, NVML_OF_VLLM,
)  # fmt: skip
