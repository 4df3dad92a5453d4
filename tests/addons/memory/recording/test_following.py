"""What a program with `KVTRACE_MEMORY=on` records, read from its trace, and its same results."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from kvtrace.addons.memory.recording import BACKEND, following
from kvtrace.addons.memory.recording.layouts import TorchUnknown
from kvtrace.capture.session import Session
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.settings import settings_from_arguments
from tests.support.tiers import needs
from tests.support.tree import ROOT
from tests.support.warm_python import warm_python

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

PROGRAM = Path(__file__).parent / "memory_program.py"


def run(folder, **variables):
    """The program's output; it runs as with the autostart line."""
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("KVTRACE")},
        "PYTHONPATH": str(ROOT),
        "TRITON_CACHE_DIR": str(folder / "cache"),
        **variables,
    }
    done = warm_python().run(PROGRAM, folder=folder, environment=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


@pytest.fixture(scope="module")
@needs("process")
def recorded(tmp_path_factory):
    """The program's results with memory recorded, and the trace."""
    folder = tmp_path_factory.mktemp("memory")
    results, errors = run(folder, KVTRACE=str(folder / "out"), KVTRACE_MEMORY="on")
    assert "memory-left-out" not in errors
    return SimpleNamespace(results=results, trace=folder / "out", folder=folder)


def started(folder, program, **variables):
    """The process of a program that recorded memory in its folder, which has ended."""
    (folder / "program.py").write_text(program)
    recording = {"KVTRACE": "out", "KVTRACE_MEMORY": "on", "PYTHONPATH": str(ROOT)}
    environment = os.environ | recording | variables
    return warm_python().run("program.py", folder=folder, environment=environment)


class Tables:
    """The rows of operations with their operators' names and tensors, in order of time."""

    def __init__(self, trace):
        opened = open_trace(trace)
        operators = {row["operator_id"]: row for row in opened.table("operators").to_pylist()}
        self.launches = plain_rows(opened.table("launches"))
        self.operations = [
            row | {"name": operators[row["operator_id"]]["name"]}
            | {"tensors": [
                entry | {"address": address}
                for entry, address in zip(
                    operators[row["operator_id"]]["tensors"], row["addresses"], strict=True
                )
            ]}
            for row in sorted(plain_rows(opened.table("operations")), key=lambda row: row["begin"])
        ]  # fmt: skip
        self.main = self.operations[0]["thread"]

    def of(self, name):
        return [row for row in self.operations if row["name"] == name]

    def roles(self, name):
        (first, *_) = self.of(name)
        return [(entry["name"], entry["role"]) for entry in first["tensors"]]


@pytest.fixture(scope="module")
def tables(recorded):
    return Tables(recorded.trace)


def test_the_trace_is_valid(recorded):
    assert validate(recorded.trace) == []


@pytest.mark.parametrize(
    ("operator", "roles"),
    [
        ("aten::zeros", [(None, "created")]),
        ("aten::empty.memory_format", [(None, "created")]),
        ("aten::empty_like", [("self", "read"), (None, "created")]),
        ("aten::add_.Tensor", [("self", "written"), ("other", "read"), (None, "viewed")]),
        ("aten::view", [("self", "read"), (None, "viewed")]),
        (
            "aten::cat.out",
            [("tensors[0]", "read"), ("tensors[1]", "read"), ("out", "written"), (None, "viewed")],
        ),
        (
            "aten::index_put_",
            [("self", "written"), ("indices[0]", "read"), ("values", "read"), (None, "viewed")],
        ),
        ("memory_test::plus", [("x", "read"), ("y", "read"), (None, "created")]),
        ("memory_test::fill_", [("x", "written")]),
        ("aten::split.Tensor", [("self", "read"), (None, "viewed"), (None, "viewed")]),
        ("aten::mm", [("self", "read"), ("mat2", "read")]),  # it raised an error
    ],
)
def test_roles_of_an_operators_tensors(tables, operator, roles):
    assert tables.roles(operator) == roles


def test_metadata_and_addresses_are_those_of_the_tensors(tables):
    (view,) = tables.of("aten::view")
    zeros = tables.of("aten::zeros")[0]["tensors"][0]
    source, result = view["tensors"]

    assert (source["shape"], source["strides"], source["offset_bytes"]) == ([6], [1], 8)
    assert (result["shape"], result["strides"], result["dtype"]) == ([2, 3], [3, 1], "fp32")
    assert result["storage_bytes"] == zeros["storage_bytes"] == 32
    assert source["address"] == result["address"] == zeros["address"] + 8


def test_operators_of_aten_hide_what_they_call_themselves(tables):
    assert len(tables.of("aten::zeros")) == 3
    made = [row for row in tables.of("aten::empty.memory_format") if row["thread"] == tables.main]
    assert [row["tensors"][0]["shape"] for row in made] == [[8], [16]]


def test_a_launch_in_a_custom_operator_lies_within_its_call(tables):
    (plus,) = tables.of("memory_test::plus")
    inside = [row for row in tables.launches if plus["begin"] <= row["enter"] <= plus["end"]]
    (launch,) = inside
    (like,) = [
        row for row in tables.of("aten::empty_like") if plus["begin"] < row["begin"] < plus["end"]
    ]

    x, y, out = plus["tensors"]
    assert launch["thread"] == plus["thread"]
    assert launch["addresses"] == [x["address"], y["address"], out["address"]]
    assert like["tensors"][1]["address"] == out["address"]
    assert out["role"] == "created"


def test_addresses_of_launches_follow_the_signature(tables):
    by_name = tables.launches[-1]
    like = tables.of("memory_test::fill_")[0]["tensors"][0]
    total = tables.of("memory_test::plus")[0]["tensors"][-1]
    empty = tables.of("aten::zero_")[0]["tensors"][0]

    assert by_name["addresses"] == [like["address"], total["address"], empty["address"]]


def test_operators_of_backwards_are_recorded(tables):
    names = [row["name"] for row in tables.operations]

    assert names.count("aten::mul.Tensor") >= 3  # Square's forward, and two in its backward
    assert "Square" not in names


def test_threads_at_once_are_told_apart(tables):
    by_thread = {}
    for row in tables.of("aten::add_.Tensor"):
        by_thread.setdefault(row["thread"], []).append(row["tensors"][0]["address"])
    counts = [addresses for addresses in by_thread.values() if len(addresses) == 300]

    assert len(counts) == 2
    assert all(len(set(addresses)) == 1 for addresses in counts)


def test_operators_have_the_stack_of_their_first_call(recorded):
    trace = open_trace(recorded.trace)
    frames = {row["stack_id"]: row["frames"] for row in trace.table("stacks").to_pylist()}
    (view,) = [r for r in trace.table("operators").to_pylist() if r["name"] == "aten::view"]
    line = 1 + PROGRAM.read_text().split("\n").index("    view = zeros[2:].view(2, 3)")

    innermost = frames[view["stack_id"]][0]
    assert (innermost["file"], innermost["line"]) == (str(PROGRAM), line)
    assert innermost["function"] == "main"


def test_the_tables_are_read_by_duckdb(recorded):
    found = duckdb.sql(
        f"""
        select name, count(*) as calls, count(distinct addresses[1]) as places
        from '{recorded.trace}/operations/*/*.parquet'
        join '{recorded.trace}/operators/*/*.parquet' using (operator_id)
        where name = 'aten::add_.Tensor' group by name
        """
    ).fetchall()

    assert found == [("aten::add_.Tensor", 601, 3)]


@pytest.mark.process
def test_without_the_setting_nothing_is_recorded_and_results_are_the_same(recorded):
    out = recorded.folder / "bare"

    results, _ = run(recorded.folder, KVTRACE=str(out))

    assert results == recorded.results
    trace = open_trace(out)
    assert not any(
        trace.table(name).num_rows for name in ("operators", "operations", "allocations")
    )
    assert {row["addresses"] is None for row in plain_rows(trace.table("launches"))} == {True}


EMULATED = """
import kvtrace._boot
import torch
import triton
import triton.language as tl

@triton.jit
def double(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, 2 * tl.load(x + i))

x = torch.ones(8, device="cuda")
out = torch.empty_like(x)
double[(1,)](x, out, BLOCK=8)
print(out.sum().item())
"""


@pytest.mark.process
def test_addresses_on_the_emulated_gpu_are_those_of_the_host(tmp_path):
    done = started(tmp_path, EMULATED, KVTRACE_DEVICE="cpu")

    assert (done.returncode, done.stdout) == (0, "16.0\n"), done.stderr
    tables = Tables(tmp_path / "out")
    x, out = tables.of("aten::empty_like")[0]["addresses"]
    (launch,) = tables.launches
    assert launch["addresses"] == [x, out]
    assert tables.of("aten::ones")[0]["addresses"] == [x]
    assert tables.of("aten::sum")[0]["addresses"][0] == out


COMPILED = """
import kvtrace._boot
import torch
import triton.language

@torch.compile
def scaled(x):
    return torch.mm(x, x).relu() * 2

x = torch.eye(8)
print(scaled(x).sum().item())
import kvtrace
from kvtrace.capture import api
api.current().add_mark("done", 1, None, {})
"""


@pytest.mark.process
@pytest.mark.night("16 s; test_hooks_are_removed_with_the_session allocates as its code")
def test_memory_that_generated_code_allocates_is_recorded(tmp_path):
    done = started(tmp_path, COMPILED, TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "cache"))

    assert (done.returncode, done.stdout) == (0, "16.0\n"), done.stderr
    trace = open_trace(tmp_path / "out")
    allocations = plain_rows(trace.table("allocations"))
    frames = {row["stack_id"]: row["frames"] for row in trace.table("stacks").to_pylist()}
    tables = Tables(tmp_path / "out")
    product = tables.of("aten::mm.out")[-1]["tensors"][2]
    matching = [row for row in allocations if row["address"] == product["address"]]
    assert matching
    assert {(row["bytes"], row["device"], row["end"]) for row in matching} == {(256, None, None)}
    assert frames[matching[-1]["stack_id"]][0]["file"].startswith(str(tmp_path / "cache"))


