"""Files whose names are not those of parts: none is left out silently."""

import shutil

import pytest

from kvtrace.cli import main
from kvtrace.schema.errors import EmptyTrace
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.unread_files import unread_files, unread_note
from kvtrace.schema.validation import validate
from tests.schema.conformance_cases import CASES
from tests.schema.conformance_rows import RUN
from tests.schema.make_conformance import write_parts


@pytest.fixture
def out(tmp_path):
    write_parts(tmp_path / "out", CASES["simple"][1]()[0])
    return tmp_path / "out"


@pytest.mark.parametrize(
    "name",
    [
        f"run={RUN}/data.parquet",
        f"run={RUN}/data_0.parquet",
        f"run={RUN}/part-1.parquet",
        "myrun/part-00000.parquet",
        "data.parquet",
    ],
)
def test_a_file_of_another_name_is_listed(out, name, capsys):
    part = out / "launches" / f"run={RUN}" / "part-00000.parquet"
    path = out / "launches" / name
    path.parent.mkdir(exist_ok=True)
    shutil.copy(part, path)
    (problem,) = validate(out)
    assert problem.where == str(path)
    assert problem.text.startswith("it is not read: ")
    assert main(["info", str(out)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"1 file is not read, as launches/{name}" in printed


def test_temporary_and_other_files_are_no_lost_files(out):
    folder = out / "launches" / f"run={RUN}"
    for name in (".part-00001.parquet.0a1b2c3d-77.tmp", "part-00001.parquet.bak", "notes.txt"):
        (folder / name).write_text("")
    assert list(unread_files(out, TABLES, [RUN])) == []
    assert unread_note(out, TABLES, [RUN]) is None


def test_files_of_a_trace_without_any_part_are_listed(out):
    paths = [*out.rglob("part-00000.parquet")]
    renamed = [path.rename(path.with_name("data_0.parquet")) for path in paths]
    listed = {problem.where for problem in validate(out) if "not read" in problem.text}
    assert listed == {str(path) for path in renamed}


def test_a_trace_without_any_run_says_which_files_it_has(out):
    for path in [*out.glob(f"*/run={RUN}")]:
        path.rename(path.with_name("myrun"))
    with pytest.raises(EmptyTrace, match="4 files are not read, as runs/myrun/part"):
        open_trace(out)
