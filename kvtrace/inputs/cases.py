"""Cases: sets of inputs of a candidate, given or derived from given ones with other sizes or views.

A tensor is stored as its storage's bytes and a view of the storage, so that no process has to trust
another process's Python.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from kvtrace.schema.errors import KvtraceError

#: Element types by the short names that shapes are written with, and torch's names.
DTYPES: Final = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64",
    "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8", "b1": "bool",
    "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "fp64": "float64", "fp32": "float32",
    "fp16": "float16", "bool": "bool",
}  # fmt: skip
_SHORT_NAMES: Final = {name: short for short, name in reversed(DTYPES.items())}
#: Distance from 1 to the next number of each type; rounding costs up to half of that.
EPSILON: Final = {
    "float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7,
    "float8_e4m3fn": 2.0**-3, "float8_e5m2": 2.0**-2, "float8_e4m3fnuz": 2.0**-3,
    "float8_e5m2fnuz": 2.0**-2,
}  # fmt: skip
#: The kind of cases beyond those that the given inputs ask for.
BEYOND: Final = "beyond"
#: Sizes for names in annotations, in order of their appearance.
_NAMED: Final = (197, 130, 67, 29)
_TENSOR: Final = re.compile(r"\s*(?:(\w+)\s*=\s*)?(\w+)\s*\[([^\]]*)\]\s*")
_SCALAR: Final = re.compile(r"\s*(?:(\w+)\s*=\s*)?([-+\w.]+)\s*")
#: Cases whose tensors all have fewer elements are repeated last.
FEW: Final = 16
#: Types of one byte, with the first value and the end of their range.
BYTES: Final = {"int8": (-128, 128), "uint8": (0, 256)}


class UnsuitableInputs(KvtraceError):
    """The text or file of the inputs has another form than is needed; the text says which."""

    slug = "cannot-judge"


@dataclass(frozen=True, slots=True)
class TensorInput:
    """A tensor argument: a view into a storage of `storage` elements, beginning at `offset`.

    Strides and offset are in elements; `file` has the storage's bytes, if they were stored.
    `is_drawn`: nobody gave them, so that they say nothing about the sign and size of others.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage: int
    file: str = ""
    is_drawn: bool = False

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


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return NumPy's type for a type name of torch."""
    return np.dtype(getattr(ml_dtypes, name, name))


def strided(
    values: NDArray[Any], shape: Sequence[int], strides: Sequence[int], offset: int = 0
) -> NDArray[Any]:
    """Return a view of a flat array of any type; strides and offset are in elements.

    NumPy's function for this does not accept the types of ml_dtypes, so it gets raw bytes.
    """
    size = values.dtype.itemsize
    raw_values = values.view(f"V{size}") if values.dtype.kind == "V" or size == 1 else values
    view = np.lib.stride_tricks.as_strided(
        raw_values[offset:], tuple(shape), tuple(int(step) * size for step in strides)
    )
    return view.view(values.dtype)


def parsed_shapes(text: str, names: Sequence[str]) -> tuple[Input, ...]:
    """Parse inputs such as `x=f32[1000, 64], eps=1e-6`; inputs without a name get those of `names`.

    Raises:
        UnsuitableInputs: the text has another form.
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
        raise UnsuitableInputs(
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
    numbers = numbers_of_annotations(annotation for annotation, _ in parameters.values())
    named = [size for size in _NAMED if size not in numbers]
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
                sizes[extent] = named[len(sizes) % len(named)]
            shape.append(int(extent) if extent.isdigit() else sizes[extent])
        inputs.append(whole_tensor(name, DTYPES[match[2]], shape))
    return tuple(inputs) if any(isinstance(entry, TensorInput) for entry in inputs) else None


def numbers_of_annotations(annotations: Iterable[Any]) -> tuple[int, ...]:
    """Return the extents that annotations such as `"f32[M, 64]"` state as numbers."""
    matches = (_TENSOR.fullmatch(note) for note in annotations if isinstance(note, str))
    extents = (part.strip() for match in matches if match for part in match[3].split(","))
    return tuple(dict.fromkeys(int(extent) for extent in extents if extent.isdigit()))


def extents_by_name(inputs: Iterable[Input], annotations: Mapping[str, str]) -> dict[str, int]:
    """Return extents by name: `x.shape[0]`, and `M` of a parameter x annotated `"f32[M, N]"`."""
    extents = {
        f"{entry.name}.shape[{axis}]": extent
        for entry in inputs
        if isinstance(entry, TensorInput)
        for axis, extent in enumerate(entry.shape)
    }
    for name, note in annotations.items():
        match = _TENSOR.fullmatch(note)
        for axis, part in enumerate(match[3].split(",") if match else ()):
            extent = extents.get(f"{name}.shape[{axis}]")
            if extent is not None:
                extents.setdefault(part.strip(), extent)
    return extents


def label_of(inputs: Sequence[Input]) -> str:
    """Return a text on inputs in the form of `--shapes`, such as `x=f32[1000, 64], eps=1e-6`."""
    parts = []
    for entry in inputs:
        if isinstance(entry, ScalarInput):
            parts.append(f"{entry.name}={entry.value}")
            continue
        dtype = _SHORT_NAMES.get(entry.dtype, entry.dtype)
        parts.append(f"{entry.name}={dtype}[{', '.join(map(str, entry.shape))}]")
    return ", ".join(parts)


def write_cases(folder: Path, cases: Sequence[Case]) -> None:
    """Write the descriptions of cases into `cases.json`; contents are in separate files."""
    text = json.dumps([asdict(case) for case in cases])
    (folder / "cases.json").write_text(text, encoding="utf-8")


def read_cases(folder: Path) -> list[Case]:
    """Read the cases that `write_cases` has written.

    Raises:
        UnsuitableInputs: the file does not exist or has another form.
    """
    try:
        return [*map(case_of, json.loads((folder / "cases.json").read_text(encoding="utf-8")))]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnsuitableInputs(
            f"the file of the inputs is missing or was changed: {error!r}"
        ) from error


def case_of(entry: Mapping[str, Any]) -> Case:
    """Return the case that a JSON object describes.

    Raises:
        ValueError, KeyError, TypeError: it describes none.
    """
    return Case(
        str(entry["label"]),
        str(entry["kind"]),
        tuple(_input_of_json(value) for value in entry["inputs"]),
        tuple(tensor_of(value) for value in entry["weights"]),
        bool(entry["tracked"]),
        int(entry["cotangents"]),
    )


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
        str(entry["file"]), bool(entry.get("is_drawn")),
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
        raise UnsuitableInputs(f"{text!r} in the inputs {whole!r} is not a number") from error
