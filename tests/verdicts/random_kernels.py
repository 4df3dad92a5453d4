"""Random kernels of integer expressions, as TTIR, and what each address, mask and branch is.

A kernel has several cases: an expression that gives the place of a load or a store, with or without
a mask or a branch around it, or that is stored. Of each, Python's integers say what it is in every
program and lane as the kernel computes it (`actual`, wrapped after each operation) and without
widths (`ideal`); nothing of kvtrace takes part in that. Explicit casts to fewer bits are meant.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

LANES = 4


@dataclass(frozen=True)
class Type:
    bits: int
    signed: bool = True

    @property
    def name(self) -> str:
        return f"i{self.bits}"

    def holds(self, number: int) -> bool:
        low = -(1 << (self.bits - 1)) if self.signed else 0
        return low <= number < low + (1 << self.bits)

    def wrap(self, number: int) -> int:
        low = -(1 << (self.bits - 1)) if self.signed else 0
        return (number - low) % (1 << self.bits) + low


I32, I64 = Type(32), Type(64)
TYPES = (I32, I32, I32, I32, I64, I64, Type(16), Type(8), Type(32, False), Type(32, False),
         Type(64, False), Type(16, False), Type(8, False))  # fmt: skip


@dataclass(frozen=True)
class Number:
    """What an integer or Boolean is; `under`: unsigned arithmetic went below zero on the way."""

    ideal: int
    actual: int
    under: bool = False


@dataclass
class Point:
    """A program of a call, with what has been seen so far."""

    program: int
    scalars: dict[str, int]
    contents: dict[str, list[int]]
    slots: dict[str, list[Number]] = field(default_factory=dict)
    shows: bool = False
    ambiguous: bool = False


Meaning = Callable[[Point], list[Number]]
"""Gives one number, or one for each lane."""


@dataclass(frozen=True)
class Value:
    ssa: str
    type: Type
    block: bool
    meaning: Meaning

    @property
    def text(self) -> str:
        return f"tensor<{LANES}x{self.type.name}>" if self.block else self.type.name


@dataclass(frozen=True)
class Case:
    """A memory op, by its position among those of its kernel: where it goes in a point."""

    kind: str
    argument: str
    place: Value
    mask: Value | None
    branch: Value | None
    stored: Value | None


class Kernel:
    """A random kernel; `text` is its TTIR, `cases` what its memory ops are."""

    SCALARS: ClassVar = {"a": I32, "b": I32, "w": I64, "u": Type(32, False), "n": I32}
    TENSORS: ClassVar = {
        "p32": I32,
        "p64": I64,
        "q32": Type(32, False),
        "p16": Type(16),
        "q8": Type(8, False),
    }

    def __init__(self, seed: int, cases: int = 8, depth: int = 6) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.functions: list[str] = []
        self.count = 0
        self.depth = depth
        self.bound: list[Value] = []
        self.cases = []
        self.program = self._op("tt.get_program_id", [], I32, False, lambda p: [
            Number(p.program, p.program)], "{axis = 0 : i32}")  # fmt: skip
        lanes = [Number(lane, lane) for lane in range(LANES)]
        self.range = self._op("tt.make_range", [], I32, True, lambda _: lanes,
                              f"{{end = {LANES} : i32, start = 0 : i32}}")  # fmt: skip
        self.scalars = [
            Value(f"%{name}", type_, False, self._scalar(name, type_))
            for name, type_ in self.SCALARS.items()
        ]
        self.loaded = [self._load(name, type_) for name, type_ in self.TENSORS.items()]
        for number in range(cases):
            self._case(number)
        self.text = self._module(cases)

    # -- text ------------------------------------------------------------------------------------

    def _name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def _emit(self, text: str) -> None:
        self.lines.append(text)

    def _op(
        self,
        name: str,
        given: list[Value],
        type_: Type,
        block: bool,
        meaning: Meaning,
        properties: str = "",
    ) -> Value:
        value = Value(self._name(), type_, block, meaning)
        types = ", ".join(each.text for each in given)
        operands = ", ".join(each.ssa for each in given)
        held = f" <{properties}>" if properties else ""
        self._emit(f'{value.ssa} = "{name}"({operands}){held} : ({types}) -> {value.text}')
        return value

    def _module(self, cases: int) -> str:
        targets = [f"x{number}" for number in range(cases)]
        pointers = [("i8", name) for name in targets]
        pointers += [(type_.name, name) for name, type_ in self.TENSORS.items()]
        parameters = [(f"!tt.ptr<{type_}>", name) for type_, name in pointers]
        parameters += [(type_.name, name) for name, type_ in self.SCALARS.items()]
        types = ", ".join(type_ for type_, _ in parameters)
        arguments = ", ".join(f"%{name}: {type_}" for type_, name in parameters)
        body = "\n".join(self.lines)
        functions = "\n".join(self.functions)
        return (
            '"builtin.module"() ({\n'
            f'"tt.func"() <{{function_type = ({types}) -> (), sym_name = "k", '
            'sym_visibility = "public"}> ({\n'
            f'^bb0({arguments}):\n{body}\n"tt.return"() : () -> ()\n'
            "}) {noinline = false} : () -> ()\n"
            f"{functions}\n}}) : () -> ()\n"
        )

    # -- leaves ----------------------------------------------------------------------------------

    @staticmethod
    def _scalar(name: str, type_: Type) -> Meaning:
        def meaning(point: Point) -> list[Number]:
            number = point.scalars[name]
            return [Number(number, number)]

        return meaning

    def _load(self, name: str, type_: Type) -> Value:
        pointer = f"!tt.ptr<{type_.name}>"
        splat, place = self._name(), self._name()
        block = f"tensor<{LANES}x{pointer}>"
        self._emit(f'{splat} = "tt.splat"(%{name}) : ({pointer}) -> {block}')
        self._emit(
            f'{place} = "tt.addptr"({splat}, {self.range.ssa}) : '
            f"({block}, tensor<{LANES}xi32>) -> {block}"
        )
        value = Value(self._name(), type_, True, lambda p: [
            Number(each, each) for each in p.contents[name]])  # fmt: skip
        self._emit(
            f'{value.ssa} = "tt.load"({place}) <{{boundaryCheck = array<i32>, cache = 1 : i32, '
            "evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> : "
            f"({block}) -> {value.text}"
        )
        return value

    def _constant(self, type_: Type, number: int, *, block: bool) -> Value:
        held = [Number(number, number)] * (LANES if block else 1)
        text = f"tensor<{LANES}x{type_.name}>" if block else type_.name
        shown = f"dense<{number}> : {text}" if block else f"{number} : {text}"
        return self._op("arith.constant", [], type_, block, lambda _: held, f"{{value = {shown}}}")

    def _number(self, type_: Type) -> int:
        most = type_.bits - 1
        power = self.random.randrange(0, most)
        number = self.random.choice([1, 2, 3, 5, 7, 16, 64, 100, 1 << power, (1 << power) + 1])
        number = min(number, (1 << most) - 1)
        if not type_.signed and number >= 1 << 16:
            number &= ~1  # large odd ones are hashes
        return -number if type_.signed and self.random.random() < 0.2 else number

    def _leaf(self, type_: Type, *, block: bool) -> Value:
        pick = self.random.random()
        usable = [each for each in self.bound if block or not each.block]
        if usable and pick < 0.4:
            value = self.random.choice(usable)
        elif pick < 0.55:
            return self._constant(type_, self._number(type_), block=block)
        elif block and pick < 0.75:
            value = self.random.choice(self.loaded)
        elif block and pick < 0.85:
            value = self.range
        else:
            value = self.random.choice([self.program, *self.scalars])
        return self._as(self._cast(value, type_), block=block)

    def _as(self, value: Value, *, block: bool) -> Value:
        if value.block or not block:
            return value
        inner = value.meaning
        return self._op("tt.splat", [value], value.type, True, lambda p: inner(p) * LANES)

    # -- expressions -----------------------------------------------------------------------------

    def expression(self, depth: int, type_: Type, *, block: bool) -> Value:
        if depth <= 0 or self.random.random() < 0.1:
            return self._leaf(type_, block=block)
        kinds: list[tuple[Callable[..., Value], int]] = [
            (self._sum, 12), (self._bits, 3), (self._shift, 2), (self._division, 3),
            (self._extreme, 2), (self._select, 2), (self._other_type, 5), (self._loop, 1),
            (self._while, 1), (self._branch, 1), (self._call, 1),
        ]  # fmt: skip
        kinds.append((self._scan if block else self._reduce, 1))
        make = self.random.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
        return make(depth, type_, block=block)

    def _two(self, depth: int, type_: Type, *, block: bool) -> list[Value]:
        other = 0 if self.random.random() < 0.5 else depth - 1
        pair = [self.expression(d, type_, block=block) for d in (depth - 1, other)]
        self.random.shuffle(pair)
        return pair

    def _binary(
        self,
        name: str,
        pair: list[Value],
        apply: Callable[[int, int], int],
        *,
        reads: bool = False,
        counts: bool = False,
    ) -> Value:
        """`reads`: it is no sum, product or the like, so that a number counts for what it is."""
        left, right = pair
        type_ = left.type

        def meaning(point: Point) -> list[Number]:
            first, second = left.meaning(point), right.meaning(point)
            return [
                self._applied(point, type_, apply, a, b, reads, counts)
                for a, b in zip(first, second, strict=True)
            ]

        return self._op(name, pair, type_, left.block, meaning)

    @staticmethod
    def _applied(
        point: Point, type_: Type, apply: Any, a: Number, b: Number, reads: bool, counts: bool
    ) -> Number:
        if reads:
            a, b = (_read(point, type_, each, counts=counts) for each in (a, b))
        ideal, actual = apply(a.ideal, b.ideal), type_.wrap(apply(a.actual, b.actual))
        under = not type_.signed and a.ideal >= 0 and b.ideal >= 0 and ideal < 0
        return Number(ideal, actual, not reads and (under or a.under or b.under))

    def _sum(self, depth: int, type_: Type, *, block: bool) -> Value:
        name = self.random.choice(["addi", "addi", "subi", "muli", "muli"])
        pair = self._two(depth, type_, block=block)
        return self._binary(f"arith.{name}", pair, _SUMS[name])

    def _bits(self, depth: int, type_: Type, *, block: bool) -> Value:
        name = self.random.choice(["andi", "ori", "xori"])
        pair = self._two(depth, type_, block=block)
        if self.random.random() < 0.6:
            number = abs(self._number(type_))
            pair[1] = self._constant(type_, number, block=block)
        return self._binary(f"arith.{name}", pair, _BITS[name])

    def _shift(self, depth: int, type_: Type, *, block: bool) -> Value:
        inner = self.expression(depth - 1, type_, block=block)
        amount = self._constant(type_, self.random.randrange(type_.bits), block=block)
        if self.random.random() < 0.5:
            return self._binary("arith.shli", [inner, amount], lambda a, b: a << b)
        name = "arith.shrsi" if type_.signed else "arith.shrui"
        return self._binary(name, [inner, amount], lambda a, b: a >> b, reads=True)

    def _division(self, depth: int, type_: Type, *, block: bool) -> Value:
        inner = self.expression(depth - 1, type_, block=block)
        number = max(1, abs(self._number(type_)))
        pair = [inner, self._constant(type_, number, block=block)]
        kind = "s" if type_.signed else "u"
        if self.random.random() < 0.5:
            return self._binary(f"arith.div{kind}i", pair, _quotient, reads=True, counts=True)
        return self._binary(f"arith.rem{kind}i", pair, _remainder, reads=True)

    def _extreme(self, depth: int, type_: Type, *, block: bool) -> Value:
        name = self.random.choice(["min", "max"])
        pair = self._two(depth, type_, block=block)
        kind = "s" if type_.signed else "u"
        function = min if name == "min" else max
        return self._binary(f"arith.{name}{kind}i", pair, function, reads=True, counts=True)

    def comparison(self, depth: int, *, block: bool) -> Value:
        type_ = self.random.choice(TYPES)
        left, right = self._two(depth, type_, block=block)
        number = self.random.choice([0, 1, 2, 2, 3, 4, 5])
        compare = _PREDICATES[number]
        unsigned = not type_.signed and number > 1

        def meaning(point: Point) -> list[Number]:
            pairs = zip(left.meaning(point), right.meaning(point), strict=True)
            results = []
            for a, b in pairs:
                first, second = (_read(point, type_, each) for each in (a, b))
                ideal = compare(first.ideal, second.ideal)
                results.append(Number(ideal, compare(a.actual, b.actual)))
            return results

        predicate = number + 4 if unsigned else number
        return self._op(
            "arith.cmpi", [left, right], Type(1, False), block, meaning,
            f"{{predicate = {predicate} : i64}}",
        )  # fmt: skip

    def _select(self, depth: int, type_: Type, *, block: bool) -> Value:
        condition = self.comparison(depth - 2, block=block)
        pair = self._two(depth, type_, block=block)

        def meaning(point: Point) -> list[Number]:
            chosen = zip(*(each.meaning(point) for each in (condition, *pair)), strict=True)
            return [
                Number(
                    (a if c.ideal else b).ideal,
                    (a if c.actual else b).actual,
                    a.under or b.under,
                )
                for c, a, b in chosen
            ]

        return self._op("arith.select", [condition, *pair], type_, block, meaning)

    def _other_type(self, depth: int, type_: Type, *, block: bool) -> Value:
        other = self.random.choice(TYPES)
        return self._cast(self.expression(depth - 1, other, block=block), type_)

    def _cast(self, value: Value, target: Type) -> Value:
        source = value.type

        def meaning(point: Point) -> list[Number]:
            return [_cast(point, each, source, target) for each in value.meaning(point)]

        if source.bits == target.bits:
            return Value(value.ssa, target, value.block, meaning)
        name = "trunci"
        if source.bits < target.bits:
            name = "extsi" if source.signed else "extui"
        return self._op(f"arith.{name}", [value], target, value.block, meaning)

    # -- control ---------------------------------------------------------------------------------

    def _carrying(self, type_: Type, *, block: bool) -> tuple[Value, str]:
        slot = self._name()
        value = Value(slot, type_, block, lambda p: p.slots[slot])
        return value, slot

    def _nested(self, bound: list[Value], make: Callable[[], Any]) -> tuple[Any, list[str]]:
        outside, self.lines = self.lines, []
        self.bound += bound
        made = make()
        inside, self.lines = self.lines, outside
        if bound:
            del self.bound[-len(bound) :]
        return made, inside

    def _loop(self, depth: int, type_: Type, *, block: bool) -> Value:
        """Carry a number through a loop of a constant's or an argument's trips."""
        initial = self.expression(depth - 2, type_, block=block)
        end = self._bound_of_a_loop(depth)
        first, step = (self._constant(I32, n, block=False) for n in (0, self.random.choice([1, 2])))
        counter, counter_slot = self._carrying(I32, block=False)
        carried, carried_slot = self._carrying(type_, block=block)
        outcome, inside = self._nested(
            [counter, carried, carried], lambda: self.expression(depth - 2, type_, block=block)
        )

        def meaning(point: Point) -> list[Number]:
            (limit,), (by,) = end.meaning(point), step.meaning(point)
            point.shows |= limit.ideal != limit.actual
            numbers = initial.meaning(point)
            for trip in range(0, limit.actual, by.actual):
                point.slots[counter_slot] = [Number(trip, trip)]
                point.slots[carried_slot] = numbers
                numbers = outcome.meaning(point)
            return numbers

        result = Value(self._name(), type_, block, meaning)
        self._emit(
            f'{result.ssa} = "scf.for"({first.ssa}, {end.ssa}, {step.ssa}, {initial.ssa}) ({{\n'
            f"^bb0({counter.ssa}: i32, {carried.ssa}: {carried.text}):"
        )
        self.lines += inside
        self._emit(
            f'"scf.yield"({outcome.ssa}) : ({outcome.text}) -> ()\n'
            f"}}) : (i32, i32, i32, {result.text}) -> {result.text}"
        )
        return result

    def _bound_of_a_loop(self, depth: int) -> Value:
        """At most 7 trips: a number, or an expression's lowest bits."""
        if self.random.random() < 0.6:
            return self._constant(I32, self.random.randrange(6), block=False)
        inner = self.expression(min(depth - 2, 2), I32, block=False)
        seven = self._constant(I32, 7, block=False)
        if self.random.random() < 0.5:
            return self._binary("arith.minsi", [inner, seven], min, reads=True, counts=True)
        return self._binary("arith.andi", [inner, seven], _BITS["andi"])

    def _while(self, depth: int, type_: Type, *, block: bool) -> Value:
        """Carry a number while a counter has not come to its end."""
        initial = self.expression(depth - 2, type_, block=block)
        zero = self._constant(I32, 0, block=False)
        one = self._constant(I32, 1, block=False)
        end = self._bound_of_a_loop(depth)
        counter, counter_slot = self._carrying(I32, block=False)
        carried, carried_slot = self._carrying(type_, block=block)
        outcome, inside = self._nested(
            [counter, carried, carried], lambda: self.expression(depth - 2, type_, block=block)
        )

        def meaning(point: Point) -> list[Number]:
            (limit,) = end.meaning(point)
            numbers, trip = initial.meaning(point), 0
            while True:
                point.shows |= (trip < limit.ideal) != (trip < limit.actual)
                if trip >= limit.actual:
                    return numbers
                point.slots[counter_slot] = [Number(trip, trip)]
                point.slots[carried_slot] = numbers
                numbers = outcome.meaning(point)
                trip += 1

        result = Value(self._name(), type_, block, meaning)
        goes, gone, first, other, following = (self._name() for _ in range(5))
        text = result.text
        self._emit(
            f'{gone}:2 = "scf.while"({zero.ssa}, {initial.ssa}) ({{\n'
            f"^bb0({first}: i32, {other}: {text}):\n"
            f'{goes} = "arith.cmpi"({first}, {end.ssa}) <{{predicate = 2 : i64}}> : '
            "(i32, i32) -> i1\n"
            f'"scf.condition"({goes}, {first}, {other}) : (i1, i32, {text}) -> ()\n}}, {{\n'
            f"^bb0({counter.ssa}: i32, {carried.ssa}: {text}):"
        )
        self.lines += inside
        self._emit(
            f'{following} = "arith.addi"({counter.ssa}, {one.ssa}) : (i32, i32) -> i32\n'
            f'"scf.yield"({following}, {outcome.ssa}) : (i32, {text}) -> ()\n'
            f"}}) : (i32, {text}) -> (i32, {text})"
        )
        return Value(f"{gone}#1", type_, block, meaning)

    def _branch(self, depth: int, type_: Type, *, block: bool) -> Value:
        condition = self.comparison(depth - 2, block=False)
        ways = [
            self._nested([], lambda: self.expression(depth - 2, type_, block=block))
            for _ in range(2)
        ]

        def meaning(point: Point) -> list[Number]:
            (taken,) = condition.meaning(point)
            point.shows |= taken.ideal != taken.actual
            return ways[0 if taken.actual else 1][0].meaning(point)

        result = Value(self._name(), type_, block, meaning)
        self._emit(f'{result.ssa} = "scf.if"({condition.ssa}) ({{')
        for number, (value, inside) in enumerate(ways):
            self.lines += inside
            self._emit(f'"scf.yield"({value.ssa}) : ({value.text}) -> ()')
            self._emit("}, {" if number == 0 else f"}}) : (i1) -> {result.text}")
        return result

    def _call(self, depth: int, type_: Type, *, block: bool) -> Value:
        given = self._two(depth - 1, type_, block=block)
        name = f"f{len(self.functions)}"
        names = [f"%{name}_{number}" for number in range(2)]
        kept = self.bound, self.loaded, self.scalars, self.program, self.range
        parameters = [Value(n, type_, block, lambda p, n=n: p.slots[n]) for n in names]
        self.functions.append("")
        self.bound = parameters
        place = len(self.functions) - 1

        def make() -> Value:
            pair = [parameters[0], self.random.choice(parameters)]
            which = self.random.choice(["addi", "subi", "muli"])
            first = self._binary(f"arith.{which}", pair, _SUMS[which])
            number = self._constant(type_, self._number(type_), block=block)
            other = self.random.choice(["addi", "muli"])
            return self._binary(f"arith.{other}", [first, number], _SUMS[other])

        outcome, inside = self._nested([], make)
        self.bound, self.loaded, self.scalars, self.program, self.range = kept
        text = outcome.text
        body = "\n".join(inside)
        self.functions[place] = (
            f'"tt.func"() <{{function_type = ({text}, {text}) -> {text}, sym_name = "{name}", '
            f'sym_visibility = "private"}}> ({{\n^bb0({names[0]}: {text}, {names[1]}: {text}):\n'
            f'{body}\n"tt.return"({outcome.ssa}) : ({text}) -> ()\n'
            "}) {noinline = true} : () -> ()"
        )

        def meaning(point: Point) -> list[Number]:
            for slot, value in zip(names, given, strict=True):
                point.slots[slot] = value.meaning(point)
            return outcome.meaning(point)

        return self._op("tt.call", given, type_, block, meaning, f"{{callee = @{name}}}")

    def _reduce(self, depth: int, type_: Type, *, block: bool) -> Value:
        del block
        return self._along("reduce", self.expression(depth - 1, type_, block=True))

    def _scan(self, depth: int, type_: Type, *, block: bool) -> Value:
        return self._along("scan", self.expression(depth - 1, type_, block=block))

    def _along(self, how: str, inner: Value) -> Value:
        type_ = inner.type
        name = self.random.choice(["addi", "addi", "maxsi", "minsi"] if type_.signed else ["addi"])
        apply = {"addi": lambda a, b: a + b, "maxsi": max, "minsi": min}[name]
        reads = name != "addi"

        def meaning(point: Point) -> list[Number]:
            numbers = inner.meaning(point)
            results = numbers[:1]
            for each in numbers[1:]:
                results.append(self._applied(point, type_, apply, results[-1], each, reads, reads))
            return results[-1:] if how == "reduce" else results

        result = Value(self._name(), type_, how == "scan", meaning)
        one, other, joined = (self._name() for _ in range(3))
        scalar = type_.name
        extra = "" if how == "reduce" else ", reverse = false"
        self._emit(
            f'{result.ssa} = "tt.{how}"({inner.ssa}) <{{axis = 0 : i32{extra}}}> ({{\n'
            f"^bb0({one}: {scalar}, {other}: {scalar}):\n"
            f'{joined} = "arith.{name}"({one}, {other}) : ({scalar}, {scalar}) -> {scalar}\n'
            f'"tt.{how}.return"({joined}) : ({scalar}) -> ()\n'
            f"}}) : ({inner.text}) -> {result.text}"
        )
        return result

    # -- cases -----------------------------------------------------------------------------------

    def _case(self, number: int) -> None:
        kind = self.random.choice(["load", "load", "store", "index"])
        branch = (
            self.comparison(self.depth - 2, block=False) if self.random.random() < 0.2 else None
        )
        name = f"x{number}"
        (place, mask, stored), inside = self._nested([], lambda: self._access(kind, name))
        if branch is not None:
            self._emit(f'"scf.if"({branch.ssa}) ({{')
        self.lines += inside
        if branch is not None:
            self._emit('"scf.yield"() : () -> ()\n}, {\n}) : (i1) -> ()')
        self.cases.append(Case(kind, name, place, mask, branch, stored))

    def _access(self, kind: str, name: str) -> tuple[Value, Value | None, Value | None]:
        type_ = self.random.choice([I32, I32, I32, I64])
        stored = None
        if kind == "index":
            place = self.range
            raw = self.expression(self.depth, self.random.choice([I32, Type(16), I64]), block=True)
            stored = self._binary(
                "arith.addi", [raw, self._cast(self.range, raw.type)], _SUMS["addi"]
            )
        else:
            place = self.expression(self.depth, type_, block=True)
        mask = self.comparison(self.depth - 2, block=True) if self.random.random() < 0.4 else None
        pointer = f"!tt.ptr<{stored.type.name if stored else 'i8'}>"
        block = f"tensor<{LANES}x{pointer}>"
        base = f"%{name}"
        if stored is not None:
            base = self._name()
            self._emit(f'{base} = "tt.bitcast"(%{name}) : (!tt.ptr<i8>) -> {pointer}')
        splat, pointers = self._name(), self._name()
        self._emit(f'{splat} = "tt.splat"({base}) : ({pointer}) -> {block}')
        self._emit(
            f'{pointers} = "tt.addptr"({splat}, {place.ssa}) : ({block}, {place.text}) -> {block}'
        )
        flags = "boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32"
        masked = "" if mask is None else f", {mask.ssa}"
        mask_type = "" if mask is None else f", {mask.text}"
        if kind == "load":
            sizes = f"array<i32: 1, {int(mask is not None)}, 0>"
            self._emit(
                f'{self._name()} = "tt.load"({pointers}{masked}) <{{{flags}, isVolatile = false, '
                f"operandSegmentSizes = {sizes}}}> : ({block}{mask_type}) -> tensor<{LANES}xi8>"
            )
        else:
            value = stored or self._constant(Type(8), 1, block=True)
            self._emit(
                f'"tt.store"({pointers}, {value.ssa}{masked}) <{{{flags}}}> : '
                f"({block}, {value.text}{mask_type}) -> ()"
            )
        return place, mask, stored


