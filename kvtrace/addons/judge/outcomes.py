"""What launches give on one set of values, beside what the reference gives on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.judge.comparing import EPSILON, ComparedResult, compared, numpy_dtype
from kvtrace.addons.judge.inputs import Case, TensorInput
from kvtrace.addons.judge.launches import Memory, content_of, poisoned
from kvtrace.addons.judge.reference import Expected
from kvtrace.addons.judge.request import CannotJudge
from kvtrace.addons.judge.tensors import array
from kvtrace.ir import Op


@dataclass(frozen=True, slots=True)
class Defect:
    """Something that is wrong with results.

    `op` is what wrote them, as far as that is known, and `share` that of the elements.
    """

    rule: str
    severity: str
    message: str
    hint: str
    op: Op | None = None
    share: float = 1.0


@dataclass
class Outcome:
    """Results of a case's launches on one set of values.

    `told` compares each with the reference's.
    """

    memory: Memory
    results: list[NDArray[Any]] = field(default_factory=list)
    #: Planes of each, or why there are none.
    planes: list[NDArray[Any] | str] = field(default_factory=list)
    told: list[ComparedResult] = field(default_factory=list)
    wrong: list[Defect] = field(default_factory=list)

    @property
    def right(self) -> bool:
        """Whether all launches were evaluated, and nothing is wrong that is more than a warning."""
        return self.memory.reason is None and all(each.severity != "error" for each in self.wrong)


@dataclass(frozen=True, slots=True)
class Values:
    """A set of values: the case, what the reference gives for it, and the folders of each."""

    case: Case
    inputs: Path
    want: Expected | None
    answers: Path


def outcome_of(
    memory: Memory, values: Values, entries: Sequence[Mapping[str, Any]], child: Path, *,
    tf32: bool, narrow: bool,
) -> Outcome:  # fmt: skip
    """Compare what memory holds after a case's launches with what the reference gives.

    Args:
        memory: What the launches left.
        values: The values that they were evaluated on.
        entries: The log of the case.
        child: Where the candidate's process left contents.
        tf32: Whether dots may have cut their factors to tf32.
        narrow: Whether a sum is kept in 16 bits.

    """
    found = Outcome(memory)
    returned = next(e["returned"] for e in entries if "returned" in e)
    if memory.reason is not None:
        return found
    if not values.case.cotangents:  # a backward pass may overwrite what it does not need again
        found.wrong += _modified(memory, values, entries)
    ops: list[Op | None] = []
    if returned:
        for each in returned:
            found.results.append(result_of(each, memory, child))
            found.planes.append(_planes(memory, each, found.results[-1]))
            number = each.get("storage")
            ops.append(None if number is None else memory.written_by.get(int(number)))
    else:
        _from_inputs(found, ops, values)
    want = values.want
    if want is not None and not values.case.cotangents:  # a gradient may be the one that came in
        found.wrong += _shared(returned, values.case, want.changed)
    if want is not None and found.results and len(found.results) != len(want.own):
        found.wrong.append(
            Defect(
                "result-count", "error",
                f"{len(found.results)} results are returned, and {len(want.own)} by the reference",
                "return what the reference returns, in its order",
            )
        )  # fmt: skip
        return found
    for at, got in enumerate(found.results):
        blank = poisoned(got, str(got.dtype))
        if blank.any() and (want is None or list(got.shape) == want.own[at]["shape"]):
            found.wrong.append(_blank(at, blank, ops[at]))
        elif want is not None:
            _compare(found, at, values, ops[at], tf32=tf32, narrow=narrow)
    return found


def result_of(each: Mapping[str, Any], memory: Memory, child: Path) -> NDArray[Any]:
    """Return a result that the log tells of, of what launches left in memory or as contents."""
    if "storage" in each:
        return memory.view(each).copy()
    if "content" not in each:
        value = each.get("value")
        return np.asarray(value if isinstance(value, int | float | bool) else np.nan, np.float64)
    content = content_of(child, each["content"])
    try:
        return np.frombuffer(content, numpy_dtype(str(each["dtype"]))).reshape(each["shape"])
    except (ValueError, TypeError, AttributeError) as error:
        raise CannotJudge(f"the log of launches was tampered with: {error!r}") from error


def _from_inputs(found: Outcome, ops: list[Op | None], values: Values) -> None:
    """Take inputs that are written to as the results, where nothing is returned."""
    memory, want = found.memory, values.want
    for number, tensor in enumerate(values.case.tensors):
        written = number in memory.written_by
        if written if want is None else tensor.name in want.changed:
            view = {**asdict(tensor), "storage": number}
            found.results.append(memory.view(view).copy())
            found.planes.append(_planes(memory, view, found.results[-1]))
            ops.append(memory.written_by.get(number))
    if not found.results and (want is None or want.own):
        found.wrong.append(
            Defect(
                "returns-nothing", "error", "nothing is returned, and no input written to",
                "return the results",
            )
        )  # fmt: skip


def _modified(memory: Memory, values: Values, entries: Sequence[Mapping[str, Any]]) -> list[Defect]:
    want = values.want
    meant = set() if want is None else set(want.changed)
    by_host = {str(n) for e in entries for n in e.get("changed", ())}
    written = want is None and any(e.get("returned") == [] for e in entries)
    found = []
    for number, tensor in enumerate(values.case.tensors):
        before = np.frombuffer((values.inputs / tensor.file).read_bytes(), np.uint8)
        held = memory.held[number]
        if tensor.name in meant:  # what lies between the elements of a view is somebody else's
            outside = _outside(tensor, before.size)
            changed = not np.array_equal(before[outside], held[outside])
        else:
            changed = not written and not np.array_equal(before, held)
            changed |= not written and tensor.name in by_host
        if changed:
            between = " between the elements of its view" if tensor.name in meant else ""
            found.append(
                Defect(
                    "input-modified", "error",
                    f"the input {tensor.name} is written to{between}, and the reference leaves it "
                    "alone",
                    "write to a new tensor", memory.written_by.get(number),
                )
            )  # fmt: skip
    return found


def _shared(
    returned: Sequence[Mapping[str, Any]], case: Case, changed: Sequence[str]
) -> list[Defect]:
    """Find results that are an input, or one tensor: writing to it changes the other, too."""
    found, known = [], dict[tuple[Any, ...], int]()
    for at, each in enumerate(returned):
        if "storage" not in each or 0 in each["shape"]:
            continue
        number = int(each["storage"])
        names = [tensor.name for tensor in case.tensors[number : number + 1]]
        key = (number, each["offset"], *each["shape"], *each["strides"])
        other = known.setdefault(key, at)
        what = f"the input {names[0]}" if names and names[0] not in changed else ""
        what = what or (f"result {other}" if other != at else "")
        if what:
            text = f"result {at} is the memory of {what}: writing to one changes the other"
            found.append(Defect("result-kind", "error", text, "return a new tensor"))
    return found


def _outside(tensor: TensorInput, size: int) -> NDArray[np.bool_]:
    """Return which bytes of a storage are in no element of a tensor."""
    itemsize = size // max(tensor.storage, 1)
    left = np.ones((tensor.storage, itemsize), np.bool_)
    at = np.full(tensor.shape, tensor.offset)
    for axis, (extent, step) in enumerate(zip(tensor.shape, tensor.strides, strict=True)):
        along = np.arange(extent) * step
        at = at + along.reshape((-1,) + (1,) * (len(tensor.shape) - axis - 1))
    left[at.ravel()] = False
    return left.ravel()


def _compare(
    found: Outcome, at: int, values: Values, op: Op | None, *, tf32: bool, narrow: bool
) -> None:
    want, got = values.want, found.results[at]
    assert want is not None
    own, exact = array(values.answers, want.own[at]), array(values.answers, want.exact[at])
    dtype = str(got.dtype)
    if got.shape != own.shape:
        found.wrong.append(
            Defect(
                "result-shape", "error",
                f"result {at} has the shape {list(got.shape)}, not {list(own.shape)}",
                "return the shape that the reference returns",
            )
        )  # fmt: skip
        return
    if dtype != (meant := str(want.own[at]["dtype"])):
        found.wrong.append(
            Defect(
                "result-type", "error",
                f"result {at} is {dtype}, and {meant} by the reference",
                "return the reference's type",
            )
        )  # fmt: skip
    planes = found.planes[at] if want.in_float64 else "the reference does not compute in float64"
    kept = want.granted_tf32 if tf32 else want.granted
    granted = array(values.answers, kept[at]) if kept else None
    each = compared(at, got, exact, own, dtype, tf32=tf32, planes=planes, granted=granted)
    found.told.append(each)
    if not each.wrong and each.other_meaning:
        found.wrong.append(_other_meaning(each, op))
    if each.wrong:
        found.wrong.append(_off(each, op, view=values.case.kind == "view", narrow=narrow))


def _blank(at: int, blank: NDArray[np.bool_], op: Op | None) -> Defect:
    first = tuple(int(i) for i in np.unravel_index(int(np.argmax(blank)), blank.shape))
    return Defect(
        "never-written", "error",
        f"{int(blank.sum()):,} of {blank.size:,} elements of result {at} are never written, "
        f"the first at {list(first)}",
        "let the grid and the masks reach every element", op,
    )  # fmt: skip


def _off(each: ComparedResult, op: Op | None, *, view: bool, narrow: bool) -> Defect:
    where = f", {each.axis}" if each.axis else ""
    hint = "compare the kernel's masks with the sizes" if each.axis else "see the case's inputs"
    if narrow and not each.axis:
        hint = "accumulate in float32: a sum is kept in 16 bits"
    elif view:
        hint = "use the strides of the input, call .contiguous(), or refuse such inputs"
    return Defect(
        "wrong-result", "error",
        f"{each.wrong:,} of {each.elements:,} elements of result {each.result} are wrong"
        f"{where}: at {list(each.first)} {_number(each.got)} in place of "
        f"{_number(each.expected)}; error {_number(each.error)} where it is worst, allowed "
        f"there {_number(each.allowed)}{_source(each)}",
        hint, op, each.wrong / each.elements,
    )  # fmt: skip


def _source(each: ComparedResult) -> str:
    if each.tolerance == "granted":
        return f" (granted by the problem: no bound was derived, because {each.because})"
    if each.tolerance == "fixed":
        return f" (fixed tolerance, because {each.because})"
    return " (derived)" if each.tolerance == "derived" else ""


def _other_meaning(each: ComparedResult, op: Op | None) -> Defect:
    return Defect(
        "other-meaning", "error",
        f"{each.other_meaning:,} of {each.elements:,} elements of result {each.result} are not "
        "the reference's in exact arithmetic, though roundings hide it here",
        "compute what the reference computes: a term, a factor or a constant differs", op,
    )  # fmt: skip


def _planes(memory: Memory, view: Mapping[str, Any], got: NDArray[Any]) -> NDArray[Any] | str:
    if memory.derived is None:
        return "there is no reference"
    return memory.derived.planes_of(view, got.dtype.itemsize)


def is_reference_result(contents: NDArray[Any], values: Values) -> bool:
    """Whether contents are a result of the reference already, of more than one element."""
    want = values.want
    for own, exact in zip(want.own, want.exact, strict=True) if want else ():
        truth = array(values.answers, exact)
        if contents.size == truth.size > 1 and own["dtype"] in EPSILON:
            flat, mine = contents.ravel().astype(np.float64), array(values.answers, own).ravel()
            told = compared(0, flat, truth.ravel(), mine, own["dtype"], tf32=False, planes="")
            if not told.wrong:
                return True
    return False


def picks_tied_elements(values: Values, outcome: Outcome) -> bool:
    """Whether indices that are not the reference's may be as right, among equal elements.

    False where the reference's indices are those of an input's largest or smallest elements, and
    the result's are not.
    """
    inputs = [
        input_values(values.case, number, values.inputs).astype(np.float64)
        for number, each in enumerate(values.case.inputs_of_tensors)
        if each.dtype in EPSILON
    ]
    for own, got in zip(values.want.own if values.want else (), outcome.results, strict=True):
        meant = array(values.answers, own)
        if got.shape != meant.shape or np.array_equal(got, meant):
            continue
        for each in inputs:
            for axis in range(each.ndim):
                for extreme in (each.max(axis), each.min(axis)):
                    if _picks(each, axis, meant, extreme) and not _picks(each, axis, got, extreme):
                        return False
    return True


def _picks(values: NDArray[Any], axis: int, index: NDArray[Any], extreme: NDArray[Any]) -> bool:
    """Whether indices along an axis are those of its extreme elements."""
    if index.size != extreme.size or index.min() < 0 or index.max() >= values.shape[axis]:
        return False
    at = np.expand_dims(index.reshape(extreme.shape), axis)
    picked = np.take_along_axis(values, at.astype(np.int64), axis)
    return bool(np.array_equal(np.squeeze(picked, axis), extreme))


def input_values(case: Case, number: int, folder: Path) -> NDArray[Any]:
    """Return the elements of an input."""
    tensor = case.tensors[number]
    held = np.frombuffer((folder / tensor.file).read_bytes(), np.uint8)
    return Memory({number: held}).view({**asdict(tensor), "storage": number})


def _number(value: float | None) -> str:
    return "NaN or infinity" if value is None else f"{value:.6g}"
