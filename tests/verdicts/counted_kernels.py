"""Random kernels whose loops count near the ends of int32, and what they do, trip by trip.

A kernel has one loop, or one in another, of bounds and steps of both signs that are made of two
scalars, the program and the grid. Of each launch, Python's integers say where every trip goes as
the compiled kernel computes it (wrapped after each operation, the counter too) and without a width.
Nothing of kvtrace takes part in that.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

LEAST, MOST = -(1 << 31), (1 << 31) - 1
MOST_TRIPS = 2_000


def wrap(number: int) -> int:
    return (number - LEAST) % (1 << 32) + LEAST


@dataclass(frozen=True)
class Number:
    """What a number is; `folded`: the compiler knows it, so that no code computes it."""

    ideal: int
    actual: int
    folded: bool = False

    @property
    def differs(self) -> bool:
        return self.ideal != self.actual


Names = Mapping[str, Number]


@dataclass(frozen=True)
class Expression:
    """An integer: a name, a constant, or an operation."""

    operator: str
    parts: tuple[Any, ...]

    def __str__(self) -> str:
        if self.operator in ("name", "constant"):
            return str(self.parts[0])
        return f"({self.parts[0]} {self.operator} {self.parts[1]})"

    def number(self, names: Names) -> Number:
        if self.operator == "constant":
            return Number(self.parts[0], self.parts[0], folded=True)
        if self.operator == "name":
            return names[self.parts[0]]
        left, right = (part.number(names) for part in self.parts)
        actual = computed(self.operator, left.actual, right.actual)
        if left.folded and right.folded:
            return Number(wrap(actual), wrap(actual), folded=True)
        return Number(computed(self.operator, left.ideal, right.ideal), wrap(actual))

    def dividends(self, names: Names) -> Iterator[Number]:
        """Yield dividends, integers shifted right, and shift counts: their wraps show."""
        if self.operator not in ("name", "constant"):
            for part in self.parts:
                yield from part.dividends(names)
            if self.operator in ("//", "%", ">>"):
                yield self.parts[0].number(names)
        yield from self.shifts(names)

    def shifts(self, names: Names) -> Iterator[Number]:
        """Yield the shift count of this operation, which is undefined outside of 0 to 31."""
        if self.operator in ("<<", ">>"):
            yield self.parts[1].number(names)

    def is_undefined(self, names: Names) -> bool:
        if self.operator in ("name", "constant"):
            return False
        here = any(not 0 <= each.actual < 32 for each in self.shifts(names))
        return here or any(part.is_undefined(names) for part in self.parts)


def computed(operator: str, left: int, right: int) -> int:
    if operator == "<<":
        return left << right if 0 <= right < 32 else 0
    if operator == ">>":
        return left >> (right if 0 <= right < 32 else 31)
    if operator in ("+", "-", "*"):
        return {"+": left + right, "-": left - right, "*": left * right}[operator]
    quotient = abs(left) // right * (1 if left >= 0 else -1)
    return quotient if operator == "//" else left - quotient * right


@dataclass(frozen=True)
class Loop:
    first: Expression
    end: Expression
    step: Expression | int
    stages: int = 0
    """Of the pipeline, which TTIR notes and does not follow; 0: not said."""

    def __str__(self) -> str:
        bounds = f"{self.first}, {self.end}, {self.step}"
        return (
            f"tl.range({bounds}, num_stages={self.stages})" if self.stages else f"range({bounds})"
        )

    def counters(self, names: Names, seen: "Seen") -> Iterator[Number]:
        """The loop's variable in each trip: what is negative and constant counts down."""
        first, end = self.first.number(names), self.end.number(names)
        down = isinstance(self.step, int) and self.step < 0
        step = Number(abs(self.step), abs(self.step)) if isinstance(self.step, int) else None
        step = step or self.step.number(names)
        seen.used(first, end, step, *self._dividends(names))
        low, high = (end, first) if down else (first, end)
        counter = low.actual
        if self._is_inlined(counter, high.actual):
            yield Number(first.actual, first.actual, folded=True)
            return
        while counter < high.actual:
            plain = wrap(first.actual - counter + end.actual) if down else counter
            yield Number(plain, plain)
            if step.actual <= 0 or counter + step.actual > MOST:
                seen.wraps = True
            if step.actual == 0:
                return
            counter = wrap(counter + step.actual)

    def _is_inlined(self, low: int, high: int) -> bool:
        """Return whether MLIR has seen that there is one trip, so that nothing is counted."""
        constant = {self.first.operator, self.end.operator} == {"constant"}
        return constant and isinstance(self.step, int) and 0 < high - low <= abs(self.step)

    def _dividends(self, names: Names) -> Iterator[Number]:
        for each in (self.first, self.end, self.step):
            if isinstance(each, Expression):
                yield from each.dividends(names)


@dataclass
class Seen:
    """What a launch was seen to do; `cut` where it was not followed to its end."""

    outside: bool = False
    wraps: bool = False
    undefined: bool = False
    cut: bool = False
    trips: int = 0

    def used(self, *numbers: Number) -> None:
        self.wraps = self.wraps or any(number.differs for number in numbers)


