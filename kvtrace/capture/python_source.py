"""The Python source of recorded functions and files, if it can be read: the parts that are used."""

import inspect
import io
import keyword
import threading
import tokenize
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from kvtrace.capture.pacing import rest
from kvtrace.schema.cached_property import cached_property
from kvtrace.schema.content import COMPILING
from kvtrace.settings import Source

_ASSIGNING: Final = frozenset({"=", "+=", "-=", "*=", "/=", "//=", "%=", "|=", "&=", ":="})
_BEFORE_PARAMETERS: Final = frozenset({"(", ",", "*", "**"})
_BRACKETS: Final = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
#: First words of lines that continue the statement above.
_CONTINUING: Final = frozenset({"else", "elif", "except", "finally"})
_SKIPPED: Final = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER})
__all__ = [
    "definition_line",
    "function_facts",
    "function_source",
    "recorded_file_content",
    "used_files",
]

#: Source files larger than this are left out, in bytes.
FILE_LIMIT: Final = 4 << 20


def function_source(function: Any) -> str | None:
    """Return a function's source with its decorators; None for a function made in memory."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return None


def definition_line(function: Any) -> int:
    """Return the line number of a function's `def`, after its decorators."""
    first_line = int(function.__code__.co_firstlineno)
    for index, text in enumerate((function_source(function) or "").splitlines()):
        if text.strip().startswith(("def ", "async def ")):
            return first_line + index
    return first_line


def recorded_file_content(path: str, lines: Collection[int], keep: Source) -> bytes | None:
    """Return the content of a file to record; None if it is too large or cannot be read.

    Args:
        path: the file.
        lines: numbers of the lines that a kernel's code comes from, counted from 1.
        keep: the setting `source`.

    """
    if keep == "off":
        return None
    try:
        file = Path(path)
        content = file.read_bytes() if file.stat().st_size <= FILE_LIMIT else None
    except OSError:
        return None
    if content is None or keep == "files":
        return content
    return used_part(content.decode("utf-8", "replace"), lines).encode()


def used_files(
    places: Iterable[tuple[str, int | None]], keep: Source
) -> tuple[tuple[str, bytes | None], ...]:
    """Return each file that has one of some lines, in their order, with the content to record."""
    lines: dict[str, set[int]] = {}
    for path, line in places:
        lines.setdefault(path, set()).add(line or 0)
    return tuple((path, recorded_file_content(path, lines[path], keep)) for path in lines)


def function_facts(function: Any, keep: Source) -> dict[str, Any]:
    """Return the fields of a `KernelRecord` that a Python function, run as a kernel, determines."""
    code = getattr(function, "__code__", None)
    return {
        "module": getattr(function, "__module__", None),
        "file": None if code is None else str(code.co_filename),
        "line": None if code is None else definition_line(function),
        "source": function_source(function) if keep != "off" else None,
        "thread": threading.get_native_id(),
    }


# The part of a Python file that some functions use, which a trace keeps of the file.
#
# The file is read token by token and not as a syntax tree: this runs in a thread beside the
# program's threads, and CPython (3.11 at least) raises SystemError if two threads build syntax
# trees at once.


@dataclass(slots=True)
class _LogicalLine:
    """A logical line and its indented block.

    `first_line` to `last_line` are the line's own numbers; `block_start` to `block_end` include
    its decorators and its block. `words` are its tokens, `depth` its indentation.
    """

    depth: int
    words: list[str]
    first_line: int
    last_line: int
    block_start: int = 0
    block_end: int = 0

    @property
    def is_function(self) -> bool:
        return self.words[:1] == ["def"] or self.words[:2] == ["async", "def"]


class _Statement:
    """A top-level statement: its lines, the names that it binds, and those that it reads."""

    def __init__(self, lines: list[_LogicalLine]) -> None:
        rest()
        self.lines = lines
        self.bound_names = _bound_names(lines)

    @cached_property
    def free_names(self) -> set[str]:
        return _free_names(self.lines)

    @property
    def numbers(self) -> range:
        return range(self.lines[0].block_start, self.lines[-1].block_end + 1)


class Module:
    """The top-level statements of a file, by line and by the names that they bind."""

    def __init__(self, statements: list[_Statement]) -> None:
        self._statements = statements
        self._starts = [statement.numbers.start for statement in statements]
        self._binding: dict[str, list[_Statement]] = {}
        for statement in statements:
            for name in statement.bound_names:
                self._binding.setdefault(name, []).append(statement)
        self.always_kept = [one for one in statements if _is_always_kept(one.lines)]

    def at(self, number: int) -> _Statement | None:
        """Return the statement that has a line."""
        index = bisect_right(self._starts, number) - 1
        has_line = index >= 0 and number in self._statements[index].numbers
        return self._statements[index] if has_line else None

    def used_by(self, names: Iterable[str]) -> list[_Statement]:
        """Return the statements that bind some names, or names which such statements read."""
        used: dict[int, _Statement] = {}
        known = set(names)
        waiting = [*known, *(name for one in self.always_kept for name in one.free_names)]
        while waiting:
            for statement in self._binding.get(waiting.pop(), ()):
                if id(statement) not in used:
                    used[id(statement)] = statement
                    waiting += statement.free_names - known
                    known |= statement.free_names
        return [*used.values(), *self.always_kept]

    def code_lines(self) -> list[int]:
        """Return the numbers of the statements that run more than the definition of a function."""
        return [one.numbers.start for one in self._statements if _runs_code(one.lines)]


