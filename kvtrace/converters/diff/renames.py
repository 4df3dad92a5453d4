"""Kernels that go by another name on the other side, found by how alike source and IR are."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from kvtrace.converters.diff.snapshot import KernelKey, Snapshot
from kvtrace.converters.diff.variant import Variant

#: Kernels less alike than this are two kernels: of both source and IR, three tokens of four.
LEAST_ALIKE: Final = 0.75
#: Above this many possible pairs, kernels are not looked for under other names.
_MOST_PAIRS: Final = 2_500
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_OP: Final = re.compile(r"\b[a-z]\w*\.[a-z]\w*\b")


class Renamed(NamedTuple):
    """A kernel on both sides, and how alike it is: 1 for the same but for its name."""

    before: KernelKey
    after: KernelKey
    similarity: float


class _Text(NamedTuple):
    """A kernel's source in tokens and its IR in ops, its own name blanked; None where not known."""

    source: list[str] | None
    ops: list[str] | None


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
    name = variant.key[1]
    source = side.text(variant.row["source_artifact"])
    ttir = side.text(variant.stages.get("ttir"))
    return _Text(
        None if source is None else _TOKEN.findall(renamed_source(source, name, "kernel")),
        None if ttir is None else _OP.findall(ttir),
    )


def _alike(a: _Text, b: _Text) -> float:
    """Return the mean of what is known of both; 0 where nothing is."""
    ratios = [
        _ratio(one, other)
        for one, other in zip(a, b, strict=True)
        if one is not None and other is not None
    ]
    return sum(ratios) / len(ratios) if ratios else 0.0


def _ratio(one: list[str], other: list[str]) -> float:
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if matcher.real_quick_ratio() < LEAST_ALIKE / 2 or matcher.quick_ratio() < LEAST_ALIKE / 2:
        return 0.0  # the mean with 1 would be too little
    return matcher.ratio()
