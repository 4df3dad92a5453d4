"""Cases: sets of inputs of a candidate, given or derived from given ones with other sizes or views.

A tensor is stored as its storage's bytes and a view of the storage, so that no process has to trust
another process's Python.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.judge.request import CannotJudge

#: Element types by the short names that shapes are written with, and torch's names.
DTYPES: Final = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64",
    "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8", "b1": "bool",
    "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "fp64": "float64", "fp32": "float32",
    "fp16": "float16", "bool": "bool",
}  # fmt: skip
#: The kind of cases beyond those that the given inputs ask for.
BEYOND: Final = "beyond"
#: Sizes for names in annotations, in order of their appearance.
_NAMED: Final = (197, 130, 67, 29)
_TENSOR: Final = re.compile(r"\s*(?:(\w+)\s*=\s*)?(\w+)\s*\[([^\]]*)\]\s*")
_SCALAR: Final = re.compile(r"\s*(?:(\w+)\s*=\s*)?([-+\w.]+)\s*")
#: Choices of equal extents to make unequal, at most.
_MOST_UNEQUAL: Final = 6
#: Cases whose tensors all have fewer elements are repeated last.
FEW: Final = 16
#: Numbers of the file that become an extent, at most.
_MOST_NUMBERS: Final = 4
#: Largest blocks that get sizes on both sides, besides the smallest block.
_MOST_BLOCKS: Final = 3
#: Elements of the largest tensor in a case with one large extent.
_MANY: Final = 1 << 15
_MANY_OF_VECTORS: Final = 1 << 17
_MANY_OF_SQUARES: Final = 1 << 14
#: Elements of one tensor in a derived case, at most.
_MOST_ELEMENTS: Final = 1 << 21
#: Axes that a tensor needs for views of a kind; elements between rows of padded views.
_LEAST_AXES: Final = {"transposed": 2, "padded": 2, "expanded": 2, "reversed": 3}
_PADDING: Final = 3
#: Types of one byte, with the first value and the end of their range.
BYTES: Final = {"int8": (-128, 128), "uint8": (0, 256)}
#: Length of a row whose largest bytes have a sum beyond 16 bits.
_WIDE: Final = 521
#: More programs than a grid's second and third axis take on CUDA devices.
_ROWS: Final = 65_537
_PRIMES: Final = (7, 131, 13, 257, 61)


@dataclass(frozen=True, slots=True)
class TensorInput:
    """A tensor argument: a view into a storage of `storage` elements, beginning at `offset`.

    Strides and offset are in elements; `file` has the storage's bytes, if they were stored.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage: int
    file: str = ""

    @property
    def contiguous(self) -> bool:
        """The view begins at the storage's first element, and its elements are consecutive."""
        return self.offset == 0 and self.strides == contiguous_strides(self.shape)


@dataclass(frozen=True, slots=True)
class ScalarInput:
    """An argument that is a number, a text or None."""

    name: str
    value: Any


Input = TensorInput | ScalarInput


