"""Runs Triton kernels in the evaluator, on torch CPU tensors or on tensors without data."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import torch

from kvtrace.evaluate import (
    Argument,
    Observer,
    ScalarArgument,
    Storage,
    TensorArgument,
    evaluate,
    parsed,
)
from kvtrace.ir import Module
from tests.support.compile_ttir import compile_generic

SHORT_NAMES = {
    torch.bool: "i1",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.uint16: "u16",
    torch.uint32: "u32",
    torch.uint64: "u64",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.float64: "fp64",
    torch.float8_e4m3fn: "fp8e4nv",
    torch.float8_e5m2: "fp8e5",
}

_HELD = {
    ml_dtypes.bfloat16: (np.int16, torch.bfloat16),
    ml_dtypes.float8_e4m3fn: (np.uint8, torch.float8_e4m3fn),
    ml_dtypes.float8_e5m2: (np.uint8, torch.float8_e5m2),
}
"""Types that torch cannot take from NumPy: the integers that hold their bits, torch's type."""


def to_tensor(array: np.ndarray) -> torch.Tensor:
    """Return an array as a CPU tensor of its own."""
    copy = np.array(array, order="C")
    if copy.dtype.type not in _HELD:
        return torch.from_numpy(copy)
    bits, dtype = _HELD[copy.dtype.type]
    return torch.from_numpy(copy.view(bits)).view(dtype)


def with_tensors(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return inputs, whose arrays are new tensors."""
    return {n: to_tensor(v) if isinstance(v, np.ndarray) else v for n, v in inputs.items()}


def to_array(tensor: torch.Tensor) -> np.ndarray:
    """Return a tensor's elements as an array."""
    tensor = tensor.cpu()
    for narrow, (bits, dtype) in _HELD.items():
        if tensor.dtype == dtype:
            return (
                tensor.view(torch.int16 if bits is np.int16 else torch.uint8).numpy().view(narrow)
            )
    return tensor.numpy()


@cache
def _compiled(function: Any, signature: tuple, constexprs: tuple, options: tuple) -> str:
    types = dict(signature)
    types.update({name: "constexpr" for name, _ in constexprs})
    return compile_generic(function, types, dict(constexprs), **dict(options))


_read = cache(parsed)


def scalar_type(value: Any) -> str:
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return "i32" if -(2**31) <= value < 2**31 else "i64"
    return "fp32"


def compile_for(
    function: Any, arguments: Mapping[str, Any], constexprs: Mapping[str, Any], **options: Any
) -> Module:
    """Return the kernel's module for these arguments; compiled once per test session."""
    return _read(generic_for(function, arguments, constexprs, **options))


def generic_for(
    function: Any, arguments: Mapping[str, Any], constexprs: Mapping[str, Any], **options: Any
) -> str:
    """Return the kernel's IR in generic form for these arguments."""
    signature = []
    for name, value in arguments.items():
        if isinstance(value, torch.Tensor):
            short = "i1" if value.dtype == torch.bool else SHORT_NAMES[value.dtype]
            signature.append((name, f"*{short}"))
        else:
            signature.append((name, scalar_type(value)))
    order = {name: position for position, name in enumerate(function.arg_names)}
    signature.sort(key=lambda item: order[item[0]])
    return _compiled(
        function, tuple(signature), tuple(constexprs.items()), tuple(sorted(options.items()))
    )


def bind(
    function: Any, arguments: Mapping[str, Any], *, unknown: Sequence[str] | bool = ()
) -> list[Argument]:
    """Return the evaluator's arguments for tensors and scalars.

    Tensors share storages as in torch; those named in `unknown` (True: all) have no data.
    """
    storages: dict[int, Storage] = {}
    bound: list[Argument] = []
    for name in function.arg_names:
        if name not in arguments:
            continue
        value = arguments[name]
        if not isinstance(value, torch.Tensor):
            bound.append(ScalarArgument(name, value))
            continue
        raw = value.untyped_storage()
        key = raw.data_ptr()
        if key not in storages:
            hidden = unknown is True or (not isinstance(unknown, bool) and name in unknown)
            flat = torch.empty(0, dtype=torch.uint8).set_(raw)
            data = None if hidden else flat.numpy()
            storages[key] = Storage(raw.nbytes(), data, key, is_live=not hidden)
        bound.append(
            TensorArgument(
                name,
                storages[key],
                value.storage_offset() * value.element_size(),
                SHORT_NAMES[value.dtype],
                tuple(value.shape),
                tuple(value.stride()),
            )
        )
    return bound


def launch(
    function: Any,
    grid: tuple[int, ...],
    arguments: Mapping[str, Any],
    constexprs: Mapping[str, Any] | None = None,
    *,
    observers: Sequence[Observer] = (),
    unknown: Sequence[str] | bool = (),
    chunk_bytes: int = 16 << 20,
    **options: Any,
) -> None:
    """Evaluate a kernel on tensors, which then have its results."""
    module = compile_for(function, arguments, constexprs or {}, **options)
    evaluate(
        module,
        bind(function, arguments, unknown=unknown),
        grid,
        observers=observers,
        kernel=function.fn.__name__,
        chunk_bytes=chunk_bytes,
    )
