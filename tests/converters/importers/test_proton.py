"""Proton's files of Triton 3.8 and 3.9: lanes and scopes, trees in MessagePack, cycles."""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.converters.importers.importing import head_of, import_files
from kvtrace.converters.importers.msgpack_values import value_of
from kvtrace.converters.importers.registry import BadSource, importer_of
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.support.foreign_traces import EPOCH_NS, write_proton_lanes, write_proton_tree

#: What Proton of Triton 3.9.0 wrote of two nested scopes with metrics.
WRITTEN = bytes.fromhex(
    "9283a56672616d6582a46e616d65a4524f4f54a474797065a866756e6374696f6ea76d65747269637380a8636869"
    "6c6472656e9183a56672616d6582a46e616d65a473746570a474797065a866756e6374696f6ea76d657472696373"
    "80a86368696c6472656e9183a56672616d6582a46e616d65a5696e6e6572a474797065a866756e6374696f6ea76d"
    "65747269637383a5627974657318a5666c6f7073cb401c000000000000a176920204a86368696c6472656e9080"
)


def packed(value):
    """Return a value as MessagePack, in the widest form of each kind."""
    if value is None or isinstance(value, bool):
        return bytes([{None: 0xC0, False: 0xC2, True: 0xC3}[value]])
    if isinstance(value, int):
        return (
            b"\xd3" + struct.pack(">q", value) if value < 0 else b"\xcf" + struct.pack(">Q", value)
        )
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, str):
        return b"\xdb" + struct.pack(">I", len(value.encode())) + value.encode()
    if isinstance(value, list):
        return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(packed, value))
    pairs = b"".join(packed(part) for pair in value.items() for part in pair)
    return b"\xdf" + struct.pack(">I", len(value)) + pairs


def tree_as_proton_packs(value):
    """Return a tree with short headers, as Proton writes it."""
    if isinstance(value, list) and len(value) < 16:
        return bytes([0x90 | len(value)]) + b"".join(map(tree_as_proton_packs, value))
    if isinstance(value, dict) and len(value) < 16:
        pairs = [tree_as_proton_packs(part) for pair in value.items() for part in pair]
        return bytes([0x80 | len(value)]) + b"".join(pairs)
    if isinstance(value, str) and len(value) < 32:
        return bytes([0xA0 | len(value)]) + value.encode()
    return packed(value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8"), max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab"), inner, max_size=4),
)  # fmt: skip


def test_scopes_become_marks_and_lanes_streams(tmp_path):
    path, out = write_proton_lanes(tmp_path), tmp_path / "out"
    assert importer_of(path, head_of(path)) == "proton"  # torch.profiler has that base, too
    import_files([path], out)
    trace = open_trace(out)
    rows = plain_rows(trace.table("gpu_kernels"))
    assert {row["stream"] for row in rows} == {7}
    assert rows[0]["start"] == EPOCH_NS + 20_125
    step, forward = plain_rows(trace.table("marks"))
    assert (step["name"], step["thread"], step["begin"]) == ("step", 2, EPOCH_NS + 1_000)
    assert (forward["name"], dict(forward["attributes"])) == (
        "forward",
        {"flops": "12", "rows": "[1,2]"},
    )
    said = [row["text"] for row in plain_rows(trace.table("messages"))]
    assert not any("no time of day" in text for text in said)
    assert (
        "not imported, by the tool's names: scopes of graphs, which are contexts of kernels (1)"
    ) in said


def test_a_tree_in_messagepack_is_the_tree_in_json(tmp_path):
    path = write_proton_tree(tmp_path)
    packed_path = tmp_path / "proton.hatchet_msgpack"
    tree = json.loads(path.read_text())
    ordered = [{"frame": tree[0]["frame"], **tree[0]}, tree[1]]
    packed_path.write_bytes(tree_as_proton_packs(ordered))
    assert importer_of(packed_path, head_of(packed_path)) == "proton"
    tables = []
    for source in (path, packed_path):
        import_files([source], tmp_path / source.suffix)
        trace = open_trace(tmp_path / source.suffix)
        rows = plain_rows(trace.table("gpu_kernels"))
        tables.append([{**row, "run": None} for row in rows])
    assert tables[0] == tables[1]


def test_what_proton_wrote_is_read(tmp_path):
    root, devices = value_of(WRITTEN)
    inner = root["children"][0]["children"][0]
    assert inner["metrics"] == {"bytes": 24, "flops": 7.0, "v": [2, 4]}
    assert devices == {}
    path = tmp_path / "proton.hatchet_msgpack"
    path.write_bytes(WRITTEN)
    with pytest.raises(BadSource, match="has no kernel"):
        import_files([path], tmp_path / "out")


@given(VALUES)
def test_messagepack_of_any_value_is_read_and_cut_content_refused(value):
    content = packed(value)
    assert value_of(content) == value
    with pytest.raises(ValueError, match="inside of a value"):
        value_of(content[:-1])
    with pytest.raises(ValueError, match="behind the end"):
        value_of(content + b"\x00")


def test_an_extension_type_is_refused():
    with pytest.raises(ValueError, match="byte 1 is 0xd4, which begins no value"):
        value_of(b"\x91\xd4\x01\x00")


@pytest.mark.parametrize("form", ["trace", "tree"])
def test_times_inside_kernels_are_refused_by_their_name(form, tmp_path):
    path = tmp_path / f"proton.{form}"
    if form == "trace":
        event = {"ph": "X", "cat": "added", "name": "loop", "ts": 0, "dur": 1, "tid": "warp 0",
                 "pid": "added Core0 CTA0", "args": {"call_stack": ["ROOT"],
                 "Frequency (MHz)": 1000.0}}  # fmt: skip
        path.write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": [event]}))
    else:
        frame = {"name": "ROOT", "type": "function"}
        path.write_text(
            json.dumps([{"children": [], "frame": frame, "metrics": {"cycles": 9}}, {}])
        )
    with pytest.raises(BadSource, match=r"times inside kernels .* profile with the backend cupti"):
        import_files([path], tmp_path / "out")
