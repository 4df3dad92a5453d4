"""Rows of which several parts of a run may have the same: one of each is read.

Findings that the run itself observed are merged with those of judging its calls. Observed behavior
is certain. If judging found the same violation, judging's finding stays, as it says more (the
address, the lanes over the grid). If judging proved the access (for other contents than that
launch's) or could not decide it, the observed finding replaces judging's.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.layout import OBSERVED

#: The columns of `findings` that identify a finding.
_KEYS: Final = ("call_id", "op_index", "rule", "verdict", "method")
_WHERE: Final = ("call_id", "op_index")
#: For an observed rule, another rule whose proof contradicts the observation.
_PROVEN_BY: Final = {"out-of-view": "out-of-bounds"}


def _without_replaced_findings(table: pa.Table) -> pa.Table:
    """Return one run's findings (with columns `_KEYS`), each violation once, as described above."""
    is_observed = pc.fill_null(
        pc.equal(table["method"].cast(pa.string()), OBSERVED), fill_value=False
    )
    observed = table.filter(is_observed).select([*_WHERE, "rule"]).to_pylist()
    if not observed:
        return table
    calls = pc.unique(table.filter(is_observed)["call_id"])
    is_judged_near = pc.and_(pc.is_in(table["call_id"], calls), pc.invert(is_observed))
    positions = pc.indices_nonzero(is_judged_near).to_pylist()
    judged = table.filter(is_judged_near).select([*_WHERE, "rule", "verdict"]).to_pylist()
    violated = {(_call_and_op(row), row["rule"]) for row in judged if row["verdict"] == "violation"}
    contradicted = {(_call_and_op(row), row["rule"]) for row in observed} - violated
    contradicted |= {
        (call_and_op, _PROVEN_BY[rule]) for call_and_op, rule in contradicted if rule in _PROVEN_BY
    }
    dropped = {
        position
        for position, row in zip(positions, judged, strict=True)
        if row["verdict"] != "violation" and (_call_and_op(row), row["rule"]) in contradicted
    }
    repeated = (
        position
        for position, row in zip(pc.indices_nonzero(is_observed).to_pylist(), observed, strict=True)
        if (_call_and_op(row), row["rule"]) in violated
    )
    dropped.update(repeated)
    return table.take(pa.array((i for i in range(len(table)) if i not in dropped), pa.int64()))


def _call_and_op(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in _WHERE)


class _Deduplication(NamedTuple):
    """Removal of a run's repeated rows by the function `rows`, which needs the columns `keys`."""

    keys: tuple[str, ...]
    rows: Callable[[pa.Table], pa.Table]


def _keep_first_row(key: str) -> _Deduplication:
    """Return a deduplication that keeps the first row of each key."""

    def rows(table: pa.Table) -> pa.Table:
        first_rows: dict[Any, int] = {}
        for index, value in enumerate(table.column(key).to_pylist()):
            first_rows.setdefault(value, index)
        if len(first_rows) == table.num_rows:
            return table
        return table.take(pa.array(list(first_rows.values()), pa.int64()))

    return _Deduplication((key,), rows)


#: By table.
DEDUPLICATIONS: Final = {
    "stacks": _keep_first_row("stack_id"),
    "artifacts": _keep_first_row("sha256"),
    "findings": _Deduplication(_KEYS, _without_replaced_findings),
}
