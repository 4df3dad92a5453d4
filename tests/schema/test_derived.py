"""What passes add: replaced as a whole, and nothing captured is touched."""

import json
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace import __version__
from kvtrace.schema.content import artifact_row, stack_row
from kvtrace.schema.errors import SchemaMismatch, TraceWriteError, UnknownRun
from kvtrace.schema.layout import part_path
from kvtrace.schema.recovery import recover
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.schema.written_runs import run_child

CAPTURED = stack_row([("train.py", 1, 1, "step")])
FOUND = stack_row([("kernel.py", 7, 9, "scale")])


@pytest.fixture(params=[True, False], ids=["sealed", "journalled"])
def run(request, tmp_path):
    writer = RunWriter(tmp_path, new_run_id())
    writer.append_rows("kernels", [{"kernel_id": 0}])
    writer.append_rows("calls", [{"call_id": 0, "kernel_id": 0, "stack_id": CAPTURED["stack_id"]}])
    writer.append_rows("stacks", [CAPTURED])
    writer.append_rows("artifacts", [artifact_row("ttir", b"module {}")])
    writer.flush()
    if request.param:
        writer.seal({"ending": "exit"})
    return tmp_path, writer.run_id


def findings(*ids, **columns):
    return pa.table({"finding_id": pa.array(ids, pa.string()), **columns})


def stacks(*rows):
    return pa.table(
        {
            "stack_id": [row["stack_id"] for row in rows],
            "frames": [row["frames"] for row in rows],
        }
    )


def content_of(out):
    return {
        path: path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and "sanitize" not in path.name
    }


def test_add_derived_replaces_only_parts_of_the_same_pass(run):
    out, run_id = run
    trace = open_trace(out)
    trace.add_derived(run_id, "replay", {"ops": pa.table({"call_id": [0], "op_index": [1]})})
    before = content_of(out)

    trace.add_derived(
        run_id,
        "sanitize",
        {"findings": findings("a", "b", stack_id=[FOUND["stack_id"]] * 2), "stacks": stacks(FOUND)},
    )
    trace.add_derived(run_id, "sanitize", {"findings": findings("c")}, settings={"again": True})

    assert content_of(out) == before
    assert trace.table("findings").column("finding_id").to_pylist() == ["c"]
    assert trace.table("ops").num_rows == 1
    assert trace.table("stacks").column("stack_id").to_pylist() == [CAPTURED["stack_id"]]
    assert [path.name for path in out.rglob("*sanitize*")] == ["part-sanitize-00000.parquet"]


def test_derived_part_names_its_pass_settings_and_version(run):
    out, run_id = run
    open_trace(out).add_derived(run_id, "sanitize", {"findings": findings("a")}, {"rules": ["oob"]})

    metadata = pq.read_schema(part_path(out, "findings", run_id, 0, "sanitize")).metadata

    assert metadata[b"kvtrace.pass"] == b"sanitize"
    assert metadata[b"kvtrace.settings"] == b'{"rules": ["oob"]}'
    assert metadata[b"kvtrace.version"] == __version__.encode()
    assert metadata[b"kvtrace.run_id"] == run_id.encode()


def test_pass_with_empty_tables_is_listed_among_passes(run):
    out, run_id = run
    trace = open_trace(out)
    assert trace.passes(run_id) == {}

    trace.add_derived(run_id, "sanitize", {"findings": findings()}, settings={"grid": "whole"})

    assert trace.table("findings").num_rows == 0
    assert trace.passes(run_id) == {"sanitize": {"grid": "whole"}}
    assert pq.read_table(out / "findings").column_names[-1] == "run"


def test_stacks_and_artifacts_of_passes_are_returned_once(run):
    out, run_id = run
    trace = open_trace(out)
    tensor = artifact_row("tensor", b"\0" * 100)
    artifacts = {name: [tensor[name]] for name in tensor}
    for name in ("sanitize", "replay"):
        trace.add_derived(
            run_id, name, {"stacks": stacks(FOUND, CAPTURED), "artifacts": pa.table(artifacts)}
        )

    ids = trace.table("stacks").column("stack_id").to_pylist()

    assert sorted(ids) == sorted([CAPTURED["stack_id"], FOUND["stack_id"]])
    assert trace.table("stacks", columns=["frames"]).num_rows == 2
    assert trace.table("artifacts").num_rows == 2
    assert trace.artifact(tensor["sha256"]) == b"\0" * 100
    own = pq.read_table(part_path(out, "stacks", run_id, 0, "replay"), partitioning=None)
    assert own.column("stack_id").to_pylist() == [FOUND["stack_id"]]


def test_derived_rows_are_sorted_and_valid(run):
    out, run_id = run
    trace = open_trace(out)

    trace.add_derived(
        run_id, "replay", {"ops": pa.table({"call_id": [0, 0, 0], "op_index": [5, 1, 3]})}
    )

    assert trace.table("ops").column("op_index").to_pylist() == [1, 3, 5]
    assert [p for p in validate(out) if "dead" not in p.text] == []


@pytest.mark.parametrize(
    ("name", "tables", "says"),
    [
        ("sanitize", {"launches": pa.table({"seq": [1], "call_id": [1]})}, "captured"),
        ("sanitize", {"finding": findings("a")}, "no table 'finding'"),
        ("sanitize", {"findings": findings("a", verdikt=["x"])}, "no column 'verdikt'"),
        ("sanitize", {"findings": findings(None)}, "finding_id is a key"),
        ("../evil", {"findings": findings("a")}, "not a name for a pass"),
        ("", {"findings": findings("a")}, "not a name for a pass"),
    ],
)
def test_add_derived_refuses_wrong_tables_and_writes_nothing(run, name, tables, says):
    out, run_id = run
    trace = open_trace(out)
    trace.add_derived(run_id, "sanitize", {"findings": findings("kept")})

    with pytest.raises(SchemaMismatch, match=says):
        trace.add_derived(
            run_id, name, {"loops": pa.table({"call_id": [0], "op_index": [0]}), **tables}
        )

    assert trace.table("findings").column("finding_id").to_pylist() == ["kept"]
    assert trace.table("loops").num_rows == 0


