"""Calls as source text: `scale[(8, 1, 1)](x=fp32[1000], n=9)`."""

from collections.abc import Iterable, Mapping
from typing import Any

from kvtrace.text import printable


def invocation(kernel: str, grid: tuple[int, int, int], args: Iterable[Mapping[str, Any]]) -> str:
    """Return a call as source text; tensors have type, shape, and unusual strides and offsets."""
    arguments = ", ".join(f"{arg['name']}={_value(arg)}" for arg in args)
    return printable(f"{kernel}[{grid}]({arguments})")


def tensor(arg: Mapping[str, Any] | None) -> str | None:
    """Return type and shape of an argument, such as `fp32[1000, 2]`; None if it is no tensor."""
    if arg is None or arg.get("kind") not in ("tensor", "descriptor"):
        return None
    shape = [int(size) for size in arg.get("shape") or ()]
    return f"{arg.get('dtype')}{shape}"


def _value(arg: Mapping[str, Any]) -> str:
    text = tensor(arg)
    if text is None:
        return str(arg.get("scalar"))
    shape, strides = list(arg.get("shape") or ()), arg.get("strides")
    unusual = []
    if strides is not None and list(strides) != _contiguous_strides(shape):
        unusual.append(f"strides {list(strides)}")
    if arg.get("offset_bytes"):
        size = arg.get("storage_bytes")
        unusual.append(f"at byte {arg['offset_bytes']}" + ("" if size is None else f" of {size}"))
    return f"{text} with {' '.join(unusual)}" if unusual else text


def _contiguous_strides(shape: list[int]) -> list[int]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]
