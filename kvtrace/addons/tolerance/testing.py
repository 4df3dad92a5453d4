"""`kvtrace.testing`: comparison of kernels with references, by derived bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from kvtrace.addons.tolerance.deriving import launch_and_derive
from kvtrace.addons.tolerance.launched import NotDerived, copied_arguments
from kvtrace.addons.tolerance.outputs import Output, Tolerance
from kvtrace.addons.tolerance.references import as_array
from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.registry import place
from kvtrace.evaluate.scope import program_at
from kvtrace.evaluate.shadows.errors.analysis import CHANCE
from kvtrace.evaluate.shadows.errors.exact_values import Numbers, distances_of
from kvtrace.evaluate.shadows.errors.roundings import GrantedRoundings
from kvtrace.verdicts.locating import writers

__all__ = ["Compared", "NotClose", "NotDerived", "against"]


def against(
    reference: Callable[..., Any],
    *,
    chance: float = CHANCE,
    bound: Bound = "probable",
    tf32: bool | None = None,
    narrow: bool | None = None,
    meaning: bool = True,
    cancellation: bool = False,
    undecided: float = 0.0,
) -> Callable[[Any], Compared]:
    """Return a wrapper that compares a kernel's launches with a reference in float64.

        checked = kvtrace.testing.against(lambda x: torch.softmax(x, -1))(softmax)
        checked[(8,)](x, out, 1000, BLOCK=1024)

    A launch writes its tensors as usual, and raises if the results differ from the reference's.

    Args:
        reference: a function whose parameters have names of kernel parameters, as in
            `kvtrace.tolerance`.
        chance: the largest probability that a correct launch fails, if rounding errors are
            independent.
        bound: `probable`, or `worst`, which no correct device ever exceeds.
        tf32: dots may round float32 factors to tf32; None: as the kernel requests.
        narrow: the kernel may keep sums in 16 bits, and round intermediate numbers to types that
            none of its tensors has. None: this does not widen bounds; False: it is forbidden.
        meaning: also require that the kernel's formula equals the reference in exact arithmetic.
        cancellation: the formula may lose more precision than the reference's condition grants.
        undecided: the share of elements that may have no bound.
    """
    derive = partial(
        launch_and_derive, reference=reference, chance=chance,
        granted=GrantedRoundings(tf32, narrow), cancellation=cancellation,
    )  # fmt: skip
    compare = partial(assert_close, bound=bound, meaning=meaning, undecided=undecided)
    return lambda kernel: Compared(kernel, derive, compare)


class Compared(Struct, frozen=True):
    """A kernel whose launches are compared with a reference: `compared[grid](arguments…)`.

    `derive` and `compare` are `launch_and_derive` and `assert_close` with the options of `against`.
    """

    kernel: Any
    derive: Callable[..., tuple[Tolerance, dict[str, Any]]]
    compare: Callable[..., None]

    def __getitem__(self, grid: Any) -> Callable[..., Tolerance]:
        """Return a function that launches on a grid, compares, and returns the tolerance."""
        return partial(self, grid=grid)

    def __call__(self, *given: Any, grid: Any, **by_name: Any) -> Tolerance:
        """Launch, compare, and return the tolerance of the comparison.

        Raises:
            NotClose: the results differ from the reference's; an AssertionError.
            NotDerived: nothing was launched, or the reference does not fit.
            Undecided: the kernel's path depends on its roundings.
        """
        derived, by_parameter = self.derive(self.kernel, given, grid, by_name)
        self.compare({name: by_parameter[name] for name in derived.outputs}, derived)
        return derived


# -- comparison by derived bounds ------------------------------------------------------------------


Bound = Literal["probable", "worst"]
Cause = Literal["meaning", "precision", "device"]


class NotClose(AssertionError):
    """Results are farther from the expected values than any correct device's.

    Attributes:
        differences: one for each output that differs.
        refused: losses of precision in the kernel that its test forbids, as text.
        undecided: a line for each output with more elements without a bound than allowed.
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
        lines = [str(difference) for difference in differences]
        lines += [f"the test forbids a loss of precision in the kernel: {loss}" for loss in refused]
        lines += undecided
        super().__init__("\n".join(f"{kernel}: {line}" for line in lines))


