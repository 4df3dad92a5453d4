"""Kernels in Gluon: recorded without a GPU, where they do not run, and called not evaluated."""

import json

import pytest

from tests.support.tiers import needs
from tests.support.triton_versions import ROOT, run_with, versions

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if torch.cuda.is_available():
    pytest.skip("this machine has a GPU", allow_module_level=True)

import kvtrace  # noqa: E402
from kvtrace.backends.compiled_kernels.unevaluated import before_left_out  # noqa: E402
from kvtrace.cli import main  # noqa: E402
from kvtrace.schema.runs import plain_rows  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402
from tests.backends import gluon_kernels  # noqa: E402
from tests.backends.gluon_kernels import LAUNCHES  # noqa: E402

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
    with kvtrace.capture(out):
        results = {name: launch("cpu") for name, launch in LAUNCHES.items()}
    return out, results


def run(out, capsys, *command) -> tuple[int, str]:
    capsys.readouterr()
    code = main([*command, str(out)])
    return code, " ".join(capsys.readouterr().out.split())


# -- what is recorded -----------------------------------------------------------------------------


def test_each_version_records_each_launch(seen):
    names = [name for name, _ in seen["launched"]]
    assert seen["launches"] >= len(names)
    assert {name for name, _, _ in seen["kernels"]} == set(names)
    assert not any(seen["results"])
    assert "capture-failure" not in seen["codes"]


def test_each_version_names_the_same_stages(seen):
    for name, origin, stages in seen["kernels"]:
        assert origin == "gluon"
        assert stages == ["glir", "ttgir", "llir", "ptx", "cubin"], name
        assert f"tt.func public @{name}" in seen["glir"][name]
        assert "ttg.num-warps" in seen["glir"][name]


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_launch_is_recorded_and_does_not_run(name, recorded_launches):
    out, results = recorded_launches
    launch = results[name]
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
    assert not launch.result.any()
    kernel = kernels[call["kernel_id"]]
    assert kernel["file"] == gluon_kernels.__file__
    assert kernel["file"] in [file["path"] for file in kernel["files"]]
    source = trace.artifact(kernel["source_artifact"])
    assert source is not None
    assert f"def {launch.kernel}(".encode() in source


def test_standard_error_has_one_warning_and_the_trace_one_message_per_kernel(tmp_path, capfd):
    with kvtrace.capture(tmp_path):
        for name in ("copy", "masked", "copy"):
            LAUNCHES[name]("cpu")
    assert capfd.readouterr().err.count("written in Gluon") == 1
    rows = plain_rows(open_trace(tmp_path).table("messages"))
    messages = [(row["level"], row["text"]) for row in rows if row["code"] == "not-evaluated"]
    assert [level for level, _ in messages] == ["warning", "info", "warning"]  # the last: how often
    assert "kernel gluon_copy is written in Gluon, which is not evaluated" in messages[0][1]
    assert "kernel scale_masked" in messages[1][1]


@pytest.mark.parametrize(
    "settings",
    [
        {"tensors": "all"},
        {"mode": "ops"},
        {"check": "first"},
        {"sanitize": "warn"},
        {"sanitize": "raise", "strict": True},
        {"compile": "full"},
        {"source": "off"},
    ],
)
def test_no_setting_makes_a_launch_fail(tmp_path, settings):
    with kvtrace.capture(tmp_path, **settings):
        LAUNCHES["copy"]("cpu")
        LAUNCHES["autotuned"]("cpu")
    trace = open_trace(tmp_path)
    assert trace.table("launches").num_rows >= 2
    codes = trace.table("messages", trace.runs, ["code"])["code"].to_pylist()
    assert "capture-failure" not in codes


def test_an_error_in_a_gluon_kernel_is_tritons_error(tmp_path):
    from triton.compiler.errors import CompilationError

    x = torch.zeros(32)
    with kvtrace.capture(tmp_path), pytest.raises(CompilationError):
        gluon_kernels.gluon_copy[(1,)](x, x, BLOCK=33)


def test_a_consumer_of_results_may_refuse_a_skipped_launch(tmp_path):
    def refuse(sentence: str) -> None:
        raise NotImplementedError(sentence)

    before_left_out.append(refuse)
    try:
        with (
            kvtrace.capture(tmp_path),
            pytest.raises(NotImplementedError, match="kernel gluon_copy is written in Gluon"),
        ):
            LAUNCHES["copy"]("cpu")
    finally:
        before_left_out.remove(refuse)


