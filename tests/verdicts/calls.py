"""Calls of kernels on tensors that are described, not allocated, unless they have contents."""

from typing import Any

import numpy as np

from kvtrace.evaluate import ScalarArgument, Storage, TensorArgument, parsed
from kvtrace.evaluate.types import element_of_short_name
from kvtrace.recorded_calls.recorded import Call
from tests.support.compile_ttir import compile_generic


def tensor(*shape: int, dtype="fp32", strides=None, offset=0, room=None, data=None):
    """A view of a storage of its own, of `room` elements (None: what the view needs)."""
    steps = strides or tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
    size = element_of_short_name(dtype).bytes
    last = sum(max(0, (n - 1) * s) for n, s in zip(shape, steps, strict=True)) + 1
    nbytes = size * (offset + last if room is None else room)
    storage = Storage(nbytes, None if data is None else np.asarray(data).view(np.uint8).copy())
    return TensorArgument("", storage, size * offset, dtype, shape, steps)


def call(kernel: Any, grid: tuple[int, ...], *, wide=(), debug=False, **arguments: Any) -> Call:
    """A call by parameter names; those in capitals are constants of the kernel."""
    constants = {name: value for name, value in arguments.items() if name.isupper()}
    types: dict[str, str] = {}
    bound = []
    for name in kernel.arg_names:
        if name in constants:
            types[name] = "constexpr"
            continue
        value = arguments[name]
        if isinstance(value, TensorArgument):
            types[name] = f"*{value.dtype}"
            bound.append(
                TensorArgument(
                    name, value.storage, value.offset_bytes, value.dtype, value.shape, value.strides
                )
            )
            continue
        types[name] = "i64" if name in wide or abs(value) >= 2**31 else "i32"
        bound.append(ScalarArgument(name, value))
    x, y, z = (*grid, 1, 1)[:3]
    recorded = tuple(
        a.name for a in bound if isinstance(a, TensorArgument) and a.storage.data is not None
    )
    module = parsed(compile_generic(kernel, types, constants, debug=debug), "cuda:90")
    return Call(1, kernel.fn.__name__, (x, y, z), module, tuple(bound), recorded)


def ids(*numbers, dtype="i32"):
    data = np.array(numbers, {"i32": np.int32, "i64": np.int64}[dtype])
    return tensor(len(numbers), dtype=dtype, data=data)
