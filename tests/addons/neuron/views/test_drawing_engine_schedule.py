"""Executed ops of NKI kernels as a schedule by published rates, and flows from writes to reads."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

import kvtrace
from kvtrace.addons.neuron.views import drawing
from kvtrace.addons.neuron.views.drawing import buffer_flows, earliest_schedule
from tests.addons.neuron.views.products import products

#: Load 0 → 1, load 0 → 2, copy 1 → 3 and 3 → 1 (vector), store 1 → 4; each of 1,000 elements.
OPS = [
    ("dma", [0], 1),
    ("dma", [0], 2),
    ("vector", [1], 3),
    ("vector", [3, 2], 1),
    ("gpsimd", [1], 4),
]


def executed(ops: list[tuple[str, list[int], int | None]]) -> pa.Table:
    return pa.table(
        {
            "order": list(range(len(ops))),
            "op_index": [7] * len(ops),
            "engine": [engine for engine, _, _ in ops],
            "elements": [1000] * len(ops),
            "flops": [0] * len(ops),
            "device_bytes": [36250 if engine == "dma" else 0 for engine, _, _ in ops],
            "read": [read_buffers for _, read_buffers, _ in ops],
            "written": [written for _, _, written in ops],
        }
    )


def test_an_op_waits_for_its_engine_and_for_what_it_reads() -> None:
    schedule = earliest_schedule(executed(OPS), "trn2", {7: "fp32"})

    assert schedule is not None
    begins, durations = schedule
    # 36,250 bytes at 362.5 GB/s are 100 ns, 1,000 operations at 1 T/s 1 ns; GpSimd has no rate.
    assert durations.tolist() == [100, 100, 1, 1, 1]
    assert begins.tolist() == [0, 100, 100, 200, 201]


def test_an_op_waits_until_its_destination_is_no_longer_read() -> None:
    ops: list[Any] = [("dma", [0], 1), ("dma", [1], 2), ("vector", [], 1)]

    schedule = earliest_schedule(executed(ops), "trn2", {})

    assert schedule is not None
    assert schedule[0].tolist() == [0, 100, 200]


def test_an_unknown_target_has_no_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    assert earliest_schedule(executed(OPS), "trn9", {}) is None
    monkeypatch.setattr(drawing, "LIMIT", 4)
    assert earliest_schedule(executed(OPS), "trn2", {}) is None
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


def test_perfetto_draws_the_schedule_with_its_flows(tmp_path: Path) -> None:
    with kvtrace.capture(tmp_path / "out"):
        products(np.ones((128, 128), np.float32), np.ones((128, 1024), np.float32), False)
    kvtrace.open(tmp_path / "out").convert("perfetto", tmp_path / "file")

    packets = pb.Trace.FromString((tmp_path / "file").read_bytes()).packet
    tracks = {packet.track_descriptor.uuid: packet.track_descriptor for packet in packets}
    parents = {
        uuid: next(name for name in ("derived from published rates", "ops in their order")
                   if name in tracks[track.parent_uuid].name)
        for uuid, track in tracks.items()
        if track.name.endswith(" engine")
    }  # fmt: skip
    assert sorted(parents.values()) == [
        *["derived from published rates"] * 3,
        *["ops in their order"] * 3,
    ]
    ends = Counter(flow for packet in packets for flow in packet.track_event.flow_ids)
    # In each of both drawings: 1 + 2 × 2 loads, 2 products and 2 results are read by one op each;
    # the loaded stationary tile before the loop is read by none.
    assert len(ends) == 2 * (2 * 2 + 2 + 2)
    assert set(ends.values()) == {2}
