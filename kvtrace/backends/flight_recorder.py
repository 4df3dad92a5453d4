"""Collectives of torch.distributed, from the flight recorder of torch.

torch keeps the newest collectives of a process in a ring, 2,000 by default, with their process
group and sequence number. The ring is read once, when the recording ends, or if the program hangs:
to read it takes 10 µs of processor time a collective, and asks CUDA about events, which must not
break off a CUDA graph that another thread captures. Stacks are not read, since torch takes seconds
to look them up.
"""

import ctypes
import math
import os
import pickle
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final

from kvtrace.capture.device_copies import relaxed_capture
from kvtrace.schema.collective_names import bytes_of, listed_ranks, operation_of_word

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal
    from kvtrace.capture.session import Session

#: Functions of torch that return the ring: of NCCL's groups, and of others.
_RINGS: Final = ("_dump_nccl_trace", "_dump_fr_trace")
#: Collectives of a group before and behind the oldest that has not ended.
_AROUND: Final = 16
#: The group's ranks in torch's name of a send or receive, as `nccl:send 0->1`.
_PEERS: Final = re.compile(r"\d+(?:->|<-)(\d+)$")


class FlightRecorder:
    """The listener of a session's journal that writes `collectives` when the recording ends."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._began = time.time_ns()

    def row(self, table: str, row: Mapping[str, Any]) -> None:
        """Ignore a row."""

    def launches(self, columns: Mapping[str, Any], copied: Sequence[tuple[int, int, int]]) -> None:
        """Ignore launches."""

    def round(self, journal: "Journal") -> None:
        """Leave the ring as it is until the end."""

    def finish(self, journal: "Journal") -> None:
        """Write the collectives of the ring that were requested while the session recorded."""
        try:
            every_row = [_row(entry, ranks) for entry, ranks in _entries()]
        except Exception as error:  # noqa: BLE001 - as CUDA fails after an illegal access
            text = f"collectives are not recorded: {type(error).__name__}: {error}"
            self._session.message("info", "no-collectives", text)
            return
        rows = [row for row in every_row if row["requested"] >= self._began]
        for record, row in enumerate(sorted(rows, key=lambda row: int(row["requested"]))):
            journal.add("collectives", {"record": record, **row})


def last_requests() -> list[dict[str, Any]]:
    """Return the collectives of each group that matter if this process hangs, in their order.

    They are those around the oldest that has not ended, and the newest. Columns as in
    `collectives`, and `is_done`: the collective has ended on this rank, as torch's watchdog saw;
    `state` is "completed" also while the host is still connecting ranks for a collective.
    """
    groups: dict[str, list[dict[str, Any]]] = {}
    for entry, ranks in _entries():
        if not entry.get("is_p2p"):
            row = _row(entry, ranks) | {"is_done": bool(entry.get("retired"))}
            groups.setdefault(row["communicator"], []).append(row)
    kept = []
    for rows in groups.values():
        rows.sort(key=lambda row: int(row["sequence"]))
        newest = len(rows) - 1
        oldest = next((i for i, row in enumerate(rows) if not row["is_done"]), newest)
        until = min(oldest + _AROUND, newest)
        kept += [*rows[max(oldest - _AROUND, 0) : until], rows[newest]]
    return kept


def _entries() -> Iterator[tuple[Mapping[str, Any], Sequence[int] | None]]:
    """Yield the entries of torch's rings, with the ranks of their groups; None: not known."""
    module = sys.modules.get("torch._C._distributed_c10d")
    for name in _RINGS:
        dump = getattr(module, name, None)
        if dump is None:
            continue
        with _undisturbing():
            content = dump(True, False, False)
        ring = pickle.loads(content)  # noqa: S301 - torch in this process made it
        groups = ring.get("pg_config", {})
        for entry in ring.get("entries", ()):
            yield entry, listed_ranks(groups.get(entry["process_group"][0], {}).get("ranks"))


def _undisturbing() -> AbstractContextManager[None]:
    """Return a context in which this thread disturbs no capture; no driver is loaded for it."""
    try:
        return relaxed_capture(ctypes.CDLL("libcuda.so.1", os.RTLD_NOLOAD))
    except OSError:
        return nullcontext()


def _row(entry: Mapping[str, Any], ranks: Sequence[int] | None) -> dict[str, Any]:
    """Return the row of `collectives`, without `record`, for an entry."""
    communicator, group = entry["process_group"]
    sequence = "p2p_seq_id" if entry.get("is_p2p") else "collective_seq_id"
    sizes, types = entry.get("input_sizes") or (), set(entry.get("input_dtypes") or ())
    elements = sum(map(math.prod, sizes)) if sizes else None
    dtype = types.pop() if len(types) == 1 else None
    return {
        "requested": entry["time_created_ns"],
        "communicator": communicator,
        "group": group,
        "ranks": ranks,
        "sequence": entry[sequence],
        "peer": _peer(entry["profiling_name"], ranks),
        "operation": operation_of_word(entry["profiling_name"]),
        "type": dtype,
        "elements": elements,
        "bytes": bytes_of(elements, dtype),
    }


def _peer(name: str, ranks: Sequence[int] | None) -> int | None:
    """Return the other rank of a send or receive by its name; None for others, or if unknown."""
    match = _PEERS.search(name)
    if match is None or ranks is None or int(match[1]) >= len(ranks):
        return None
    return ranks[int(match[1])]


class FlightRecorderBackend:
    """The backend that waits for torch.distributed."""

    name: Final = "flight-recorder"
    libraries: Final = ("torch.distributed",)

    def install(self, session: "Session") -> None:
        """Read the ring when the session, should it record anything, ends."""
        session.listen(FlightRecorder(session))

    def uninstall(self) -> None:
        """Do nothing: no function is hooked."""


BACKEND: Final = FlightRecorderBackend()
