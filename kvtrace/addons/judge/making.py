"""Cases that follow from given inputs: filled with other values, as views and of other sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from kvtrace.addons.judge import tensors
from kvtrace.addons.judge.fresh import (
    is_float,
    is_floats,
    is_integers,
    other_scalar,
    other_values,
)
from kvtrace.addons.judge.inputs import (
    BEYOND,
    BYTES,
    FEW,
    Case,
    Input,
    ScalarInput,
    TensorInput,
    as_views,
    draw_values,
    exchanged_numbers,
    extreme_sizes,
    other_fractions,
    other_sizes,
    other_whole_numbers,
    resized,
    unequal_extents,
    views_of,
    whole_tensor,
    wide_rows,
)

#: Labels of the cases that differ from the given one in integers and booleans, and in floats.
OTHER_INTEGERS: Final = "other integers"
OTHER_VALUES: Final = "other values"
OTHER_SCALARS: Final = "other numbers"
#: Derived cases that reference or candidate may refuse, as other sizes.
REFUSABLE: Final = (OTHER_INTEGERS, OTHER_SCALARS)
_SHARE: Final = 1 / 4


class CaseMaker:
    """Makes the cases of a judgment, and writes the contents of their tensors.

    Args:
        folder: Where contents are left.
        weights: Those of a model.
        seed: What values are drawn from.
        named_extents: Whether annotations say which extents are equal.

    """

    def __init__(
        self, folder: Path, weights: tuple[TensorInput, ...], seed: int, *, named_extents: bool
    ) -> None:  # fmt: skip
        self._folder = folder
        self._weights = weights
        self._named_extents = named_extents
        self._random = np.random.default_rng(seed)
        self._files = 0

    def filled(self, case: Case, source: Path | None) -> Case:
        """Return a given case with the contents that `source` has, or drawn ones."""
        inputs: list[Input] = []
        for each in case.inputs:
            if isinstance(each, TensorInput):
                if source is None or not each.file:
                    content = self._draw(each, case.inputs)
                else:
                    content = (source / each.file).read_bytes()
                inputs.append(self._keep(each, content))
            else:
                inputs.append(each)
        return replace(case, inputs=tuple(inputs), weights=self._weights)

    def further(
        self, base: Case, views: bool, blocks: Sequence[int], numbers: Sequence[int]
    ) -> list[Case]:  # fmt: skip
        """Return cases that follow from a given one: other values, views, other sizes."""
        fixed = [size for weight in self._weights for size in weight.shape]
        plain = resized(base.inputs, {})  # contiguous, without contents
        cases = [self._other(base, OTHER_VALUES, floats=True)]
        if any(map(is_integers, base.inputs)):
            cases.append(self._other(base, OTHER_INTEGERS, floats=False))
        scalars = [each.value for each in base.inputs if isinstance(each, ScalarInput)]
        if any(type(each) is float for each in scalars):
            cases.append(self._with_other_scalars(base))
        if views:
            cases += [
                self._like(base, as_views(plain, kind), f"{kind} views", "view")
                for kind in views_of(plain)
            ]
        for label, change in other_sizes(plain, fixed, blocks, numbers):
            cases.append(self._like(base, resized(plain, change), label, "sizes"))
        small = min(cases, key=lambda case: (case.kind != "sizes", _elements(case)))
        if small.kind == "sizes" and any(map(is_floats, small.inputs)):
            cases.append(self._other(small, f"{small.label}, {OTHER_VALUES}", floats=True))
        for inputs in () if self._named_extents else unequal_extents(plain, fixed):
            cases.append(self._like(base, inputs, f"unequal: {label_of(inputs)}", BEYOND))
        numbers_changed = (other_whole_numbers, other_fractions, exchanged_numbers)
        for label, inputs in chain.from_iterable(each(base.inputs) for each in numbers_changed):
            cases.append(Case(label, BEYOND, inputs, base.weights))
        for label, kind, change in extreme_sizes(plain, fixed):
            cases.append(self._like(base, resized(plain, change), label, kind))
        return [*cases, *self._largest_bytes(base, plain, fixed), *self._beyond(base)]

    def _largest_bytes(
        self, base: Case, plain: Sequence[Input], fixed: Sequence[int]
    ) -> Iterator[Case]:  # fmt: skip
        """Yield wide rows of bytes that are all the largest: their sums need more than 16 bits."""
        change = wide_rows(plain, fixed)
        if not change:
            return
        made = self._like(base, resized(plain, change), "wide rows of the largest bytes", "sizes")
        inputs = [
            self._keep(each, bytes([BYTES[each.dtype][1] - 1]) * each.storage)
            if isinstance(each, TensorInput) and each.dtype in BYTES
            else each
            for each in made.inputs
        ]
        yield replace(made, inputs=tuple(inputs))

    def _beyond(self, base: Case) -> Iterator[Case]:
        """Yield one tensor as several inputs, and weights that are loaded after the first call."""
        shared: dict[tuple[Any, ...], TensorInput] = {}
        inputs = tuple(
            replace(shared.setdefault((e.dtype, e.shape, e.strides, e.offset, e.storage), e),
                    name=e.name)
            if isinstance(e, TensorInput) else e
            for e in base.inputs
        )  # fmt: skip
        if inputs != base.inputs:
            yield Case("one tensor as several inputs", BEYOND, inputs, base.weights)
        floats = [each for each in base.weights if is_float(each)]
        if floats:
            weights = tuple(self._redrawn(e) if e in floats else e for e in base.weights)
            yield Case("weights loaded after calls", BEYOND, base.inputs, weights)

    def ignoring(self, base: Case, values: Sequence[int]) -> Iterator[Case]:
        """Yield the given case with some integers replaced by those that the reference ignores."""
        for value in values:
            inputs: list[Input] = []
            for each in base.inputs:
                if isinstance(each, TensorInput) and is_integers(each) and each.dtype != "bool":
                    held = tensors.tensor_from(each, self._folder)
                    whole = held.as_strided((each.storage,), (1,), 0)
                    whole[self._random.random(each.storage) < _SHARE] = value
                    inputs.append(self._keep(each, tensors.bytes_of(whole)))
                else:
                    inputs.append(each)
            yield Case(f"some integers are {value}", BEYOND, tuple(inputs), base.weights)

    def tracked(self, base: Case, results: Sequence[Any]) -> Iterator[Case]:
        """Yield the given case with inputs that require gradients, and the gradients of these.

        `results`: what the reference gives for the case.
        """
        if not any(map(is_floats, base.inputs)):
            return
        yield replace(
            base, label="inputs that require gradients", kind=BEYOND, tracked=True
        )  # fmt: skip
        made: list[Input] = []
        for at, each in enumerate(results):
            if tensors.is_floats(each):
                dtype = str(each.dtype).removeprefix("torch.")
                given = whole_tensor(f"gradient of result {at}", dtype, each.shape)
                made.append(self._keep(given, self._draw(given, ())))
        if made:
            yield replace(
                base, label="gradients of the inputs", kind=BEYOND, inputs=(*base.inputs, *made),
                tracked=True, cotangents=len(made),
            )  # fmt: skip

    def _redrawn(self, each: TensorInput) -> TensorInput:
        content = (self._folder / each.file).read_bytes()
        return self._keep(each, other_values(content, each, self._random))

    def _other(self, base: Case, label: str, *, floats: bool) -> Case:
        """Return the given case with other floats, or other integers and booleans."""
        inputs: list[Input] = []
        for each in base.inputs:
            if isinstance(each, TensorInput) and is_float(each) == floats:
                inputs.append(self._redrawn(each))
            else:
                inputs.append(each)
        kind = "values" if base.kind == "given" else base.kind
        return Case(label, kind, tuple(inputs), base.weights)

    def _with_other_scalars(self, base: Case) -> Case:
        """Return the given case with other numbers in place of floats outside of tensors."""
        inputs = [
            replace(each, value=other_scalar(each.value, self._random))
            if isinstance(each, ScalarInput) and type(each.value) is float
            else each
            for each in base.inputs
        ]
        return Case(OTHER_SCALARS, "values", tuple(inputs), base.weights)

    def _like(self, base: Case, inputs: Sequence[Input], label: str, kind: str) -> Case:
        """Return a case of these inputs, with values drawn from the given case's tensors."""
        filled: list[Input] = []
        sizes = [s for each in inputs if isinstance(each, TensorInput) for s in each.shape]
        for each, like in zip(inputs, base.inputs, strict=True):
            if not isinstance(each, TensorInput):
                filled.append(each)
                continue
            assert isinstance(like, TensorInput)
            filled.append(self._keep(each, self._resampled(each, like, kind, min(sizes))))
        return Case(label, kind, tuple(filled), base.weights)

    def _resampled(self, wanted: TensorInput, like: TensorInput, kind: str, smallest: int) -> bytes:
        import torch

        source = tensors.tensor_from(like, self._folder).contiguous().reshape(-1)
        count = source.numel()
        if not count or not wanted.storage:
            return bytes(wanted.storage * source.element_size())
        other = kind in ("sizes", BEYOND)
        if not source.is_floating_point() and not other:
            # whole numbers may be offsets or indices in an order that matters: they stay
            whole = torch.zeros(wanted.storage, dtype=source.dtype)
            whole.as_strided(wanted.shape, wanted.strides, wanted.offset).copy_(
                source.reshape(wanted.shape)
            )
            return tensors.bytes_of(whole)
        if wanted.storage == count:
            places = self._random.permutation(count)
        else:
            places = self._random.integers(0, count, wanted.storage)
        bits = source.view(torch.uint8) if source.element_size() == 1 else source
        chosen = bits[torch.from_numpy(places)].view(source.dtype)
        if other and not source.is_floating_point() and source.dtype != torch.bool:
            chosen = chosen % max(smallest, 1)
        return tensors.bytes_of(chosen)

    def _draw(self, tensor: TensorInput, inputs: Sequence[Input]) -> bytes:
        import torch

        sizes = {
            f"{each.name}.{axis}": size
            for each in inputs
            if isinstance(each, TensorInput)
            for axis, size in enumerate(each.shape)
        }
        values = torch.from_numpy(draw_values(tensor, self._random, sizes))
        return tensors.bytes_of(values.to(getattr(torch, tensor.dtype)))

    def _keep(self, tensor: TensorInput, content: bytes) -> TensorInput:
        self._files += 1
        file = f"input{self._files}.bin"
        (self._folder / file).write_bytes(content)
        return replace(tensor, file=file)


def _elements(case: Case) -> tuple[bool, int]:
    """Return a key that sorts cases by size, tiny ones last, as `calling.py` repeats them."""
    sizes = [math.prod(each.shape) for each in case.tensors]
    return max(sizes, default=0) < FEW, sum(each.storage for each in case.tensors)


def label_of(inputs: Sequence[Input]) -> str:
    """Return inputs as `--shapes` has them, such as `x=f32[1000, 64], eps=1e-6`."""
    short = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "bool": "b1"}
    eight = {"float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2"}
    parts = []
    for each in inputs:
        if isinstance(each, ScalarInput):
            parts.append(f"{each.name}={each.value}")
            continue
        kind = each.dtype.rstrip("0123456789")
        dtype = short[kind] + each.dtype[len(kind) :] if kind in short else each.dtype
        dtype = eight.get(each.dtype, dtype)
        parts.append(f"{each.name}={dtype}[{', '.join(map(str, each.shape))}]")
    return ", ".join(parts)