@dataclass
class Exactly:
    """What is so in some program and lane: a wrap shows, an access is outside; or it is open."""

    shows: bool = False
    outside: bool = False
    ambiguous: bool = False
    active: bool = False


def judged_exactly(
    case: Case, programs: int, scalars: dict[str, int], contents: dict[str, list[int]], room: int
) -> Exactly:
    """Look at every program and lane; `room`: bytes of the tensor."""
    found = Exactly()
    for program in range(programs):
        point = Point(program, scalars, contents)
        if case.branch is not None:
            (taken,) = case.branch.meaning(point)
            point.shows |= taken.ideal != taken.actual
            if not taken.actual:
                found.shows |= point.shows
                found.ambiguous |= point.ambiguous
                continue
        always = [Number(1, 1)] * LANES
        masks = always if case.mask is None else case.mask.meaning(point)
        before = point.shows
        places = case.place.meaning(point)
        stored = places if case.stored is None else case.stored.meaning(point)
        size = 1 if case.stored is None else case.stored.type.bits // 8
        if point.shows and not before and not any(active.actual for active in masks):
            point.shows, point.ambiguous = False, True  # a branch that decides no access
        for active, place, index in zip(masks, places, stored, strict=True):
            point.shows |= active.ideal != active.actual
            if not active.actual:
                continue
            found.active = True
            point.shows |= place.ideal != place.actual
            found.outside |= not 0 <= place.actual * size <= room - size
            if case.stored is not None:
                bits = case.stored.type.bits
                point.shows |= not -(1 << (bits - 1)) <= index.ideal < 1 << bits
        found.shows |= point.shows
        found.ambiguous |= point.ambiguous
    return found


