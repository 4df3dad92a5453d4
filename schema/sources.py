"""The part of a Python file that some functions use, which a trace keeps of the file.

The file is read token by token and not as a syntax tree: this runs in a thread beside the program's
threads, and CPython (3.11 at least) raises SystemError if two threads build syntax trees at once.
"""

import io
import keyword
import tokenize
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

_ASSIGNING: Final = frozenset({"=", "+=", "-=", "*=", "/=", "//=", "%=", "|=", "&=", ":="})
_BRACKETS: Final = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
#: First words of lines that continue the statement above.
_CONTINUING: Final = frozenset({"else", "elif", "except", "finally"})
_SKIPPED: Final = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER})


@dataclass(slots=True)
class _Line:
    """A logical line at a depth of indentation; `end` is the last line of its indented block."""

    depth: int
    words: list[str]
    first: int
    last: int
    start: int = 0
    end: int = 0

    @property
    def is_function(self) -> bool:
        return self.words[:1] == ["def"] or self.words[:2] == ["async", "def"]


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement of the module: lines, whether it is always kept, and names that it binds."""

    lines: list[_Line]
    always: bool
    bound: set[str]


def used_part(text: str, lines: Collection[int]) -> str:
    """Return a file with all lines blank that the functions around the given lines do not use.

    Kept are these functions with their decorators and comments right above, statements of the
    module that bind names which kept lines read, and the first lines of enclosing classes and
    functions. Lines keep their numbers. Of a file that is not Python only the given lines are kept.

    Args:
        text: the file's content.
        lines: numbers of lines, counted from 1.

    """
    return _used_part(text, frozenset(lines))


@lru_cache(maxsize=16)  # variants of a kernel come from the same lines
def _used_part(text: str, lines: frozenset[int]) -> str:
    every = text.splitlines(keepends=True)
    try:
        read, statements = _read(text)
        kept = _kept_numbers(read, statements, lines)
        kept |= _comments_above([line for line in read if line.end in kept], every)
    except (tokenize.TokenError, SyntaxError):
        kept = set(lines)
    blank = [line if number in kept else "\n" for number, line in enumerate(every, 1)]
    return "".join(blank).rstrip("\n") + "\n" * bool(kept)


@lru_cache(maxsize=8)  # a file has many kernels, and takes a millisecond for every 25 lines
def _read(text: str) -> tuple[list[_Line], list[_Statement]]:
    """Return a file's logical lines and statements, both cached: do not change them."""
    lines = _logical_lines(text)
    statements = [_Statement(s, _is_always(s), _bound(s)) for s in _statements(lines)]
    return lines, statements


def _logical_lines(text: str) -> list[_Line]:
    lines: list[_Line] = []
    words: list[str] = []
    depth = first = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.INDENT:
            depth += 1
        elif token.type == tokenize.DEDENT:
            depth -= 1
        elif token.type == tokenize.NEWLINE and words:
            lines.append(_Line(depth, words, first, token.start[0], first, token.start[0]))
            words = []
        elif token.type not in _SKIPPED:
            first = first if words else token.start[0]
            words.append(token.string)
    enclosing: list[_Line] = []
    for line, following in pairwise([*lines, _Line(0, [], 0, 0)]):
        while enclosing and enclosing[-1].depth >= line.depth:
            enclosing.pop()
        enclosing.append(line)
        for outer in enclosing:
            outer.end = line.last
        if line.words[0] == "@":
            following.start = line.start
    return lines


