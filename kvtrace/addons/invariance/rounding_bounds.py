"""Bounds of the roundings of trees, for all inputs whose magnitudes lie in a range.

Two formulas that are equal in exact arithmetic give results as far apart as their roundings allow.
For `x * rsqrt(s)` and `x / sqrt(s)` with a positive `s` that is a few units in the last place for
all inputs that neither overflow nor vanish. Where terms cancel, all digits of a sum may differ, and
the bound is of the sum of its terms' magnitudes: `sum(s * x)` and `s * sum(x)` are both within some
units of `sum(|s * x|)`. So each node has a *scale*, its magnitude or that of its terms, and its
error in units of it, as in the running error analysis of Wilkinson (1963). A formula whose divisor
may cancel has no such bound, unless inputs at which it cancels much are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import Final

from kvtrace.addons.invariance.choices import choice_by_sign
from kvtrace.addons.invariance.exponentials import source_constant
from kvtrace.addons.invariance.numbers import constant
from kvtrace.addons.invariance.repeated import is_exact_product
from kvtrace.addons.invariance.trees import Tree, constant_of, function_of
from kvtrace.evaluate.registry import ELEMENTWISE
from kvtrace.evaluate.shadows.errors.roundings import is_float, smallest_of, unit_of
from kvtrace.symbolic.prover import Ranges
from kvtrace.symbolic.terms import Term

#: Exponents of 2 of the largest and the least magnitude of inputs; the widest range is stated.
_RANGES: Final = tuple(product((15, 10, 5, 3), (30, 15, 10, 5)))
_CANCELED_BITS: Final = 5
"""Leading bits that a divisor or root may lose, for formulas without a bound for all inputs."""
_UNIT: Final = unit_of("f32")
_LARGEST: Final = 2.0**126
_MOST_OF_EXPONENTIAL: Final = 80.0
_MOST_UNITS: Final = float(1 << 14)
"""A bound of more units is none."""
_MOST_NODES: Final = 20_000
"""Limit on the nodes that are bounded for a range, each trip of a loop counted."""
_SECOND_ORDER: Final = 1.01
"""Factor that covers products of errors, each of which is below 2^-9."""
_DIVISORS: Final = (
    f"no divisor or root is below 2^-{_CANCELED_BITS} of the sum of its terms' magnitudes"
)
_EXPONENTIAL: Final = {"exp": math.e, "exp2": 2.0}
_LOGARITHMS: Final = {"log": math.log, "log2": math.log2}
_STEEPEST: Final = {"erf": 2 / math.sqrt(math.pi), "tanh": 1.0, "atan": 1.0}
"""Odd functions that grow at most as fast as their relative argument, with their slope at 0."""
_EXTREMES: Final = {
    "arith.maximumf": -1, "arith.maxnumf": -1, "arith.minimumf": 1, "arith.minnumf": 1,
}  # fmt: skip
"""The sign of the infinity that makes no difference to a maximum or minimum."""


_Sign = frozenset[Tree | str]
_POSITIVE: Final[_Sign] = frozenset()
_NEGATIVE: Final[_Sign] = frozenset({"-"})


@dataclass(frozen=True, slots=True)
class _Number:
    """All values of a node, which are off by at most `units` * 2^-24 of their scale.

    Attributes:
        units: the error; 0: exact.
        least: the least scale that is not 0.
        largest: the largest scale.
        sign: nodes of whose product the values have the sign, each once; None: not known.
        zero: 2: any value may be 0; 1: lanes are that a mask of known integers leaves out; 0: none.
        cancels: the scale is not the value's magnitude, but that of its terms.
        infinity: the sign of an infinity in lanes that such a mask leaves out; 0: none.
    """

    units: float
    least: float
    largest: float
    sign: _Sign | None
    zero: int
    cancels: bool = False
    infinity: int = 0

    @property
    def is_positive(self) -> bool:
        """No value is below 0."""
        return self.sign == _POSITIVE

    @property
    def unplaced(self) -> _Number:
        """The values of all lanes, or of all trips, whose signs may differ."""
        return self if self.is_positive else replace(self, sign=None)


class _NoBound(Exception):
    """A node without a bound in a range of inputs."""


class _NoRule(Exception):
    """A node without a bound in any range."""


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
                numbers = [reduce(_joined, map(bounds.number, version)) for version in versions]
            except (_NoRule, RecursionError):
                return None
            except (_NoBound, ValueError, OverflowError, ZeroDivisionError):
                continue
            units = _SECOND_ORDER * sum(number.units for number in numbers)
            if units > _MOST_UNITS or numbers[0].cancels < numbers[-1].cancels:
                continue
            has_logarithms = numbers[0].cancels and any(
                function_of(node) in _LOGARITHMS
                for version in versions for root in version for node in root.walk()
            )  # fmt: skip
            scale = "the sum of its terms' magnitudes" if numbers[0].cancels else "its value"
            return (
                f"each element{narrow} within {units * _UNIT:.2g} of {scale}"
                f"{' (and 1 for a logarithm)' if has_logarithms else ''}, for all inputs that are "
                f"{'0 or ' if has_zeros else ''}of magnitudes from 2^-{low} to 2^{high}"
                + (f" where {_DIVISORS}" if canceled else "")
            )
    return None


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
        self._input = _Number(0.0, 2.0**-low, 2.0**high, None, 2 if has_zeros else 0)
        self._canceled = canceled
        self._numbers: dict[Tree, _Number] = {}
        self._carried: dict[tuple[int, int], _Number] = {}
        self._ranges = Ranges({})
        self._nodes = 0

    def number(self, node: Tree) -> _Number:
        """Return the values of a node.

        Raises:
            _NoBound: the node has no bound in this range.
            _NoRule: it has none in any range.
        """
        if node not in self._numbers:
            self._nodes += 1
            if self._nodes > _MOST_NODES:
                raise _NoRule
            number = self._of(node)
            is_constant = node.what == "constant"
            if not is_constant and not 2.0**-125 <= number.least <= number.largest <= _LARGEST:
                raise _NoBound
            if number.sign is None:
                number = replace(number, sign=frozenset({node}))
            self._numbers[node] = number
        return self._numbers[node]

    def _of(self, node: Tree) -> _Number:
        match node.what:
            case "constant":
                return _constant(node)
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
        raise _NoRule

    def _element(self, node: Tree) -> _Number:
        parts = list(node.parts)
        if node.detail[1] is None:
            self._check_exact(parts.pop(0))
        if parts:
            self._check_exact(parts[0])
        others = [self._padding(parts[0], other) for other in parts[1:]]
        return replace(reduce(_joined, others, self._input), sign=frozenset({node}))

    def _padding(self, mask: Tree, node: Tree) -> _Number:
        """Return the values of lanes that a mask leaves out: an infinity only by known integers."""
        number = self.number(node)
        if mask.what == "condition" and not mask.detail[0].symbols("content"):
            return replace(number, zero=1) if constant_of(node) == 0 else number
        if number.infinity:
            raise _NoRule
        return number

    def _op(self, node: Tree) -> _Number:
        name, _, kind, _ = node.detail
        if not is_float(kind):
            raise _NoRule
        if name in ("arith.sitofp", "arith.uitofp"):
            return self._integer(node.parts[0], kind)
        if name == "arith.select":
            return self._chosen(node)
        numbers = [self.number(part) for part in node.parts]
        function = name if name in _RULES else f"math.{function_of(node)}"
        if function in ("math.abs", "math.fabs"):
            return replace(numbers[0], sign=_POSITIVE)
        if function not in ELEMENTWISE:
            raise _NoRule
        accuracy = ELEMENTWISE[function].accuracy
        if name in _RULES:
            made = self._arithmetic(name, numbers)
            own = 2 * accuracy.ulps or _RULES[name][1]
        else:
            made = self._function(function.removeprefix("math."), numbers)
            own = 2 * (accuracy.ulps + accuracy.argument * numbers[0].largest)
        unit = unit_of(kind) / _UNIT
        if made.infinity and name not in _WITH_INFINITIES:
            raise _NoRule
        if own and kind in ("f16", "bf16", "f32") and made.least < 2 * smallest_of(kind):
            raise _NoBound
        if kind == "f16" and made.largest > 2.0**15:
            raise _NoBound
        return replace(made, units=made.units + own * unit)

    def _arithmetic(self, name: str, numbers: list[_Number]) -> _Number:
        if name in ("arith.divf", "tt.precise_divf"):
            numbers = [numbers[0], self._uncanceled(numbers[1])]
        return _RULES[name][0](*numbers)

    def _function(self, function: str, numbers: list[_Number]) -> _Number:
        (number,) = numbers
        if function in _EXPONENTIAL:
            return _exponential(number, math.log(_EXPONENTIAL[function]))
        if number.infinity:
            raise _NoRule
        if function in ("sqrt", "rsqrt"):
            return _root(self._uncanceled(number), is_inverse=function == "rsqrt")
        if function in _LOGARITHMS:
            number = self._uncanceled(number)
            if not number.is_positive or number.zero:
                raise _NoBound
            ends = (abs(_LOGARITHMS[function](end)) for end in (number.least, number.largest))
            scale = _LOGARITHMS[function](math.e) * number.units
            return _Number(scale, 1.0, 1 + max(ends), None, 2, cancels=True)
        if function not in _STEEPEST:
            raise _NoRule
        steepest = _STEEPEST[function]
        if number.cancels:
            return replace(number, largest=number.largest * steepest)
        least = min(number.least, 1.0) / 2
        return replace(number, least=least, largest=min(number.largest * steepest, 2.0))

    def _uncanceled(self, number: _Number) -> _Number:
        """Return a divisor's values, with errors relative to themselves."""
        if not number.cancels:
            return number
        if not self._canceled:
            raise _NoBound
        factor, zero = 2.0**self._canceled, number.zero if self._input.zero else 0
        return replace(
            number, units=number.units * factor, least=number.least / factor, cancels=False,
            zero=zero,
        )  # fmt: skip

    def _integer(self, node: Tree, kind: str) -> _Number:
        if node.what != "integer" or not isinstance(node.detail[0], Term):
            raise _NoRule
        low, high = self._ranges.interval(node.detail[0])
        largest = max(abs(low), abs(high), 1)
        units = 0.0 if largest <= 1 / unit_of(kind) else unit_of(kind) / _UNIT
        sign = _POSITIVE if low >= 0 else _NEGATIVE if high <= 0 else None
        return _Number(units, 1.0, float(largest), sign, 2 if low <= 0 <= high else 0)

    def _chosen(self, node: Tree) -> _Number:
        condition, *branches = node.parts
        if (by_sign := choice_by_sign(node)) is not None:
            operand = self.number(by_sign[0])
            made = reduce(_joined, map(self.number, by_sign[1]))
            return replace(made, cancels=made.cancels or operand.cancels)
        self._check_exact(condition)
        return reduce(_joined, (self._padding(condition, branch) for branch in branches))

    def _check_exact(self, node: Tree) -> None:
        """Raise _NoRule if roundings may decide a condition or an address."""
        if node.what in ("condition", "integer", "constant"):
            return
        if node.what == "element" and not is_float(node.detail[2]):
            for part in node.parts:
                self._check_exact(part)
        elif node.what == "op" and node.detail[0] == "arith.cmpf":
            if any(constant_of(part) is None and self.number(part).units for part in node.parts):
                raise _NoRule
        elif node.what == "op" and not is_float(node.detail[2]):
            for part in node.parts:
                self._check_exact(part)
        else:
            raise _NoRule

    # -- many elements ---------------------------------------------------------------------------

    def _reduced(self, node: Tree) -> _Number:
        if len(node.parts) != 2:
            raise _NoRule
        combination, elements = node.parts
        terms, count = self.number(elements).unplaced, node.detail[1]
        if combination.what != "op" or any(part.what != "combined" for part in combination.parts):
            raise _NoRule
        name = combination.detail[0]
        zero = 2 if terms.zero == 2 or not terms.is_positive else 0
        if name in _EXTREMES:
            if terms.infinity not in (0, _EXTREMES[name]):
                raise _NoRule
            return replace(terms, infinity=0, zero=zero if terms.zero else 0)
        if name != "arith.addf" or terms.infinity:
            raise _NoRule
        units = terms.units + (count - 1) * unit_of(combination.detail[2]) / _UNIT
        return replace(
            terms, units=units, largest=terms.largest * count, zero=zero,
            cancels=terms.cancels or not terms.is_positive,
        )  # fmt: skip

    def _matrix(self, node: Tree) -> _Number:
        types, attributes, extent, _ = node.detail
        if types[2] != "f32" or not (
            is_exact_product(types, dict(attributes)) or {*types[:2]} <= {"f16", "bf16"}
        ):
            raise _NoRule
        left, right, addend = map(self.number, node.parts)
        terms = _product(left, right).unplaced
        if terms.infinity or addend.infinity:
            raise _NoRule
        total = replace(terms, largest=terms.largest * extent)
        made = _sum(total, addend)  # an adder of several products drops bits below a unit of each
        units = max(total.units + 1, addend.units) + 4 * (extent + 1)
        return replace(made, units=units, cancels=made.cancels or not terms.is_positive)

    def _loop(self, node: Tree) -> _Number:
        count, level, is_while, _ = node.detail
        if is_while:
            raise _NoRule
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
            raise _NoRule
        return reduce(_joined, results).unplaced


