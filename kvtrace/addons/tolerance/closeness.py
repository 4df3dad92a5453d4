"""`kvtrace.assert_close`: results compared by derived bounds, and what a difference comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.tolerance.launched import NotDerived
from kvtrace.addons.tolerance.outputs import Output, Tolerance
from kvtrace.addons.tolerance.references import as_array
from kvtrace.evaluate import TensorArgument
from kvtrace.ir import Op, source_stack
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.locating import writers
from kvtrace.verdicts.replaying import program_at

if TYPE_CHECKING:
    from kvtrace.evaluate.shadows.errors.exact_values import Numbers

Bound = Literal["probable", "worst"]
Cause = Literal["meaning", "precision", "device"]


class NotClose(AssertionError):
    """Results are farther from what is expected than any right device may be.

    Attributes:
        differences: one for each output that differs.
        refused: precision that the kernel gives up, and its test says it must not.
        undecided: outputs of which more elements have no bound than is granted.

    """

    def __init__(
        self,
        kernel: str,
        differences: tuple[Difference, ...],
        refused: tuple[str, ...] = (),
        undecided: tuple[str, ...] = (),
    ) -> None:
        self.differences = differences
        self.refused = refused
        self.undecided = undecided
        said = [str(each) for each in differences]
        said += [f"the kernel has {each}, which its test does not allow" for each in refused]
        said += undecided
        super().__init__("\n".join(f"{kernel}: {each}" for each in said))


@dataclass(frozen=True, slots=True)
class Difference:
    """The elements of one output that differ; `index` and what follows are of the worst one.

    Attributes:
        output: the parameter.
        elements: how many there are.
        differing: how many are beyond their bounds.
        index: where the worst one is.
        actual: what is there.
        expected: what should be.
        bound: how far it may be from that.
        cause: what it comes from. `meaning`: the kernel's IR means something else than the
            reference, whatever is rounded. `precision`: it means the same, and gives up precision
            that its test does not grant. `device`: it means the same, and the device gives
            something else.
        detail: the cause as text.
        place: program, lane and line of the store, as far as they are known.

    """

    output: str
    elements: int
    differing: int
    index: tuple[int, ...]
    actual: float
    expected: float
    bound: float
    cause: Cause
    detail: str
    place: str = ""

    @property
    def bounds_away(self) -> float:
        """By how many bounds the worst element is off."""
        away = abs(self.actual - self.expected)
        return away / self.bound if self.bound and away == away else float("inf")

    def __str__(self) -> str:
        at = ", ".join(map(str, self.index))
        said = (
            f"{self.differing:,} of {self.elements:,} elements of {self.output} are beyond their "
            f"derived bounds: {self.output}[{at}] is {self.actual:.9g} where {self.expected:.9g} "
            f"is expected within {self.bound:.3g}, {self.bounds_away:.3g} bounds away"
        )
        return "\n  ".join(filter(None, (said, self.place, self.detail)))


def assert_close(
    actual: Any,
    expected: Tolerance | Output,
    *,
    name: str | None = None,
    bound: Bound = "probable",
    meaning: bool = True,
    undecided: float = 0.0,
) -> None:
    """Compare results with what a kernel should give, element by element, by derived bounds.

        derived = kvtrace.tolerance(softmax, x, out, 1000, grid=(8,), BLOCK=1024)
        softmax[(8,)](x, out, 1000, BLOCK=1024)
        kvtrace.assert_close(out, derived)

    Args:
        actual: a tensor or an array; of several outputs a dict of them, by parameter.
        expected: what `kvtrace.tolerance` gives, or one output of that.
        name: the output that `actual` is, where the kernel has several.
        bound: `probable`, or `worst`.
        meaning: whether the kernel's meaning in exact arithmetic must be the reference's, too,
            however little it is off.
        undecided: the part of the elements that may have no bound: those that are NaN or
            infinite in exact arithmetic, unless results are the same (`Output.undecided` counts
            them).

    Raises:
        NotClose: results differ, the kernel gives up precision that its test refuses, or more
            elements are undecided than is granted.
        NotDerived: the results do not fit the outputs, or no bound is known of any element.

    """
    if isinstance(expected, Output):
        derived = Tolerance("", {expected.name: expected}, 0.0)
    else:
        derived = expected
    if name is not None:
        actual = {name: actual}
    elif not isinstance(actual, Mapping):
        actual = {derived.only.name: actual}
    found, open_ = [], []
    for each, values in actual.items():
        if each not in derived.outputs:
            known = ", ".join(derived.outputs) or "nothing"
            raise NotDerived(f"there is no output {each!r}, only {known}")
        difference = compared(as_array(values), derived, derived[each], bound, meaning=meaning)
        if difference is not None:
            found.append(difference)
        open_ += _undecided(as_array(values), derived[each], bound, undecided)
    if found or derived.refused or open_:
        kernel = derived.kernel or "the kernel"
        raise NotClose(kernel, tuple(found), derived.refused, tuple(open_))


def compared(
    values: Numbers, derived: Tolerance, output: Output, bound: Bound, *, meaning: bool = True
) -> Difference | None:
    """Compare one output; None: all elements are within their bounds.

    Raises:
        NotDerived: it has another shape, or no bound is known of any element.

    """
    if values.size != output.exact.size:
        raise NotDerived(
            f"{output.name} has the shape {list(values.shape)}, and the kernel writes "
            f"{list(output.exact.shape)}"
        )
    values = values.reshape(output.exact.shape)
    radius = output.radius(bound)
    if values.size and not np.isfinite(radius).any():
        raise NotDerived(f"no bound is known of any element of {output.name}")
    beyond = _beyond(values, output.expected, radius) & ~_overflows(values, output, radius)
    strays = np.zeros(values.shape, np.bool_)
    if meaning and output.reference is not None:
        strays = _beyond(output.exact, output.reference, output.meaning_radius())
    if not (beyond.any() or strays.any()):
        return None
    if beyond.any():
        away = _away(values, output.expected)
        with np.errstate(all="ignore"):
            shares = np.where(beyond, np.where(radius > 0, away / radius, np.inf), -1.0)
        at = _largest(shares, away)
        cause, detail = _cause(derived, output, at, bound, strays)
        shown, limit = values, radius
        wrong = beyond
    else:
        away = _away(output.exact, output.expected)
        at = _largest(np.where(strays, away, -1.0), away)
        cause, detail = "meaning", _MEANING + "; results are within what rounding may hide"
        shown, limit = output.exact, output.meaning_radius()
        wrong = strays
    index = tuple(int(each) for each in np.unravel_index(at, values.shape))
    return Difference(
        output.name,
        values.size,
        int(wrong.sum()),
        index,
        float(shown[index]),
        float(output.expected[index]),
        float(limit[index]),
        cause,
        detail,
        _place(derived, output, index),
    )


def _undecided(values: Numbers, output: Output, bound: Bound, part: float) -> list[str]:
    """Say that more elements are undecided than is granted; what is the same is decided."""
    away = _away(values.reshape(output.exact.shape), output.expected)
    count = int(((away > 0) & ~np.isfinite(output.radius(bound))).sum())
    if count <= part * away.size:
        return []
    return [
        f"{count:,} of {away.size:,} elements of {output.name} are undecided: no number is "
        f"expected of them, or float64 loses what the formula means; grant a part by undecided="
    ]


_MEANING = "the kernel means something else there than the reference, in exact arithmetic"


def _cause(
    derived: Tolerance, output: Output, at: int, bound: Bound, strays: NDArray[np.bool_]
) -> tuple[Cause, str]:
    exact, evaluated, radius, expected = (
        each.reshape(-1)[at]
        for each in (output.exact, output.evaluated, output.radius(bound), output.expected)
    )
    if strays.reshape(-1)[at]:
        return "meaning", f"{_MEANING}: {exact:.9g}"
    lost = "; ".join(derived.not_granted)
    own = output.derived(bound).reshape(-1)[at]
    if not np.isfinite(evaluated) and np.isfinite(expected):
        return "precision", (
            f"the kernel means the same, and gives {evaluated:.9g} by the ranges of the types in "
            "its IR: a number on the way overflows"
        )
    within = _close(evaluated, expected, radius)
    if radius < own and _close(evaluated, expected, own) and not within:
        return "precision", (
            f"the kernel means the same, and its formula may lose {own:.3g} there, where the "
            "problem's condition grants less: it cancels; cancellation=True grants that"
        )
    if not within:
        return "precision", (
            f"the kernel means the same, and gives {evaluated:.9g} by the roundings in its IR: "
            f"{lost or 'its roundings'}"
        )
    if lost:
        return "precision", (
            f"the kernel's IR gives {evaluated:.9g} there, which is within, and in another order "
            f"of sums it may not be, for its test does not grant {lost}"
        )
    return "device", (
        f"the kernel's IR gives {evaluated:.9g} there, which is within: what was compared parts "
        "from it where it is stored"
    )


def _place(derived: Tolerance, output: Output, index: tuple[int, ...]) -> str:
    """Say which program and lane store an element, and where the source does."""
    launch = derived.launch
    if launch is None:
        return ""
    arguments = launch.before()
    tensor = next(
        each for each in arguments if isinstance(each, TensorArgument) and each.name == output.name
    )
    sharing = [
        at
        for at, each in enumerate(arguments)
        if isinstance(each, TensorArgument) and each.storage is tensor.storage
    ]
    steps = sum(place * stride for place, stride in zip(index, tensor.strides, strict=True))
    offset = tensor.offset_bytes + steps * tensor.element.bytes
    call = Call(0, launch.kernel, launch.grid, launch.module, arguments, ())
    places = writers(call, sharing, np.array([offset]), None)
    at = None if places is None else places.at(offset)
    if places is None or at is None:
        return "no program stores it"
    program = program_at(at[0], launch.grid)
    return f"stored by program {program}, lane {at[1]}, at {_line(places.op)}"


def _line(op: Op) -> str:
    stack = source_stack(op)
    return f"{stack[0].file}:{stack[0].line}" if stack else "an unknown line"


def _largest(shares: Numbers, away: Numbers) -> int:
    """Return where the largest share is; of several, the farthest."""
    worst = shares == shares.max()
    return int(np.argmax(np.where(worst, np.where(np.isfinite(away), away, np.inf), -1.0)))


def _away(values: Numbers, expected: Numbers) -> Numbers:
    with np.errstate(all="ignore"):
        away = np.abs(values - expected)
        same = (values == expected) | (np.isnan(values) & np.isnan(expected))
    return np.where(same, 0.0, np.where(np.isnan(away), np.inf, away))


def _beyond(values: Numbers, expected: Numbers, radius: Numbers) -> NDArray[np.bool_]:
    return np.asarray((_away(values, expected) > radius) & np.isfinite(radius))


def _overflows(values: Numbers, output: Output, radius: Numbers) -> NDArray[np.bool_]:
    """Return where the type cannot hold what is expected, and a result is its largest number."""
    expected = output.expected
    with np.errstate(all="ignore"):
        too_large = np.isfinite(expected) & (np.abs(expected) + radius > output.largest)
        same_side = np.sign(values) == np.sign(expected)
        return np.asarray(too_large & same_side & (np.abs(values) >= output.largest))


def _close(value: float, expected: float, radius: float) -> bool:
    return bool(not _beyond(np.array(value), np.array(expected), np.array(radius)))
