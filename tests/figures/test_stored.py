"""Stored sums count only for the files and the definition that they were made of."""

import pyarrow as pa
import pytest

from kvtrace.figures.stored import DEFINITION, PASS, forget, settings_of, sums_stored
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


def test_run_that_is_not_sealed_has_no_sums(tmp_path):
    side = write_trace(tmp_path, [SCALE], seal=False)
    store(side, settings_of(side.trace, side.runs[0]))
    assert not sums_stored(side.trace, side.runs[0])