def _constant(node: Tree) -> _Number:
    value = constant_of(node)
    if value is None or math.isnan(value):
        raise _NoRule
    if math.isinf(value):
        sign = _POSITIVE if value > 0 else _NEGATIVE
        return _Number(0.0, 1.0, 1.0, sign, 0, infinity=1 if value > 0 else -1)
    size = abs(value) or 1.0
    kind, bits = node.detail
    source = source_constant(kind, bits[0])
    units = 0.0 if source in (None, constant(kind, bits[0])) else unit_of(kind) / _UNIT
    return _Number(units, size, size, _NEGATIVE if value < 0 else _POSITIVE, 0 if value else 2)


def _joined(left: _Number, right: _Number) -> _Number:
    if left.infinity * right.infinity < 0:
        raise _NoRule
    return _Number(
        max(left.units, right.units),
        min(left.least, right.least),
        max(left.largest, right.largest),
        left.sign if left.sign == right.sign else None,
        max(left.zero, right.zero),
        left.cancels or right.cancels,
        left.infinity or right.infinity,
    )


def _sign_of_product(left: _Number, right: _Number) -> _Sign | None:
    return None if left.sign is None or right.sign is None else left.sign ^ right.sign


def _product(left: _Number, right: _Number) -> _Number:
    infinity = left.infinity or right.infinity
    if infinity and not any(
        factor.is_positive and not (factor.zero or factor.infinity) for factor in (left, right)
    ):
        raise _NoRule
    return _Number(
        left.units + right.units,
        left.least * right.least,
        left.largest * right.largest,
        _sign_of_product(left, right),
        max(left.zero, right.zero),
        left.cancels or right.cancels,
        infinity,
    )


