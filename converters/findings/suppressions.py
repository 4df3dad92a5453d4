"""Comments in the source that say that a finding is intended: `# kvtrace: ignore[rule] reason`.

A comment applies to the statement that contains it, or, on a separate line, for the statement
below it. `ignore` without rules counts for every rule. Of a finding in a function that was inlined,
each frame of its stack is checked: a comment at the call suppresses what was inlined there.
"""

import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from kvtrace.converters.findings.model import StackFrame

_MARK: Final = "kvtrace:"
_COMMENT: Final = re.compile(r"#\s*kvtrace:\s*ignore\b(?:\s*\[([^\]]*)\])?[\s:–-]*(.*)")
#: Tokens that are on a line but belong to no statement.
_BETWEEN: Final = frozenset(
    {tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
)


class SourceTexts(Protocol):
    """Where the text of source files comes from."""

    def blocks(self, file: str) -> Sequence[tuple[int, Sequence[str]]]:
        """Return what is known of a file: blocks of lines, each with its first line's number."""


@dataclass(frozen=True, slots=True)
class Ignore:
    """One comment: its position, the lines that it counts for, and what it says.

    No `rules` represents all of them. Lines count from 1; `first` and `last` are included.
    """

    file: str
    line: int
    first: int
    last: int
    rules: tuple[str, ...] = ()
    reason: str | None = None

    def covers(self, line: int | None, rule: str) -> bool:
        """Whether a finding of the rule at the line is suppressed."""
        if line is None or not self.first <= line <= self.last:
            return False
        return not self.rules or rule in self.rules


class Suppressions:
    """The comments of source files; each file is read once, when a finding first names it."""

    def __init__(self, texts: SourceTexts) -> None:
        self._texts = texts
        self._ignores: dict[str, tuple[Ignore, ...]] = {}
        self._used: set[tuple[Ignore, str | None]] = set()

    def of(self, stack: Iterable[StackFrame], rule: str) -> Ignore | None:
        """Return the comment that suppresses a finding of the rule; it then counts as used."""
        for frame in stack:
            for ignore in self.in_file(frame.file):
                if ignore.covers(frame.line, rule):
                    self._used.add((ignore, rule if ignore.rules else None))
                    return ignore
        return None

    def in_file(self, file: str | None) -> tuple[Ignore, ...]:
        """Return the comments of one file, in order."""
        if file is None:
            return ()
        if file not in self._ignores:
            found: dict[int, Ignore] = {}
            for first_line, lines in self._texts.blocks(file):
                for ignore in ignores_in(file, lines, first_line):
                    found.setdefault(ignore.line, ignore)
            self._ignores[file] = tuple(found[line] for line in sorted(found))
        return self._ignores[file]

    def unused(
        self, seen: Mapping[str, Sequence[range]], judged: Iterable[str] | None
    ) -> Iterator[tuple[Ignore, str | None]]:
        """Return comments that suppressed nothing, and the rule that they named in vain.

        Args:
            seen: the lines of each file that were judged; comments elsewhere are ignored.
            judged: the rules that were judged by, None where that is not known; a comment for
                another rule is not called unused.

        """
        known = None if judged is None else frozenset(judged)
        for file, ranges in sorted(seen.items()):
            for ignore in self.in_file(file):
                if not any(r.start <= ignore.last and ignore.first < r.stop for r in ranges):
                    continue
                for rule in ignore.rules or (None,):
                    looked_at = rule is None or known is None or rule in known
                    if looked_at and (ignore, rule) not in self._used:
                        yield ignore, rule


def ignores_in(file: str, lines: Sequence[str], first_line: int = 1) -> list[Ignore]:
    """Return the comments in a block of source lines whose first line has that number.

    Text that is not a whole Python (a function that was cut out of its file, with what is indented)
    is read line by line: a comment then counts for its own line or, alone on it, for the next.
    """
    found = []
    for line, first, last, text in marked_comments(lines):
        match = _COMMENT.search(text)
        if match is None:
            continue
        rules = tuple(name for part in (match[1] or "").split(",") if (name := part.strip()))
        shift = first_line - 1
        found.append(
            Ignore(file, line + shift, first + shift, last + shift, rules, match[2].strip() or None)
        )
    return found


def marked_comments(lines: Sequence[str]) -> list[tuple[int, int, int, str]]:
    """Return the comments of a block of lines, if some are kvtrace's, as `ignores_in` reads them.

    Each is its line, the first and last line of the statement that it counts for, and its text.
    Lines count from 1.
    """
    if not any(_MARK in line for line in lines):
        return []
    try:
        return list(_comments(lines))
    except (tokenize.TokenError, SyntaxError):
        return list(_comments_by_line(lines))


def _comments(lines: Sequence[str]) -> Iterator[tuple[int, int, int, str]]:
    """Return each comment: its line, and the first and last line of the statement it counts for."""
    text = "".join(f"{line}\n" for line in lines)
    pending: list[tuple[int, str]] = []
    begin: int | None = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row = token.start[0]
        if token.type == tokenize.COMMENT:
            pending.append((row, token.string))
        elif token.type == tokenize.NEWLINE:
            first = row if begin is None else begin
            attached = _attached(pending, first)
            for line, comment in pending:
                near = (line, comment) in attached
                yield line, min(first, line) if near else line, row if near else line, comment
            pending, begin = [], None
        elif token.type not in _BETWEEN and begin is None:
            begin = row


def _attached(pending: list[tuple[int, str]], first: int) -> set[tuple[int, str]]:
    """Keep comments inside a statement, and those on the lines right above it."""
    expected = first - 1
    kept = {entry for entry in pending if entry[0] >= first}
    for entry in reversed([entry for entry in pending if entry[0] < first]):
        if entry[0] != expected:
            break
        kept.add(entry)
        expected -= 1
    return kept


def _comments_by_line(lines: Sequence[str]) -> Iterator[tuple[int, int, int, str]]:
    for number, line in enumerate(lines, start=1):
        if _MARK not in line or "#" not in line:
            continue
        alone = line.lstrip().startswith("#")
        yield number, number, number + alone, line[line.index("#") :]
