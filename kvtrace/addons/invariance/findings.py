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
    from kvtrace.addons.invariance.contracts import contracts_of

    contracts = contracts_of(trace, (run,))
    if not contracts and not asked:
        return None
    from kvtrace.addons.invariance.judged import findings_of  # most runs need none of its modules

    return findings_of(trace, run, contracts, () if asked else tuple(contracts))


ADDED: Final = AddedRules(RULES, _findings_of)
