"""Tiers of tests: markers that say what a test needs besides this process, and checks of them.

`process` (starts a program, or forks), `browser` (opens a page in Chromium), `sweep` (takes a part
of many cases, for seconds) and `costly("reason")` (takes more than half a second of processor time)
leave a test to `.ci/run`; `night("reason")` leaves it to the night. Those that are marked `smoke`,
too, run in `make test` all the same. A fixture that brings a need along says `@needs("browser")`:
it marks all tests that use it. A test that starts something without a marker for it fails, and so
does a marker `costly` or `night` without a reason, so no test is in a tier by mistake.
"""

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from tests.support.thorough import DAY

KINDS: Final = ("process", "browser", "sweep", "costly", "night")
#: Kinds whose marker says why: `@pytest.mark.night("forty cases of one formula; one stays")`.
WITH_REASON: Final = ("costly", "night")
#: Small programs that are asked for one answer in milliseconds, mostly by the code that is tested,
#: and by Python and Triton once a process (`uname`, `ldconfig`).
TOOLS: Final = frozenset(
    {"git", "uname", "ldconfig", "ptxas", "ptxas-blackwell", "nvdisasm", "cuobjdump"}
)
#: Audit events of our helpers, which use servers that run already: the warm Python and Chromium.
PROGRAM: Final = "kvtrace.tests.program"
PAGE: Final = "kvtrace.tests.page"
STARTS: Final = frozenset(
    {PROGRAM, PAGE, "subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.system"}
)

Fixture = TypeVar("Fixture", bound=Callable[..., Any])

#: What is being set up or called now, outermost first: what each has started is noted in its set.
_noted: list[set[str]] = []
_of_fixtures: dict[object, set[str]] = {}


def needs(kind: str) -> Callable[[Fixture], Fixture]:
    """Mark all tests that use a fixture; stands below `@pytest.fixture`."""

    def mark(function: Fixture) -> Fixture:
        vars(function)["needs"] = kind
        return function

    return mark


def some(values: Sequence[Any], each: int, pushed: int = 8) -> list[Any]:
    """Return parameters of which `make test` takes one in so many, and the night takes all.

    Of the others `.ci/run` takes one in `pushed`, as a sweep: after so many days, each of them.
    """
    night = pytest.mark.night(
        f"alike values; one in {each} stays by day, one in {pushed} in turn at a push"
    )
    others = [at for at in range(len(values)) if at % each]
    in_turn = set(others[DAY % pushed :: pushed])
    return [
        value
        if at % each == 0
        else pytest.param(value, marks=pytest.mark.sweep if at in in_turn else night)
        for at, value in enumerate(values)
    ]


@contextmanager
def unnoted() -> Iterator[None]:
    """For what is started once and kept for later runs."""
    noted, _noted[:] = list(_noted), []
    try:
        yield
    finally:
        _noted[:] = noted


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in STARTS or not _noted:
        return
    if event in ("subprocess.Popen", "os.posix_spawn"):
        command = arguments[1] if isinstance(arguments[1], list | tuple) else [arguments[1]]
        name = Path(str(command[0])).name
        if name in TOOLS:
            return
        event = f"{event} {name}"
    for each in _noted:
        each.add(event)


sys.addaudithook(_hear)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for kind in {getattr(each.func, "needs", None) for each in _fixtures(item)} - {None}:
            item.add_marker(kind)
        if item.get_closest_marker("smoke") and not _kinds(item):
            raise pytest.UsageError(
                f"{item.nodeid} is marked smoke, and `make test` runs it anyway"
            )
        for marker in item.iter_markers():
            if marker.name in WITH_REASON and not "".join(map(str, marker.args)).strip():
                raise pytest.UsageError(f"{item.nodeid} is marked {marker.name} without a reason")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
    _noted.append(set())
    try:
        return (yield)
    finally:
        _of_fixtures[fixturedef] = _noted.pop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    _noted.append(noted := set())
    try:
        result = yield
    finally:
        _noted.pop()
    noted.update(*(_of_fixtures.get(each, ()) for each in _fixtures(item)))
    wanted = "browser" if PAGE in noted else "process"
    if noted and not {wanted, "browser"} & _kinds(item):
        started = ", ".join(sorted(noted))
        pytest.fail(f"it starts {started}: mark it @pytest.mark.{wanted}", pytrace=False)
    return result


def _kinds(item: pytest.Item) -> set[str]:
    return {kind for kind in KINDS if item.get_closest_marker(kind)}


def _fixtures(item: pytest.Item) -> Iterator[pytest.FixtureDef[Any]]:
    """All that a test uses, also by way of others."""
    information = getattr(item, "_fixtureinfo", None)  # a test of another kind has none
    for definitions in information.name2fixturedefs.values() if information else ():
        yield definitions[-1]
