"""Kernels in Gluon without a GPU: they run in the evaluator, and are judged like all others."""

import json
import runpy

import pytest

from tests.support.tiers import needs
from tests.support.triton_versions import ROOT, run_with, versions
from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()

import kvtrace  # noqa: E402
from corpus.kernels import gluon_kernels  # noqa: E402
from corpus.kernels.gluon_kernels import LAUNCHES  # noqa: E402
from kvtrace.cli import main  # noqa: E402
from kvtrace.schema.runs import plain_rows  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402
from tests.backends.commands import run  # noqa: E402

PROGRAM = ROOT / "tests" / "support" / "gluon_program.py"


@pytest.fixture(scope="module", params=versions())
@needs("process")
def seen(request, tmp_path_factory):
    cache, out = (tmp_path_factory.mktemp(name) for name in ("triton", "out"))
    done = run_with(request.param, [str(PROGRAM), str(out)], cache)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def recorded_launches(tmp_path_factory):
    """A trace of a launch of each kernel, and what was launched."""
    out = tmp_path_factory.mktemp("gluon")
    with kvtrace.capture(out, tensors="all"):
        results = {name: launch("cpu") for name, launch in LAUNCHES.items()}
    return out, results


def findings(out):
    """Return the findings as (kernel, rule, verdict, message)."""
    kvtrace.open(out).sanitize()
    trace = open_trace(out)
    names = {row["kernel_id"]: row["name"] for row in plain_rows(trace.table("kernels"))}
    calls = {row["call_id"]: names[row["kernel_id"]] for row in plain_rows(trace.table("calls"))}
    return [
        (calls[row["call_id"]], row["rule"], row["verdict"], row["message"])
        for row in plain_rows(trace.table("findings"))
    ]


# -- each version ---------------------------------------------------------------------------------


def test_each_version_runs_each_launch(seen):
    names = [name for name, _ in seen["launched"]]
    assert seen["launches"] >= len(names)
    assert {name for name, _, _ in seen["kernels"]} == set(names)
    assert all(seen["results"])
    assert not {"capture-failure", "not-evaluated"} & set(seen["codes"])


def test_each_version_names_the_same_stages(seen):
    for name, origin, stages in seen["kernels"]:
        assert origin == "gluon"
        assert stages == ["glir", "ttgir", "ttgir_generic", "llir", "ptx", "cubin"], name
        assert f"tt.func public @{name}" in seen["glir"][name]
        assert "ttg.num-warps" in seen["glir"][name]


# -- what is recorded and computed ----------------------------------------------------------------


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_launch_computes_what_it_should(name, recorded_launches):
    out, results = recorded_launches
    launch = results[name]
    torch.testing.assert_close(launch.result, launch.expected, atol=2e-3, rtol=2e-3)
    trace = open_trace(out)
    kernels = {row["kernel_id"]: row for row in plain_rows(trace.table("kernels"))}
    (call,) = (
        row
        for row in plain_rows(trace.table("calls"))
        if kernels[row["kernel_id"]]["name"] == launch.kernel
    )
    assert (call["grid_x"], call["grid_y"], call["grid_z"]) == (launch.grid, 1, 1)
    tensors = [arg for arg in call["args"] if arg["kind"] in ("tensor", "descriptor")]
    assert [arg["name"] for arg in tensors][:2] in (["source", "result"], ["a", "b"])
    kernel = kernels[call["kernel_id"]]
    assert kernel["file"] == gluon_kernels.__file__
    assert kernel["file"] in [file["path"] for file in kernel["files"]]


def test_an_error_in_a_gluon_kernel_is_tritons_error(tmp_path):
    from triton.compiler.errors import CompilationError

    x = torch.zeros(32)
    with kvtrace.capture(tmp_path), pytest.raises(CompilationError):
        gluon_kernels.gluon_copy[(1,)](x, x, BLOCK=33)


# -- what is said of it ---------------------------------------------------------------------------


@pytest.mark.process
def test_rules_judge_each_kernel(recorded_launches):
    out, _ = recorded_launches
    verdicts = findings(out)
    undecided = {(kernel, rule) for kernel, rule, verdict, _ in verdicts if verdict == "unknown"}
    assert undecided <= {
        ("specialized", "pipeline-order"), ("doubled_in_partitions", "pipeline-order"),
    }  # fmt: skip
    assert not any(verdict == "violation" for _, _, verdict, _ in verdicts)
    bounds = {kernel for kernel, rule, verdict, _ in verdicts if rule == "out-of-bounds"}
    assert bounds == {launch.kernel for launch in recorded_launches[1].values()}


def test_the_profile_counts_bytes_of_copies_by_descriptor(recorded_launches, capsys):
    out, _ = recorded_launches
    code, text = run(out, capsys, "profile")
    assert code == 0
    assert "not evaluated" not in text
    trace = open_trace(out)
    names = {row["kernel_id"]: row["name"] for row in plain_rows(trace.table("kernels"))}
    calls = {row["call_id"]: names[row["kernel_id"]] for row in plain_rows(trace.table("calls"))}
    sizes: dict[str, int] = {}
    for row in plain_rows(trace.table("ops")):
        name = calls[row["call_id"]]
        sizes[name] = sizes.get(name, 0) + (row["bytes"] or 0)
    assert sizes["copied_by_descriptor"] == 2 * 64 * 64 * 2
    assert sizes["doubled_in_partitions"] == 2 * 256 * 64 * 2


