"""What programs ask of a GPU that is not there.

Libraries ask `torch.cuda` for a name or a capability when they are imported, and put tensors on
"cuda". Both fail without a GPU, long before a kernel is launched. The setting `device` says what
is done about it while recording: `none`, nothing; `answers`, questions that would fail are answered
for the target, once Triton has found no GPU; `cpu`, torch reports one GPU, and what is requested on
it is made on the CPU. Where there is a GPU, nothing here is ever used.

`facts.py` has the answers, `answers.py` puts them into torch, `streams.py` has classes without a
device to wait for, `nvml.py` answers for the driver's library, `tuning.py` has Inductor and Helion
measure nothing. `device.py` puts in the rest, for `cpu`: `torch_device.py` tells torch's C++ of a
device, `device_memory.py` has tensors on it, `operators.py` runs operators on them and
`wider_operators.py` those that GPUs have for more types, `generators.py` draws for them,
`host_tensors.py` makes storages and pinned memory, `torch_functions.py` has what a build for CUDA
has.
"""

import multiprocessing
import sys
from typing import TYPE_CHECKING, Any, Final

from kvtrace.backends.replacements import Replacements
from kvtrace.capture.ends import before_finalization
from kvtrace.capture.host_devices import lie_in_host_memory

if TYPE_CHECKING:
    from collections.abc import Callable

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
    """What is replaced in other libraries."""

    replaced: Replacements | None = None
    on_host: bool = False  # whether torch reports a GPU


_state: Final = _State()


def on_host() -> bool:
    """Whether torch says that there is a GPU, and makes on the CPU what is asked for on it."""
    return _state.on_host


def answer(session: "Session", target: str) -> None:
    """Have questions that fail for want of a GPU answered, where the settings allow it."""
    if session.settings.device == "none" or "torch" not in sys.modules or _state.replaced:
        return
    from kvtrace.backends.triton.absent_gpu.answers import install_answers

    _state.replaced = install_answers(session, target)


def no_longer() -> None:
    """Put back what was replaced."""
    _state.on_host = False
    lie_in_host_memory("cuda", so=False)
    for each in _OF_LIBRARIES:
        each.uninstall()
    if _state.replaced is not None:
        _state.replaced.undo()
        _state.replaced = None


class HostBackend:
    """Has torch make on the CPU what is asked for on a GPU that is not there."""

    name: Final = "absent-gpu"
    libraries: Final = ("torch",)
    _session: "Session | None" = None

    def install(self, session: "Session") -> None:
        """Replace what torch does, if the settings ask for it and no GPU is there."""
        no_longer()  # what is left is of another session's settings
        self._session = session
        if session.settings.device != "cpu":
            return
        torch: Any = sys.modules["torch"]
        if _has_accelerator(torch):
            text = "there is a GPU, so KVTRACE_DEVICE=cpu changes nothing"
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
            print(f"kvtrace: {text}", file=sys.stderr, flush=True)
            return
        _state.on_host = True
        lie_in_host_memory("cuda", so=True)
        for each in _OF_LIBRARIES:  # torch imports pynvml itself
            each.install(session)

    def uninstall(self) -> None:
        """Put back what was replaced for a block; else the program keeps its tensors."""
        if self._session is not None and on_host():
            _say_what_was_asked(self._session)
        if self._session is not None and self._session.leaves_nothing:
            no_longer()
        else:
            before_finalization(no_longer)
        self._session = None


class NvmlBackend:
    """Answers for the library of NVIDIA's driver, where torch reports a GPU that is not there."""

    def __init__(self, library: str) -> None:
        """Take the Python module that speaks with the driver's library."""
        self.name: Final = f"absent-gpu-{library}"
        self.libraries: Final = (library,)
        self._replaced: Replacements | None = None

    def install(self, session: "Session") -> None:
        """Replace what the module asks the driver, once torch reports a GPU."""
        module = sys.modules.get(self.libraries[0])
        if not on_host() or module is None or self._replaced is not None:
            return
        from kvtrace.backends.triton.absent_gpu.facts import target_with_facts
        from kvtrace.backends.triton.absent_gpu.nvml import install_nvml

        target = target_with_facts(session.settings.target)
        self._replaced = install_nvml(module, target)

    def uninstall(self) -> None:
        """Put back what was replaced."""
        if self._replaced is not None:
            self._replaced.undo()
            self._replaced = None


