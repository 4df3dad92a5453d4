"""Generated pages about the commands of `kvtrace`, one each, from the command line's parser."""

import re
from inspect import cleandoc
from typing import Final

from kvtrace.cli import (
    BAD_INPUT,
    FOUND,
    INTERRUPTED,
    READER_GONE,
    Command,
    command_line,
    own_commands,
)
from kvtrace.cli.parsing import CommandLine, Parameter

FOLDER: Final = "reference/commands"


def command_pages() -> dict[str, str]:
    """Return the Markdown of the index and of each command's page, by path in the site."""
    pages = {
        f"{FOLDER}/{_page_name(name)}": _command_page(name, command_line(name))
        for name in own_commands()
    }
    return {f"{FOLDER}/index.md": _index_page(), **pages}


def _page_name(name: str) -> str:
    return f"{name.replace(' ', '-')}.md"


def _index_page() -> str:
    rows = [_index_row(name, entry) for name, entry in own_commands().items()]
    return "\n".join(
        [
            "# Commands",
            "",
            "Made from the parsers; `kvtrace COMMAND --help` says the same. `--json` prints JSON "
            "instead of text, `-o` names the file or folder that is written (`-`: print it), and "
            "`-q` prints results and errors only.",
            "",
            f"Exit codes are 0 where all is well, {FOUND} as the table says, {BAD_INPUT} for bad "
            f"input or where nothing could be judged, {INTERRUPTED} after Ctrl-C, and "
            f"{READER_GONE} if the reader of a pipe ended.",
            "",
            "| command | what it does | `--json` | `-o` | `-q` | exit code 1 |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _index_row(name: str, entry: Command) -> str:
    options = {form: option for option in command_line(name).options for form in option.on}
    output = options.get("--output")
    cells = [
        f"[`kvtrace {name}`]({_page_name(name)})",
        entry.help,
        "yes" if "--json" in options else "",
        f"`{output.metavar}`" if output else "",
        "yes" if "--quiet" in options else "",
        entry.exit_1,
    ]
    return f"| {' | '.join(cells)} |"


def _command_page(name: str, line: CommandLine) -> str:
    text, _, example = line.text.partition("Example:\n")
    return "\n".join(
        [
            f"# kvtrace {name}",
            "",
            f"```text\n{line.usage}\n```",
            "",
            _with_code_marks(text),
            "## Example",
            "",
            f"```bash\n{cleandoc(example)}\n```",
            "",
            *_parameter_section("argument", line.arguments),
            *_parameter_section("option", line.options),
        ]
    )


def _parameter_section(kind: str, parameters: tuple[Parameter, ...]) -> list[str]:
    """Return the lines of a section with a table of arguments or options; none without any."""
    rows = [
        f"| {_code(parameter.heading)} | {_cell(_with_code_marks(parameter.text))} |"
        for parameter in parameters
    ]
    head = [f"## {kind.title()}s", "", f"| {kind} | what it is |", "|---|---|"]
    return [*head, *rows, ""] if rows else []


def _with_code_marks(text: str) -> str:
    """Return text with options and KVTRACE variables in backticks."""
    return re.sub(r"(?<![\w`/-])(--?[a-z][\w-]*|KVTRACE\w*)(?![\w`])", r"`\1`", text)


def _code(text: str) -> str:
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
