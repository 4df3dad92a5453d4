"""Fresh memory with chosen values: what `kvtrace confirm` asks of a program.

Functions of torch that make tensors without values are replaced by ones that fill them: floats
with NaN and integers with their largest number, or everything with zeros. They fill on the current
stream, as the program would. Where only the memory of one line is asked for, all other memory is
filled with zeros, so that what the program does with it does not vary between runs.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.memory.settings import FILL, FILLED
from kvtrace.capture.stacks import is_hidden
from kvtrace.figures.lines import Place, is_plumbing

if TYPE_CHECKING:
    from kvtrace.backends.replacements import Replacements

#: Functions that make tensors without values, as attributes of torch and of its tensors.
_OF_TORCH: Final = ("empty", "empty_like", "empty_permuted", "empty_strided")
_OF_TENSORS: Final = ("new", "new_empty", "new_empty_strided", "resize_")
#: Those that may return values, and whether they do with some arguments: data, or memory of before.
_KEEPING: Final[dict[str, Callable[[tuple[Any, ...]], bool]]] = {
    "new": lambda args: not all(isinstance(a, int) or type(a).__name__ == "Size" for a in args[1:]),
    "resize_": lambda args: args[0].is_sparse or bool(args[0].untyped_storage().nbytes()),
}
_OF_GENERATED_CODE: Final = ("_empty_strided_cpu", "_empty_strided_cuda")


def fill_fresh_memory(
    replaced: "Replacements", torch: Any, problem: Callable[[Exception], object]
) -> None:
    """Replace torch's functions if the environment asks for it; see `settings.py`.

    `problem` is called with what a tensor that cannot be filled raises.
    """
    how, _, place = os.environ.get(FILL, "").partition("@")
    if not how:
        return
    fill = _Fill(torch, how, place, os.environ.get(FILLED), problem)
    for owner, names in (
        (torch, _OF_TORCH),
        (torch.Tensor, _OF_TENSORS),
        (torch._C._dynamo.guards, _OF_GENERATED_CODE),
    ):
        for name in names:
            original = getattr(owner, name, None)
            if original is not None:
                replaced.put(owner, name, _filling(original, fill, name))


@dataclass(frozen=True, slots=True)
class _Fill:
    """The filling of fresh memory.

    `place` is the only line whose memory is filled as `how` says; "": all. The file `witness` is
    made once a tensor with elements was filled so.
    """

    torch: Any
    how: str
    place: str
    witness: str | None
    problem: Callable[[Exception], object]

    def into(self, tensor: Any, line: str) -> None:
        """Fill a tensor that a line made; one that cannot be filled stays as it is."""
        is_asked = line == self.place
        try:
            _fill(tensor, self.torch, self.how if is_asked else "zero")
            if is_asked and self.witness is not None and tensor.numel():
                Path(self.witness).touch()
        except Exception as error:  # noqa: BLE001 - never the program's problem
            self.problem(error)


def _filling(make: Callable[..., Any], fill: _Fill, name: str) -> Callable[..., Any]:
    """Return a function that fills the tensor that another one makes."""
    torch = fill.torch

    def made(*args: Any, **kwargs: Any) -> Any:
        is_kept = name in _KEEPING and _KEEPING[name](args)
        tensor = make(*args, **kwargs)
        if (
            is_kept
            or torch.compiler.is_compiling()
            or torch._guards.TracingContext.try_get() is not None
        ):
            # Filling would be traced. Compiled code allocates by `_OF_GENERATED_CODE` when it runs.
            return tensor
        if type(tensor) is torch.Tensor and not tensor.is_meta:
            fill.into(tensor, _line_of(sys._getframe(1)) if fill.place else "")
        return tensor

    return made


def _line_of(frame: FrameType | None) -> str:
    """Return the innermost line of the program in a stack, as findings name it: model.py:12."""
    while frame is not None:
        file = frame.f_code.co_filename
        if not _is_between(file):
            return Place(file, frame.f_lineno, None).short
        frame = frame.f_back
    return ""


@lru_cache(maxsize=4096)
def _is_between(file: str) -> bool:
    return is_hidden(file) or is_plumbing(file)


def _fill(tensor: Any, torch: Any, how: str) -> None:
    """Fill a new tensor, and between its elements if it has its storage for itself."""
    storage, dtype = tensor.untyped_storage(), tensor.dtype
    places = zip(tensor.shape, tensor.stride(), strict=True)
    extent = 1 + sum((size - 1) * stride for size, stride in places)
    whole = tensor
    if tensor.numel() and extent * dtype.itemsize == storage.nbytes():
        whole = tensor.as_strided((extent,), (1,), 0)
    with torch.no_grad():
        try:
            whole.fill_(_unlikely_number(dtype, torch) if how == "nan" else 0)
        except (NotImplementedError, TypeError):  # types of less than a byte, as torch.uint5
            whole.view(torch.uint8).fill_(255 if how == "nan" else 0)


def _unlikely_number(dtype: Any, torch: Any) -> float | complex:
    """Return NaN, or a type's largest number."""
    if dtype.is_floating_point or dtype == torch.bool:
        return float("nan")
    return complex("nan+nanj") if dtype.is_complex else int(torch.iinfo(dtype).max)