def _read(point: Point, type_: Type, number: Number, *, counts: bool = False) -> Number:
    """Take a number for what it is: a negative one that was made unsigned is a large one."""
    if type_.signed or number.ideal >= 0 or number.ideal < -(1 << (type_.bits - 1)):
        return number
    if number.under and counts:
        return number
    point.ambiguous = True
    return Number(type_.wrap(number.ideal), number.actual)


def _cast(point: Point, number: Number, source: Type, target: Type) -> Number:
    actual = target.wrap(number.actual)
    if target.bits < source.bits:
        if not target.signed:  # only the op that reads it says that it is unsigned
            large = max(actual, target.wrap(number.ideal))
            point.ambiguous |= large >= 1 << (target.bits - 1)
        return Number(target.wrap(number.ideal), actual)
    if target.bits > source.bits:
        number = _read(point, source, number, counts=True)
    ideal = number.ideal
    if not target.holds(ideal) and source.holds(ideal):
        if source.signed:
            return Number(ideal, actual)  # a negative number counts as one until it is read
        point.ambiguous |= not source.signed
        ideal = target.wrap(ideal)
    return Number(ideal, actual, number.under and source.bits == target.bits)


def _quotient(left: int, right: int) -> int:
    return abs(left) // right * (1 if left >= 0 else -1)


def _remainder(left: int, right: int) -> int:
    return left - right * _quotient(left, right)


_SUMS = {"addi": lambda a, b: a + b, "subi": lambda a, b: a - b, "muli": lambda a, b: a * b}
_BITS = {"andi": lambda a, b: a & b, "ori": lambda a, b: a | b, "xori": lambda a, b: a ^ b}
_PREDICATES = (
    lambda a, b: int(a == b), lambda a, b: int(a != b), lambda a, b: int(a < b),
    lambda a, b: int(a <= b), lambda a, b: int(a > b), lambda a, b: int(a >= b),
)  # fmt: skip
