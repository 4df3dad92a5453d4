"""Merging of findings observed by the run itself with findings of judging its calls.

Observed behavior is certain. If judging found the same violation, judging's finding stays, as it
says more (the address, the lanes over the grid). If judging proved the access (for other contents
than that launch's) or could not decide it, the observed finding replaces judging's.
"""

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.layout import OBSERVED

#: The columns of `findings` that identify a finding.
KEYS: Final = ("call_id", "op_index", "rule", "verdict", "method")
_WHERE: Final = ("call_id", "op_index")
#: For an observed rule, another rule whose proof contradicts the observation.
_PROVEN_BY: Final = {"out-of-view": "out-of-bounds"}


def one_of_each(table: pa.Table) -> pa.Table:
    """Return the findings of one run, with columns `KEYS`, without replaced findings."""
    seen = pc.fill_null(pc.equal(table["method"].cast(pa.string()), OBSERVED), fill_value=False)
    observed = table.filter(seen).select([*_WHERE, "rule"]).to_pylist()
    if not observed:
        return table
    calls = pc.unique(table.filter(seen)["call_id"])
    near = pc.and_(pc.is_in(table["call_id"], calls), pc.invert(seen))
    positions = pc.indices_nonzero(near).to_pylist()
    judged = table.filter(near).select([*_WHERE, "rule", "verdict"]).to_pylist()
    violated = {(_place(row), row["rule"]) for row in judged if row["verdict"] == "violation"}
    settled = {(_place(row), row["rule"]) for row in observed} - violated
    settled |= {(place, _PROVEN_BY[rule]) for place, rule in settled if rule in _PROVEN_BY}
    dropped = {
        position
        for position, row in zip(positions, judged, strict=True)
        if row["verdict"] != "violation" and (_place(row), row["rule"]) in settled
    }
    again = (
        position
        for position, row in zip(pc.indices_nonzero(seen).to_pylist(), observed, strict=True)
        if (_place(row), row["rule"]) in violated
    )
    dropped.update(again)
    return table.take(pa.array((i for i in range(len(table)) if i not in dropped), pa.int64()))


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in _WHERE)