def test_pass_settings_that_are_not_json_are_refused(run):
    out, run_id = run
    with pytest.raises(SchemaMismatch, match="settings of the pass sanitize"):
        open_trace(out).add_derived(
            run_id, "sanitize", {"findings": findings("a")}, {"x": object()}
        )


def test_add_derived_refuses_an_unknown_run(run):
    out, _ = run
    with pytest.raises(UnknownRun):
        open_trace(out).add_derived("nothing", "sanitize", {"findings": findings("a")})


def test_failed_write_of_a_pass_keeps_its_old_parts(run):
    out, run_id = run
    trace = open_trace(out)
    trace.add_derived(run_id, "sanitize", {"findings": findings("kept")})
    (out / "loops").write_text("where the folder of loops should be")

    with pytest.raises(TraceWriteError, match="the pass sanitize"):
        trace.add_derived(
            run_id,
            "sanitize",
            {"findings": findings("new"), "loops": pa.table({"call_id": [0], "op_index": [0]})},
        )

    assert trace.table("findings").column("finding_id").to_pylist() == ["kept"]
    assert not [path for path in out.rglob("*") if path.name.endswith(".tmp")]
    assert part_path(out, "findings", run_id, 0, "sanitize").exists()


KILLED = """
    import os, sys
    import pyarrow as pa
    from pathlib import Path
    from kvtrace.schema import plans
    from kvtrace.schema.trace import open_trace

    def die(folder):  # after the first table is in place, before the second
        os._exit(9)

    plans.sync_folder = die
    open_trace(sys.argv[1]).add_derived(
        sys.argv[2], "sanitize",
        {
            "findings": pa.table({"finding_id": ["new"]}),
            "ops": pa.table({"call_id": [0], "op_index": [2]}),
        },
    )
"""


@pytest.fixture
def cut_off(run):
    """A pass that was killed while its results took the place of older ones."""
    out, run_id = run
    trace = open_trace(out)
    older = {"findings": findings("old"), "loops": pa.table({"call_id": [0], "op_index": [1]})}
    trace.add_derived(run_id, "sanitize", older)
    child = run_child(KILLED, out, run_id)
    assert child.returncode == 9, child.stderr
    return out, run_id


def state(out):
    trace = open_trace(out)
    return {
        "findings": trace.table("findings").column("finding_id").to_pylist(),
        "ops": trace.table("ops").column("op_index").to_pylist(),
        "loops": trace.table("loops").num_rows,
    }


NEW = {"findings": ["new"], "ops": [2], "loops": 0}


@pytest.mark.process
def test_interrupted_replacement_is_reported_and_completed_by_recover(cut_off):
    out, _ = cut_off
    assert state(out) != NEW
    assert any("kvtrace trace recover puts" in problem.text for problem in validate(out))

    done = recover(out)

    assert "the results of a killed pass were put in place" in done.notes
    assert state(out) == NEW
    assert not list(out.rglob("*.tmp"))
    assert not list(out.rglob("*.json"))
    assert recover(out).notes == ()


@pytest.mark.process
def test_interrupted_replacement_is_completed_before_the_next_pass(cut_off):
    out, run_id = cut_off

    open_trace(out).add_derived(run_id, "other", {"findings": findings("more")})

    assert state(out) == {**NEW, "findings": ["more", "new"]}


@pytest.mark.process
@pytest.mark.parametrize(
    "change",
    [
        lambda plan: plan | {"fresh": {"findings": "../../../secret"}},
        lambda plan: plan | {"run": "../../elsewhere"},
        lambda plan: plan | {"pass_name": "x/../y"},
        lambda plan: plan | {"more": 1},
        lambda plan: [],
    ],
)
def test_replacement_plan_with_paths_outside_the_trace_is_refused(cut_off, change):
    out, _ = cut_off
    (path,) = (out / ".journal").glob("replacement-*.json")
    plan = json.loads(path.read_text())
    del plan["checksum"]  # as whoever changes it would
    path.write_text(json.dumps(change(plan)))
    before = state(out)

    done = recover(out)

    assert any(str(path) in note and "is damaged" in note for note in done.notes)
    assert state(out) == before


@pytest.mark.process
def test_replacement_plan_with_a_flipped_bit_is_refused(cut_off):
    out, _ = cut_off
    (path,) = (out / ".journal").glob("replacement-*.json")
    plan = path.read_text()
    path.write_text(plan.replace('"pass_name": "s', '"pass_name": "r'))
    assert path.read_text() != plan
    before = state(out)

    done = recover(out)

    assert any(str(path) in note and "is damaged" in note for note in done.notes)
    assert state(out) == before


@pytest.mark.costly("reads beside a writer; replaced tables stay by day")
def test_table_stays_readable_while_a_pass_replaces_it(run):
    out, run_id = run
    trace = open_trace(out)
    trace.add_derived(run_id, "sanitize", {"findings": findings("a", "b")})
    stop = threading.Event()

    def replace():
        while not stop.is_set():
            open_trace(out).add_derived(run_id, "sanitize", {"findings": findings("a", "b")})

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        for _ in range(100):
            assert trace.table("findings").num_rows == 2
    finally:
        stop.set()
        thread.join()
