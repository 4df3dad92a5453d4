"""Inputs of a candidate: what is asked for, and the sizes, values and views that follow from it.

A case is one set of inputs. Tensors are kept as their storage's bytes and a view of it, so that no
process has to believe another one's Python.
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
#: The kind of cases that the given inputs do not ask for.
BEYOND: Final = "beyond"
#: Sizes that names in annotations represent, in order of their appearance.
_NAMED: Final = (197, 130, 67, 29)
_TENSOR: Final = re.compile(r"\s*(?:(\w+)\s*=\s*)?(\w+)\s*\[([^\]]*)\]\s*")
_SCALAR: Final = re.compile(r"\s*(?:(\w+)\s*=\s*)?([-+\w.]+)\s*")
#: Extents that are made unequal, and numbers of the file that become an extent, at most; elements
#: of one tensor that is made for a separate case.
_MOST_UNEQUAL: Final = 6
#: Cases whose tensors all have fewer elements are repeated last.
FEW: Final = 16
_MOST_NUMBERS: Final = 4
#: Blocks that sizes are put on both sides of, besides the smallest one: the largest ones.
_MOST_BLOCKS: Final = 3
#: Elements of the largest tensor in a case with one large extent.
_MANY: Final = 1 << 15
_MANY_OF_VECTORS: Final = 1 << 17
_MANY_OF_SQUARES: Final = 1 << 14
_MOST_ELEMENTS: Final = 1 << 21
#: Axes that a tensor needs for views of a kind; elements between rows of padded ones.
_LEAST_AXES: Final = {"transposed": 2, "padded": 2, "expanded": 2, "reversed": 3}
_PADDING: Final = 3
#: Types of one byte, and what their numbers begin with and end before.
BYTES: Final = {"int8": (-128, 128), "uint8": (0, 256)}
#: Bytes of a row whose sum 16 bits do not hold where each is the largest.
_WIDE: Final = 521
#: More programs than a grid's second and third axis take on CUDA devices.
_ROWS: Final = 65_537
_PRIMES: Final = (7, 131, 13, 257, 61)


@dataclass(frozen=True, slots=True)
class TensorInput:
    """A tensor that is handed over: a view of `storage` elements from `offset` on."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage: int
    file: str = ""

    @property
    def contiguous(self) -> bool:
        """Whether it is all of its storage, in order."""
        return self.offset == 0 and self.strides == contiguous_strides(self.shape)


@dataclass(frozen=True, slots=True)
class ScalarInput:
    """A number, text or None that is handed over."""

    name: str
    value: Any


Input = TensorInput | ScalarInput


@dataclass(frozen=True, slots=True)
class Case:
    """One set of inputs.

    `kind`: `given`, as they were asked for; `values`, the same sizes with other values; `sizes`,
    chosen sizes; `view`, the given ones as views of larger storages; `beyond`, what the given ones
    do not ask for, as unequal extents in place of equal ones. `weights` are those of a model, which
    follow the inputs. Where inputs of floats require gradients, the case is `tracked`; its last
    inputs are then as many `cotangents`, and its results the inputs' gradients, if there are any.
    """

    label: str
    kind: str
    inputs: tuple[Input, ...]
    weights: tuple[TensorInput, ...] = ()
    tracked: bool = False
    cotangents: int = 0

    @property
    def tensors(self) -> tuple[TensorInput, ...]:
        """All tensors, those of a model's weights last."""
        return (*self.inputs_of_tensors, *self.weights)

    @property
    def inputs_of_tensors(self) -> tuple[TensorInput, ...]:
        """The tensors that are handed over."""
        return tuple(each for each in self.inputs if isinstance(each, TensorInput))

    def shared_with(self, number: int) -> int | None:
        """Return the first input that is the same tensor (has the same file); None: no other is."""
        files = [each.file if isinstance(each, TensorInput) else "" for each in self.inputs]
        first = files.index(files[number])
        return first if files[number] and first < number else None

    @property
    def shares(self) -> bool:
        """Whether two inputs are one tensor."""
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
    """Read `x=f32[1000, 64], eps=1e-6`; without names, in the order of the parameters.

    Raises:
        CannotJudge: it is written otherwise.

    """
    inputs: list[Input] = []
    for position, part in enumerate(re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text)):
        default = names[position] if position < len(names) else f"input{position}"
        tensor, scalar = _TENSOR.fullmatch(part), _SCALAR.fullmatch(part)
        if tensor and tensor[2] in DTYPES:
            sizes = [each.strip() for each in tensor[3].split(",") if each.strip()]
            if all(each.isdigit() for each in sizes):
                shape = [int(each) for each in sizes]
                inputs.append(whole_tensor(tensor[1] or default, DTYPES[tensor[2]], shape))
                continue
        if scalar:
            inputs.append(ScalarInput(scalar[1] or default, _number(scalar[2], text)))
            continue
        raise CannotJudge(
            f"the inputs {text!r} are not written as x=f32[1000, 64], eps=1e-6; element types are "
            f"{', '.join(DTYPES)}"
        )
    return tuple(inputs)


