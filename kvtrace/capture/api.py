"""The functions `kvtrace.start`, `stop`, `capture` and `mark`, and those behind the autostart."""

import atexit
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from kvtrace import _boot, registry, surroundings
from kvtrace.capture import groups
from kvtrace.capture.hot_choice import why_unavailable
from kvtrace.capture.session import Session
from kvtrace.forks import Lock
from kvtrace.schema.errors import RecordingUnavailable
from kvtrace.settings import settings_from_arguments, settings_in_force
from kvtrace.surroundings import print_error

#: Seconds between two looks at an import in another thread.
_PAUSE = 0.01

_lock = Lock()
_current: Session | None = None
_latest: Session | None = None  # the last one that has ended
_registered = False
_gave_group = False
_ended = False


def start(out: str | os.PathLike[str], **settings: Any) -> Session:
    """Start recording into the directory `out`; return the current session if one is recording.

    A recording started by the variable `KVTRACE` lasts from the start of the process.
    In a sub-interpreter nothing is recorded.

    Settings are those of `kvtrace.settings.Settings`; the environment (`KVTRACE_MODE` and so on)
    provides the settings that are not passed.

        session = kvtrace.start("out/", tensors="int")

    Raises:
        BadSetting: there is no such setting, or its value is not valid.
        RecordingUnavailable: programs cannot be recorded here (`hot_choice.why_unavailable`).
    """
    return _begin(out, settings)


def _begin(
    out: str | os.PathLike[str],
    settings: Mapping[str, Any],
    leaves_nothing: bool = False,
    visits: bool = False,
) -> Session:
    """Return the current session if one is recording, else a new one."""
    global _current, _gave_group, _registered
    inner = surroundings.in_subinterpreter()
    reason, advice = ("", "") if inner else why_unavailable()
    if reason:
        raise RecordingUnavailable(f"{reason}; {advice}")
    base, problems = settings_in_force(os.environ)
    effective_settings = settings_from_arguments(base, **settings)
    with _lock:
        recording = current() or _session_of_environment()
        folder = os.path.abspath(os.fspath(out))  # noqa: PTH100
        if recording is not None:
            if folder != recording.out:
                recording.message(
                    "info", "already-recording", f"start({folder!r}) during this recording"
                )
            _install_for_imported(recording)
            return recording
        session = Session(
            folder, effective_settings, leaves_nothing=leaves_nothing, watches_ends=not visits
        )
        if inner:
            session.stop()
            return session
        _current = session
        _gave_group = groups.pass_group_on(os.environ)
        if not _registered:
            _registered = True
            atexit.register(process_ends)
    for problem in problems:
        session.message("warning", "bad-setting", problem)
    if effective_settings.device == "cpu":
        _boot.wait_without_gpu()
    _boot.watch()
    _install_for_imported(session, waits=visits)
    return session


def stop() -> None:
    """End the recording and seal its files; do nothing without a recording.

    The program continues unchanged: without a GPU, kernels still run in the evaluator.
    """
    _end("stopped")


def visit(out: str, settings: Mapping[str, Any]) -> Session:
    """Start recording in a thread that the program does not know; `leave` takes all back."""
    return _begin(out, settings, leaves_nothing=True, visits=True)


def leave() -> None:
    """End the recording that `visit` began, as if it had never been."""
    global _latest, _registered
    _end("stopped")
    _latest, _registered = None, False
    atexit.unregister(process_ends)
    _boot.stop_watching()


@contextmanager
def capture(out: str | os.PathLike[str], **settings: Any) -> Iterator[Session]:
    """Record the launches of a `with` block; a recording already in progress continues after it.

        with kvtrace.capture("out/"):
            train()

    Raises:
        BadSetting: there is no such setting, or its value is not valid.
        RecordingUnavailable: programs cannot be recorded here (`hot_choice.why_unavailable`).
    """
    current_session = current() or _session_of_environment()
    session = _begin(out, settings, leaves_nothing=True)
    if session is current_session:
        yield session
        return
    try:
        yield session
    except BaseException:
        _end("exception")
        raise
    _end("stopped")


