"""Changes of a variant's unique calls: grids, shapes, strides, scalars."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kvtrace.converters.diff.model import CallChange
from kvtrace.converters.diff.snapshot import Call, Snapshot, Variant, call_rows
from kvtrace.converters.profile.specialization import Change, changes, without_addresses

#: Unique calls that are read in full to say what changed; the counts are always of all.
_MOST_READ: Final = 500
#: A fact that changes in more ways than this is reported as one change of that many values.
_MOST_VALUES: Final = 3


@dataclass(frozen=True, slots=True)
class CallsDifference:
    """Changes of corresponding calls, and the numbers of calls without a counterpart.

    `unread` counts corresponding calls that differ too, but were too many to read one by one.
    """

    changes: tuple[CallChange, ...]
    unread: int
    added: int
    removed: int


def compare_calls(
    before: Snapshot, a: Variant, after: Snapshot, b: Variant
) -> CallsDifference | None:
    """Compare the unique calls of a variant; None if both sides have the same calls.

    Calls that only an autotuner launched are ignored. The n-th differing call of one side
    corresponds to the n-th of the other, in the order of first launches.
    """
    calls_before, calls_after = _launched(a), _launched(b)
    gone = [call for identity, call in calls_before.items() if identity not in calls_after]
    new = [call for identity, call in calls_after.items() if identity not in calls_before]
    if not gone and not new:
        return None
    corresponding = min(len(gone), len(new))
    read = min(corresponding, _MOST_READ)
    change_counts: Counter[Change] = Counter()
    for first, second in zip(
        call_rows(before, gone[:read]), call_rows(after, new[:read]), strict=True
    ):
        change_counts.update(changes(call_facts(first), call_facts(second)))
    return CallsDifference(
        changes=tuple(_condensed(change_counts)),
        unread=corresponding - read,
        added=max(0, len(new) - len(gone)),
        removed=max(0, len(gone) - len(new)),
    )


def _launched(variant: Variant) -> dict[int, Call]:
    return {identity: call for identity, call in variant.calls.items() if call.launches}


def _condensed(change_counts: Counter[Change]) -> list[CallChange]:
    """Return an entry per change, or one entry per fact with many values."""
    by_fact: dict[str, list[Change]] = {}
    for change in change_counts:
        by_fact.setdefault(change.what, []).append(change)
    condensed = []
    for fact, all_changes in by_fact.items():
        if len(all_changes) <= _MOST_VALUES:
            condensed += [CallChange(change, change_counts[change]) for change in all_changes]
            continue
        condensed.append(
            CallChange(_summary(fact, all_changes), _total(change_counts, all_changes))
        )
    return condensed


def _summary(what: str, all_changes: Sequence[Change]) -> Change:
    sides = ({c.before for c in all_changes}, {c.after for c in all_changes})
    return Change(what, *(f"{len(side):,} values" for side in sides))


def _total(change_counts: Counter[Change], all_changes: Sequence[Change]) -> int:
    return sum(change_counts[change] for change in all_changes)


def call_facts(row: Mapping[str, Any]) -> dict[str, str]:
    """Return comparable facts of a call: grid, shapes, strides, scalars."""
    facts = {"grid": f"({row['grid_x']}, {row['grid_y']}, {row['grid_z']})"}
    for arg in row["args"] or ():
        if arg["kind"] != "constexpr":
            facts.update(_argument_facts(arg))
    return facts


def _argument_facts(arg: Mapping[str, Any]) -> dict[str, str]:
    name = arg["name"]
    if arg["scalar"] is not None:
        return {name: without_addresses(arg["scalar"])}
    facts = {
        "dtype": arg["dtype"],
        "device": (arg["device"] or "").partition(":")[0] or None,
        "shape": arg["shape"],
        "strides": arg["strides"],
        "offset": arg["offset_bytes"],
        "storage bytes": arg["storage_bytes"],
        "alias group": arg["alias_group"],
    }
    return {f"{name} {fact}": str(value) for fact, value in facts.items() if value is not None}
