"""Convolutions over one, two or three axes; inputs are [batch, channels, …]."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo.arguments import Shape, dtype_of
from kvtrace.addons.graphs.hlo.builder import current
from kvtrace.addons.graphs.hlo.builders import OPERATIONS
from kvtrace.addons.graphs.hlo.dtypes import FLOAT8, FLOAT32
from kvtrace.addons.graphs.hlo.errors import BadArgument, ShapeMismatch
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    add,
    broadcast_in_dim,
    convert,
    lift,
    together,
)
from kvtrace.addons.graphs.hlo.wrapper import Tensor, into

Pairs = tuple[tuple[int, int], ...]


def convolution(
    x: Tensor, kernel: Tensor, strides: Shape, padding: Pairs, dilation: Shape, groups: int
) -> Tensor:
    """Return [batch, in, …] convolved by [out, in / groups, …]."""
    last_starts = [
        before + extent - 1 + after - (size - 1) * apart
        for extent, size, (before, after), apart in zip(
            x.shape[2:], kernel.shape[2:], padding, dilation, strict=True
        )
    ]
    if any(extent < 0 for extent in last_starts):
        raise ShapeMismatch.here(
            f"a kernel of {list(kernel.shape[2:])} is larger than the padded input of "
            f"{list(x.shape[2:])}; pad more, or use a smaller kernel"
        )
    spatial = tuple(extent // step + 1 for extent, step in zip(last_starts, strides, strict=True))
    attributes = {
        "window_strides": strides,
        "padding": padding,
        "rhs_dilation": dilation,
        "feature_group_count": groups,
        "batch_group_count": 1,
    }
    shape = (x.shape[0], kernel.shape[0], *spatial)
    return current().emit("convolution", (x, kernel), shape, x.dtype, attributes)


def _per_axis(value: Any, count: int, name: str) -> Shape:
    """Return `count` integers, one per axis, given one for all axes or one for each."""
    numbers = (value,) * count if isinstance(value, int | np.integer) else tuple(value)
    if len(numbers) != count or not all(isinstance(number, int | np.integer) for number in numbers):
        raise BadArgument.here(f"{name} is one integer or {count} integers, not {value!r}")
    return tuple(int(number) for number in numbers)


def _padding(value: Any, axes: int) -> Pairs:
    """Return (before, after) of each axis, given an integer, integers, or pairs."""
    if isinstance(value, str):
        raise BadArgument.here(f"a convolution has no padding {value!r}; give numbers")
    if isinstance(value, Sequence) and any(isinstance(item, Sequence) for item in value):
        if len(value) != axes:
            raise BadArgument.here(
                f"padding has {len(value)} pairs for {axes} axes; give one pair per axis"
            )
        return tuple((int(before), int(after)) for before, after in value)
    return tuple((number, number) for number in _per_axis(value, axes, "padding"))


def _convolution_builder(axes: int) -> Callable[..., Tensor]:
    def conv(
        input: Operand,  # noqa: A002 - the public name
        weight: Operand,
        bias: Operand = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        out: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """Return a convolution of [batch, channels, …] by [out, channels / groups, …]."""
        x, kernel = together(input, weight)
        _check(x, kernel, axes, groups)
        strides = _per_axis(stride, axes, "stride")
        dilations = _per_axis(dilation, axes, "dilation")
        pads = _padding(padding, axes)
        if any(width < 0 for pair in pads for width in pair):
            raise BadArgument.here("the padding of a convolution is negative; slice its input")
        result_type = x.dtype if dtype is None else dtype_of(dtype)
        computed_type = FLOAT32 if x.dtype in FLOAT8 else x.dtype
        x, kernel = convert(x, computed_type), convert(kernel, computed_type)
        result = convolution(x, kernel, strides, pads, dilations, groups)
        if bias is not None:
            bias_tensor = convert(lift(bias), result.dtype)
            result = add(result, broadcast_in_dim(bias_tensor, result.shape, (1,)))
        return into(out, convert(result, result_type))

    return conv


def _check(x: Tensor, kernel: Tensor, axes: int, groups: int) -> None:
    shapes = f"an input of {list(x.shape)} and a kernel of {list(kernel.shape)}"
    if len(x.shape) != axes + 2 or len(kernel.shape) != axes + 2:
        raise ShapeMismatch.here(
            f"a convolution over {axes} axes needs an input and a kernel of {axes + 2} axes, "
            f"not {shapes}"
        )
    if groups < 1 or x.shape[1] != kernel.shape[1] * groups or kernel.shape[0] % groups:
        raise ShapeMismatch.here(
            f"{shapes} do not fit each other with groups={groups}; "
            "the kernel is [outputs, channels / groups, …]"
        )


for _axes in (1, 2, 3):
    OPERATIONS[f"conv{_axes}d"] = _convolution_builder(_axes)