@dataclass(frozen=True, slots=True)
class Case:
    """One set of inputs.

    `kind`: `given`, the given inputs; `values`, the same sizes with other values; `sizes`, other
    sizes; `view`, the given inputs as views of larger storages; `beyond`, inputs that a candidate
    for the given ones need not support, such as unequal extents in place of equal ones. `weights`
    belong to a model, and follow the inputs. In a `tracked` case, inputs of floats require
    gradients. `cotangents` is their number among the last inputs; with any, the case's results are
    the gradients of the other inputs.
    """

    label: str
    kind: str
    inputs: tuple[Input, ...]
    weights: tuple[TensorInput, ...] = ()
    tracked: bool = False
    cotangents: int = 0

    @property
    def tensors(self) -> tuple[TensorInput, ...]:
        """All tensors: inputs, then weights of a model."""
        return (*self.inputs_of_tensors, *self.weights)

    @property
    def inputs_of_tensors(self) -> tuple[TensorInput, ...]:
        """The inputs that are tensors."""
        return tuple(entry for entry in self.inputs if isinstance(entry, TensorInput))

    def shared_with(self, number: int) -> int | None:
        """Return the number of the first earlier input with the same file, or None.

        Inputs with the same file are the same tensor.
        """
        files = [entry.file if isinstance(entry, TensorInput) else "" for entry in self.inputs]
        first_number = files.index(files[number])
        return first_number if files[number] and first_number < number else None

    @property
    def shares(self) -> bool:
        """Two inputs are the same tensor."""
        return any(self.shared_with(number) is not None for number in range(len(self.inputs)))


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a tensor whose elements lie one after the other."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def whole_tensor(name: str, dtype: str, shape: Sequence[int]) -> TensorInput:
    """Return a contiguous tensor with a separate storage."""
    count = int(np.prod(shape, dtype=np.int64)) if shape else 1
    return TensorInput(name, dtype, tuple(shape), contiguous_strides(shape), 0, count)


def parsed_shapes(text: str, names: Sequence[str]) -> tuple[Input, ...]:
    """Parse inputs such as `x=f32[1000, 64], eps=1e-6`; inputs without a name get those of `names`.

    Raises:
        CannotJudge: the text has another form.
    """
    inputs: list[Input] = []
    for position, part in enumerate(re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text)):
        default = names[position] if position < len(names) else f"input{position}"
        tensor, scalar = _TENSOR.fullmatch(part), _SCALAR.fullmatch(part)
        if tensor and tensor[2] in DTYPES:
            sizes = [size.strip() for size in tensor[3].split(",") if size.strip()]
            if all(size.isdigit() for size in sizes):
                shape = [int(size) for size in sizes]
                inputs.append(whole_tensor(tensor[1] or default, DTYPES[tensor[2]], shape))
                continue
        if scalar:
            inputs.append(ScalarInput(scalar[1] or default, _parsed_scalar(scalar[2], text)))
            continue
        raise CannotJudge(
            f"the inputs {text!r} are not written as x=f32[1000, 64], eps=1e-6; element types are "
            f"{', '.join(DTYPES)}"
        )
    return tuple(inputs)


def inputs_by_annotations(parameters: Mapping[str, Any]) -> tuple[Input, ...] | None:
    """Return inputs by annotations of parameters such as `"f32[M, N]"`.

    `parameters` has annotation and default of each parameter. A parameter without such an
    annotation gets its default, if that is a scalar; otherwise, or without tensors, None is
    returned.
    """
    sizes: dict[str, int] = {}
    inputs: list[Input] = []
    for name, (annotation, default) in parameters.items():
        match = _TENSOR.fullmatch(annotation) if isinstance(annotation, str) else None
        if match is None or match[2] not in DTYPES:
            if isinstance(default, int | float | bool | str):
                inputs.append(ScalarInput(name, default))
                continue
            return None
        shape = []
        for extent in (part.strip() for part in match[3].split(",") if part.strip()):
            if not extent.isdigit() and extent not in sizes:
                sizes[extent] = _NAMED[len(sizes) % len(_NAMED)]
            shape.append(int(extent) if extent.isdigit() else sizes[extent])
        inputs.append(whole_tensor(name, DTYPES[match[2]], shape))
    return tuple(inputs) if any(isinstance(entry, TensorInput) for entry in inputs) else None


