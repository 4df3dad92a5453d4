"""A test that starts something says so, and each tier has the tests that it is to have."""

import re

import pytest

from tests.support import thorough, tiers
from tests.support.tiers import KINDS, unnoted
from tests.support.tree import ROOT

pytest_plugins = ["pytester"]

FILE = """
import os
import subprocess
import sys

import pytest

from tests.support.tiers import PAGE, needs

@pytest.fixture(scope="session")
def recorded():
    subprocess.run([sys.executable, "-c", ""], check=True)

@pytest.fixture
@needs("browser")
def page():
    sys.audit(PAGE)

def test_silent(): pass
def test_tool(): subprocess.run(["git", "--version"], check=True)
def test_starts(): subprocess.run([sys.executable, "-c", ""], check=True)
def test_forks():
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
def test_first_of_a_fixture(recorded): pass
def test_second_of_a_fixture(recorded): pass
def test_shows(): sys.audit(PAGE)
def test_fixture_says_so(page): pass
@pytest.mark.process
def test_says_so(recorded): subprocess.run([sys.executable, "-c", ""], check=True)
@pytest.mark.process
def test_process_shows(): sys.audit(PAGE)
@pytest.mark.browser
def test_browser_starts(recorded): sys.audit(PAGE)
@pytest.mark.sweep
def test_long(): pass
@pytest.mark.sweep
@pytest.mark.smoke
def test_long_and_smoke(): pass
"""
WITHOUT = {"starts", "forks", "first_of_a_fixture", "second_of_a_fixture", "shows"}
ONE_PROCESS = WITHOUT | {"silent", "tool", "long_and_smoke"}


@pytest.fixture
def inner(pytester):
    """Run pytest on that file; what its tests start is not this test's."""
    pytester.makeini("[pytest]\nmarkers =\n" + "".join(f"  {name}\n" for name in (*KINDS, "smoke")))

    def run(content, *options):
        pytester.makepyfile(content)
        with unnoted():
            return pytester.runpytest_inprocess("-p", "tests.support.tiers", "-rA", *options)

    return run


def names(result, outcome):
    return set(re.findall(rf"^{outcome} \S+::test_(\w+)", "\n".join(result.outlines), re.MULTILINE))


def test_test_that_starts_a_process_without_marker_fails(inner):
    result = inner(FILE)

    assert names(result, "FAILED") == WITHOUT | {"process_shows"}
    result.stdout.fnmatch_lines(
        ["it starts subprocess.Popen python*: mark it @pytest.mark.process"]
    )
    result.stdout.fnmatch_lines(["it starts kvtrace.tests.page: mark it @pytest.mark.browser"])


def test_first_tier_has_unmarked_and_smoke_tests(inner):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (chosen,) = re.findall(r"^FIRST_TIER := (.*)$", makefile, re.MULTILINE)

    result = inner(FILE, "-m", chosen)

    assert names(result, "FAILED") | names(result, "PASSED") == ONE_PROCESS


def test_smoke_test_without_another_marker_is_refused(inner):
    result = inner("import pytest\n@pytest.mark.smoke\ndef test_silent(): pass")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_silent is marked smoke, and `make test` runs it anyway"])


def test_each_value_has_a_day_at_pushes_in_turn(monkeypatch):
    pushed, chosen = [], []
    for day in range(100, 104):
        monkeypatch.setattr(tiers, "DAY", day)
        monkeypatch.setattr(thorough, "DAY", day)
        marked = [
            value for value in tiers.some(range(10), 3, pushed=4) if not isinstance(value, int)
        ]
        kinds = {value.values[0]: value.marks[0].name for value in marked}
        assert kinds.keys() == {1, 2, 4, 5, 7, 8}
        pushed += [value for value, kind in kinds.items() if kind == "sweep"]
        chosen += thorough.in_turn(range(10), 4)

    assert sorted(pushed) == [1, 2, 4, 5, 7, 8]
    assert sorted(chosen) == list(range(10)) or thorough.THOROUGH
