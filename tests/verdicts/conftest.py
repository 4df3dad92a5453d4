"""Prints, at the end of a session, how the corpus and the libraries' kernels came out."""

from importlib.util import find_spec

import pytest

if find_spec("triton") is None:  # macOS and Windows: nothing here can be compiled
    collect_ignore_glob = ["test_*.py"]

SUMMARIES = pytest.StashKey[dict[str, list[str]]]()


@pytest.fixture(scope="session")
def say(pytestconfig):
    """Add lines to a section of the terminal's summary."""
    sections = pytestconfig.stash.setdefault(SUMMARIES, {})

    def add(section, *lines):
        sections.setdefault(section, []).extend(lines)

    return add


def pytest_terminal_summary(terminalreporter, config):
    if config.option.verbose < 0:
        return
    for section, lines in config.stash.get(SUMMARIES, {}).items():
        terminalreporter.section(section)
        for line in lines:
            terminalreporter.line(line)
