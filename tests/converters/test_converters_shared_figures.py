"""Figures that several outputs show are equal, and are what SQL counts in the tables by hand."""

import json
import re
from collections import Counter
from dataclasses import asdict

import duckdb
import pytest

from kvtrace.cli import main
from kvtrace.converters.profile.call_tree import call_tree
from kvtrace.converters.report.data import report_data
from kvtrace.figures.requested_part import RequestedPart
from kvtrace.schema.trace import resolve
from kvtrace.text import duration
from tests.converters.recorded_outputs import FIXTURES, recorded_outputs
from tests.converters.report_page import opened_page, written_page

SMALL = ["llama_graphs", "ranks", "planted/item", "planted/good"]
LARGE = ["llama", "llama_ranks", "decoding", "inductor"]
LARGEST = ["llama_liger", "llama_liger_cached", "llama_steady", "device", "planted/loader"]
OF_MODELS = pytest.mark.costly("all outputs of a larger run; those of four others stay by day")
NIGHT = pytest.mark.night("as the other eight runs, of which llama and llama_ranks are alike")


class Tables:
    """Tables of a trace as they lie in its files, for SQL that uses nothing of kvtrace."""

    def __init__(self, trace):
        self._trace = trace

    def value(self, query, **parameters):
        """Return the first value of `rows`."""
        rows = self.rows(query, **parameters)
        return rows[0][0] if rows else None

    def rows(self, query, **parameters):
        """Return the rows; `{launches}` in the query is the table `launches`."""
        files = {
            path.name: f"read_parquet('{path}/**/*.parquet', union_by_name=true)"
            for path in self._trace.iterdir()
            if path.is_dir()
        }
        with duckdb.connect() as connection:
            return connection.execute(query.format(**files), parameters or None).fetchall()

    def has(self, table):
        return any(self._trace.glob(f"{table}/**/*.parquet"))


def as_json(value):
    return None if value is None else json.loads(json.dumps(asdict(value)))


@pytest.fixture(
    scope="module",
    params=[
        *SMALL,
        *(pytest.param(name, marks=OF_MODELS) for name in LARGE),
        *(pytest.param(name, marks=NIGHT) for name in LARGEST),
    ],
)
def outputs(request):
    """The trace, what `info` and `profile` print as JSON, and the data of the page."""
    of = recorded_outputs(request.param)
    return Tables(of.folder), of.info, of.profile, of.page


def test_counts_of_the_whole_run_are_equal_in_all_outputs(outputs):
    tables, info, _, report = outputs
    launches = tables.value("SELECT count(*) FROM {launches}")
    executions = tables.value("SELECT count(*) FROM {gpu_kernels}")

    assert sum(run["launches"] for run in info["runs"]) == launches == report.totals.launches
    assert sum(run["gpu_kernels"] for run in info["runs"]) == executions
    assert report.totals.gpu_kernels == executions
    calls = tables.value("SELECT count(*) FROM {calls}")
    assert sum(run["calls"] for run in info["runs"]) == calls == report.totals.calls
    variants = tables.value("SELECT count(*) FROM {kernels}")
    assert sum(run["kernels"] for run in info["runs"]) == variants == report.totals.variants


def test_one_window_with_one_device_time_is_behind_all_outputs(outputs):
    _, info, profile, report = outputs

    assert info["window"] == profile["window"] == as_json(report.window)
    assert info["device_time"] == profile["device_time"] == as_json(report.device_time)
    assert as_json(report.answer.gaps) == profile["gaps"]


def test_device_time_of_the_window_is_what_sql_adds_up(outputs):
    tables, info, _, report = outputs
    if len(info["runs"]) > 1 and sum(run["gpu_kernels"] > 0 for run in info["runs"]) > 1:
        pytest.skip("each rank has a window of its own")
    time, window = info["device_time"], info["window"]
    inside = "epoch_ns(start) >= $begin AND epoch_ns(start) < $end"
    limits = {"begin": window["begin"], "end": window["end"] + (window["how"] == "whole")}
    executions = f"FROM {{gpu_kernels}} WHERE {inside}"
    took = tables.value(f'SELECT sum(epoch_ns("end") - epoch_ns(start)) {executions}', **limits)

    assert time["executions"] + time["tuning_executions"] == tables.value(
        f"SELECT count(*) {executions}", **limits
    )
    assert time["device_ns"] + time["tuning_ns"] == took
    assert sum(row["device_ns"] for row in time["rows"]) == time["device_ns"]
    assert report.totals.device_ns == time["device_ns"]
    assert time["busy"]["busy_ns"] + time["busy"]["overlapped_ns"] == took


