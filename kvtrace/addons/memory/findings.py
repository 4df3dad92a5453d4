"""Findings of this add-on's rules in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kvtrace.addons.memory.rules import READ, RESULT, RULES
from kvtrace.verdicts.rules.choice import AddedRules

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from kvtrace.schema.trace import Run, Trace


def _findings_of(trace: Trace, run: Run, named: bool) -> Mapping[str, pa.Table] | None:
    from kvtrace.addons.memory.confirmations import is_recorded

    if not named and not is_recorded(trace, run):
        return None
    from kvtrace.addons.memory.judged import findings_of  # most runs need none of its modules

    return findings_of(trace, run, named=named)


def _missing(trace: Trace, run: Run) -> Mapping[str, str]:
    from kvtrace.addons.memory.confirmations import is_recorded

    return {} if is_recorded(trace, run) else dict.fromkeys((READ, RESULT), _UNRECORDED)


_UNRECORDED: Final = "record the run with KVTRACE_MEMORY=on, which keeps what happens to memory"
ADDED: Final = AddedRules(RULES, _findings_of, missing=_missing)
