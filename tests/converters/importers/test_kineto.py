"""Kineto's files: categories of old versions, MTIA's devices, and what is left out."""

import json

import pytest

from kvtrace.cli import main
from kvtrace.converters.importers.importing import import_files
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.support.foreign_traces import write_kineto

KEPT = "kept in tool_events, in no figure, by the tool's names"


def old_events():
    """Return events as PyTorch 1.8 wrote them: old categories, threads and streams as texts."""

    def event(category, name, ts, dur, pid, tid, **args):
        return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts,
                "dur": dur, "args": args}  # fmt: skip

    start = 1_606_910_596_000_000
    return [
        event("Operator", "ProfilerStep#5", start, 500, 100, "77"),
        event("Operator", "aten::add", start + 10, 50, 100, "77",
              **{"External id": 2, "Call stack": "train.py(3): step"}),
        event("Runtime", "cudaLaunchKernel", start + 20, 5, 100, "77", correlation=31),
        event("Kernel", "added", start + 40, 7, 0, "stream 7", device=0, stream=7, correlation=31,
              grid=[8, 1, 1], block=[128, 1, 1], **{"registers per thread": 16}),
        event("Memset", "Memset (Device)", start + 60, 1, 0, "stream 7", device=0, stream=7,
              bytes=1024),
        event("Memcpy", "Memcpy HtoD (Pageable -> Device)", start + 70, 2, 0, "stream 7",
              device=0, stream=7, bytes=4096),
        {"ph": "s", "id": 31, "pid": 100, "tid": 77, "ts": start + 20, "cat": "async",
         "name": "launch"},
        {"ph": "i", "s": "t", "name": "[memory]", "pid": 100, "tid": 77, "ts": start + 11},
        {"ph": "i", "s": "g", "name": "Iteration Start: PyTorch Profiler", "pid": "Traces",
         "tid": "Trace", "ts": start},
        event("Trace", "PyTorch Profiler (0)", start, 900, "Traces", "PyTorch Profiler"),
    ]  # fmt: skip


def in_object(events):
    properties = {"id": 0, "name": "Tesla V100", "major": 7, "minor": 0}
    return {"schemaVersion": 1, "computeProperties": [properties], "traceEvents": events}


@pytest.mark.parametrize("form", [list, in_object])
def test_old_categories_are_imported_like_those_that_took_their_place(form, tmp_path, capsys):
    path, out = tmp_path / "worker0.pt.trace.json", tmp_path / "out"
    path.write_text(json.dumps(form(old_events())))

    assert main(["import", str(path), "-o", str(out)]) == 0

    assert f"{KEPT}: Call stack (1), [memory] (1)" in capsys.readouterr().err
    trace = open_trace(out)
    kernel, fill, copy = plain_rows(trace.table("gpu_kernels"))
    assert (kernel["name"], kernel["end"] - kernel["start"]) == ("added", 7_000)
    assert (kernel["stream"], kernel["request_thread"], kernel["registers"]) == (7, 77, 16)
    assert kernel["start"] - kernel["requested"] == 20_000
    assert [(row["kind"], row["bytes"]) for row in (fill, copy)] == [("fill", 1024), ("copy", 4096)]
    (step,) = plain_rows(trace.table("marks"))
    assert dict(step["attributes"]) == {"step": "5"}
    assert trace.table("launches").num_rows == 1
    if form is in_object:
        (device,) = trace.runs[0].devices
        assert (device["name"], device["capability"]) == ("Tesla V100", "7.0")


def test_events_of_mtia_devices_are_kernels_and_copies_and_waits_are_counted(tmp_path, capsys):
    def event(name, ts, dur, **args):
        return {"ph": "X", "cat": "mtia_ccp_events", "name": name, "pid": 9, "tid": 3, "ts": ts,
                "dur": dur, "args": args}  # fmt: skip

    call = {"ph": "X", "cat": "mtia_runtime", "name": "runFunction", "pid": 100, "tid": 100,
            "ts": 1, "dur": 2, "args": {"correlation": 5}}  # fmt: skip
    content = {
        "baseTimeNanoseconds": 10**18,
        "traceEvents": [
            call,
            event("fc-dtype_Float", 10, 40, stream=1, correlation=5),
            event("dma_request", 60, 5, direction="DEVICE_TO_HOST", size=16),
            event("event_wait", 70, 900, stream=1, wait_on_stream=2),
        ],
    }
    path, out = tmp_path / "mtia.json", tmp_path / "out"
    path.write_text(json.dumps(content))

    assert main(["import", str(path), "-o", str(out)]) == 0

    assert f"{KEPT}: mtia_ccp_events event_wait (1)" in capsys.readouterr().err
    kernel, copy = plain_rows(open_trace(out).table("gpu_kernels"))
    assert (kernel["name"], kernel["device"], kernel["stream"]) == ("fc-dtype_Float", 9, 1)
    assert kernel["requested"] == 10**18 + 1_000
    assert (copy["kind"], copy["bytes"], copy["stream"]) == ("copy", 16, 3)


