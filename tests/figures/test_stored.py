"""Stored sums count only for the files and the definition that they were made of."""

import os

import pyarrow as pa
import pytest

from kvtrace.figures.stored import DEFINITION, PASS, are_kept, forget, settings_of, sums_stored
from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.layout import run_folder
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from tests.converters.written_trace import SCALE, write_trace

NOTHING = TABLES["launch_sums"].schema.empty_table()


@pytest.fixture
def side(tmp_path):
    return write_trace(tmp_path, [SCALE])


def store(side, settings):
    side.trace.add_derived(side.runs[0].run_id, PASS, {"launch_sums": NOTHING}, settings)


def test_sums_with_the_settings_of_a_run_are_stored_once_the_answer_is_forgotten(side):
    run = side.runs[0]
    assert not sums_stored(side.trace, run)
    store(side, settings_of(side.trace, run))
    assert not sums_stored(side.trace, run)
    forget(side.trace, run.run_id)
    assert sums_stored(side.trace, run)
    assert sums_stored(open_trace(side.trace.path), run)


@pytest.mark.parametrize("other", [{"definition": DEFINITION + 1}, {"launches": {}}])
def test_sums_of_another_definition_or_of_other_files_do_not_count(side, other):
    run = side.runs[0]
    store(side, settings_of(side.trace, run) | other)
    assert not sums_stored(side.trace, run)


def test_executions_that_are_joined_later_make_sums_invalid(side):
    run = side.runs[0]
    store(side, settings_of(side.trace, run))
    row = {"record": 0, "start": 1, "end": 2}
    rows = pa.Table.from_pylist([row], schema=TABLES["gpu_kernels"].schema)
    side.trace.add_derived(run.run_id, "join", {"gpu_kernels": rows}, {})
    assert not sums_stored(open_trace(side.trace.path), run)


@pytest.mark.parametrize("kind", ["link to itself", "link to nothing", "pipe"])
def test_file_without_a_size_is_left_to_the_readers(side, kind):
    (part,) = run_folder(side.trace.path, "launches", side.runs[0].run_id).iterdir()
    part.unlink()
    match kind:
        case "link to itself":
            part.symlink_to(part.name)
        case "link to nothing":
            part.symlink_to("nothing")
        case _:
            os.mkfifo(part)
    trace = open_trace(side.trace.path)
    assert not are_kept(trace, trace.runs, fewest=1)
    with pytest.raises(DamagedFile):
        trace.table("launches")


def test_run_that_is_not_sealed_has_no_sums(tmp_path):
    side = write_trace(tmp_path, [SCALE], seal=False)
    store(side, settings_of(side.trace, side.runs[0]))
    assert not sums_stored(side.trace, side.runs[0])