def annotated(parameters: Mapping[str, Any]) -> tuple[Input, ...] | None:
    """Make inputs of annotations as `"f32[M, N]"`, None where a parameter has none.

    `parameters`: annotation and default of each; a number's default is its value.
    """
    sizes: dict[str, int] = {}
    inputs: list[Input] = []
    for name, (annotation, default) in parameters.items():
        found = _TENSOR.fullmatch(annotation) if isinstance(annotation, str) else None
        if found is None or found[2] not in DTYPES:
            if isinstance(default, int | float | bool | str):
                inputs.append(ScalarInput(name, default))
                continue
            return None
        shape = []
        for each in (part.strip() for part in found[3].split(",") if part.strip()):
            if not each.isdigit() and each not in sizes:
                sizes[each] = _NAMED[len(sizes) % len(_NAMED)]
            shape.append(int(each) if each.isdigit() else sizes[each])
        inputs.append(whole_tensor(name, DTYPES[found[2]], shape))
    return tuple(inputs) if any(isinstance(i, TensorInput) for i in inputs) else None


def other_sizes(
    inputs: Sequence[Input], fixed: Sequence[int], blocks: Sequence[int], numbers: Sequence[int]
) -> Iterator[tuple[str, dict[int, int]]]:
    """Give sizes to try: which extent becomes which. Equal extents stay equal.

    One of all extents is 1 or a prime; all of them are primes; one is just below a block's size, or
    beyond it, and just the largest block's; one is large; and one is a number of the file, or one
    more. `fixed`: extents that weights have, which stay.
    """
    extents = list(
        dict.fromkeys(
            size
            for each in inputs
            if isinstance(each, TensorInput)
            for size in each.shape
            if size > 1 and size not in fixed
        )
    )
    tried: set[tuple[tuple[int, int], ...]] = set()
    chosen = chain(
        _large(inputs, extents), _changes(extents, blocks), _named(inputs, extents, numbers),
        _around_blocks(inputs, extents, blocks),
    )  # fmt: skip
    for change in chosen:
        key = tuple(sorted(change.items()))
        if key in tried or all(a == b for a, b in change.items()):
            continue
        tried.add(key)
        if _largest(inputs, change) > _MOST_ELEMENTS:
            continue
        yield ", ".join(f"{old} → {new}" for old, new in change.items()), change


def _changes(extents: Sequence[int], blocks: Sequence[int]) -> Iterator[dict[int, int]]:
    if not extents:
        return
    yield {old: _PRIMES[at % len(_PRIMES)] for at, old in enumerate(extents)}
    yield dict.fromkeys(extents, 1)
    for at, old in enumerate(extents):
        for new in (1, _PRIMES[(at + 1) % len(_PRIMES)]):
            yield {old: new}
    first, last = extents[0], extents[-1]
    for block in (*blocks[-1:], *blocks[:1]):
        yield from ({last: block + 1}, {first: block - 1})


def _around_blocks(
    inputs: Sequence[Input], extents: Sequence[int], blocks: Sequence[int]
) -> Iterator[dict[int, int]]:
    """Give what else lies beside a block's size, as long as tensors stay small."""
    ends = dict.fromkeys((*extents[-1:], *extents[:1]))
    beside = [*blocks[-_MOST_BLOCKS:], *blocks[:1]]
    sizes = [size for block in beside for size in (block - 1, block + 1)]
    for new in dict.fromkeys((*blocks[-1:], *sizes)):
        for old in ends:
            if _largest(inputs, {old: new}) <= _MANY:
                yield {old: new}


