"""JSON files that are read in batches: the same values, whatever the decoder of a batch refuses."""

import io
import json
from pathlib import Path

import pytest

from kvtrace.converters.importers.json_stream import JsonFile

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
