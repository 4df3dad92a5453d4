"""RenamedKernel kernels, found by the similarity of source and IR."""

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


class RenamedKernel(NamedTuple):
    """A renamed kernel: its keys on both sides, and the similarity (1: only the name differs)."""

    before: KernelKey
    after: KernelKey
    similarity: float


class _KernelTrigrams(NamedTuple):
    """Trigrams of a kernel's source tokens and of its IR ops; None if the text is missing.

    The kernel's own name is replaced in the source.
    """

    source: "_Trigrams | None"
    ops: "_Trigrams | None"


def find_renamed(
    before: Snapshot,
    after: Snapshot,
    removed: Sequence[KernelKey],
    added: Sequence[KernelKey],
) -> list[RenamedKernel]:
    """Return pairs of a removed and an added kernel that are similar, the most similar first.

    Each kernel is in at most one pair. [] if there are too many candidates.
    """
    if not removed or not added or len(removed) * len(added) > _MOST_PAIRS:
        return []
    texts_before = {key: _kernel_trigrams(before, before.kernels[key][0]) for key in removed}
    texts_after = {key: _kernel_trigrams(after, after.kernels[key][0]) for key in added}
    ranked = sorted(
        (
            RenamedKernel(a, b, _similarity(texts_before[a], texts_after[b]))
            for a in removed
            for b in added
        ),
        key=lambda pair: -pair.similarity,
    )
    pairs: list[RenamedKernel] = []
    used: set[tuple[str, KernelKey]] = set()
    for pair in ranked:
        keys_of_pair = {("before", pair.before), ("after", pair.after)}
        if pair.similarity >= LEAST_ALIKE and not used & keys_of_pair:
            pairs.append(pair)
            used |= keys_of_pair
    return pairs


def renamed_source(text: str, before: str, after: str) -> str:
    """Return a source text with the kernel's name `before` replaced by `after`."""
    return re.sub(rf"(?<![\w.]){re.escape(before)}(?!\w)", lambda _: after, text)


def renamed_stage(text: str, before: str, after: str) -> str:
    """Return a compiler's text with the symbol `before` replaced by `after`.

    Other uses of the word stay, since an instruction such as `add` may have the name of a kernel.
    """
    name = re.escape(before)
    symbol = (
        rf"(?<=@){name}(?!\w)|(?<=\.entry ){name}(?!\w)|(?<=\.globl\t){name}(?!\w)"
        rf"|(?<!\w){name}(?=_param_\d)"
    )
    return re.sub(symbol, lambda _: after, text)


def _kernel_trigrams(side: Snapshot, variant: Variant) -> _KernelTrigrams:
    name = variant.key.name
    source = side.text(variant.row["source_artifact"])
    ttir = side.text(variant.stages.get("ttir"))
    return _KernelTrigrams(
        None
        if source is None
        else _trigrams(_TOKEN.findall(renamed_source(source, name, "kernel"))),
        None if ttir is None else _trigrams(_OP.findall(ttir)),
    )


def _trigrams(tokens: Sequence[str]) -> _Trigrams:
    padded_tokens = ["", *tokens, ""]  # so that a single token makes a run
    return Counter(zip(padded_tokens, padded_tokens[1:], padded_tokens[2:], strict=False))


def _similarity(a: _KernelTrigrams, b: _KernelTrigrams) -> float:
    """Return the mean similarity of source and IR (those known on both sides), between 0 and 1."""
    ratios = [
        _common_share(one, other)
        for one, other in zip(a, b, strict=True)
        if one is not None and other is not None
    ]
    return sum(ratios) / len(ratios) if ratios else 0.0


def _common_share(one: _Trigrams, other: _Trigrams) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0
