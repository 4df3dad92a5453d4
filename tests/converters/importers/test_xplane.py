"""XPlane files: rows of GPUs, TPUs and XLA's CPU device; sums are those of JAX's own reader."""

import json
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.cli import main
from kvtrace.converters.importers.importing import head_of, import_files
from kvtrace.converters.importers.registry import BadSource, importer_of
from kvtrace.converters.importers.xplane import _details
from kvtrace.converters.importers.xplane_space import parsed_space
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from tests.support.foreign_traces import EPOCH_NS, write_xplane
from tests.support.foreign_xplane import XEvent, XLine, plane, times_of_day, write_space

#: Prints the number of events and their ps by plane and line, as JAX's reader has them.
PLAIN_SUMS = """
import json, sys
from jax.profiler import ProfileData
sums = {}
for plane in ProfileData.from_file(sys.argv[1]).planes:
    for line in plane.lines:
        events = [e for e in line.events if len(sys.argv) < 3 or sys.argv[2] in dict(e.stats)]
        if events:
            sums[plane.name + " " + line.name] = len(events), sum(e.duration_ns for e in events)
print(json.dumps(sums))
"""
#: Writes a profile of three steps on the CPU.
PROFILED = """
import sys, jax, jax.numpy as jnp
f = jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda i, y: jnp.tanh(y @ y), x))
x = jnp.ones((64, 64))
f(x).block_until_ready()
with jax.profiler.trace(sys.argv[1]):
    for number in range(3):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            f(x).block_until_ready()
"""


def imported(path, out):
    import_files([path], out)
    assert validate(out) == []
    return open_trace(out)


def notes(trace):
    return [row["text"] for row in plain_rows(trace.table("messages"))]


def test_rows_of_a_gpu_have_every_field_of_the_file(tmp_path):
    trace = imported(write_xplane(tmp_path), tmp_path / "out")
    (run,) = trace.runs
    assert (run.source, run.host, run.pid) == ("xplane", "node7", 100)
    (device,) = run.devices
    assert (device["name"], device["capability"]) == ("NVIDIA H100 80GB HBM3", "9.0")
    assert device["memory_bytes"] == 85_017_493_504
    first, _, gemm, copy = plain_rows(trace.table("gpu_kernels"))
    assert first["start"] == EPOCH_NS + 20_125
    assert (first["requested"], first["request_thread"]) == (EPOCH_NS + 10_000, 101)
    assert (first["device"], first["stream"], first["registers"]) == (0, 7, 32)
    assert [first[f"grid_{axis}"] for axis in "xyz"] == [8, 1, 1]
    assert [first[f"block_{axis}"] for axis in "xyz"] == [128, 1, 1]
    assert (first["shared_bytes"], first["launch_seq"]) == (512, 0)
    assert (copy["kind"], copy["bytes"]) == ("copy", 4096)
    stacks = {row["stack_id"]: row["frames"] for row in trace.table("stacks").to_pylist()}
    assert [(f["file"], f["line"], f["function"]) for f in stacks[first["stack_id"]]] == [
        (None, None, "added.1"),
        ("train.py", 12, "jit(step)/add"),
        (None, None, "jit_step"),
    ]
    # A kernel without an operation has the stack of the host.
    assert [(f["file"], f["line"], f["function"]) for f in stacks[gemm["stack_id"]]] == [
        ("train.py", 12, "step"),
        (None, None, "train"),
    ]
    (mark,) = plain_rows(trace.table("marks"))
    assert (mark["name"], dict(mark["attributes"])) == ("train", {"step": "1"})


