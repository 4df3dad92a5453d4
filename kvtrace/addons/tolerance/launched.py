"""Launches of a kernel, with copies of its arguments from before the launch."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.capture import api
from kvtrace.capture.api import capture
from kvtrace.evaluate.arguments import Argument, Storage, with_storages
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.backends.triton.evaluating_launcher import ExecutedLaunch

#: Compile target of kernels without a GPU.
TARGET: Final = "cuda:90"


class NotDerived(KvtraceError):
    """No tolerance can be derived; the message says why."""

    slug = "tolerance-not-derived"


def run(kernel: Any, arguments: Sequence[Any], grid: Any, meta: Mapping[str, Any]) -> Call:
    """Launch a kernel on its tensors' GPU, or else in the evaluator; return the launch.

    Its arguments are copies from before the launch.

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
    with recording(), recorded_launches() as launches, _arguments_for_triton(arguments) as moved:
        kernel[grid](*moved, **meta)
    if not launches:
        raise NotDerived(
            "no launch was executed by kvtrace; pass a function decorated by @triton.jit, and "
            "tensors on the CPU"
        )
    return launches[-1]  # the launches before are an autotuner's trials


@contextmanager
def recording() -> Iterator[None]:
    """Run launches inside the context in the evaluator, unless something is being recorded."""
    if api.current() is not None:
        yield
        return
    with (
        tempfile.TemporaryDirectory(prefix="kvtrace-tolerance-") as folder,
        capture(folder, target=TARGET, compile="ttir", tensors="none", source="off"),
    ):
        yield


@contextmanager
def _arguments_for_triton(arguments: Sequence[Any]) -> Iterator[Sequence[Any]]:
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
    for host_storage, copy in copies.values():
        host_storage.copy_(copy)


def _on_reported_gpu(value: Any, copies: dict[int, tuple[Any, Any]]) -> Any:
    """Return a tensor on a GPU copy of its storage; other values unchanged.

    Tensors that share a storage share its copy. `copies` has the storages by address.
    """
    import torch

    if not isinstance(value, torch.Tensor) or value.is_cuda:
        return value
    storage = value.untyped_storage()
    if storage.data_ptr() not in copies:
        host_storage = torch.empty(0, dtype=torch.uint8).set_(storage)
        copies[storage.data_ptr()] = (host_storage, host_storage.cuda())
    copy = copies[storage.data_ptr()][1].untyped_storage()
    empty = torch.empty(0, dtype=value.dtype, device="cuda")
    return empty.set_(copy, value.storage_offset(), value.shape, value.stride())


@contextmanager
def recorded_launches() -> Iterator[list[Call]]:
    """Yield a list to which launches that the evaluator executes in the context are appended."""
    from kvtrace.backends.triton.evaluating_launcher import launch_contexts

    launches: list[Call] = []

    def note(executed: ExecutedLaunch) -> Any:
        launches.append(replayable_launch(executed))
        return nullcontext()

    launch_contexts.append(note)
    try:
        yield launches
    finally:
        launch_contexts.remove(note)


def replayable_launch(executed: ExecutedLaunch) -> Call:
    """Return a launch that is about to be executed, with copies of its arguments."""
    from kvtrace.backends.triton.modules import module_from

    module = module_from(executed.text, executed.file, TARGET, executed.options)
    arguments = copied_arguments(executed.arguments)
    return Call(0, executed.kernel, executed.grid, module, arguments, ())


def copied_arguments(arguments: Sequence[Argument]) -> tuple[Argument, ...]:
    """Return arguments on copies of their storages; tensors that shared a storage still share."""

    def copied(storage: Storage) -> Storage:
        data = None if storage.data is None else np.array(storage.data)
        return Storage(storage.nbytes, data, storage.address, is_live=storage.is_live)

    return with_storages(arguments, copied)


def _has_gpu() -> bool:
    """Return whether a real GPU exists, not just a reported one."""
    import torch

    from kvtrace.backends.triton.absent_gpu import on_host

    return bool(torch.cuda.is_available()) and not on_host()


def _on_gpu(kernel: Any, arguments: Sequence[Any], grid: Any, meta: Mapping[str, Any]) -> Call:
    """Launch on a device, and return the launch with copies of its arguments for the evaluator."""
    from kvtrace.backends.compiled_kernels.kernel_records import signature_of
    from kvtrace.backends.triton.modules import module_of
    from kvtrace.backends.triton.runtime_arguments import evaluator_arguments

    host_arguments = [value.cpu() if hasattr(value, "cpu") else value for value in arguments]
    compiled = kernel[grid](*arguments, **meta)
    if compiled is None:
        raise NotDerived(
            "the launch returns no compiled kernel; pass a function decorated by @triton.jit"
        )
    signature = tuple(signature_of(compiled.src).items())
    values = dict(zip(parameters(kernel), host_arguments, strict=False)) | dict(meta)
    copies = copied_arguments(
        evaluator_arguments(signature, [values.get(name) for name, _ in signature])
    )
    extents = grid(values) if callable(grid) else grid
    x, y, z = (*map(int, extents), 1, 1)[:3]
    return Call(0, name_of(kernel), (x, y, z), module_of(compiled), copies, ())


def in_order(
    kernel: Any, arguments: Sequence[Any], meta: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments in order and other ones by name, with tensors that `meta` names in order."""
    names, ordered, others = parameters(kernel), [*arguments], dict(meta)
    tensors = (at for at, name in enumerate(names) if hasattr(others.get(name), "data_ptr"))
    end = max(tensors, default=-1) + 1
    for name in names[len(ordered) : end]:
        if name not in others:
            break
        ordered.append(others.pop(name))
    return ordered, others


def parameters(kernel: Any) -> Sequence[str]:
    """Return the names of a kernel's parameters."""
    names: Sequence[str] = getattr(kernel, "arg_names", ())
    return names


def name_of(kernel: Any) -> str:
    """Return a kernel's name, also of a kernel that other objects wrap."""
    while not hasattr(kernel, "__name__") and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return str(getattr(kernel, "__name__", "kernel"))