class Difference(Struct, frozen=True):
    """The differing elements of one output; `index` and later fields describe the worst one.

    Attributes:
        output: the parameter.
        elements: the number of elements.
        differing: the number of elements beyond their bounds.
        index: the index of the worst element.
        actual: the actual value.
        expected: the expected value.
        bound: the largest allowed difference.
        cause: the cause of the difference. `meaning`: the kernel's formula differs from the
            reference in exact arithmetic. `precision`: the formula is equal, but the IR loses
            precision that the test does not grant. `device`: the formula and its precision are
            right, but the device's result differs.
        detail: the cause as text.
        place: program, lane and line of the store, as text; empty if unknown.
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
        """The worst element's difference as a multiple of the bound."""
        difference = abs(self.actual - self.expected)
        return difference / self.bound if self.bound and difference == difference else float("inf")

    def __str__(self) -> str:
        index_text = ", ".join(map(str, self.index))
        text = (
            f"{self.differing:,} of {self.elements:,} elements of {self.output} are beyond their "
            f"derived bounds: {self.output}[{index_text}] is {self.actual:.9g} where "
            f"{self.expected:.9g} is expected within {self.bound:.3g}, "
            f"{self.bounds_away:.3g} times the bound away"
        )
        return "\n  ".join(filter(None, (text, self.place, self.detail)))


def assert_close(
    actual: Any,
    expected: Tolerance | Output,
    *,
    name: str | None = None,
    bound: Bound = "probable",
    meaning: bool = True,
    undecided: float = 0.0,
) -> None:
    """Compare results with a kernel's expected results, element by element, by derived bounds.

        derived = kvtrace.tolerance(softmax, x, out, 1000, grid=(8,), BLOCK=1024)
        softmax[(8,)](x, out, 1000, BLOCK=1024)
        kvtrace.assert_close(out, derived)

    Args:
        actual: a tensor or an array; for several outputs a dict by parameter.
        expected: a result of `kvtrace.tolerance`, or one of its outputs.
        name: the output that `actual` belongs to, if the kernel has several.
        bound: `probable`, or `worst`.
        meaning: also require that the kernel's formula equals the reference in exact arithmetic,
            even if the difference is within the bounds.
        undecided: the share of elements that may have no bound: elements that are NaN or infinite
            in exact arithmetic, unless results are equal (`Output.undecided` counts them).

    Raises:
        NotClose: results differ, the kernel loses precision that its test forbids, or more
            elements are undecided than granted.
        NotDerived: the results do not fit the outputs, or no element has a known bound.
    """
    if isinstance(expected, Output):
        derived = Tolerance("", {expected.name: expected}, 0.0)
    else:
        derived = expected
    if name is not None:
        actual = {name: actual}
    elif not isinstance(actual, Mapping):
        actual = {derived.only.name: actual}
    differences, undecided_lines = [], []
    for parameter, values in actual.items():
        if parameter not in derived.outputs:
            names = ", ".join(derived.outputs) or "nothing"
            raise NotDerived(f"there is no output {parameter!r}, only {names}")
        output = derived[parameter]
        difference = compared(as_array(values), derived, output, bound, meaning=meaning)
        if difference is not None:
            differences.append(difference)
        undecided_lines += _undecided(as_array(values), output, bound, undecided)
    if differences or derived.refused or undecided_lines:
        kernel = derived.kernel or "the kernel"
        raise NotClose(kernel, tuple(differences), derived.refused, tuple(undecided_lines))


def compared(
    values: Numbers, derived: Tolerance, output: Output, bound: Bound, *, meaning: bool = True
) -> Difference | None:
    """Return the difference of one output, or None if all elements are within their bounds.

    With `meaning`, elements whose exact values differ from the reference count, too.

    Raises:
        NotDerived: the output has another shape, or no element has a known bound.
    """
    if values.size != output.exact.size:
        raise NotDerived(
            f"{output.name} has the shape {list(values.shape)}, and the kernel writes "
            f"{list(output.exact.shape)}"
        )
    values = values.reshape(output.exact.shape)
    radius = output.radius(bound)
    if values.size and not np.isfinite(radius).any():
        raise NotDerived(f"no element of {output.name} has a known bound")
    exceeding = _exceeds(values, output.expected, radius) & ~_overflows(values, output, radius)
    differs_exactly = np.zeros(values.shape, np.bool_)
    if meaning and output.reference is not None:
        differs_exactly = _exceeds(output.exact, output.reference, output.meaning_radius())
    if not (exceeding.any() or differs_exactly.any()):
        return None
    if exceeding.any():
        distances = distances_of(values, output.expected)
        with np.errstate(all="ignore"):
            shares = np.where(exceeding, np.where(radius > 0, distances / radius, np.inf), -1.0)
        worst = _largest(shares, distances)
        cause, detail = _cause(derived, output, worst, bound, differs_exactly)
        compared_values, limits = values, radius
        differing = exceeding
    else:
        distances = distances_of(output.exact, output.expected)
        worst = _largest(np.where(differs_exactly, distances, -1.0), distances)
        cause, detail = "meaning", _MEANING + "; the results are within what rounding may hide"
        compared_values, limits = output.exact, output.meaning_radius()
        differing = differs_exactly
    index = tuple(map(int, np.unravel_index(worst, values.shape)))
    return Difference(
        output.name,
        values.size,
        int(differing.sum()),
        index,
        float(compared_values[index]),
        float(output.expected[index]),
        float(limits[index]),
        cause,
        detail,
        _place(derived, output, index),
    )


