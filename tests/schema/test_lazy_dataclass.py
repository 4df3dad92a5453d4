"""`dataclass` whose methods are compiled late: equal to the standard one in all that is used."""

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field
from typing import ClassVar

import pytest

from kvtrace.schema.lazy_dataclass import dataclass

OPTIONS = [
    {"frozen": frozen, "slots": slots, "eq": eq}
    for frozen in (False, True)
    for slots in (False, True)
    for eq in (False, True)
]


def made_by(decorator, **options):
    """Return a class with a field of each kind, made by a decorator."""

    @decorator(**options)
    class Point:
        """A point."""

        kinds: ClassVar[int] = 2
        x: int
        names: tuple[str, ...] = ()
        sums: list[int] = field(default_factory=list)
        note: str = field(default="", compare=False, repr=False)
        number: int = field(default=1, hash=False, kw_only=True)
        double: int = field(init=False)
        twice: int = field(init=False, default=4)

        def __post_init__(self):
            object.__setattr__(self, "double", 2 * self.x)

    return Point


def calls(point):
    """Return what a class's methods return or raise, which is to be equal for both decorators."""

    def answer(call):
        try:
            return call()
        except (AttributeError, TypeError) as error:
            return type(error), str(error).removeprefix(point.__qualname__)

    one, other = point(1, sums=(), note="a"), point(1, sums=(), note="b", number=1)
    return [
        repr(one),
        dataclasses.asdict(one),
        dataclasses.astuple(dataclasses.replace(one, x=3)),
        one == other,
        one == point(1, ("n",), ()),
        one.__eq__(3),
        answer(lambda: hash(one)) == hash(other) if point.__hash__ else None,
        answer(lambda: hash(one)) if point.__hash__ not in (None, object.__hash__) else None,
        answer(lambda: hash(point(1, sums=(), number=2))) == answer(lambda: hash(one)),
        answer(point),
        answer(lambda: point(1, (), [], "", 5)),
        answer(lambda: point(1, y=2)),
        answer(lambda: setattr(one, "x", 4)),
        answer(lambda: setattr(one, "double", 4)),
        answer(lambda: delattr(one, "twice")),
        hasattr(one, "__dict__"),
        point(2).sums is not point(2).sums,
        point.__match_args__,
        point.kinds,
        repr(copy.copy(point(5))),
        repr(copy.deepcopy(point(5))),
    ]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_methods_answer_as_those_of_the_standard_library(options):
    expected = calls(made_by(dataclasses.dataclass, **options))

    assert calls(made_by(dataclass, **options)) == expected


@dataclass(frozen=True, slots=True)
class Pair:
    """Two values, at the top of a module, where pickle finds the class."""

    left: int
    right: "Pair | None" = None


def test_a_frozen_instance_without_a_dict_is_pickled():
    assert pickle.loads(pickle.dumps(Pair(1, Pair(2)))) == Pair(1, Pair(2))


def test_own_methods_stay():
    @dataclass(frozen=True)
    class Named:
        name: str

        def __init__(self, name):
            object.__setattr__(self, "name", name.upper())

        def __repr__(self):
            return self.name

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 7

    assert (repr(Named("a")), Named("a") == Named("b"), hash(Named("a"))) == ("A", True, 7)


@pytest.mark.parametrize("first", [dataclass, dataclasses.dataclass])
@pytest.mark.parametrize("second", [dataclass, dataclasses.dataclass])
def test_fields_are_inherited_from_either_kind(first, second):
    @first(frozen=True)
    class Base:
        a: int
        b: int = 2

    @second(frozen=True)
    class Derived(Base):
        c: int = 3

    derived = Derived(1)
    assert dataclasses.astuple(derived) == (1, 2, 3)
    assert derived == Derived(1, 2, 3) != Base(1)
    with pytest.raises(FrozenInstanceError):
        derived.a = 4


def test_a_class_that_inherits_without_a_decorator_is_made_and_may_have_more():
    @dataclass(frozen=True)
    class Base:
        a: int

    class Plain(Base):
        pass

    plain = Plain(1)
    object.__setattr__(plain, "more", 2)
    plain.even_more = 3
    assert (plain.a, plain.more, plain.even_more, plain == Plain(1)) == (1, 2, 3, True)
    with pytest.raises(FrozenInstanceError):
        plain.a = 2


def test_nothing_is_compiled_before_the_first_instance(monkeypatch):
    compiled = []
    real = dataclass.__globals__["_init_source"]
    monkeypatch.setitem(
        dataclass.__globals__, "_init_source", lambda *given: compiled.append(given) or real(*given)
    )

    @dataclass(frozen=True, slots=True)
    class Late:
        a: int

    assert compiled == []
    assert [Late(1).a, Late(a=2).a] == [1, 2]
    assert len(compiled) == 1
