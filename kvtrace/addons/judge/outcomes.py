"""Results of a case's launches on one set of values, compared with the reference's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.judge.comparing import ComparedResult, compare_result
from kvtrace.addons.judge.launches import Memory, content_of, is_never_written
from kvtrace.addons.judge.reference import Expected
from kvtrace.addons.judge.request import CannotJudge
from kvtrace.addons.judge.tensors import array
from kvtrace.inputs.cases import EPSILON, Case, TensorInput, numpy_dtype
from kvtrace.ir import Op

#: The rule of writes outside of a tensor's storage.
STRAY_WRITE: Final = "out-of-bounds"


@dataclass(frozen=True, slots=True)
class Defect:
    """A defect of a case's results.

    `op`: the op that wrote the results; None if not known. `share`: the share of wrong elements.
    """

    rule: str
    severity: str
    message: str
    hint: str
    op: Op | None = None
    share: float = 1.0


@dataclass
class Outcome:
    """Results of a case's launches on one set of values, and comparisons with the reference."""

    memory: Memory
    results: list[NDArray[Any]] = field(default_factory=list)
    #: Planes of each result, or the reason why there are none.
    planes: list[NDArray[Any] | str] = field(default_factory=list)
    comparisons: list[ComparedResult] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)

    @property
    def is_right(self) -> bool:
        """All launches were evaluated, and no defect is an error."""
        return self.memory.reason is None and all(
            defect.severity != "error" for defect in self.defects
        )


@dataclass(frozen=True, slots=True)
class Values:
    """A case with the folder of its contents, and the reference's results with their folder."""

    case: Case
    inputs: Path
    expected: Expected
    answers: Path


def outcome_of(
    memory: Memory, values: Values, entries: Sequence[Mapping[str, Any]], child: Path, *,
    tf32: bool, narrow: bool,
) -> Outcome:  # fmt: skip
    """Compare memory after a case's launches with the reference's results.

    Args:
        memory: Memory after the launches.
        values: The values that the launches were evaluated on.
        entries: The log of the case.
        child: The folder of the candidate's process, with contents.
        tf32: Dots may have rounded their factors to tf32.
        narrow: A sum is kept in 16 bits.
    """
    outcome = Outcome(memory)
    returned = next(entry["returned"] for entry in entries if "returned" in entry)
    if memory.reason is not None:
        return outcome
    if memory.stray_write is not None:
        op, name = memory.stray_write
        text = f"the kernel writes outside of {name}"
        hint = "mask what lies outside, below zero too"
        outcome.defects.append(Defect(STRAY_WRITE, "error", text, hint, op))
    if not values.case.cotangents:  # a backward pass may overwrite its inputs
        outcome.defects += _modified_inputs(memory, values, entries)
    ops: list[Op | None] = []
    if returned:
        for result in returned:
            outcome.results.append(result_of(result, memory, child))
            outcome.planes.append(_planes_of_result(memory, result, outcome.results[-1]))
            number = result.get("storage")
            ops.append(None if number is None else memory.written_by.get(int(number)))
    else:
        _use_written_inputs(outcome, ops, values)
    expected = values.expected
    if not values.case.cotangents:  # a gradient may be a cotangent itself
        outcome.defects += _shared_results(returned, values.case, expected.changed)
    if outcome.results and len(outcome.results) != len(expected.native):
        outcome.defects.append(
            Defect(
                "result-count", "error",
                f"{len(outcome.results)} results are returned, but {len(expected.native)} by the "
                "reference",
                "return what the reference returns, in its order",
            )
        )  # fmt: skip
        return outcome
    for index, got in enumerate(outcome.results):
        is_blank = is_never_written(got, str(got.dtype))
        if is_blank.any() and list(got.shape) == expected.native[index]["shape"]:
            outcome.defects.append(_unwritten_defect(index, is_blank, ops[index]))
        else:
            _compare_with_reference(outcome, index, values, ops[index], tf32=tf32, narrow=narrow)
    return outcome


def result_of(entry: Mapping[str, Any], memory: Memory, child: Path) -> NDArray[Any]:
    """Return the elements of a logged result, from memory after the launches or stored contents."""
    if "storage" in entry:
        return memory.view(entry).copy()
    if "content" not in entry:
        value = entry.get("value")
        return np.asarray(value if isinstance(value, int | float | bool) else np.nan, np.float64)
    content = content_of(child, entry["content"])
    try:
        return np.frombuffer(content, numpy_dtype(str(entry["dtype"]))).reshape(entry["shape"])
    except (ValueError, TypeError, AttributeError) as error:
        raise CannotJudge(f"the log of launches was tampered with: {error!r}") from error