def used_part(
    text: str, lines: Collection[int], *, outermost: bool = False, imported: bool = False
) -> str:
    """Return a file in which lines are blank unless the functions around `lines` use them.

    Kept are these functions with their decorators and comments right above, statements of the
    module that bind names which kept lines read, and the first lines of enclosing classes and
    functions. Lines keep their numbers. Of a file that is not Python only the given lines are kept.

    Args:
        text: the file's content.
        lines: numbers of lines, counted from 1.
        outermost: keep the outermost functions around the lines, with all in them, in place of
            the innermost.
        imported: keep what importing the file runs, too, with what that uses.

    """
    return _used_part(text, frozenset(lines), outermost, imported)


@lru_cache(maxsize=16)  # variants of a kernel come from the same lines
def _used_part(text: str, lines: frozenset[int], outermost: bool, imported: bool) -> str:
    file_lines = lines_of(text)
    try:
        module = parsed_module(text)
        kept_numbers = _used_line_numbers(module, file_lines, lines, outermost)
        kept_numbers |= _imported_line_numbers(text) if imported else set()
    except (tokenize.TokenError, SyntaxError):
        kept_numbers = {number for number in lines if 0 < number <= len(file_lines)}
    return _only(file_lines, kept_numbers)


@lru_cache(maxsize=8)  # the same for all functions of a file
def _imported_line_numbers(text: str) -> set[int]:
    """Return the numbers of the lines that importing a file runs, and of those that they use."""
    module = parsed_module(text)
    return _used_line_numbers(module, lines_of(text), module.code_lines(), True)


def _only(file_lines: Sequence[str], kept_numbers: Collection[int]) -> str:
    """Return the lines with the given numbers, and blank lines between them."""
    parts: list[str] = []
    previous = 0
    for number in sorted(kept_numbers):
        parts += ["\n" * (number - previous - 1), file_lines[number - 1]]
        previous = number
    return "".join(parts).rstrip("\n") + "\n" * bool(kept_numbers)


@lru_cache(maxsize=8)
def lines_of(text: str) -> list[str]:
    """Return a text's lines with their ends, cached: do not change them."""
    return text.splitlines(keepends=True)


@lru_cache(maxsize=8)  # a file has many kernels, and takes a millisecond for every 25 lines
def parsed_module(text: str) -> "Module":
    """Return the statements of a module's text, cached."""
    return Module([_Statement(lines) for lines in _module_statements(_logical_lines(text))])


def _logical_lines(text: str) -> list[_LogicalLine]:
    lines: list[_LogicalLine] = []
    words: list[str] = []
    depth = first_line_number = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.INDENT:
            depth += 1
        elif token.type == tokenize.DEDENT:
            depth -= 1
        elif token.type == tokenize.NEWLINE and words:
            rest()
            lines.append(
                _LogicalLine(
                    depth,
                    words,
                    first_line_number,
                    token.start[0],
                    first_line_number,
                    token.start[0],
                )
            )
            words = []
        elif token.type not in _SKIPPED:
            first_line_number = first_line_number if words else token.start[0]
            words.append(token.string)
    enclosing: list[_LogicalLine] = []
    for line, next_line in pairwise([*lines, _LogicalLine(0, [], 0, 0)]):
        rest()
        while enclosing and enclosing[-1].depth >= line.depth:
            enclosing.pop()
        enclosing.append(line)
        for enclosing_line in enclosing:
            enclosing_line.block_end = line.last_line
        if line.words[0] == "@":
            next_line.block_start = line.block_start
    return lines


def _used_line_numbers(
    module: Module,
    file_lines: Sequence[str],
    numbers: Collection[int],
    outermost: bool,
) -> set[int]:
    """Return the numbers of lines to keep: functions around `numbers`, and statements they use."""
    kept_numbers: set[int] = set()
    used_names: set[str] = set()
    touched: dict[int, _Statement] = {}
    seen_blocks: set[int] = set()
    for number in numbers:
        statement = module.at(number)
        if statement is None:
            continue
        touched[id(statement)] = statement
        enclosing_lines = [
            line for line in statement.lines if line.block_start <= number <= line.block_end
        ]
        functions = [line for line in enclosing_lines if line.is_function]
        functions = functions[:1] if outermost else functions
        block = statement.lines
        kept_blocks = functions[-1:] or (block if outermost else block[-1:])
        for line in kept_blocks:
            if id(line) in seen_blocks:
                continue
            seen_blocks.add(id(line))
            kept_numbers.update(range(line.block_start, line.block_end + 1))
            used_names |= _free_names(
                [inner for inner in block if line.block_start <= inner.first_line <= line.block_end]
            )
        if functions:
            for enclosing in enclosing_lines:
                if enclosing.depth < functions[-1].depth:
                    kept_numbers.update(range(enclosing.first_line, enclosing.last_line + 1))
    for statement in module.used_by(used_names):
        touched[id(statement)] = statement
        kept_numbers.update(statement.numbers)
    lines = [line for statement in touched.values() for line in statement.lines]
    kept_lines = [line for line in lines if line.block_end in kept_numbers]
    return kept_numbers | _comment_lines_above(kept_lines, file_lines)


