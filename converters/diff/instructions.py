"""Instructions of a kernel's machine code by class: loads by width, stores, mma, barriers.

PTX is read as recorded, SASS as disassembled (converters/disassembly.py).
"""

import re
from collections import Counter
from typing import Final

from kvtrace.converters.diff.model import CountChange, StageDifference

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
    return StageDifference(
        stage,
        tuple(
            CountChange(name, before[name], after[name])
            for name in names
            if before[name] != after[name]
        ),
    )


def _class_order(name: str) -> tuple[int, str]:
    """Return a class's sort key: local memory (spills, arrays) first, all instructions last."""
    class_names = [
        class_name.partition(",")[0] for _, class_name in (*_PTX_CLASSES, *_SASS_CLASSES)
    ]
    name_without_width = name.partition(",")[0]
    if name_without_width in class_names:
        return (
            -1 if name_without_width.startswith("local") else class_names.index(name_without_width),
            name,
        )
    return (len(class_names) + (name == TOTAL), name)


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
