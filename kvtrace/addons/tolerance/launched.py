"""One launch of a kernel, with copies of its arguments before the launch."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.capture import api
from kvtrace.capture.api import capture
from kvtrace.evaluate.arguments import Argument, Storage, TensorArgument
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.backends.triton.evaluating_launcher import ExecutedLaunch
    from kvtrace.ir import Module

#: Compile target of kernels without a GPU.
TARGET: Final = "cuda:90"


class NotDerived(KvtraceError):
    """No tolerance can be derived."""

    slug = "tolerance-not-derived"


@dataclass(frozen=True, slots=True)
class Launched:
    """A finished launch.

    Attributes:
        kernel: the kernel's name.
        module: the kernel's IR.
        grid: the grid.
        before: returns a new copy of the arguments as before the launch.
    """

    kernel: str
    module: Module
    grid: tuple[int, int, int]
    before: Callable[[], tuple[Argument, ...]]


def run(kernel: Any, arguments: Sequence[Any], grid: Any, meta: Mapping[str, Any]) -> Launched:
    """Launch a kernel on its tensors' GPU, or else in the evaluator.

    Args:
        kernel: a function decorated by `@triton.jit` or `@triton.autotune`.
        arguments: the kernel's arguments in order, which the launch may write.
        grid: a tuple of programs, or a function of the constants that returns a tuple.
        meta: constants and options by name.

    Raises:
        NotDerived: nothing was launched, or the kernel has no TTIR.
    """
    if any(getattr(value, "is_cuda", False) for value in arguments) and _has_gpu():
        return _on_gpu(kernel, arguments, grid, meta)
    with recording(), seen() as launches, _where_kernels_run(arguments) as moved:
        kernel[grid](*moved, **meta)
    if not launches:
        raise NotDerived(
            "no launch was executed by kvtrace; pass a function decorated by @triton.jit, and "
            "tensors on the CPU"
        )
    return launches[-1]  # an autotuner's trials come before


@contextmanager
def recording() -> Iterator[None]:
    """Have launches inside the context run in the evaluator, if there is no GPU."""
    if api.current() is not None:
        yield
        return
    with (
        tempfile.TemporaryDirectory(prefix="kvtrace-tolerance-") as folder,
        capture(folder, target=TARGET, compile="ttir", tensors="none", source="off"),
    ):
        yield


@contextmanager
def _where_kernels_run(arguments: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield arguments that Triton accepts, and copy results back to tensors on the CPU.

    If torch reports a GPU that does not exist (KVTRACE_DEVICE=cpu), Triton accepts no CPU tensors.
    """
    from kvtrace.backends.triton.absent_gpu import on_host

    if not on_host():
        yield arguments
        return
    copies: dict[int, tuple[Any, Any]] = {}
    moved = [_on_reported_gpu(value, copies) for value in arguments]
    yield moved
    for ours, copy in copies.values():
        ours.copy_(copy)


def _on_reported_gpu(value: Any, copies: dict[int, tuple[Any, Any]]) -> Any:
    """Return a tensor on a copy of its storage; tensors share copies as they share storages."""
    import torch

    if not isinstance(value, torch.Tensor) or value.is_cuda:
        return value
    storage = value.untyped_storage()
    if storage.data_ptr() not in copies:
        ours = torch.empty(0, dtype=torch.uint8).set_(storage)
        copies[storage.data_ptr()] = (ours, ours.cuda())
    copy = copies[storage.data_ptr()][1].untyped_storage()
    empty = torch.empty(0, dtype=value.dtype, device="cuda")
    return empty.set_(copy, value.storage_offset(), value.shape, value.stride())


@contextmanager
def seen() -> Iterator[list[Launched]]:
    """Collect the launches that the evaluator executes inside the context."""
    from kvtrace.backends.triton.evaluating_launcher import launch_contexts

    launches: list[Launched] = []

    def note(executed: ExecutedLaunch) -> Any:
        launches.append(launched(executed))
        return nullcontext()

    launch_contexts.append(note)
    try:
        yield launches
    finally:
        launch_contexts.remove(note)


def launched(executed: ExecutedLaunch) -> Launched:
    """Return a launch that is about to be executed, with copies of its arguments."""
    from kvtrace.backends.triton.modules import module_from

    copies = copied(executed.arguments)
    return Launched(
        executed.kernel,
        module_from(executed.ttir, executed.file, TARGET),
        executed.grid,
        lambda: copied(copies),
    )


def copied(arguments: Sequence[Argument]) -> tuple[Argument, ...]:
    """Return arguments on copies of their storages, shared as before."""
    storages: dict[int, Storage] = {}
    copies: list[Argument] = []
    for argument in arguments:
        if isinstance(argument, TensorArgument):
            storage = argument.storage
            if id(storage) not in storages:
                data = None if storage.data is None else np.array(storage.data)
                storages[id(storage)] = Storage(storage.nbytes, data, storage.address)
            argument = replace(argument, storage=storages[id(storage)])
        copies.append(argument)
    return tuple(copies)


def _has_gpu() -> bool:
    """Return whether a real GPU exists, not just a reported one."""
    import torch

    from kvtrace.backends.triton.absent_gpu import on_host

    return bool(torch.cuda.is_available()) and not on_host()


def _on_gpu(kernel: Any, arguments: Sequence[Any], grid: Any, meta: Mapping[str, Any]) -> Launched:
    """Launch on a device, and return the launch with copies of its arguments for the evaluator."""
    from kvtrace.backends.compiled_kernels.kernel_records import signature_of
    from kvtrace.backends.triton.modules import module_of
    from kvtrace.backends.triton.runtime_arguments import evaluator_arguments

    host = [value.cpu() if hasattr(value, "cpu") else value for value in arguments]
    compiled = kernel[grid](*arguments, **meta)
    if compiled is None:
        raise NotDerived(
            "the launch returns no compiled kernel; pass a function decorated by @triton.jit"
        )
    signature = tuple(signature_of(compiled.src).items())
    values = dict(zip(parameters(kernel), host, strict=False)) | dict(meta)
    copies = copied(evaluator_arguments(signature, [values.get(name) for name, _ in signature]))
    extents = grid(values) if callable(grid) else grid
    x, y, z = (*map(int, extents), 1, 1)[:3]
    return Launched(name_of(kernel), module_of(compiled), (x, y, z), lambda: copied(copies))


def parameters(kernel: Any) -> Sequence[str]:
    """Return the names of a kernel's parameters."""
    names: Sequence[str] = getattr(kernel, "arg_names", ())
    return names


def name_of(kernel: Any) -> str:
    """Return a kernel's name, whatever wraps its function."""
    while not hasattr(kernel, "__name__") and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return str(getattr(kernel, "__name__", "kernel"))
