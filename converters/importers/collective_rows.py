"""Rows of `collectives`: the requests of collectives in the files of torch.profiler and nsys."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from kvtrace.converters.importers.json_values import integer, mapping, text
from kvtrace.converters.importers.rows import NONE, RunRows
from kvtrace.schema.collective_names import bytes_of, listed_ranks, operation_of_word

#: Name of torch's event around the request of a collective.
KINETO_EVENT: Final = "record_param_comms"
#: What torch records as a collective and is none.
_NONE_OF_THESE: Final = frozenset({"wait", "init", "end", ""})
#: Functions of NCCL that request a collective, which are names of its ranges.
_NCCL_RANGE: Final = re.compile(
    "[nr]ccl(All|Reduce|Broadcast|Bcast|Send|Recv|Gather|Scatter|AlltoAll)"
)
#: The largest rank, and time, that a column has.
_LARGEST_RANK: Final = 2**31 - 1
_LARGEST_TIME: Final = 2**63 - 1


class CollectiveRows:
    """Collected requests of a process, in ns on the tool's clock."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []

    def add_of_kineto(self, begin: int, end: int, arguments: Any) -> None:
        """Add a request with the arguments of torch's event `record_param_comms`."""
        args = mapping(arguments)
        name = text(args.get("Collective name")) or ""
        if name in _NONE_OF_THESE:
            return
        operation, dtype = operation_of_word(name), text(args.get("dtype"))
        elements = _or_none(integer(args.get("In msg nelems")))
        source, target = (_rank(args.get(key)) for key in ("Src Rank", "Dst Rank"))
        self._rows.append(
            {
                "requested": begin,
                "returned": end,
                "communicator": text(args.get("Process Group Name")),
                "group": text(args.get("Process Group Description")),
                "ranks": listed_ranks(args.get("Process Group Ranks")),
                "sequence": _or_none(integer(args.get("Seq"))),
                "peer": {"Send": target, "Recv": source}.get(operation),
                "operation": operation,
                "type": dtype,
                "elements": elements,
                "bytes": bytes_of(elements, dtype),
            }
        )

    def add_of_nvtx(self, begin: int, end: int, name: str, payload: Any) -> None:
        """Add the request that a range of NCCL is; `payload` is nsys's JSON of its arguments."""
        if end == NONE or not _NCCL_RANGE.match(name):
            return
        facts = _payload(payload)
        communicator = facts.get("NCCL communicator ID")
        operation = operation_of_word(name.replace("Bcast", "Broadcast"))
        self._rows.append(
            {
                "requested": begin,
                "returned": end,
                "communicator": None if communicator is None else str(communicator),
                "peer": _rank(facts.get("Peer rank")),
                "operation": operation,
                "reduction": text(facts.get("Reduction operation")),
                "bytes": _or_none(integer(facts.get("Message size [bytes]"))),
                "root": _rank(facts.get("Root")),
            }
        )

    def write(self, rows: RunRows, shift: int) -> None:
        """Write the rows in the order of the requests, with `shift` added to the times.

        Those at impossible times are left out.
        """
        for row in self._rows:
            row |= {key: row[key] + shift for key in ("requested", "returned")}
        possible = [
            row
            for row in self._rows
            if -_LARGEST_TIME <= row["requested"] <= row["returned"] <= _LARGEST_TIME
        ]
        if possible:
            possible.sort(key=lambda row: int(row["requested"]))
            numbered = ({"record": record, **row} for record, row in enumerate(possible))
            rows.rows("collectives", numbered)


def _or_none(value: int) -> int | None:
    return None if value == NONE else value


def _rank(value: Any) -> int | None:
    rank = integer(value)
    return rank if 0 <= rank <= _LARGEST_RANK else None


def _payload(value: Any) -> Mapping[str, Any]:
    try:
        facts = json.loads(value) if isinstance(value, str) else None
    except ValueError:
        facts = None  # not from NCCL
    return facts if isinstance(facts, dict) else {}
