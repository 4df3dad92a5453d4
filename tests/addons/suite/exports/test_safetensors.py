"""Files of safetensors are read as they were written, and damaged ones get a sentence."""

import json
import struct

import pytest

from kvtrace.addons.suite.exports.safetensors import read_tensor, write_tensor
from kvtrace.converters.importers.registry import BadSource


def test_a_tensor_is_read_as_it_was_written(tmp_path):
    write_tensor(tmp_path / "x", "x", "int16", (2, 3), bytes(range(12)))
    content = (tmp_path / "x").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    assert length % 8 == 0
    assert json.loads(content[8 : 8 + length]) == {
        "x": {"dtype": "I16", "shape": [2, 3], "data_offsets": [0, 12]}
    }
    assert read_tensor(tmp_path / "x", "x", "int16") == bytes(range(12))


@pytest.mark.parametrize(
    ("name", "dtype", "cut"),
    [
        ("y", "int16", 0),
        ("x", "int8", 0),
        ("x", "int16", 1),
        ("x", "int16", 20),
        ("x", "int16", 80),
    ],
)
def test_other_files_are_refused(tmp_path, name, dtype, cut):
    write_tensor(tmp_path / "x", "x", "int16", (2, 3), bytes(range(12)))
    content = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(content[: len(content) - cut])
    with pytest.raises(BadSource):
        read_tensor(tmp_path / "x", name, dtype)


def test_a_huge_header_is_not_read(tmp_path):
    (tmp_path / "x").write_bytes(struct.pack("<Q", 2**63) + b"{}")
    with pytest.raises(BadSource):
        read_tensor(tmp_path / "x", "x", "int16")
