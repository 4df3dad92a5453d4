"""`dataclass` as in the standard library, at a twentieth of what making a class costs.

The standard one writes and compiles the text of up to eight methods for each class, 0.3 ms of every
process that imports it, used or not: a first launch imports a hundred such classes, and makes few
instances of most. Here methods are shared, and `__init__` alone is compiled, when a class turns out
to be used much. `fields`, `replace`, `asdict` and `is_dataclass` of the standard library work, for
which they make its class (`replace` here does without); type checkers see the standard library.

Supported are `frozen`, `slots` and `eq`, `field(...)`, bases made here, and `__post_init__`.
"""

import sys
from dataclasses import MISSING, Field, FrozenInstanceError
from operator import attrgetter
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
else:

    def dataclass(
        cls: type | None = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True
    ) -> Any:
        """Make a class hold the fields that its annotations name, as `dataclasses.dataclass`."""

        def made(given: type) -> type:
            return _made(given, frozen=frozen, slots=slots, eq=eq)

        return made if cls is None else made(cls)

    def replace(instance: Any, /, **changes: Any) -> Any:
        """Make an instance with other values, as the standard one, which would make a class."""
        cls = type(instance)
        facts = cls.__dict__.get("_facts")
        if facts is None:
            import dataclasses

            return dataclasses.replace(instance, **changes)
        same = {name: getattr(instance, name) for name in facts.given if name not in changes}
        return cls(**same, **changes)


_UNCOMPILED = 96
"""Instances that are made before `__init__` is compiled: that costs 45 to 90 µs, as much as it has
saved by then."""


class _Facts:
    """What a class was made of: fields in order, with defaults (MISSING or `field(...)`)."""

    __slots__ = (
        "annotations", "defaults", "frozen", "given", "least", "shown", "slots",
        "standard", "uncompiled", "values",
    )  # fmt: skip

    def __init__(
        self, annotations: dict[str, Any], defaults: dict[str, Any], *, frozen: bool, slots: bool
    ) -> None:
        self.annotations = annotations
        self.defaults = defaults
        self.frozen = frozen
        self.slots = slots
        self.values = _reader([n for n in annotations if _asked(defaults[n], "compare")])
        self.shown = [n for n in annotations if _asked(defaults[n], "repr")]
        self.standard: type | None = None
        self.given = [n for n in annotations if _asked(defaults[n], "init")]
        self.uncompiled = _UNCOMPILED
        self.least = -1

    def prepare(self) -> None:
        """Work out what making instances takes, before the first.

        `least` is how many values must be given if all come by position, and nothing else is set.
        """
        least = 0
        for default in self.defaults.values():
            if not isinstance(default, Field):
                least += default is MISSING
            elif default.init:
                least += _has_none(default)
            elif not _has_none(default):
                least = sys.maxsize
        self.least = least

    def value_of(self, name: str) -> Any:
        """Give what an instance holds where it is not given; MISSING if that is nothing."""
        default = self.defaults[name]
        if not isinstance(default, Field):
            return default
        if default.default_factory is not MISSING:
            return default.default_factory()
        inherited = not default.init and not self.slots
        return MISSING if inherited else default.default  # the class has it


def _reader(names: list[str]) -> "Callable[[Any], tuple[Any, ...]]":
    """Give the function that reads attributes as a tuple."""
    if not names:
        return lambda _: ()
    read: Callable[[Any], Any] = attrgetter(*names)
    return read if len(names) > 1 else lambda instance: (read(instance),)


def _asked(default: Any, what: str) -> bool:
    return bool(getattr(default, what)) if isinstance(default, Field) else True


def _has_none(default: Any) -> bool:
    """Tell whether a field has no default."""
    if not isinstance(default, Field):
        return default is MISSING
    return default.default is MISSING and default.default_factory is MISSING


