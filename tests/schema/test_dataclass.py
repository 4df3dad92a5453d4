"""Our `dataclass` against the standard library's: whatever a class may be asked is the same."""

import copy
import dataclasses
import inspect
import pickle
import timeit
from dataclasses import FrozenInstanceError, asdict, astuple, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import pytest

from kvtrace.schema.dataclass import _compiled_init as compiled_init
from kvtrace.schema.dataclass import dataclass as ours
from kvtrace.schema.dataclass import replace as replaced

CALLS = [
    ((), {}), ((1,), {}), ((1, "t"), {}), ((1, "t", [2], 3), {}), ((1, "t", [2], 3, 4), {}),
    ((), {"number": 1}), ((1,), {"number": 1}), ((1,), {"more": 2}), ((1,), {"fixed": 2}),
    ((), {"value": 2}), ((), {"text": "t"}),
]  # fmt: skip

OPTIONS = [
    {}, {"frozen": True}, {"slots": True}, {"frozen": True, "slots": True}, {"eq": False},
    {"eq": False, "frozen": True}, {"eq": False, "slots": True},
]  # fmt: skip


def classes(make):
    """Define the same classes with a decorator."""

    @make
    class Plain:
        """Documented."""

        number: int
        text: str = "text"
        numbers: list[int] = field(default_factory=list, compare=False, repr=False)

        @property
        def double(self) -> int:
            return 2 * self.number

    @make
    class Derived(Plain):
        more: Any = None
        worked_out: int = field(init=False)
        fixed: int = field(default=7, init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "worked_out", self.number + 1)

    @make
    class Empty:
        pass

    @make
    class Own:
        value: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __repr__(self) -> str:
            return "own"

    return Plain, Derived, Empty, Own


def outcome(action):
    """Give what an action gives, or the kind of error that it raises."""
    try:
        return action()
    except Exception as error:
        return type(error)


def behaviour(make):
    """Give all that is compared."""
    plain, derived, empty, own = classes(make)
    one, same, other = plain(1), plain(1, "text", [3]), plain(2, numbers=[1])
    child = derived(5, "t", more=[1])
    return [
        [(c == d, c != d) for c in (one, other, child) for d in (same, child)],
        [outcome(lambda c=c: hash(c) == hash(copy.copy(c))) for c in (one, child, empty(), own(1))],
        [repr(c).rpartition(".")[2] for c in (one, child, empty(), own(1))],
        own(1) == own(2),
        [outcome(lambda c=c: setattr(c, "number", 9)) for c in (one, child)],
        [outcome(lambda c=c: setattr(c, "unheard", 9)) for c in (one, child)],
        outcome(lambda: delattr(other, "text")),
        outcome(lambda: plain()),
        outcome(lambda: plain(1, 2, 3, 4)),
        outcome(lambda: plain(1, unheard=2)),
        outcome(lambda: derived(1, fixed=2)),
        [f.name for f in fields(plain)], [f.name for f in fields(derived)],
        [(f.name, f.init, f.repr, f.compare) for f in fields(child)],
        asdict(child), astuple(child), is_dataclass(plain), is_dataclass(child),
        asdict(replace(same, text="new")), outcome(lambda: replace(child, fixed=1)),
        plain.__match_args__, derived.__match_args__, empty.__match_args__,
        one.double, child.fixed, child.worked_out, plain.__doc__, plain.__name__,
        outcome(lambda: vars(child)),
        str(inspect.signature(replace(child).__class__)).count(","),
        asdict(copy.deepcopy(child)),
        outcome(lambda: plain.text), outcome(lambda: plain.numbers),
    ]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=repr)
def test_classes_behave_as_those_of_the_standard_library(options):
    expected = behaviour(dataclasses.dataclass(**options))
    found = behaviour(ours(**options))
    for position, (a, b) in enumerate(zip(found, expected, strict=True)):
        # With slots, the standard library's frozen classes fail at their own super() (Python 3.11).
        expected_text = str(b).replace("<class 'TypeError'>", "FROZEN") if position == 5 else str(b)
        found_text = str(a).replace("<class 'dataclasses.FrozenInstanceError'>", "FROZEN")
        assert found_text == expected_text.replace(
            "<class 'dataclasses.FrozenInstanceError'>", "FROZEN"
        ), position


@ours(frozen=True, slots=True)
class Point:
    x: int
    y: float = 0.5


@ours(frozen=True)
class Cached:
    x: int

    @cached_property
    def square(self) -> int:
        return self.x**2


