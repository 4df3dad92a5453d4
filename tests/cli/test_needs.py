"""Declared needs of commands suffice for their answers, and each of them is necessary."""

import json
import re

import pytest

from docs_site.needs import PAGE, declared_needs, page_text
from kvtrace.schema.trace import open_trace
from tests.support.core_trace import write_with_columns
from tests.support.tiers import some
from tests.support.tree import ROOT

RECORDED = ROOT / "tests" / "fixtures" / "h200" / "planted" / "good"
NEEDS = declared_needs()


def prints(pattern):
    """Return whether a command's output has a match."""
    return lambda out, _folder: re.search(pattern, out) is not None


def launches_have_durations(_out, folder):
    events = json.loads((folder / "timeline.json").read_text())["traceEvents"]
    durations = [event["dur"] for event in events if event.get("cat") == "launch"]
    return len(durations) == 120 and min(durations) > 0


#: How each command is asked, and whether it has its main answer; TRACE is the trace.
ANSWERS = {
    "info": (["info", "TRACE"], prints(r"120 launches of 1 unique call(.*\n)*.*184 executions")),
    "report": (["report", "TRACE", "-o", "page.html"], prints("120 launches, 1 kernel")),
    "sql": (["sql", "TRACE", "SELECT count(*) FROM launched"], prints(r"\b120\b")),
    "trace validate": (["trace", "validate", "TRACE"], prints("is fine")),
    "convert": (["convert", "chrome", "TRACE", "-o", "timeline.json"], launches_have_durations),
    "profile": (["profile", "TRACE"], prints(r"triad +\d+\.\d %")),
    "diff": (["diff", "TRACE", "TRACE"], prints(r"faster\? +no (.*\n)*triad +\w+ +\d")),
    "fleet": (["fleet", "TRACE", "-o", "fleet.html"], prints(r"triad +\d+\.\d µs")),
    "sanitize": (["sanitize", "TRACE", "--blocks"], prints("0 unknown .*7 proven")),
    "replay": (["replay", "TRACE"], prints("1 of 1 unique calls replayed")),
    "sizes": (["sizes", "TRACE"], prints("3 with an exact condition")),
    "invariance": (["invariance", "TRACE"], prints("triad +out +invariant")),
}
LACKING = [
    (command, table, column)
    for command, needs in NEEDS.items()
    for table, columns in needs.items()
    for column in columns or (None,)
]


@pytest.fixture
def answered(kvtrace, tmp_path):
    """Return whether a command answers on a trace with these columns, or fails with a sentence."""

    def is_answered(command, columns):
        trace = write_with_columns(open_trace(RECORDED), tmp_path / "trace", columns)
        words, has_answer = ANSWERS[command]
        code, out, err = kvtrace(*[trace if word == "TRACE" else word for word in words])
        assert code in (0, 1, 2)
        assert "Traceback" not in err
        return code == 0 and has_answer(out, tmp_path)

    return is_answered


def test_each_declared_need_is_tried_here():
    assert NEEDS.keys() <= ANSWERS.keys()


@pytest.mark.parametrize("command", some(list(NEEDS), 3, 1))
def test_declared_columns_suffice(answered, command):
    assert answered(command, NEEDS[command])


@pytest.mark.parametrize("lacking", some(LACKING, 3), ids=lambda case: "-".join(map(str, case)))
def test_each_declared_column_is_necessary(answered, lacking):
    command, table, column = lacking
    needs = {**NEEDS[command]}
    columns = [name for name in needs.pop(table) if name != column]

    assert not answered(command, {**needs, table: columns} if columns else needs)


@pytest.mark.parametrize("command", [name for name in NEEDS if "gpu_kernels" in NEEDS[name]])
def test_call_ids_of_executions_serve_as_well_as_launches(answered, command):
    assert answered(command, {"gpu_kernels": ("call_id",)})


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page_text(), "run python -m docs_site.needs"
