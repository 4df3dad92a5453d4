"""Difference of two compiler texts (TTIR, … PTX, or an add-on's) without value names and locations.

A line added to the source changes all later locations, and an added op renumbers all later values.
So locations are removed, lines are aligned with value names blanked, and then the names of aligned
lines must correspond one to one: `%7` may be `%9` on the other side, but not `%9` in one line and
`%4` in the next. The remaining differences are real.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, Final

from kvtrace.converters.diff.added import earlier_stages
from kvtrace.converters.diff.model import CodeDifference

#: The compiler's stages that are compared, in its order.
_STAGES: Final = ("ttir", "glir", "ttgir", "llir", "ptx")

_MLIR_LOCATION: Final = re.compile(r"\s*\bloc\(")
_LLVM_DEBUG: Final = re.compile(r",? ?!(?:dbg|tbaa|srcloc) ![0-9]+")
#: Lines of PTX to ignore: locations, labels of debug data, and the compiler's version.
_PTX_NOISE: Final = re.compile(
    r"^\s*(?:\.loc\b|\.file\b|\.version\b|//|\$L__(?:tmp|func|info|pubN|pubT)\w*:)"
)
_SYMBOL: Final = {
    "mlir": re.compile(r"[%^][A-Za-z0-9_$.\-]+"),
    "llvm": re.compile(r"%[A-Za-z0-9_$.\-]+|#[0-9]+|![0-9]+"),
    "ptx": re.compile(r"%[a-z]+[0-9]+|\$L__BB\w+"),
}
_PTX_CLASS: Final = re.compile(r"%[a-z]+[0-9]+$|\$L__")
_DEFINITION: Final = re.compile(r"([%^#][\w$.\-]+)(?=(?::[0-9]+)? = |: )")
_ALIAS: Final = re.compile(r"^(#\w+) = ")
NUMBER: Final = re.compile(r"[0-9]+(?=x)|(?<=x)[0-9]+|(?<![\w%^#.])[0-9]+(?!\w)")
#: Above this many line pairs the matcher may ignore very frequent lines, to save time.
_EXACT_PAIRS: Final = 4_000_000
#: A module attribute that is false, which other versions of the compiler omit.
_FALSE_ATTRIBUTE: Final = re.compile(r', "ttn?g\.[\w\-]+" = false(?=[,}])')
_CONTEXT: Final = 3
_MOST_SUBSTITUTIONS: Final = 4


@dataclass(frozen=True, slots=True)
class _CodeLines:
    """One side's text by line: without locations, with names blanked (`keys`), and the names.

    `symbols` has all names in each line, `defined` those that the line defines. `pattern` matches a
    name.
    """

    lines: tuple[str, ...]
    keys: tuple[str, ...]
    symbols: tuple[tuple[str, ...], ...]
    defined: tuple[frozenset[str], ...]
    pattern: re.Pattern[str]


def code_stages() -> tuple[str, ...]:
    """Return the names of the compared stages; a difference in one explains those in later ones."""
    return (*earlier_stages(), *_STAGES)


def first_stages() -> tuple[str, ...]:
    """Return the names of the stages that the number of warps and other options do not change."""
    return (*earlier_stages(), _STAGES[0])


def compare_code(
    stage: str, before: str, after: str, expected: Mapping[str, str] | None = None
) -> CodeDifference | None:
    """Return the difference of two texts of a stage; None if only names and locations differ.

    Args:
        stage: One of `code_stages()`, which determines the language of the texts.
        before: The text of BEFORE.
        after: The text of AFTER.
        expected: Numbers that are expected to change, such as changed constants: BEFORE → AFTER.
            Lines that differ in these numbers only are counted separately. If replacing a few
            numbers turns one text into the other, these numbers are used instead.
    """
    language = {"llir": "llvm", "ptx": "ptx"}.get(stage, "mlir")
    a, b = _read_code(language, before), _read_code(language, after)
    # First as the texts are: pairs of equal lines, and b's other lines with a's names.
    pairs, foreign = _consistent_pairs(a, b, _align(a.keys, b.keys))
    if len(pairs) == len(a.lines) == len(b.lines):
        return None
    script = _script(a, b, pairs, foreign)
    all_lines = tuple(_with_context(script))
    whole = tuple(mark + line for mark, line in script)
    # Then with numbers replaced; a pair whose keys differ is equal but for the replaced numbers.
    substitutions = _sufficient_substitutions(a, b) or dict(expected or {})
    substituted_pairs = [
        pair
        for pair in _align_with_substitutions(a, b, substitutions)
        if _is_substituted_line(a, b, pair, substitutions)
    ]
    substituted_pairs, foreign = _consistent_pairs(a, b, substituted_pairs)
    substituted = [(i, j) for i, j in substituted_pairs if a.keys[i] != b.keys[j]]
    if not substituted:
        removed, added = len(a.lines) - len(pairs), len(b.lines) - len(pairs)
        return CodeDifference(stage, all_lines, all_lines, removed, added, (), 0, whole)
    used = {pair for i, j in substituted for pair in _number_changes(a.keys[i], b.keys[j])}
    return CodeDifference(
        stage=stage,
        lines=tuple(_with_context(_script(a, b, substituted_pairs, foreign))),
        all_lines=all_lines,
        removed=len(a.lines) - len(substituted_pairs),
        added=len(b.lines) - len(substituted_pairs),
        substitutions=tuple(pair for pair in substitutions.items() if pair in used),
        substituted_lines=len(substituted),
        whole=whole,
    )


def _read_code(language: str, text: str) -> _CodeLines:
    lines = stripped_lines(language, text)
    aliases = (
        [m.group(1) for line in lines if (m := _ALIAS.match(line))] if language == "mlir" else []
    )
    pattern = _SYMBOL[language]
    if aliases:
        names = "|".join(re.escape(alias) for alias in sorted(aliases, key=len, reverse=True))
        pattern = re.compile(rf"{pattern.pattern}|(?:{names})\b")
    return _CodeLines(
        lines=tuple(lines),
        keys=tuple(pattern.sub(lambda found: _blanked_name(found.group()), line) for line in lines),
        symbols=tuple(tuple(pattern.findall(line)) for line in lines),
        defined=tuple(_definitions(language, line, pattern) for line in lines),
        pattern=pattern,
    )


def _blanked_name(symbol: str) -> str:
    """Return the replacement of a name: its first character, or in PTX its class (`%rd`, `%f`)."""
    return symbol.rstrip("0123456789_") if _PTX_CLASS.match(symbol) else symbol[0]


def _definitions(language: str, line: str, pattern: re.Pattern[str]) -> frozenset[str]:
    """Return the names that a line defines: results, arguments, loop variables.

    None in PTX, where registers are variables that a separate line declares.
    """
    if language == "ptx":
        return frozenset()
    names = set(_DEFINITION.findall(line))
    head, equals, _ = line.lstrip().partition(" = ")
    if equals and head.startswith("%"):
        names.update(pattern.findall(head))
    return frozenset(names)


def stripped_lines(language: str, text: str) -> list[str]:
    """Return the lines without locations, debug data, comments and blank lines."""
    if language == "mlir":
        lines = (
            _without_location(line) for line in text.splitlines() if not line.startswith("#loc")
        )
        return [_FALSE_ATTRIBUTE.sub("", line).rstrip() for line in lines if line.strip()]
    if language == "llvm":
        lines = (_LLVM_DEBUG.sub("", line) for line in text.splitlines())
        skipped = ("!", ";", "source_filename")
        return [line.rstrip() for line in lines if line.strip() and not line.startswith(skipped)]
    code = text.partition("\t.section\t.debug")[0]
    return [
        line.partition("//")[0].rstrip()
        for line in code.splitlines()
        if line.strip() and not _PTX_NOISE.match(line)
    ]


def _without_location(line: str) -> str:
    while match := _MLIR_LOCATION.search(line):
        line = line[: match.start()] + line[_closing_index(line, match.end()) :]
    return line


def _closing_index(line: str, position: int) -> int:
    """Return the index after the parenthesis that closes the one just before `position`."""
    depth = 1
    quoted = False
    while position < len(line) and depth:
        character = line[position]
        if character == "\\" and quoted:
            position += 1
        elif character == '"':
            quoted = not quoted
        elif not quoted:
            depth += (character == "(") - (character == ")")
        position += 1
    return position


def common_ends(a: Sequence[Any], b: Sequence[Any]) -> tuple[int, int]:
    """Return the lengths of the common beginning of two sequences, and of the end after it."""
    start = tail = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    while tail < min(len(a), len(b)) - start and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    return start, tail


def _align(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Return the index pairs of equal lines, ascending; common beginnings and ends always align."""
    start, tail_length = common_ends(a, b)
    middle_a, middle_b = a[start : len(a) - tail_length], b[start : len(b) - tail_length]
    is_small = len(middle_a) * len(middle_b) <= _EXACT_PAIRS
    matcher = SequenceMatcher(None, middle_a, middle_b, autojunk=not is_small)
    pairs = [(i, i) for i in range(start)]
    for block in matcher.get_matching_blocks():
        pairs += [(start + block.a + i, start + block.b + i) for i in range(block.size)]
    return pairs + [
        (len(a) - tail_length + i, len(b) - tail_length + i) for i in range(tail_length)
    ]