def _use_written_inputs(outcome: Outcome, ops: list[Op | None], values: Values) -> None:
    """Add the inputs that were written to as results of a candidate that returns nothing.

    Adds to `outcome` and `ops`; a defect if no input was written.
    """
    memory, expected = outcome.memory, values.expected
    for number, tensor in enumerate(values.case.tensors):
        if tensor.name in expected.changed:
            view = {**asdict(tensor), "storage": number}
            outcome.results.append(memory.view(view).copy())
            outcome.planes.append(_planes_of_result(memory, view, outcome.results[-1]))
            ops.append(memory.written_by.get(number))
    if not outcome.results and expected.native:
        outcome.defects.append(
            Defect(
                "returns-nothing", "error",
                "the candidate returns nothing, and its kernels write to no input",
                "return the results",
            )
        )  # fmt: skip


def _modified_inputs(
    memory: Memory, values: Values, entries: Sequence[Mapping[str, Any]]
) -> list[Defect]:
    writable = set(values.expected.changed)
    changed_by_host = {str(name) for entry in entries for name in entry.get("changed", ())}
    defects = []
    for number, tensor in enumerate(values.case.tensors):
        before = np.frombuffer((values.inputs / tensor.file).read_bytes(), np.uint8)
        after = memory.storages[number]
        if tensor.name in writable:  # bytes between the elements of a view must not change
            outside = _bytes_outside(tensor, before.size)
            is_changed = not np.array_equal(before[outside], after[outside])
        else:
            is_changed = tensor.name in changed_by_host or not np.array_equal(before, after)
        if is_changed:
            between = " between the elements of its view" if tensor.name in writable else ""
            defects.append(
                Defect(
                    "input-modified", "error",
                    f"the input {tensor.name} is written to{between}, but the reference does not "
                    "write there",
                    "write to a new tensor", memory.written_by.get(number),
                )
            )  # fmt: skip
    return defects


def _shared_results(
    returned: Sequence[Mapping[str, Any]], case: Case, changed: Sequence[str]
) -> list[Defect]:
    """Return a defect for each result that has the memory of an input or of another result.

    Inputs that the reference changes (`changed`) may be results.
    """
    defects, first_results = [], dict[tuple[Any, ...], int]()
    for result_number, entry in enumerate(returned):
        if "storage" not in entry or 0 in entry["shape"]:
            continue
        storage_number = int(entry["storage"])
        input_names = [tensor.name for tensor in case.tensors[storage_number : storage_number + 1]]
        key = (storage_number, entry["offset"], *entry["shape"], *entry["strides"])
        first_index = first_results.setdefault(key, result_number)
        owner = (
            f"the input {input_names[0]}" if input_names and input_names[0] not in changed else ""
        )
        owner = owner or (f"result {first_index}" if first_index != result_number else "")
        if owner:
            text = (
                f"result {result_number} is the memory of {owner}: writing to one changes the other"
            )
            defects.append(Defect("result-kind", "error", text, "return a new tensor"))
    return defects


def _bytes_outside(tensor: TensorInput, size: int) -> NDArray[np.bool_]:
    """Return for each byte of a tensor's storage whether it belongs to no element of the tensor."""
    itemsize = size // max(tensor.storage, 1)
    is_outside = np.ones((tensor.storage, itemsize), np.bool_)
    element_offsets = np.full(tensor.shape, tensor.offset)
    for axis, (extent, step) in enumerate(zip(tensor.shape, tensor.strides, strict=True)):
        offsets = np.arange(extent) * step
        element_offsets = element_offsets + offsets.reshape(
            (-1,) + (1,) * (len(tensor.shape) - axis - 1)
        )
    is_outside[element_offsets.ravel()] = False
    return is_outside.ravel()


def _compare_with_reference(
    outcome: Outcome, at: int, values: Values, op: Op | None, *, tf32: bool, narrow: bool
) -> None:
    expected, got = values.expected, outcome.results[at]
    native, exact = (
        array(values.answers, expected.native[at]),
        array(values.answers, expected.exact[at]),
    )
    dtype = str(got.dtype)
    if got.shape != native.shape:
        outcome.defects.append(
            Defect(
                "result-shape", "error",
                f"result {at} has the shape {list(got.shape)}, not {list(native.shape)}",
                "return the shape that the reference returns",
            )
        )  # fmt: skip
        return
    if dtype != (expected_type := str(expected.native[at]["dtype"])):
        outcome.defects.append(
            Defect(
                "result-type", "error",
                f"result {at} is {dtype}, but {expected_type} by the reference",
                "return the reference's type",
            )
        )  # fmt: skip
    planes = (
        outcome.planes[at] if expected.in_float64 else "the reference does not compute in float64"
    )
    grants = expected.granted_tf32 if tf32 else expected.granted
    granted = array(values.answers, grants[at]) if grants else None
    inexact = array(values.answers, expected.inexact[at]) if expected.inexact else 0.0
    result = compare_result(
        at, got, exact, native, dtype, tf32=tf32, planes=planes, granted=granted, inexact=inexact
    )  # fmt: skip
    outcome.comparisons.append(result)
    if not result.wrong and result.other_meaning:
        outcome.defects.append(_meaning_defect(result, op))
    if result.wrong:
        defect = _wrong_defect(result, op, view=values.case.kind == "view", narrow=narrow)
        is_empty = any(0 in tensor.shape for tensor in values.case.tensors)
        if is_empty and not np.isfinite(exact).any():  # a mean of nothing, for example
            defect = replace(defect, severity="note")
        outcome.defects.append(defect)


