"""Difference of two compiler texts (TTIR, … PTX, or an add-on's) without value names and locations.

A line that moved in the source changes every location behind it, and one op more renumbers every
value behind it. So locations are dropped, lines are aligned with value names blanked, and then the
names of aligned lines must correspond one to one: `%7` may be `%9` on the other side, but not `%9`
in one line and `%4` in the next. The remaining difference is one of meaning.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Final

from kvtrace.converters.diff.added import earlier_stages
from kvtrace.converters.diff.model import CodeDifference

#: The compiler's stages that are compared, in its order.
_STAGES: Final = ("ttir", "glir", "ttgir", "llir", "ptx")

_MLIR_LOCATION: Final = re.compile(r"\s*\bloc\(")
_LLVM_DEBUG: Final = re.compile(r",? ?!(?:dbg|tbaa|srcloc) ![0-9]+")
#: Places, names of labels, and the dialect's version, which is the compiler's.
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
_NUMBER: Final = re.compile(r"[0-9]+(?=x)|(?<=x)[0-9]+|(?<![\w%^#.])[0-9]+(?!\w)")
#: Above this many line pairs the matcher may drop very frequent lines to stay quick.
_EXACT_PAIRS: Final = 4_000_000
#: An attribute of the module that is false, which another version of the compiler leaves out.
_ABSENT: Final = re.compile(r', "ttn?g\.[\w\-]+" = false(?=[,}])')
_CONTEXT: Final = 3
_MOST_SUBSTITUTIONS: Final = 4


@dataclass(frozen=True, slots=True)
class _Code:
    """One side's text: lines without locations, the lines with names blanked, and the names.

    `defined` has the names that each line defines.
    """

    lines: tuple[str, ...]
    keys: tuple[str, ...]
    symbols: tuple[tuple[str, ...], ...]
    defined: tuple[frozenset[str], ...]
    pattern: re.Pattern[str]


def code_stages() -> tuple[str, ...]:
    """Return the compared stages, in order; a difference in one explains those in later ones."""
    return (*earlier_stages(), *_STAGES)


def first_stages() -> tuple[str, ...]:
    """Return the stages before the number of warps and other options change the code."""
    return (*earlier_stages(), _STAGES[0])


def compare_code(
    stage: str, before: str, after: str, expected: Mapping[str, str] | None = None
) -> CodeDifference | None:
    """Return the difference of two texts of a stage, or None if they mean the same.

    Args:
        stage: One of `code_stages()`; it says which language the texts are in.
        before: One text.
        after: The other.
        expected: Numbers that are expected to change, such as values of changed constants. Lines
            that differ in these numbers alone are counted separately. If a few numbers alone turn
            one text into the other, they are found without this argument.
    """
    language = {"llir": "llvm", "ptx": "ptx"}.get(stage, "mlir")
    a, b = _read(language, before), _read(language, after)
    pairs, foreign = _corresponding(a, b, _align(a.keys, b.keys))
    if len(pairs) == len(a.lines) == len(b.lines):
        return None
    script = _script(a, b, pairs, foreign)
    all_lines = tuple(_with_context(script))
    whole = tuple(mark + line for mark, line in script)
    substitutions = _only_numbers(a, b) or dict(expected or {})
    folded = [
        pair for pair in _align_but_for(a, b, substitutions) if _alike(a, b, pair, substitutions)
    ]
    folded, foreign = _corresponding(a, b, folded)
    substituted = [(i, j) for i, j in folded if a.keys[i] != b.keys[j]]
    if not substituted:
        removed, added = len(a.lines) - len(pairs), len(b.lines) - len(pairs)
        return CodeDifference(stage, all_lines, all_lines, removed, added, (), 0, whole)
    used = {pair for i, j in substituted for pair in _number_changes(a.keys[i], b.keys[j])}
    return CodeDifference(
        stage=stage,
        lines=tuple(_with_context(_script(a, b, folded, foreign))),
        all_lines=all_lines,
        removed=len(a.lines) - len(folded),
        added=len(b.lines) - len(folded),
        substitutions=tuple(pair for pair in substitutions.items() if pair in used),
        substituted_lines=len(substituted),
        whole=whole,
    )


def _read(language: str, text: str) -> _Code:
    lines = _strip(language, text)
    aliases = (
        [m.group(1) for line in lines if (m := _ALIAS.match(line))] if language == "mlir" else []
    )
    pattern = _SYMBOL[language]
    if aliases:
        names = "|".join(re.escape(alias) for alias in sorted(aliases, key=len, reverse=True))
        pattern = re.compile(rf"{pattern.pattern}|(?:{names})\b")
    return _Code(
        lines=tuple(lines),
        keys=tuple(pattern.sub(lambda found: _kind(found.group()), line) for line in lines),
        symbols=tuple(tuple(pattern.findall(line)) for line in lines),
        defined=tuple(_definitions(language, line, pattern) for line in lines),
        pattern=pattern,
    )


def _kind(symbol: str) -> str:
    """Return the rest of a blanked name: its first character, or in PTX its class (`%rd`, `%f`)."""
    return symbol.rstrip("0123456789_") if _PTX_CLASS.match(symbol) else symbol[0]


def _definitions(language: str, line: str, pattern: re.Pattern[str]) -> frozenset[str]:
    """Return the names that a line defines: results, arguments, loop variables.

    PTX registers are variables, which one line declares for all.
    """
    if language == "ptx":
        return frozenset()
    names = set(_DEFINITION.findall(line))
    head, equals, _ = line.lstrip().partition(" = ")
    if equals and head.startswith("%"):
        names.update(pattern.findall(head))
    return frozenset(names)


def _strip(language: str, text: str) -> list[str]:
    """Return the lines without locations, debug data, comments and blank lines."""
    if language == "mlir":
        lines = (
            _without_location(line) for line in text.splitlines() if not line.startswith("#loc")
        )
        return [_ABSENT.sub("", line).rstrip() for line in lines if line.strip()]
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
    """Return a line without ` loc(…)`, which may nest parentheses and contain quoted ones."""
    while match := _MLIR_LOCATION.search(line):
        line = line[: match.start()] + line[_closing(line, match.end()) :]
    return line


def _closing(line: str, position: int) -> int:
    """Return the position behind the parenthesis that closes the one before `position`."""
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


def _align(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Return index pairs of equal lines in order; common beginnings and ends are aligned first."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    tail = 0
    while tail < min(len(a), len(b)) - start and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    middle_a, middle_b = a[start : len(a) - tail], b[start : len(b) - tail]
    small = len(middle_a) * len(middle_b) <= _EXACT_PAIRS
    matcher = SequenceMatcher(None, middle_a, middle_b, autojunk=not small)
    pairs = [(i, i) for i in range(start)]
    for block in matcher.get_matching_blocks():
        pairs += [(start + block.a + i, start + block.b + i) for i in range(block.size)]
    return pairs + [(len(a) - tail + i, len(b) - tail + i) for i in range(tail)]


@dataclass(slots=True)
class _Names:
    """One-to-one correspondence of value names on both sides.

    The first aligned line with a name binds the name. A use of a value that is defined in a changed
    line binds too, so that the users of a changed op stay equal. A definition binds again, since
    sibling regions use the same names for other values.
    """

    forward: dict[str, str] = field(default_factory=dict)
    backward: dict[str, str] = field(default_factory=dict)

    def bind(self, ours: Sequence[str], theirs: Sequence[str], defined: frozenset[str]) -> bool:
        """Bind the names of two aligned lines; return False, binding none, if they contradict."""
        matches = list(zip(ours, theirs, strict=True))
        uses = [(x, y) for x, y in matches if x not in defined]
        if any(self.forward.get(x, y) != y or self.backward.get(y, x) != x for x, y in uses):
            return False
        for x, y in matches:
            if self.forward.get(x) == y:
                continue
            self.backward.pop(self.forward.get(x, ""), None)
            self.forward.pop(self.backward.get(y, ""), None)
            self.forward[x], self.backward[y] = y, x
        return True


def _corresponding(
    a: _Code, b: _Code, aligned: Sequence[tuple[int, int]]
) -> tuple[list[tuple[int, int]], dict[int, str]]:
    """Return the aligned pairs with consistent names, and b's other lines with a's names."""
    names = _Names()
    consistent = []
    foreign: dict[int, str] = {}
    following = 0
    for i, j in aligned:
        if not names.bind(a.symbols[i], b.symbols[j], a.defined[i]):
            continue
        consistent.append((i, j))
        foreign.update((line, _renamed(b, line, names)) for line in range(following, j))
        following = j + 1
    rest = range(following, len(b.lines))
    foreign.update((line, _renamed(b, line, names)) for line in rest)
    return consistent, foreign


def _renamed(b: _Code, line: int, names: _Names) -> str:
    """Return a line of b with a's names; a name with another meaning in a gets a prime."""
    symbols = set(b.symbols[line])
    names_in_a = {name: names.backward.get(name) for name in symbols}
    return b.pattern.sub(
        lambda found: (
            names_in_a[found.group()]
            or (found.group() + ("'" if found.group() in names.forward else ""))
        ),
        b.lines[line],
    )


