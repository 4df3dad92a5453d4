"""One launch of a kernel, with what it was given and what it left."""

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

#: Without a GPU: what kernels are compiled for.
TARGET: Final = "cuda:90"


class NotDerived(KvtraceError):
    """No tolerance can be derived."""

    slug = "tolerance-not-derived"


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch that has run.

    Attributes:
        kernel: its kernel's name.
        module: the kernel's IR.
        grid: its programs.
        before: makes its arguments as they were before it, each time again.

    """

    kernel: str
    module: Module
    grid: tuple[int, int, int]
    before: Callable[[], tuple[Argument, ...]]


def run(kernel: Any, arguments: Sequence[Any], grid: Any, meta: Mapping[str, Any]) -> Launched:
    """Launch a kernel: on the GPU that its tensors are on, or else in the evaluator.

    Args:
        kernel: what `@triton.jit` or `@triton.autotune` made.
        arguments: its arguments in order; what it writes is in them afterwards.
        grid: a tuple of programs, or a function of the constants that returns one.
        meta: constants and options by name.

    Raises:
        NotDerived: nothing was launched, or the kernel has no TTIR.

    """
    if any(getattr(value, "is_cuda", False) for value in arguments) and _has_gpu():
        return _on_gpu(kernel, arguments, grid, meta)
    with recording(), seen() as found, _where_kernels_run(arguments) as moved:
        kernel[grid](*moved, **meta)
    if not found:
        raise NotDerived(
            "nothing was launched that kvtrace executes; hand over what @triton.jit made, and "
            "tensors on the CPU"
        )
    return found[-1]  # an autotuner's trials come before


@contextmanager
def recording() -> Iterator[None]:
    """Have launches run in the evaluator inside, where there is no GPU."""
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
    """Give arguments that Triton takes, and copy back what a launch writes to those on the CPU.

    Where torch reports a GPU that is not there (KVTRACE_DEVICE=cpu), it takes none on the CPU.
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
    """Return a tensor of a copy of its storage, which tensors share as before."""
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
    """Collect the launches that the evaluator executes inside."""
    from kvtrace.backends.triton.evaluating_launcher import launch_contexts

    found: list[Launched] = []

    def note(executed: ExecutedLaunch) -> Any:
        found.append(launched(executed))
        return nullcontext()

    launch_contexts.append(note)
    try:
        yield found
    finally:
        launch_contexts.remove(note)


def launched(executed: ExecutedLaunch) -> Launched:
    """Keep what a launch that is about to be executed is given."""
    from kvtrace.backends.triton.modules import module_from

    kept = copied(executed.arguments)
    return Launched(
        executed.kernel,
        module_from(executed.ttir, executed.file, TARGET),
        executed.grid,
        lambda: copied(kept),
    )


def copied(arguments: Sequence[Argument]) -> tuple[Argument, ...]:
    """Return arguments on copies of their storages, which are shared as before."""
    made: dict[int, Storage] = {}
    found: list[Argument] = []
    for argument in arguments:
        if isinstance(argument, TensorArgument):
            storage = argument.storage
            if id(storage) not in made:
                data = None if storage.data is None else np.array(storage.data)
                made[id(storage)] = Storage(storage.nbytes, data, storage.address)
            argument = replace(argument, storage=made[id(storage)])
        found.append(argument)
    return tuple(found)


def _has_gpu() -> bool:
    """Whether there is one that runs kernels; not: one that is reported, and is not there."""
    import torch

    from kvtrace.backends.triton.absent_gpu import on_host

    return bool(torch.cuda.is_available()) and not on_host()


def _on_gpu(kernel: Any, arguments: Sequence[Any], grid: Any, meta: Mapping[str, Any]) -> Launched:
    """Launch on a device; the evaluator works on copies of what it was given."""
    from kvtrace.backends.compiled_kernels.kernel_records import signature_of
    from kvtrace.backends.triton.modules import module_of
    from kvtrace.backends.triton.runtime_arguments import evaluator_arguments

    host = [value.cpu() if hasattr(value, "cpu") else value for value in arguments]
    compiled = kernel[grid](*arguments, **meta)
    if compiled is None:
        raise NotDerived("the launch gives no compiled kernel; hand over what @triton.jit made")
    signature = tuple(signature_of(compiled.src).items())
    known = dict(zip(parameters(kernel), host, strict=False)) | dict(meta)
    kept = copied(evaluator_arguments(signature, [known.get(name) for name, _ in signature]))
    given = grid(known) if callable(grid) else grid
    x, y, z = (*map(int, given), 1, 1)[:3]
    return Launched(name_of(kernel), module_of(compiled), (x, y, z), lambda: copied(kept))


def parameters(kernel: Any) -> Sequence[str]:
    """Return the names of a kernel's parameters."""
    names: Sequence[str] = getattr(kernel, "arg_names", ())
    return names


def name_of(kernel: Any) -> str:
    """Return a kernel's name, whatever is wrapped around its function."""
    while not hasattr(kernel, "__name__") and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return str(getattr(kernel, "__name__", "kernel"))
