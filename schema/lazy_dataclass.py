"""`dataclass` as in the standard library, whose methods are compiled at their first use.

The standard one compiles up to six methods of each class while its module is imported. That takes
1 ms a class, an eighth of `kvtrace info`, though most of these methods are never called.
"""

import dataclasses
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True, slots=False, **others):
        """Return the class with the methods of a dataclass; arguments as in the standard library.

        Classes that inherit fields, or are asked for more, are made by the standard library.
        """
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, eq=eq, slots=slots, **others)
        if others.keys() - {"kw_only"} or any(map(dataclasses.is_dataclass, cls.__mro__)):
            return dataclasses.dataclass(cls, frozen=frozen, eq=eq, slots=slots, **others)
        made = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=slots, **others)
        own = vars(made)
        methods = {"__init__": _at_first_use(made, "__init__", _init_source, frozen, slots)}
        methods["__repr__"] = _repr(made)
        if eq:
            methods["__eq__"] = _at_first_use(made, "__eq__", _equality_source)
            methods["__hash__"] = _at_first_use(made, "__hash__", _hash_source) if frozen else None
        if frozen:
            methods |= _frozen(made) | (_FROZEN_STATE if slots else {})
            made.__dataclass_params__.frozen = True  # as classes that inherit the fields read it
        for name, method in methods.items():
            # Python sets `__hash__` to None in a class that defines `__eq__` alone.
            if name not in own or (name == "__hash__" and own[name] is None):
                setattr(made, name, method)
        return made


#: The text of a method, and what its names are.
_Source = tuple[str, dict[str, Any]]


def _at_first_use(cls: type, name: str, source: "Callable[..., _Source]", *options: Any) -> Any:
    """Return a method that compiles its source, and replaces itself by the result."""

    def first(self: Any, *args: Any, **named: Any) -> Any:
        text, names = source(cls, *options)
        exec(text, names)  # noqa: S102 - made of the names of fields
        method = names[name]
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)
        return method(self, *args, **named)

    return first


def _init_source(cls: type, frozen: bool, slots: bool) -> _Source:
    names: dict[str, Any] = {"_made": MISSING, "_set": object.__setattr__}
    positional: list[str] = []
    named: list[str] = []
    lines: list[str] = []
    for field in fields(cls):
        name, value = field.name, field.name if field.init else None
        default = ""
        if field.default_factory is not MISSING:
            names[f"_new_{name}"] = field.default_factory
            default = "=_made"
            value = f"_new_{name}()" + (f" if {name} is _made else {name}" if field.init else "")
        elif field.default is not MISSING:
            names[f"_default_{name}"] = field.default
            default = f"=_default_{name}"
            if slots and not field.init:  # else the class has it
                value = f"_default_{name}"
        if field.init:
            (named if field.kw_only else positional).append(name + default)
        if value is not None:
            lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(["self", *positional, *(["*", *named] if named else [])])
    body = "\n    ".join(lines or ["pass"])
    return f"def __init__({parameters}):\n    {body}", names


def _equality_source(cls: type) -> _Source:
    compared = [field for field in fields(cls) if field.compare]
    equal = f"{_values('self', compared)} == {_values('other', compared)}"
    same = "other.__class__ is self.__class__"
    return f"def __eq__(self, other): return {equal} if {same} else NotImplemented", {}


def _hash_source(cls: type) -> _Source:
    hashed = [f for f in fields(cls) if (f.compare if f.hash is None else f.hash)]
    return f"def __hash__(self): return hash({_values('self', hashed)})", {}


def _values(instance: str, chosen: "Iterable[Field[Any]]") -> str:
    return f"({''.join(f'{instance}.{field.name}, ' for field in chosen)})"


def _repr(cls: type) -> "Callable[[Any], str]":
    shown = [field.name for field in fields(cls) if field.repr]

    @recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807 - a class's method
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{self.__class__.__qualname__}({values})"

    return __repr__


def _frozen(cls: Any) -> "dict[str, Callable[..., None]]":
    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807 - a class's method
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807 - a class's method
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in fields(self)]


def _set_state(self: Any, state: "Sequence[Any]") -> None:
    for field, value in zip(fields(self), state, strict=False):
        object.__setattr__(self, field.name, value)


#: How frozen instances without a `__dict__` are pickled.
_FROZEN_STATE = {"__getstate__": _state, "__setstate__": _set_state}
