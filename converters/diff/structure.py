"""How a module differs as a structure: ops added, removed, altered, or moved into another region.

TTIR is read with `kvtrace.ir`, in the generic form that is evaluated; TTGIR, and what is not
recorded in that form, line by line. Names of values and places are left aside. Of an op counts what
it is: name, types and attributes; its position is the chain of ops around it, as a loop, and not
its place in a block.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from kvtrace.converters.diff.model import CountChange, StageDifference
from kvtrace.ir import IRSyntaxError, Op, parse
from kvtrace.ir.ops import FUNCTIONS

#: Attributes that name an op rather than say what it does.
_NAMES: Final = frozenset({"sym_name", "arg_attrs"})
_NUMBER: Final = re.compile(r"[0-9]+(?=x)|(?<=x)[0-9]+|(?<![\w%^#.])[0-9]+(?!\w)")
_LOCATION: Final = re.compile(r"\s*\bloc\(.*$")
_VALUE: Final = re.compile(r"[%^@][\w$.\-]+(?::\d+|#\d+)?")
_ALIAS: Final = re.compile(r"^(#\w+) = (.*)$")
_LINE: Final = re.compile(
    r'^(?P<indent>\s*)(?:%[^=]*= )?"?(?P<name>[a-z_]\w*\.[a-z_][\w.]*)"?(?=[\s(<{]|$)'
)


class _Placed(NamedTuple):
    """An op: its name, all that it is, and the names of the ops around it."""

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
    """Compare two texts of a stage.

    Args:
        stage: What they are of, as ttir.
        before: One text.
        after: The other.
        generic: Both in MLIR's generic form, where they are recorded in it.
        numbers: Those that replace each other, as block sizes do.

    """
    ours, theirs = _both_parsed(generic) or (list(_lines(before)), list(_lines(after)))
    known = numbers or {}
    a = Counter(op._replace(key=_with_numbers(op.key, known)) for op in ours)
    b = Counter(theirs)
    left, right = a - b, b - a
    moved = _take(left, right, lambda op: (op.name, op.key))
    altered = _take(left, right, lambda op: (op.name,))
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


def _take(
    left: Counter[_Placed], right: Counter[_Placed], same: Callable[[_Placed], tuple[str, ...]]
) -> Counter[str]:
    """Take from both sides the ops that are the same in that sense, and count them by name."""
    found: Counter[str] = Counter()
    waiting: dict[tuple[str, ...], list[_Placed]] = {}
    for op in right.elements():
        waiting.setdefault(same(op), []).append(op)
    for op in list(left.elements()):
        others = waiting.get(same(op))
        if others:
            found[op.name] += 1
            left[op] -= 1
            right[others.pop()] -= 1
    return found


def _both_parsed(generic: tuple[str, str] | None) -> tuple[list[_Placed], list[_Placed]] | None:
    """Return the ops of both; None where one cannot be parsed, whose lines then are compared."""
    if generic is None:
        return None
    try:
        first, second = (parse(text) for text in generic)
    except IRSyntaxError:
        return None
    return [_placed(op) for op in first.ops], [_placed(op) for op in second.ops]


def _placed(op: Op) -> _Placed:
    types = ", ".join(map(str, op.operand_types))
    results = ", ".join(map(str, op.result_types))
    attributes = (f"{k}={v}" for k, v in sorted(op.attributes.items()) if k not in _NAMES)
    key = f"({types}) -> ({results}) {' '.join(attributes)}"
    return _Placed(op.name, "" if op.name in FUNCTIONS else key, tuple(_around(op)))


def _around(op: Op) -> Iterator[str]:
    while op.block is not None:
        op = op.block.region.owner
        yield op.name


def _lines(text: str) -> Iterable[_Placed]:
    """Read a text op by op: one to a line, those inside another deeper by two columns."""
    aliases: dict[str, str] = {}
    around: list[tuple[int, str]] = []
    for line in text.splitlines():
        line = _LOCATION.sub("", line).rstrip()
        if (alias := _ALIAS.match(line)) is not None:
            aliases[alias[1]] = alias[2]
            continue
        found = _LINE.match(line)
        if found is None:
            continue
        indent = len(found["indent"])
        while around and around[-1][0] >= indent:
            around.pop()
        rest = re.sub(r"#\w+", lambda name: aliases.get(name[0], name[0]), line[found.end() :])
        path = tuple(name for _, name in reversed(around))
        key = "" if found["name"] in FUNCTIONS else _VALUE.sub("%", rest)
        yield _Placed(found["name"], key, path)
        around.append((indent, found["name"]))


def _with_numbers(text: str, numbers: Mapping[str, str]) -> str:
    return _NUMBER.sub(lambda found: numbers.get(found[0], found[0]), text) if numbers else text
