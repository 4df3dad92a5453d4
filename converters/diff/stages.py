"""Differing compiler stages of a variant, each with its changed ops or instructions if readable.

Instructions of machine code are counted by class: loads by width, stores, mma, barriers. PTX is
read as recorded, SASS as disassembled (converters/disassembly.py).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from kvtrace.converters.diff.added import earlier_stages
from kvtrace.converters.diff.code import NUMBER, first_stages, stripped_lines
from kvtrace.converters.diff.model import CountChange, StageDifference
from kvtrace.converters.diff.variant import Variant
from kvtrace.converters.disassembly import TOOLS, disassembler, listings
from kvtrace.ir import IRSyntaxError, Op, parse
from kvtrace.ir.ops import FUNCTIONS

if TYPE_CHECKING:
    from kvtrace.converters.diff.variant_changes import Pairing

TOTAL: Final = "instructions"

_PTX: Final = re.compile(
    r"^\s*(?:\{\s*)?(?:@!?%p\d+\s+)?([a-z][a-z0-9]*(?:[.:]+\w+)*)\s*[^:\s]", re.M
)
_SASS: Final = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*(?:\.\w+)*)")
_WIDTH: Final = re.compile(r"\.[a-z](\d+)")
_VECTOR: Final = re.compile(r"\.v(\d+)\b")

#: Class of an instruction by its beginning; the first match counts, `{}` is the access's width.
_PTX_CLASSES: Final = (
    (r"ld\.(?:\w+\.)*?global", "global load, {}-bit"),
    (r"st\.(?:\w+\.)*?global", "global store, {}-bit"),
    (r"ld\.(?:\w+\.)*?shared", "shared load, {}-bit"),
    (r"st\.(?:\w+\.)*?shared", "shared store, {}-bit"),
    (r"(?:ld|st)\.(?:\w+\.)*?local", "local access, {}-bit"), (r"(?:ld|st)matrix", "matrix access"),
    (r"cp\.(?:async|reduce)", "async copy"), (r"(?:wg)?mma|tcgen05\.mma", "mma"),
    (r"bar(?:rier)?\b|mbarrier", "barrier"), (r"atom|red\b", "atomic"),
    (r"shfl", "shuffle"), (r"ex2|lg2|sin|cos|sqrt|rsqrt|rcp|tanh", "special function"),
    (r"(?:add|sub|mul|mad|shl|shr|div|rem|cvt)\b.*\.[sub]64", "64-bit integer"),
    (r"(?:add|sub|mul|mad|shl|shr|div|rem)\b.*\.[sub](?:16|32)", "32-bit integer"),
    (r"(?:add|sub|mul|fma|div|max|min)\b.*(?:f16|bf16|f32|f64)", "float"),
)  # fmt: skip
_SASS_CLASSES: Final = (
    (r"LDG(?!STS)", "global load, {}-bit"), (r"STG", "global store, {}-bit"),
    (r"LDSM|STSM", "matrix access"),
    (r"LDS(?!M)", "shared load, {}-bit"), (r"STS(?!M)", "shared store, {}-bit"),
    (r"LDL", "local load, {}-bit"), (r"STL", "local store, {}-bit"),
    (r"LDGSTS|UTMA|UBLKCP", "async copy"), (r"[HIDQB]?G?MMA|[HIDQ]MMA|UTC\w*MMA", "mma"),
    (r"BAR|SYNCS|WARPSYNC", "barrier"), (r"ATOM|RED", "atomic"), (r"SHFL", "shuffle"),
    (r"MUFU", "special function"), (r"IMAD\.WIDE|\w*\.64|\w*\.X\b", "64-bit integer"),
    (r"IMAD|IADD|LEA|SHF|LOP3|ISETP|IABS|IMNMX|VIADD", "32-bit integer"),
    (r"F(?:ADD|MUL|FMA|SETP|MNMX)|H(?:ADD|MUL|FMA)|D(?:ADD|MUL|FMA)", "float"),
)  # fmt: skip


def ptx_classes(text: str) -> Counter[str]:
    """Return the number of instructions by class in a PTX text; `TOTAL` has that of all."""
    return _counts_by_class(_PTX.findall(text), _PTX_CLASSES)


def sass_classes(listing: str) -> Counter[str]:
    """Return the number of instructions by class in a SASS listing; `TOTAL` has that of all."""
    return _counts_by_class(_SASS.findall(listing), _SASS_CLASSES)


def class_difference(stage: str, before: Counter[str], after: Counter[str]) -> StageDifference:
    """Return the classes whose number of instructions differs."""
    names = sorted(before.keys() | after.keys(), key=_class_order)
    return StageDifference(stage, _count_changes(names, before, after))


def _count_changes(
    names: Iterable[str], before: Counter[str], after: Counter[str]
) -> tuple[CountChange, ...]:
    changes = (CountChange(name, before[name], after[name]) for name in names)
    return tuple(change for change in changes if change.before != change.after)


def _class_order(name: str) -> tuple[int, str]:
    """Return a class's sort key: local memory (spills, arrays) first, all instructions last."""
    names = [text.partition(",")[0] for _, text in (*_PTX_CLASSES, *_SASS_CLASSES)]
    name_without_width = name.partition(",")[0]
    if name_without_width.startswith("local"):
        return -1, name
    if name_without_width in names:
        return names.index(name_without_width), name
    return len(names) + (name == TOTAL), name


