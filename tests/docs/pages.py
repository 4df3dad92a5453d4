"""What a page of the documentation shows at a console, and the files that it says to write.

A block of ```` ```console ```` has commands after `$ `, each with what it prints. A comment at a
command's end says how it ends if not with 0: `# exit code 1`. A block in another language whose
first line is a file's name as a comment (`# add.py`) is that file. Above a block that a test cannot
run stands `<!-- not run: why -->`.
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
#: One page for each use, before all others: a screen with a picture and a command that runs.
ENTRY_PAGES: Final = tuple(ROOT / "docs" / f"{name}.md" for name in ("find-a-bug", "see-the-time"))
TUTORIALS: Final = sorted((ROOT / "docs" / "tutorials").glob("*.md"))

_BLOCK: Final = re.compile(
    r"(?:<!-- not run: (?P<why>.*?) -->\n+)?^```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_FILE: Final = re.compile(r"(?:#|//) (?P<name>[\w./-]+\.\w+)$")
_CODE: Final = re.compile(r"#.*exit code (\d+)")


@dataclass(frozen=True)
class Written:
    """A file that the page says to write."""

    name: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command, with what the page shows of its output."""

    line: int
    text: str
    shown: tuple[str, ...]
    not_run: str | None

    @property
    def code(self) -> int:
        found = _CODE.search(self.text)
        return int(found[1]) if found else 0

    @property
    def words(self) -> list[str]:
        """The command's own words: variables before it and the comment behind it left out."""
        words = shlex.split(self.text, comments=True)
        while words and re.match(r"[A-Z_]+=", words[0]):
            words.pop(0)
        return words


def steps(page: Path) -> list[Written | Command]:
    """Return what a page says to write and to run, in its order."""
    markdown = page.read_text(encoding="utf-8")
    found: list[Written | Command] = []
    for block in _BLOCK.finditer(markdown):
        text = block["text"]
        if block["language"] == "console":
            line = markdown.count("\n", 0, block.start("text")) + 1
            found += _commands(text, line, block["why"])
        elif named := _FILE.match(text.partition("\n")[0]):
            found.append(Written(named["name"], text))
    return found


def _commands(text: str, first: int, why: str | None) -> list[Command]:
    found, lines = [], text.splitlines()
    while lines:
        line = first + len(text.splitlines()) - len(lines)
        command = lines.pop(0).removeprefix("$ ")
        while _goes_on(command):
            command += "\n" + lines.pop(0)
        shown = []
        while lines and not lines[0].startswith("$ "):
            shown.append(lines.pop(0))
        found.append(Command(line, command, tuple(shown), why))
    return found


def _goes_on(command: str) -> bool:
    """Return whether a quote is open at the command's end, or a line ends in a backslash."""
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return True
    return command.endswith("\\")
