"""The view of a comparison, in Chromium: two recorded programs, and two traces written for this."""

import contextlib
import io
import json
import runpy
from importlib.util import find_spec
from pathlib import Path

import pytest

from kvtrace.cli import main
from tests.converters.finding_rows import LOAD, VIOLATION
from tests.converters.launch_pages import blocks_of
from tests.converters.page_layout import screen_problems
from tests.converters.report_page import THEMES, accessibility_problems, opened_page
from tests.converters.written_trace import Kernel, Launches, add_findings, write_trace
from tests.support.replacing import replace

if find_spec("triton") is None:
    pytest.skip("Triton is not installed: nothing to launch", allow_module_level=True)

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def products(tmp_path_factory):
    """The page of a matrix product and its next version: larger tiles, and one more line."""
    folder = tmp_path_factory.mktemp("compare-view")
    for version in ("v1", "v2"):
        _record(EXAMPLES / f"matmul_{version}.py", folder / version)
    return _compared(folder / "v1", folder / "v2", folder / "page.html")


def _record(program, out):
    import kvtrace

    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        patch.syspath_prepend(str(program.parent))
        with kvtrace.capture(out):
            runpy.run_path(str(program), run_name="__main__")
        assert main(["replay", str(out)]) == 0
        assert main(["sanitize", str(out)]) == 0


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The page of two traces: one kernel slower and with a defect, one new, one gone, one alike."""
    folder = tmp_path_factory.mktemp("compare-written")
    scale = Kernel(calls=(Launches(number=12, host_us=10, device_us=10),))
    alike = Kernel(name="alike", line=70, calls=(Launches(number=2),))
    slower = replace(scale, registers=40, calls=(Launches(number=12, host_us=10, device_us=20),))
    old = Kernel(name="old", line=80, source="def old(q):\n    return q\n", ttir="module @x {}\n")
    one = write_trace(folder / "a", [scale, alike, old])
    two = write_trace(folder / "b", [slower, alike, Kernel(name="fresh", line=90)])
    add_findings(one, [])
    add_findings(two, [VIOLATION], [LOAD])
    return _compared(folder / "a", folder / "b", folder / "page.html", "--time-threshold", "10%")


def _compared(before, after, page, *settings):
    with contextlib.redirect_stdout(io.StringIO()):
        # both pairs must not be merged: results differ, or a finding is new
        assert main(["diff", str(before), str(after), "--html", str(page), *settings]) == 1
    return page


def cells(opened, selector):
    """Texts of the cells of a table's rows."""
    rows = opened.page.locator(f"{selector} tbody tr").all()
    return [[text.strip() for text in row.locator("td").all_inner_texts()] for row in rows]


def lines(opened, pane, kind=""):
    """Numbers of the lines in sight of a pane that are lit so."""
    found = opened.page.locator(f"#compare-{pane} .cm-line{kind}").all()
    return [int(line.get_attribute("data-line")) for line in found]


def place_of(page, name):
    compared = json.loads(blocks_of(page)["compare"])
    return [kernel["name"] for kernel in compared["kernels"]].index(name)


def hash_of(opened):
    return opened.page.evaluate("() => decodeURIComponent(location.hash)")


def test_compare_view_is_only_in_comparison_pages(report_browser, products):
    with opened_page(report_browser, products, "#/") as opened:
        opened.page.locator("nav a", has_text="Compare").click()
        opened.page.wait_for_selector("#compare-totals")
        assert "which the rest of this report is of" in opened.text(".compare-legend")


def test_a_comparison_opens_on_may_it_be_merged(report_browser, products):
    with opened_page(report_browser, products, fresh=True) as opened:
        assert opened.text("h1") == "May it be merged? no"
        assert "merge?" in opened.text("#compare-answers")
        assert opened.text("nav a").startswith("Compare")
        opened.page.locator("nav a", has_text="Overview").click()
        opened.page.wait_for_selector("#what-ran")
        opened.page.go_back()
        opened.page.wait_for_selector("#compare-answers")


def test_figures_are_shown_as_bars_and_as_a_table(report_browser, products):
    metrics = {each["name"]: each for each in json.loads(blocks_of(products)["compare"])["metrics"]}
    with opened_page(report_browser, products, "#/compare") as opened:
        for name, metric in metrics.items():
            most = max(metric["before"], metric["after"])
            for side in ("before", "after"):
                bar = opened.page.locator(f'[data-metric="{name}"] [data-side="{side}"]')
                share = bar.evaluate(
                    "bar => bar.getBoundingClientRect().width"
                    " / bar.parentElement.getBoundingClientRect().width"
                )
                assert share == pytest.approx(metric[side] / most, abs=0.01), (name, side)
        table = {row[0]: row for row in cells(opened, "#compare-totals")}
        assert table["bytes accessed"][1:] == ["2.65 MiB", "1.50 MiB", "\u221243.6 %", "derived"]
        assert table["launches"][1:] == ["1", "1", "same", "measured"]


