"""A page for each command of `kvtrace`, from the parser that the command line itself uses."""

import re
from inspect import cleandoc
from typing import Final

from kvtrace.cli import command_line, own_commands
from kvtrace.cli.parsing import CommandLine, Parameter

FOLDER: Final = "reference/commands"


def command_pages() -> dict[str, str]:
    """Return each page's place and Markdown: the index, and one for each command."""
    pages = {f"{FOLDER}/{_file(name)}": _page(name, command_line(name)) for name in own_commands()}
    return {f"{FOLDER}/index.md": _index(), **pages}


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


def _page(name: str, line: CommandLine) -> str:
    text, _, example = line.text.partition("Example:\n")
    return "\n".join(
        [
            f"# kvtrace {name}",
            "",
            f"```text\n{line.usage}\n```",
            "",
            _prose(text),
            "## Example",
            "",
            f"```bash\n{cleandoc(example)}\n```",
            "",
            *_table("argument", line.arguments),
            *_table("option", line.options),
        ]
    )


def _table(kind: str, parameters: tuple[Parameter, ...]) -> list[str]:
    """Return a section on the command's arguments or options, as its `--help` has them."""
    rows = [f"| {_code(each.heading)} | {_cell(_prose(each.text))} |" for each in parameters]
    head = [f"## {kind.title()}s", "", f"| {kind} | what it is |", "|---|---|"]
    return [*head, *rows, ""] if rows else []


def _prose(text: str) -> str:
    """Return a docstring's text with options and variables as code."""
    return re.sub(r"(?<![\w`/-])(--?[a-z][\w-]*|KVTRACE\w*)(?![\w`])", r"`\1`", text)


def _code(text: str) -> str:
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
