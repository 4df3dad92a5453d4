"""Creation of a judgment's cases: the given inputs, and other values, views and sizes."""

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
    resized_inputs,
    unequal_extents,
    views_of,
    whole_tensor,
    wide_rows,
)

#: Labels of the cases that differ from the given one in integers and booleans, and in floats.
OTHER_INTEGERS: Final = "other integers"
OTHER_VALUES: Final = "other values"
OTHER_SCALARS: Final = "other numbers"
#: Derived cases that reference or candidate may refuse, as they may refuse other sizes.
REFUSABLE: Final = (OTHER_INTEGERS, OTHER_SCALARS)
_IGNORED_SHARE: Final = 1 / 4


class CaseMaker:
    """Creates a judgment's cases, and writes the contents of their tensors into `folder`.

    Args:
        folder: The folder for contents.
        weights: Weights of a model; () for functions.
        seed: The seed of drawn values.
        named_extents: Annotations say which extents are equal, so that others are not tried.
    """

    def __init__(
        self, folder: Path, weights: tuple[TensorInput, ...], seed: int, *, named_extents: bool
    ) -> None:  # fmt: skip
        self._folder = folder
        self._weights = weights
        self._named_extents = named_extents
        self._random = np.random.default_rng(seed)
        self._files = 0

    def fill(self, case: Case, source: Path | None) -> Case:
        """Return the case with stored contents: copied from `source`, or drawn if it has none."""
        inputs: list[Input] = []
        for entry in case.inputs:
            if isinstance(entry, TensorInput):
                if source is None or not entry.file:
                    content = self._draw(entry, case.inputs)
                else:
                    content = (source / entry.file).read_bytes()
                inputs.append(self._store_content(entry, content))
            else:
                inputs.append(entry)
        return replace(case, inputs=tuple(inputs), weights=self._weights)

    def derived_cases(
        self, base: Case, views: bool, blocks: Sequence[int], numbers: Sequence[int]
    ) -> list[Case]:  # fmt: skip
        """Return the cases derived from a given case: other values, views, sizes and scalars.

        `views`: also try views. `blocks` and `numbers` are integers of the file to choose sizes by.
        """
        fixed = [size for weight in self._weights for size in weight.shape]
        plain = resized_inputs(base.inputs, {})  # contiguous, without contents
        cases = [self._with_other_values(base, OTHER_VALUES, floats=True)]
        if any(map(is_integers, base.inputs)):
            cases.append(self._with_other_values(base, OTHER_INTEGERS, floats=False))
        scalars = [entry.value for entry in base.inputs if isinstance(entry, ScalarInput)]
        if any(type(scalar) is float for scalar in scalars):
            cases.append(self._with_other_scalars(base))
        if views:
            cases += [
                self._resampled_case(base, as_views(plain, kind), f"{kind} views", "view")
                for kind in views_of(plain)
            ]
        for label, change in other_sizes(plain, fixed, blocks, numbers):
            cases.append(self._resampled_case(base, resized_inputs(plain, change), label, "sizes"))
        smallest = min(cases, key=lambda case: (case.kind != "sizes", _size_key(case)))
        if smallest.kind == "sizes" and any(map(is_floats, smallest.inputs)):
            cases.append(
                self._with_other_values(smallest, f"{smallest.label}, {OTHER_VALUES}", floats=True)
            )
        for inputs in () if self._named_extents else unequal_extents(plain, fixed):
            cases.append(self._resampled_case(base, inputs, f"unequal: {label_of(inputs)}", BEYOND))
        scalar_changes = (other_whole_numbers, other_fractions, exchanged_numbers)
        for label, inputs in chain.from_iterable(
            changed(base.inputs) for changed in scalar_changes
        ):
            cases.append(Case(label, BEYOND, inputs, base.weights))
        for label, kind, change in extreme_sizes(plain, fixed):
            cases.append(self._resampled_case(base, resized_inputs(plain, change), label, kind))
        return [*cases, *self._largest_bytes(base, plain, fixed), *self._cases_beyond_given(base)]

    def _largest_bytes(
        self, base: Case, plain: Sequence[Input], fixed: Sequence[int]
    ) -> Iterator[Case]:  # fmt: skip
        """Yield a case whose rows of bytes are wide and have the largest value throughout.

        Their sums need more than 16 bits.
        """
        change = wide_rows(plain, fixed)
        if not change:
            return
        case = self._resampled_case(
            base, resized_inputs(plain, change), "wide rows of the largest bytes", "sizes"
        )
        inputs = [
            self._store_content(entry, bytes([BYTES[entry.dtype][1] - 1]) * entry.storage)
            if isinstance(entry, TensorInput) and entry.dtype in BYTES
            else entry
            for entry in case.inputs
        ]
        yield replace(case, inputs=tuple(inputs))

    def _cases_beyond_given(self, base: Case) -> Iterator[Case]:
        """Yield a case with one tensor as several inputs, and a case with new weights."""
        by_layout: dict[tuple[Any, ...], TensorInput] = {}
        inputs = tuple(
            replace(by_layout.setdefault((e.dtype, e.shape, e.strides, e.offset, e.storage), e),
                    name=e.name)
            if isinstance(e, TensorInput) else e
            for e in base.inputs
        )  # fmt: skip
        if inputs != base.inputs:
            yield Case("one tensor as several inputs", BEYOND, inputs, base.weights)
        floats = [entry for entry in base.weights if is_float(entry)]
        if floats:
            weights = tuple(self._with_new_values(e) if e in floats else e for e in base.weights)
            yield Case("weights loaded after calls", BEYOND, base.inputs, weights)

    def cases_of_ignored_values(self, base: Case, values: Sequence[int]) -> Iterator[Case]:
        """Yield a case for each of `values`: some integers are replaced by the value.

        These are values that the reference ignores, such as labels of padding.
        """
        for value in values:
            inputs: list[Input] = []
            for entry in base.inputs:
                if isinstance(entry, TensorInput) and is_integers(entry) and entry.dtype != "bool":
                    tensor = tensors.tensor_from(entry, self._folder)
                    storage_values = tensor.as_strided((entry.storage,), (1,), 0)
                    storage_values[self._random.random(entry.storage) < _IGNORED_SHARE] = value
                    inputs.append(self._store_content(entry, tensors.bytes_of(storage_values)))
                else:
                    inputs.append(entry)
            yield Case(f"some integers are {value}", BEYOND, tuple(inputs), base.weights)

    def gradient_cases(self, base: Case, results: Sequence[Any]) -> Iterator[Case]:
        """Yield the case with inputs that require gradients, and one whose results are gradients.

        `results` are the reference's results for the case; their shapes are those of cotangents.
        """
        if not any(map(is_floats, base.inputs)):
            return
        yield replace(
            base, label="inputs that require gradients", kind=BEYOND, tracked=True
        )  # fmt: skip
        cotangents: list[Input] = []
        for at, result in enumerate(results):
            if tensors.is_floats(result):
                dtype = str(result.dtype).removeprefix("torch.")
                cotangent = whole_tensor(f"gradient of result {at}", dtype, result.shape)
                cotangents.append(self._store_content(cotangent, self._draw(cotangent, ())))
        if cotangents:
            yield replace(
                base, label="gradients of the inputs", kind=BEYOND,
                inputs=(*base.inputs, *cotangents), tracked=True, cotangents=len(cotangents),
            )  # fmt: skip

    def _with_new_values(self, entry: TensorInput) -> TensorInput:
        content = (self._folder / entry.file).read_bytes()
        return self._store_content(entry, other_values(content, entry, self._random))

    def _with_other_values(self, base: Case, label: str, *, floats: bool) -> Case:
        """Return the case with new values in tensors of floats, or without `floats` in others."""
        inputs: list[Input] = []
        for entry in base.inputs:
            if isinstance(entry, TensorInput) and is_float(entry) == floats:
                inputs.append(self._with_new_values(entry))
            else:
                inputs.append(entry)
        kind = "values" if base.kind == "given" else base.kind
        return Case(label, kind, tuple(inputs), base.weights)

    def _with_other_scalars(self, base: Case) -> Case:
        inputs = [
            replace(entry, value=other_scalar(entry.value, self._random))
            if isinstance(entry, ScalarInput) and type(entry.value) is float
            else entry
            for entry in base.inputs
        ]
        return Case(OTHER_SCALARS, "values", tuple(inputs), base.weights)

    def _resampled_case(self, base: Case, inputs: Sequence[Input], label: str, kind: str) -> Case:
        """Return a case of `inputs` whose tensors have values drawn from those of `base`."""
        filled: list[Input] = []
        sizes = [s for entry in inputs if isinstance(entry, TensorInput) for s in entry.shape]
        for entry, base_input in zip(inputs, base.inputs, strict=True):
            if not isinstance(entry, TensorInput):
                filled.append(entry)
                continue
            assert isinstance(base_input, TensorInput)
            filled.append(
                self._store_content(entry, self._resampled(entry, base_input, kind, min(sizes)))
            )
        return Case(label, kind, tuple(filled), base.weights)

    def _resampled(self, tensor: TensorInput, base: TensorInput, kind: str, smallest: int) -> bytes:
        import torch

        source = tensors.tensor_from(base, self._folder).contiguous().reshape(-1)
        count = source.numel()
        if not count or not tensor.storage:
            return bytes(tensor.storage * source.element_size())
        changes_size = kind in ("sizes", BEYOND)
        if not source.is_floating_point() and not changes_size:
            # integers may be offsets or indices in an order that matters
            storage_values = torch.zeros(tensor.storage, dtype=source.dtype)
            storage_values.as_strided(tensor.shape, tensor.strides, tensor.offset).copy_(
                source.reshape(tensor.shape)
            )
            return tensors.bytes_of(storage_values)
        if tensor.storage == count:
            positions = self._random.permutation(count)
        else:
            positions = self._random.integers(0, count, tensor.storage)
        bits = source.view(torch.uint8) if source.element_size() == 1 else source
        values = bits[torch.from_numpy(positions)].view(source.dtype)
        if changes_size and not source.is_floating_point() and source.dtype != torch.bool:
            values = values % max(smallest, 1)
        return tensors.bytes_of(values)

    def _draw(self, tensor: TensorInput, inputs: Sequence[Input]) -> bytes:
        import torch

        sizes = {
            f"{entry.name}.{axis}": size
            for entry in inputs
            if isinstance(entry, TensorInput)
            for axis, size in enumerate(entry.shape)
        }
        values = torch.from_numpy(draw_values(tensor, self._random, sizes))
        return tensors.bytes_of(values.to(getattr(torch, tensor.dtype)))

    def _store_content(self, tensor: TensorInput, content: bytes) -> TensorInput:
        self._files += 1
        file = f"input{self._files}.bin"
        (self._folder / file).write_bytes(content)
        return replace(tensor, file=file)


def _size_key(case: Case) -> tuple[bool, int]:
    """Return a sort key by size in elements, tiny cases last; `calling.py` sorts similarly."""
    sizes = [math.prod(entry.shape) for entry in case.tensors]
    return max(sizes, default=0) < FEW, sum(entry.storage for entry in case.tensors)


def label_of(inputs: Sequence[Input]) -> str:
    """Return a text on inputs in the form of `--shapes`, such as `x=f32[1000, 64], eps=1e-6`."""
    short_names = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "bool": "b1"}
    float8_names = {"float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2"}
    parts = []
    for entry in inputs:
        if isinstance(entry, ScalarInput):
            parts.append(f"{entry.name}={entry.value}")
            continue
        type_name = entry.dtype.rstrip("0123456789")
        dtype = (
            short_names[type_name] + entry.dtype[len(type_name) :]
            if type_name in short_names
            else entry.dtype
        )
        dtype = float8_names.get(entry.dtype, dtype)
        parts.append(f"{entry.name}={dtype}[{', '.join(map(str, entry.shape))}]")
    return ", ".join(parts)
