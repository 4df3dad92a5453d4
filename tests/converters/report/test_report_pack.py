"""Blocks of data inside the page."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.converters.report.model import Mark, Track
from kvtrace.converters.report.pack import bytes_block, columns_block, json_block
from tests.support.packed import read_bytes, read_columns, read_json

WHOLE = st.integers(-(2**52), 2**52)


@given(st.dictionaries(st.text(min_size=1, max_size=5), st.lists(WHOLE, max_size=40), max_size=5))
def test_columns_are_decoded_exactly(columns):
    arrays = {name: np.array(values, np.int64) for name, values in columns.items()}
    found = read_columns(columns_block(arrays))
    assert {name: values.tolist() for name, values in found.items()} == columns


@given(st.lists(st.integers(0, 2**50), min_size=2, max_size=50).map(sorted))
def test_increasing_columns_are_decoded_exactly(values):
    found = read_columns(columns_block({"begin": np.array(values, np.int64)}))
    assert found["begin"].tolist() == values


@given(st.recursive(st.none() | WHOLE | st.text(), st.lists, max_leaves=20))
def test_json_is_decoded_exactly_unless_it_is_not_unicode(value):
    assert read_json(json_block(value)) == value


def test_a_block_never_holds_markup():
    block = json_block({"name": '</script><!-- ]]> & "'})
    assert set("<>&\"'") & set(block) == set()


def test_the_same_data_gives_the_same_block():
    assert json_block({"a": 1}) == json_block({"a": 1})


@given(st.binary(max_size=200))
def test_bytes_are_decoded_exactly(content):
    assert read_bytes(bytes_block(content)) == content


def test_dataclasses_become_objects_of_their_fields():
    mark = Mark(0, "step", 5, None, 7, {"loss": "1.5"})
    assert read_json(json_block({"marks": (mark,), "track": Track("t", "host", 0, 7)})) == {
        "marks": [{"run": 0, "name": "step", "begin": 5, "duration": None, "thread": 7,
                   "attributes": {"loss": "1.5"}}],
        "track": {"label": "t", "kind": "host", "run": 0, "thread": 7},
    }  # fmt: skip


def test_value_without_a_json_form_raises_an_error():
    with pytest.raises(TypeError, match="set cannot be written as JSON"):
        json_block({"names": {"a"}})