def test_categories_that_no_figure_counts_are_counted_in_messages(tmp_path, capsys):
    event = {"ph": "X", "name": "sync", "pid": 0, "tid": 7, "ts": 1, "dur": 2}
    events = [{**event, "cat": "cuda_sync"}] * 3 + [{**event, "cat": "gpu_user_annotation"}]
    path, out = tmp_path / "trace.json", tmp_path / "out"
    path.write_text(json.dumps({"deviceProperties": [], "traceEvents": events}))

    (run,) = import_files([path], out)

    assert run.left_out == {"cuda_sync": 3, "gpu_user_annotation": 1}
    assert main(["info", str(out)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"{KEPT}: cuda_sync (3), gpu_user_annotation (1)" in shown


def test_host_and_versions_of_the_driver_are_those_of_the_file(tmp_path):
    path = tmp_path / "trace.json"
    facts = {"host_name": "node7", "hip_runtime_version": 60_443, "roctracer_version": 4_001}
    content = {"deviceProperties": [], **facts, "traceEvents": old_events()}
    path.write_text(json.dumps(content))

    import_files([path], tmp_path / "out")

    (run,) = open_trace(tmp_path / "out").runs
    assert run.host == "node7"
    assert run.versions == {"hip_runtime_version": "60443", "roctracer_version": "4001"}


def test_requests_of_collectives_are_imported_with_their_group_and_number(tmp_path):
    # given what torch records around a collective, and around its wait
    def event(ts, dur, **args):
        return {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 100, "tid": 100,
                "ts": ts, "dur": dur, "args": args}  # fmt: skip

    path = write_kineto(tmp_path)
    written = json.loads(path.read_text())
    group = {"Process Group Name": "3", "Process Group Description": "mesh_tp"}
    reduced = {"Collective name": "allreduce", "In msg nelems": 6, "dtype": "BFloat16", "Seq": 9}
    sent = {"Collective name": "send", "Dst Rank": 1, "Process Group Ranks": "[0, 1, ..., 63]"}
    written["traceEvents"] += [
        event(1068, 8, **group, **reduced, **{"Process Group Ranks": "[0, 2]"}),
        event(1077, 1, **{"Collective name": "wait"}),
        event(1079, 1, **group, **sent),
        event(1080, 1),
    ]
    path.write_text(json.dumps(written))
    import_files([path], tmp_path / "out")
    # then the collectives are rows, with null where the file does not say
    first, second = plain_rows(open_trace(tmp_path / "out").table("collectives"))
    facts = ("communicator", "group", "ranks", "sequence", "operation", "elements", "bytes", "peer")
    assert [first[name] for name in facts] == ["3", "mesh_tp", [0, 2], 9, "AllReduce", 6, 12, None]
    assert [second[name] for name in facts] == ["3", "mesh_tp", None, None, "Send", None, None, 1]
    assert first["requested"] < first["returned"] < second["requested"]


@pytest.mark.parametrize(
    ("category", "is_list"), [("kernel", False), ("kernel", True), ("hip_runtime", False)]
)
def test_files_that_begin_with_an_event_are_recognized_by_its_category(category, is_list, tmp_path):
    """As merged ranks are written: without facts of the file, and with kernels first."""
    first = {"ph": "X", "cat": category, "name": "a", "pid": 2, "tid": 4, "ts": 1, "dur": 1}
    kernels = [{**first, "cat": "kernel", "name": name, "ts": ts, "args": {"device": device}}
               for device, (name, ts) in enumerate((("b", 10), ("c", 10)))]  # fmt: skip
    events = [first, *kernels]
    path = tmp_path / "merged.json"
    path.write_text(json.dumps(events if is_list else {"traceEvents": events}))
    import_files([path], tmp_path / "out")
    names = open_trace(tmp_path / "out").table("gpu_kernels")["name"].to_pylist()
    assert sorted(names) == (["a", "b", "c"] if category == "kernel" else ["b", "c"])