def _undecided(values: Numbers, output: Output, bound: Bound, granted_share: float) -> list[str]:
    """Return a line if more elements are undecided than granted, else [].

    Equal elements are decided.
    """
    distances = distances_of(values.reshape(output.exact.shape), output.expected)
    count = int(((distances > 0) & ~np.isfinite(output.radius(bound))).sum())
    if count <= granted_share * distances.size:
        return []
    return [
        f"{count:,} of {distances.size:,} elements of {output.name} have no bound: their expected "
        "value is not a number, or float64 is too inexact for the formula; allow a share of such "
        "elements by undecided="
    ]


_MEANING = "in exact arithmetic, the kernel's formula has another value than the reference"


def _cause(
    derived: Tolerance, output: Output, position: int, bound: Bound, strays: NDArray[np.bool_]
) -> tuple[Cause, str]:
    exact, evaluated, radius, expected = (
        values.reshape(-1)[position]
        for values in (output.exact, output.evaluated, output.radius(bound), output.expected)
    )
    if strays.reshape(-1)[position]:
        return "meaning", f"{_MEANING}: {exact:.9g}"
    lost = "; ".join(derived.not_granted)
    own_bound = output.derived(bound).reshape(-1)[position]
    if not np.isfinite(evaluated) and np.isfinite(expected):
        return "precision", (
            f"the kernel's formula is right, but gives {evaluated:.9g}, as an intermediate number "
            "overflows its type in the IR"
        )
    within = _close(evaluated, expected, radius)
    if radius < own_bound and _close(evaluated, expected, own_bound) and not within:
        return "precision", (
            f"the kernel's formula is right, but may lose {own_bound:.3g} by cancellation, more "
            "than the problem's condition grants; cancellation=True grants that"
        )
    if not within:
        return "precision", (
            f"the kernel's formula is right, but the roundings in its IR give {evaluated:.9g}: "
            f"{lost or 'its roundings'}"
        )
    if lost:
        return "precision", (
            f"the kernel's IR gives {evaluated:.9g}, which is within the bound, but another order "
            f"of sums may exceed it: the test does not grant {lost}"
        )
    return "device", (
        f"the kernel's IR gives {evaluated:.9g}, which is within the bound: the compared result "
        "differs from what the IR computes"
    )


def _place(derived: Tolerance, output: Output, index: tuple[int, ...]) -> str:
    """Return program, lane and source line of an element's store as text; "" without a launch."""
    launch = derived.launch
    if launch is None:
        return ""
    arguments = copied_arguments(launch.arguments)
    tensor = next(a for a in arguments if isinstance(a, TensorArgument) and a.name == output.name)
    element_offset = sum(
        axis_index * stride for axis_index, stride in zip(index, tensor.strides, strict=True)
    )
    offset = tensor.offset_bytes + element_offset * tensor.element.bytes
    call = replace(launch, arguments=arguments)
    sharing = call.positions_in_storage(arguments.index(tensor))
    store = writers(call, sharing, np.array([offset]), None)
    program_and_lane = None if store is None else store.at(offset)
    if store is None or program_and_lane is None:
        return "no program stores this element"
    program, lane = program_at(program_and_lane[0], launch.grid), program_and_lane[1]
    lane_text = f", lane {lane}" if lane else ""
    return f"stored by program {program}{lane_text}, at {place(store.op)}"


def _largest(shares: Numbers, distances: Numbers) -> int:
    """Return the flat index of the largest share; of equal shares, of the largest distance."""
    has_largest_share = shares == shares.max()
    return int(
        np.argmax(
            np.where(has_largest_share, np.where(np.isfinite(distances), distances, np.inf), -1.0)
        )
    )


def _exceeds(values: Numbers, expected: Numbers, radius: Numbers) -> NDArray[np.bool_]:
    return np.asarray((distances_of(values, expected) > radius) & np.isfinite(radius))


def _overflows(values: Numbers, output: Output, radius: Numbers) -> NDArray[np.bool_]:
    """Return a mask of results that are the type's largest number, where that is expected."""
    expected = output.expected
    with np.errstate(all="ignore"):
        too_large = np.isfinite(expected) & (np.abs(expected) + radius > output.largest)
        same_side = np.sign(values) == np.sign(expected)
        return np.asarray(too_large & same_side & (np.abs(values) >= output.largest))


def _close(value: float, expected: float, radius: float) -> bool:
    return bool(not _exceeds(np.array(value), np.array(expected), np.array(radius)))
