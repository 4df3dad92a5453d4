"""Backends: found by entry points, and installed when a library that they hook is imported.

Entry points under `kvtrace.libraries` name the libraries that a backend waits for, so that the
backend is imported only after one of these libraries. All backends of kvtrace have such entries.
"""

from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from kvtrace import registry
from kvtrace.surroundings import print_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtrace.capture.session import Session
    from kvtrace.registry import Entry

#: Groups of entries by the library that a backend waits for.
_BY_LIBRARY: Final = ("libraries", "libraries_without_gpu")


class Backend(Protocol):
    """An object that hooks a library for a session; its hooks must never raise into the program."""

    @property
    def name(self) -> str:
        """Short name, as `triton`."""

    @property
    def libraries(self) -> tuple[str, ...]:
        """Names of modules; the backend is installed when one of them is imported."""

    def install(self, session: "Session") -> None:
        """Hook a library, which has just been imported, so that the session gets its launches."""

    def uninstall(self) -> None:
        """Remove the hooks, or disable those that other code has wrapped."""


@runtime_checkable
class WatchingBackend(Backend, Protocol):
    """A backend whose kernels `kvtrace.trace` can watch by a client."""

    def watcher(
        self, client: Any, session_of: "Callable[[str], Session]"
    ) -> "Callable[[Any], Any]":
        """Return a function that wraps a kernel into a watched kernel.

        Args:
            client: the client that the user named, or None.
            session_of: a function from a kernel's name to its recording; called at each launch.

        Raises:
            BadSetting: this backend's kernels have no such client.

        """


_installed: list[Backend] = []


def libraries() -> tuple[str, ...]:
    """Return the names of the modules at whose import a backend is installed."""
    from_entries = (entry.name for group in _BY_LIBRARY for entry in registry.entries(group))
    from_backends = (
        name for backend in _backends_without_libraries().values() for name in backend.libraries
    )
    return tuple(dict.fromkeys((*from_entries, *from_backends)))


def install_for(library: str, session: "Session") -> None:
    """Install the backends that hook `library`; a failure becomes a message of the run."""
    for group in _BY_LIBRARY:
        for entry in registry.entries(group):
            if entry.name == library:
                _install(entry, session)
    for name, backend in _backends_without_libraries().items():
        if library in backend.libraries:
            _install_backend(name, backend, session)


def watching_backend(name: str) -> WatchingBackend:
    """Return the backend named `name`, whose kernels `kvtrace.trace` can watch.

    Raises:
        BadSetting: no backend of that name can watch kernels.

    """
    entry = registry.entry("backends", name)
    backend = None if entry is None else entry.load()
    if isinstance(backend, WatchingBackend):
        return backend
    from kvtrace.schema.errors import BadSetting

    backends = registry.loaded("backends")
    watching = (name for name, backend in backends if isinstance(backend, WatchingBackend))
    raise BadSetting(
        f"the backend {name!r} cannot trace kernels; choose one of {', '.join(watching)}"
    )


def uninstall_all() -> None:
    """Uninstall every installed backend."""
    while _installed:
        _uninstall(_installed.pop())


def _uninstall(backend: Backend) -> None:
    try:
        backend.uninstall()
    except Exception as error:  # noqa: BLE001 - the program continues, or ends, as it would
        print_error(f"the backend {backend.name} stays hooked: {error}")


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


def _backends_without_libraries() -> dict[str, Backend]:
    """Return other packages' backends, by name, for which no entry point names a library."""
    with_library = {entry.place for entry in registry.installed_entries("libraries")}
    backends = {
        entry.name: registry.loaded_or_none(entry)
        for entry in registry.installed_entries("backends")
        if entry.place not in with_library
    }
    return {name: backend for name, backend in backends.items() if backend is not None}