def other_sizes(
    inputs: Sequence[Input], fixed: Sequence[int], blocks: Sequence[int], numbers: Sequence[int]
) -> Iterator[tuple[str, dict[int, int]]]:
    """Yield changes of extents (old: new) with labels; equal extents change together.

    One or all extents become 1 or a prime; one becomes a block's size, or one less or more; one
    becomes large; one becomes a number of the file, or one more. `fixed` extents, those of weights,
    do not change.
    """
    extents = list(
        dict.fromkeys(
            size
            for entry in inputs
            if isinstance(entry, TensorInput)
            for size in entry.shape
            if size > 1 and size not in fixed
        )
    )
    tried_changes: set[tuple[tuple[int, int], ...]] = set()
    changes = chain(
        _large_sizes(inputs, extents), _small_sizes(extents, blocks),
        _sizes_of_numbers(inputs, extents, numbers), _sizes_around_blocks(inputs, extents, blocks),
    )  # fmt: skip
    for change in changes:
        key = tuple(sorted(change.items()))
        if key in tried_changes or all(a == b for a, b in change.items()):
            continue
        tried_changes.add(key)
        if _most_elements(inputs, change) > _MOST_ELEMENTS:
            continue
        yield ", ".join(f"{old} → {new}" for old, new in change.items()), change


def _small_sizes(extents: Sequence[int], blocks: Sequence[int]) -> Iterator[dict[int, int]]:
    if not extents:
        return
    yield {old: _PRIMES[at % len(_PRIMES)] for at, old in enumerate(extents)}
    yield dict.fromkeys(extents, 1)
    for at, old in enumerate(extents):
        for new in (1, _PRIMES[(at + 1) % len(_PRIMES)]):
            yield {old: new}
    first_extent, last_extent = extents[0], extents[-1]
    for block in (*blocks[-1:], *blocks[:1]):
        yield from ({last_extent: block + 1}, {first_extent: block - 1})


def _sizes_around_blocks(
    inputs: Sequence[Input], extents: Sequence[int], blocks: Sequence[int]
) -> Iterator[dict[int, int]]:
    """Yield changes of the first and last extent to blocks' sizes and neighbors, if small."""
    outer_extents = dict.fromkeys((*extents[-1:], *extents[:1]))
    block_sizes = [*blocks[-_MOST_BLOCKS:], *blocks[:1]]
    sizes = [size for block in block_sizes for size in (block - 1, block + 1)]
    for new in dict.fromkeys((*blocks[-1:], *sizes)):
        for old in outer_extents:
            if _most_elements(inputs, {old: new}) <= _MANY:
                yield {old: new}


def _large_sizes(inputs: Sequence[Input], extents: Sequence[int]) -> Iterator[dict[int, int]]:
    """Yield the change of the first extent that gives the largest tensor many elements.

    There are fewer if the extent occurs on several axes, which then grow together.
    """
    if not extents:
        return
    first_extent = extents[0]
    shapes = [entry.shape for entry in inputs if isinstance(entry, TensorInput)]
    axes = {axis for shape in shapes for axis, size in enumerate(shape) if size == first_extent}
    is_square = len(axes) > 1
    elements = _MANY_OF_SQUARES if is_square else _MANY
    elements = _MANY_OF_VECTORS if max(map(len, shapes)) == 1 else elements
    growth = (elements / max(_most_elements(inputs, {}), 1)) ** (1 / 2 if is_square else 1)
    if growth > 1:
        yield {first_extent: int(first_extent * growth) | 1}


