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


def _findings_of(trace: Trace, run: Run, asked: bool) -> Mapping[str, pa.Table] | None:
    if not asked and not _may_have_contract(trace, run):
        return None
    from kvtrace.addons.invariance.judged import findings_of  # most runs need none of its modules

    return findings_of(trace, run, asked)


def _may_have_contract(trace: Trace, run: Run) -> bool:
    """Return whether the source of a run's kernels has the word that contracts have."""
    from kvtrace.converters.source_lines import SourceLines

    source = SourceLines(trace, (run,))
    files = trace.table("kernels", (run,), ["file"]).column("file").unique().to_pylist()
    return any(
        "invariant" in line for file in files if file
        for _, lines in source.blocks(file) for line in lines
    )  # fmt: skip


ADDED: Final = AddedRules(RULES, _findings_of)
