"""A page for each command of `kvtrace`, from the parser that the command line itself uses."""

import re
from inspect import cleandoc
from typing import Any, Final

from typer import Context
from typer.main import get_command

from kvtrace.cli import command_app, own_commands

FOLDER: Final = "reference/commands"


def command_pages() -> dict[str, str]:
    """Return each page's place and Markdown: the index, and one for each command."""
    pages = {f"{FOLDER}/{_file(name)}": _page(name, parser(name)) for name in own_commands()}
    return {f"{FOLDER}/index.md": _index(), **pages}


def parser(name: str) -> Any:
    """Return a command's parser; typer brings a separate click, which has no types."""
    return get_command(command_app(name))


def _file(name: str) -> str:
    return f"{name.replace(' ', '-')}.md"


def _index() -> str:
    rows = [
        f"| [`kvtrace {name}`]({_file(name)}) | {entry.help} |"
        for name, entry in own_commands().items()
    ]
    return "\n".join(
        [
            "# Commands",
            "",
            "Made from the parsers; `kvtrace COMMAND --help` says the same. Exit codes are 0 where "
            "all is well, 1 where a command found what it looks for, and 2 for bad input.",
            "",
            "| command | what it does |",
            "|---|---|",
            *rows,
            "",
        ]
    )


def _page(name: str, command: Any) -> str:
    context = Context(command, info_name=f"kvtrace {name}")
    usage = command.get_usage(context).removeprefix("Usage: ")
    text, _, example = cleandoc(command.help.replace("\b", "")).partition("Example:\n")
    return "\n".join(
        [
            f"# kvtrace {name}",
            "",
            f"```text\n{' '.join(usage.split())}\n```",
            "",
            _prose(text),
            "## Example",
            "",
            f"```bash\n{cleandoc(example)}\n```",
            "",
            *_table("argument", command, context),
            *_table("option", command, context),
        ]
    )


def _table(kind: str, command: Any, context: Context) -> list[str]:
    """Return a section on the command's arguments or options, as its `--help` has them."""
    params = [each for each in command.get_params(context) if each.param_type_name == kind]
    records = [each.get_help_record(context) for each in params]
    rows = [f"| {_code(record[0])} | {_cell(_prose(record[1]))} |" for record in records if record]
    head = [f"## {kind.title()}s", "", f"| {kind} | what it is |", "|---|---|"]
    return [*head, *rows, ""] if rows else []


def _prose(text: str) -> str:
    """Return a docstring's text with options and variables as code."""
    return re.sub(r"(?<![\w`/-])(--?[a-z][\w-]*|KVTRACE\w*)(?![\w`])", r"`\1`", text)


def _code(text: str) -> str:
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
