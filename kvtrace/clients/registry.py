"""Clients by name: the built-in ones, and those of other packages by their entry points."""

from collections.abc import Sequence
from typing import Any

from kvtrace import registry
from kvtrace.clients.client import Client
from kvtrace.schema.errors import BadSetting, nearest
from kvtrace.schema.replacement import PASS_NAME


def client_names() -> tuple[str, ...]:
    """Every name that `load_client` knows, built-in ones first."""
    return tuple(dict.fromkeys(entry.name for entry in registry.entries("clients")))


def load_client(name: str) -> Client:
    """Make a client by its name.

    Raises:
        BadSetting: there is none of that name, or what a package registers under it is not a
            client.

    """
    entry = registry.entry("clients", name)
    if entry is None:
        raise BadSetting(
            f"there is no client {name!r}{nearest(name, client_names())}; choose of "
            f"{', '.join(client_names())}."
        )
    try:
        found = entry.load()
    except Exception as error:
        raise BadSetting(
            f"the client {name!r} ({entry.place}) cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    return as_client(found, name)


def load_clients(names: Sequence[str]) -> list[Client]:
    """Make several clients, each name once; BadSetting as `load_client`."""
    return [load_client(name) for name in dict.fromkeys(names)]


def as_client(candidate: Any, name: str | None = None) -> Client:
    """Make a client of a class, or of anything that gives one; BadSetting if it is none."""
    if isinstance(candidate, str):
        return load_client(candidate)
    try:
        made = candidate if isinstance(candidate, Client) else candidate()
    except Exception as error:
        raise BadSetting(
            f"the client {name or candidate!r} cannot be made: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(made, Client):
        raise BadSetting(
            f"{name or candidate!r} is a {type(made).__name__}, not a kvtrace.clients.Client"
        )
    made.name = name or made.name or type(made).__name__.lower()
    if PASS_NAME.fullmatch(made.name) is None:
        raise BadSetting(f"{made.name!r} is not a name for a client; use a-z, 0-9, _ and -")
    return made
