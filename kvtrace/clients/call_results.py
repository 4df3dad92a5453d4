"""Results of clients call by call, which equal calls of several runs share.

Ranks of a job, and two runs that are compared, launch mostly the same calls: the same IR on equal
arguments. A call that was evaluated for a run is not evaluated again for another one.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from kvtrace.clients.client import Client, Rows
from kvtrace.clients.running import ClientPass
from kvtrace.schema.content import StackRows


class CallResults(Struct, frozen=True):
    """A client's rows of one call by table, the stacks that they refer to, notes, and counts.

    Notes do not name the call. `are_shared` is false if a row has the call's id in a text.
    """

    rows: Mapping[str, Sequence[dict[str, Any]]]
    stacks: StackRows = field(default_factory=StackRows)
    notes: Sequence[str] = ()
    counts: tuple[int, ...] = ()
    are_shared: bool = True

    def of(self, call_id: int) -> "CallResults":
        """Return the results of an equal call."""
        rows = {
            table: [row | {"call_id": call_id} for row in rows] for table, rows in self.rows.items()
        }
        return replace(self, rows=rows)


class ClientByCall(Client):
    """A client that adds its results of each call once.

    Attributes:
        results: the results by call id, in the order in which they were added.

    """

    by_call: ClassVar[bool] = True

    def __init__(self) -> None:
        self.results: dict[int, CallResults] = {}

    @property
    def identity(self) -> Hashable:
        """The values, besides the call, on which results of a call depend."""
        return (type(self),)

    def add(self, call_id: int, results: CallResults) -> None:
        """Add the results of a call."""
        self.results[call_id] = results
        self.stacks.add_all(results.stacks)

    def finalize(self) -> Mapping[str, Rows]:
        """Return the rows of all calls, in the order in which calls were added."""
        return {
            table: [row for results in self.results.values() for row in results.rows[table]]
            for table in map(str, self.tables)
        }

    def noted(self) -> list[str]:
        """Return the notes on all calls."""
        return [
            f"call {call_id}, {note}"
            for call_id, results in self.results.items()
            for note in results.notes
        ]


#: Results by the content of their call (`RecordedCall.content`) and the client's identity.
EqualCalls = dict[tuple[str, Hashable], CallResults]


def add_results(
    equal_calls: EqualCalls, client_pass: ClientPass, call_id: int, content: str
) -> bool:
    """Add the results of an equal call to all clients; return false if one has none."""
    clients = _by_call(client_pass)
    equal = [equal_calls.get((content, client.identity)) for client in clients]
    results = [known for known in equal if known is not None]
    if not results or len(results) < len(client_pass.members):
        return False
    for client, known in zip(clients, results, strict=True):
        client.add(call_id, known.of(call_id))
    return True


def keep_results(
    equal_calls: EqualCalls, client_pass: ClientPass, call_id: int, content: str
) -> None:
    """Keep the results of a call that was evaluated completely."""
    for client in _by_call(client_pass):
        results = client.results.get(call_id)
        if results is not None and results.are_shared:
            equal_calls[content, client.identity] = results


def _by_call(client_pass: ClientPass) -> list[ClientByCall]:
    """Return the clients of a pass that add results call by call and have not failed."""
    members = (member for member in client_pass.members if member.error is None)
    return [m.client for m in members if isinstance(m.client, ClientByCall)]