@dataclass(frozen=True)
class Kernel:
    """Loops from the outermost in, the load's mask (left < right) and place; recorded sizes."""

    name: str
    loops: tuple[Loop, ...]
    mask: tuple[Expression, Expression] | None
    place: Expression
    sizes: Mapping[str, int] = field(hash=False)

    @property
    def source(self) -> str:
        lines = [f"def {self.name}(x, y, n, s):", "    p = tl.program_id(0)"]
        lines += ["    g = tl.num_programs(0)", "    c = 0.0"]
        for depth, loop in enumerate(self.loops):
            lines.append(f"{'    ' * (depth + 1)}for k{depth} in {loop}:")
        indent = "    " * (len(self.loops) + 1)
        mask = "" if self.mask is None else f", mask={self.mask[0]} < {self.mask[1]}, other=0.0"
        lines += [f"{indent}c += tl.load(x + {self.place}{mask})", "    tl.store(y + p, c)", ""]
        return "\n".join(lines)

    def done(self, n: int, s: int, grid: int, extents: tuple[int, int]) -> Seen:
        """Follow all programs of a launch."""
        seen = Seen()
        programs = range(grid) if grid <= 8 else (0, 1, grid // 2, grid - 2, grid - 1)
        for program in programs:
            names = {"n": n, "s": s, "p": program, "g": grid}
            known = {name: Number(number, number) for name, number in names.items()}
            self._follow(self.loops, known, extents[0], seen)
            seen.outside = seen.outside or not 0 <= program < extents[1]
            seen.cut = seen.cut or len(programs) < grid
        return seen

    def _follow(self, loops: tuple[Loop, ...], names: Names, extent: int, seen: Seen) -> None:
        if not loops:
            self._access(names, extent, seen)
            return
        for counter in loops[0].counters(names, seen):
            seen.trips += 1
            if seen.trips > MOST_TRIPS:
                seen.cut = True
                return
            depth = len(self.loops) - len(loops)
            self._follow(loops[1:], {**names, f"k{depth}": counter}, extent, seen)
            if seen.cut:
                return

    def _access(self, names: Names, extent: int, seen: Seen) -> None:
        if self.mask is not None:
            left, right = (part.number(names) for part in self.mask)
            for part in self.mask:
                seen.used(*part.dividends(names))
            if (left.ideal < right.ideal) != (left.actual < right.actual):
                seen.wraps = True
            if not left.actual < right.actual:
                return
        place = self.place.number(names)
        seen.used(place, *self.place.dividends(names))
        seen.undefined = seen.undefined or self.place.is_undefined(names)
        seen.outside = seen.outside or not 0 <= place.actual < extent


# -- drawing --------------------------------------------------------------------------------------


def drawn_kernel(number: int, seed: int = 0) -> Kernel:
    draw = random.Random((seed << 20) + number)
    depth = draw.choice((1, 1, 1, 2))
    loops = tuple(_loop(draw, level) for level in range(depth))
    counters = tuple(f"k{level}" for level in range(depth))
    mask = None
    if draw.random() < 0.5:
        mask = (_name(draw, counters), _name(draw, ("n", "s", "g")))
    sizes = {"n": _size(draw), "s": draw.choice((1, 2, 3, 7, 1 << 28, 1 << 30, -1, -5, 0))}
    sizes["grid"] = draw.choice((1, 1, 2, 3, 4, 7))
    return Kernel(f"counted_{number}", loops, mask, _place(draw, counters), sizes)


def _size(draw: random.Random) -> int:
    if draw.random() < 0.5:
        return draw.randrange(1, 200)
    return draw.choice((MOST - draw.randrange(300), draw.randrange(1 << 28, MOST)))


def _loop(draw: random.Random, level: int) -> Loop:
    near = draw.choice((0, 0, 0, 5, MOST - 600, MOST - (1 << 29), -7))
    first = draw.choice((_constant(near), _constant(near), _scaled(draw), _name(draw, ("s", "p"))))
    end = draw.choice((_name(draw, ("n",)), _name(draw, ("n",)), _constant(MOST), _scaled(draw)))
    step = draw.choice((
        1, 3, 64, 1 << 24, 1 << 29, 1 << 30, MOST, -1, -64, -(1 << 28), _name(draw, ("s",)),
        Expression("*", (_name(draw, ("g",)), _constant(draw.choice((1, 64, 1 << 28))))),
    ))  # fmt: skip
    if level and draw.random() < 0.5:
        end = _constant(draw.randrange(3))
    if isinstance(step, int) and step < 0 and end.operator == "constant":
        end = _name(draw, ("n",))  # MLIR folds `first - counter + end` of constants, which may wrap
    bounds = (end, first) if isinstance(step, int) and step < 0 else (first, end)
    return Loop(*bounds, step, draw.choice((0, 0, 1, 2, 4)))


def _scaled(draw: random.Random) -> Expression:
    operator = draw.choice("+-*")
    number = draw.choice((1, 2, 100)) if operator == "*" else draw.choice((1, 64, 1 << 29))
    return Expression(operator, (_name(draw, ("n", "s", "p")), _constant(number)))


def _place(draw: random.Random, counters: tuple[str, ...]) -> Expression:
    found = _name(draw, counters)
    for _ in range(draw.randrange(3)):
        operator = draw.choice(("+", "-", "*", "%", "//", "<<", ">>"))
        if operator in ("%", "//"):
            other = _constant(draw.choice((2, 8, 100)))
        elif operator in ("<<", ">>"):
            other = draw.choice((_constant(2), _name(draw, ("s", "p"))))
        else:
            other = draw.choice((_constant(draw.choice((1, 3, 64))), _name(draw, ("n", "s", "p"))))
        found = Expression(operator, (found, other))
    return found


def _name(draw: random.Random, names: tuple[str, ...]) -> Expression:
    return Expression("name", (draw.choice(names),))


def _constant(number: int) -> Expression:
    return Expression("constant", (number,))