def session_with_memory(out):
    return Session(str(out), settings_from_arguments(memory="on"))


def messages(session):
    session.add_mark("end", 1, None, {})
    session.stop()
    return [
        (row["level"], row["code"], row["text"])
        for row in plain_rows(open_trace(session.out).table("messages"))
        if row["code"].startswith("memory")
    ]


def test_an_unknown_torch_costs_only_operators(tmp_path, monkeypatch):
    def refuse(native, given):
        raise TorchUnknown("torch 9 keeps operators in another way")

    monkeypatch.setattr(following, "install", refuse)
    session = session_with_memory(tmp_path / "out")

    BACKEND.install(session)
    try:
        assert session.recorder.keeps_addresses
        assert torch.ones(2).sum().item() == 2
    finally:
        BACKEND.uninstall()

    assert messages(session) == [
        (
            "warning",
            "memory-left-out",
            "operators are not recorded, only addresses of launches' tensors: torch 9 keeps "
            "operators in another way",
        )
    ]


def test_hooks_are_removed_with_the_session(tmp_path):
    guards = torch._C._dynamo.guards
    before = guards._empty_strided_cpu
    session = session_with_memory(tmp_path / "out")

    BACKEND.install(session)
    replaced = guards._empty_strided_cpu
    made = replaced((2, 3), (3, 1), torch.float32)
    session.add_mark("begin", 1, None, {})
    BACKEND.uninstall()
    torch.ones(7)
    session.stop()

    assert (made.shape, made.stride()) == ((2, 3), (3, 1))
    assert replaced is not before
    assert guards._empty_strided_cpu is before
    trace = open_trace(tmp_path / "out")
    (allocation,) = plain_rows(trace.table("allocations"))
    assert allocation["bytes"] == 24
    assert allocation["address"] == made.data_ptr()
    assert "aten::ones" not in trace.table("operators")["name"].to_pylist()


def test_a_failed_allocation_raises_torchs_error(tmp_path):
    guards = torch._C._dynamo.guards
    session = session_with_memory(tmp_path / "out")
    BACKEND.install(session)
    try:
        with pytest.raises(RuntimeError, match="PyTuple_Type"):
            guards._empty_strided_cpu("no size", (1,), torch.float32)
    finally:
        BACKEND.uninstall()


@pytest.mark.process
def test_a_forked_process_records_a_run_of_its_own(tmp_path):
    code = """
import kvtrace._boot, os, torch
from kvtrace.capture import api
torch.zeros(3)
api.current().add_mark("parent", 1, None, {})
child = os.fork()
if child == 0:
    torch.ones(5)
    api.current().add_mark("child", 1, None, {})
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
torch.full((2,), 1.0)
"""
    done = started(tmp_path, code)
    assert done.returncode == 0, done.stderr

    trace = open_trace(tmp_path / "out")
    names = {
        run.parent_run_id is None: sorted(
            {row["name"] for row in trace.table("operators", [run]).to_pylist()}
        )
        for run in trace.runs
    }
    assert names == {True: ["aten::full", "aten::zeros"], False: ["aten::ones"]}
    assert validate(tmp_path / "out") == []
