"""Backends: each adapts one source of launches to capture.

A backend lives in a folder of its own here, or beside the language that it records (`kvtrace.nki`,
`kvtrace.hlo`), or in another package that names it under the entry point group `kvtrace.backends`.
What Triton and Inductor share is in `compiled/`, what every backend may use in the modules of this
folder; `cupti/` is the device timeline. May import capture, clients, and what those may; no backend
imports another.

The built-in backends are found without reading entry points, which takes some 20 ms: that happens
when one of their libraries is imported, or at `kvtrace.start`.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from kvtrace import _boot
from kvtrace._boot import BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kvtrace.capture.journal import Listener
    from kvtrace.capture.session import Session

GROUP: Final = "kvtrace.backends"


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
_found: dict[str, Backend] | None = None


def libraries() -> tuple[str, ...]:
    """Every library that a backend waits for."""
    extra = (name for backend in _extra().values() for name in backend.libraries)
    return tuple(dict.fromkeys((*BUILT_IN, *extra)))


def install_for(library: str, session: "Session") -> None:
    """Install the backends that wait for `library`; one that fails is a message, not an error."""
    place = BUILT_IN.get(library)
    if place is not None:
        _install(place, session)
    for name, backend in _extra().items():
        if library in backend.libraries:
            _install_backend(name, backend, session)


def watching_backend(name: str) -> WatchingBackend:
    """Return the backend of a name, whose kernels can be watched.

    Raises:
        BadSetting: there is none; the sentence lists those that there are.

    """
    known = []
    for backend in _all():
        if isinstance(backend, WatchingBackend):
            if backend.name == name:
                return backend
            known.append(backend.name)
    from kvtrace.schema.errors import BadSetting

    raise BadSetting(f"kernels of the backends {' and '.join(known)} are traced, not of {name!r}")


def uninstall_all() -> None:
    """Take out every installed backend."""
    while _installed:
        _uninstall(_installed.pop())


def device_timeline(session: "Session") -> "Listener":
    """Start what records when kernels run on the device.

    Raises:
        KvtraceError: it cannot be recorded here; the sentence says why.
    """
    from kvtrace.backends.cupti.timeline import Timeline

    return Timeline(session)


def _uninstall(backend: Backend) -> None:
    try:
        backend.uninstall()
    except Exception as error:  # noqa: BLE001 - the program goes on, or ends, as it would
        print(f"kvtrace: the backend {backend.name} stays hooked: {error}", file=sys.stderr)


def _install(place: str, session: "Session") -> None:
    try:
        backend = _load(place)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("kvtrace."):
            return  # this build of kvtrace has no such backend
        session.message("warning", "backend-failed", f"the backend {place} needs {error.name}")
        return
    except Exception as error:  # noqa: BLE001 - the program goes on without it
        session.message("warning", "backend-failed", f"the backend {place} fails: {error}")
        return
    _install_backend(place, backend, session)


def _install_backend(name: str, backend: Backend, session: "Session") -> None:
    if backend in _installed:
        return
    try:
        backend.install(session)
    except Exception as error:  # noqa: BLE001 - the program goes on without it
        session.message("warning", "backend-failed", f"the backend {name} cannot record: {error}")
        _uninstall(backend)
        return
    _installed.append(backend)


def _all() -> "Iterator[Backend]":
    """Every backend, the built-in ones first; each is imported when it is reached."""
    for place in BUILT_IN.values():
        yield _load(place)
    yield from _extra().values()


def _extra() -> dict[str, Backend]:
    """Backends of other packages, by the name of their entry point; found once."""
    global _found
    if _found is not None:
        return _found
    _found = {}
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        if point.value in BUILT_IN.values():
            continue
        try:
            _found[point.name] = point.load()
        except Exception as error:  # noqa: BLE001 - another package's fault must not stop ours
            print(f"kvtrace: the backend {point.name} cannot be loaded: {error}", file=sys.stderr)
    _boot.add_libraries([name for backend in _found.values() for name in backend.libraries])
    return _found


def _load(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