def _quotient(left: _Number, right: _Number) -> _Number:
    if right.zero:
        raise _NoBound
    if left.infinity or right.infinity:
        raise _NoRule
    return replace(
        left,
        units=left.units + right.units,
        least=left.least / right.largest,
        largest=left.largest / right.least,
        sign=_sign_of_product(left, right),
    )


def _sum(left: _Number, right: _Number) -> _Number:
    sign = left.sign if left.sign == right.sign else None
    if left.infinity * right.infinity < 0:
        raise _NoRule
    made = _Number(
        max(left.units, right.units),
        min(left.least, right.least),
        left.largest + right.largest,
        sign,
        2 if sign is None else min(left.zero, right.zero),
        left.cancels or right.cancels or sign is None,
        left.infinity or right.infinity,
    )
    if made.cancels and not (left.units or right.units):  # digits that cancel are exact
        return replace(made, least=made.least * _UNIT, cancels=False)
    return made


def _negative(number: _Number) -> _Number:
    sign = None if number.sign is None else number.sign ^ _NEGATIVE
    return replace(number, sign=sign, infinity=-number.infinity)


def _extreme(neutral: int) -> Callable[[_Number, _Number], _Number]:
    """Return the rule of a maximum or minimum, to which one infinity makes no difference."""

    def rule(left: _Number, right: _Number) -> _Number:
        for number, other in ((left, right), (right, left)):
            is_constant = number.units == 0 and number.least == number.largest > other.largest
            if is_constant and not number.zero and number.is_positive == (neutral > 0):
                return replace(other, infinity=0)
        made = _joined(left, right)
        if neutral < 0 and (left.is_positive or right.is_positive):
            made = replace(made, sign=_POSITIVE)
        is_neutral = made.infinity == neutral and not (left.infinity and right.infinity)
        return replace(made, infinity=0) if is_neutral else made

    return rule


