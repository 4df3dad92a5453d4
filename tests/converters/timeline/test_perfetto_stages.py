"""Executions as GPU render stages, read by the classes of the `perfetto` package."""

import functools

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from kvtrace.converters.timeline import perfetto, perfetto_stages
from kvtrace.converters.timeline.captions import Caption, execution_caption
from kvtrace.converters.timeline.timeline import Slices, Timeline, Track
from tests.support.synthetic_trace import EPOCH

PROCESS = Track(("run", "rank 0"), "process", 77)
DEVICE = Track((*PROCESS.path, "GPU 3", "0"), "lane", 77, about="NVIDIA H200")
STREAM = DEVICE.child("stream 7", rank=2)
ROW = {
    "name": "_Z3addPf", "kind": None, "call_id": 4, "grid_x": 8, "grid_y": 2, "grid_z": 1,
    "block_x": 128, "block_y": 1, "block_z": 1, "registers": 40, "shared_bytes": 1024,
    "bytes": None, "graph_id": None, "graph_node_id": None,
}  # fmt: skip
COPY = ROW | {"name": "Memcpy HtoD", "kind": "copy", "bytes": 64}
#: What the encoder's constants are in Perfetto's own definitions; enums' values after a colon.
FIELDS = {
    "RENDER_STAGE": "TracePacket.gpu_render_stage_event",
    "EVENT_ID": "GpuRenderStageEvent.event_id", "DURATION": "GpuRenderStageEvent.duration",
    "CONTEXT": "GpuRenderStageEvent.context", "GPU": "GpuRenderStageEvent.gpu_id",
    "SUBMISSION": "GpuRenderStageEvent.submission_id",
    "QUEUE": "GpuRenderStageEvent.hw_queue_iid", "STAGE": "GpuRenderStageEvent.stage_iid",
    "KERNEL": "GpuRenderStageEvent.kernel_iid", "LAUNCH": "GpuRenderStageEvent.launch",
    "GRID": "GpuRenderStageEvent.ComputeKernelLaunch.grid_size",
    "BLOCK": "GpuRenderStageEvent.ComputeKernelLaunch.workgroup_size",
    "CONTEXTS": "InternedData.graphics_contexts",
    "SPECIFICATIONS": "InternedData.gpu_specifications",
    "IID": "InternedComputeKernel.iid", "PID": "InternedGraphicsContext.pid",
    "NAME": "InternedComputeKernel.name", "DEMANGLED": "InternedComputeKernel.demangled_name",
    "ARGUMENT": "InternedComputeKernel.args",
    "CATEGORY": "InternedGpuRenderStageSpecification.category",
    "OTHER": "InternedGpuRenderStageSpecification:OTHER",
    "COMPUTE": "InternedGpuRenderStageSpecification:COMPUTE",
    "ARGUMENT_NAME": "GpuRenderStageEvent.ExtraComputeArg.name",
    "INTEGER": "GpuRenderStageEvent.ExtraComputeArg.int_value",
    "TEXT": "GpuRenderStageEvent.ExtraComputeArg.string_value",
}  # fmt: skip
#: Numbers that the package's classes lack, or that are ours.
OTHERS = {"KERNELS": 1000, "ROW_BITS": 40}


def defined(place):
    """What Perfetto's definitions say a field's number, or an enum's value, is."""
    if ":" in place:
        message, value = place.split(":")
        return int(getattr(getattr(pb, message), value))
    *messages, field = place.split(".")
    return functools.reduce(getattr, messages, pb).DESCRIPTOR.fields_by_name[field].number


def test_field_numbers_of_the_encoder_equal_those_of_perfetto():
    used = {
        name[1:]: value
        for name, value in vars(perfetto_stages).items()
        if name.startswith("_") and name[1:].isupper() and isinstance(value, int)
    }

    assert used == {name: defined(place) for name, place in FIELDS.items()} | OTHERS


