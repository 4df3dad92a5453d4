"""The command line: `commands.GROUPS` lists the core's commands, each with its module.

`kvtrace --help` shows the groups of `EVERYDAY`, with --all the others, too. Add-ons and other
packages add commands as entry points of the group `kvtrace.commands`: an add-on's entry names a
`Command`, which is read for the help, another package's may name a function.

A command's module has one function `command(...)`, annotated as `parsing.py` says. Its docstring is
the help text and ends with an example; it returns None or 0 when all is well and 1 when it found
what it looks for. A module is imported only when its command is run, and imports heavy packages
inside of the function, so that `kvtrace --help` and completion stay quick; a missing package is
reported in a sentence. Only the folder `commands` of an add-on imports this package.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from kvtrace import registry
from kvtrace.cli.commands import EVERYDAY, GROUPS, Command
from kvtrace.cli.own_process import ENDED_BY, as_own_process, end_own_process, expect_end

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from kvtrace.cli.parsing import CommandLine
    from kvtrace.progress import Percent, Report

__all__ = [
    "GROUPS", "Command", "command_line", "complain", "is_quiet", "main", "note", "own_commands",
]  # fmt: skip

FOUND: Final = 1
BAD_INPUT: Final = 2
#: 128 + SIGINT: Ctrl-C. Other signals have 128 + their number, too.
INTERRUPTED: Final = 130
#: Variable with the last word of a command line, which a shell completes (`completion.py`).
ASKING: Final = "_KVTRACE_COMPLETE"
_QUIET: Final = ContextVar("quiet", default=False)
#: 128 + SIGPIPE, which a shell reports for a program whose reader has ended.
READER_GONE: Final = 141


#: The core's commands by name, those of two words, too.
_CORE: Final[dict[str, Command]] = {
    name: entry._replace(group=heading)
    for heading, group in GROUPS.items()
    for name, entry in group.items()
}
#: Commands of two words, by their first word.
PARTS: Final[dict[str, dict[str, Command]]] = {
    first: {name.split()[1]: c for name, c in _CORE.items() if name.startswith(f"{first} ")}
    for first in ("trace",)
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 fine, 1 found, 2 bad input, 130 Ctrl-C."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # every name can be printed
    if argv is None:
        expect_end()
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        return 128 + int(interrupt.args[0]) if interrupt.args else INTERRUPTED
    except BrokenPipeError:
        return _silence_output()
    if argv is None:
        end_own_process(code)
    return code


def _dispatch(arguments: list[str]) -> int:
    if ASKING in os.environ:
        from kvtrace.cli.completion import candidates

        print("\n".join(candidates(arguments, os.environ[ASKING])))
        return 0
    if arguments[:1] == ["help"] and arguments[1:] and not arguments[1].startswith("-"):
        arguments = [*arguments[1:], "--help"]
    if not arguments or arguments[0] in ("--help", "-h", "help"):
        print(_overview(everything="--all" in arguments))
        return 0 if arguments else BAD_INPUT
    if arguments[0] in ("--version", "-V"):
        print(f"kvtrace {_version()}")
        return 0
    if arguments[0] in ("--install-completion", "--show-completion"):
        from kvtrace.cli.completion import HELP, completed

        if {"--help", "-h"}.intersection(arguments):
            print(_narrowed(HELP))
            return 0
        return completed(*arguments)
    name, *later_words = arguments
    if name in PARTS:
        if not later_words or later_words[0] in ("--help", "-h", "help"):
            print(_overview_of(name))
            return 0 if later_words else BAD_INPUT
        if later_words[0] not in PARTS[name]:
            return complain(_no_part(name, later_words[0]))
        name, later_words = f"{name} {later_words[0]}", later_words[1:]
    elif _is_of_two_words(arguments):
        name, later_words = " ".join(arguments[:2]), arguments[2:]
    if name not in _CORE and registry.entry("commands", name) is None:
        return complain(_no_command(name))
    known = _known_command(name)
    if known is not None and known.instead:
        if not {"-q", "--quiet"}.intersection(later_words):
            complain(
                f"kvtrace {name} is now kvtrace {known.instead}; the old word will be removed in "
                "0.5."
            )
        if not known.module:
            return _dispatch([*known.instead.split(), *later_words])
    return _run(name, later_words)


def _is_of_two_words(words: Sequence[str]) -> bool:
    """Return whether the first two words are an add-on's command, as `gate save` beside `gate`."""
    name = " ".join(words[:2])
    return any(entry.name == name for entry in registry.own_entries("commands") if " " in name)


