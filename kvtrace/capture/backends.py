"""Which backends there are: found by entry points, installed when their library is imported.

The libraries that a backend waits for may be named by entry points, too, under `kvtrace.libraries`:
then it is imported only once one of them is. All of kvtrace's own are.
"""

import sys
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from kvtrace import registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtrace.capture.session import Session
    from kvtrace.registry import Entry

#: Groups of entries by the library that a backend waits for.
_BY_LIBRARY: Final = ("libraries", "libraries_without_gpu")


class Backend(Protocol):
    """Hooks one library for a session. What it hooks must never raise into the program."""

    @property
    def name(self) -> str:
        """Short name, as `triton`."""

    @property
    def libraries(self) -> tuple[str, ...]:
        """Modules whose import makes the backend useful; any of them installs it."""

    def install(self, session: "Session") -> None:
        """Hook the library, which has just been imported, for a session."""

    def uninstall(self) -> None:
        """Take the hooks back out, or make them do nothing where others lie on top of them."""


@runtime_checkable
class WatchingBackend(Backend, Protocol):
    """A backend whose kernels `kvtrace.trace` can have watched by a client."""

    def watcher(
        self, client: Any, session_of: "Callable[[str], Session]"
    ) -> "Callable[[Any], Any]":
        """Return what makes a watched kernel of a kernel.

        Args:
            client: what the user named as client, None where nothing was.
            session_of: returns the recording for the kernel of a name; to be asked at each launch.

        Raises:
            BadSetting: this backend's kernels have no such client.

        """


_installed: list[Backend] = []


def libraries() -> tuple[str, ...]:
    """Every library that a backend waits for."""
    named = (entry.name for group in _BY_LIBRARY for entry in registry.entries(group))
    asked = (name for backend in _asked().values() for name in backend.libraries)
    return tuple(dict.fromkeys((*named, *asked)))


def install_for(library: str, session: "Session") -> None:
    """Install the backends that wait for `library`; one that fails is a message, not an error."""
    for group in _BY_LIBRARY:
        for entry in registry.entries(group):
            if entry.name == library:
                _install(entry, session)
    for name, backend in _asked().items():
        if library in backend.libraries:
            _install_backend(name, backend, session)


def watching_backend(name: str) -> WatchingBackend:
    """Return the backend of a name, whose kernels can be watched.

    Raises:
        BadSetting: there is none; the sentence lists those that there are.

    """
    entry = registry.entry("backends", name)
    backend = None if entry is None else entry.load()
    if isinstance(backend, WatchingBackend):
        return backend
    from kvtrace.schema.errors import BadSetting

    watching = (name for name, found in registry.loaded("backends") if _watches(found))
    raise BadSetting(
        f"kernels of the backends {' and '.join(watching)} are traced, not of {name!r}"
    )


def _watches(backend: object) -> bool:
    return isinstance(backend, WatchingBackend)


def uninstall_all() -> None:
    """Take out every installed backend."""
    while _installed:
        _uninstall(_installed.pop())


def _uninstall(backend: Backend) -> None:
    try:
        backend.uninstall()
    except Exception as error:  # noqa: BLE001 - the program continues, or ends, as it would
        print(f"kvtrace: the backend {backend.name} stays hooked: {error}", file=sys.stderr)


def _install(entry: "Entry", session: "Session") -> None:
    try:
        backend = entry.load()
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("kvtrace."):
            return  # this build of kvtrace has no such backend
        text = f"the backend {entry.place} needs {error.name}"
        session.message("warning", "backend-failed", text)
        return
    except Exception as error:  # noqa: BLE001 - the program continues without it
        session.message("warning", "backend-failed", f"the backend {entry.place} fails: {error}")
        return
    _install_backend(entry.place, backend, session)


def _install_backend(name: str, backend: Backend, session: "Session") -> None:
    if backend in _installed:
        return
    try:
        backend.install(session)
    except Exception as error:  # noqa: BLE001 - the program continues without it
        session.message("warning", "backend-failed", f"the backend {name} cannot record: {error}")
        _uninstall(backend)
        return
    _installed.append(backend)


def _asked() -> dict[str, Backend]:
    """Backends of other packages that name no libraries among their entry points, by name."""
    places = {entry.place for entry in registry.installed_entries("libraries")}
    found = {
        entry.name: registry.loaded_or_none(entry)
        for entry in registry.installed_entries("backends")
        if entry.place not in places
    }
    return {name: backend for name, backend in found.items() if backend is not None}
