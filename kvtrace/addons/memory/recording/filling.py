"""Fresh memory with chosen values: what `kvtrace confirm` asks of a program.

Functions of torch that make tensors without values are replaced by ones that fill them: floats
with NaN and integers with their largest number, or everything with zeros. They fill on the current
stream, as the program would.
"""

import os
import sys
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.memory.settings import FILL

if TYPE_CHECKING:
    from kvtrace.backends.replacements import Replacements

#: Functions that make tensors without values, as attributes of torch and of its tensors.
_OF_TORCH: Final = ("empty", "empty_like", "empty_permuted", "empty_strided")
_OF_TENSORS: Final = ("new_empty", "new_empty_strided")
_CALLERS: Final = 4
_OF_GENERATED_CODE: Final = ("_empty_strided_cpu", "_empty_strided_cuda")


def fill_fresh_memory(replaced: "Replacements", torch: Any) -> None:
    """Replace torch's functions if the environment asks for it; see `settings.py`."""
    how, _, place = os.environ.get(FILL, "").partition("@")
    if not how:
        return
    for owner, names in (
        (torch, _OF_TORCH),
        (torch.Tensor, _OF_TENSORS),
        (torch._C._dynamo.guards, _OF_GENERATED_CODE),
    ):
        for name in names:
            original = getattr(owner, name, None)
            if original is not None:
                replaced.put(owner, name, _filling(original, torch, how, place))


def _filling(make: Callable[..., Any], torch: Any, how: str, place: str) -> Callable[..., Any]:
    """Return a function that fills the tensor that another one makes."""

    def made(*args: Any, **kwargs: Any) -> Any:
        tensor = make(*args, **kwargs)
        if not place or _is_at(sys._getframe(1), place):
            _fill(tensor, torch, how)
        return tensor

    return made


def _is_at(frame: Any, place: str) -> bool:
    """Return whether a frame or one of its nearest callers is at a line.

    Others may have replaced torch's functions, too, as for a GPU that is not there.
    """
    for _ in range(_CALLERS):
        if frame is None:
            break
        if f"{PurePath(frame.f_code.co_filename).name}:{frame.f_lineno}" == place:
            return True
        frame = frame.f_back
    return False


def _fill(tensor: Any, torch: Any, how: str) -> None:
    dtype = tensor.dtype
    value: Any = 0
    if how == "nan" and dtype != torch.bool:
        is_float = dtype.is_floating_point or dtype.is_complex
        value = float("nan") if is_float else torch.iinfo(dtype).max
    elif how == "nan":
        value = True
    with torch.no_grad():
        tensor.fill_(value)
