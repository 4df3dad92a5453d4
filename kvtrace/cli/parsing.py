"""The words of a command line as the parameters of a function, and the help that names them.

A command is a function whose parameters are annotated with `Argument` or `Option`, with their type
and default. That is read once, for parsing, for the help, for completion and for the documentation.
This is the standard library alone: a recorder has nothing else beside pyarrow. (argparse takes no
values that begin with a dash, and no arguments between options where the number of them may vary.)
"""

import os
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter as Declared
from inspect import cleandoc, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from kvtrace.schema.cached_property import cached_property
from kvtrace.schema.errors import KvtraceError, nearest

__all__ = ["Argument", "BadUsage", "CommandLine", "HelpWanted", "Option", "Parameter"]

_WIDEST: Final = 80
#: The column in which texts begin is at most this one.
_FARTHEST: Final = 34
_HELP: Final = ("-h, --help", "Show this message and exit")
#: What values of a type are called, where they have no other name, and what they are.
_TYPES: Final[Mapping[Any, tuple[str, str]]] = {
    str: ("TEXT", "text"),
    Path: ("PATH", "a path"),
    int: ("NUMBER", "a whole number"),
    float: ("NUMBER", "a number"),
}


class BadUsage(KvtraceError):
    """The words of a command line are not what the command takes."""

    slug = "bad-usage"


class HelpWanted(Exception):
    """--help is among the words."""


@dataclass(frozen=True, slots=True)
class Argument:
    """What is known by its place, as in `Annotated[Path, Argument(metavar="TRACE")]`."""

    metavar: str = ""
    help: str = ""