def test_idle_time_is_the_rest_of_the_window_and_has_causes_that_add_up(outputs):
    _, _, profile, _ = outputs
    busy, gaps = profile["device_time"]["busy"], profile["gaps"]

    assert busy["idle_ns"] == busy["span_ns"] - busy["busy_ns"] == gaps["idle_ns"]
    assert sum(gaps["by_cause"].values()) == gaps["idle_ns"]


def test_each_kernel_has_the_same_times_in_all_outputs(outputs):
    _, info, profile, report = outputs
    by_key = {(k["module"], k["name"], k["source"]): k for k in profile["kernels"]}

    assert len(info["kernels"]) == len(by_key) == len(report.kernels)
    for kernel in info["kernels"]:
        other = by_key[kernel["module"], kernel["name"], kernel["source"]]
        assert kernel["device_ns"] == other["measured"]["device_ns"], kernel["name"]
        assert kernel["host_ns"] == other["measured"]["host_ns"], kernel["name"]
        assert kernel["launches"] == other["launches"], kernel["name"]
    assert report.totals.host_ns == sum(k["host_ns"] or 0 for k in info["kernels"])
    assert report.totals.compile_ns == sum(k["compile_ns"] or 0 for k in profile["kernels"])
    rows = {
        (row["module"], row["name"], row["source"]): row["device_ns"]
        for row in info["device_time"]["rows"]
        if row["kind"] == "Triton"
    }
    assert rows == {
        (k["module"], k["name"], k["source"]): k["device_ns"]
        for k in info["kernels"]
        if k["device_ns"]
    }


def test_executions_below_five_microseconds_are_counted_one_by_one(outputs):
    tables, info, profile, _ = outputs
    if len(info["runs"]) > 1 and sum(run["gpu_kernels"] > 0 for run in info["runs"]) > 1:
        pytest.skip("each rank has a window of its own")
    window = info["window"]
    number = tables.value(
        'SELECT count(*) FROM {gpu_kernels} WHERE epoch_ns("end") - epoch_ns(start) < 5000 '
        "AND kind IS NULL AND epoch_ns(start) >= $begin AND epoch_ns(start) < $end",
        begin=window["begin"],
        end=window["end"] + (window["how"] == "whole"),
    )

    assert sum(row["number"] for row in profile["gaps"]["short_executions"]) == number
    (advice,) = [a for a in profile["advice"] if a["rule"] == "small-kernels"] or [None]
    if advice is not None:
        assert advice["text"].startswith(f"{number:,} executions take less than 5 µs")


@OF_MODELS
def test_steps_and_startup_of_ranks_are_not_added_up():
    of = recorded_outputs("llama_ranks")
    window = of.profile["window"]
    longest = max(run["ended"] - run["started"] for run in of.info["runs"])

    assert (window["steps"], window["runs"]) == (20, 2)
    assert window["before_ns"] < longest
    assert "10 steps of each of 2 runs" in of.text


def test_findings_are_counted_alike_by_rule_in_sanitize_sql_and_page():
    of = recorded_outputs("llama_liger_cached")
    report, tables = of.page, Tables(of.folder)
    for rule in ("out-of-bounds", "mask-always-false"):
        number = tables.value(
            "SELECT count(DISTINCT finding_id) FROM {findings} "
            "WHERE rule = $rule AND verdict = 'violation'",
            rule=rule,
        )
        on_page = [
            placed.found
            for placed in report.findings
            if placed.found.rule == rule and placed.found.verdict == "violation"
        ]
        assert len({finding.finding_id for finding in on_page}) == number
        (line,) = [c for c in report.finding_counts if c.rule == rule and c.verdict == "violation"]
        rows = tables.value(
            "SELECT count(*) FROM {findings} WHERE rule = $rule AND verdict = 'violation'",
            rule=rule,
        )
        assert line.count == rows
    by_severity = tables.rows(  # a lint of code that Inductor generated is a note
        "SELECT CASE WHEN origin = 'inductor' AND rule = 'mask-always-false' THEN 'note' "
        "ELSE severity END AS shown, count(DISTINCT finding_id) FROM {findings} "
        "JOIN {calls} USING (call_id) JOIN {kernels} USING (kernel_id) "
        "WHERE verdict = 'violation' GROUP BY shown"
    )
    violations = [p.found for p in report.findings if p.found.verdict == "violation"]
    assert dict(by_severity) == Counter(finding.severity for finding in violations)
    defects = [number for severity, number in by_severity if severity != "note"]
    assert report.totals.violations == sum(defects)


