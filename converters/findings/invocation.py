"""A call as it would be written: `scale[(8, 1, 1)](x=fp32[1000], n=9)`."""

from collections.abc import Iterable, Mapping
from typing import Any

from kvtrace.text import printable


def invocation(
    kernel: str, grid: tuple[int, int, int], args: Iterable[Mapping[str, Any]]
) -> str | None:
    """Return the call with its grid and arguments; tensors by type, shape, and what is odd."""
    given = ", ".join(f"{arg['name']}={_value(arg)}" for arg in args)
    return printable(f"{kernel}[{grid}]({given})")


def tensor(arg: Mapping[str, Any] | None) -> str | None:
    """Say what the argument is, as `fp32[1000, 2]`; None if it is not a tensor."""
    if arg is None or arg.get("kind") not in ("tensor", "descriptor"):
        return None
    shape = [int(size) for size in arg.get("shape") or ()]
    return f"{arg.get('dtype')}{shape}"


def _value(arg: Mapping[str, Any]) -> str:
    said = tensor(arg)
    if said is None:
        return str(arg.get("scalar"))
    shape, strides = list(arg.get("shape") or ()), arg.get("strides")
    odd = []
    if strides is not None and list(strides) != _contiguous(shape):
        odd.append(f"strides {list(strides)}")
    if arg.get("offset_bytes"):
        size = arg.get("storage_bytes")
        odd.append(f"at byte {arg['offset_bytes']}" + ("" if size is None else f" of {size}"))
    return f"{said} with {' '.join(odd)}" if odd else said


def _contiguous(shape: list[int]) -> list[int]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]