@dataclass(frozen=True, slots=True, init=False)
class Option:
    """What is known by its name, as in `Annotated[bool, Option("--json", help="Print JSON")]`.

    Without names it is the parameter's; `--a/--b` are two that say True and False. `envvar` is a
    variable that says what no option does. Numbers are at least `min`, at most `max`.
    """

    names: tuple[str, ...]
    metavar: str
    help: str
    show_default: bool
    envvar: str | None
    min: float | None
    max: float | None
    hidden: bool

    def __init__(
        self,
        *names: str,
        metavar: str = "",
        help: str = "",  # noqa: A002 - as the help names it
        show_default: bool = True,
        envvar: str | None = None,
        min: float | None = None,  # noqa: A002
        max: float | None = None,  # noqa: A002
        hidden: bool = False,
    ) -> None:
        values = (names, metavar, help, show_default, envvar, min, max, hidden)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a command; `kind` is the type of each of its values, `many` if in a list."""

    name: str
    told: Argument | Option
    kind: Any
    many: bool
    default: Any
    required: bool
    choices: tuple[str, ...] = ()
    on: tuple[str, ...] = field(default=())
    off: tuple[str, ...] = field(default=())

    @property
    def is_flag(self) -> bool:
        """Whether it takes no value."""
        return self.kind is bool

    @property
    def hidden(self) -> bool:
        """Whether the help leaves it out."""
        return isinstance(self.told, Option) and self.told.hidden

    @property
    def metavar(self) -> str:
        """What its value is called."""
        if self.told.metavar:
            return self.told.metavar
        if isinstance(self.told, Argument):
            return self.name.upper()
        return "|".join(self.choices) or _TYPES[self.kind][0]

    @property
    def heading(self) -> str:
        """Its names and value, as the help has them."""
        if isinstance(self.told, Argument):
            return self.metavar
        names = ", ".join(sorted(self.on, key=lambda name: name.startswith("--")))
        if self.is_flag:
            return " / ".join((names, *self.off))
        return f"{names} {self.metavar}"

    @property
    def text(self) -> str:
        """What it does, and its default."""
        return "  ".join(part for part in (self.told.help, self._remark) if part)

    @property
    def _remark(self) -> str:
        if self.required:
            return "[required]"
        shown = isinstance(self.told, Option) and self.told.show_default
        if not shown or self.default in (None, False, ""):
            return ""
        return f"[default: {self.on[0].lstrip('-') if self.default is True else self.default}]"

    def value(self, text: str, called: str) -> Any:
        """Return the value that a word represents.

        Raises:
            BadUsage: it is none.

        """
        if self.choices and text not in self.choices:
            guess = nearest(text, self.choices)
            raise BadUsage(f"{called} is one of {', '.join(self.choices)}, not {text!r}{guess}.")
        if self.kind in (str, Path):
            return self.kind(text)
        try:
            number = self.kind(text)
        except ValueError as error:
            raise BadUsage(f"{called} is {_TYPES[self.kind][1]}, not {text!r}.") from error
        least, most = (getattr(self.told, name, None) for name in ("min", "max"))
        if (least is not None and number < least) or (most is not None and number > most):
            bounds = [f"at least {least:g}"] if least is not None else []
            bounds += [f"at most {most:g}"] if most is not None else []
            raise BadUsage(f"{called} is {' and '.join(bounds)}, not {text}.")
        return number


class CommandLine:
    """What one command takes."""

    def __init__(self, program: str, function: Callable[..., Any], *, passthrough: bool) -> None:
        """Read a function; `passthrough`: all from the first argument on is one's of the user."""
        self.program = program
        self._text = cleandoc(function.__doc__ or "")
        self._passthrough = passthrough
        declared = signature(function, eval_str=True).parameters.values()
        self.parameters = tuple(map(_parameter, declared))

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        """What is known by its place."""
        return tuple(each for each in self.parameters if isinstance(each.told, Argument))

    @property
    def options(self) -> tuple[Parameter, ...]:
        """What is known by its name, and shown."""
        return tuple(
            each for each in self.parameters if isinstance(each.told, Option) and not each.hidden
        )

    @property
    def usage(self) -> str:
        """The command on one line."""
        arguments = [
            f"{each.metavar}{'…' if each.many and '…' not in each.metavar else ''}"
            for each in self.arguments
        ]
        shown = [
            name if each.required else f"[{name}]"
            for name, each in zip(arguments, self.arguments, strict=True)
        ]
        return " ".join([self.program, "[OPTIONS]", *shown])

    @property
    def text(self) -> str:
        """What the function's docstring says."""
        return self._text

    def help(self, width: int) -> str:
        """Return what --help prints, in so many columns, but at most 80."""
        width = min(width, _WIDEST)
        wrapper = textwrap.TextWrapper(width, initial_indent="  ", subsequent_indent="  ")
        paragraphs = [
            textwrap.indent(each, "  ")
            if "\n    " in each
            else wrapper.fill(" ".join(each.split()))
            for each in self._text.split("\n\n")
        ]
        usage = textwrap.fill(f"Usage: {self.usage}", width, subsequent_indent="    ")
        parts = [usage, *paragraphs]
        rows = [(each.heading, each.text) for each in self.arguments]
        if rows:
            parts.append("Arguments:\n" + _listed(rows, width))
        rows = [*((each.heading, each.text) for each in self.options), _HELP]
        return "\n\n".join([*parts, "Options:\n" + _listed(rows, width)])

    def parsed(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the function's arguments by name.

        Raises:
            BadUsage: a word that the command does not take, or one that is missing.
            HelpWanted: --help is among the words.

        """
        given: dict[str, list[Any]] = {}
        places = self._split(list(words), given)
        self._place(places, given)
        found = {}
        for each in self.parameters:
            values = given.get(each.name) or self._of_environment(each)
            if values:
                found[each.name] = values if each.many else values[-1]
            elif each.required:
                raise BadUsage(f"{self._name} needs {each.heading}; {self._hint}.")
            else:
                found[each.name] = each.default
        return found

    @property
    def _name(self) -> str:
        """The command, as a sentence of `complain` names it."""
        return self.program.removeprefix("kvtrace ")

    @property
    def _hint(self) -> str:
        return f"see {self.program} --help"

    @cached_property
    def _by_name(self) -> dict[str, tuple[Parameter, bool]]:
        """Options by their names, with what a flag then is."""
        return {
            name: (each, names is each.on)
            for each in self.parameters
            for names in (each.on, each.off)
            for name in names
        }

    def _split(self, words: list[str], given: dict[str, list[Any]]) -> list[str]:
        """Take the options from the words; return the others."""
        places: list[str] = []
        while words:
            word = words.pop(0)
            if word == "--":
                return places + words
            if word.startswith("--"):
                name, equals, value = word.partition("=")
                self._take(name, value if equals else None, words, given)
            elif word.startswith("-") and len(word) > 1:
                self._take_short(word, words, given)
            elif self._passthrough:
                return [*places, word, *words]
            else:
                places.append(word)
        return places

    def _take_short(self, word: str, words: list[str], given: dict[str, list[Any]]) -> None:
        """Take one-letter options, of which the last one's value may follow at once."""
        for place, letter in enumerate(word[1:], 2):
            name = f"-{letter}"
            known = self._by_name.get(name)
            if known is not None and not known[0].is_flag:
                value = word[place:].removeprefix("=") if word[place:] else None
                self._take(name, value, words, given)
                return
            self._take(name, None, words, given)

    def _take(
        self, name: str, value: str | None, words: list[str], given: dict[str, list[Any]]
    ) -> None:
        if name in ("--help", "-h"):
            raise HelpWanted
        if name not in self._by_name:
            guess = nearest(name, self._shown)
            raise BadUsage(f"{self._name} has no option {name}{guess}; {self._hint}.")
        option, on = self._by_name[name]
        if option.is_flag:
            if value is not None:
                raise BadUsage(f"{name} takes no value; {self._hint}.")
            given[option.name] = [on]
            return
        if value is None and not words:
            raise BadUsage(f"{name} needs a value: {name} {option.metavar}; {self._hint}.")
        text = words.pop(0) if value is None else value
        given.setdefault(option.name, []).append(option.value(text, name))

    @property
    def _shown(self) -> list[str]:
        return [name for name, (each, _) in self._by_name.items() if not each.hidden]

    def _place(self, places: list[str], given: dict[str, list[Any]]) -> None:
        """Give the words without names to the arguments, in order."""
        for each in self.arguments:
            count = len(places) if each.many else 1
            taken, places = places[:count], places[count:]
            given[each.name] = [each.value(text, each.metavar) for text in taken]
        if places:
            word = places[0]
            raise BadUsage(f"{self._name} does not take {word!r} as well; {self._hint}.")

    def _of_environment(self, each: Parameter) -> list[Any]:
        variable = each.told.envvar if isinstance(each.told, Option) else None
        text = os.environ.get(variable, "") if variable else ""
        return [each.value(text, str(variable))] if text else []


def _parameter(declared: Declared) -> Parameter:
    """Read a parameter of a function."""
    kind, told = declared.annotation, None
    if get_origin(kind) is Annotated:
        kind, told = get_args(kind)[:2]
    required = declared.default is Declared.empty
    if told is None:
        told = Argument() if required else Option()
    if get_origin(kind) in (UnionType, Union):
        (kind,) = (each for each in get_args(kind) if each is not NoneType)
    many = get_origin(kind) is list
    if many:
        (kind,) = get_args(kind)
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    if isinstance(told, Option):
        names = told.names or ("--" + declared.name.replace("_", "-"),)
        on = tuple(name.partition("/")[0] for name in names)
        off = tuple(name.partition("/")[2] for name in names if "/" in name)
    default = None if required else declared.default
    return Parameter(
        declared.name, told, str if choices or kind is Declared.empty else kind, many, default,
        required, choices, on, off,
    )  # fmt: skip


def _listed(rows: Iterable[tuple[str, str]], width: int) -> str:
    """Return headings with their texts beside them, or below where a heading is long."""
    rows = list(rows)
    column = min(_FARTHEST, 4 + max(len(heading) for heading, _ in rows))
    lines = []
    for heading, text in rows:
        wrapped = textwrap.wrap(text, width - column) or [""]
        if len(heading) > column - 4:
            lines.append(f"  {heading}")
            heading = ""
        first, *more = wrapped
        lines.append(f"  {heading:<{column - 4}}  {first}".rstrip())
        lines += [" " * column + line for line in more]
    return "\n".join(lines)