def test_instances_can_be_pickled_and_kept_in_sets():
    assert pickle.loads(pickle.dumps(Point(1))) == Point(1)
    assert {Point(1), Point(1, 0.5), Point(2)} == {Point(1), Point(2)}
    assert not hasattr(Point(1), "__dict__")


def test_values_that_are_worked_out_once_are_kept_in_frozen_ones():
    cached = Cached(3)
    assert (cached.square, cached.__dict__["square"]) == (9, 9)
    with pytest.raises(FrozenInstanceError):
        cached.x = 4


def test_the_standard_library_derives_from_ours():
    @dataclasses.dataclass(frozen=True)
    class Further(Cached):
        y: int = 1

    assert (Further(2).x, Further(2, 3).y) == (2, 3)


def test_patterns_match():
    match Point(1, 2.0):
        case Point(x, y):
            assert (x, y) == (1, 2.0)


def test_a_default_is_what_it_was_when_the_class_was_made():
    made = [ours(type("Some", (), {"__annotations__": {"x": int}, "x": n})) for n in range(2)]
    assert [kind().x for kind in made] == [0, 1]


def test_making_a_class_is_several_times_cheaper():
    def define(make):
        body = {"__annotations__": dict.fromkeys("abcde", int), "__doc__": "documented"}
        return lambda: make(frozen=True)(type("Some", (), dict(body)))

    standard = min(timeit.repeat(define(dataclasses.dataclass), number=20, repeat=5))
    assert min(timeit.repeat(define(ours), number=20, repeat=5)) < standard / 4


def some(names, **options):
    return ours(**options)(type("Some", (), {"__annotations__": dict.fromkeys(names, int)}))


def test_nothing_is_compiled_until_many_instances_are_made():
    kind = some("abcdefg")
    assert [kind(n, *range(6)).a for n in range(10)] == list(range(10))
    assert kind.__init__.__code__.co_varnames[:3] == ("self", "arguments", "named")
    assert [kind(n, *range(6)).a for n in range(200)] == list(range(200))
    assert kind.__init__.__code__.co_varnames == ("self", *"abcdefg")


@pytest.mark.parametrize("options", OPTIONS, ids=repr)
@pytest.mark.parametrize("count", range(1, 7))
def test_every_number_of_fields_in_any_order_of_names(options, count):
    names = [*"dcba", "self_", "b2"][:count]
    kind = some(names, **options)
    for _ in range(3):
        assert asdict(kind(*range(count))) == dict(zip(names, range(count), strict=True))
        assert asdict(kind(**dict.fromkeys(names, 1))) == dict.fromkeys(names, 1)
        with pytest.raises(TypeError, match=r"Some.__init__\(\) missing 1 required"):
            kind(*range(count - 1))
        with pytest.raises(TypeError):
            kind(*range(count + 1))


@pytest.mark.parametrize("options", OPTIONS, ids=repr)
def test_the_first_instances_are_as_those_made_by_compiled_code(options):
    for first, compiled in zip(classes(ours(**options)), classes(ours(**options)), strict=True):
        compiled.__init__ = compiled_init(compiled)
        for arguments, named in CALLS:
            found, expected = (
                outcome(lambda kind=kind, given=arguments, also=named: asdict(kind(*given, **also)))
                for kind in (first, compiled)
            )
            assert found == expected, (first, arguments, named)


def test_how_a_class_is_called_can_be_asked():
    @ours
    class Size:
        width: int
        height: int = 3

    class Further(Size):
        def __init__(self, depth: int) -> None:
            super().__init__(depth)

    assert [str(inspect.signature(kind)) for kind in (Size, Further)] == [
        "(width, height=3)",
        "(depth: int) -> None",
    ]


@pytest.mark.parametrize("options", OPTIONS, ids=repr)
def test_instances_with_other_values_are_made_without_a_standard_class(options):
    plain, derived, *_ = classes(ours(**options))
    one, child = replaced(plain(1, numbers=[2]), text="new"), derived(5, more=[1])
    assert asdict(one) == {"number": 1, "text": "new", "numbers": [2]}
    changed = replaced(child, number=8)
    assert (changed.number, changed.more, changed.worked_out) == (8, [1], 9)
    for wrong in ({"fixed": 1}, {"unheard": 1}):
        with pytest.raises(TypeError):
            replaced(child, **wrong)


def test_a_standard_class_that_derives_from_ours_keeps_its_fields():
    @dataclasses.dataclass(frozen=True)
    class Further(Cached):
        y: int = 1

    changed = replaced(Further(2, 3), x=4)
    assert (changed.x, changed.y) == (4, 3)
