"""Clients that watch while a program runs without a GPU: KVTRACE_MODE=ops and kvtrace.trace."""

import os
from pathlib import Path

import pytest

from kvtrace.clients import Client, on, replay
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from tests.support.tiers import needs
from tests.support.warm_python import warm_python

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
@needs("process")
def run(tmp_path_factory):
    """Run a function of program.py in a process of its own; return its trace and its output."""
    cache = tmp_path_factory.mktemp("cache")

    def start(what):
        out = tmp_path_factory.mktemp(what) / "out"
        environment = os.environ | {"PYTHONPATH": str(ROOT), "TRITON_CACHE_DIR": str(cache)}
        program = ROOT / "tests" / "clients" / "program.py"
        done = warm_python().run(program, out, what, folder=out.parent, environment=environment)
        assert done.returncode == 0, done.stderr
        return open_trace(out), done

    return start


@pytest.fixture(scope="module")
def plain(run):
    return run("plain")


def rows_of(trace, table, run=None):
    rows = trace.table(table, run).to_pylist()
    return sorted((tuple(sorted(row.items(), key=str)) for row in rows), key=str)


def test_each_distinct_call_is_watched_once_without_changing_results(plain):
    trace, done = plain

    assert done.stdout.startswith("[8128.0, 24512.0, ")
    assert trace.table("launches").num_rows == 4
    ops = trace.table("ops").to_pylist()
    stores = {row["call_id"]: row["executions"] for row in ops if row["kind"] == "store"}
    assert stores == {0: 4, 1: 6}
    assert {row["call_id"] for row in trace.table("accesses").to_pylist()} == {0, 1}
    (loop,) = trace.table("loops").to_pylist()
    assert (loop["call_id"], loop["trips_max"]) == (1, 4)
    findings = trace.table("findings").to_pylist()
    assert {row["verdict"] for row in findings} == {"proven"}
    assert [row["rule"] for row in findings].count("out-of-bounds") == 4
    assert trace.runs[0].mode == "ops"
    assert validate(trace.path) == []


def test_watching_is_noted_and_replay_counts_the_same_ops(plain):
    trace, _ = plain
    (run,) = trace.runs
    facts = trace.passes(run.run_id)["profiler"]
    assert facts.pop("while") == "watching"
    watched = {table: rows_of(trace, table) for table in ("ops", "loops", "accesses")}

    replay(trace, run)

    assert trace.passes(run.run_id)["profiler"] == facts  # sectors by compiled layouts, too
    assert {table: rows_of(trace, table) for table in watched} == watched


def test_a_forked_child_has_a_run_and_rows_of_its_own(run):
    trace, _ = run("forked")

    parent, child = trace.runs
    assert child.parent_run_id == parent.run_id
    for one, calls in ((parent, {0, 1}), (child, {0})):
        ops = trace.table("ops", [one]).to_pylist()
        assert {row["call_id"] for row in ops} == calls
    (load,) = [r for r in trace.table("ops", [child]).to_pylist() if r["kind"] == "load"]
    assert load["bytes"] == 64 * 4
    assert validate(trace.path) == []


def test_launches_of_several_threads_are_distinguished(run):
    trace, _ = run("threads")

    sizes = {row["call_id"]: row["args"][0]["shape"][0] for row in trace.table("calls").to_pylist()}
    loads = [row for row in trace.table("ops").to_pylist() if row["op"] == "tt.load"]
    # Threads that compile at the same time make kernels, and so calls, of their own.
    assert len(loads) == len(sizes) >= 18
    for row in loads:
        if sizes[row["call_id"]] < 100:
            assert row["bytes"] == 4 * sizes[row["call_id"]]


def test_a_failing_client_is_reported_and_affects_nothing_else(run):
    trace, done = run("faulty")

    assert done.stdout.startswith("[8128.0, 24512.0, ")
    assert "the client sanitizer failed on RuntimeError: on purpose" in done.stderr
    assert trace.table("ops").num_rows > 10
    assert trace.table("findings").num_rows == 0
    codes = [row["code"] for row in plain_rows(trace.table("messages"))]
    assert "client-failed" in codes


def test_kernels_that_are_not_recorded_are_not_watched(run):
    trace, _ = run("unwatched")

    assert trace.table("calls").num_rows == 1
    assert {row["call_id"] for row in trace.table("ops").to_pylist()} == {0}


def test_message_names_replay_if_no_launch_was_evaluated(run):
    trace, done = run("nothing")

    assert f"kvtrace profile {trace.path} --replay derives their ops" in done.stderr
    assert trace.table("ops").num_rows == 0
    assert trace.table("launches").num_rows == 1


