"""Structural difference of modules: ops added, removed, altered, or moved into another region.

TTIR is parsed by `kvtrace.ir`, in the generic form; TTGIR, and TTIR without a generic form, is read
line by line. Names of values and locations are ignored. An op is identified by name, types and
attributes; its position is the chain of enclosing ops, such as loops, not its place in a block.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from kvtrace.converters.diff.model import CountChange, StageDifference
from kvtrace.ir import IRSyntaxError, Op, parse
from kvtrace.ir.ops import FUNCTIONS

#: Attributes that only name an op.
_NAMES: Final = frozenset({"sym_name", "arg_attrs"})
_NUMBER: Final = re.compile(r"[0-9]+(?=x)|(?<=x)[0-9]+|(?<![\w%^#.])[0-9]+(?!\w)")
_LOCATION: Final = re.compile(r"\s*\bloc\(.*$")
_VALUE: Final = re.compile(r"[%^@][\w$.\-]+(?::\d+|#\d+)?")
_ALIAS: Final = re.compile(r"^(#\w+) = (.*)$")
_LINE: Final = re.compile(
    r'^(?P<indent>\s*)(?:%[^=]*= )?"?(?P<name>[a-z_]\w*\.[a-z_][\w.]*)"?(?=[\s(<{]|$)'
)


class _PlacedOp(NamedTuple):
    """An op: name, key of types and attributes, and names of the enclosing ops."""

    name: str
    key: str
    path: tuple[str, ...]


def structural_difference(
    stage: str,
    before: str,
    after: str,
    generic: tuple[str, str] | None = None,
    numbers: Mapping[str, str] | None = None,
) -> StageDifference:
    """Return the difference of two texts of a stage.

    Args:
        stage: The stage's name, such as ttir.
        before: The text of BEFORE.
        after: The text of AFTER.
        generic: Both texts in MLIR's generic form, if recorded.
        numbers: Numbers replaced throughout, such as block sizes.
    """
    ours, theirs = _both_parsed(generic) or (list(_lines(before)), list(_lines(after)))
    replaced = numbers or {}
    a = Counter(op._replace(key=_with_numbers(op.key, replaced)) for op in ours)
    b = Counter(theirs)
    left, right = a - b, b - a
    moved = _take_matches(left, right, lambda op: (op.name, op.key))
    altered = _take_matches(left, right, lambda op: (op.name,))
    totals = [Counter(op.name for op in side.elements()) for side in (a, b)]
    return StageDifference(
        stage,
        counts=tuple(
            CountChange(name, totals[0][name], totals[1][name])
            for name in sorted(totals[0].keys() | totals[1].keys())
            if totals[0][name] != totals[1][name]
        ),
        moved=tuple(sorted(moved.items())),
        altered=tuple(sorted(altered.items())),
    )


def _take_matches(
    left: Counter[_PlacedOp],
    right: Counter[_PlacedOp],
    same: Callable[[_PlacedOp], tuple[str, ...]],
) -> Counter[str]:
    """Remove matching ops from both sides, and return the number of matches by name."""
    matches: Counter[str] = Counter()
    candidates: dict[tuple[str, ...], list[_PlacedOp]] = {}
    for op in right.elements():
        candidates.setdefault(same(op), []).append(op)
    for op in list(left.elements()):
        others = candidates.get(same(op))
        if others:
            matches[op.name] += 1
            left[op] -= 1
            right[others.pop()] -= 1
    return matches


def _both_parsed(generic: tuple[str, str] | None) -> tuple[list[_PlacedOp], list[_PlacedOp]] | None:
    """Return the ops of both texts, or None if a text cannot be parsed."""
    if generic is None:
        return None
    try:
        first, second = (parse(text) for text in generic)
    except IRSyntaxError:
        return None
    return [_placed(op) for op in first.ops], [_placed(op) for op in second.ops]


def _placed(op: Op) -> _PlacedOp:
    types = ", ".join(map(str, op.operand_types))
    results = ", ".join(map(str, op.result_types))
    attributes = (f"{k}={v}" for k, v in sorted(op.attributes.items()) if k not in _NAMES)
    key = f"({types}) -> ({results}) {' '.join(attributes)}"
    return _PlacedOp(op.name, "" if op.name in FUNCTIONS else key, tuple(_around(op)))


def _around(op: Op) -> Iterator[str]:
    while op.block is not None:
        op = op.block.region.owner
        yield op.name


def _lines(text: str) -> Iterable[_PlacedOp]:
    """Yield the ops of a text: one per line, nested ops indented deeper."""
    aliases: dict[str, str] = {}
    around: list[tuple[int, str]] = []
    for line in text.splitlines():
        line = _LOCATION.sub("", line).rstrip()
        if (alias := _ALIAS.match(line)) is not None:
            aliases[alias[1]] = alias[2]
            continue
        match = _LINE.match(line)
        if match is None:
            continue
        indent = len(match["indent"])
        while around and around[-1][0] >= indent:
            around.pop()
        rest = re.sub(r"#\w+", lambda name: aliases.get(name[0], name[0]), line[match.end() :])
        path = tuple(name for _, name in reversed(around))
        key = "" if match["name"] in FUNCTIONS else _VALUE.sub("%", rest)
        yield _PlacedOp(match["name"], key, path)
        around.append((indent, match["name"]))


def _with_numbers(text: str, numbers: Mapping[str, str]) -> str:
    return _NUMBER.sub(lambda match: numbers.get(match[0], match[0]), text) if numbers else text
