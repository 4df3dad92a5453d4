"""The index of a suite is read as it was written, and bad ones get a sentence."""

import json

import pytest

from kvtrace.addons.suite.model import (
    INDEX,
    VERSION,
    BadSuite,
    Entry,
    OmittedShare,
    Suite,
    read_index,
    write_index,
)

SUITE = Suite(
    version=VERSION,
    source={"command": "python train.py"},
    weighed_by="device time",
    weight=1000,
    device_ns=3000,
    entries=(
        Entry(
            "001-scale", "scale", "scale[(4,)](x=fp32[16])", ("run/3", "run/5"), 7, 600, 80.5, 0.6,
            {"x": "recorded"}, {"out-of-bounds": "proven"}, ("addresses are new",),
        ),
    ),
    left_out=(OmittedShare("nothing", 0.4, "has no IR"),),
)  # fmt: skip


def test_an_index_is_read_as_it_was_written(tmp_path):
    write_index(SUITE, tmp_path)
    assert read_index(tmp_path) == SUITE
    assert SUITE.covered == 0.6


def test_fields_of_a_later_minor_version_are_left(tmp_path):
    write_index(SUITE, tmp_path)
    content = json.loads((tmp_path / INDEX).read_text())
    content |= {"version": "1.7", "more": 1}
    content["entries"][0]["color"] = "red"
    (tmp_path / INDEX).write_text(json.dumps(content))
    assert read_index(tmp_path).entries == SUITE.entries


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "is no suite"),
        ("{", "is no suite"),
        ('{"version": "2.0"}', "of version 2.0"),
        ('{"version": "1.0"}', "is damaged"),
        ("[]", "is damaged"),
        ('{"version": "1.0", "entries": [{"name": 1}], "left_out": []}', "is damaged"),
    ],
)
def test_another_file_is_refused(tmp_path, text, message):
    if text is not None:
        (tmp_path / INDEX).write_text(text)
    with pytest.raises(BadSuite, match=message):
        read_index(tmp_path)