def _unwritten_defect(at: int, is_blank: NDArray[np.bool_], op: Op | None) -> Defect:
    first_index = tuple(int(i) for i in np.unravel_index(int(np.argmax(is_blank)), is_blank.shape))
    return Defect(
        "never-written", "error",
        f"{int(is_blank.sum()):,} of {is_blank.size:,} elements of result {at} are never written, "
        f"the first at {list(first_index)}",
        "let the grid and the masks reach every element", op,
    )  # fmt: skip


def _wrong_defect(result: ComparedResult, op: Op | None, *, view: bool, narrow: bool) -> Defect:
    where = f", {result.axis}" if result.axis else ""
    hint = "compare the kernel's masks with the sizes" if result.axis else "see the case's inputs"
    if narrow and not result.axis:
        hint = "accumulate in float32: a sum is kept in 16 bits"
    elif view:
        hint = "use the strides of the input, call .contiguous(), or refuse such inputs"
    return Defect(
        "wrong-result", "error",
        f"{result.wrong:,} of {result.elements:,} elements of result {result.result} are wrong"
        f"{where}: at {list(result.first)} {_number_text(result.got)} in place of "
        f"{_number_text(result.expected)}; worst error {_number_text(result.error)}, where "
        f"{_number_text(result.allowed)} is allowed{_tolerance_text(result)}",
        hint, op, result.wrong / result.elements,
    )  # fmt: skip


def _tolerance_text(comparison: ComparedResult) -> str:
    if comparison.tolerance == "granted":
        return f" (granted by the problem: no bound was derived, because {comparison.because})"
    if comparison.tolerance == "fixed":
        return f" (fixed tolerance, because {comparison.because})"
    return " (derived)" if comparison.tolerance == "derived" else ""


def _meaning_defect(result: ComparedResult, op: Op | None) -> Defect:
    return Defect(
        "other-meaning", "error",
        f"{result.other_meaning:,} of {result.elements:,} elements of result {result.result} "
        "differ from the reference in exact arithmetic, though within the roundings here",
        "compute what the reference computes: a term, a factor or a constant differs", op,
    )  # fmt: skip


def _planes_of_result(
    memory: Memory, view: Mapping[str, Any], got: NDArray[Any]
) -> NDArray[Any] | str:
    if memory.derived is None:
        return "deriving one takes too long"
    return memory.derived.planes_of(view, got.dtype.itemsize)


def is_reference_result(contents: NDArray[Any], values: Values) -> bool:
    """Return whether contents equal a result of the reference that has several elements."""
    expected = values.expected
    for native, exact in zip(expected.native, expected.exact, strict=True):
        truth = array(values.answers, exact)
        if contents.size == truth.size > 1 and native["dtype"] in EPSILON:
            flat, native_flat = (
                contents.ravel().astype(np.float64),
                array(values.answers, native).ravel(),
            )
            comparison = compare_result(
                0, flat, truth.ravel(), native_flat, native["dtype"], tf32=False, planes=""
            )
            if not comparison.wrong:
                return True
    return False


def has_moved_result(values: Values, memory: Memory) -> bool:
    """Return whether PyTorch made a result by moving an input's elements into another order."""
    case = values.case
    if case.kind not in ("given", "values"):
        return False
    inputs = [input_values(case, number, values.inputs) for number in range(len(case.tensors))]
    return any(
        (written_source is None or _is_one_of(written_source, inputs))  # no kernel made it
        and not _is_one_of(moved, inputs)
        and is_reference_result(moved, values)
        for moved, written_source in memory.moved
    )


def _is_one_of(values: NDArray[Any], inputs: Sequence[NDArray[Any]]) -> bool:
    """Return whether an array has the elements of an input, in the same order."""
    return any(np.array_equal(values.ravel(), array_.ravel()) for array_ in inputs)


def has_ascending_integers(values: Values) -> bool:
    """Return whether an input is a vector of ascending integers, which may bound parts."""
    vectors = [
        input_values(values.case, number, values.inputs)
        for number, tensor in enumerate(values.case.tensors)
        if tensor.dtype not in EPSILON and len(tensor.shape) == 1
    ]
    return any(bool((vector[1:] >= vector[:-1]).all()) for vector in vectors)


def has_equal_reference(values: Values, other: Values) -> bool:
    """Return whether the reference's results are the same for two sets of values."""
    pairs = zip(values.expected.native, other.expected.native, strict=True)
    return all(
        np.array_equal(array(values.answers, one), array(other.answers, two)) for one, two in pairs
    )


def input_values(case: Case, number: int, folder: Path) -> NDArray[Any]:
    """Return the elements of the input with a number, whose contents are in `folder`."""
    tensor = case.tensors[number]
    storage = np.frombuffer((folder / tensor.file).read_bytes(), np.uint8)
    return Memory({number: storage}).view({**asdict(tensor), "storage": number})


def _number_text(value: float | None) -> str:
    return "NaN or infinity" if value is None else f"{value:.6g}"
