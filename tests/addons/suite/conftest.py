"""A recording, and the suite of it."""

from pathlib import Path
from typing import NamedTuple

import pytest

from kvtrace.addons.suite.making import make_suite
from kvtrace.addons.suite.model import Suite
from kvtrace.schema.trace import Selection, select_runs

pytest.importorskip("torch")
pytest.importorskip("triton")


class Made(NamedTuple):
    """A selection of runs, and its suite."""

    selection: Selection
    folder: Path
    suite: Suite


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    from tests.addons.suite.recorded_kernels import record

    folder = tmp_path_factory.mktemp("suite")
    record(folder / "out")
    selection = select_runs(folder / "out")
    return Made(selection, folder / "suite", make_suite(selection, folder / "suite"))
