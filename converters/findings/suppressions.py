"""Suppressions: comments `# kvtrace: ignore[rule] reason` that mark a finding as intended.

A comment applies to the statement that contains it or, on its own line, to the next statement.
`ignore` without rules applies to every rule. A finding in an inlined function is suppressed by a
comment at any frame of its stack, such as the line of the call.
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
#: Types of tokens between statements.
_BETWEEN: Final = frozenset(
    {tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
)


class SourceTexts(Protocol):
    """Protocol: an object with the recorded text of source files."""

    def blocks(self, file: str) -> Sequence[tuple[int, Sequence[str]]]:
        """Return the known blocks of a file: number of the first line, and lines."""


@dataclass(frozen=True, slots=True)
class Ignore:
    """A suppressing comment: its line, the lines it applies to (`first` to `last`), rules, reason.

    Empty `rules` means all rules. Lines count from 1; `last` is included.
    """

    file: str
    line: int
    first: int
    last: int
    rules: tuple[str, ...] = ()
    reason: str | None = None

    def covers(self, line: int | None, rule: str) -> bool:
        """Return whether the comment suppresses a finding of the rule at the line."""
        if line is None or not self.first <= line <= self.last:
            return False
        return not self.rules or rule in self.rules


class Suppressions:
    """The suppressing comments of source files, read on first use, and a record of those used."""

    def __init__(self, texts: SourceTexts) -> None:
        self._texts = texts
        self._ignores: dict[str, tuple[Ignore, ...]] = {}
        self._used: set[tuple[Ignore, str | None]] = set()

    def of(self, stack: Iterable[StackFrame], rule: str) -> Ignore | None:
        """Return the comment that suppresses a finding of `rule` with this stack, or None.

        The comment is recorded as used.
        """
        for frame in stack:
            for ignore in self.in_file(frame.file):
                if ignore.covers(frame.line, rule):
                    self._used.add((ignore, rule if ignore.rules else None))
                    return ignore
        return None

    def in_file(self, file: str | None) -> tuple[Ignore, ...]:
        """Return the comments of one file, sorted by line; () for None."""
        if file is None:
            return ()
        if file not in self._ignores:
            by_line: dict[int, Ignore] = {}
            for first_line, lines in self._texts.blocks(file):
                for ignore in ignores_in(file, lines, first_line):
                    by_line.setdefault(ignore.line, ignore)
            self._ignores[file] = tuple(by_line[line] for line in sorted(by_line))
        return self._ignores[file]

    def unused(
        self, judged_lines: Mapping[str, Sequence[range]], judged: Iterable[str] | None
    ) -> Iterator[tuple[Ignore, str | None]]:
        """Yield comments that suppressed nothing, with the unused rule (None for all rules).

        Args:
            judged_lines: the lines of each file that were judged; other comments are ignored.
            judged: the rules that judged the lines, None if not known; a comment for another rule
                does not count as unused.

        """
        judged_rules = None if judged is None else frozenset(judged)
        for file, ranges in sorted(judged_lines.items()):
            for ignore in self.in_file(file):
                if not any(r.start <= ignore.last and ignore.first < r.stop for r in ranges):
                    continue
                for rule in ignore.rules or (None,):
                    is_judged = rule is None or judged_rules is None or rule in judged_rules
                    if is_judged and (ignore, rule) not in self._used:
                        yield ignore, rule


def ignores_in(file: str, lines: Sequence[str], first_line: int = 1) -> list[Ignore]:
    """Return the suppressing comments in a block of source lines, which begins at `first_line`.

    Text that Python cannot tokenize (such as an indented part of a file) is read line by line: a
    comment then applies to its line or, if the line has no code, to the next one.
    """
    ignores = []
    for line, first, last, text in marked_comments(lines):
        match = _COMMENT.search(text)
        if match is None:
            continue
        rules = tuple(name for part in (match[1] or "").split(",") if (name := part.strip()))
        line_offset = first_line - 1
        ignores.append(
            Ignore(
                file,
                line + line_offset,
                first + line_offset,
                last + line_offset,
                rules,
                match[2].strip() or None,
            )
        )
    return ignores


def marked_comments(lines: Sequence[str]) -> list[tuple[int, int, int, str]]:
    """Return all comments of a block of lines; [] unless the block contains `kvtrace:`.

    Each comment has its line, the first and last line of the statement that it applies to, and its
    text. Lines count from 1.
    """
    if not any(_MARK in line for line in lines):
        return []
    try:
        return list(_comments(lines))
    except (tokenize.TokenError, SyntaxError):
        return list(_comments_by_line(lines))


def _comments(lines: Sequence[str]) -> Iterator[tuple[int, int, int, str]]:
    """Yield the entries of `marked_comments`, found by Python's tokenizer."""
    text = "".join(f"{line}\n" for line in lines)
    pending_comments: list[tuple[int, str]] = []
    statement_line: int | None = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row = token.start[0]
        if token.type == tokenize.COMMENT:
            pending_comments.append((row, token.string))
        elif token.type == tokenize.NEWLINE:
            first = row if statement_line is None else statement_line
            attached = _comments_of_statement(pending_comments, first)
            for line, comment in pending_comments:
                is_attached = (line, comment) in attached
                start, end = (min(first, line), row) if is_attached else (line, line)
                yield line, start, end, comment
            pending_comments, statement_line = [], None
        elif token.type not in _BETWEEN and statement_line is None:
            statement_line = row


def _comments_of_statement(pending: list[tuple[int, str]], first: int) -> set[tuple[int, str]]:
    """Return the (line, text) of comments inside a statement, or directly above its first line.

    `pending` are the comments since the previous statement.
    """
    expected = first - 1
    attached = {entry for entry in pending if entry[0] >= first}
    for entry in reversed([entry for entry in pending if entry[0] < first]):
        if entry[0] != expected:
            break
        attached.add(entry)
        expected -= 1
    return attached


def _comments_by_line(lines: Sequence[str]) -> Iterator[tuple[int, int, int, str]]:
    for line_number, line in enumerate(lines, start=1):
        if _MARK not in line or "#" not in line:
            continue
        has_no_code = line.lstrip().startswith("#")
        yield line_number, line_number, line_number + has_no_code, line[line.index("#") :]
