"""Clients: analyses of evaluated calls, built-in or from other packages.

`client.py` has the public base class and `@on`, `events.py` an op with its values, `registry.py`
clients by name. `running.py` runs several clients in one pass (and calls methods around
ops), `recorded.py` over a recorded run and `observation.py` while a program runs. The built-in
clients are `tracer.py`, `profiler.py` and `sanitizer.py`; docs/clients.md shows how to write a
client. May import verdicts and the floors below.
"""

# Imported when first used: a launch needs few of these files.
from typing import TYPE_CHECKING, Any

from kvtrace.lazy import public_name

if TYPE_CHECKING:
    from kvtrace.clients.client import Client as Client
    from kvtrace.clients.client import on as on
    from kvtrace.clients.events import BadOverride as BadOverride
    from kvtrace.clients.events import OpEvent as OpEvent
    from kvtrace.clients.events import Values as Values
    from kvtrace.clients.recorded import Outcome as Outcome
    from kvtrace.clients.recorded import replay as replay
    from kvtrace.clients.registry import client_names as client_names
    from kvtrace.clients.registry import load_client as load_client
    from kvtrace.clients.running import ClientFailed as ClientFailed
    from kvtrace.evaluate import Access as Access
    from kvtrace.evaluate import OutOfBounds as OutOfBounds
    from kvtrace.recorded_calls.recorded import Call as Call
    from kvtrace.recorded_calls.recorded import UnreadyCall as UnreadyCall
    from kvtrace.schema.client_tables import client_table as client_table
    from kvtrace.schema.table_types import Column as Column
    from kvtrace.schema.tables import TABLES as TABLES

_HOMES = {
    "Access": "kvtrace.evaluate",
    "BadOverride": "kvtrace.clients.events",
    "Call": "kvtrace.recorded_calls.recorded",
    "Client": "kvtrace.clients.client",
    "ClientFailed": "kvtrace.clients.running",
    "Column": "kvtrace.schema.table_types",
    "OpEvent": "kvtrace.clients.events",
    "OutOfBounds": "kvtrace.evaluate",
    "Outcome": "kvtrace.clients.recorded",
    "TABLES": "kvtrace.schema.tables",
    "UnreadyCall": "kvtrace.recorded_calls.recorded",
    "Values": "kvtrace.clients.events",
    "client_names": "kvtrace.clients.registry",
    "client_table": "kvtrace.schema.client_tables",
    "load_client": "kvtrace.clients.registry",
    "on": "kvtrace.clients.client",
    "replay": "kvtrace.clients.recorded",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    return public_name(globals(), _HOMES, name)
