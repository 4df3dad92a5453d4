"""What to do about a finding: by rule and kind of access, or else what the rule itself says."""

from collections.abc import Mapping
from typing import Any, Final

from kvtrace.converters.findings.model import RuleText

_NEIGHBOUR: Final = (
    "in the same storage: check the strides and the extent that are passed for this view"
)
_HINTS: Final = {
    ("out-of-bounds", "load"): "pass mask= to the load (and other=), so that lanes past the end "
    "are off",
    ("out-of-bounds", "store"): "pass mask= to the store, so that lanes past the end are off",
    ("out-of-bounds", "atomic"): "pass mask= to the atomic, so that lanes past the end are off",
    ("out-of-view", "load"): f"it reads its neighbour {_NEIGHBOUR}",
    ("out-of-view", "store"): f"it overwrites its neighbour {_NEIGHBOUR}",
    ("out-of-view", "atomic"): f"it updates its neighbour {_NEIGHBOUR}",
}
_DATA_HINT: Final = "record integer tensors with KVTRACE_TENSORS=int, so that indices are known"


def hint_for(row: Mapping[str, Any], rules: Mapping[str, RuleText]) -> str | None:
    """Return what to do about a row of `findings`, where there is something to be said."""
    rule, verdict = row["rule"], row["verdict"]
    if verdict == "proven":
        return None
    if verdict != "violation":
        reason = row["reason"] or ""
        return _DATA_HINT if "data" in reason and "KVTRACE_TENSORS" not in reason else None
    if rule in ("out-of-bounds", "out-of-view") and "wraps around" in (row["reason"] or ""):
        return "compute the offset in 64 bits: .to(tl.int64) before the product or sum that wraps"
    if rule == "out-of-bounds" and (row["past_end_bytes"] or 0) < 0:
        return "keep the offset from going below 0: shift the start, or mask those lanes off"
    text = rules.get(rule, RuleText())
    special = None if text.page else _HINTS.get((rule, row["access"] or ""))
    return special or text.hint or None
