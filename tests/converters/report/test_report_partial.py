"""A page of a trace of which only some calls were analyzed: what was not judged is never green."""

import shutil
from collections import Counter

import pytest

from kvtrace.analysis.judging import sanitizer
from kvtrace.clients.recorded import InTime, replay
from kvtrace.converters.findings import read_findings
from kvtrace.converters.report.data import report_data
from kvtrace.recorded_calls.reading import evaluable_calls
from kvtrace.schema.layout import results_beside
from kvtrace.schema.trace import open_trace
from tests.converters.report_page import opened_page, written_page
from tests.support.tree import ROOT


def copied(folder):
    """A trace of 23 unique calls of 9 kernels that no pass has analyzed."""
    fixture = ROOT / "tests" / "fixtures" / "h200" / "train"
    derived = shutil.ignore_patterns("part-[a-z]*")
    return shutil.copytree(fixture, folder / "out", ignore=derived)


def report_after(trace, clients, order, end):
    """The report once the clients have reached the calls that they can until a time."""
    (run,) = trace.runs
    with results_beside(trace.path):
        replay(trace, run, None, clients, InTime(order, end))
        return report_data(trace, trace.runs, "title", "out/")


@pytest.fixture
def trace(tmp_path):
    return open_trace(copied(tmp_path))


@pytest.fixture
def order(trace):
    """All calls; the first one is of the kernel that has the most."""
    rows = trace.table("calls").to_pylist()
    calls = Counter(row["kernel_id"] for row in rows)
    rows.sort(key=lambda row: -calls[row["kernel_id"]])
    assert {row["call_id"] for row in rows} == evaluable_calls(trace, trace.runs[0])
    return [row["call_id"] for row in rows]


def test_calls_that_were_not_judged_are_counted_by_kernel(trace, order):
    report = report_after(trace, [sanitizer(["out-of-bounds"])], order, 0.0)

    assert (report.partial.remaining, report.partial.verdicts) == (22, True)
    assert sum(kernel.unjudged_calls for kernel in report.kernels) == 22
    (judged,) = (kernel for kernel in report.kernels if kernel.judged)
    assert judged.unjudged_calls == judged.calls - 1 > 0
    others = [kernel for kernel in report.kernels if kernel is not judged]
    assert [kernel.unjudged_calls for kernel in others] == [kernel.calls for kernel in others]


def test_verdicts_are_whole_where_only_figures_are_of_some_calls(trace, order):
    report = report_after(trace, ["tracer", "profiler"], order, 0.0)

    assert (report.partial.remaining, report.partial.verdicts) == (22, False)
    assert report.totals.evaluated_calls == 1
    assert not any(kernel.unjudged_calls for kernel in report.kernels)


def test_findings_of_some_calls_are_compared_with_no_other_run(trace, order):
    (run,) = trace.runs
    with results_beside(trace.path):
        replay(trace, run, None, [sanitizer(["out-of-bounds"])], InTime(order, 0.0))
        assert read_findings(trace, [run]).tallies
        assert not read_findings(trace, [run]).analyzed
    replay(trace, run, None, [sanitizer(["out-of-bounds"])])
    assert read_findings(trace, [run]).analyzed


def test_nothing_is_said_where_all_calls_were_reached(trace, order):
    report = report_after(trace, [sanitizer(["out-of-bounds"])], order, float("inf"))

    assert report.partial is None
    assert not any(kernel.unjudged_calls for kernel in report.kernels)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("partial")
    return written_page(copied(folder), folder / "page.html", "--budget", "0")


def test_the_first_screen_says_how_many_calls_were_judged(report_browser, page):
    with opened_page(report_browser, page) as opened:
        findings = opened.text("#overview-findings")
        assert "1 of 23 unique calls judged in " in findings
        assert "the cheapest first" in findings
        assert f"kvtrace sanitize {page.parent}/out/" in findings
        assert "where judged" in findings
        assert opened.page.locator("#overview-findings .pill.fine").count() == 0
        assert "22 of 23 unique calls not judged" in opened.text("#overview-findings .pill.warning")


def test_only_a_kernel_all_of_whose_calls_were_judged_is_green(report_browser, page):
    with opened_page(report_browser, page, "#/kernels") as opened:
        green = opened.page.locator("main tr", has=opened.page.locator(".pill.fine"))
        assert [row.split()[0] for row in green.all_inner_texts()] == ["cross_entropy_backward"]
        assert opened.text("main").count("not judged") == 8


def test_the_view_of_findings_is_not_green_either(report_browser, page):
    with opened_page(report_browser, page, "#/findings") as opened:
        assert "1 of 23 unique calls judged in " in opened.text("main")
        assert opened.page.locator("main .pill.fine").count() == 0