def _large(inputs: Sequence[Input], extents: Sequence[int]) -> Iterator[dict[int, int]]:
    """Let the first extent grow until a tensor has many elements; fewer where it is two axes'."""
    if not extents:
        return
    first = extents[0]
    shapes = [each.shape for each in inputs if isinstance(each, TensorInput)]
    axes = {axis for shape in shapes for axis, size in enumerate(shape) if size == first}
    twice = len(axes) > 1
    many = _MANY_OF_SQUARES if twice else _MANY
    many = _MANY_OF_VECTORS if max(map(len, shapes)) == 1 else many
    growth = (many / max(_largest(inputs, {}), 1)) ** (1 / 2 if twice else 1)
    if growth > 1:
        yield {first: int(first * growth) | 1}


def _named(
    inputs: Sequence[Input], extents: Sequence[int], numbers: Sequence[int]
) -> Iterator[dict[int, int]]:
    """Let the first extent, or the elements, be numbers of the file, or just more.

    Below, at or beyond them something may differ.
    """
    if not extents:
        return
    first, largest = extents[0], _largest(inputs, {})
    for number in numbers[:_MOST_NUMBERS]:
        if largest == first:
            yield {first: number}
        yield {first: number + 1}
        if largest > first:
            yield {first: number * first // largest + 1}
            yield {**dict.fromkeys(extents, 1), extents[-1]: number + 1}


def wide_rows(inputs: Sequence[Input], fixed: Sequence[int]) -> dict[int, int]:
    """Return the change of extents that makes rows of bytes wide; empty: no input has such rows."""
    for each in inputs:
        if isinstance(each, TensorInput) and each.dtype in BYTES and each.shape:
            old = each.shape[-1]
            change = {old: _WIDE}
            if 1 < old < _WIDE and old not in fixed and _largest(inputs, change) <= _MOST_ELEMENTS:
                return change
    return {}


def extreme_sizes(
    inputs: Sequence[Input], fixed: Sequence[int]
) -> Iterator[tuple[str, str, dict[int, int]]]:  # fmt: skip
    """Yield extreme sizes: no elements, and more rows than a grid's second axis has programs.

    Each comes as a label, the case's kind and the change.
    """
    shapes = [each.shape for each in inputs if isinstance(each, TensorInput)]
    extents = dict.fromkeys(n for shape in shapes for n in shape if n > 1 and n not in fixed)
    if not extents:
        return
    first = next(iter(extents))
    yield "without elements", BEYOND, {first: 0}
    rows = {**dict.fromkeys(extents, 1), first: _ROWS}
    if max(map(len, shapes)) > 1 and _largest(inputs, rows) <= 2 * _ROWS:
        yield f"{_ROWS:,} rows", "sizes", rows


def unequal_extents(inputs: Sequence[Input], fixed: Sequence[int]) -> Iterator[tuple[Input, ...]]:
    """Give inputs of which one extent, or one and those below it, differs from equal ones."""
    shapes = [each.shape if isinstance(each, TensorInput) else () for each in inputs]
    places = [(at, axis) for at, shape in enumerate(shapes) for axis in range(len(shape))]
    sizes = {shapes[at][axis] for at, axis in places} - {1, *fixed}
    for size in sorted(sizes):
        same = [(at, axis) for at, axis in places if shapes[at][axis] == size]
        if len(same) == 1:
            continue
        outer = [(at, axis) for at, axis in same if axis < len(shapes[at]) - 1]
        for chosen in [outer, *([one] for one in same)][:_MOST_UNEQUAL]:
            if 0 < len(chosen) < len(same):
                yield tuple(
                    _with_extents(each, [axis for at, axis in chosen if at == number], size)
                    for number, each in enumerate(inputs)
                )


def _with_extents(given: Input, axes: Sequence[int], size: int) -> Input:
    """Return a tensor of which some extents are smaller."""
    if not isinstance(given, TensorInput):
        return given
    less = max(size * 3 // 4, 1)
    shape = [less if axis in axes else n for axis, n in enumerate(given.shape)]
    return whole_tensor(given.name, given.dtype, shape)


def other_whole_numbers(inputs: Sequence[Input]) -> Iterator[tuple[str, tuple[Input, ...]]]:
    """Give inputs with another whole number or truth value; extents stay."""
    extents = {n for each in inputs if isinstance(each, TensorInput) for n in each.shape}
    for number, each in enumerate(inputs):
        if not isinstance(each, ScalarInput) or not isinstance(each.value, int):
            continue
        if isinstance(each.value, bool):
            others: tuple[int, ...] = (not each.value,)
        else:
            others = () if each.value in extents else (each.value + 1, each.value // 2)
        for value in others:
            changed = (*inputs[:number], replace(each, value=value), *inputs[number + 1 :])
            yield f"{each.name}={value}", changed


def views_of(inputs: Sequence[Input]) -> tuple[str, ...]:
    """Return the kinds of views that differ for some tensor: see `as_views`."""
    axes = max((len(each.shape) for each in inputs if isinstance(each, TensorInput)), default=0)
    return ("strided", "offset", *(kind for kind, least in _LEAST_AXES.items() if axes >= least))


def other_fractions(inputs: Sequence[Input]) -> Iterator[tuple[str, tuple[Input, ...]]]:
    """Give inputs with a number beyond 1 in place of a fraction, as a slope or a rate is."""
    for number, each in enumerate(inputs):
        if isinstance(each, ScalarInput) and type(each.value) is float and 0 < each.value < 1:
            changed = replace(each, value=1.0 + each.value)
            label = f"{each.name}={changed.value:g}"
            yield label, (*inputs[:number], changed, *inputs[number + 1 :])


def exchanged_numbers(inputs: Sequence[Input]) -> Iterator[tuple[str, tuple[Input, ...]]]:
    """Yield inputs with two neighboring float scalars swapped, such as the limits of a clamp."""
    floats = [
        number
        for number, each in enumerate(inputs)
        if isinstance(each, ScalarInput) and type(each.value) is float
    ]
    for one, other in pairwise(floats):
        first, second = inputs[one], inputs[other]
        assert isinstance(first, ScalarInput)
        assert isinstance(second, ScalarInput)
        if first.value != second.value:
            changed = [*inputs]
            changed[one] = replace(first, value=second.value)
            changed[other] = replace(second, value=first.value)
            yield f"{first.name}={second.value:g}, {second.name}={first.value:g}", tuple(changed)


def _largest(inputs: Sequence[Input], change: Mapping[int, int]) -> int:
    return max(
        (
            int(np.prod([change.get(size, size) for size in each.shape], dtype=np.int64))
            for each in inputs
            if isinstance(each, TensorInput)
        ),
        default=0,
    )


def resized(inputs: Sequence[Input], change: Mapping[int, int]) -> tuple[Input, ...]:
    """Return inputs with other extents; whole numbers that were an extent follow it."""
    result: list[Input] = []
    for each in inputs:
        if isinstance(each, TensorInput):
            shape = [change.get(size, size) for size in each.shape]
            result.append(whole_tensor(each.name, each.dtype, shape))
        elif type(each.value) is int and each.value in change:
            result.append(replace(each, value=change[each.value]))
        else:
            result.append(each)
    return tuple(result)


def as_views(inputs: Sequence[Input], kind: str) -> tuple[Input, ...]:
    """Return tensors as views.

    `strided`, every other element; `offset`; `transposed`, the last two axes exchanged; `reversed`,
    the first axis innermost; `padded`, rows that are not behind each other; `expanded`, floats that
    are the same along the first axis.
    """
    result: list[Input] = []
    for each in inputs:
        if not isinstance(each, TensorInput) or len(each.shape) < _LEAST_AXES.get(kind, 1):
            result.append(each)
        elif kind == "reversed":
            strides = contiguous_strides(each.shape[::-1])
            result.append(replace(each, strides=strides[::-1]))
        elif kind == "padded":
            wider = contiguous_strides((*each.shape[:-1], each.shape[-1] + _PADDING))
            count = math.prod(each.shape[:-1]) * (each.shape[-1] + _PADDING)
            result.append(replace(each, strides=wider, storage=count))
        elif kind == "expanded":
            floats = each.dtype.startswith(("float", "bfloat"))
            strides, count = (0, *each.strides[1:]), math.prod(each.shape[1:])
            result.append(replace(each, strides=strides, storage=count) if floats else each)
        elif kind == "strided":
            strides = tuple(2 * step for step in each.strides)
            view = replace(each, strides=strides, storage=2 * each.storage + 2)
            result.append(view)
        elif kind == "transposed":
            strides = contiguous_strides((*each.shape[:-2], *each.shape[:-3:-1]))
            result.append(replace(each, strides=(*strides[:-2], *strides[:-3:-1])))
        else:
            result.append(replace(each, offset=3, storage=each.storage + 7))
    return tuple(result)


def draw_values(
    tensor: TensorInput, random: np.random.Generator, scalars: Mapping[str, int]
) -> NDArray[Any]:
    """Draw values for a storage, as float64 or int64: normal floats, small whole numbers.

    Bytes have all values.
    """
    if tensor.dtype.startswith(("float", "bfloat")):
        return random.standard_normal(tensor.storage)
    if tensor.dtype == "bool":
        return random.integers(0, 2, tensor.storage)
    if tensor.dtype in BYTES:  # data, where wider ones may be positions and lengths
        return random.integers(*BYTES[tensor.dtype], tensor.storage)
    top = min([*(n for n in scalars.values() if n > 0), 100])
    return random.integers(0, max(top, 1), tensor.storage)


def write_cases(folder: Path, cases: Sequence[Case]) -> None:
    """Write what the cases are, besides the files with their contents."""
    objects = [
        {
            "label": case.label,
            "kind": case.kind,
            "inputs": [_object(each) for each in case.inputs],
            "weights": [_object(each) for each in case.weights],
            "tracked": case.tracked,
            "cotangents": case.cotangents,
        }
        for case in cases
    ]
    (folder / "cases.json").write_text(json.dumps(objects), encoding="utf-8")


def read_cases(folder: Path) -> list[Case]:
    """Read what `write_cases` has written.

    Raises:
        CannotJudge: it is not there, or is not as we write it.

    """
    try:
        objects = json.loads((folder / "cases.json").read_text(encoding="utf-8"))
        return [
            Case(
                str(each["label"]),
                str(each["kind"]),
                tuple(_input(one) for one in each["inputs"]),
                tuple(tensor_of(one) for one in each["weights"]),
                bool(each["tracked"]),
                int(each["cotangents"]),
            )
            for each in objects
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CannotJudge(f"the inputs were not left as kvtrace writes them: {error!r}") from error


def _object(given: Input) -> dict[str, Any]:
    return asdict(given)


def _input(given: Mapping[str, Any]) -> Input:
    if "dtype" in given:
        return tensor_of(given)
    return ScalarInput(str(given["name"]), given["value"])


def tensor_of(given: Mapping[str, Any]) -> TensorInput:
    """Read a tensor from its JSON object, and check that its view lies inside its storage."""
    tensor = TensorInput(
        str(given["name"]), str(given["dtype"]), tuple(map(int, given["shape"])),
        tuple(map(int, given["strides"])), int(given["offset"]), int(given["storage"]),
        str(given["file"]),
    )  # fmt: skip
    steps = zip(tensor.shape, tensor.strides, strict=True)
    reach = sum((size - 1) * step for size, step in steps) if all(tensor.shape) else -1
    if (
        tensor.dtype not in DTYPES.values()
        or min([*tensor.shape, *tensor.strides, tensor.offset, tensor.storage, 0]) < 0
        or tensor.offset + reach >= max(tensor.storage, 1)
        or "/" in tensor.file
    ):
        raise ValueError(f"not a tensor of the request: {given}")
    return tensor


def _number(text: str, whole: str) -> Any:
    named = {"True": True, "False": False, "None": None}
    if text in named:
        return named[text]
    try:
        return int(text.replace("_", "")) if re.fullmatch(r"[-+]?[\d_]+", text) else float(text)
    except ValueError as error:
        raise CannotJudge(f"{text!r} in the inputs {whole!r} is not a number") from error
