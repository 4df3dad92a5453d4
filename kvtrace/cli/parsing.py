"""Parsing of a command line into a function's parameters, and the help that describes them.

A command is a function whose parameters are annotated with `Argument` or `Option`, with a type and
a default. These are read once, for parsing, help, completion and the documentation. Only the
standard library is imported, since a machine that records has only pyarrow besides. (argparse does
not accept values that begin with a dash, nor a varying number of arguments between options.)
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

_WIDEST: Final = 80
#: The rightmost column at which texts begin.
_FARTHEST: Final = 34
_HELP: Final = ("-h, --help", "Show this message and exit")
#: By type: the default metavar, and the description in errors.
_TYPES: Final[Mapping[Any, tuple[str, str]]] = {
    str: ("TEXT", "text"),
    Path: ("PATH", "a path"),
    int: ("NUMBER", "a whole number"),
    float: ("NUMBER", "a number"),
}


class BadUsage(KvtraceError):
    """Raised when the words of a command line do not fit the command's parameters."""

    slug = "bad-usage"


class HelpRequested(Exception):
    """Raised when the words of a command line contain --help."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A positional parameter, as in `Annotated[Path, Argument(metavar="TRACE")]`."""

    metavar: str = ""
    help: str = ""


@dataclass(frozen=True, slots=True, init=False)
class Option:
    """A named parameter, as in `Annotated[bool, Option("--json", help="Print JSON")]`.

    Without names, the option is named as the parameter. A name `--a/--b` means that --a is True and
    --b False. `envvar` is the environment variable that is read if the option is missing. Numbers
    have to be at least `min` and at most `max`. The help does not list a `hidden` option.
    `old_value` is the parameter, of text, of the file that a flag was followed by up to 0.3.
    """

    names: tuple[str, ...]
    metavar: str
    help: str
    envvar: str | None
    min: float | None
    max: float | None
    hidden: bool
    old_value: str

    def __init__(
        self,
        *names: str,
        metavar: str = "",
        help: str = "",  # noqa: A002 - as the help names it
        envvar: str | None = None,
        min: float | None = None,  # noqa: A002
        max: float | None = None,  # noqa: A002
        hidden: bool = False,
        old_value: str = "",
    ) -> None:
        values = (names, metavar, help, envvar, min, max, hidden, old_value)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)


#: The options of every command: default and annotation, by name of the parameter.
_COMMON: Final[Mapping[str, tuple[Any, Any]]] = {
    "printed_to": (
        None,
        Annotated[
            Path | None,
            Option(
                "--output",
                "-o",
                metavar="FILE",
                help="Write what is printed into this file (-: print it)",
            ),
        ],
    ),
    "quiet": (
        False,
        Annotated[
            bool,
            Option("--quiet", "-q", help="Print results and errors only: no progress, no notes"),
        ],
    ),
}


