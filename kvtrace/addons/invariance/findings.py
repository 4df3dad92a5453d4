"""The rule `not-invariant`: judges kernels with a contract, or all kernels if selected by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kvtrace.verdicts.rules.choice import AddedRules

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from kvtrace.schema.trace import Run, Trace

RULE: Final = "not-invariant"
RULES: Final = {
    RULE: {
        "severity": "error",
        "summary": "a row's result changes with the batch that it is in",
        "hint": "choose block sizes, splits and variants by what all batches have in common",
    }
}
TREES: Final = "trees"
"""The kind of the artifact with the judged outputs and the compared trees, as JSON."""


def _findings_of(trace: Trace, run: Run, asked: bool) -> Mapping[str, pa.Table] | None:
    from kvtrace.addons.invariance.judged import findings_of  # listing rules needs no evaluator

    return findings_of(trace, run, asked)


ADDED: Final = AddedRules(RULES, _findings_of)
