"""The page of a suite's result, in a real browser."""

import pytest

from kvtrace.addons.suite.comparing import compare
from kvtrace.addons.suite.page import result_page
from tests.addons.suite.hand_results import call, result, trial
from tests.support.written_documents import shown_by


def page_of(tmp_path, *arguments):
    path = tmp_path / "page.html"
    path.write_text(result_page(*arguments), encoding="utf-8")
    return path


def results():
    before = result(call("1-a", 100, 100, 100), call("2-b", 300, 300, 300))
    after = result(
        call("1-a", 200, 210, 205, candidate=trial("right", 100, 101, 102)),
        call("2-b", 300, 301, 300, candidate=trial("wrong", why="x: <i>1</i> of 2 differ")),
        call("3-<script>alert(1)</script>", status="failed", why="OutOfMemoryError"),
    )
    return after, compare(before, after)


def test_bars_are_as_long_as_the_times_of_all_launches(report_browser, tmp_path):
    with report_browser.open(page_of(tmp_path, *results(), "old.json")) as opened:
        widths = opened.page.evaluate(
            """() => [...document.querySelectorAll("g.call")].map(group => Object.fromEntries(
              [...group.querySelectorAll("rect")].map(
                bar => [bar.getAttribute("class"), bar.getBBox().width])))"""
        )
        slow, fast = widths  # the call that takes most time comes first
        assert set(slow) == {"recorded", "before", "now"}
        assert set(fast) == {"recorded", "before", "now", "right"}
        assert slow["now"] == pytest.approx(3 * slow["recorded"], rel=0.01)
        assert fast["now"] == pytest.approx(2.05 * fast["before"], rel=0.01)
        assert fast["right"] == pytest.approx(1.01 * fast["recorded"], rel=0.01)
        assert "10 × 300 ns" in opened.page.locator("g.call").first.text_content()


def test_the_page_requests_nothing_and_shows_hostile_texts_as_text(report_browser, tmp_path):
    path = page_of(tmp_path, *results(), "<b>old</b>.json")
    with report_browser.open(path, width=400, scheme="dark") as opened:
        assert opened.console == []
        assert opened.requests == [path.as_uri()]
        assert opened.page.locator("i:has-text('1'), b:has-text('old')").count() == 0
        assert "python train.py <b>" in opened.text("h1")
        assert "<i>1</i> of 2 differ" in opened.text("body")
        assert "Compared with <b>old</b>.json" in opened.text("body")
        assert "NVIDIA H200" in opened.text("body")


def test_texts_of_bars_stay_inside_the_plot(report_browser, tmp_path):
    with report_browser.open(page_of(tmp_path, *results(), "old.json")) as opened:
        assert opened.page.evaluate(
            """() => { const plot = document.querySelector("svg").getBoundingClientRect();
              return [...document.querySelectorAll("svg text")].every(
                text => text.getBoundingClientRect().right <= plot.right + 1); }"""
        )


def test_a_result_without_times_has_no_plot():
    content = shown_by(result_page(result(call("1-a", status="launched")), [], ""))
    assert "Time by call" not in [section["heading"] for section in content["sections"]]
    assert any("without a GPU" in sentence for sentence in content["sentences"])


def test_cells_with_a_unit_are_sorted_by_their_numbers(report_browser, tmp_path):
    with report_browser.open(page_of(tmp_path, *results(), "old.json")) as opened:
        compared = opened.page.locator("section:has(h2:has-text('Compared with'))")
        compared.locator("th button", has_text="now").click()
        names = compared.locator("tbody tr td:first-child").all_text_contents()
        assert names == ["2-b", "1-a"]  # the longest first
        assert "slower" in compared.text_content()
