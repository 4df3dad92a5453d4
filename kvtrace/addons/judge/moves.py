"""What PyTorch moves between launches: elements that are copied, cast, joined or picked.

Nothing is computed by these operators, so the examiner can do the same with other values. What any
other operator makes is contents that nothing explains: they count as constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol

import torch
from torch.utils._python_dispatch import TorchDispatchMode

#: Operators that move elements → the positions of the arguments that they take them from.
_MOVING: Final = {
    "aten::_to_copy": (0,), "aten::cat": (0,), "aten::clone": (0,), "aten::constant_pad_nd": (0,),
    "aten::embedding": (0,), "aten::flip": (0,), "aten::gather": (0,), "aten::index": (0,),
    "aten::index_select": (0,), "aten::repeat": (0,), "aten::roll": (0,), "aten::stack": (0,),
    "aten::tril": (0,), "aten::triu": (0,),
}  # fmt: skip
#: The same of those that write to their first argument.
_WRITING: Final = {
    "aten::copy_": (1,), "aten::fill_": (), "aten::index_put_": (0, 2), "aten::zero_": (),
}  # fmt: skip
#: Those whose elements keep their order.
_COPYING: Final = {"aten::_to_copy", "aten::clone", "aten::copy_"}
_FILLING: Final = {"aten::fill_": 1, "aten::constant_pad_nd": 2}


class MoveListener(Protocol):
    """Events for tensors that operators make and move."""

    def explained(self, tensor: Any) -> bool:
        """Whether a tensor's storage holds what launches and moves have left there."""

    def made(self, tensor: Any) -> None:
        """Observe a tensor whose storage is new, and whose contents nothing explains."""

    def before(self, target: Any) -> None:
        """Observe a tensor that is about to be written to by a move."""

    def moved(self, target: Any, sources: Sequence[Any], picked: Any, fill: float) -> None:
        """Observe a move that is done.

        Args:
            target: What was written.
            sources: What the elements come from.
            picked: Which element of all sources each one is, from 1; 0: `fill`. None: the elements
                of the only source in order, or `fill` where there is none.
            fill: What is put where no source is.

        """


class _Watching(TorchDispatchMode):  # type: ignore[misc]
    """A mode in which compilers may run: keeping them out would import them."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


class MoveReporter(_Watching):
    """Tells `heard` what PyTorch moves while it is active."""

    def __init__(self, heard: MoveListener) -> None:
        super().__init__()
        self._heard = heard

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operator, and tell of it if it moves elements."""
        name, named = function._schema.name, kwargs or {}
        computes = _adds(name, args, named) or _converts(name, args, named)
        places = None if computes else _WRITING.get(name, _MOVING.get(name))
        sources = [each for place in places or () for each in _tensors(args[place])]
        targets = [args[0]] if name in _WRITING else []
        told = (
            places is not None
            and all(map(_is_plain, (*sources, *targets)))
            and any(map(self._heard.explained, (*sources, *targets)))
        )
        if told and targets:
            self._heard.before(args[0])
        result = function(*args, **named)
        fill = args[_FILLING[name]] if len(args) > _FILLING.get(name, len(args)) else 0
        if told and _is_plain(result) and isinstance(fill, bool | int | float):
            ordered = name in _COPYING or not places
            picked = None if ordered else _picked(name, function, args, named, places or ())
            if result.numel():
                self._heard.moved(result, sources, picked, fill)
        elif not targets:
            taken = {each.untyped_storage().data_ptr() for each in _tensors((args, kwargs))}
            for each in _tensors(result):
                if _is_plain(each) and each.untyped_storage().data_ptr() not in taken:
                    self._heard.made(each)
        return result


class NarrowingDetector(_Watching):
    """Sees whether an operator makes floats narrower than float64 of floats while it is active."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = False

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operator, and see what it makes."""
        result = function(*args, **(kwargs or {}))
        if any(map(_is_narrow, _tensors(result))):
            self.seen |= any(each.is_floating_point() for each in _tensors((args, kwargs)))
        return result


class IgnoredIndices(_Watching):
    """Collects the `ignore_index` of operators that run while it is active, as of losses."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[int] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operator, and note its `ignore_index`."""
        named = kwargs or {}
        for at, each in enumerate(function._schema.arguments):
            if each.name == "ignore_index":
                value = args[at] if at < len(args) else named.get(each.name, each.default_value)
                self.values += [value] * (value not in self.values)
        return function(*args, **named)


def _is_narrow(tensor: Any) -> bool:
    return bool(tensor.is_floating_point()) and tensor.element_size() < torch.float64.itemsize


def _picked(
    name: str, function: Any, args: Sequence[Any], named: Any, places: Sequence[int]
) -> Any:
    """Run an operator on the numbers of elements, from 1, in place of the elements."""
    numbered, first = [*args], 1
    for place in places:
        given = args[place]
        numbers = []
        for each in _tensors(given):
            count = each.numel()
            ascending = torch.arange(first, first + count, device=each.device)
            numbers.append(ascending.reshape(each.shape))
            first += count
        numbered[place] = numbers[0] if isinstance(given, torch.Tensor) else numbers
    if name == "aten::constant_pad_nd":
        numbered[2:] = [0]
    return function(*numbered, **named)


def _adds(name: str, args: Sequence[Any], named: Any) -> bool:
    """Whether it adds to what its target holds, which is more than a move."""
    return name == "aten::index_put_" and bool(named.get("accumulate") or any(args[3:4]))


def _converts(name: str, args: Sequence[Any], named: Any) -> bool:
    """Whether it makes whole numbers or truth values of floats: it rounds, or compares with 0."""
    if name not in ("aten::_to_copy", "aten::copy_"):
        return False
    source = args[1] if name == "aten::copy_" else args[0]
    wanted = args[0].dtype if name == "aten::copy_" else named.get("dtype") or source.dtype
    return bool(
        source.is_floating_point() and not wanted.is_floating_point and not wanted.is_complex
    )


def _tensors(given: Any) -> Iterator[Any]:
    if isinstance(given, torch.Tensor):
        yield given
    elif isinstance(given, list | tuple | dict):
        for each in given.values() if isinstance(given, dict) else given:
            yield from _tensors(each)


def _is_plain(value: Any) -> bool:
    """Whether it is a tensor whose elements lie in memory of the host."""
    return (
        type(value) in (torch.Tensor, torch.nn.Parameter)
        and value.layout == torch.strided
        and value.device.type in ("cpu", "cuda")  # where there is none, that is the host's, too
        and not value.is_complex()
    )