def _sizes_of_numbers(
    inputs: Sequence[Input], extents: Sequence[int], numbers: Sequence[int]
) -> Iterator[dict[int, int]]:
    """Yield changes to integers of the file, or just above, where a kernel may behave otherwise."""
    if not extents:
        return
    first_extent, largest = extents[0], _most_elements(inputs, {})
    for number in numbers[:_MOST_NUMBERS]:
        if largest == first_extent:
            yield {first_extent: number}
        yield {first_extent: number + 1}
        if largest > first_extent:
            yield {first_extent: number * first_extent // largest + 1}
            yield {**dict.fromkeys(extents, 1), extents[-1]: number + 1}


def wide_rows(inputs: Sequence[Input], fixed: Sequence[int]) -> dict[int, int]:
    """Return the change of extent that makes rows of bytes wide; {} if no input has such rows."""
    for entry in inputs:
        if isinstance(entry, TensorInput) and entry.dtype in BYTES and entry.shape:
            old = entry.shape[-1]
            change = {old: _WIDE}
            if (
                1 < old < _WIDE
                and old not in fixed
                and _most_elements(inputs, change) <= _MOST_ELEMENTS
            ):
                return change
    return {}


def extreme_sizes(
    inputs: Sequence[Input], fixed: Sequence[int]
) -> Iterator[tuple[str, str, dict[int, int]]]:  # fmt: skip
    """Yield label, kind and change of extents for no elements, and for 65,537 rows.

    CUDA allows fewer programs than these rows along a grid's second axis.
    """
    shapes = [entry.shape for entry in inputs if isinstance(entry, TensorInput)]
    extents = dict.fromkeys(n for shape in shapes for n in shape if n > 1 and n not in fixed)
    if not extents:
        return
    first_extent = next(iter(extents))
    yield "without elements", BEYOND, {first_extent: 0}
    rows = {**dict.fromkeys(extents, 1), first_extent: _ROWS}
    if max(map(len, shapes)) > 1 and _most_elements(inputs, rows) <= 2 * _ROWS:
        yield f"{_ROWS:,} rows", "sizes", rows


def unequal_extents(inputs: Sequence[Input], fixed: Sequence[int]) -> Iterator[tuple[Input, ...]]:
    """Yield inputs in which some of several equal extents are smaller than the others."""
    shapes = [entry.shape if isinstance(entry, TensorInput) else () for entry in inputs]
    axes = [
        (input_number, axis)
        for input_number, shape in enumerate(shapes)
        for axis in range(len(shape))
    ]
    sizes = {shapes[input_number][axis] for input_number, axis in axes} - {1, *fixed}
    for size in sorted(sizes):
        equal_axes = [
            (input_number, axis)
            for input_number, axis in axes
            if shapes[input_number][axis] == size
        ]
        if len(equal_axes) == 1:
            continue
        outer_axes = [
            (input_number, axis)
            for input_number, axis in equal_axes
            if axis < len(shapes[input_number]) - 1
        ]
        for changed_axes in [outer_axes, *([single_axis] for single_axis in equal_axes)][
            :_MOST_UNEQUAL
        ]:
            if 0 < len(changed_axes) < len(equal_axes):
                yield tuple(
                    _with_extents(
                        entry,
                        [axis for input_number, axis in changed_axes if input_number == number],
                        size,
                    )
                    for number, entry in enumerate(inputs)
                )


def _with_extents(entry: Input, axes: Sequence[int], size: int) -> Input:
    """Return a contiguous tensor whose extents along `axes` are 3/4 of `size`; scalars stay."""
    if not isinstance(entry, TensorInput):
        return entry
    smaller = max(size * 3 // 4, 1)
    shape = [smaller if axis in axes else n for axis, n in enumerate(entry.shape)]
    return whole_tensor(entry.name, entry.dtype, shape)


def other_whole_numbers(inputs: Sequence[Input]) -> Iterator[tuple[str, tuple[Input, ...]]]:
    """Yield label and inputs with one other integer or boolean, unless it equals an extent."""
    extents = {n for entry in inputs if isinstance(entry, TensorInput) for n in entry.shape}
    for number, entry in enumerate(inputs):
        if not isinstance(entry, ScalarInput) or not isinstance(entry.value, int):
            continue
        if isinstance(entry.value, bool):
            other_values: tuple[int, ...] = (not entry.value,)
        else:
            other_values = () if entry.value in extents else (entry.value + 1, entry.value // 2)
        for value in other_values:
            changed = (*inputs[:number], replace(entry, value=value), *inputs[number + 1 :])
            yield f"{entry.name}={value}", changed


def views_of(inputs: Sequence[Input]) -> tuple[str, ...]:
    """Return the kinds of views that some tensor has enough axes for; see `as_views`."""
    axes = max((len(entry.shape) for entry in inputs if isinstance(entry, TensorInput)), default=0)
    return ("strided", "offset", *(kind for kind, least in _LEAST_AXES.items() if axes >= least))


def other_fractions(inputs: Sequence[Input]) -> Iterator[tuple[str, tuple[Input, ...]]]:
    """Yield label and inputs with a float scalar between 0 and 1 increased by 1."""
    for number, entry in enumerate(inputs):
        if isinstance(entry, ScalarInput) and type(entry.value) is float and 0 < entry.value < 1:
            changed = replace(entry, value=1.0 + entry.value)
            label = f"{entry.name}={changed.value:g}"
            yield label, (*inputs[:number], changed, *inputs[number + 1 :])


def exchanged_numbers(inputs: Sequence[Input]) -> Iterator[tuple[str, tuple[Input, ...]]]:
    """Yield label and inputs with two neighboring float scalars swapped, such as clamp limits."""
    floats = [
        number
        for number, entry in enumerate(inputs)
        if isinstance(entry, ScalarInput) and type(entry.value) is float
    ]
    for left_index, right_index in pairwise(floats):
        left, right = inputs[left_index], inputs[right_index]
        assert isinstance(left, ScalarInput)
        assert isinstance(right, ScalarInput)
        if left.value != right.value:
            changed = [*inputs]
            changed[left_index] = replace(left, value=right.value)
            changed[right_index] = replace(right, value=left.value)
            yield (
                f"{left.name}={right.value:g}, {right.name}={left.value:g}",
                tuple(changed),
            )


def _most_elements(inputs: Sequence[Input], change: Mapping[int, int]) -> int:
    return max(
        (
            int(np.prod([change.get(size, size) for size in entry.shape], dtype=np.int64))
            for entry in inputs
            if isinstance(entry, TensorInput)
        ),
        default=0,
    )


def resized_inputs(inputs: Sequence[Input], change: Mapping[int, int]) -> tuple[Input, ...]:
    """Return contiguous inputs with changed extents, also in integers that equal an extent."""
    result: list[Input] = []
    for entry in inputs:
        if isinstance(entry, TensorInput):
            shape = [change.get(size, size) for size in entry.shape]
            result.append(whole_tensor(entry.name, entry.dtype, shape))
        elif type(entry.value) is int and entry.value in change:
            result.append(replace(entry, value=change[entry.value]))
        else:
            result.append(entry)
    return tuple(result)


def as_views(inputs: Sequence[Input], kind: str) -> tuple[Input, ...]:
    """Return the inputs with tensors as views of one kind; tensors with too few axes stay.

    `strided`: every other element of a storage. `offset`: from the fourth element on. `transposed`:
    the last two axes exchanged. `reversed`: the first axis innermost. `padded`: gaps between rows.
    `expanded`: floats that are the same along the first axis.
    """
    result: list[Input] = []
    for entry in inputs:
        if not isinstance(entry, TensorInput) or len(entry.shape) < _LEAST_AXES.get(kind, 1):
            result.append(entry)
        elif kind == "reversed":
            strides = contiguous_strides(entry.shape[::-1])
            result.append(replace(entry, strides=strides[::-1]))
        elif kind == "padded":
            padded_strides = contiguous_strides((*entry.shape[:-1], entry.shape[-1] + _PADDING))
            count = math.prod(entry.shape[:-1]) * (entry.shape[-1] + _PADDING)
            result.append(replace(entry, strides=padded_strides, storage=count))
        elif kind == "expanded":
            floats = entry.dtype.startswith(("float", "bfloat"))
            strides, count = (0, *entry.strides[1:]), math.prod(entry.shape[1:])
            result.append(replace(entry, strides=strides, storage=count) if floats else entry)
        elif kind == "strided":
            strides = tuple(2 * step for step in entry.strides)
            view = replace(entry, strides=strides, storage=2 * entry.storage + 2)
            result.append(view)
        elif kind == "transposed":
            strides = contiguous_strides((*entry.shape[:-2], *entry.shape[:-3:-1]))
            result.append(replace(entry, strides=(*strides[:-2], *strides[:-3:-1])))
        else:
            result.append(replace(entry, offset=3, storage=entry.storage + 7))
    return tuple(result)


def draw_values(
    tensor: TensorInput, random: np.random.Generator, scalars: Mapping[str, int]
) -> NDArray[Any]:
    """Draw values for a tensor's storage: normal floats, integers of 0 or 1 up, bytes of any value.

    Integers are below the smallest of the extents `scalars`, and below 100.
    """
    if tensor.dtype.startswith(("float", "bfloat")):
        return random.standard_normal(tensor.storage)
    if tensor.dtype == "bool":
        return random.integers(0, 2, tensor.storage)
    if tensor.dtype in BYTES:  # bytes are data; wider integers may be positions or lengths
        return random.integers(*BYTES[tensor.dtype], tensor.storage)
    limit = min([*(n for n in scalars.values() if n > 0), 100])
    return random.integers(0, max(limit, 1), tensor.storage)


def write_cases(folder: Path, cases: Sequence[Case]) -> None:
    """Write the descriptions of cases into `cases.json`; contents are in separate files."""
    objects = [
        {
            "label": case.label,
            "kind": case.kind,
            "inputs": [asdict(entry) for entry in case.inputs],
            "weights": [asdict(weight) for weight in case.weights],
            "tracked": case.tracked,
            "cotangents": case.cotangents,
        }
        for case in cases
    ]
    (folder / "cases.json").write_text(json.dumps(objects), encoding="utf-8")


def read_cases(folder: Path) -> list[Case]:
    """Read the cases that `write_cases` has written.

    Raises:
        CannotJudge: the file does not exist or has another form.
    """
    try:
        objects = json.loads((folder / "cases.json").read_text(encoding="utf-8"))
        return [
            Case(
                str(entry["label"]),
                str(entry["kind"]),
                tuple(_input_of_json(value) for value in entry["inputs"]),
                tuple(tensor_of(value) for value in entry["weights"]),
                bool(entry["tracked"]),
                int(entry["cotangents"]),
            )
            for entry in objects
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CannotJudge(f"the file of the inputs is missing or was changed: {error!r}") from error


def _input_of_json(entry: Mapping[str, Any]) -> Input:
    if "dtype" in entry:
        return tensor_of(entry)
    return ScalarInput(str(entry["name"]), entry["value"])


def tensor_of(entry: Mapping[str, Any]) -> TensorInput:
    """Return the tensor that a JSON object describes.

    Raises:
        ValueError: the type is unknown, or the view is not inside of its storage.
    """
    tensor = TensorInput(
        str(entry["name"]), str(entry["dtype"]), tuple(map(int, entry["shape"])),
        tuple(map(int, entry["strides"])), int(entry["offset"]), int(entry["storage"]),
        str(entry["file"]),
    )  # fmt: skip
    extents_and_strides = zip(tensor.shape, tensor.strides, strict=True)
    last_offset = (
        sum((size - 1) * step for size, step in extents_and_strides) if all(tensor.shape) else -1
    )
    if (
        tensor.dtype not in DTYPES.values()
        or min([*tensor.shape, *tensor.strides, tensor.offset, tensor.storage, 0]) < 0
        or tensor.offset + last_offset >= max(tensor.storage, 1)
        or "/" in tensor.file
    ):
        raise ValueError(f"the description of a tensor is invalid: {entry}")
    return tensor


def _parsed_scalar(text: str, whole: str) -> Any:
    constants = {"True": True, "False": False, "None": None}
    if text in constants:
        return constants[text]
    try:
        return int(text.replace("_", "")) if re.fullmatch(r"[-+]?[\d_]+", text) else float(text)
    except ValueError as error:
        raise CannotJudge(f"{text!r} in the inputs {whole!r} is not a number") from error
