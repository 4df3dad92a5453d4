"""Values into columns: what does not fit is an error, never dropped."""

import numpy as np
import pyarrow as pa
import pytest

from kvtrace.schema.columns import batch_of_columns, batch_of_rows, conformed
from kvtrace.schema.errors import SchemaMismatch
from kvtrace.schema.tables import TABLES

LAUNCHES = TABLES["launches"]
CALLS = TABLES["calls"]


def test_missing_columns_are_null_and_times_may_be_integers():
    batch = batch_of_columns(
        LAUNCHES,
        {"seq": np.arange(3), "call_id": [0, 1, 0], "enter": np.array([5, 6, 7], dtype=np.int64)},
    )

    assert batch.schema == LAUNCHES.schema
    assert batch.column("exit").null_count == 3
    assert batch.column("enter").cast(pa.int64()).to_pylist() == [5, 6, 7]


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.uint64])
def test_integer_column_accepts_numpy_integers_of_any_width(kind):
    batch = batch_of_columns(LAUNCHES, {"seq": np.arange(3, dtype=kind), "call_id": [0, 0, 0]})

    assert batch.column("seq").to_pylist() == [0, 1, 2]


def test_strings_that_repeat_may_be_dictionaries_of_any_index_type():
    phases = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), ["run", "warmup"])

    batch = batch_of_columns(LAUNCHES, {"seq": [0, 1], "call_id": [0, 0], "phase": phases})

    assert batch.column("phase").to_pylist() == ["run", "warmup"]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"seq": [0], "call_id": [0], "sequence": [0]}, "no column 'sequence'"),
        ({"seq": [0, 1], "call_id": [0]}, "differ in length: seq 2, call_id 1"),
        ({"seq": [0]}, "launches.call_id is a key"),
        ({"seq": [0, None], "call_id": [0, 0]}, "launches.seq is a key, but null in 1 rows"),
        ({"seq": ["a"], "call_id": [0]}, "do not fit launches.seq"),
        ({"seq": [2**63], "call_id": [0]}, "do not fit launches.seq"),
        ({"seq": [0], "call_id": [0], "device": [2**31]}, "do not fit launches.device"),
        ({"seq": [0], "call_id": [0], "phase": "run"}, "one value per row"),
        ({"seq": [0], "call_id": [0], "phase": pa.array([1])}, "phase"),
        ({}, "no columns"),
    ],
)
def test_columns_that_do_not_fit_are_refused_by_name(columns, says):
    with pytest.raises(SchemaMismatch, match=says):
        batch_of_columns(LAUNCHES, columns)


def test_row_with_an_unknown_key_is_refused_at_any_depth():
    row = {"call_id": 0, "kernel_id": 0, "args": [{"name": "x", "shap": [1]}]}

    with pytest.raises(SchemaMismatch, match=r"calls\.args has no field 'shap'"):
        batch_of_rows(CALLS, [row])
    with pytest.raises(SchemaMismatch, match="calls has no column 'grid'"):
        batch_of_rows(CALLS, [{"call_id": 0, "kernel_id": 0, "grid": (1, 1, 1)}])


def test_file_name_that_is_not_utf8_is_stored_with_question_marks():
    name = b"caf\xe9.py".decode("utf-8", "surrogateescape")

    batch = batch_of_rows(
        TABLES["kernels"], [{"kernel_id": 0, "file": name, "options": {"a": name}}]
    )

    assert batch.column("file").to_pylist() == ["caf?.py"]
    assert batch.column("options").to_pylist() == [[("a", "caf?.py")]]


def test_conformed_table_has_the_exact_schema_or_is_refused():
    given = pa.table({"finding_id": ["a"], "rule": ["race"], "lanes": pa.array([3], pa.int32())})

    rows = conformed(TABLES["findings"], given)

    assert rows.schema == TABLES["findings"].schema
    assert rows.column("lanes").to_pylist() == [3]
    with pytest.raises(SchemaMismatch, match="no column 'run'"):
        conformed(TABLES["findings"], given.append_column("run", pa.array(["x"])))
    with pytest.raises(SchemaMismatch, match="finding_id is a key"):
        conformed(TABLES["findings"], pa.table({"rule": ["race"]}))
    with pytest.raises(SchemaMismatch, match=r"findings\.lanes is int64"):
        conformed(TABLES["findings"], pa.table({"finding_id": ["a"], "lanes": ["many"]}))