def _run(name: str, words: list[str]) -> int:
    """Run a command with the words after its name, and return the exit code.

    Exceptions are printed as one sentence. A command that runs the user's program (`passthrough`)
    keeps the interpreter's garbage collection and signals.
    """
    from kvtrace.cli.parsing import HelpRequested
    from kvtrace.progress import shown_by
    from kvtrace.schema.errors import KvtraceError, missing_package
    from kvtrace.text import terminal_width

    try:
        function, passthrough = _function(name)
        line = command_line(name)
        arguments = line.parsed(words)
        quiet, printed_to = arguments.pop("quiet"), arguments.pop("printed_to", None)
        with _quietly(quiet), _printing_to(printed_to):
            for deprecation in line.deprecations:
                note(deprecation)
            displaying = nullcontext() if quiet else shown_by(_display)
            with displaying, nullcontext() if passthrough else as_own_process():
                code = function(**arguments)
            sys.stdout.flush()
    except HelpRequested:
        print(line.help(terminal_width()))
        return 0
    except KvtraceError as problem:
        return complain(str(problem))
    except BrokenPipeError:
        return _silence_output()
    except MemoryError:
        return complain(
            "the machine has not enough memory; choose fewer runs with --run, or a larger machine."
        )
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FOUND if end.code else 0
    except Exception as problem:  # whatever a module raises must become a sentence
        if ENDED_BY:
            raise KeyboardInterrupt(ENDED_BY[0]) from problem
        package = missing_package(problem)
        return _unexpected(problem) if package is None else complain(f"{name} {package}")
    return code or 0


def _display(title: str, percent: "Percent | None") -> "AbstractContextManager[Report]":
    from kvtrace.cli.progress import progress_on_stderr

    return progress_on_stderr(title, percent)


def _overview(*, everything: bool) -> str:
    groups = "\n\n".join(
        f"{title}:\n{_lines(group)}"
        for title, group in _groups().items()
        if title and group and (everything or title in EVERYDAY)
    )
    options = {
        "--help": Command("", "Show this, or the help of a command"),
        "--help --all": Command("", "Show the other commands, too"),
        "--version": Command("", "Show the version"),
    }
    return _narrowed(
        "Usage: kvtrace COMMAND [OPTIONS] …\n\n"
        "Records every kernel launch of a program; everything else is made later from\n"
        "the trace:\n\n"
        "  KVTRACE=out/ python train.py   record; without a GPU:\n"
        "  KVTRACE_DEVICE=cpu KVTRACE=out/ python train.py\n"
        "  kvtrace profile out/           see what took the time\n"
        "  kvtrace sanitize out/          find defects\n"
        "  kvtrace diff before/ after/    compare\n\n"
        f"{groups}\n\nOptions:\n{_lines(options)}\n\n"
        "Exit codes: 0 fine, 1 found what the command looks for, 2 bad input."
    )


def _narrowed(text: str) -> str:
    """Return a text whose lines are wrapped for the terminal."""
    from kvtrace.text import narrowed, terminal_width

    width = terminal_width()
    return "\n".join(shown for line in text.split("\n") for shown in narrowed(line, width))


@cache
def own_commands() -> dict[str, Command]:
    """Return the commands of the core and of kvtrace's add-ons, without old names."""
    return {name: entry for name, entry in _known_commands().items() if not entry.instead}


@cache
def _known_commands() -> dict[str, Command]:
    """Return the commands of the core and of kvtrace's add-ons, and their old names."""
    return _CORE | {entry.name: entry.load() for entry in registry.own_entries("commands")}


def _known_command(name: str) -> Command | None:
    """Return a command of the core or of an add-on; None if another package has it."""
    entries = (entry for entry in registry.own_entries("commands") if entry.name == name)
    entry = next(entries, None)
    return _CORE.get(name) if entry is None else entry.load()


def _groups() -> dict[str, dict[str, Command]]:
    """Return all installed commands by heading and name, kvtrace's own commands first."""
    groups = {heading: dict(group) for heading, group in GROUPS.items()}
    for name, command_or_function in registry.loaded("commands"):
        if name not in _CORE:
            command = command_or_function
            if not isinstance(command, Command):
                command = Command("", (command.__doc__ or "").strip().partition("\n")[0])
            if not command.instead:
                groups.setdefault(command.group, {}).setdefault(name, command)
    return groups


def _lines(group: dict[str, Command]) -> str:
    """Return one line per command, and one line for all commands that share a first word."""
    text_by_word: dict[str, str] = {}
    parts: dict[str, list[str]] = {}
    for name, entry in group.items():
        first_word, _, part = name.partition(" ")
        if part and not name.startswith("-"):
            text_by_word.setdefault(first_word, "Manage traces")
            parts.setdefault(first_word, []).append(part)
        else:
            text_by_word[name] = entry.help
    return "\n".join(
        f"  {word:<12}  {text}" + (f": {', '.join(parts[word])}" if word in parts else "")
        for word, text in text_by_word.items()
    )


