"""Hints: advice on a finding by rule and kind of access, else the rule's own hint."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from kvtrace.converters.findings.model import OF_CONTENTS, RuleText

_NEIGHBOR: Final = (
    "in the same storage: check the strides and the extent that are passed for this view"
)
_HINTS: Final = {
    ("out-of-bounds", "load"): "pass mask= to the load (and other=), so that lanes past the end "
    "are off",
    ("out-of-bounds", "store"): "pass mask= to the store, so that lanes past the end are off",
    ("out-of-bounds", "atomic"): "pass mask= to the atomic, so that lanes past the end are off",
    ("out-of-view", "load"): f"it reads its neighbor {_NEIGHBOR}",
    ("out-of-view", "store"): f"it overwrites its neighbor {_NEIGHBOR}",
    ("out-of-view", "atomic"): f"it updates its neighbor {_NEIGHBOR}",
}
#: Phrases of reasons, which decide the hint since a trace has no more than the sentence: those of
#: `rules/bounds_witnesses.py` on masked accesses and their tensors, of `verdicts/judge.py`, and of
#: `conflicts/race_evaluated.py`.
_MASKED, _STRIDED, _WRAPS = "the mask admits ", " and strides ", "wraps around"
_LOADED: Final = "the address is made of "
_OF_ORDERS: Final = "no race was seen in the orders that were run"
_WIDEN: Final = "widen an operand with .to(tl.int64) before this operation, or keep it smaller"
_GENERATED: Final = (
    "Inductor wrote this kernel: keep the line that it comes from out of the compiled graph "
    "(torch.compiler.disable), and report it to PyTorch"
)
_INTEGERS: Final = "record integer tensors with KVTRACE_TENSORS=int, so that indices are known"
_EITHER: Final = "record contents of tensors with KVTRACE_TENSORS=int, or all for floats, too"
_FLOATS: Final = "record floats, too, with KVTRACE_TENSORS=all: int records only integer tensors"
_NUMBERS: Final = (
    "shift by less than the width, index within the axis or bins, cast what fits, and use no "
    "counter after its loop"
)
#: Phrases of reasons that say what to record, or which no recording helps.
_NO_RECORDING: Final = ("KVTRACE_TENSORS", "the launch itself changes ")
_FEWER: Final = "record a launch of fewer programs, of which all orders can be tried"
#: The part of a reason that names tensors without recorded contents.
_DATA_OF: Final = re.compile(r"\bthe data of (\w+(?:, \w+)*)")


def hint_for(
    row: Mapping[str, Any],
    rules: Mapping[str, RuleText],
    tensors: Mapping[str, str | None] = MappingProxyType({}),
    *,
    generated: bool = False,
) -> str | None:
    """Return the hint for a row of `findings`, or None if there is none.

    Args:
        row: the row.
        rules: texts of rules by id.
        tensors: types of the call's tensors by name, such as `fp32[1000]`.
        generated: whether Inductor wrote the kernel.

    """
    rule, verdict = row["rule"], row["verdict"]
    reason = OF_CONTENTS.sub("", row["reason"] or "")
    if verdict == "proven":
        return None
    if verdict != "violation":
        needs_contents = "data" in reason and not any(map(reason.__contains__, _NO_RECORDING))
        if needs_contents:
            return _recording_hint(reason, tensors)
        return _FEWER if _OF_ORDERS in reason else None
    if generated and row["severity"] == "error":
        mask = f"{reason}. " if reason.startswith(_MASKED) else ""
        return mask + _GENERATED
    if rule.startswith("undefined-") and " has none" in row["message"]:
        return _NUMBERS
    if rule in ("out-of-bounds", "out-of-view") and _WRAPS in reason:
        return _WIDEN
    if rule == "out-of-bounds" and reason.startswith(_LOADED):
        return "check the indices before the launch, clamp them, or mask these lanes off"
    if rule == "out-of-bounds" and (row["past_end_bytes"] or 0) < 0:
        return "keep the offset at 0 or above: shift the start, or mask these lanes off"
    if rule == "out-of-bounds" and reason.startswith(_MASKED):
        if _STRIDED in reason:
            return f"{reason}: pass its strides, or a contiguous copy (.contiguous())"
        return f"{reason}: narrow the mask, or pass the size that {row['arg']} has"
    text = rules.get(rule, RuleText())
    access_hint = None if text.page else _HINTS.get((rule, row["access"] or ""))
    return access_hint or text.hint or None


def _recording_hint(reason: str, tensors: Mapping[str, str | None]) -> str:
    """Return a hint with the setting that records the tensors that a reason names."""
    names = _DATA_OF.search(reason)
    types = [tensors.get(name) or "" for name in names[1].split(", ")] if names else []
    if any(t and t[0] not in "iu" for t in types):
        return _FLOATS
    return _INTEGERS if all(types) else _EITHER