def _kept_numbers(
    lines: list[_Line], statements: list[_Statement], numbers: Collection[int]
) -> set[int]:
    """Return the numbers of all lines that the functions around the given line numbers use."""
    kept: set[int] = set()
    names: set[str] = set()
    blocks = [statement.lines for statement in statements]
    for number in numbers:
        around = [line for line in lines if line.start <= number <= line.end]
        functions = [line for line in around if line.is_function]
        whole = functions[-1:] or [b[-1] for b in blocks if b[0].start <= number <= b[-1].end]
        for line in whole:
            kept.update(range(line.start, line.end + 1))
            names |= _names_read([x for x in lines if line.start <= x.first <= line.end])
        if functions:
            for outer in around:
                if outer.depth < functions[-1].depth:
                    kept.update(range(outer.first, outer.last + 1))
    while used := [s for s in statements if s.always or not names.isdisjoint(s.bound)]:
        statements = [s for s in statements if not s.always and names.isdisjoint(s.bound)]
        for statement in used:
            names |= _names_read(statement.lines)
            kept.update(range(statement.lines[0].start, statement.lines[-1].end + 1))
    return kept


def _comments_above(kept: Sequence[_Line], every: Sequence[str]) -> set[int]:
    """Return the numbers of comment lines right above functions and their decorators."""
    comments = set()
    for line in kept:
        number = line.start - 1
        while line.is_function and number and every[number - 1].lstrip().startswith("#"):
            comments.add(number)
            number -= 1
    return comments


def _statements(lines: Sequence[_Line]) -> list[list[_Line]]:
    """Return the module's statements, each with all its lines."""
    statements: list[list[_Line]] = []
    for line in lines:
        continues = line.depth or line.words[0] in _CONTINUING
        last = statements[-1][-1] if statements else None
        decorated = last is not None and last.depth == 0 and last.words[0] == "@"
        if statements and (continues or decorated):
            statements[-1].append(line)
        else:
            statements.append([line])
    return statements


def _is_always(statement: Sequence[_Line]) -> bool:
    """Return whether a statement binds unknown names (`*`), or changes the syntax."""
    words = statement[0].words
    return words[:2] == ["from", "__future__"] or (words[:1] == ["from"] and words[-1] == "*")


def _bound(statement: Sequence[_Line]) -> set[str]:
    """Return the module's names that a statement binds."""
    definition = next((line for line in statement if line.words[0] != "@"), statement[0])
    words = [word for word in definition.words if word != "async"]
    if words[0] in ("def", "class"):
        return {words[1]}
    return {name for line in statement for name in _bound_by(line.words)}


def _bound_by(words: Sequence[str]) -> Iterator[str]:
    if words[0] in ("import", "from"):
        after = words[words.index("import") + 1 :]
        listed = " ".join(word for word in after if word not in "()").removesuffix(",")
        for part in listed.split(" , "):
            yield part.split()[-1] if " as " in part else part.split()[0]
        return
    if words[0] in ("def", "class"):
        yield words[1]
    if words[1:2] == [":"]:  # an annotation
        yield words[0]
    depth = 0
    before: list[str] = []
    for word, following in pairwise([*words, ""]):
        depth += _BRACKETS.get(word, 0)
        if word in _ASSIGNING and not depth:
            yield from before
        if word == "as":
            yield following
        if following == ":=":
            yield word
        if word.isidentifier() and not keyword.iskeyword(word):
            before.append(word)
    if words[0] == "for" and "in" in words:
        yield from words[1 : words.index("in")]


def _names_read(lines: Sequence[_Line]) -> set[str]:
    """Return the names that lines read from the module; functions' local names are left out."""
    read: set[str] = set()
    own: set[str] = set()
    inside: int | None = None
    for line in lines:
        if inside is not None and line.depth <= inside:
            inside = None
        if line.is_function:
            inside = line.depth if inside is None else inside
            own |= _parameters(line.words)
        elif inside is not None:
            own.update(_bound_by(line.words))
        for before, word in pairwise(["", *line.words]):
            if word.isidentifier() and not keyword.iskeyword(word) and before != ".":
                read.add(word)
    return read - own


def _parameters(words: Sequence[str]) -> set[str]:
    """Return the names of a function's parameters, without names in annotations and defaults."""
    parameters, depth = set(), 0
    for before, word in pairwise(words):
        depth += _BRACKETS.get(before, 0)
        if depth == 1 and before in ("(", ",", "*", "**") and word.isidentifier():
            parameters.add(word)
    return parameters
