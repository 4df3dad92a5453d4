"""Installation of the absent GPU into torch, part by part.

Torch counts a CUDA device in builds that have none. A tensor can say that it is on "cuda" in every
build of torch; what is missing is a device guard, and an answer to "which accelerator is there?",
which the autograd engine asks. Torch has a guard that does nothing (`ensureCUDADeviceGuardSet`,
which fake tensors use), and installs this guard where the present one counts no device. The answer
is a virtual function of `at::CUDAHooksInterface`. Its index in the virtual table differs between
versions, so it is searched for: in a copy of the table, a function that returns 1 is put at one
index after another until torch answers "cuda". An index that torch does not call for that question
is restored.

Format: virtual tables of the Itanium C++ ABI,
https://itanium-cxx-abi.github.io/cxx-abi/abi.html#vtable
"""

import ctypes
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import autograd
from torch.jit import _builtins

from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton.absent_gpu.answers import install_answers
from kvtrace.backends.triton.absent_gpu.device_memory import HOST, is_on_device, on_device
from kvtrace.backends.triton.absent_gpu.facts import device_requests, target_with_facts
from kvtrace.backends.triton.absent_gpu.generators import install_generators
from kvtrace.backends.triton.absent_gpu.operators import install_operators, run_on_host
from kvtrace.backends.triton.absent_gpu.torch_functions import install_functions

if TYPE_CHECKING:
    from kvtrace.capture.session import Session


Function = Callable[..., Any]

#: Attribute of storages whose memory reports to be pinned.
_PINNED: Final = "_kvtrace_pinned"
#: Tensor factories that are not in torch's own list of functions with a default device.
_MORE_FACTORIES: Final = (
    "empty_like", "full_like", "normal", "ones_like", "rand_like", "randint_like", "randn_like",
    "zeros_like",
)  # fmt: skip
_NEW_METHODS: Final = (
    "new_empty",
    "new_empty_strided",
    "new_full",
    "new_ones",
    "new_tensor",
    "new_zeros",
)


def install_host_tensors(replaced: Replacements) -> None:
    """Replace torch's functions that make storages on the device and pinned memory."""
    from torch.utils import _device

    # listed before they are replaced: a later list would have the replacements
    constructors = _device._device_constructors()
    for owner in (torch, torch.fft):
        for name, original in list(vars(owner).items()):
            if name in _MORE_FACTORIES or _is_among(original, constructors):
                replaced.put(owner, name, _pinning(original))
    for name in _NEW_METHODS:
        replaced.put(torch.Tensor, name, _pinning(getattr(torch.Tensor, name)))
    tensor: Any = torch.Tensor
    replaced.put(tensor, "pin_memory", functools.wraps(tensor.pin_memory)(_pinned))
    replaced.put(tensor, "is_pinned", functools.wraps(tensor.is_pinned)(_is_pinned))
    replaced.put(tensor, "record_stream", functools.wraps(tensor.record_stream)(_nothing))
    storage: Any = torch.UntypedStorage
    replaced.put(storage, "__new__", _storage_constructor(storage.__new__))
    replaced.put(storage, "resize_", _resizing(storage.resize_))


def _is_among(function: object, functions: Any) -> bool:
    try:
        return callable(function) and function in functions
    except TypeError:  # it has no hash
        return False


def _pinning(original: Function) -> Function:
    """Return `original` with an argument `pin_memory`, which marks the new tensor as pinned."""

    @functools.wraps(original)
    def make(*arguments: Any, **named: Any) -> Any:
        if not named.get("pin_memory"):
            return original(*arguments, **named)
        result = original(*arguments, **named | {"pin_memory": False})
        if is_on_device(result):
            raise RuntimeError("Only dense CPU tensors can be pinned")
        return _mark(result)

    in_scripts = _builtins._find_builtin(original)
    if in_scripts is not None:  # torch.jit.script knows functions by their identity
        _builtins._register_builtin(make, in_scripts)
    return make