def test_memory_requests_aggregates_and_derived_lines_are_counted_in_a_note(tmp_path):
    stream = XLine(
        1,
        "Stream #1(Compute)",
        (
            XEvent("k", 0, 10, {"kernel_details": "regs:2191500840 static_shared:3 grid:1,1,1"}),
            XEvent("set", 20, 5, {"Memset_details": "kind:device num_bytes:64 async:1"}),
            XEvent("alloc", 30, 5, {"memalloc_details": "kind:device num_bytes:64"}),
            XEvent("k", None, 50),
            XEvent("graph", 40, 5, {"cuda_graph_id": 3}),
        ),
    )
    modules = XLine(9, "XLA Modules", (XEvent("jit_f", 0, 100),))
    content = (plane("/device:GPU:1", (stream, modules)),)
    path = write_space(tmp_path, content, warning="12 events\nwere dropped")
    trace = imported(path, tmp_path / "out")
    kernel, fill, graph = plain_rows(trace.table("gpu_kernels"))
    assert (kernel["registers"], kernel["shared_bytes"]) == (None, None)  # never set by the tool
    assert (fill["kind"], fill["bytes"]) == ("fill", 64)
    assert (graph["graph_id"], graph["kind"]) == (3, None)
    assert trace.runs[0].devices[0]["name"] == "GPU"
    said = notes(trace)
    assert (
        "not imported, by the tool's names: XLA Modules (1), aggregated events (1), "
        "allocations and overheads of streams (1)"
    ) in said
    assert "the profiler reports: 12 events were dropped" in said
    assert "the profile has no time of day; its times count from an unknown moment" in said


def test_operations_of_a_tpu_count_once_and_steps_are_marks(tmp_path):
    op = {"hlo_category": "loop fusion", "tf_op": "jit(f)/tanh:", "source": "f.py:3"}
    operations = XLine(
        3,
        "XLA Ops",
        (
            XEvent("%while.1 = (f32[8]) while(...)", 0, 100, display="while.1"),
            XEvent("%fusion.2 = f32[8] fusion(...)", 0, 40, display="fusion.2", common=op),
            XEvent("%fusion.3 = f32[8] fusion(...)", 50, 50, display="fusion.3", common=op),
            XEvent("%fusion.2 = f32[8] fusion(...)", 100, 20, display="fusion.2", common=op),
        ),
        origin=EPOCH_NS,
    )
    moved = XLine(
        4,
        "Async XLA Ops",
        (
            XEvent("copy-start.1", 10, 80, display="copy-start.1"),
            XEvent("all-gather.1", 20, 30),
        ),
        origin=EPOCH_NS,
    )
    steps = XLine(1, "Steps", tuple(XEvent(str(n), 60 * n, 60) for n in range(2)), origin=EPOCH_NS)
    stats = {"device_type_string": "TPU v5 lite"}
    planes = [plane(f"/device:TPU:{n}", (steps, operations, moved), stats) for n in range(2)]
    trace = imported(write_space(tmp_path, planes), tmp_path / "out")
    rows = [row for row in plain_rows(trace.table("gpu_kernels")) if row["device"] == 0]
    assert [(row["name"], row["kind"]) for row in rows] == [
        ("fusion.2", None), ("copy-start.1", "copy"), ("all-gather.1", None), ("fusion.3", None),
        ("fusion.2", None),
    ]  # fmt: skip
    assert rows[0]["start"] == EPOCH_NS
    assert [device["name"] for device in trace.runs[0].devices] == ["TPU v5 lite"] * 2
    marks = plain_rows(trace.table("marks"))
    assert [(row["name"], dict(row["attributes"])["step"]) for row in marks] == [
        ("Steps", "0"),
        ("Steps", "1"),
    ]
    stacks = {row["stack_id"]: row["frames"] for row in trace.table("stacks").to_pylist()}
    (frame,) = stacks[rows[0]["stack_id"]]
    assert (frame["file"], frame["line"], frame["function"]) == ("f.py", 3, "jit(f)/tanh")
    assert any(note.startswith("2 operations that enclose others") for note in notes(trace))


@pytest.mark.process
def test_sums_by_stream_are_those_of_jax(tmp_path):
    path = write_xplane(tmp_path)
    ran = [sys.executable, "-c", PLAIN_SUMS, str(path)]
    plain = json.loads(subprocess.run(ran, check=True, capture_output=True).stdout)
    rows = plain_rows(imported(path, tmp_path / "out").table("gpu_kernels"))
    number, taken = plain["/device:GPU:0 Stream #7(Kernel,MemcpyD2H)"]
    assert (number, taken) == (len(rows), sum(row["end"] - row["start"] for row in rows))


