"""JSON files that are read in batches: the same values, whatever the decoder of a batch refuses."""

import io
import json
import re
import sys
from pathlib import Path

import pytest

from kvtrace.converters.importers.json_stream import JsonFile
from kvtrace.converters.importers.registry import BadSource

VALUES = [
    {"a": 1},
    {"b": [{"c": "},{"}, {"c": "},\n {"}]},
    *({"number": number, "text": "x" * (number % 7)} for number in range(40)),
    {"c": [{"d": 1}, {"d": 2}]},
    5,
    {"last": True},
]
FORMS = {
    "compact": {"separators": (",", ":")},
    "of one line": {},
    "indented": {"indent": 2},
    "spaced": {"indent": 1, "separators": (" , ", " : ")},
}


def strict(text):
    """Decode an array of objects, as a typed decoder does; None for other values."""
    try:
        values = json.loads(text)
    except ValueError:
        return None
    return values if all(isinstance(value, dict) for value in values) else None


def read(text, decode):
    batches = JsonFile(Path("x.json"), io.BytesIO(text.encode())).batches(decode)
    return [value for batch in batches for value in batch]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("decode", [None, strict, lambda text: None])
def test_values_are_those_of_the_file_in_its_order(form, decode):
    assert read(json.dumps(VALUES, **FORMS[form]), decode) == VALUES


def test_what_a_decoder_accepts_comes_in_few_batches():
    values = [{"number": number} for number in range(1000)]
    source = JsonFile(Path("x.json"), io.BytesIO(json.dumps(values).encode()))
    assert [len(list(batch)) for batch in source.batches(strict)][0] == 999  # noqa: RUF015
    assert read("[]", strict) == read("[ ]", None) == []


def test_a_value_that_is_cut_by_the_end_of_a_read_is_no_error():
    """An error of the decoder counts the lines of all text before it."""
    errors = []

    def count(frame, event, _):
        if event == "call" and frame.f_code is json.JSONDecodeError.__init__.__code__:
            errors.append(frame.f_locals["pos"])

    text = json.dumps([{"text": "x" * 1000}] * 40_000)  # 40 MB, in five reads
    sys.setprofile(count)
    try:
        values = read(text, strict)
    finally:
        sys.setprofile(None)
    assert (len(values), errors) == (40_000, [])


def test_one_refused_value_leaves_nearly_all_others_to_the_decoder():
    accepted = []

    def decode(text):
        values = strict(text)
        accepted.extend(values or ())
        return values

    values = [{"number": number} for number in range(1000)]
    values[500] = "odd"
    assert read(json.dumps(values), decode) == values
    assert len(accepted) > 950


def test_control_characters_and_numbers_that_json_does_not_have_are_read():
    values = read('[{"a": 1}, {"b": "x\ny"}, {"c": NaN}, {"d": 2}]', strict)
    assert [list(value) for value in values] == [["a"], ["b"], ["c"], ["d"]]
    assert values[1] == {"b": "x\ny"}


@pytest.mark.parametrize("padding", [10, 9 << 20])
@pytest.mark.parametrize("escape", ["\\c", "\\u12zz"])
def test_an_invalid_escape_is_named_with_its_place(escape, padding):
    text = '[{"a": 1}, {"b": "' + "x" * padding + escape + 'uda"}, {"c": 2}]'
    place = f"at character {text.index(escape):,} "
    with pytest.raises(BadSource, match=re.escape(f"{escape} is no escape")) as raised:
        read(text, strict)
    assert place in str(raised.value)


def test_a_file_that_ends_in_an_escape_ends_too_early():
    with pytest.raises(BadSource, match="ends too early"):
        read('[{"a": 1}, {"b": "x\\u12', strict)