#: Options whose FILE is written, in all commands.
_WRITTEN: Final = frozenset(
    {"--output", "--html", "--json-file", "--junit", "--markdown", "--sarif"}
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a command's function.

    `kind` is the type of a value, `many` whether the parameter is a list of values; `on` and `off`
    are the option's names for a value or True, and for False.
    """

    name: str
    declaration: Argument | Option
    kind: Any
    many: bool
    default: Any
    required: bool
    choices: tuple[str, ...] = ()
    on: tuple[str, ...] = field(default=())
    off: tuple[str, ...] = field(default=())

    @property
    def is_flag(self) -> bool:
        """The option is True or False, and so needs no value."""
        return self.kind is bool

    @property
    def hidden(self) -> bool:
        """The help does not list the option."""
        return isinstance(self.declaration, Option) and self.declaration.hidden

    @property
    def is_written_file(self) -> bool:
        """The option's value is the path of a file that the command writes."""
        return self.declaration.metavar == "FILE" and not _WRITTEN.isdisjoint(self.on)

    @property
    def metavar(self) -> str:
        """The name of the parameter's value in the help."""
        if self.declaration.metavar:
            return self.declaration.metavar
        if isinstance(self.declaration, Argument):
            return self.name.upper()
        return "|".join(self.choices) or _TYPES[self.kind][0]

    @property
    def heading(self) -> str:
        """The parameter's names and value in the help."""
        if isinstance(self.declaration, Argument):
            return self.metavar
        names = ", ".join(sorted(self.on, key=lambda name: name.startswith("--")))
        if self.is_flag:
            return " / ".join((names, *self.off))
        return f"{names} {self.metavar}"

    @property
    def text(self) -> str:
        """The parameter's description, with its default."""
        return "  ".join(part for part in (self.declaration.help, self._remark) if part)

    @property
    def _remark(self) -> str:
        if self.required:
            return "[required]"
        if isinstance(self.declaration, Argument) or self.default in (None, False, ""):
            return ""
        return f"[default: {self.on[0].lstrip('-') if self.default is True else self.default}]"

    def value(self, text: str, called: str) -> Any:
        """Return a text of the command line as a value of the parameter's type.

        `called` is the parameter's name in messages.

        Raises:
            BadUsage: The text is not a valid value.

        """
        if self.choices and text not in self.choices:
            suggestion = nearest(text, self.choices)
            choices = ", ".join(self.choices)
            raise BadUsage(f"{called} has to be one of {choices}, not {text!r}{suggestion}.")
        if self.kind in (str, Path):
            return self.kind(text)
        try:
            number = self.kind(text)
        except ValueError as error:
            raise BadUsage(f"{called} has to be {_TYPES[self.kind][1]}, not {text!r}.") from error
        minimum, maximum = (getattr(self.declaration, name, None) for name in ("min", "max"))
        if (minimum is not None and not number >= minimum) or (  # nor is nan a number of seconds
            maximum is not None and not number <= maximum
        ):
            bounds = [f"at least {minimum:g}"] if minimum is not None else []
            bounds += [f"at most {maximum:g}"] if maximum is not None else []
            raise BadUsage(f"{called} has to be {' and '.join(bounds)}, not {text}.")
        return number


class CommandLine:
    """The parameters of one command, its help, and its parser."""

    def __init__(
        self, program: str, function: Callable[..., Any], *, passthrough: bool, common: bool = False
    ) -> None:
        """Read a function's parameters and docstring.

        `passthrough`: all words from the first argument on are arguments of the user's program.
        `common`: the options of every command are parsed, too: `quiet`, and `printed_to` of a
        command that prints data and has no --output of its own.
        """
        self.program = program
        self._text = cleandoc(function.__doc__ or "")
        self._passthrough = passthrough
        declared = signature(function, eval_str=True).parameters.values()
        self.parameters = tuple(map(_parameter, declared))
        if common:
            self.parameters += _common_parameters(self.parameters)
        #: A sentence for each word that is spelled as it will not be accepted for long.
        self.deprecations: list[str] = []

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        """The parameters without names, in order."""
        return tuple(p for p in self.parameters if isinstance(p.declaration, Argument))

    @property
    def options(self) -> tuple[Parameter, ...]:
        """The options that the help lists."""
        return tuple(
            p for p in self.parameters if isinstance(p.declaration, Option) and not p.hidden
        )

    @property
    def usage(self) -> str:
        """The command with its arguments on one line, as `kvtrace info [OPTIONS] TRACE`."""
        names = [
            f"{argument.metavar}{'…' if argument.many and '…' not in argument.metavar else ''}"
            for argument in self.arguments
        ]
        words = [
            name if argument.required else f"[{name}]"
            for name, argument in zip(names, self.arguments, strict=True)
        ]
        return " ".join([self.program, "[OPTIONS]", *words])

    @property
    def text(self) -> str:
        """The function's docstring."""
        return self._text

    def help(self, width: int) -> str:
        """Return the text of --help, wrapped to `width` columns, but at most 80."""
        width = min(width, _WIDEST)
        wrapper = textwrap.TextWrapper(width, initial_indent="  ", subsequent_indent="  ")
        paragraphs = [
            textwrap.indent(paragraph, "  ")
            if "\n    " in paragraph
            else wrapper.fill(" ".join(paragraph.split()))
            for paragraph in self._text.split("\n\n")
        ]
        usage = textwrap.fill(f"Usage: {self.usage}", width, subsequent_indent="    ")
        sections = [usage, *paragraphs]
        rows = [(argument.heading, argument.text) for argument in self.arguments]
        if rows:
            sections.append("Arguments:\n" + _two_columns(rows, width))
        rows = [*((option.heading, option.text) for option in self.options), _HELP]
        return "\n\n".join([*sections, "Options:\n" + _two_columns(rows, width)])

    def parsed(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the function's arguments by name, from the words, variables and defaults.

        Raises:
            BadUsage: A word does not fit the command, or a word is missing.
            BadSetting: A file to write cannot be made.
            HelpRequested: The words contain --help.

        """
        values_by_name: dict[str, list[Any]] = {}
        positional = self._split(list(words), values_by_name)
        self._assign_positional(positional, values_by_name)
        arguments = {}
        for parameter in self.parameters:
            values = values_by_name.get(parameter.name) or self._of_environment(parameter)
            if values:
                arguments[parameter.name] = values if parameter.many else values[-1]
            elif parameter.required:
                raise BadUsage(f"{self._name} needs {parameter.heading}; {self._hint}.")
            else:
                arguments[parameter.name] = parameter.default
        self._refuse_unwritable(arguments)
        return arguments

    def _refuse_unwritable(self, arguments: Mapping[str, Any]) -> None:
        """Raise BadSetting if a file that the command would write cannot be made."""
        from kvtrace.converters.output import refuse_unwritable

        for parameter in self.parameters:
            file = arguments[parameter.name]
            if parameter.is_written_file and file is not None and str(file) != "-":
                refuse_unwritable(Path(file))

    @property
    def _name(self) -> str:
        """The command's name in messages."""
        return self.program.removeprefix("kvtrace ")

    @property
    def _hint(self) -> str:
        return f"see {self.program} --help"

    @cached_property
    def _by_name(self) -> dict[str, tuple[Parameter, bool]]:
        """Options by each of their names; True with a name for a value or True, else False."""
        return {
            name: (parameter, names is parameter.on)
            for parameter in self.parameters
            for names in (parameter.on, parameter.off)
            for name in names
        }

    def _split(self, words: list[str], values_by_name: dict[str, list[Any]]) -> list[str]:
        """Parse the options among `words` into `values_by_name`, and return the other words."""
        positional: list[str] = []
        while words:
            word = words.pop(0)
            if word == "--":
                return positional + words
            if word.startswith("--"):
                name, equals, value = word.partition("=")
                self._parse_option(name, value if equals else None, words, values_by_name)
            elif word.startswith("-") and len(word) > 1:
                self._parse_short(word, words, values_by_name)
            elif self._passthrough:
                return [*positional, word, *words]
            else:
                positional.append(word)
        return positional

    def _parse_short(
        self, word: str, words: list[str], values_by_name: dict[str, list[Any]]
    ) -> None:
        """Parse a word of one-letter options, as `-vo` or `-ofile`, into `values_by_name`."""
        for next_index, letter in enumerate(word[1:], 2):
            name = f"-{letter}"
            option = self._by_name.get(name)
            if option is not None and not option[0].is_flag:
                value = word[next_index:].removeprefix("=") if word[next_index:] else None
                self._parse_option(name, value, words, values_by_name)
                return
            self._parse_option(name, None, words, values_by_name)

    def _parse_option(
        self, name: str, value: str | None, words: list[str], values_by_name: dict[str, list[Any]]
    ) -> None:
        if name in ("--help", "-h"):
            raise HelpRequested
        if name not in self._by_name:
            suggestion = nearest(name, self._shown_names)
            raise BadUsage(f"{self._name} has no option {name}{suggestion}; {self._hint}.")
        option, flag_value = self._by_name[name]
        if option.is_flag:
            if self._parse_old_value(option, name, value, words, values_by_name):
                return
            if value is not None:
                raise BadUsage(f"{name} must not have a value; {self._hint}.")
            values_by_name[option.name] = [flag_value]
            return
        if value is None and not words:
            raise BadUsage(f"{name} needs a value: {name} {option.metavar}; {self._hint}.")
        text = words.pop(0) if value is None else value
        values_by_name.setdefault(option.name, []).append(option.value(text, name))

    def _parse_old_value(
        self,
        flag: Parameter,
        name: str,
        value: str | None,
        words: list[str],
        values_by_name: dict[str, list[Any]],
    ) -> bool:
        """Parse the file that a flag was once followed by; return whether there is one.

        `--json FILE` became `--json -o FILE`: no argument ends with .json or is `-`.
        """
        declaration = flag.declaration
        old_value = declaration.old_value if isinstance(declaration, Option) else ""
        if not old_value:
            return False
        if value is None and words and (words[0] == "-" or words[0].endswith(".json")):
            value = words.pop(0)
        if value is None:
            return False
        values_by_name[old_value] = [value]
        now = name if value == "-" else f"{name} > {value}"
        self.deprecations.append(
            f"{name} {value} is now {now}; the old spelling will be removed in 0.5."
        )
        return True

    @property
    def _shown_names(self) -> list[str]:
        return [name for name, (parameter, _) in self._by_name.items() if not parameter.hidden]

    def _assign_positional(
        self, positional: list[str], values_by_name: dict[str, list[Any]]
    ) -> None:
        """Parse the words that are no options into `values_by_name`, argument by argument."""
        for argument in self.arguments:
            count = len(positional) if argument.many else 1
            words, positional = positional[:count], positional[count:]
            values_by_name[argument.name] = [
                argument.value(text, argument.metavar) for text in words
            ]
        if positional:
            word = positional[0]
            raise BadUsage(f"{self._name} has no argument for {word!r}; {self._hint}.")

    def _of_environment(self, parameter: Parameter) -> list[Any]:
        variable = (
            parameter.declaration.envvar if isinstance(parameter.declaration, Option) else None
        )
        text = os.environ.get(variable, "") if variable else ""
        return [parameter.value(text, str(variable))] if text else []


def _parameter(declared: Declared) -> Parameter:
    """Return the command's parameter: an option by annotation or, without one, by a default."""
    kind, declaration = declared.annotation, None
    if get_origin(kind) is Annotated:
        kind, declaration = get_args(kind)[:2]
    required = declared.default is Declared.empty
    if declaration is None:
        declaration = Argument() if required else Option()
    if get_origin(kind) in (UnionType, Union):
        (kind,) = (member for member in get_args(kind) if member is not NoneType)
    many = get_origin(kind) is list
    if many:
        (kind,) = get_args(kind)
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    if isinstance(declaration, Option):
        names = declaration.names or ("--" + declared.name.replace("_", "-"),)
        on = tuple(name.partition("/")[0] for name in names)
        off = tuple(name.partition("/")[2] for name in names if "/" in name)
    default = None if required else declared.default
    return Parameter(
        declared.name, declaration, str if choices or kind is Declared.empty else kind, many,
        default, required, choices, on, off,
    )  # fmt: skip


def _common_parameters(parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Return the options of every command that has `parameters`."""
    names = {name for parameter in parameters for name in parameter.on}
    prints_data = "--json" in names and "--output" not in names
    return tuple(
        _parameter(Declared(name, Declared.KEYWORD_ONLY, default=default, annotation=annotation))
        for name, (default, annotation) in _COMMON.items()
        if name != "printed_to" or prints_data
    )


def _two_columns(rows: Iterable[tuple[str, str]], width: int) -> str:
    """Return (heading, text) rows as two columns; below a heading that is too long, its text."""
    rows = list(rows)
    column = min(_FARTHEST, width // 2 - 6, 4 + max(len(heading) for heading, _ in rows))
    lines = []
    for heading, text in rows:
        wrapped = textwrap.wrap(text, width - column, break_on_hyphens=False) or [""]
        if len(heading) > column - 4:
            lines += textwrap.wrap(
                heading, width, initial_indent="  ", subsequent_indent="    ",
                break_on_hyphens=False,
            )  # fmt: skip
            heading = ""
        first_line, *more_lines = wrapped
        lines.append(f"  {heading:<{column - 4}}  {first_line}".rstrip())
        lines += [" " * column + line for line in more_lines]
    return "\n".join(lines)
