"""Work of a launch as a kernel's author states it: `launch_metadata` of `triton.jit`.

Triton calls that function at each launch while a launch hook is set, as Proton's, which shows the
name, FLOPs and bytes that it returns. A recording calls it once for each unique call, right after
the call's first launch and in its thread, but not while a CUDA graph is captured, in which any
operation on a device would become part of the graph.
"""

import math
import sys
from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, Final

from kvtrace.backends.compiled_kernels.kernel_records import (
    arguments_by_name,
    function_of,
    kernel_name,
)
from kvtrace.capture.records import StatedWork, capped

if TYPE_CHECKING:
    from kvtrace.capture.session import Session

_FIGURES: Final = ("flops8", "flops16", "flops32", "flops64", "flops", "bytes")


def stated_work(
    session: "Session",
    kernel: Any,
    grid: tuple[int, int, int],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> StatedWork | None:
    """Return what the author of a compiled kernel states of a launch; None if nothing is.

    A failure of the author's function, and a figure that is no number, is a message.
    """
    function = function_of(kernel)
    describe = getattr(function, "launch_metadata", None)
    if describe is None or _is_capturing():
        return None
    try:
        # As `CompiledKernel.launch_metadata` of Triton calls it.
        stated = describe(grid, kernel.metadata, arguments_by_name(function, args, kwargs))
        figures = {name: stated[name] for name in _FIGURES if stated.get(name) is not None}
        numbers = {name: float(value) for name, value in figures.items() if _is_number(value)}
        name = stated.get("name")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the author's, not the program's
        _tell(session, kernel, f"failed: {type(error).__name__}: {error}")
        return None
    for unread in figures.keys() - numbers.keys():
        _tell(session, kernel, f"gives {unread} as {type(figures[unread]).__name__}, not a number")
    if not numbers and not isinstance(name, str):
        return None
    return StatedWork(name=capped(name) if isinstance(name, str) else None, **numbers)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


def _is_capturing() -> bool:
    """Return whether a CUDA graph is being captured from torch's current stream."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return False
    return bool(cuda.is_current_stream_capturing())


def _tell(session: "Session", kernel: Any, text: str) -> None:
    session.message("info", "launch-metadata", f"launch_metadata of {kernel_name(kernel)} {text}")
