"""Bounds of the roundings of trees, for all inputs whose magnitudes lie in a range.

Two formulas that are equal in exact arithmetic give results as far apart as their roundings allow.
For `x * rsqrt(s)` and `x / sqrt(s)` with a positive `s` that is a few units in the last place for
all inputs that neither overflow nor vanish. Where terms cancel, all digits of a sum may differ, and
the bound is of the sum of its terms' magnitudes: `sum(s * x)` and `s * sum(x)` are both within some
units of `sum(|s * x|)`. So each node has a *scale*, its magnitude or that of its terms, and its
error in units of it, as in the running error analysis of Wilkinson (1963). A formula whose divisor
may cancel has no such bound, unless inputs at which it cancels much are left out.

`evaluate/shadows/errors` bounds roundings, too, but absolutely and for the inputs of one launch, in
any order of sums: of all inputs in a range it can say nothing, as nothing here says what one input
loses where terms cancel. Both have types' units and functions' accuracies from one place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce
from itertools import product
from typing import Final

from msgspec.structs import replace

from kvtrace.addons.invariance.bounded_numbers import (
    NEGATIVE,
    POSITIVE,
    RULES,
    UNIT,
    WITH_INFINITIES,
    NoBound,
    NoRule,
    Number,
    bounded_constant,
    exponential,
    joined,
    product_number,
    root_number,
    sum_number,
)
from kvtrace.addons.invariance.choices import choice_by_sign
from kvtrace.addons.invariance.repeated import is_exact_product
from kvtrace.addons.invariance.trees import EXTREMES, constant_of, function_of
from kvtrace.evaluate.dialects.libdevice import ACCURACY
from kvtrace.evaluate.registry import ELEMENTWISE
from kvtrace.evaluate.shadows.errors.roundings import is_float, smallest_of, unit_of
from kvtrace.symbolic.prover import Ranges
from kvtrace.symbolic.terms import Term
from kvtrace.symbolic.trees.tree import Tree

#: Exponents of 2 of the largest and the least magnitude of inputs; the widest range is stated.
_RANGES: Final = tuple(product((15, 10, 5, 3), (30, 15, 10, 5)))
_CANCELED_BITS: Final = 5
"""Leading bits that a divisor or root may lose, for formulas without a bound for all inputs."""
_LARGEST: Final = 2.0**126
_MOST_UNITS: Final = float(1 << 14)
"""A bound of more units is none."""
_MOST_NODES: Final = 20_000
"""Limit on the nodes that are bounded for a range, each trip of a loop counted."""
_SAME_SCALE: Final = 2.0**12
_SECOND_ORDER: Final = 1.01
"""Factor that covers products of errors, each of which is below 2^-9."""
_DIVISORS: Final = (
    f"no divisor or root is below 2^-{_CANCELED_BITS} of the sum of its terms' magnitudes"
)
_EXPONENTIAL: Final = {"exp": math.e, "exp2": 2.0}
_LOGARITHMS: Final = {"log": math.log, "log2": math.log2}
_STEEPEST: Final = {"erf": 2 / math.sqrt(math.pi), "tanh": 1.0, "atan": 1.0}
"""Odd functions that grow at most as fast as their relative argument, with their slope at 0."""


def bound_text(trees: Iterable[tuple[Tree, ...]]) -> str | None:
    """Return the text of a bound of the distance of versions that are equal in exact arithmetic.

    None: no bound is derived, or the second version loses digits that the first one keeps.

    Args:
        trees: The trees of each version's stores.
    """
    versions, narrow = _unrounded([*trees])
    for canceled, has_zeros in product((0, _CANCELED_BITS), (True, False)):
        for high, low in _RANGES:
            bounds = _Bounds(high, low, canceled, has_zeros=has_zeros)
            try:
                numbers = [reduce(joined, map(bounds.number, version)) for version in versions]
            except (NoRule, RecursionError):
                return None
            except (NoBound, ValueError, OverflowError, ZeroDivisionError):
                continue
            units = _SECOND_ORDER * sum(number.units for number in numbers)
            if units > _MOST_UNITS or _loses_digits(*numbers):
                continue
            has_logarithms = numbers[0].cancels and any(
                function_of(node) in _LOGARITHMS
                for version in versions for root in version for node in root.walk()
            )  # fmt: skip
            scale = "the sum of its terms' magnitudes" if numbers[0].cancels else "its value"
            return (
                f"each element{narrow} within {units * UNIT:.2g} of {scale}"
                f"{' (and 1 for a logarithm)' if has_logarithms else ''}, for all inputs that are "
                f"{'0 or ' if has_zeros else ''}of magnitudes from 2^-{low} to 2^{high}"
                + (f" where {_DIVISORS}" if canceled else "")
            )
    return None


def _loses_digits(before: Number, after: Number) -> bool:
    """Return whether the second version may cancel digits that the first one keeps.

    So does `sum(x) - n * c` for `sum(x - c)`, whose differences are exact.
    """
    has_larger_scale = after.least > _SAME_SCALE * before.least
    return after.cancels and (has_larger_scale or not before.cancels)


def _unrounded(versions: list[tuple[Tree, ...]]) -> tuple[list[tuple[Tree, ...]], str]:
    """Return the trees without a last rounding that all of them have, and a text on it."""
    roots = [root for version in versions for root in version]
    forms = {root.detail[::2] if root.what == "op" else None for root in roots}
    form = forms.pop() if len(forms) == 1 else None
    if form is None or form[0] != "arith.truncf":
        return versions, ""
    without = [tuple(root.parts[0] for root in version) for version in versions]
    return without, f", before it is rounded to {form[1]},"


class _Bounds:
    """The numbers of a tree's nodes for inputs of magnitudes from 2^-low to 2^high."""

    def __init__(self, high: int, low: int, canceled: int, *, has_zeros: bool) -> None:
        self._input = Number(0.0, 2.0**-low, 2.0**high, None, 2 if has_zeros else 0)
        self._canceled = canceled
        self._numbers: dict[Tree, Number] = {}
        self._carried: dict[tuple[int, int], Number] = {}
        self._ranges = Ranges({})
        self._nodes = 0

    def number(self, node: Tree) -> Number:
        """Return the values of a node.

        Raises:
            NoBound: the node has no bound in this range.
            NoRule: it has none in any range.
        """
        if node not in self._numbers:
            self._nodes += 1
            if self._nodes > _MOST_NODES:
                raise NoRule
            number = self._of(node)
            is_constant = node.what == "constant"
            if not is_constant and not 2.0**-125 <= number.least <= number.largest <= _LARGEST:
                raise NoBound
            if number.sign is None:
                number = replace(number, sign=frozenset({node}))
            self._numbers[node] = number
        return self._numbers[node]

    def _of(self, node: Tree) -> Number:
        match node.what:
            case "constant":
                return bounded_constant(node)
            case "argument" if is_float(node.detail[1]):
                return replace(self._input, sign=frozenset({node}))
            case "element" if is_float(node.detail[2]):
                return self._element(node)
            case "op":
                return self._op(node)
            case "reduction":
                return self._reduced(node)
            case "product":
                return self._matrix(node)
            case "loop":
                return self._loop(node)
            case "carried":
                return self._carried[node.detail[0], node.detail[1]]
        raise NoRule

    def _element(self, node: Tree) -> Number:
        parts = list(node.parts)
        if node.detail[1] is None:
            self._check_exact(parts.pop(0))
        if parts:
            self._check_exact(parts[0])
        others = [self._padding(parts[0], other) for other in parts[1:]]
        return replace(reduce(joined, others, self._input), sign=frozenset({node}))

    def _padding(self, mask: Tree, node: Tree) -> Number:
        """Return the values of lanes that a mask leaves out: an infinity only by known integers."""
        number = self.number(node)
        if mask.what == "condition" and not mask.detail[0].symbols("content"):
            return replace(number, zero=1) if constant_of(node) == 0 else number
        if number.infinity:
            raise NoRule
        return number

    def _op(self, node: Tree) -> Number:
        name, _, kind, _ = node.detail
        if not is_float(kind):
            raise NoRule
        if name in ("arith.sitofp", "arith.uitofp"):
            return self._integer(node.parts[0], kind)
        if name == "arith.select":
            return self._chosen(node)
        numbers = [self.number(part) for part in node.parts]
        function = function_of(node)
        if name not in RULES and function in ("abs", "fabs"):
            return replace(numbers[0], sign=POSITIVE)
        op = ELEMENTWISE.get(name) if name in RULES else None
        accuracy = ACCURACY.get(function) if op is None else op.accuracy
        if accuracy is None:
            raise NoRule
        if name in RULES:
            made = self._arithmetic(name, numbers)
            own_units = 2 * accuracy.ulps or RULES[name][1]
        else:
            made = self._function(function, numbers)
            own_units = 2 * (accuracy.ulps + accuracy.argument * numbers[0].largest)
        unit = unit_of(kind) / UNIT
        if made.infinity and name not in WITH_INFINITIES:
            raise NoRule
        if own_units and kind in ("f16", "bf16", "f32") and made.least < 2 * smallest_of(kind):
            raise NoBound
        if kind == "f16" and made.largest > 2.0**15:
            raise NoBound
        return replace(made, units=made.units + own_units * unit)

    def _arithmetic(self, name: str, numbers: list[Number]) -> Number:
        if name in ("arith.divf", "tt.precise_divf"):
            numbers = [numbers[0], self._uncanceled(numbers[1])]
        return RULES[name][0](*numbers)

    def _function(self, function: str, numbers: list[Number]) -> Number:
        (number,) = numbers
        if function in _EXPONENTIAL:
            return exponential(number, math.log(_EXPONENTIAL[function]))
        if number.infinity:
            raise NoRule
        if function in ("sqrt", "rsqrt"):
            return root_number(self._uncanceled(number), is_inverse=function == "rsqrt")
        if function in _LOGARITHMS:
            number = self._uncanceled(number)
            if not number.is_positive or number.zero:
                raise NoBound
            ends = (abs(_LOGARITHMS[function](end)) for end in (number.least, number.largest))
            scale = _LOGARITHMS[function](math.e) * number.units
            return Number(scale, 1.0, 1 + max(ends), None, 2, cancels=True)
        if function not in _STEEPEST:
            raise NoRule
        steepest = _STEEPEST[function]
        if number.cancels:
            return replace(number, largest=number.largest * steepest)
        least = min(number.least, 1.0) / 2
        return replace(number, least=least, largest=min(number.largest * steepest, 2.0))

    def _uncanceled(self, number: Number) -> Number:
        """Return a divisor's values, with errors relative to themselves."""
        if not number.cancels:
            return number
        if not self._canceled:
            raise NoBound
        factor, zero = 2.0**self._canceled, number.zero if self._input.zero else 0
        return replace(
            number, units=number.units * factor, least=number.least / factor, cancels=False,
            zero=zero,
        )  # fmt: skip

    def _integer(self, node: Tree, kind: str) -> Number:
        if node.what != "integer" or not isinstance(node.detail[0], Term):
            raise NoRule
        low, high = self._ranges.interval(node.detail[0])
        largest = max(abs(low), abs(high), 1)
        units = 0.0 if largest <= 1 / unit_of(kind) else unit_of(kind) / UNIT
        sign = POSITIVE if low >= 0 else NEGATIVE if high <= 0 else None
        return Number(units, 1.0, float(largest), sign, 2 if low <= 0 <= high else 0)

    def _chosen(self, node: Tree) -> Number:
        condition, *branches = node.parts
        if (by_sign := choice_by_sign(node)) is not None:
            operand = self.number(by_sign[0])
            made = reduce(joined, map(self.number, by_sign[1]))
            return replace(made, cancels=made.cancels or operand.cancels)
        self._check_exact(condition)
        return reduce(joined, (self._padding(condition, branch) for branch in branches))

    def _check_exact(self, node: Tree) -> None:
        """Raise NoRule if roundings may decide a condition or an address."""
        if node.what in ("condition", "integer", "constant"):
            return
        if node.what == "op" and node.detail[0] == "arith.cmpf":
            if any(constant_of(part) is None and self.number(part).units for part in node.parts):
                raise NoRule
        elif node.what in ("element", "op") and not is_float(node.detail[2]):
            for part in node.parts:
                self._check_exact(part)
        else:
            raise NoRule

    # -- many elements ---------------------------------------------------------------------------

    def _reduced(self, node: Tree) -> Number:
        if len(node.parts) != 2:
            raise NoRule
        combination, elements = node.parts
        terms, count = self.number(elements).unplaced, node.detail[1]
        if combination.what != "op" or any(part.what != "combined" for part in combination.parts):
            raise NoRule
        name = combination.detail[0]
        zero = 2 if terms.zero == 2 or not terms.is_positive else 0
        if name in EXTREMES:
            if terms.infinity not in (0, EXTREMES[name]):
                raise NoRule
            return replace(terms, infinity=0, zero=zero if terms.zero else 0)
        if name != "arith.addf" or terms.infinity:
            raise NoRule
        units = terms.units + (count - 1) * unit_of(combination.detail[2]) / UNIT
        return replace(
            terms, units=units, largest=terms.largest * count, zero=zero,
            cancels=terms.cancels or not terms.is_positive,
        )  # fmt: skip

    def _matrix(self, node: Tree) -> Number:
        types, attributes, extent, _ = node.detail
        left, right, addend = map(self.number, node.parts)
        form = dict(attributes)
        is_cut = "value=0," in form.get("inputPrecision", "") and not (left.units or right.units)
        is_exact = is_exact_product(types, form) or {*types[:2]} <= {"f16", "bf16"}
        if types[2] != "f32" or not (is_exact or is_cut):  # tf32 of the same factors is the same
            raise NoRule
        terms = product_number(left, right).unplaced
        if terms.infinity or addend.infinity:
            raise NoRule
        total = replace(terms, largest=terms.largest * extent)
        made = sum_number(
            total, addend
        )  # an adder of several products drops bits below a unit of each
        units = max(total.units + 1, addend.units) + 4 * (extent + 1)
        return replace(made, units=units, cancels=made.cancels or not terms.is_positive)

    def _loop(self, node: Tree) -> Number:
        count, level, is_while, _ = node.detail
        if is_while:
            raise NoRule
        low, high = self._ranges.interval(count)
        outer, carried = self._numbers, dict(self._carried)
        values = [self.number(part) for part in node.parts[::2]]
        results = [values[0]] if low <= 0 else []
        for trip in range(1, int(min(high, _MOST_NODES)) + 1):
            self._carried |= {(level, index): n.unplaced for index, n in enumerate(values)}
            self._numbers = {}
            values = [self.number(part) for part in node.parts[1::2]]
            if trip >= low:
                results.append(values[0])
        self._numbers, self._carried = outer, carried
        if not results:
            raise NoRule
        return reduce(joined, results).unplaced
