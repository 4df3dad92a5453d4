"""Changes of a variant's unique calls: grids, shapes, strides, scalars."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kvtrace.converters.diff.model import CallChange
from kvtrace.converters.diff.snapshot import Call, Snapshot, Variant, call_rows
from kvtrace.converters.profile.specialization import Change, changes, without_addresses

#: Most unique calls that are read in full to find what changed; counts always cover all calls.
_MOST_READ: Final = 500
#: Most changes of one fact that are listed; more are reported as one change of the value counts.
_MOST_VALUES: Final = 3


@dataclass(frozen=True, slots=True)
class CallsDifference:
    """Changes of corresponding calls, and the numbers of calls without a counterpart.

    `unread` counts further corresponding calls that differ and were not read.
    """

    changes: tuple[CallChange, ...]
    unread: int
    added: int
    removed: int


def compare_calls(
    before: Snapshot, a: Variant, after: Snapshot, b: Variant
) -> CallsDifference | None:
    """Return the differences of a variant's unique calls; None if both sides have the same calls.

    Calls that only an autotuner launched are ignored. The n-th differing call of one side
    corresponds to the n-th of the other, in the order of first launches.
    """
    calls_before, calls_after = _launched_calls(a), _launched_calls(b)
    calls_only_before = [
        call for identity, call in calls_before.items() if identity not in calls_after
    ]
    calls_only_after = [
        call for identity, call in calls_after.items() if identity not in calls_before
    ]
    if not calls_only_before and not calls_only_after:
        return None
    pair_count = min(len(calls_only_before), len(calls_only_after))
    read_count = min(pair_count, _MOST_READ)
    change_counts: Counter[Change] = Counter()
    for row_before, row_after in zip(
        call_rows(before, calls_only_before[:read_count]),
        call_rows(after, calls_only_after[:read_count]),
        strict=True,
    ):
        change_counts.update(changes(call_facts(row_before), call_facts(row_after)))
    return CallsDifference(
        changes=tuple(_condensed(change_counts)),
        unread=pair_count - read_count,
        added=max(0, len(calls_only_after) - len(calls_only_before)),
        removed=max(0, len(calls_only_before) - len(calls_only_after)),
    )


def _launched_calls(variant: Variant) -> dict[int, Call]:
    return {identity: call for identity, call in variant.calls.items() if call.launches}


def _condensed(change_counts: Counter[Change]) -> list[CallChange]:
    """Return an entry per change; a fact with more than `_MOST_VALUES` changes is one entry."""
    by_fact: dict[str, list[Change]] = {}
    for change in change_counts:
        by_fact.setdefault(change.what, []).append(change)
    condensed = []
    for fact, all_changes in by_fact.items():
        if len(all_changes) <= _MOST_VALUES:
            condensed += [CallChange(change, change_counts[change]) for change in all_changes]
            continue
        condensed.append(
            CallChange(
                _change_of_value_counts(fact, all_changes), _call_count(change_counts, all_changes)
            )
        )
    return condensed


def _change_of_value_counts(what: str, all_changes: Sequence[Change]) -> Change:
    values = ({c.before for c in all_changes}, {c.after for c in all_changes})
    return Change(what, *(f"{len(values_of_side):,} values" for values_of_side in values))


def _call_count(change_counts: Counter[Change], all_changes: Sequence[Change]) -> int:
    return sum(change_counts[change] for change in all_changes)


def call_facts(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the comparable facts of a row of `calls`, by name: grid, shapes, strides, scalars."""
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