def packets_of(executions, *, compute=True):
    timeline = Timeline(PROCESS, slices=[executions])
    content = b"".join(map(bytes, perfetto.encode_timelines([timeline], compute=compute)))
    return pb.Trace.FromString(content).packet


def executions():
    captions = [
        execution_caption(ROW, "add", (("derived", (("FLOPs", 12), ("bound", "memory"))),)),
        Caption("unused"),
        execution_caption(COPY, COPY["name"]),
    ]
    return Slices(
        STREAM,
        "gpu",
        np.array([EPOCH + 500, EPOCH, EPOCH + 900], np.int64),
        np.array([100, 50, 0], np.int64),
        np.array([0, 2, 0], np.int64),
        captions,
        launch=np.array([7, -1, 1 << 33], np.int64),
    )


def interned_kernels(packet):
    """Return the kernels, in a field for which the package's InternedData has no name."""
    content = packet.interned_data.SerializeToString()
    key = b"\xc2\x3e"  # field 1000, with a length
    start = content.index(key) + len(key)
    kernel = pb.InternedComputeKernel.FromString(content[start + 2 :][: _length(content, start)])
    return [kernel]


def _length(content, start):
    low, high = content[start : start + 2]
    assert low & 0x80
    assert not high & 0x80
    return low & 0x7F | high << 7


def test_an_execution_is_a_stage_with_its_kernel_and_its_sizes():
    first, *events = [
        packet
        for packet in packets_of(executions())
        if packet.HasField("interned_data") or packet.HasField("gpu_render_stage_event")
    ]

    queue, *stages = first.interned_data.gpu_specifications
    assert (queue.iid, queue.name) == (1, "GPU 3 · stream 7")
    assert {(stage.name, stage.category) for stage in stages} == {("add", 2), ("Memcpy HtoD", 0)}
    copy, kernel, last = (packet.gpu_render_stage_event for packet in events)
    assert [packet.timestamp for packet in events] == [0, 500, 400]
    assert [stage.duration for stage in (copy, kernel, last)] == [50, 100, 0]
    assert len({stage.event_id for stage in (copy, kernel, last)}) == 3
    assert not copy.HasField("launch")
    assert not copy.HasField("submission_id")
    assert (kernel.submission_id, last.HasField("submission_id")) == (7, False)
    assert (kernel.hw_queue_iid, kernel.gpu_id, kernel.context) == (1, 0, 77)
    sizes = kernel.launch
    assert (sizes.grid_size.x, sizes.grid_size.y, sizes.workgroup_size.x) == (8, 2, 128)
    (interned,) = interned_kernels(first)
    assert (interned.iid, interned.name, interned.demangled_name) == (
        kernel.kernel_iid, "_Z3addPf", "add",
    )  # fmt: skip
    figures = {arg.name: arg.int_value or arg.string_value for arg in interned.args}
    assert figures["launch__grid_size"] == 16
    assert figures["launch__block_size"] == 128
    assert figures["launch__thread_count"] == 2048
    assert figures["launch__registers_per_thread"] == 40
    assert (figures["derived.FLOPs"], figures["derived.bound"]) == (12, "memory")


def test_an_execution_is_drawn_once():
    packets = packets_of(executions())

    assert not [packet for packet in packets if packet.HasField("track_event")]
    assert "stream 7" not in [packet.track_descriptor.name for packet in packets]
    plain = packets_of(executions(), compute=False)
    assert not [packet for packet in plain if packet.HasField("gpu_render_stage_event")]


def test_sizes_that_are_not_known_are_left_out():
    row = ROW | {"grid_x": None, "block_y": None, "registers": None}
    slices = Slices(
        STREAM,
        "gpu",
        np.array([EPOCH]),
        np.array([1]),
        np.array([0]),
        [execution_caption(row, row["name"])],
    )

    *_, last = packets_of(slices)

    assert not last.gpu_render_stage_event.launch.HasField("grid_size")
    assert not last.gpu_render_stage_event.launch.HasField("workgroup_size")
