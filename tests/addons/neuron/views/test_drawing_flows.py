"""Executed ops of NKI kernels on a timeline: flows from writes to reads."""

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

import kvtrace
from kvtrace.addons.neuron.views import drawing
from kvtrace.addons.neuron.views.drawing import buffer_flows
from tests.addons.neuron.views.products import products

#: Load 0 → 1, load 0 → 2, copy 1 → 3, compute 3 and 2 → 1, store 1 → 4.
OPS: list[tuple[list[int], int | None]] = [([0], 1), ([0], 2), ([1], 3), ([3, 2], 1), ([1], 4)]


def executed(ops: list[tuple[list[int], int | None]]) -> pa.Table:
    reads, writes = zip(*ops, strict=True)
    return pa.table({"read": list(reads), "written": list(writes)})


def test_a_call_of_too_many_ops_has_no_flows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "LIMIT", 4)
    assert buffer_flows(executed(OPS), "call") is None


def test_flows_lead_from_a_write_to_its_reads() -> None:
    flows = buffer_flows(executed(OPS), "call")

    assert flows is not None
    written, read_flows = flows[:, 0], flows[:, 1:]
    assert (written[:4] != 0).all()
    assert written[4] == 0  # nothing reads it
    assert [[flow for flow in row if flow] for row in read_flows.tolist()] == [
        [],
        [],
        [written[0]],
        [written[2], written[1]],
        [written[3]],
    ]
    again = buffer_flows(executed(OPS), "another call")
    assert again is not None
    assert not set(again[again != 0].tolist()) & set(flows[flows != 0].tolist())


def test_perfetto_draws_a_track_for_each_engine_with_its_flows(tmp_path: Path) -> None:
    with kvtrace.capture(tmp_path / "out"):
        products(np.ones((128, 128), np.float32), np.ones((128, 1024), np.float32), False)
    kvtrace.open(tmp_path / "out").convert("perfetto", tmp_path / "file")

    packets = pb.Trace.FromString((tmp_path / "file").read_bytes()).packet
    tracks = {packet.track_descriptor.uuid: packet.track_descriptor for packet in packets}
    engines = [track for track in tracks.values() if track.name.endswith(" engine")]
    assert len(engines) == 3
    assert all("ops in their order" in tracks[track.parent_uuid].name for track in engines)
    ends = Counter(flow for packet in packets for flow in packet.track_event.flow_ids)
    # 1 + 2 × 2 loads, 2 products and 2 results are read by one op each; the loaded stationary tile
    # before the loop is read by none.
    assert len(ends) == 2 * 2 + 2 + 2
    assert set(ends.values()) == {2}
