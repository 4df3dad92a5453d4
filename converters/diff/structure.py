"""Structural difference of modules: ops added, removed, altered, or moved into another region.

TTIR is parsed by `kvtrace.ir`, in the generic form; TTGIR, and TTIR without a generic form, is read
line by line. Names of values and locations are ignored. An op is identified by name, types and
attributes; its position is the chain of enclosing ops, such as loops, not its index in a block.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from kvtrace.converters.diff.model import CountChange, StageDifference
from kvtrace.ir import IRSyntaxError, Op, parse
from kvtrace.ir.ops import FUNCTIONS

#: Attributes that only name an op.
_NAME_ATTRIBUTES: Final = frozenset({"sym_name", "arg_attrs"})
_NUMBER: Final = re.compile(r"[0-9]+(?=x)|(?<=x)[0-9]+|(?<![\w%^#.])[0-9]+(?!\w)")
_LOCATION: Final = re.compile(r"\s*\bloc\(.*$")
_VALUE: Final = re.compile(r"[%^@][\w$.\-]+(?::\d+|#\d+)?")
_ALIAS: Final = re.compile(r"^(#\w+) = (.*)$")
_LINE: Final = re.compile(
    r'^(?P<indent>\s*)(?:%[^=]*= )?"?(?P<name>[a-z_]\w*\.[a-z_][\w.]*)"?(?=[\s(<{]|$)'
)


class _PlacedOp(NamedTuple):
    """An op with its position: name, types and attributes as text, names of the enclosing ops.

    `path` begins with the innermost enclosing op.
    """

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
    """Return the difference of two texts of a stage: ops added, removed, moved and altered.

    Args:
        stage: The stage's name, such as ttir.
        before: The text of BEFORE.
        after: The text of AFTER.
        generic: Both texts in MLIR's generic form, if recorded.
        numbers: Numbers of BEFORE → AFTER that count as equal, such as changed block sizes.
    """
    ops_before, ops_after = _both_parsed(generic) or (
        list(_ops_of_lines(before)),
        list(_ops_of_lines(after)),
    )
    substitutes = numbers or {}
    a = Counter(op._replace(key=_with_numbers(op.key, substitutes)) for op in ops_before)
    b = Counter(ops_after)
    only_before, only_after = a - b, b - a
    moved = _remove_matches(only_before, only_after, lambda op: (op.name, op.key))
    altered = _remove_matches(only_before, only_after, lambda op: (op.name,))
    counts_by_name = [Counter(op.name for op in side.elements()) for side in (a, b)]
    return StageDifference(
        stage,
        counts=tuple(
            CountChange(name, counts_by_name[0][name], counts_by_name[1][name])
            for name in sorted(counts_by_name[0].keys() | counts_by_name[1].keys())
            if counts_by_name[0][name] != counts_by_name[1][name]
        ),
        moved=tuple(sorted(moved.items())),
        altered=tuple(sorted(altered.items())),
    )


def _remove_matches(
    left: Counter[_PlacedOp],
    right: Counter[_PlacedOp],
    key: Callable[[_PlacedOp], tuple[str, ...]],
) -> Counter[str]:
    """Remove pairs of ops with equal `same(op)` from both sides; return their number by op name."""
    matches: Counter[str] = Counter()
    candidates: dict[tuple[str, ...], list[_PlacedOp]] = {}
    for op in right.elements():
        candidates.setdefault(key(op), []).append(op)
    for op in list(left.elements()):
        matching_ops = candidates.get(key(op))
        if matching_ops:
            matches[op.name] += 1
            left[op] -= 1
            right[matching_ops.pop()] -= 1
    return matches


def _both_parsed(generic: tuple[str, str] | None) -> tuple[list[_PlacedOp], list[_PlacedOp]] | None:
    """Return the ops of both texts; None without texts, or if one cannot be parsed."""
    if generic is None:
        return None
    try:
        module_before, module_after = (parse(text) for text in generic)
    except IRSyntaxError:
        return None
    return [_op_with_path(op) for op in module_before.ops], [
        _op_with_path(op) for op in module_after.ops
    ]


def _op_with_path(op: Op) -> _PlacedOp:
    types = ", ".join(map(str, op.operand_types))
    results = ", ".join(map(str, op.result_types))
    attributes = (f"{k}={v}" for k, v in sorted(op.attributes.items()) if k not in _NAME_ATTRIBUTES)
    key = f"({types}) -> ({results}) {' '.join(attributes)}"
    return _PlacedOp(op.name, "" if op.name in FUNCTIONS else key, tuple(_enclosing_names(op)))


def _enclosing_names(op: Op) -> Iterator[str]:
    while op.block is not None:
        op = op.block.region.owner
        yield op.name


def _ops_of_lines(text: str) -> Iterable[_PlacedOp]:
    """Yield the ops of a text that has one op per line and indents nested ops."""
    aliases: dict[str, str] = {}
    enclosing: list[tuple[int, str]] = []
    for line in text.splitlines():
        line = _LOCATION.sub("", line).rstrip()
        if (alias := _ALIAS.match(line)) is not None:
            aliases[alias[1]] = alias[2]
            continue
        match = _LINE.match(line)
        if match is None:
            continue
        indent = len(match["indent"])
        while enclosing and enclosing[-1][0] >= indent:
            enclosing.pop()
        operands_text = re.sub(
            r"#\w+", lambda name: aliases.get(name[0], name[0]), line[match.end() :]
        )
        path = tuple(name for _, name in reversed(enclosing))
        key = "" if match["name"] in FUNCTIONS else _VALUE.sub("%", operands_text)
        yield _PlacedOp(match["name"], key, path)
        enclosing.append((indent, match["name"]))


def _with_numbers(text: str, numbers: Mapping[str, str]) -> str:
    return _NUMBER.sub(lambda match: numbers.get(match[0], match[0]), text) if numbers else text