# -- what is said of it ---------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["info", "--full"], ["profile"]])
def test_commands_report_kernels_that_are_not_evaluated(command, recorded_launches, capsys):
    out, _ = recorded_launches
    code, text = run(out, capsys, *[word for word in command if word != "--full"])
    assert code == 0
    assert f"not evaluated: {len(LAUNCHES)} kernels written in Gluon" in text
    assert "--replay" not in text.partition("not evaluated")[2].partition("launches ")[0]


@pytest.mark.process  # evaluated in other processes
def test_a_diff_reports_unevaluated_kernels_of_both_sides(recorded_launches, capsys):
    out, _ = recorded_launches
    code, text = run(out, capsys, "diff", str(out))
    assert code == 0
    assert text.count("not evaluated:") >= 1


@pytest.mark.parametrize("rule", ["out-of-bounds", "race", "overflow"])
def test_every_rule_gives_an_unknown_verdict_for_an_unevaluated_kernel(rule, tmp_path, capsys):
    with kvtrace.capture(tmp_path):
        LAUNCHES["copy"]("cpu")
    code, text = run(tmp_path, capsys, "sanitize", "--rule", rule)
    assert code == 2
    assert f"unknown[{rule}]" in text
    assert "is written in Gluon, which has no TTIR and is not evaluated" in text
    assert run(tmp_path, capsys, "sanitize", "--rule", rule, "--strict")[0] == 2


def test_sizes_of_unevaluated_kernels_are_unknown(tmp_path, capsys):
    with kvtrace.capture(tmp_path):
        LAUNCHES["copy"]("cpu")
    code, text = run(tmp_path, capsys, "sizes")
    assert (code, text) == (2, "nothing was judged of 1 unique call")
    assert run(tmp_path, capsys, "sizes", "--strict")[0] == 2


def test_judging_before_launches_gives_unknown_verdicts(tmp_path):
    with kvtrace.capture(tmp_path, sanitize="warn"):
        LAUNCHES["copy"]("cpu")
    (row,) = plain_rows(open_trace(tmp_path).table("findings"))
    assert (row["call_id"], row["verdict"]) == (0, "unknown")
    assert "is written in Gluon" in row["reason"]


def test_clients_that_watch_are_told_of_skipped_launches(tmp_path, capsys):
    from tests.backends import live_kernels

    chosen, source, result = torch.arange(256), torch.randn(256), torch.zeros(256)
    with kvtrace.capture(tmp_path, mode="ops"):
        LAUNCHES["copy"]("cpu")
        live_kernels.gather[(1,)](source, chosen, result, 256, BLOCK=256)
    rows = plain_rows(open_trace(tmp_path).table("findings"))
    reasons = {row["call_id"]: row["reason"] for row in rows if row["verdict"] == "unknown"}
    assert "is written in Gluon" in reasons[0]
    assert "gluon_copy, which is written in Gluon and not evaluated, came before" in reasons[1]


# -- what is judged -------------------------------------------------------------------------------


def pipeline_order_verdicts(out):
    """Return verdict and message of pipeline-order by the kernel's name."""
    kvtrace.open(out).sanitize("pipeline-order")
    trace = open_trace(out)
    names = {row["kernel_id"]: row["name"] for row in plain_rows(trace.table("kernels"))}
    calls = {row["call_id"]: row["kernel_id"] for row in plain_rows(trace.table("calls"))}
    rows = [row for row in plain_rows(trace.table("findings")) if row["rule"] == "pipeline-order"]
    return {names[calls[row["call_id"]]]: (row["verdict"], row["message"]) for row in rows}


@pytest.mark.process
def test_the_order_in_ttgir_is_judged(recorded_launches):
    out, _ = recorded_launches
    verdicts = {name: verdict for name, (verdict, _) in pipeline_order_verdicts(out).items()}
    assert verdicts.pop("specialized", "unknown") == "unknown"
    assert set(verdicts.values()) == {"proven"}
    assert {"copied_asynchronously", "copied_by_descriptor", "product"} <= set(verdicts)


@pytest.mark.process
def test_a_read_before_its_copy_is_a_violation(tmp_path):
    x = torch.zeros(128)
    with kvtrace.capture(tmp_path):
        gluon_kernels.read_too_early[(1,)](x, torch.zeros(128), BLOCK=128)
    verdict, message = pipeline_order_verdicts(tmp_path)["read_too_early"]
    assert verdict == "violation"
    assert "may not have filled yet" in message


@pytest.mark.process
def test_a_barrier_that_expects_too_few_bytes_is_not_proven(tmp_path):
    with kvtrace.capture(tmp_path):
        gluon_kernels.copy_by_descriptor("cpu", size=1024)
    verdict, message = pipeline_order_verdicts(tmp_path)["copied_by_descriptor"]
    assert verdict == "unknown"
    assert "waits for 1,024 bytes, but 4,096 bytes are in flight" in message
