"""Cells of CSV files: harmless to spreadsheets and terminals, and else what they were."""

import pyarrow as pa
import pytest

from kvtrace.converters.query.csv import safe_column, safe_text
from kvtrace.converters.query.query_output import csv_lines


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("matmul", "matmul"),
        ("", ""),
        ("two\nlines", "two\nlines"),
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+x", "'+x"),
        ("-x", "'-x"),
        ("-1.5e-3", "-1.5e-3"),
        ("\t=1", "'\t=1"),
        ("a\r\nb", "a\\r\nb"),
        ("a\x1b[31m\x9b", "a\\x1b[31m\\x9b"),
    ],
)
def test_texts_are_escaped_for_spreadsheets(text, cell):
    assert safe_text(text) == cell
    for column in (pa.array([text, None]), pa.array([text, None]).dictionary_encode()):
        assert safe_column(pa.chunked_array([column])).to_pylist() == [cell, None]
    assert csv_lines(["n"], [[text]]) == csv_lines(["n"], [[cell]])


def test_numbers_are_unchanged():
    column = pa.chunked_array([[-1, 2]])
    assert safe_column(column) is column
    assert csv_lines(["a"], [[-1]]) == ["a\n-1"]