def test_bytes_and_flops_of_a_launch_are_the_sums_of_its_ops():
    of = recorded_outputs("llama_liger_cached")
    report = of.page
    by_call = Tables(of.folder).rows(
        "SELECT call_id, sum(bytes)::BIGINT, sum(flops)::BIGINT FROM {ops} GROUP BY call_id"
    )

    assert len(by_call) == report.totals.evaluated_calls == 97
    assert {call_id: (b, f) for call_id, b, f in by_call} == {
        call.call_id: (call.bytes, call.flops) for call in report.calls
    }
    launches = {call.call_id: call.runs for call in report.calls}
    assert report.totals.bytes == sum(b * launches[call_id] for call_id, b, _ in by_call)
    assert report.totals.flops == sum(f * launches[call_id] for call_id, _, f in by_call)


def test_called_from_covers_the_part_that_was_asked_for():
    side = resolve(str(FIXTURES / "planted" / "item"))
    steady = recorded_outputs("planted/item").page
    whole = report_data(side.trace, side.runs, "title", "trace/", RequestedPart(whole=True))

    for report in (steady, whole):
        tree = call_tree(report.call_sums, "stack")
        assert tree.figures.device_ns == report.totals.device_ns == report.costly_lines.device_ns
    assert whole.totals.device_ns > steady.totals.device_ns


@pytest.mark.parametrize("name", [pytest.param("llama_steady", marks=NIGHT), "llama_ranks"])
def test_the_tiles_of_the_page_are_the_figures_of_the_profile(
    name, report_browser, tmp_path, capsys
):
    profile = recorded_outputs(name).profile
    path = written_page(FIXTURES / name, tmp_path / "page.html", "--no-replay")
    with opened_page(report_browser, path) as opened:
        page = opened.page
        tiles = dict(
            page.locator("#figures .figure").evaluate_all(
                "all => all.map(e => [e.dataset.figure, e.innerText])"
            )
        )
        causes = dict(
            page.locator(".time-legend li").evaluate_all(
                "all => all.map(e => [e.dataset.cause, Number(e.dataset.value)])"
            )
        )
        lines = page.locator("#costly-lines li").evaluate_all(
            "all => all.map(e => Number(e.dataset.value))"
        )
        advice = page.locator("#what-to-try li").evaluate_all(
            "all => all.map(e => Number(e.dataset.value))"
        )
    capsys.readouterr()
    time, measured = profile["device_time"], [k["measured"] for k in profile["kernels"]]
    shown = {figure: " ".join(text.split()) for figure, text in tiles.items()}
    assert re.search(rf"\b{time['executions']:,} executions in \d+ steps", shown["GPU time"])
    assert duration(time["device_ns"]) in shown["GPU time"]
    assert duration(sum(of["host_ns"] or 0 for of in measured)) in shown["host time"]
    compiled = sum(kernel["compile_ns"] or 0 for kernel in profile["kernels"])
    assert float(shown["compile time"].split()[0]) == float(duration(compiled).split()[0])
    assert f"{len(profile['kernels'])}" in shown["kernels"]
    assert causes.pop("busy") == time["busy"]["busy_ns"]
    assert causes == profile["gaps"]["by_cause"]
    # Gaps that occurred once have no cost that a step would gain.
    assert advice == [advised["cost_ns"] or 0 for advised in profile["advice"]]
    assert main(["profile", "--no-replay", str(FIXTURES / name), "--by", "source", "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)["by"]["tree"]
    by_line = [line for file in tree["branches"] for line in file["branches"] if line["line"]]
    costs = sorted((line["device_ns"] for line in by_line if not line["kernel"]), reverse=True)
    assert lines == [ns for ns in costs[:3] if ns]