def call_of(out, name):
    """The number of the call of a kernel."""
    trace = open_trace(out)
    ids = {row["name"]: row["kernel_id"] for row in plain_rows(trace.table("kernels"))}
    calls = plain_rows(trace.table("calls"))
    return next(row["call_id"] for row in calls if row["kernel_id"] == ids[name])


@pytest.mark.process
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("row_sums", []),
        ("row_sums", ["--source"]),
        ("product", ["--source"]),
        ("doubled_in_partitions", ["--source"]),
    ],
)
def test_a_script_launches_a_kernel_again(
    name, options, recorded_launches, tmp_path, monkeypatch, capsys
):
    out, _ = recorded_launches
    script = tmp_path / "again.py"
    code, _ = run(
        out, capsys, "repro", "--call", str(call_of(out, name)), *options, "-o", str(script)
    )
    assert code == 0
    monkeypatch.setattr("sys.argv", [str(script), "--check"])
    with kvtrace.capture(tmp_path / "again"), pytest.raises(SystemExit) as end:
        runpy.run_path(str(script), run_name="__main__")
    assert end.value.code == 0
    printed = capsys.readouterr().out
    assert "written" in printed
    assert "the same bytes" in printed
    rows = plain_rows(open_trace(tmp_path / "again").table("kernels"))
    assert "ttgir_generic" in [stage["stage"] for stage in rows[0]["stages"]]


def test_a_descriptor_is_no_argument_of_compiled_ir(recorded_launches, capsys):
    out, _ = recorded_launches
    assert main(["repro", str(out), "--call", str(call_of(out, "product")), "-o", "-"]) == 2
    assert "use --source" in capsys.readouterr().err


def test_results_are_compared_within_derived_bounds(tmp_path, capsys):
    with kvtrace.capture(tmp_path, check="kernel:*"):
        for launch in LAUNCHES.values():
            launch("cpu")
    code, text = run(tmp_path, capsys, "check")
    assert code == 0
    assert f"{len(LAUNCHES)} launches checked: {len(LAUNCHES)} agree with their IR" in text


@pytest.mark.process
@pytest.mark.parametrize("command", ["info", "profile", "sizes", "invariance", "diff", "report"])
def test_commands_read_a_trace_of_these_kernels(command, recorded_launches, tmp_path, capsys):
    out, results = recorded_launches
    options = {"diff": [str(out)], "report": ["-o", str(tmp_path / "page.html")]}
    code, text = run(out, capsys, command, *options.get(command, []))
    assert code == 0
    assert "not evaluated" not in text
    if command == "sizes":
        assert f"{len(results)} within the conditions" in text
    if command == "diff":
        assert f"no difference in {len(results)} kernels" in text


@pytest.mark.costly("evaluates with errors; results stay by day")
def test_tolerances_follow_products_and_partitions(tmp_path):
    with kvtrace.capture(tmp_path):
        tiles = [gluon_kernels.described(torch.randn(64, 64).half(), [64, 64]) for _ in range(3)]
        product = kvtrace.tolerance(gluon_kernels.product, *tiles, grid=(1,), BYTES=16384)
        rows = [gluon_kernels.described(torch.randn(256, 64).half(), [32, 64]) for _ in range(2)]
        doubled = kvtrace.tolerance(
            gluon_kernels.doubled_in_partitions, *rows, grid=(1,), TRIPS=8, BYTES=4096, STAGES=2
        )
    assert 0 < product["c"].worst.max() < 0.1
    assert doubled["result"].worst.max() == 0


@pytest.mark.process
def test_a_kernel_is_checked_with_tensors_of_descriptors():
    source, result = (torch.randn(64, 64).half() for _ in range(2))
    tensors = [gluon_kernels.described(each, [32, 64]) for each in (source, result)]
    checked = kvtrace.check_kernel(gluon_kernels.copied_by_descriptor, tensors, (2,), BYTES=4096)
    assert checked.ok
    assert checked.written == ("result",)
    assert torch.equal(checked.results["result"], source)


@pytest.mark.process
def test_an_access_out_of_bounds_is_found(tmp_path):
    source, result = torch.zeros(512), torch.zeros(500)
    with kvtrace.capture(tmp_path):
        gluon_kernels.gluon_copy[(2,)](source, result, BLOCK=256)
    assert ("gluon_copy", "out-of-bounds", "violation") in [row[:3] for row in findings(tmp_path)]


@pytest.mark.process
def test_a_read_before_its_copy_is_a_violation(tmp_path):
    x = torch.zeros(128)
    with kvtrace.capture(tmp_path):
        gluon_kernels.read_too_early[(1,)](x, torch.zeros(128), BLOCK=128)
    (message,) = [
        row[3] for row in findings(tmp_path) if row[1:3] == ("pipeline-order", "violation")
    ]
    assert "may not have filled yet" in message


@pytest.mark.process
def test_a_barrier_that_expects_too_few_bytes_is_not_proven(tmp_path):
    with kvtrace.capture(tmp_path):
        gluon_kernels.copy_by_descriptor("cpu", size=1024)
    (message,) = [row[3] for row in findings(tmp_path) if row[1:3] == ("pipeline-order", "unknown")]
    assert "waits for 1,024 bytes, but 4,096 bytes are in flight" in message