def _comment_lines_above(kept: Sequence[_LogicalLine], file_lines: Sequence[str]) -> set[int]:
    """Return the numbers of comment lines directly above those of `kept` that are functions."""
    comments = set()
    for line in kept:
        line_number = line.block_start - 1
        while (
            line.is_function
            and line_number
            and file_lines[line_number - 1].lstrip().startswith("#")
        ):
            comments.add(line_number)
            line_number -= 1
    return comments


def _module_statements(lines: Sequence[_LogicalLine]) -> list[list[_LogicalLine]]:
    """Return the lines of each top-level statement, with decorators and clauses as `else`."""
    statements: list[list[_LogicalLine]] = []
    for line in lines:
        rest()
        is_continuation = line.depth or line.words[0] in _CONTINUING
        last_line = statements[-1][-1] if statements else None
        is_decorated = last_line is not None and last_line.depth == 0 and last_line.words[0] == "@"
        if statements and (is_continuation or is_decorated):
            statements[-1].append(line)
        else:
            statements.append([line])
    return statements


def _runs_code(statement: Sequence[_LogicalLine]) -> bool:
    """Return whether a statement is no kernel, and no function that importing it only defines.

    A decorator, a class, and a call among a function's defaults may hand on or change anything.
    """
    decorators = [line for line in statement if line.words[0] == "@" and not line.depth]
    if any("".join(line.words[1:]).partition("(")[0] in COMPILING for line in decorators):
        return False
    first = statement[0]
    return not first.is_function or first.words.count("(") > 1


def _is_always_kept(statement: Sequence[_LogicalLine]) -> bool:
    """Return whether a statement is `from … import *` or `from __future__ import …`."""
    words = statement[0].words
    return words[:2] == ["from", "__future__"] or (words[:1] == ["from"] and words[-1] == "*")


def _bound_names(statement: Sequence[_LogicalLine]) -> set[str]:
    """Return the module-level names that a top-level statement binds."""
    definition = next((line for line in statement if line.words[0] != "@"), statement[0])
    words = [word for word in definition.words if word != "async"]
    if words[0] in ("def", "class"):
        return {words[1]}
    return {name for line in statement for name in _names_bound_by(line.words)}


def _names_bound_by(words: Sequence[str]) -> Iterator[str]:
    if words[0] in ("import", "from"):
        imported_words = words[words.index("import") + 1 :]
        imported_text = " ".join(word for word in imported_words if word not in "()").removesuffix(
            ","
        )
        for imported in imported_text.split(" , "):
            yield imported.split()[-1] if " as " in imported else imported.split()[0]
        return
    if words[0] in ("def", "class"):
        yield words[1]
    if words[1:2] == [":"]:  # an annotation, whose names are read
        yield words[0]
        words = words[words.index("=") + 1 :] if "=" in words else []
    depth = 0
    names_before: list[str] = []
    for word, following in pairwise([*words, ""]):
        depth += _BRACKETS.get(word, 0)
        if word in _ASSIGNING and not depth:
            yield from names_before
        if word == "as":
            yield following
        if following == ":=":
            yield word
        if word.isidentifier() and not keyword.iskeyword(word):
            names_before.append(word)
    if words[:1] == ["for"] and "in" in words:
        yield from words[1 : words.index("in")]


def _free_names(lines: Sequence[_LogicalLine]) -> set[str]:
    """Return the names that lines read from the module; functions' local names are left out."""
    scopes: list[tuple[int, set[str], set[str]]] = [(-1, set(), set())]  # depth, reads, locals
    for line in [*lines, _LogicalLine(-1, [""], 0, 0)]:
        rest()
        while line.depth <= scopes[-1][0] and len(scopes) > 1:
            _, reads, local_names = scopes.pop()
            scopes[-1][1].update(reads - local_names)
        parameters = _parameters(line.words) if line.is_function else set()
        for previous_word, word in pairwise(["", *line.words]):
            is_parameter = word in parameters and previous_word in _BEFORE_PARAMETERS
            if word.isidentifier() and not keyword.iskeyword(word) and previous_word != ".":
                scopes[-1][1].update(() if is_parameter else (word,))
        if line.is_function:
            scopes.append((line.depth, set(), parameters))
        elif len(scopes) > 1:
            scopes[-1][2].update(_names_bound_by(line.words))
    return scopes[0][1]


def _parameters(words: Sequence[str]) -> set[str]:
    """Return the names of a function's parameters, without names in annotations and defaults."""
    parameters, depth = set(), 0
    for previous_word, word in pairwise(words):
        depth += _BRACKETS.get(previous_word, 0)
        if depth == 1 and previous_word in _BEFORE_PARAMETERS and word.isidentifier():
            parameters.add(word)
    return parameters