def _exponential(power: _Number, scale: float) -> _Number:
    """Return e to a power times `scale`: 0 for an infinity, which is negative."""
    largest = power.largest * scale
    if largest > _MOST_OF_EXPONENTIAL:
        raise _NoBound
    if power.infinity > 0:
        raise _NoRule
    return _Number(
        largest * power.units, math.exp(-largest), math.exp(largest), _POSITIVE,
        1 if power.infinity else 0,
    )  # fmt: skip


def _root(square: _Number, *, is_inverse: bool) -> _Number:
    if not square.is_positive or (is_inverse and square.zero):
        raise _NoBound
    least, largest = math.sqrt(square.least), math.sqrt(square.largest)
    if is_inverse:
        least, largest = 1 / largest, 1 / least
    return replace(square, units=square.units / 2, least=least, largest=largest)


_RULES: Final[dict[str, tuple[Callable[..., _Number], float]]] = {
    "arith.mulf": (_product, 1.0),
    "arith.divf": (_quotient, 1.0),
    "tt.precise_divf": (_quotient, 1.0),
    "arith.addf": (_sum, 1.0),
    "arith.subf": (lambda left, right: _sum(left, _negative(right)), 1.0),
    "arith.negf": (_negative, 0.0),
    "arith.extf": (lambda number: number, 0.0),
    "arith.truncf": (lambda number: number, 1.0),
    "math.fma": (lambda left, right, added: _sum(_product(left, right), added), 1.0),
    **{name: (_extreme(sign), 0.0) for name, sign in _EXTREMES.items()},
}
_WITH_INFINITIES: Final = frozenset(
    {*_EXTREMES, "arith.addf", "arith.subf", "arith.mulf", "arith.negf", "arith.extf"}
)