def _pinned(tensor: Any, _device: Any = None) -> Any:
    if is_on_device(tensor):
        raise RuntimeError(f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned")
    return tensor if _is_pinned(tensor) else _mark(tensor.clone())


def _is_pinned(tensor: Any, _device: Any = None) -> bool:
    return bool(torch._C._has_storage(tensor)) and hasattr(tensor.untyped_storage(), _PINNED)


def _mark(tensor: Any) -> Any:
    if torch._C._has_storage(tensor):
        setattr(tensor.untyped_storage(), _PINNED, True)
    return tensor


def _nothing(*_: Any) -> None:
    """Do nothing."""


def _storage_constructor(original: Function) -> Any:
    """Return a constructor of storages that also makes storages on the device."""

    def new(cls: Any, *arguments: Any, device: Any = None, **named: Any) -> Any:
        if device is None or torch.device(device).type != "cuda":
            device_argument = {} if device is None else {"device": device}
            return original(cls, *arguments, **device_argument, **named)
        host_storage = original(cls, *arguments, **named)
        device_tensor = on_device(torch.empty(0, dtype=torch.uint8, device=HOST).set_(host_storage))
        return device_tensor.untyped_storage()

    return staticmethod(new)


def _resizing(original: Function) -> Function:
    """Return a `resize_` that refuses to change a device storage's size, as views share it."""

    @functools.wraps(original)
    def resize_(storage: Any, size: int) -> Any:
        if storage.device.type != "cuda":
            return original(storage, size)
        if size == storage.nbytes():
            return storage
        device_requests.refused["UntypedStorage.resize_"] = None
        raise NotImplementedError(
            f"a storage of {storage.nbytes()} bytes on the absent GPU cannot be resized "
            f"to {size}: kvtrace cannot move its memory."
        )

    return resize_


#: Names of GPU backends that Gloo replaces.
_GPU_BACKENDS: Final = ("nccl", "cuda:nccl", "cpu:gloo,cuda:nccl")


def install_collectives(replaced: Replacements) -> None:
    """Make process groups for NCCL use Gloo, and give c10d's operators functions for the device."""
    import torch.distributed as distributed

    if not distributed.is_available():
        return
    library = torch._C._dispatch_library("IMPL", "c10d", "", __file__, 0)
    for name in torch._C._dispatch_get_all_op_names():
        if name.startswith("c10d::") and _has(name, "CPU"):
            library.impl(name.removeprefix("c10d::"), "CUDA", _function_of(name), False)
    replaced.undone_by(library.reset)
    module: Any = distributed.distributed_c10d
    for name in ("init_process_group", "new_group"):
        replacement = _with_gloo(getattr(module, name))
        for owner in (distributed, module):
            replaced.put(owner, name, replacement)
    for owner in (distributed, module):
        replaced.put(owner, "is_nccl_available", lambda: True)
    if torch._C._has_cuda:
        from torch.nn.parallel import DistributedDataParallel

        replaced.put(DistributedDataParallel, "__init__", _refuse_timed_reducer)


def _refuse_timed_reducer(*_: Any, **__: Any) -> None:
    device_requests.refused["DistributedDataParallel"] = None
    raise NotImplementedError(
        "DistributedDataParallel of a torch built for CUDA times itself by CUDA events, "
        "which need a GPU; with a torch for the CPU it runs under KVTRACE_DEVICE=cpu."
    )


def _has(name: str, key: str) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, key))


def _function_of(name: str) -> Any:
    base, _, overload = name.removeprefix("c10d::").partition(".")
    operator = getattr(getattr(torch.ops.c10d, base), overload or "default")
    return functools.partial(run_on_host, operator)


def _with_gloo(original: Any) -> Any:
    """Return a function that makes a Gloo group if NCCL, or no backend, is requested."""

    @functools.wraps(original)
    def make_group(*arguments: Any, **named: Any) -> Any:
        if named.get("backend") is None and not arguments and original.__name__[0] == "i":
            named["backend"] = "gloo"  # torch's own choice for tensors on cuda is NCCL
        elif "backend" in named:
            named["backend"] = _host_backend(named["backend"])
        elif arguments and isinstance(arguments[0], str):
            arguments = (_host_backend(arguments[0]), *arguments[1:])
        named.pop("device_id", None)  # would have NCCL connect at once
        named.pop("pg_options", None)
        return original(*arguments, **named)

    return make_group


def _host_backend(backend: Any) -> Any:
    return "gloo" if isinstance(backend, str) and backend.lower() in _GPU_BACKENDS else backend


__all__ = ["UnknownBuild", "install_everything"]


def install_everything(session: "Session") -> Replacements:
    """Make torch report one GPU, with tensors, operators, generators and collectives of kvtrace.

    Raises:
        UnknownBuild: torch's build is unknown; nothing was changed.

    """
    target = target_with_facts(session.settings.target)
    device = Replacements()
    try:
        install_device(device)
    except UnknownBuild:
        device.undo()
        raise
    replaced = install_answers(session, target, reports_gpu=True)
    replaced.undone_by(device.undo)
    install_operators(replaced)
    install_generators(replaced)
    install_functions(replaced, target)
    install_host_tensors(replaced)
    install_collectives(replaced)
    return replaced


# -- a device for torch's C++ ----------------------------------------------------------------------


_WORD: Final = ctypes.sizeof(ctypes.c_void_p)
#: Words before a table's first function: the offset to the object's top, and its type.
_HEADER_WORDS: Final = 2
#: Functions that are tried; the first two are the destructors.
_INDICES: Final = range(2, 96)
#: c10::DeviceType::CUDA
_CUDA: Final = 1

#: Tables that torch's C++ points to; they must outlive every thread of torch.
_live_tables: Final[list[Any]] = []


class UnknownBuild(Exception):
    """Raised when this build of torch cannot be made to report a device."""