def _made(cls: type, *, frozen: bool, slots: bool, eq: bool) -> type:
    own = {name: kind for name, kind in _annotations(cls).items() if "ClassVar" not in str(kind)}
    own_defaults = {name: cls.__dict__.get(name, MISSING) for name in own}
    annotations: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited = base.__dict__.get("_facts")
        if inherited is not None:
            annotations |= inherited.annotations
            defaults |= inherited.defaults
    annotations |= own
    defaults |= own_defaults
    for name, default in own_defaults.items():
        if slots or (isinstance(default, Field) and default.default is MISSING):
            if default is not MISSING:
                delattr(cls, name)
        elif isinstance(default, Field):
            setattr(cls, name, default.default)
    if slots:
        cls = _with_slots(cls, tuple(own), state=frozen)
    facts = _Facts(annotations, defaults, frozen=frozen, slots=slots)
    methods: dict[str, Any] = {
        "_facts": facts,
        "__match_args__": tuple(facts.given),
        **_ASKED_FOR,
    }
    for name, method in methods.items():
        setattr(cls, name, method)
    offered: dict[str, Any] = {"__init__": _first_init(cls, facts), "__repr__": _repr}
    if eq:
        offered |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
    if frozen:
        offered |= {"__setattr__": _refuse_setting, "__delattr__": _refuse_deleting}
    written = cls.__dict__
    for name, method in offered.items():
        # A class with __eq__ of its own has a __hash__ of None that it did not ask for.
        if name not in written or (name == "__hash__" and written[name] is None):
            setattr(cls, name, method)
    return cls


def _annotations(cls: type) -> dict[str, Any]:
    if sys.version_info >= (3, 14):
        from annotationlib import Format, get_annotations

        return get_annotations(cls, format=Format.FORWARDREF)
    found: dict[str, Any] = cls.__dict__.get("__annotations__", {})  # noqa: RUF063  as wanted above
    return found


def _with_slots(cls: type, names: tuple[str, ...], *, state: bool) -> type:
    """Make the class again with slots, which cannot be added to one."""
    body = {k: v for k, v in cls.__dict__.items() if k not in ("__dict__", "__weakref__")}
    body["__slots__"] = names
    if state:
        body |= {"__getstate__": _state, "__setstate__": _set_state}
    made = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


class _Standard:
    """An attribute of the class that the standard library would have made, made when asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        import dataclasses

        facts: _Facts = owner._facts  # type: ignore[attr-defined]
        if facts.standard is None:
            fields = [
                (name, kind) if default is MISSING else (name, kind, default)
                for (name, kind), default in zip(
                    facts.annotations.items(), facts.defaults.values(), strict=True
                )
            ]
            made = dataclasses.make_dataclass(owner.__name__, fields, frozen=facts.frozen)
            facts.standard = made
        return getattr(facts.standard, self._name)


class _Signature:
    """How a class is called, for `inspect.signature`, worked out when asked for."""

    def __get__(self, instance: object, owner: type) -> Any:
        import inspect

        home = next(cls for cls in owner.__mro__ if "__init__" in cls.__dict__)
        init = home.__dict__["__init__"]
        if getattr(init, "__module__", None) == __name__:
            init = _compiled_init(home)
        signature = inspect.signature(init)
        return signature.replace(parameters=list(signature.parameters.values())[1:])


_ASKED_FOR = {
    "__signature__": _Signature(),
    "__dataclass_fields__": _Standard("__dataclass_fields__"),
    "__dataclass_params__": _Standard("__dataclass_params__"),
}


def _first_init(cls: type, facts: _Facts) -> "Callable[..., None]":
    put = object.__setattr__
    finish = getattr(cls, "__post_init__", None)
    names, most = facts.given, len(facts.given)

    def __init__(self: Any, *arguments: Any, **named: Any) -> None:  # noqa: N807
        if facts.least < 0:
            facts.prepare()
            quick = _by_pattern(cls, facts)
            if quick is not None:
                cls.__init__ = quick  # type: ignore[misc]
                quick(self, *arguments, **named)
                return
        facts.uncompiled -= 1
        if facts.uncompiled < 0:
            _compile(cls)(self, *arguments, **named)
            return
        given = len(arguments)
        if facts.least <= given <= most and not named:
            for name, value in zip(names, arguments):  # noqa: B905  others follow
                put(self, name, value)
            for name in names[given:]:
                put(self, name, facts.value_of(name))
        elif not _fill(self, facts, arguments, named):
            _compile(cls)(self, *arguments, **named)
            return
        if finish is not None:
            self.__post_init__()

    return __init__


_put = object.__setattr__


def _one(self: Any, a: Any) -> None:
    self.a = a


def _two(self: Any, a: Any, b: Any) -> None:
    self.a, self.b = a, b


def _three(self: Any, a: Any, b: Any, c: Any) -> None:
    self.a, self.b, self.c = a, b, c


def _four(self: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    self.a, self.b, self.c, self.d = a, b, c, d


def _one_frozen(self: Any, a: Any) -> None:
    _put(self, "a", a)


def _two_frozen(self: Any, a: Any, b: Any) -> None:
    _put(self, "a", a)
    _put(self, "b", b)


def _three_frozen(self: Any, a: Any, b: Any, c: Any) -> None:
    _put(self, "a", a)
    _put(self, "b", b)
    _put(self, "c", c)


def _four_frozen(self: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    _put(self, "a", a)
    _put(self, "b", b)
    _put(self, "c", c)
    _put(self, "d", d)


_PATTERNS = {
    False: (_one, _two, _three, _four),
    True: (_one_frozen, _two_frozen, _three_frozen, _four_frozen),
}


def _by_pattern(cls: type, facts: _Facts) -> "Callable[..., None] | None":
    """Make `__init__` of one that is compiled already, with other names; None if there is none."""
    names = facts.given
    if not 0 < len(names) <= len(_PATTERNS[True]) or len(names) < len(facts.defaults):
        return None
    values = [facts.defaults[name] for name in names[facts.least :]]
    if any(isinstance(value, Field) or value is MISSING for value in values):
        return None
    if hasattr(cls, "__post_init__"):
        return None
    pattern = _PATTERNS[facts.frozen][len(names) - 1]
    written = dict(zip("abcd", names, strict=False))

    def renamed(texts: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([written.get(text, text) for text in texts])

    code = pattern.__code__
    code = code.replace(
        co_varnames=renamed(code.co_varnames), co_names=renamed(code.co_names),
        co_consts=renamed(code.co_consts), co_name="__init__",
        co_qualname=f"{cls.__qualname__}.__init__",
    )  # fmt: skip
    return FunctionType(code, globals(), "__init__", tuple(values))


def _compile(cls: type) -> "Callable[..., None]":
    """Give a class its own `__init__`."""
    compiled = _compiled_init(cls)
    cls.__init__ = compiled  # type: ignore[misc]
    return compiled


def _fill(instance: Any, facts: _Facts, arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Give an instance its fields; False where the call does not suit, which is told elsewhere."""
    values = dict(zip(facts.given, arguments, strict=False))
    if len(arguments) > len(facts.given) or not values.keys().isdisjoint(named):
        return False
    values |= named
    needed = {name for name in facts.given if _has_none(facts.defaults[name])}
    if not needed <= values.keys() <= set(facts.given):
        return False
    for name in facts.defaults:
        value = values[name] if name in values else facts.value_of(name)
        if value is not MISSING:
            object.__setattr__(instance, name, value)
    return True


