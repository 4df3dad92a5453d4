"""Outputs of traces recorded on a GPU, made once a session for all tests."""

import json
from contextlib import redirect_stdout
from functools import cache, cached_property
from io import StringIO
from pathlib import Path
from typing import Any, Final

from kvtrace.cli import main
from kvtrace.converters.diff.snapshot import Snapshot, take_snapshot
from kvtrace.converters.report.data import report_data
from kvtrace.converters.report.model import Report
from kvtrace.schema.trace import Selection, resolve

FIXTURES: Final = Path(__file__).parents[1] / "fixtures" / "h200"


class RecordedOutputs:
    """What `info`, `profile`, a side of `diff` and the page say of a trace, each when it is asked.

    Tests change nothing of it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def info(self) -> Any:
        """The object that `info` prints."""
        return json.loads(self._printed("info", "--json"))

    @cached_property
    def profile(self) -> Any:
        """The object that `profile` prints."""
        return json.loads(self._printed("profile", "--no-replay", "--json"))

    @cached_property
    def text(self) -> str:
        """The text of `profile`, on one line."""
        return " ".join(self._printed("profile", "--no-replay").split())

    @cached_property
    def diff(self) -> Snapshot:
        """The trace as a side of a comparison."""
        return take_snapshot(self._side, "before")

    @cached_property
    def page(self) -> Report:
        """The data of the page."""
        return report_data(self._side.trace, self._side.runs, "title", "trace/")

    def sql(self, query: str) -> Any:
        """Return what `kvtrace sql` answers, over its own views: one value."""
        rows = json.loads(self._printed("sql", query, "--json"))["rows"]
        ((value,),) = (row.values() for row in rows)
        return value

    @cached_property
    def _side(self) -> Selection:
        return resolve(str(self.folder))

    def _printed(self, command: str, *words: str) -> str:
        text = StringIO()
        with redirect_stdout(text):
            assert main([command, str(self.folder), *words]) == 0
        return text.getvalue()


@cache
def recorded_outputs(name: str) -> RecordedOutputs:
    """Return the outputs of a trace below `tests/fixtures/h200`."""
    return RecordedOutputs(FIXTURES / name)