def _only_numbers(a: _Code, b: _Code) -> dict[str, str]:
    """Return the few numbers whose replacement alone turns one text into the other.

    The result is empty if the texts also differ in other ways. A block size of 64 instead of 128
    changes the type in nearly every line, which is one fact, not a hundred.
    """
    if len(a.keys) != len(b.keys):
        return {}
    numbers: dict[str, str] = {}
    for left, right in zip(a.keys, b.keys, strict=True):
        if _NUMBER.sub("0", left) != _NUMBER.sub("0", right):
            return {}
        for before, after in _number_changes(left, right):
            if numbers.setdefault(before, after) != after:
                return {}
    return numbers if len(numbers) <= _MOST_SUBSTITUTIONS else {}


def _number_changes(left: str, right: str) -> list[tuple[str, str]]:
    """Return the differing numbers of two lines that differ in numbers alone."""
    numbers = zip(_NUMBER.findall(left), _NUMBER.findall(right), strict=True)
    return [pair for pair in numbers if pair[0] != pair[1]]


def _align_but_for(a: _Code, b: _Code, substitutions: Mapping[str, str]) -> list[tuple[int, int]]:
    """Return aligned line pairs, with each number treated as equal to its substitute."""
    if not substitutions:
        return []
    merged = {after: before for before, after in substitutions.items()}

    def key(line: str) -> str:
        return _NUMBER.sub(lambda found: merged.get(found.group(), found.group()), line)

    return _align([key(line) for line in a.keys], [key(line) for line in b.keys])


def _alike(a: _Code, b: _Code, pair: tuple[int, int], substitutions: Mapping[str, str]) -> bool:
    """Return whether two aligned lines differ only by the substitutions, in their direction."""
    left, right = a.keys[pair[0]], b.keys[pair[1]]
    return left == right or all(
        substitutions.get(before) == after for before, after in _number_changes(left, right)
    )


def _script(
    a: _Code, b: _Code, pairs: Sequence[tuple[int, int]], foreign: dict[int, str]
) -> list[tuple[str, str]]:
    """Return every line of both sides with its mark (space, - or +), b's names written as a's."""
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
    """Return the lines of a unified difference with three lines of context."""
    changed = [position for position, (mark, _) in enumerate(script) if mark != " "]
    near = {p for c in changed for p in range(c - _CONTEXT, c + _CONTEXT + 1)}
    lines: list[str] = []
    previous = -1
    for position in sorted(p for p in near if 0 <= p < len(script)):
        if position != previous + 1:
            lines.append("@@")
        mark, line = script[position]
        lines.append(mark + line)
        previous = position
    return lines
