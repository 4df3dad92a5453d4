"""Kernels in Gluon of several thread blocks: recorded, and called not evaluated."""

import pytest

from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()

import kvtrace  # noqa: E402
from corpus.kernels.gluon_kernels import copy_in_clusters  # noqa: E402
from kvtrace.backends.compiled_kernels.unevaluated import before_left_out  # noqa: E402
from kvtrace.schema.runs import plain_rows  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402
from tests.backends.commands import run  # noqa: E402

REASON = "clustered, which is written in Gluon, is not evaluated: its programs are clusters of 2"


@pytest.fixture(scope="module")
def clustered(tmp_path_factory):
    """A trace of a launch of a kernel in clusters."""
    out = tmp_path_factory.mktemp("clustered")
    with kvtrace.capture(out):
        copy_in_clusters("cpu")
    return out


# -- what is recorded -----------------------------------------------------------------------------


def test_a_launch_in_clusters_is_recorded_and_does_not_run(tmp_path):
    with kvtrace.capture(tmp_path):
        launch = copy_in_clusters("cpu")
    assert not launch.result.any()
    trace = open_trace(tmp_path)
    (kernel,) = plain_rows(trace.table("kernels"))
    assert (kernel["name"], kernel["num_ctas"]) == ("clustered", 2)
    assert trace.table("launches").num_rows == 1


def test_standard_error_has_one_warning_and_the_trace_one_message_per_kernel(tmp_path, capfd):
    with kvtrace.capture(tmp_path):
        copy_in_clusters("cpu")
        copy_in_clusters("cpu")
    assert capfd.readouterr().err.count("written in Gluon") == 1
    rows = plain_rows(open_trace(tmp_path).table("messages"))
    messages = [(row["level"], row["text"]) for row in rows if row["code"] == "not-evaluated"]
    assert [level for level, _ in messages] == ["warning", "warning"]  # the last: how often
    assert REASON in messages[0][1]


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
        copy_in_clusters("cpu")
    trace = open_trace(tmp_path)
    assert trace.table("launches").num_rows == 1
    codes = trace.table("messages", trace.runs, ["code"])["code"].to_pylist()
    assert "capture-failure" not in codes


def test_a_consumer_of_results_may_refuse_a_skipped_launch(tmp_path):
    def refuse(sentence: str) -> None:
        raise NotImplementedError(sentence)

    before_left_out.append(refuse)
    try:
        with (
            kvtrace.capture(tmp_path),
            pytest.raises(NotImplementedError, match=REASON),
        ):
            copy_in_clusters("cpu")
    finally:
        before_left_out.remove(refuse)


# -- what is said of it ---------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["info", "--full"], ["profile"]])
def test_commands_report_kernels_that_are_not_evaluated(command, clustered, capsys):
    out = clustered
    code, text = run(out, capsys, *[word for word in command if word != "--full"])
    assert code == 0
    assert "not evaluated: 1 kernel written in Gluon" in text
    assert "--replay" not in text.partition("not evaluated")[2].partition("launches ")[0]


@pytest.mark.process  # evaluated in other processes
def test_a_diff_reports_unevaluated_kernels_of_both_sides(clustered, capsys):
    out = clustered
    code, text = run(out, capsys, "diff", str(out))
    assert code == 0
    assert text.count("not evaluated:") >= 1


@pytest.mark.parametrize("rule", ["out-of-bounds", "race", "overflow"])
def test_every_rule_gives_an_unknown_verdict_for_an_unevaluated_kernel(rule, tmp_path, capsys):
    with kvtrace.capture(tmp_path):
        copy_in_clusters("cpu")
    code, text = run(tmp_path, capsys, "sanitize", "--rule", rule)
    assert code == 2
    assert f"unknown[{rule}]" in text
    assert REASON in text
    assert run(tmp_path, capsys, "sanitize", "--rule", rule, "--strict")[0] == 2


def test_sizes_of_unevaluated_kernels_are_unknown(tmp_path, capsys):
    with kvtrace.capture(tmp_path):
        copy_in_clusters("cpu")
    code, text = run(tmp_path, capsys, "sizes")
    assert (code, text) == (2, "nothing was judged of 1 unique call")
    assert run(tmp_path, capsys, "sizes", "--strict")[0] == 2


def test_judging_before_launches_gives_unknown_verdicts(tmp_path):
    with kvtrace.capture(tmp_path, sanitize="warn"):
        copy_in_clusters("cpu")
    (row,) = plain_rows(open_trace(tmp_path).table("findings"))
    assert (row["call_id"], row["verdict"]) == (0, "unknown")
    assert REASON in row["reason"]


def test_clients_that_watch_are_told_of_skipped_launches(tmp_path, capsys):
    from tests.backends import live_kernels

    chosen, source, result = torch.arange(256), torch.randn(256), torch.zeros(256)
    with kvtrace.capture(tmp_path, mode="ops"):
        copy_in_clusters("cpu")
        live_kernels.gather[(1,)](source, chosen, result, 256, BLOCK=256)
    rows = plain_rows(open_trace(tmp_path).table("findings"))
    reasons = {row["call_id"]: row["reason"] for row in rows if row["verdict"] == "unknown"}
    assert REASON in reasons[0]
    assert "clustered, which is written in Gluon and not evaluated, came before" in reasons[1]
