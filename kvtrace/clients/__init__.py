"""Clients: what is made of the evaluation of a call, by kvtrace itself and by other packages.

`client.py` is the public base class and `@on`, `events.py` an op with its values, `registry.py`
finds clients by name, `running.py` runs several in one pass (`hooks.py` puts some around ops),
`replay.py` does it for a recorded run and `observation.py` while a program runs. The
built-in clients are `tracer.py`, `profiler.py` and `sanitizer.py`; docs/clients.md shows how to
write one. May import schema, ir, evaluate and passes.
"""

from kvtrace.clients.client import Client, on
from kvtrace.clients.events import BadOverride, OpEvent, Values
from kvtrace.clients.registry import client_names, load_client
from kvtrace.clients.replay import Outcome, replay
from kvtrace.clients.running import ClientFailed
from kvtrace.evaluate import Access, OutOfBounds
from kvtrace.passes.calls import Call, UnreadyCall
from kvtrace.schema.client_tables import client_table
from kvtrace.schema.tables import TABLES, Column

__all__ = [
    "TABLES",
    "Access",
    "BadOverride",
    "Call",
    "Client",
    "ClientFailed",
    "Column",
    "OpEvent",
    "OutOfBounds",
    "Outcome",
    "UnreadyCall",
    "Values",
    "client_names",
    "client_table",
    "load_client",
    "on",
    "replay",
]
