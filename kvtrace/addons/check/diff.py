"""Contribution of this add-on to `kvtrace diff`.

The evaluator is imported only when kernels are compared.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from kvtrace.converters.diff.added import DiffAddition
from kvtrace.converters.diff.model import KernelMeaning, Results
from kvtrace.converters.diff.snapshot import Snapshot
from kvtrace.figures.identity import KernelKey
from kvtrace.schema.trace import Selection


def _kept_meanings(
    before: Selection,
    after: Selection,
    kernels: Mapping[str, str],
    outputs: Mapping[str, AbstractSet[str] | None],
    seconds: float,
) -> Sequence[KernelMeaning]:
    from kvtrace.addons.check.kept_results import kept_meanings

    return kept_meanings(before, after, kernels, outputs, seconds)


def _result_differences(
    before: Snapshot,
    after: Snapshot,
    matched: Sequence[tuple[KernelKey, KernelKey]],
    changed: Container[KernelKey],
) -> Results | None:
    from kvtrace.addons.check.diff_results import result_differences

    return result_differences(before, after, matched, changed)


DIFF: Final = DiffAddition(kept=_kept_meanings, results=_result_differences)