def test_source_stands_side_by_side_with_the_numbers_of_both_files(report_browser, products):
    with opened_page(report_browser, products, "#/compare") as opened:
        opened.page.locator("#compare-kernels a", has_text="matmul_kernel").click()
        opened.page.wait_for_selector("#compare-after .cm-line.there")
        assert lines(opened, "before", ".there") == []
        assert lines(opened, "after", ".there") == [23]
        assert "tl.maximum" in opened.text("#compare-after .cm-line.there")
        # where a side lacks a line it has room, so that lines of both stand at one height
        assert opened.page.locator("#compare-before .compare-missing").count() == 1
        tops = [
            opened.page.locator(f'#compare-{pane} .cm-line[data-line="{line}"]').bounding_box()["y"]
            for pane, line in (("before", 24), ("after", 25))
        ]
        assert tops[0] == pytest.approx(tops[1], abs=1)


def test_ir_highlights_changes_beyond_the_block_size(report_browser, products):
    with opened_page(report_browser, products, "#/compare/0?tab=ttir") as opened:
        opened.page.wait_for_selector("#compare-after .cm-line.outer")
        assert "16 → 32" in opened.text("#substitutions")
        assert opened.text("#change-place") == "2 changes"
        opened.page.keyboard.press("]")
        opened.page.wait_for_selector("#compare-after .cm-line.here")
        assert "arith.max" in opened.text("#compare-after .cm-line.here")
        assert lines(opened, "before", ".here") == []
        opened.page.get_by_role("button", name="Next change").click()
        opened.page.wait_for_selector("#compare-before .cm-line.here")
        assert "tt.store" in opened.text("#compare-before .cm-line.here")
        assert "tt.store" in opened.text("#compare-after .cm-line.here")
        assert "change=2" in hash_of(opened)


def test_every_stage_that_differs_has_a_tab(report_browser, products):
    with opened_page(report_browser, products, "#/compare/0") as opened:
        opened.page.wait_for_selector("#compare-after .cm-line")
        tabs = [tab.get_attribute("data-tab") for tab in opened.page.locator("[role=tab]").all()]
        assert tabs == ["source", "ttir", "ttgir", "llir", "ptx", "any"]
        for tab, said in (("ttgir", "ttg."), ("ptx", ".visible")):
            opened.page.locator(f'[data-tab="{tab}"]').click()
            opened.page.wait_for_selector("#compare-after .cm-line.there")
            assert said in opened.page.locator("#compare-after .cm-content").inner_text()
        stages = opened.text("#variant-stages")
        assert "TTIR" in stages
        assert "arith.maxnumf" in stages
        assert "async copy" in stages


def test_any_two_texts_are_shown_side_by_side_and_copied(report_browser, products):
    address = "#/compare/0?tab=any&left=before%20ttir&right=after%20ptx"
    with opened_page(report_browser, products, address) as opened:
        opened.page.wait_for_selector("#compare-right .cm-line")
        assert "tt.func" in opened.page.locator("#compare-left .cm-content").inner_text()
        assert ".version" in opened.page.locator("#compare-right .cm-content").inner_text()
        selects = opened.page.locator(".split-pane select")
        selects.nth(1).select_option("before ttgir")
        opened.page.wait_for_function(
            """() => document.querySelector("#compare-right")?.shadowRoot
              ?.querySelector(".cm-content")?.innerText.includes("ttg.")"""
        )
        assert "right=before+ttgir" in hash_of(opened)
        button = opened.page.get_by_role("button", name="Copy before ttgir")
        button.click()
        opened.page.wait_for_selector(".copy >> text=copied")


def test_the_headline_is_worst_first_and_leads_to_the_kernel(report_browser, written):
    shown = json.loads(blocks_of(written)["compare"])["headline"]
    with opened_page(report_browser, written, "#/compare") as opened:
        rows = cells(opened, "#compare-headline")
        assert [(row[0], row[1], row[4]) for row in rows] == [
            (each["kernel"], each["what"], each["direction"]) for each in shown
        ]
        assert rows[0][1].startswith("error: out-of-bounds")
        assert rows[1][1:6] == [
            "device time, median", "10.0 µs → 20.0 µs", "+100.0%", "worse",
            "measured +100.0…+100.0%",
        ]  # fmt: skip
        opened.page.locator("#compare-headline a", has_text="scale").first.click()
        opened.page.wait_for_selector("#variant-resources")


