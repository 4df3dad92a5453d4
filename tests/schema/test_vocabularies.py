"""Vocabularies have the words of real traces, and their columns exist."""

from collections import defaultdict

import pyarrow as pa
import pytest

from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.vocabularies import DIALECTS, vocabularies
from tests.support.tree import ROOT

WORDS = {column: vocabulary.words for vocabulary in vocabularies() for column in vocabulary.columns}
RECORDED = sorted(
    {path.parents[2] for path in (ROOT / "tests" / "fixtures").rglob("runs/run=*/part-*.parquet")}
)


def words_of(trace, column):
    """The words of a column, or of the field of its structs, in a trace."""
    table, name, *fields = column.split(".")
    values = trace.table(table, columns=[name])[name].to_pylist()
    if fields:
        values = [entry[fields[0]] for entries in values for entry in entries or ()]
    return {value for value in values if value is not None}


@pytest.mark.parametrize("column", WORDS)
def test_columns_of_vocabularies_exist(column):
    table, name, *fields = column.split(".")
    kind = TABLES[table].schema.field(name).type
    for field in fields:
        kind = kind.value_type.field(field).type

    assert pa.types.is_string(kind.value_type if pa.types.is_dictionary(kind) else kind)


@pytest.mark.costly("every fixture; the vocabularies themselves stay by day")
def test_words_of_recorded_traces_are_registered():
    recorded = defaultdict(set)
    for folder in RECORDED:
        trace = open_trace(folder)
        for column in WORDS:
            recorded[column] |= words_of(trace, column)

    assert len(RECORDED) > 20
    assert {column: words - WORDS[column].keys() for column, words in recorded.items()} == {
        column: set() for column in WORDS
    }
    assert recorded["launches.phase"] > {"run", "autotune"}


def test_each_dialect_of_a_stage_is_registered():
    assert set(DIALECTS.values()) == WORDS["artifacts.dialect"].keys()
    assert DIALECTS.keys() <= WORDS["kernels.stages.stage"].keys()
