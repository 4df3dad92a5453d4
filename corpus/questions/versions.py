"""Pairs of versions of a kernel, their evaluation, and kvtrace's answer."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

import kvtrace
from corpus.case import Answer, Case
from corpus.questions.inputs import BENIGN, FLOATS
from kvtrace.addons.invariance.differences import paired_calls
from kvtrace.addons.invariance.launches import evaluate_ordered
from kvtrace.addons.invariance.versions import same_meaning
from kvtrace.backends.triton import evaluating_launcher
from kvtrace.schema.trace import Selection, open_trace

TARGET = "cuda:90"


class Level(IntEnum):
    """What two versions have in common, from nothing to equal bits."""

    DIFFERENT = 0
    """Some input that is allowed has another result, by more than rounding."""
    EXACT = 1
    """Equal in exact arithmetic."""
    SUMS = 2
    """The same except for the order of sums and maxima, and the signs of zeros that these leave."""
    SAME = 3
    """The same bits for all inputs; a NaN is as good as another."""


CLAIMS = {
    "same": Level.SAME,
    "equal": Level.SAME,
    "reassociated": Level.SUMS,
    "exact": Level.EXACT,
}
"""What kvtrace's answers claim."""


@dataclass(frozen=True, eq=False)
class Pair:
    """A kernel before and after a change (its constexpr `NEW` is 0 and 1), with its truth."""

    name: str
    truth: Level
    why: str
    kernel: Any
    tensors: Callable[[str], Sequence[torch.Tensor]]
    """The tensors for inputs of a kind."""
    numbers: tuple[int | float, ...]
    grids: tuple[tuple[int, ...], tuple[int, ...]]
    constexprs: Mapping[str, Any] = field(default_factory=dict)
    kinds: tuple[str, ...] = FLOATS
    """Inputs that the truth is evaluated on."""
    sizes: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})
    """Further constexprs of the one and of the other version."""
    read: bool = False
    """The difference is decided by reading; the evaluator does not show it, or only as rounding."""


def launched(pair: Pair, version: int, kind: str) -> list[torch.Tensor]:
    """Launch a version on inputs of a kind, and return the tensors afterwards."""
    tensors = list(pair.tensors(kind))
    pair.kernel[pair.grids[version]](
        *tensors, *pair.numbers, **pair.constexprs, **pair.sizes[version], NEW=version
    )
    return [tensor.cpu() for tensor in tensors]


@contextmanager
def in_fixed_order() -> Iterator[None]:
    """Evaluate launches in the context program after program, with sums in a fixed order."""
    original_evaluate = evaluating_launcher.evaluate
    # launches pass no argument that `evaluate_ordered` lacks
    evaluating_launcher.evaluate = evaluate_ordered  # type: ignore[assignment]
    folder = tempfile.mkdtemp()
    try:
        with kvtrace.capture(folder, target=TARGET, device="cpu", compile="ttir"):
            yield
    finally:
        evaluating_launcher.evaluate = original_evaluate
        shutil.rmtree(folder)


def _bits(tensor: torch.Tensor) -> bytes:
    """Return a tensor's bytes, with the same bits for all NaNs."""
    values = tensor.detach().clone().contiguous()
    if values.dtype.is_floating_point:
        values[values.isnan()] = float("nan")
    return values.reshape(-1).view(torch.uint8).numpy().tobytes()


def _close(one: torch.Tensor, other: torch.Tensor, part: float) -> bool:
    """Return whether two results differ by at most `part` of the largest magnitude."""
    if not one.dtype.is_floating_point:
        return torch.equal(one, other)
    largest = other.double().nan_to_num(0, 0, 0).abs().max().item()
    return torch.allclose(
        one.double(), other.double(), rtol=part, atol=part * largest, equal_nan=True
    )


@cache
def _evaluated(pair: Pair) -> dict[str, tuple[bool, bool]]:
    """Return by kind of inputs whether the versions give (equal bits, close values)."""
    tolerance = 1e-4 if pair.truth is Level.DIFFERENT else 2e-2
    by_kind = {}
    with in_fixed_order():
        for kind in pair.kinds:
            results = list(zip(*(launched(pair, version, kind) for version in (0, 1)), strict=True))
            by_kind[kind] = (
                all(
                    _bits(before_tensor) == _bits(after_tensor)
                    for before_tensor, after_tensor in results
                ),
                all(
                    _close(before_tensor, after_tensor, tolerance)
                    for before_tensor, after_tensor in results
                ),
            )
    return by_kind


def _evaluation_agrees(pair: Pair, asked: Level) -> bool:
    """Return whether evaluations confirm that two versions have the level `asked` in common."""
    by_kind = _evaluated(pair)
    if asked is Level.SAME:
        return all(same for same, _ in by_kind.values())
    if asked is Level.EXACT and pair.truth is Level.DIFFERENT:
        return all(close for _, close in by_kind.values())
    return all(close for kind, (_, close) in by_kind.items() if kind in BENIGN)


@cache
def _worst_answer(pair: Pair) -> str:
    """Return kvtrace's answer for the output in which two versions have least in common."""
    folder = Path(tempfile.mkdtemp())
    try:
        runs = []
        for version in (0, 1):
            path = folder / str(version)
            with kvtrace.capture(path, target=TARGET, device="cpu", compile="ttir"):
                launched(pair, version, "random")
            trace = open_trace(path)
            runs.append(Selection(trace, trace.runs))
        kernel = runs[0].table("kernels", ["name"])["name"][0].as_py()
        calls = paired_calls(*runs, {kernel: kernel}).pairs
        meanings = [
            output.meaning
            for pair_of_calls in calls
            if pair_of_calls.before is not None
            for output in same_meaning(pair_of_calls.before, pair_of_calls.after)
        ]
    finally:
        shutil.rmtree(folder)
    if "violation" in meanings:
        return "violation"
    if not meanings or not all(meaning in CLAIMS for meaning in meanings):
        return "unknown"
    return min(meanings, key=lambda meaning: CLAIMS[meaning])


def _kvtrace_answer(pair: Pair, asked: Level) -> Answer:
    """Return kvtrace's answer to whether two versions have the level `asked` in common.

    `differs` says that bits differ. Where rounding alone explains them, that is less than the
    truth, and not false.
    """
    meaning = _worst_answer(pair)
    if meaning == "unknown":
        return Answer.UNKNOWN
    claimed = CLAIMS.get(meaning)
    if claimed is None:
        return Answer.NO if asked > pair.truth or asked is Level.SAME else Answer.UNKNOWN
    if claimed >= asked:
        return Answer.YES
    return Answer.NO if claimed >= pair.truth else Answer.UNKNOWN


def cases_of(pairs: Sequence[Pair]) -> list[Case]:
    """Return two cases of each pair: for the level of its truth, and for the next level."""
    return [
        Case(
            f"{pair.name}: {level.name.lower()}",
            level <= pair.truth,
            pair.why,
            partial(_kvtrace_answer, pair, level),
            None if _reading_decides(pair, level) else partial(_evaluation_agrees, pair, level),
            "read" if _reading_decides(pair, level) else "evaluated",
        )
        for pair in pairs
        for level in sorted({pair.truth, Level(min(pair.truth + 1, Level.SAME))})
        if level is not Level.DIFFERENT
    ]


def _reading_decides(pair: Pair, asked: Level) -> bool:
    """Return whether evaluations cannot decide, since reordered sums look like other rounding."""
    return pair.read or (pair.truth is Level.EXACT and asked is Level.SUMS)