def test_size_conditions_that_were_not_compared_are_shown_as_such(report_browser, written):
    with opened_page(report_browser, written, "#/compare") as opened:
        assert "size conditions: not compared (kvtrace diff --generic)" in opened.text("#bounds")


def test_both_sides_scroll_together(report_browser, products):
    with opened_page(report_browser, products, "#/compare/0?tab=ttir") as opened:
        opened.page.wait_for_selector("#compare-after .cm-line")
        for mover, follower in (("before", "after"), ("after", "before")):
            opened.page.locator(f"#compare-{mover} .cm-scroller").evaluate(
                "(scroller, top) => { scroller.scrollTop = top; }", 200 if mover == "before" else 90
            )
            opened.page.wait_for_function(
                """([mover, follower]) => {
                  const [a, b] = [mover, follower].map((pane) => document
                    .querySelector(`#compare-${pane}`).shadowRoot.querySelector('.cm-scroller'));
                  return a.scrollTop > 0 && a.scrollTop === b.scrollTop;
                }""",
                arg=[mover, follower],
            )


def test_a_chosen_state_opens_from_its_address(report_browser, products):
    with opened_page(report_browser, products, "#/compare/0?tab=ttir&change=2") as opened:
        opened.page.wait_for_selector("#compare-after .cm-line.here")
        assert opened.text("#change-place") == "change 2 of 2"
        opened.page.locator('[data-tab="source"]').click()
        opened.page.wait_for_selector("#compare-after .cm-line.there")
        assert hash_of(opened) == "#/compare/0"


def test_resources_and_calls_of_the_variant_are_compared(report_browser, products):
    with opened_page(report_browser, products, "#/compare/0") as opened:
        assert cells(opened, "#variant-changes") == [["constexpr BLOCK", "16", "32"]]
        assert ["grid", "(13, 11, 1)", "(7, 6, 1)", "1"] in cells(opened, "#variant-calls")
        resources = cells(opened, "#variant-resources")
        assert all(row[4] == "compiler" for row in resources)


def test_kernels_are_listed_by_kind_of_change(report_browser, written):
    with opened_page(report_browser, written, "#/compare") as opened:
        status = {row[0]: row[1] for row in cells(opened, "#compare-kernels")}
        assert status["scale"].split() == ["changed", "slower,", "over", "the", "threshold"]
        assert (status["fresh"], status["old"]) == ("added", "removed")
        assert "1 is the same" in opened.text("#kernels > p")

        opened.page.locator("#kernels select").select_option("added")
        assert [row[0] for row in cells(opened, "#compare-kernels")] == ["fresh"]
        assert "status=added" in hash_of(opened)


def test_a_time_over_the_threshold_is_marked(report_browser, written):
    with opened_page(report_browser, written, f"#/compare/{place_of(written, 'scale')}") as opened:
        assert "over the threshold" in opened.text("#variant-pairs")
        slower = opened.page.locator("#variant-pairs .compare-bar.slower")
        metric = slower.evaluate("bar => bar.closest('[data-metric]').dataset.metric")
        assert metric == "device_median_ns"
        assert cells(opened, "#variant-resources")[0][:3] == ["registers", "32", "40"]


def test_a_new_finding_leads_to_it(report_browser, written):
    with opened_page(report_browser, written, "#/compare") as opened:
        (row,) = cells(opened, "#compare-findings")
        assert row[:4] == ["new", "out-of-bounds", "violation", "scale"]
        opened.page.locator("#compare-findings a").click()
        opened.page.wait_for_selector("#finding")
        assert "4 bytes past the end" in opened.text("#finding-message")


def test_a_kernel_that_one_side_lacks_has_a_page(report_browser, written):
    with opened_page(report_browser, written, f"#/compare/{place_of(written, 'old')}") as opened:
        assert "not in AFTER" in opened.text("main")
        assert "missing on the other side" in opened.text("#code")
        opened.go("#/compare/99")
        assert "no such kernel that differs" in opened.text("main")


@pytest.mark.parametrize("scheme", THEMES)
def test_the_view_is_accessible(report_browser, products, written, scheme):
    for page, address in ((written, "#/compare"), (products, "#/compare/0?tab=ttir&change=1")):
        with opened_page(report_browser, page, address, scheme=scheme) as opened:
            opened.page.wait_for_selector("main table")
            assert accessibility_problems(opened) == []
            assert screen_problems(opened) == []
