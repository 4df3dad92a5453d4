"""Clients by name: the built-in clients, and the entry points of other packages."""

from collections.abc import Sequence
from typing import Any

from kvtrace import registry
from kvtrace.clients.client import Client
from kvtrace.schema.errors import BadSetting, nearest
from kvtrace.schema.plans import PASS_NAME


def client_names() -> tuple[str, ...]:
    """Return every name that `load_client` accepts, built-in ones first."""
    return tuple(dict.fromkeys(entry.name for entry in registry.entries("clients")))


def load_client(name: str) -> Client:
    """Return a new object of the client named `name`.

    Raises:
        BadSetting: no client has that name, or the registered object is not a client.

    """
    entry = registry.entry("clients", name)
    if entry is None:
        raise BadSetting(
            f"there is no client {name!r}{nearest(name, client_names())}; clients are "
            f"{', '.join(client_names())}."
        )
    try:
        candidate = entry.load()
    except Exception as error:
        raise BadSetting(
            f"the client {name!r} ({entry.place}) cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    return as_client(candidate, name)


def load_clients(names: Sequence[str]) -> list[Client]:
    """Return a new client for each distinct name; BadSetting as in `load_client`."""
    return [load_client(name) for name in dict.fromkeys(names)]


def as_client(candidate: Any, name: str | None = None) -> Client:
    """Return a client with a valid name, given its name, object or class, or a function.

    A function is called to make the client. `name` becomes the client's name. BadSetting if there
    is no such client, or the result is none.
    """
    if isinstance(candidate, str):
        return load_client(candidate)
    try:
        client = candidate if isinstance(candidate, Client) else candidate()
    except Exception as error:
        raise BadSetting(
            f"creating the client {name or candidate!r} failed: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(client, Client):
        raise BadSetting(
            f"{name or candidate!r} is a {type(client).__name__}, not a kvtrace.clients.Client"
        )
    client.name = name or client.name or type(client).__name__.lower()
    if PASS_NAME.fullmatch(client.name) is None:
        raise BadSetting(f"a client cannot be named {client.name!r}; use a-z, 0-9, _ and -")
    return client