def _compiled_init(cls: type) -> "Callable[..., None]":
    """Write `__init__` as the standard library does, and compile it."""
    facts: _Facts = cls._facts  # type: ignore[attr-defined]
    scope: dict[str, Any] = {"put": object.__setattr__, "absent": MISSING}
    parameters, lines = ["self"], []
    for name, default in facts.defaults.items():
        value: Any = default
        factory: Any = MISSING
        given = True
        if isinstance(default, Field):
            value, factory, given = default.default, default.default_factory, default.init
        text = name
        if factory is not MISSING:
            scope[f"make_{name}"] = factory
            text = f"make_{name}() if {name} is absent else {name}" if given else f"make_{name}()"
        elif value is not MISSING:
            if not given and not facts.slots:
                continue  # the class has it
            scope[f"default_{name}"] = value
            text = name if given else f"default_{name}"
        elif not given:
            continue  # __post_init__ sets it
        if given and factory is not MISSING:
            parameters.append(f"{name}=absent")
        elif given:
            parameters.append(name if value is MISSING else f"{name}=default_{name}")
        lines.append(f" put(self, {name!r}, {text})" if facts.frozen else f" self.{name} = {text}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    body = "\n".join(lines) or " pass"
    exec(f"def __init__({', '.join(parameters)}):\n{body}", scope)  # noqa: S102  names of fields only
    compiled: Callable[..., None] = scope["__init__"]
    compiled.__qualname__ = f"{cls.__qualname__}.__init__"
    return compiled


def _eq(self: Any, other: object) -> Any:
    facts: _Facts = self._facts
    if type(other) is not type(self):
        return NotImplemented
    return facts.values(self) == facts.values(other)


def _hash(self: Any) -> int:
    return hash(self._facts.values(self))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._facts.shown)
    return f"{self.__class__.__qualname__}({shown})"


def _refuse_setting(self: Any, name: str, value: object) -> None:
    """Raise FrozenInstanceError; a class derived without the decorator may have more attributes."""
    if "_facts" in type(self).__dict__ or name in self._facts.annotations:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_deleting(self: Any, name: str) -> None:
    if "_facts" in type(self).__dict__ or name in self._facts.annotations:
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self._facts.annotations]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(self._facts.annotations, state, strict=True):
        object.__setattr__(self, name, value)