def install_device(replaced: Replacements) -> None:
    """Make torch's C++ count one CUDA device.

    Raises:
        UnknownBuild: this build is unknown; nothing was changed.

    """
    try:
        _install_guard(replaced)
        hooks = _Hooks()
    except (AttributeError, ValueError, OSError) as error:
        raise UnknownBuild(f"{type(error).__name__}: {error}") from error
    if not hooks.answer(_accelerator_is_cuda):
        raise UnknownBuild("no place in CUDAHooksInterface answers which accelerator there is")
    replaced.undone_by(hooks.undo)
    _run_backward_in_the_callers_thread(replaced, hooks)


def _run_backward_in_the_callers_thread(replaced: Replacements, hooks: "_Hooks") -> None:
    """Run backward without the engine's device thread, which would forbid forks."""
    run: Any = autograd._engine_run_backward
    prepared: list[bool] = []

    @functools.wraps(run)
    def backward(*arguments: Any, **named: Any) -> Any:
        with autograd.set_multithreading_enabled(False):
            if not prepared:
                with _no_guard():  # the engine counts devices once, at its first backward
                    _run(torch.ones((), requires_grad=True, device="cpu"))
                if not hooks.answer(_runs_on_device):
                    raise RuntimeError(
                        "kvtrace cannot run a backward for the absent GPU: this build "
                        f"of torch ({torch.__version__}) is unknown to kvtrace."
                    )
                prepared.append(True)
            return run(*arguments, **named)

    for module in (autograd, autograd.graph):
        replaced.put(module, "_engine_run_backward", backward)


def _library(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / f"lib{name}.so"))


def _guards() -> Any:
    """Return torch's registry of device guards, up to CUDA's entry."""
    name = "_ZN3c104impl26device_guard_impl_registryE"
    return (ctypes.c_void_p * (_CUDA + 1)).in_dll(_library("c10"), name)


@contextmanager
def _no_guard() -> Iterator[None]:
    guards = _guards()
    guard, guards[_CUDA] = guards[_CUDA], None
    try:
        yield
    finally:
        guards[_CUDA] = guard


def _install_guard(replaced: Replacements) -> None:
    """Put torch's own guard that does nothing into its registry."""
    set_guard = getattr(torch._C, "_ensureCUDADeviceGuardSet", None)
    if set_guard is None:
        raise UnknownBuild("torch 2.10 or newer is needed")
    guards = _guards()
    before = guards[_CUDA]
    if before is None:
        # Torch replaces a guard that counts no device: this one, whose functions all return 0.
        none = ctypes.CFUNCTYPE(ctypes.c_int)(int)
        address = ctypes.cast(none, ctypes.c_void_p).value
        table = (ctypes.c_void_p * len(_INDICES))(*[address] * len(_INDICES))
        guard = (ctypes.c_void_p * 1)(ctypes.addressof(table))
        guards[_CUDA] = ctypes.addressof(guard)
    own_guard = guards[_CUDA]
    set_guard()
    if guards[_CUDA] == own_guard:
        guards[_CUDA] = before
        raise UnknownBuild("torch does not put in a device guard")

    def undo() -> None:
        guards[_CUDA] = before

    replaced.undone_by(undo)


class _Hooks:
    """A copy of the virtual table by which torch queries its CUDA build; some entries return 1."""

    def __init__(self) -> None:
        find = _library("torch_cpu")._ZN2at6detail12getCUDAHooksEv
        find.restype = ctypes.c_void_p
        self._object = ctypes.c_void_p.from_address(find())
        self._before = self._object.value
        words = _HEADER_WORDS + _INDICES.stop
        start = (self._before or 0) - _HEADER_WORDS * _WORD
        self._table = (ctypes.c_void_p * words).from_buffer_copy(
            (ctypes.c_char * (words * _WORD)).from_address(start)
        )
        # Needs no lock of the interpreter's, and returns 1 for as long as there is one.
        self._one = ctypes.cast(ctypes.pythonapi.Py_IsInitialized, ctypes.c_void_p).value
        _live_tables.append(self._table)

    def answer(self, is_answered: Callable[[], bool]) -> bool:
        """Find a table entry that, if it returns 1, makes `is_answered` true, and replace it.

        Return whether there is one.
        """
        self._object.value = ctypes.addressof(self._table) + _HEADER_WORDS * _WORD
        if is_answered():
            return True
        for index in _INDICES:
            word = self._table[_HEADER_WORDS + index]
            self._table[_HEADER_WORDS + index] = self._one
            if is_answered():
                return True
            self._table[_HEADER_WORDS + index] = word
        return False

    def undo(self) -> None:
        """Restore torch's own table."""
        self._object.value = self._before


def _accelerator_is_cuda() -> bool:
    accelerator = torch._C._accelerator_getAccelerator()
    return accelerator is not None and accelerator.type == "cuda"


def _runs_on_device() -> bool:
    try:
        _run(torch.ones((), requires_grad=True, device="cuda"))
    except RuntimeError:
        return False
    return True


def _run(leaf: Any) -> None:
    """Run a backward pass from a leaf to itself, which accumulates nothing."""
    with torch.enable_grad():
        root = leaf.view(())
    autograd.Variable._execution_engine.run_backward(
        (root,), (torch.ones_like(root),), False, False, (leaf,), True, False
    )