@dataclass(slots=True)
class _NameMapping:
    """One-to-one correspondence of value names on both sides.

    The first aligned line with a name binds the name, in a definition, or in a use if the value is
    defined in a changed line (so that users of a changed op stay equal). A later definition binds
    the name anew, since sibling regions use the same names for other values.
    """

    forward: dict[str, str] = field(default_factory=dict)
    backward: dict[str, str] = field(default_factory=dict)

    def bind(self, ours: Sequence[str], theirs: Sequence[str], defined: frozenset[str]) -> bool:
        """Bind the names of two aligned lines to each other and return True.

        If a use contradicts an earlier binding, nothing is bound and False returned. `defined` are
        the names that our line defines.
        """
        matches = list(zip(ours, theirs, strict=True))
        uses = [(x, y) for x, y in matches if x not in defined]
        if any(self.forward.get(x, y) != y or self.backward.get(y, x) != x for x, y in uses):
            return False
        for x, y in matches:
            if self.forward.get(x) == y:
                continue
            # Both names are bound anew, so each loses its earlier partner.
            self.backward.pop(self.forward.get(x, ""), None)
            self.forward.pop(self.backward.get(y, ""), None)
            self.forward[x], self.backward[y] = y, x
        return True


def _consistent_pairs(
    a: _CodeLines, b: _CodeLines, aligned: Sequence[tuple[int, int]]
) -> tuple[list[tuple[int, int]], dict[int, str]]:
    """Return the aligned pairs whose names correspond, and b's other lines written with a's names.

    The latter are by line index of b.
    """
    names = _NameMapping()
    consistent = []
    foreign: dict[int, str] = {}
    next_line = 0
    for i, j in aligned:
        if not names.bind(a.symbols[i], b.symbols[j], a.defined[i]):
            continue
        consistent.append((i, j))
        foreign.update((line, _with_names_of_a(b, line, names)) for line in range(next_line, j))
        next_line = j + 1
    last_lines = range(next_line, len(b.lines))
    foreign.update((line, _with_names_of_a(b, line, names)) for line in last_lines)
    return consistent, foreign