def test_clients_of_equal_name_on_two_kernels_share_tables(tmp_path):
    import torch

    import kvtrace
    from tests.clients import kernels

    around = kvtrace.trace(client="profiler", out=tmp_path / "out")
    other = kvtrace.trace(client="profiler", out=tmp_path / "out")
    scale, row_sums = around(kernels.scale), other(kernels.row_sums)
    x = torch.zeros(1000)
    scale[(4,)](x, torch.zeros(1000), 1000, 3.0, BLOCK=256)
    row_sums[(6,)](x, torch.zeros(6), 128, BLOCK=32)
    kvtrace.stop()

    trace = open_trace(tmp_path / "out")
    stores = [row for row in trace.table("ops").to_pylist() if row["kind"] == "store"]
    assert sorted((row["call_id"], row["executions"]) for row in stores) == [(0, 4), (1, 6)]
    assert validate(trace.path) == []


class Stores(Client):
    """Keeps the stored values."""

    def __init__(self):
        self.stored = []

    @on("tt.store")
    def store(self, event):
        self.stored.append(event.operands[1].copy())


class Halving(Stores):
    @on("math.exp", when="override")
    def halve(self, event):
        return event.compute()[0] / 2


@pytest.fixture
def traced(tmp_path):
    import kvtrace
    from tests.clients import kernels

    def around(client, **more):
        return kvtrace.trace(client=client, out=tmp_path / "out", **more)(kernels.scale)

    yield around
    kvtrace.stop()


def test_one_kernel_is_recorded_and_watched(traced, tmp_path):
    import torch

    import kvtrace
    from tests.clients import kernels

    scale = traced("profiler")
    x, y = torch.zeros(1000), torch.zeros(1000)
    for _ in range(2):
        scale[(4,)](x, y, 1000, 3.0, BLOCK=256)
    kernels.row_sums[(6,)](x, torch.zeros(6), 128, BLOCK=32)
    found = scale.tables()
    kvtrace.stop()

    trace = open_trace(tmp_path / "out")
    assert y.tolist() == [3.0] * 1000
    assert found["ops"].num_rows == trace.table("ops").num_rows > 5
    assert trace.table("kernels")["name"].to_pylist() == ["scale"]
    assert trace.table("launches").num_rows == 2
    (call,) = trace.table("calls").to_pylist()
    frames = {row["stack_id"]: row["frames"] for row in trace.table("stacks").to_pylist()}
    assert frames[call["stack_id"]][0]["file"] == __file__


def test_hooks_see_the_values_of_the_running_program_and_may_change_them(traced):
    import torch

    client = Halving()
    scale = traced(client)
    x, y = torch.zeros(512), torch.zeros(512)
    scale[(2,)](x, y, 512, 4.0, BLOCK=256)

    assert scale.client is client
    assert y.tolist() == [2.0] * 512
    assert client.stored[0].tolist() == [[2.0] * 256] * 2


def test_a_sampling_client_does_not_change_the_programs_results(traced):
    import torch

    class Sampling(Stores):
        def programs(self, extents):
            return [1]

    client = Sampling()
    scale = traced(client)
    x = torch.zeros(512)
    scale[(2,)](x, x, 512, 5.0, BLOCK=256)  # in place: a second evaluation would see e**5

    assert x.tolist() == [5.0] * 512
    assert client.stored[0].tolist() == [[5.0] * 256]


def test_a_client_that_raises_does_not_affect_the_launch(traced):
    import torch

    class Faulty(Stores):
        name = "faulty"

        @on("math.exp", when="override")
        def fail(self, event):
            raise LookupError("on purpose")

    scale = traced(Faulty())
    y = torch.zeros(512)
    scale[(2,)](torch.zeros(512), y, 512, 5.0, BLOCK=256)

    assert y.tolist() == [5.0] * 512
    with pytest.raises(Exception, match="the client faulty failed on LookupError: on purpose"):
        scale.tables()


def test_a_traced_kernel_keeps_its_attributes(traced):
    from tests.clients import kernels

    scale = traced("sanitizer")
    assert scale.fn is kernels.scale.fn
    assert scale.arg_names == kernels.scale.arg_names
    assert scale.tables() == {}


def test_an_unknown_client_is_an_error_of_kvtrace_trace():
    import kvtrace
    from kvtrace.schema.errors import BadSetting

    with pytest.raises(BadSetting, match="there is no client 'painter'"):
        kvtrace.trace(client="painter")
