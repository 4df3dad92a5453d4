"""Renamed kernels, found by the similarity of source and IR."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from kvtrace.converters.diff.snapshot import Snapshot
from kvtrace.converters.diff.variant import Variant
from kvtrace.figures.identity import KernelKey

_Trigrams = Counter[tuple[str, str, str]]

#: Least similarity of a renamed kernel.
LEAST_ALIKE: Final = 0.75
#: Above this many possible pairs, renamed kernels are not searched for.
_MOST_PAIRS: Final = 10_000
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_OP: Final = re.compile(r"\b[a-z]\w*\.[a-z]\w*\b")


class Renamed(NamedTuple):
    """A kernel's keys on both sides, and the similarity: 1 if only the name differs."""

    before: KernelKey
    after: KernelKey
    similarity: float


class _Text(NamedTuple):
    """Trigrams of a kernel's source tokens and IR ops, its name blanked; None if unknown."""

    source: "_Trigrams | None"
    ops: "_Trigrams | None"


def find_renamed(
    before: Snapshot,
    after: Snapshot,
    removed: Sequence[KernelKey],
    added: Sequence[KernelKey],
) -> list[Renamed]:
    """Return pairs of kernels of one side each, the most similar first, each used at most once."""
    if not removed or not added or len(removed) * len(added) > _MOST_PAIRS:
        return []
    ours = {key: _text(before, before.kernels[key][0]) for key in removed}
    theirs = {key: _text(after, after.kernels[key][0]) for key in added}
    ranked = sorted(
        (Renamed(a, b, _alike(ours[a], theirs[b])) for a in removed for b in added),
        key=lambda pair: -pair.similarity,
    )
    pairs: list[Renamed] = []
    used: set[tuple[str, KernelKey]] = set()
    for pair in ranked:
        ends = {("before", pair.before), ("after", pair.after)}
        if pair.similarity >= LEAST_ALIKE and not used & ends:
            pairs.append(pair)
            used |= ends
    return pairs


def renamed_source(text: str, before: str, after: str) -> str:
    """Return a source with the kernel's name in BEFORE replaced by that in AFTER."""
    return re.sub(rf"(?<![\w.]){re.escape(before)}(?!\w)", lambda _: after, text)


def renamed_stage(text: str, before: str, after: str) -> str:
    """Return a compiler's text with the kernel's name replaced where it is a symbol.

    An instruction such as `add` may have the name of a kernel.
    """
    name = re.escape(before)
    symbol = (
        rf"(?<=@){name}(?!\w)|(?<=\.entry ){name}(?!\w)|(?<=\.globl\t){name}(?!\w)"
        rf"|(?<!\w){name}(?=_param_\d)"
    )
    return re.sub(symbol, lambda _: after, text)


def _text(side: Snapshot, variant: Variant) -> _Text:
    name = variant.key.name
    source = side.text(variant.row["source_artifact"])
    ttir = side.text(variant.stages.get("ttir"))
    return _Text(
        None
        if source is None
        else _trigrams(_TOKEN.findall(renamed_source(source, name, "kernel"))),
        None if ttir is None else _trigrams(_OP.findall(ttir)),
    )


def _trigrams(tokens: Sequence[str]) -> _Trigrams:
    """Return the number of occurrences of each three consecutive tokens."""
    padded = ["", *tokens, ""]  # so that a single token makes a run
    return Counter(zip(padded, padded[1:], padded[2:], strict=False))


def _alike(a: _Text, b: _Text) -> float:
    """Return the mean similarity of source and IR, where both are known; else 0."""
    ratios = [
        _share(one, other)
        for one, other in zip(a, b, strict=True)
        if one is not None and other is not None
    ]
    return sum(ratios) / len(ratios) if ratios else 0.0


def _share(one: _Trigrams, other: _Trigrams) -> float:
    """Return the share of trigrams that both have."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0
