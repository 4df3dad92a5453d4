"""What one run of each call does, derived from the IR, and what was found in it: for timelines.

All of it is worked out (`kvtrace replay`, `kvtrace sanitize`), nothing of it measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.profile.device_limits import ChosenDevice, chosen_device
from kvtrace.converters.profile.roofline import Bound, Work, position
from kvtrace.converters.timeline.captions import Facts

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: So many findings of a call are named.
_MOST_FINDINGS: Final = 8


@dataclass(frozen=True, slots=True)
class CallWork:
    """One run of a call: bytes asked for and distinct, FLOPs, and its place under the roof.

    `bytes` is a lower bound where `unknown` accesses depend on data that was not recorded.
    `best_ns` is the time at best on the device, by what bounds it; None without known limits.
    """

    bytes: int
    unique_bytes: int | None
    flops: int
    unknown: int
    best_ns: float | None
    bound: Bound | None

    def facts(self) -> Facts:
        """Return the figures as facts of a slice."""
        told: list[tuple[str, int | str | Facts]] = [("bytes", self.bytes)]
        if self.unknown:
            told.append(("accesses not counted in bytes", self.unknown))
        if self.unique_bytes is not None:
            told.append(("distinct bytes", self.unique_bytes))
        told.append(("FLOPs", self.flops))
        if self.bound is not None and self.best_ns is not None:
            told += [("bound", self.bound), ("time at best ns", round(self.best_ns))]
        return tuple(told)


@dataclass(frozen=True, slots=True)
class DerivedCalls:
    """What is derived of a run's calls, and the device whose limits it was compared with."""

    work: Mapping[int, CallWork]
    findings: Mapping[int, Facts]
    device: ChosenDevice | None

    def facts(self, call_id: int | None) -> Facts:
        """Return what is derived of a call: figures under `derived`, and what was found."""
        done = None if call_id is None else self.work.get(call_id)
        if done is None:
            return self.found(call_id)
        return (("derived", (*done.facts(), *self._compared(done))), *self.found(call_id))

    def found(self, call_id: int | None) -> Facts:
        """Return the violations of a call by their ids, under `findings`."""
        found = None if call_id is None else self.findings.get(call_id)
        return (("findings", found),) if found else ()

    def _compared(self, done: CallWork) -> Facts:
        if self.device is None or done.bound is None:
            return ()
        return (("limits of", f"{self.device.limits.name} ({self.device.how})"),)


def derived_calls(trace: "Trace", run: "Run") -> DerivedCalls:
    """Read what is derived of the calls of a run; errors as `Trace.table`."""
    names = [str(device["name"]) for device in run.devices or () if device["name"]]
    targets = trace.table("kernels", [run], ["target"])["target"].drop_null()
    device = chosen_device(None, names, [str(t) for t in pc.unique(targets).to_pylist()])
    return DerivedCalls(_work(trace, run, device), _violations(trace, run), device)


def _work(trace: "Trace", run: "Run", device: ChosenDevice | None) -> dict[int, CallWork]:
    if not any(piece.num_rows for piece in trace.pieces("ops", [run], ["call_id"])):
        return {}  # with no need of the database
    from kvtrace.converters.profile.profile_tables import work_of_calls

    rows, flops = work_of_calls(trace, [run])
    by_type: dict[int, tuple[dict[str, int], dict[str, int]]] = {}
    for row in flops:
        dots, others = by_type.setdefault(row["call_id"], ({}, {}))
        (dots if row["dot"] else others)[row["dtype"]] = int(row["flops"])
    return {
        row["call_id"]: _one(row, *by_type.get(row["call_id"], ({}, {})), device) for row in rows
    }


def _one(
    row: Mapping[str, Any],
    dots: Mapping[str, int],
    others: Mapping[str, int],
    device: ChosenDevice | None,
) -> CallWork:
    unique = row["unique_bytes"] if row["accesses"] else 0
    unique = None if unique is None else int(unique)
    moved = int(row["bytes"] or 0)
    work = Work(unique, None if row["unknown"] else moved, dots, others)
    placed = None if device is None else position(work, device.limits)
    return CallWork(
        bytes=moved,
        unique_bytes=unique,
        flops=int(row["flops"]),
        unknown=int(row["unknown"]),
        best_ns=None if placed is None else placed.best_ns,
        bound=None if placed is None else placed.bound,
    )


def _violations(trace: "Trace", run: "Run") -> dict[int, Facts]:
    """Return the violations of each call: their ids by rule, as the report's page has them."""
    columns = ["call_id", "finding_id", "rule", "verdict"]
    rows = trace.table("findings", [run], columns)
    rows = rows.filter(pc.equal(rows["verdict"].cast(pa.string()), "violation"))
    found: dict[int, list[tuple[str, str]]] = {}
    for row in rows.to_pylist():
        found.setdefault(row["call_id"], []).append((row["rule"] or "?", row["finding_id"]))
    return {call: _named(dict.fromkeys(pairs)) for call, pairs in found.items()}


def _named(pairs: Mapping[tuple[str, str], None]) -> Facts:
    listed = list(pairs)
    told: list[tuple[str, int | str | Facts]] = [
        (identity, f"{rule} (#/findings/{identity} of the report)")
        for rule, identity in listed[:_MOST_FINDINGS]
    ]
    if len(listed) > _MOST_FINDINGS:
        told.append(("more", len(listed) - _MOST_FINDINGS))
    return tuple(told)