def _overview_of(first: str) -> str:
    commands = PARTS[first]
    return _narrowed(
        f"Usage: kvtrace {first} COMMAND [OPTIONS] …\n\n"
        f"Manage traces: check, fix, shrink and share them.\n\nCommands:\n{_lines(commands)}\n\n"
        f"Example: kvtrace {first} {next(iter(commands))} out/"
    )


def _no_part(first: str, name: str) -> str:
    from kvtrace.schema.errors import nearest

    commands = PARTS[first]
    suggestion, names = nearest(name, commands), ", ".join(commands)
    return f"kvtrace {first} has no command {name!r}{suggestion}; it has {names}."


def _version() -> str:
    from kvtrace.version import __version__

    return __version__


def _no_command(name: str) -> str:
    """Return a sentence that there is no command `name`, and which command to use instead.

    A trace or a Python file in place of a command is recognized.
    """
    from pathlib import Path

    from kvtrace.schema.errors import EmptyTrace, nearest

    path = Path(name)
    known = _known_commands()
    replacing = [
        f"kvtrace {entry.instead}"
        for old_name, entry in known.items()
        if old_name.startswith(f"{name} ") and entry.instead
    ]
    if replacing:
        return f"kvtrace {name} is now {', '.join(replacing)}."
    if path.is_dir():
        from kvtrace.schema.trace import open_trace

        try:
            open_trace(path)
        except EmptyTrace as empty:  # the error names the traces in the folder
            return str(empty)
        return (
            f"{name} is a trace; kvtrace info {name} shows its contents, kvtrace view {name} "
            f"opens it, and kvtrace sanitize {name} looks for defects."
        )
    if path.suffix == ".py" and path.is_file():
        return f"{name} is a program; kvtrace run -o out/ {name} records it."
    if name.startswith("-"):
        return (
            f"{name} has to follow a command, as in kvtrace info out/ {name}; see kvtrace --help."
        )
    return f"there is no command {name!r}{nearest(name, own_commands())}; see kvtrace --help."


def command_line(name: str) -> "CommandLine":
    """Return a command's parser; imports the command's module."""
    from kvtrace.cli.parsing import CommandLine

    function, passthrough = _function(name)
    return CommandLine(f"kvtrace {name}", function, passthrough=passthrough, common=True)


def _function(name: str) -> tuple[Callable[..., int | None], bool]:
    """Return a command's function, and whether later words belong to the user's program."""
    command: Command | Callable[..., int | None] | None = _CORE.get(name)
    if command is None:
        entry = registry.entry("commands", name)
        assert entry is not None, name
        command = entry.load()
    if isinstance(command, Command):
        return import_module(command.module).command, command.passthrough
    assert command is not None
    return command, False


@contextmanager
def _quietly(quiet: bool) -> Iterator[None]:
    """Print no notes and no progress in the context if `quiet`."""
    earlier = _QUIET.set(quiet)
    try:
        yield
    finally:
        _QUIET.reset(earlier)


def is_quiet() -> bool:
    """Return whether the command prints results and errors only."""
    return _QUIET.get()


@contextmanager
def _printing_to(file: "Path | None") -> Iterator[None]:
    """Write what is printed in the context into a file, which appears when it is complete.

    None and `-` are standard output.
    """
    if file is None or str(file) == "-":
        yield
        return
    import io

    from kvtrace.converters.output import whole_file

    with whole_file(file) as target:
        text = io.TextIOWrapper(target, "utf-8", errors="backslashreplace", newline="\n")
        with redirect_stdout(text):
            yield
        text.flush()
        text.detach()


def note(sentence: str) -> None:
    """Print a sentence that is no error to standard error, unless --quiet was given."""
    if not is_quiet():
        complain(sentence)


def complain(sentence: str) -> int:
    """Print a sentence, control characters escaped, to standard error; return `BAD_INPUT`."""
    from kvtrace.text import narrowed, printable, terminal_width

    erase_progress()
    line = f"kvtrace: {printable(' '.join(sentence.split()))}"
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    if is_terminal:
        from kvtrace.cli.links import for_stream

        line = for_stream("\n".join(narrowed(line, terminal_width())), sys.stderr)
    print(line, file=sys.stderr)
    return BAD_INPUT


def erase_progress() -> None:
    """Erase the bar of long work before a line is printed in its place."""
    shown = sys.modules.get("kvtrace.cli.progress")
    if shown is not None:
        shown.erase_progress()


def _unexpected(problem: BaseException) -> int:
    if os.environ.get("KVTRACE_DEBUG") == "1":
        import traceback

        traceback.print_exception(problem)
    error = f"{type(problem).__name__}: {problem}".strip().splitlines()[0]
    return complain(f"unexpected error {error} (KVTRACE_DEBUG=1 shows the traceback).")


def _silence_output() -> int:
    """Redirect standard output to /dev/null until exit, and return the code of a closed pipe."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
    except (OSError, ValueError):
        pass  # standard output is not a file, so nothing flushes to a closed pipe
    return READER_GONE
