"""Matching of kernels, renamed ones too, and of their compiled variants, between two sides."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from kvtrace.converters.diff.added import earlier_stages
from kvtrace.converters.diff.snapshot import Snapshot
from kvtrace.converters.diff.variant import Variant, fact_changes
from kvtrace.figures.identity import KernelKey

_Item = TypeVar("_Item")
_Key = TypeVar("_Key", int, KernelKey)
_Trigrams = Counter[tuple[str, str, str]]
_KernelTrigrams = tuple[_Trigrams | None, ...]
"""Trigrams of a kernel's source tokens, without its name, and of its ops; None without the text."""

#: Least similarity of a renamed kernel.
LEAST_ALIKE: Final = 0.75
#: Above this many possible pairs, renamed kernels are not searched for.
_MOST_COMPARED: Final = 10_000
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_OP: Final = re.compile(r"\b[a-z]\w*\.[a-z]\w*\b")
#: Weights of differing facts by the first word of their name (1 if not listed).
_WEIGHTS: Final = {"type": 4, "constexpr": 2, "target": 4}
#: Above this many possible pairs, remaining variants are paired in the order of compilation.
_MOST_PAIRS: Final = 40_000


class KernelMatches(NamedTuple):
    """Pairs of a kernel's keys on both sides, keys on one side alone, and similarities.

    `similarities` are those of renamed kernels, by the key in AFTER (1: only the name differs).
    """

    pairs: list[tuple[KernelKey, KernelKey]]
    removed: list[KernelKey]
    added: list[KernelKey]
    similarities: dict[KernelKey | None, float]


def matched_kernels(before: "Snapshot", after: "Snapshot") -> KernelMatches:
    """Return the kernels of both sides, matched.

    Kernels match if their keys are equal, else by name and source, else by name alone, if both
    sides have equally many unmatched kernels of that name (Inductor reuses names), else if they
    were renamed.
    """
    pairs = {key: key for key in before.kernels if key in after.kernels}
    removed = [key for key in before.kernels if key not in pairs]
    added = [key for key in after.kernels if key not in pairs]
    pairs |= _take_pairs(removed, added, lambda key, other: (
        key.name == other.name
        and _source_of(before.kernels[key]) == _source_of(after.kernels[other])
    ))  # fmt: skip
    for name in dict.fromkeys(key.name for key in removed):
        named = [[key for key in side if key.name == name] for side in (removed, added)]
        if len(named[0]) == len(named[1]):
            pairs.update(zip(*named, strict=True))
    paired = set(pairs.values())
    removed = [key for key in removed if key not in pairs]
    added = [key for key in added if key not in paired]
    in_order = [(key, pairs[key]) for key in before.kernels if key in pairs]
    similarities: dict[KernelKey | None, float] = {}
    for old, new, similarity in _renamed(before, after, [*removed], [*added]):
        in_order.append((old, new))
        similarities[new] = similarity
        removed.remove(old)
        added.remove(new)
    return KernelMatches(in_order, removed, added, similarities)


def _source_of(variants: Sequence[Variant]) -> str | None:
    source: str | None = variants[0].row["source_artifact"]
    return source


def match_variants(
    before: Sequence[Variant], after: Sequence[Variant]
) -> tuple[list[tuple[Variant, Variant]], list[Variant], list[Variant]]:
    """Return pairs of matching variants, the variants only in `before`, and those only in `after`.

    Variants with the same facts and texts of earlier stages are paired first, then those with the
    same facts, then the most similar ones.
    """
    unmatched_before = list(before)
    unmatched_after = list(after)
    pairs = _take_pairs(unmatched_before, unmatched_after, lambda a, b: (
        a.facts == b.facts and all(a.stages.get(s) == b.stages.get(s) for s in earlier_stages())
    ))  # fmt: skip
    pairs += _take_pairs(unmatched_before, unmatched_after, lambda a, b: a.facts == b.facts)
    similar_pairs = _most_similar_pairs(unmatched_before, unmatched_after)
    pairs += similar_pairs
    paired = {id(variant) for pair in similar_pairs for variant in pair}
    return (
        pairs,
        [v for v in unmatched_before if id(v) not in paired],
        [v for v in unmatched_after if id(v) not in paired],
    )


def _take_pairs(
    left: list[_Item], right: list[_Item], is_match: Callable[[_Item, _Item], bool]
) -> list[tuple[_Item, _Item]]:
    """Remove pairs of matching items from both lists, and return them."""
    pairs = []
    for item in list(left):
        match = next((other for other in right if is_match(item, other)), None)
        if match is not None:
            pairs.append((item, match))
            left.remove(item)
            right.remove(match)
    return pairs


def nearest(variant: Variant, others: Sequence[Variant]) -> Variant | None:
    """Return the variant of `others` that is most similar to `variant`; None if it is empty."""
    return min(others, key=lambda other: distance(variant, other), default=None)


def distance(a: Variant, b: Variant) -> int:
    """Return the weighted number of differing facts of two variants."""
    differing = fact_changes(a, b)
    return sum(_WEIGHTS.get(change.what.partition(" ")[0], 1) for change in differing)


def _most_similar_pairs(
    left: Sequence[Variant], right: Sequence[Variant]
) -> list[tuple[Variant, Variant]]:
    if len(left) * len(right) > _MOST_PAIRS:
        return list(zip(left, right, strict=False))
    ranked = sorted((distance(a, b), i, j) for i, a in enumerate(left) for j, b in enumerate(right))
    chosen = _first_of_each((i, j) for _, i, j in ranked)
    return [(left[i], right[j]) for i, j in sorted(chosen)]


def _first_of_each(ranked: Iterable[tuple[_Key, _Key]]) -> list[tuple[_Key, _Key]]:
    """Return the pairs of which neither item is in an earlier one that is returned."""
    chosen: list[tuple[_Key, _Key]] = []
    used: tuple[set[_Key], set[_Key]] = set(), set()
    for left, right in ranked:
        if left not in used[0] and right not in used[1]:
            chosen.append((left, right))
            used[0].add(left)
            used[1].add(right)
    return chosen


def _renamed(
    before: Snapshot, after: Snapshot, removed: Sequence[KernelKey], added: Sequence[KernelKey]
) -> Iterator[tuple[KernelKey, KernelKey, float]]:
    """Yield pairs of a removed and an added kernel that are similar, with the similarity.

    The most similar come first, and each kernel is in at most one pair. Nothing is yielded if there
    are too many candidates.
    """
    if not removed or not added or len(removed) * len(added) > _MOST_COMPARED:
        return
    texts_before = {key: _kernel_trigrams(before, before.kernels[key][0]) for key in removed}
    texts_after = {key: _kernel_trigrams(after, after.kernels[key][0]) for key in added}
    similarity = {
        (a, b): _similarity(texts_before[a], texts_after[b]) for a in removed for b in added
    }
    ranked = sorted(similarity, key=lambda pair: -similarity[pair])
    for pair in _first_of_each(pair for pair in ranked if similarity[pair] >= LEAST_ALIKE):
        yield *pair, similarity[pair]


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
    texts = ((source and renamed_source(source, name, "kernel"), _TOKEN), (ttir, _OP))
    return tuple(None if text is None else _trigrams(of.findall(text)) for text, of in texts)


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
