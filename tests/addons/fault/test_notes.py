"""The note on dumps in `kvtrace info`."""

import json
import shutil

from kvtrace.cli import main
from tests.addons.fault.recorded import FAULTS


def notes(trace, capsys):
    assert main(["info", str(trace), "--json"]) == 0
    return json.loads(capsys.readouterr().out)["notes"]


def test_info_says_that_there_is_a_dump_and_names_the_command(capsys):
    trace = FAULTS / "gather_index_graph"
    (note,) = [note for note in notes(trace, capsys) if "dump" in note]
    assert note.startswith("1 dump of a GPU that failed or was stopped")
    assert f"kvtrace fault {trace} " in note


def test_trace_without_dumps_has_no_note(tmp_path, capsys):
    out = shutil.copytree(FAULTS / "gather_index_graph", tmp_path / "out")
    shutil.rmtree(out / "faults")
    assert [note for note in notes(out, capsys) if "dump" in note] == []
