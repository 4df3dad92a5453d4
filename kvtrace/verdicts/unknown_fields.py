"""Fields of arguments that rules read: where one is null, the rule proves nothing.

A rule judges with what stands in for a null field, such as a storage of its own for a tensor whose
`alias_group` is null. A violation stands: its witness needs nothing else. A proof does not.
`docs/needs.md` has the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from kvtrace.evaluate import Argument, TensorArgument
from kvtrace.verdicts.verdict import Verdict

_ALIASES: Final = "alias_group"

#: What a tensor's field that is null is judged with.
STANDS_IN: Final[Mapping[str, str]] = {
    "name": "the parameter's name",
    "dtype": "nothing: the call is not judged",
    "shape": "the rest of the storage",
    "strides": "the rest of the storage",
    "offset_bytes": "nothing: the call is not judged",
    "storage_bytes": "the end of its last view; accesses behind it are unknown",
    _ALIASES: "a storage of its own, without recorded contents, unless it is the only tensor",
    "alignment": "a storage at a multiple of 256 bytes",
    "scalar": "nothing: the call is not judged",
}

#: The fields of arguments without which a rule proves nothing, by rule.
RULE_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "out-of-view": ("shape", "strides"),
    "misaligned": ("alignment",),
    "descriptor-contract": ("alignment",),
    "wrong-hint": ("alignment",),
    "race": (_ALIASES,),
    "race-within-program": (_ALIASES,),
}


def unknown_text(fields: Sequence[str], arguments: Iterable[Argument]) -> str | None:
    """Return the reason for which a rule that reads `fields` proves nothing, None if it may."""
    tensors = [argument for argument in arguments if isinstance(argument, TensorArgument)]
    for field in fields:
        names = [tensor.name for tensor in tensors if field in tensor.unknown]
        if names and not (field == _ALIASES and len(tensors) == 1):
            return f"the trace does not have the {field} of {', '.join(dict.fromkeys(names))}"
    return None


def without_assumed(verdicts: Iterable[Verdict], arguments: Sequence[Argument]) -> list[Verdict]:
    """Return verdicts, with proofs from the stand-in for a null field turned into unknowns."""
    if not any(isinstance(each, TensorArgument) and each.unknown for each in arguments):
        return list(verdicts)
    weakened = []
    for verdict in verdicts:
        weakened.append(_weakened(verdict, arguments))
        if verdict.rule == "out-of-bounds":
            weakened += _views(verdict, arguments)
    return weakened


def _weakened(verdict: Verdict, arguments: Sequence[Argument]) -> Verdict:
    fields = RULE_FIELDS.get(verdict.rule, ())
    read = arguments if _ALIASES in fields else _accessed(verdict, arguments)
    reason = unknown_text(fields, read) if verdict.verdict == "proven" else None
    if reason is None:
        return verdict
    message = f"whether the rule {verdict.rule} holds could not be decided: {reason}"
    return _unproven(verdict, message, reason)


def _unproven(verdict: Verdict, message: str, reason: str) -> Verdict:
    return replace(verdict, verdict="unknown", message=message, reason=reason, method=None)


def _views(verdict: Verdict, arguments: Sequence[Argument]) -> list[Verdict]:
    """Return the unknown verdict out-of-view on an access proven to stay in a storage."""
    reason = unknown_text(RULE_FIELDS["out-of-view"], _accessed(verdict, arguments))
    if verdict.verdict != "proven" or reason is None:
        return []
    message = f"whether {verdict.access} of {verdict.arg} stays in its view is unknown: {reason}"
    return [_unproven(replace(verdict, rule="out-of-view"), message, reason)]


def _accessed(verdict: Verdict, arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments that a verdict is about."""
    names = {name.strip() for name in (verdict.arg or "").split(",")}
    return [argument for argument in arguments if argument.name in names]