def _counts_by_class(names: list[str], classes: tuple[tuple[str, str], ...]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for name, count in Counter(names).items():
        counts[_class_of(name, classes)] += count
        counts[TOTAL] += count
    return counts


def _class_of(name: str, classes: tuple[tuple[str, str], ...]) -> str:
    for pattern, class_name in classes:
        if re.match(pattern, name):
            return class_name.format(_access_bits(name))
    return "other"


def _access_bits(name: str) -> int:
    """Return an access's width in bits: 128 for `.v4.b32` in PTX, `.128` in SASS; default 32."""
    if name[0].isupper():
        return next((int(bits) for bits in re.findall(r"\.[US]?(8|16|64|128)\b", name)), 32)
    lanes = _VECTOR.search(name)
    widths = _WIDTH.findall(re.sub(_VECTOR, "", name))
    return int(widths[-1] if widths else 32) * int(lanes[1] if lanes else 1)


#: The compiler's stages to compare, in order; generic TTIR has the same ops as TTIR.
_STAGES: Final = ("ttir", "glir", "ttgir", "llir", "ptx", "amdgcn", "cubin")
_STRUCTURAL: Final = frozenset({"ttir", "glir", "ttgir"})
#: Most variants to disassemble; a cubin takes a tenth of a second.
_MOST_DISASSEMBLED: Final = 40


class Disassembly:
    """Cache of disassembled cubins; `missing` has notes on those that could not be read."""

    def __init__(self) -> None:
        self._listings: dict[str, str | None] = {}
        self._tool = cache(disassembler)
        self.missing: dict[str, None] = {}

    def classes(self, pairing: "Pairing", cubins: tuple[str, str]) -> list[Counter[str]] | None:
        """Return the instruction counts by class of each of two cubins, given by hash.

        None if one cannot be disassembled, or too many were; the reason is added to `missing`.
        """
        tool = self._tool()
        if tool is None:
            self.missing[f"SASS is not measured: no {' or '.join(TOOLS)} was found"] = None
            return None
        counts = []
        for side, sha256 in zip((pairing.before, pairing.after), cubins, strict=True):
            if sha256 not in self._listings:
                if len(self._listings) >= 2 * _MOST_DISASSEMBLED:
                    self.missing[f"SASS of more than {_MOST_DISASSEMBLED} variants is not read"] = (
                        None
                    )
                    return None
                self._listings |= {sha256: None, **dict(listings(side.trace, tool, [sha256]))}
            listing = self._listings[sha256]
            if listing is None:
                self.missing["SASS of some variants is not measured: disassembly failed"] = None
                return None
            counts.append(sass_classes(listing))
        return counts


def stage_differences(
    pairing: "Pairing",
    a: Variant,
    b: Variant,
    numbers: Mapping[str, str],
    first: str | None,
) -> tuple[StageDifference, ...]:
    """Return the differences of a variant's stages that differ, in the compiler's order.

    Args:
        pairing: Both sides.
        a: The variant of BEFORE.
        b: The variant of AFTER.
        numbers: Changed constants, which count as equal.
        first: The first stage with a code difference, if any; those before it among `first_stages`
            are the same.

    """
    differences = []
    same_stages = set(takewhile(lambda stage: stage != first, first_stages()))
    for stage in (*earlier_stages(), *_STAGES):
        before, after = a.stages.get(stage), b.stages.get(stage)
        if before is None or after is None or before == after or stage in same_stages:
            continue
        difference = _stage_difference(pairing, stage, a, b, numbers)
        if difference is not None:
            differences.append(difference)
    return tuple(differences)


def _stage_difference(
    pairing: "Pairing", stage: str, a: Variant, b: Variant, numbers: Mapping[str, str]
) -> StageDifference | None:
    hashes = a.stages[stage], b.stages[stage]
    if stage == "cubin":
        classes = pairing.disassembly.classes(pairing, hashes)
        if classes is None or classes[0] == classes[1]:
            return None
        return class_difference("sass", *classes)
    texts = pairing.texts(*hashes)
    if texts is None:
        return None
    if stage == "ptx":
        return class_difference(stage, *map(ptx_classes, texts))
    if stage in _STRUCTURAL or stage in earlier_stages():
        generic = None
        if stage == "ttir" and pairing.one_compiler:  # versions print different defaults
            generic = pairing.texts(a.stages.get("ttir_generic"), b.stages.get("ttir_generic"))
        return structural_difference(stage, *texts, generic, numbers)
    return StageDifference(stage)


# -- structural difference of modules: ops added, removed, altered, or moved into another region ---
# TTIR is parsed by `kvtrace.ir`, in the generic form; TTGIR, and TTIR without a generic form, is
# read line by line. Names of values and locations are ignored. An op is identified by name, types
# and attributes; its position is the chain of enclosing ops, such as loops, not its index in a
# block.


#: Attributes that only name an op.
_NAME_ATTRIBUTES: Final = frozenset({"sym_name", "arg_attrs"})
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
    ops_before, ops_after = _both_parsed(generic) or [
        list(_ops_of_lines(text)) for text in (before, after)
    ]
    substitutes = numbers or {}
    a = Counter(op._replace(key=_with_numbers(op.key, substitutes)) for op in ops_before)
    b = Counter(ops_after)
    only_before, only_after = a - b, b - a
    moved = _remove_matches(only_before, only_after, lambda op: (op.name, op.key))
    altered = _remove_matches(only_before, only_after, lambda op: (op.name,))
    by_name = [Counter(op.name for op in side.elements()) for side in (a, b)]
    return StageDifference(
        stage,
        counts=_count_changes(sorted(by_name[0].keys() | by_name[1].keys()), *by_name),
        moved=tuple(sorted(moved.items())),
        altered=tuple(sorted(altered.items())),
    )


def _remove_matches(
    left: Counter[_PlacedOp],
    right: Counter[_PlacedOp],
    key: Callable[[_PlacedOp], tuple[str, ...]],
) -> Counter[str]:
    """Remove pairs of ops with equal `key(op)` from both sides; return their number by op name."""
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


def _both_parsed(generic: tuple[str, str] | None) -> list[list[_PlacedOp]] | None:
    """Return the ops of both texts; None without texts, or if one cannot be parsed."""
    try:
        modules = [parse(text) for text in generic or ()]
    except IRSyntaxError:
        return None
    return [[_op_with_path(op) for op in module.ops] for module in modules] or None


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
    for line in stripped_lines("mlir", text):
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
    return NUMBER.sub(lambda match: numbers.get(match[0], match[0]), text) if numbers else text