def _say_what_was_asked(session: "Session") -> None:
    from kvtrace.backends.triton.absent_gpu.asked import asked

    text = asked.summary()
    if text is None:
        return
    session.message("info", "device-summary", text)
    if multiprocessing.parent_process() is None:  # once, not again in each process that it starts
        print(f"kvtrace: {text}", file=sys.stderr, flush=True)


class PlacedBackend:
    """Replaces parts of a module when it is imported, once torch reports a GPU."""

    def __init__(
        self, name: str, library: str, place: "Callable[[Any, Replacements], None]"
    ) -> None:
        """Take the module's name, and what replaces its parts."""
        self.name: Final = f"absent-gpu-{name}"
        self.libraries: Final = (library,)
        self._place = place
        self._replaced: Replacements | None = None

    def install(self, session: "Session") -> None:
        """Replace them."""
        del session
        module = sys.modules.get(self.libraries[0])
        if not on_host() or module is None or self._replaced is not None:
            return
        self._replaced = Replacements()
        self._place(module, self._replaced)

    def uninstall(self) -> None:
        """Put back what was there."""
        if self._replaced is not None:
            self._replaced.undo()
            self._replaced = None


def _place_plain_launcher(config: Any, replaced: Replacements) -> None:
    """Have Inductor launch through Triton; its own launcher loads kernels into CUDA's driver."""
    replaced.put(config, "use_static_cuda_launcher", False)


def _place_refusal(extensions: Any, replaced: Replacements) -> None:
    """Refuse CUDA C++: where CUDA lies is what torch asks before it compiles or links with it."""
    replaced.put(extensions, "_join_cuda_home", _refuse_cuda_sources)


def _place_inductor_runtime(module: Any, replaced: Replacements) -> None:
    from kvtrace.backends.triton.absent_gpu.tuning import place_inductor_runtime

    place_inductor_runtime(module, replaced)


def _place_inductor_choices(module: Any, replaced: Replacements) -> None:
    from kvtrace.backends.triton.absent_gpu.tuning import place_inductor_choices

    place_inductor_choices(module, replaced)


def _place_helion(module: Any, replaced: Replacements) -> None:
    from kvtrace.backends.triton.absent_gpu.tuning import place_helion

    place_helion(module, replaced)


def _refuse_cuda_sources(*_: Any, **__: Any) -> Any:
    from kvtrace.backends.triton.absent_gpu.asked import asked

    asked.refused["extensions in CUDA C++"] = None
    raise NotImplementedError(
        "an extension of torch in CUDA C++ is not compiled with KVTRACE_DEVICE=cpu: its kernels "
        "are machine code for a GPU, and none is there."
    )


def _has_accelerator(torch: Any) -> bool:
    """Whether torch sees a device; asked as torch asks NVML first, which leaves CUDA untouched."""
    xpu, mps = getattr(torch, "xpu", None), getattr(torch.backends, "mps", None)
    return bool(
        torch.cuda.device_count() > 0
        or (xpu is not None and xpu.device_count() > 0)
        or (mps is not None and mps.is_available())
    )


TORCH: Final = HostBackend()
INDUCTOR: Final = PlacedBackend("inductor", "torch._inductor.config", _place_plain_launcher)
INDUCTOR_RUNTIME: Final = PlacedBackend(
    "inductor-runtime", "torch._inductor.runtime.triton_heuristics", _place_inductor_runtime
)
INDUCTOR_CHOICES: Final = PlacedBackend(
    "inductor-choices", "torch._inductor.select_algorithm", _place_inductor_choices
)
HELION: Final = PlacedBackend("helion", "helion.runtime.kernel", _place_helion)
EXTENSIONS: Final = PlacedBackend("extensions", "torch.utils.cpp_extension", _place_refusal)
NVML: Final = NvmlBackend("pynvml")
NVML_OF_VLLM: Final = NvmlBackend("vllm.third_party.pynvml")
_OF_LIBRARIES: Final = (
    INDUCTOR, INDUCTOR_RUNTIME, INDUCTOR_CHOICES, HELION, EXTENSIONS, NVML, NVML_OF_VLLM,
)  # fmt: skip