class mark:  # noqa: N801 - used like a function, and as a context
    """Record an instant, or in a `with` statement a range.

        kvtrace.mark("epoch", number=3)
        with kvtrace.mark("step", loss=0.7):
            step()

    Does next to nothing when not recording.
    """

    __slots__ = ("_attributes", "_begin", "_instant", "_is_recorded", "_name", "_session")

    def __init__(self, name: str, /, **attributes: Any) -> None:
        """Record an instant with the given values; `with` replaces the instant by a range."""
        self._session = current() or _session_of_environment()
        if self._session is None:
            return
        self._name = name
        self._attributes = attributes
        is_recorded = self._session.records_launches  # also the instant that ends the last step
        if self._session.window is not None:
            self._session.window.mark(name)
        self._begin = time.time_ns()
        is_recorded = is_recorded or self._session.records_launches
        self._instant = self._add(None) if is_recorded else []

    def _add(self, end: int | None) -> list[dict[str, Any]]:
        assert self._session is not None
        try:
            return self._session.add_mark(self._name, self._begin, end, self._attributes)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)
            return []

    def __enter__(self) -> "mark":
        if self._session is not None:
            self._instant.clear()
            if self._session.window is not None:
                self._session.window.enter(self._name)
            self._is_recorded = self._session.records_launches
            self._begin = time.time_ns()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._session is not None:
            if self._is_recorded:
                self._add(time.time_ns())
            if self._session.window is not None:
                self._session.window.leave(self._name)


def current() -> Session | None:
    """Return the recording in progress, or None."""
    session = _current
    return session if session is not None and session.recording else None


def library_imported(name: str) -> None:
    """Install backends that wait for a library just imported (`kvtrace/_boot.py` calls this)."""
    begin = time.monotonic_ns()
    session = current() or _session_of_environment()
    if session is not None:
        from kvtrace.capture.backends import install_for

        install_for(name, session)
        session.spent(time.monotonic_ns() - begin)


def process_ends() -> None:
    """End and seal the recording at exit, with the ending "exit", "signal" or "exception".

    `sys.last_value` shows whether an exception ended the process.
    """
    global _ended, _latest
    _ended = True
    if _current is not None:
        _current.process_ends()
    error = getattr(sys, "last_value", None)
    if error is None:
        _end("exit")
    elif isinstance(error, KeyboardInterrupt):
        _end("signal")
    else:
        _end("exception")
    ends_module = sys.modules.get("kvtrace.capture.ends")
    if ends_module is not None:
        ends_module.sigterm_may_end()
    session, _latest = _latest, None  # this may be called again
    if session is not None:
        _say_last(session, error)
    if isinstance(error, KeyboardInterrupt) and not hasattr(sys, "ps1"):  # of no earlier statement
        _end_by_sigint()


def _end_by_sigint() -> None:
    """Make Python end by SIGINT (status 130), as it does after a KeyboardInterrupt.

    A string executed since, as by `dataclasses` and `namedtuple` in modules imported to seal the
    files, makes Python forget this (`run_eval_code_obj` in CPython's pythonrun.c resets the flag
    that the same function sets; seen in 3.9 to 3.13).
    """
    with suppress(KeyboardInterrupt):
        exec("raise KeyboardInterrupt")  # noqa: S102


def _say_last(session: Session, error: BaseException | None) -> None:
    """Print what explains a failure, or that nothing was launched."""
    try:
        from kvtrace.capture.closing_line import print_closing_line

        print_closing_line(session, session.out, _boot.began_ns, error)
        for _, explain in registry.loaded("at_failure") if isinstance(error, Exception) else ():
            explain(session, error)
    except ImportError:
        return  # the program refuses imports, or has emptied sys.path
    except (Exception, KeyboardInterrupt) as failure:  # noqa: BLE001 - the program ends as it would
        print_error(f"the program's end is not explained: {type(failure).__name__}: {failure}")


def _end(ending: str) -> None:
    global _current, _gave_group, _latest
    with _lock:
        session, _current = _current, None
        _boot.out = None  # the recording that the variable asked for has ended
    if session is None:
        return
    _latest = session
    from kvtrace.capture.backends import uninstall_all

    uninstall_all()
    session.stop(ending)
    if _gave_group:
        _gave_group = False
        os.environ.pop(groups.VARIABLE, None)


def _session_of_environment() -> Session | None:
    """Return the session of the variable `KVTRACE`, made at the first call; None without it."""
    global _current
    if _boot.out is None:
        return None
    reason, advice = why_unavailable()
    if reason:
        _boot.out = None  # print the message once
        print_error(f"{reason}; {advice}")
        return None
    with _lock:
        if _current is None and not _ended:
            settings, problems = settings_in_force(os.environ)
            _current = Session(_boot.out, settings)
            for problem in problems:
                _current.message("warning", "bad-setting", problem)
        return _current


def _install_for_imported(session: Session, waits: bool = False) -> None:
    """Install the backends of imported libraries, with `waits` after other threads' imports."""
    from kvtrace.capture.backends import install_for, libraries
    from kvtrace.capture.collector import Uncounted

    while waits and any(map(_is_being_imported, libraries())):
        time.sleep(_PAUSE)
    with Uncounted(leaves_objects=True):
        for name in libraries():
            if name in sys.modules:
                install_for(name, session)


def _is_being_imported(name: str) -> bool:
    specification = getattr(sys.modules.get(name), "__spec__", None)
    return getattr(specification, "_initializing", False)
