"""Kernels that go by another name on the other side, found by how alike source and IR are."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from kvtrace.converters.diff.snapshot import Snapshot
from kvtrace.converters.diff.variant import Variant
from kvtrace.figures.identity import KernelKey

_Runs = Counter[tuple[str, str, str]]

#: Kernels less alike than this are two kernels.
LEAST_ALIKE: Final = 0.75
#: Above this many possible pairs, kernels are not looked for under other names.
_MOST_PAIRS: Final = 10_000
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_OP: Final = re.compile(r"\b[a-z]\w*\.[a-z]\w*\b")


class Renamed(NamedTuple):
    """A kernel on both sides, and how alike it is: 1 if only the name differs."""

    before: KernelKey
    after: KernelKey
    similarity: float


class _Text(NamedTuple):
    """A kernel's source in tokens and its IR in ops, its own name blanked; None where not known.

    Of both, how often each three follow each other.
    """

    source: "_Runs | None"
    ops: "_Runs | None"


def find_renamed(
    before: Snapshot,
    after: Snapshot,
    removed: Sequence[KernelKey],
    added: Sequence[KernelKey],
) -> list[Renamed]:
    """Pair kernels that only one side has, the most alike first, each at most once."""
    if not removed or not added or len(removed) * len(added) > _MOST_PAIRS:
        return []
    ours = {key: _text(before, before.kernels[key][0]) for key in removed}
    theirs = {key: _text(after, after.kernels[key][0]) for key in added}
    ranked = sorted(
        (Renamed(a, b, _alike(ours[a], theirs[b])) for a in removed for b in added),
        key=lambda pair: -pair.similarity,
    )
    found: list[Renamed] = []
    taken: set[tuple[str, KernelKey]] = set()
    for pair in ranked:
        ends = {("before", pair.before), ("after", pair.after)}
        if pair.similarity >= LEAST_ALIKE and not taken & ends:
            found.append(pair)
            taken |= ends
    return found


def renamed_source(text: str, before: str, after: str) -> str:
    """Return a source with the kernel's name of AFTER in place of that of BEFORE."""
    return re.sub(rf"(?<![\w.]){re.escape(before)}(?!\w)", lambda _: after, text)


def renamed_stage(text: str, before: str, after: str) -> str:
    """Return a compiler's text with the kernel's name of AFTER: only where it is a symbol.

    An instruction may have the name of a kernel, as `add`.
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
        None if source is None else _runs(_TOKEN.findall(renamed_source(source, name, "kernel"))),
        None if ttir is None else _runs(_OP.findall(ttir)),
    )


def _runs(tokens: Sequence[str]) -> _Runs:
    """Return how often each three tokens follow each other."""
    padded = ["", *tokens, ""]  # so that a single token makes a run
    return Counter(zip(padded, padded[1:], padded[2:], strict=False))


def _alike(a: _Text, b: _Text) -> float:
    """Return the mean of what is known of both; 0 where nothing is."""
    ratios = [
        _share(one, other)
        for one, other in zip(a, b, strict=True)
        if one is not None and other is not None
    ]
    return sum(ratios) / len(ratios) if ratios else 0.0


def _share(one: _Runs, other: _Runs) -> float:
    """Return the share of runs that both have."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0
