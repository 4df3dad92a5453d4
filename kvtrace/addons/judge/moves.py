"""PyTorch's moves between launches: operators that copy, cast, join or select elements.

These operators compute nothing, so the examiner can repeat them with other values. Tensors made by
any other operator have unexplained contents, which the examiner cannot repeat.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.utils._python_dispatch import TorchDispatchMode

if TYPE_CHECKING:
    from kvtrace.addons.judge.child import LaunchLog

#: Operators that move elements → positions of the arguments with these elements.
_MOVING: Final = {
    "aten::_to_copy": (0,), "aten::cat": (0,), "aten::clone": (0,), "aten::constant_pad_nd": (0,),
    "aten::embedding": (0,), "aten::flip": (0,), "aten::gather": (0,), "aten::index": (0,),
    "aten::index_select": (0,), "aten::repeat": (0,), "aten::roll": (0,), "aten::stack": (0,),
    "aten::tril": (0,), "aten::triu": (0,),
}  # fmt: skip
#: Moving operators that write to their first argument → the same.
_WRITING: Final = {
    "aten::copy_": (1,), "aten::fill_": (), "aten::index_put_": (0, 2), "aten::zero_": (),
}  # fmt: skip
#: Moving operators that keep the elements' order.
_COPYING: Final = {"aten::_to_copy", "aten::clone", "aten::copy_"}
#: The work of an operator beside its elements, in elements that take as long.
_WORK_OF_OPERATOR: Final = 2_000
_FILLING: Final = {"aten::fill_": 1, "aten::constant_pad_nd": 2}


class _Mode(TorchDispatchMode):  # type: ignore[misc]
    """A dispatch mode that does not make torch skip its compiler, which would import it."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


class MoveReporter(_Mode):
    """Dispatch mode that reports PyTorch's moves to the candidate's log while active."""

    def __init__(self, log: LaunchLog) -> None:
        super().__init__()
        self._log = log

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operator; report a move to the log, or new tensors of another operator."""
        name, options = function._schema.name, kwargs or {}
        computes = _accumulates(name, args, options) or _rounds_or_compares(name, args, options)
        positions = None if computes else _WRITING.get(name, _MOVING.get(name))
        sources = [tensor for position in positions or () for tensor in _tensors(args[position])]
        targets = [args[0]] if name in _WRITING else []
        is_reported = (
            positions is not None
            and all(map(_is_plain, (*sources, *targets)))
            and any(map(self._log.explained, (*sources, *targets)))
        )
        if is_reported and targets:
            self._log.before(args[0])
        result = function(*args, **options)
        fill = args[_FILLING[name]] if len(args) > _FILLING.get(name, len(args)) else 0
        if is_reported and _is_plain(result) and isinstance(fill, bool | int | float):
            keeps_order = name in _COPYING or not positions
            picked = (
                None
                if keeps_order
                else _numbers_of_moved(name, function, args, options, positions or ())
            )
            if result.numel():
                self._log.moved(result, sources, picked, fill)
        elif not targets:
            addresses = {each.untyped_storage().data_ptr() for each in _tensors((args, kwargs))}
            for tensor in filter(_is_plain, _tensors(result)):
                if tensor.untyped_storage().data_ptr() not in addresses:
                    self._log.made(tensor)
        return result


class NarrowingDetector(_Mode):
    """Dispatch mode that detects operators whose operands are floats and results narrow floats.

    `has_narrowed` is set at the first one with a result narrower than float64.
    """

    def __init__(self) -> None:
        super().__init__()
        self.has_narrowed = False

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operator, and check its results' types."""
        result = function(*args, **(kwargs or {}))
        if any(map(_is_narrow, _tensors(result))):
            self.has_narrowed |= any(
                tensor.is_floating_point() for tensor in _tensors((args, kwargs))
            )
        return result


class IgnoredIndices(_Mode):
    """Dispatch mode that collects the `ignore_index` of operators, such as losses, in `values`."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[int] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operator, and store its `ignore_index`, if it has one."""
        options = kwargs or {}
        for at, parameter in enumerate(function._schema.arguments):
            if parameter.name == "ignore_index":
                value = (
                    args[at]
                    if at < len(args)
                    else options.get(parameter.name, parameter.default_value)
                )
                self.values += [value] * (value not in self.values)
        return function(*args, **options)


class WorkCounter(_Mode):
    """Dispatch mode that adds up operators, at a fixed cost, and their results' elements in `work`.

    Views cost nothing.
    """

    def __init__(self) -> None:
        super().__init__()
        self.work = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operator, and add its results' elements."""
        result = function(*args, **(kwargs or {}))
        if not any(returned.alias_info for returned in function._schema.returns):
            self.work += _WORK_OF_OPERATOR + sum(tensor.numel() for tensor in _tensors(result))
        return result


def _is_narrow(tensor: Any) -> bool:
    return bool(tensor.is_floating_point()) and tensor.element_size() < torch.float64.itemsize


def _numbers_of_moved(
    name: str, function: Any, args: Sequence[Any], options: Any, positions: Sequence[int]
) -> Any:
    """Return an operator's result for the elements' numbers, from 1, in place of the elements.

    It says for each element of the operator's result what element was moved there. `positions` are
    the positions of the arguments with the elements.
    """
    numbered, next_number = [*args], 1
    for position in positions:
        argument = args[position]
        number_tensors = []
        for tensor in _tensors(argument):
            count = tensor.numel()
            ascending = torch.arange(next_number, next_number + count, device=tensor.device)
            number_tensors.append(ascending.reshape(tensor.shape))
            next_number += count
        numbered[position] = (
            number_tensors[0] if isinstance(argument, torch.Tensor) else number_tensors
        )
    if name == "aten::constant_pad_nd":
        numbered[2:] = [0]
    return function(*numbered, **options)


def _accumulates(name: str, args: Sequence[Any], options: Any) -> bool:
    """Return whether an operator adds to its target's contents, so that it is no move."""
    return name == "aten::index_put_" and bool(options.get("accumulate") or any(args[3:4]))


def _rounds_or_compares(name: str, args: Sequence[Any], options: Any) -> bool:
    """Return whether an operator converts floats to integers or booleans, so that it is no move."""
    if name not in ("aten::_to_copy", "aten::copy_"):
        return False
    source = args[1] if name == "aten::copy_" else args[0]
    target_type = args[0].dtype if name == "aten::copy_" else options.get("dtype") or source.dtype
    return bool(
        source.is_floating_point()
        and not target_type.is_floating_point
        and not target_type.is_complex
    )


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _tensors(inner)


def _is_plain(value: Any) -> bool:
    """Return whether a value is a plain, dense, real tensor with elements in host memory."""
    return (
        type(value) in (torch.Tensor, torch.nn.Parameter)
        and value.layout == torch.strided
        and value.device.type
        in ("cpu", "cuda")  # without a GPU, cuda tensors are in host memory, too
        and not value.is_complex()
    )