def _with_names_of_a(b: _CodeLines, line: int, names: _NameMapping) -> str:
    """Return a line of b with a's names; names that mean something else in a get a "'"."""
    symbols = set(b.symbols[line])
    names_in_a = {name: names.backward.get(name) for name in symbols}
    return b.pattern.sub(
        lambda found: (
            names_in_a[found.group()]
            or (found.group() + ("'" if found.group() in names.forward else ""))
        ),
        b.lines[line],
    )


def _sufficient_substitutions(a: _CodeLines, b: _CodeLines) -> dict[str, str]:
    """Return the few numbers whose replacement turns text a into b; {} if other things differ.

    A block size of 64 instead of 128 changes the type in nearly every line, but is one change.
    """
    if len(a.keys) != len(b.keys):
        return {}
    numbers: dict[str, str] = {}
    for left, right in zip(a.keys, b.keys, strict=True):
        if NUMBER.sub("0", left) != NUMBER.sub("0", right):
            return {}
        for before, after in _number_changes(left, right):
            if numbers.setdefault(before, after) != after:
                return {}
    return numbers if len(numbers) <= _MOST_SUBSTITUTIONS else {}


def _number_changes(left: str, right: str) -> list[tuple[str, str]]:
    """Return the pairs of differing numbers of two lines that are equal but for numbers."""
    numbers = zip(NUMBER.findall(left), NUMBER.findall(right), strict=True)
    return [pair for pair in numbers if pair[0] != pair[1]]


def _align_with_substitutions(
    a: _CodeLines, b: _CodeLines, substitutions: Mapping[str, str]
) -> list[tuple[int, int]]:
    """Return aligned line pairs, with each number treated as equal to its substitute."""
    if not substitutions:
        return []
    before_by_after = {after: before for before, after in substitutions.items()}

    def key(line: str) -> str:
        return NUMBER.sub(lambda found: before_by_after.get(found.group(), found.group()), line)

    return _align([key(line) for line in a.keys], [key(line) for line in b.keys])


def _is_substituted_line(
    a: _CodeLines, b: _CodeLines, pair: tuple[int, int], substitutions: Mapping[str, str]
) -> bool:
    """Return whether two aligned lines are equal after the substitutions (BEFORE → AFTER)."""
    left, right = a.keys[pair[0]], b.keys[pair[1]]
    return left == right or all(
        substitutions.get(before) == after for before, after in _number_changes(left, right)
    )


def _script(
    a: _CodeLines, b: _CodeLines, pairs: Sequence[tuple[int, int]], foreign: dict[int, str]
) -> list[tuple[str, str]]:
    """Return (mark, line) for every line of both sides, in order; the mark is " ", "-" or "+".

    Lines of b are written with a's names (`foreign`).
    """
    script: list[tuple[str, str]] = []
    i = j = 0
    for next_i, next_j in (*pairs, (len(a.lines), len(b.lines))):
        script += [("-", line) for line in a.lines[i:next_i]]
        script += [("+", foreign[line]) for line in range(j, next_j)]
        if next_i < len(a.lines):
            script.append((" ", a.lines[next_i]))
        i, j = next_i + 1, next_j + 1
    return script


def _with_context(script: Sequence[tuple[str, str]]) -> list[str]:
    """Return the changed lines of a script with three lines of context, and "@@" at gaps."""
    changed = [position for position, (mark, _) in enumerate(script) if mark != " "]
    positions_to_show = {p for c in changed for p in range(c - _CONTEXT, c + _CONTEXT + 1)}
    lines: list[str] = []
    previous = -1
    for position in sorted(p for p in positions_to_show if 0 <= p < len(script)):
        if position != previous + 1:
            lines.append("@@")
        mark, line = script[position]
        lines.append(mark + line)
        previous = position
    return lines