@pytest.mark.process
def test_a_profile_of_jax_on_the_cpu_has_its_steps_and_every_operation(tmp_path, capsys):
    folder, out = tmp_path / "profile", tmp_path / "out"
    subprocess.run([sys.executable, "-c", PROFILED, str(folder)], check=True, capture_output=True)
    (path,) = folder.rglob("*.xplane.pb")
    ran = [sys.executable, "-c", PLAIN_SUMS, str(path), "hlo_op"]
    plain = json.loads(subprocess.run(ran, check=True, capture_output=True).stdout)
    trace = imported(path, out)
    rows = plain_rows(trace.table("gpu_kernels"))
    enclosing = 3  # the loop, in each step
    assert sum(number for number, _ in plain.values()) == len(rows) + enclosing
    assert not any(row["name"].startswith("while") for row in rows)
    assert [dict(row["attributes"])["step"] for row in plain_rows(trace.table("marks"))] == [
        "0", "1", "2",
    ]  # fmt: skip
    assert trace.runs[0].devices[0]["name"] == "CPU"
    assert "jax_version" in dict(trace.runs[0].versions)
    capsys.readouterr()
    assert main(["profile", str(out)]) == 0
    assert "marked train" in capsys.readouterr().out


def test_a_profile_without_device_work_is_refused(tmp_path):
    path = write_space(tmp_path, (plane("/host:CPU", (XLine(1, "python", ()),)),))
    with pytest.raises(BadSource, match="has no work of a GPU, a TPU, or XLA's CPU device"):
        import_files([path], tmp_path / "out")


def test_a_missing_parser_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.protobuf.message", None)
    with pytest.raises(BadSource, match=r"pip install 'kvtrace\[xplane\]'"):
        import_files([write_xplane(tmp_path)], tmp_path / "out")


def test_texts_that_are_not_utf8_are_kept_readable(tmp_path):
    stream = XLine(1, "Stream #1", (XEvent("NAME", 0, 10, {"kernel_details": "grid:1,1,1"}),))
    path = write_space(tmp_path, (plane("/device:GPU:0", (stream,)), times_of_day(EPOCH_NS)))
    path.write_bytes(path.read_bytes().replace(b"NAME", b"N\xffME"))
    (row,) = plain_rows(imported(path, tmp_path / "out").table("gpu_kernels"))
    assert row["name"] == "N\ufffdME"


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8"), min_size=1, max_size=9),
            st.one_of(st.none(), st.integers(0, 2**40)),
            st.integers(0, 2**40),
            st.dictionaries(
                st.text("abc", min_size=1, max_size=3),
                st.one_of(st.integers(-(2**63), 2**63 - 1), st.text("xyz", max_size=5)),
                max_size=3,
            ),
        ),
        max_size=6,
    )
)
def test_what_is_written_is_read(tmp_path_factory, events):
    folder = tmp_path_factory.mktemp("space")
    line = XLine(5, "line", tuple(XEvent(*event) for event in events), origin=EPOCH_NS)
    path = write_space(folder, (plane("/device:GPU:0", (line,)),))
    if events:
        assert importer_of(path, head_of(path)) == "xplane"
    (read_plane,) = parsed_space(path, path.read_bytes()).planes
    (read_line,) = read_plane.lines
    read = [(e.name, e.begin, e.end - e.begin, dict(e.stats)) for e in read_line.events()]
    assert read == [
        (name, EPOCH_NS + begin, taken, stats)
        for name, begin, taken, stats in events
        if begin is not None
    ]
    assert read_line.aggregated == sum(begin is None for _, begin, _, _ in events)


def test_kernels_that_share_a_request_are_said_to_have_no_launch(tmp_path, capsys):
    def kernel(begin, correlation):
        return XEvent(
            "k", begin, 10, {"kernel_details": "grid:1,1,1", "correlation_id": correlation}
        )

    stream = XLine(1, "Stream #1", (kernel(100, 1), kernel(200, 2), kernel(300, 2)))
    calls = tuple(XEvent("cuLaunchKernel", 10 * n, 5, {"correlation_id": n}) for n in (1, 2))
    planes = (plane("/device:GPU:0", (stream,)), plane("/host:CPU", (XLine(1, "python", calls),)))
    trace = imported(write_space(tmp_path, planes), tmp_path / "out")
    assert trace.table("launches").num_rows == 1
    assert main(["profile", str(tmp_path / "out")]) == 0
    assert "2 of 3 executions have no launch of their own" in capsys.readouterr().out


def test_a_long_text_without_numbers_is_read_in_linear_time():
    began = time.process_time()
    assert _details("x" * 200_000) == {}
    assert _details("regs:32 grid:8,1,1") == {"regs": (32,), "grid": (8, 1, 1)}
    assert time.process_time() - began < 1  # quadratic: 150 s
