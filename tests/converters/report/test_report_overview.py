"""The overview of the report in a real browser: its figures, and the timeline."""

from tests.converters.browsed_report import figures, rows_of
from tests.converters.page_layout import layout_problems
from tests.converters.report_page import (
    opened_page,
)
from tests.support.report_trace import HOSTILE_NAME


def test_the_overview_shows_what_ran_its_figures_and_what_was_found(opened):
    found = figures(opened)
    assert found["launches"] == "300"
    assert found["kernels"] == "3"
    assert found["unique calls"] == "12"
    assert found["errors and warnings"] == "3"
    text = opened.text("main")
    assert "abababababab on main with uncommitted changes" in text
    assert "30 to warm up, 270 of the program" in text
    assert opened.text("#finding-counts").startswith("3 errors")
    assert f"A launcher was not seen: {HOSTILE_NAME}" in opened.text("#messages")


def test_each_figure_says_whether_it_was_measured_or_derived(opened):
    sources = opened.page.eval_on_selector_all(
        "[data-figure]", "nodes => nodes.map(n => [n.dataset.figure, n.dataset.source, n.title])"
    )
    said = {name: (source, title) for name, source, title in sources}
    assert said["launches"][0] == said["host time"][0] == "measured"
    assert said["bytes moved"][0] == said["errors and warnings"][0] == "derived"
    assert "recorded while the program ran" in said["host time"][1]
    assert "computed by kvtrace" in said["bytes moved"][1]


def test_the_timeline_zooms_selects_and_lists_what_is_in_view(opened):
    page = opened.page
    page.wait_for_selector("#in-view td")
    page.wait_for_function("() => document.getElementById('timeline-status').innerText")
    assert "Every launch in view is drawn individually" in opened.text("#timeline-status")
    page.locator("#timeline").focus()
    page.keyboard.press("]")
    assert "Launch 0" in opened.text("#timeline-selection")
    page.keyboard.press("]")
    assert "Launch " in opened.text("#timeline-selection")
    before = opened.text("#in-view")
    for _ in range(6):
        page.keyboard.press("+")
    page.wait_for_function("before => document.querySelector('#in-view').innerText !== before",
                           arg=before)  # fmt: skip
    page.wait_for_function("() => location.hash.includes('from=')")
    page.get_by_role("tab", name="One by one").click()
    assert rows_of(opened, "#in-view")[0] in ("launch", "mark", "compilation")
    page.get_by_role("tab", name="Kernels in view").click()
    page.get_by_role("button", name="Show all").click()
    page.wait_for_function("before => document.querySelector('#in-view').innerText === before",
                           arg=before)  # fmt: skip


def test_address_keeps_selection_tab_and_sort_order(report_browser, report):
    with opened_page(report_browser, report) as opened:
        page = opened.page
        page.wait_for_selector("#in-view td")
        page.locator("#timeline").focus()
        for _ in range(3):
            page.keyboard.press("]")
        page.get_by_role("tab", name="One by one").click()
        page.locator("#in-view").get_by_role("button", name="duration").click()
        page.locator("[aria-label='Top kernels']").get_by_role("button", name="launches").click()
        page.wait_for_function("() => location.hash.includes('by-top-kernels=-launches')")
        address = page.evaluate("location.hash")
        shown = opened.text("#timeline-selection")
        durations = rows_of(opened, "#in-view", 4)
    assert "Launch 2" in shown
    with opened_page(report_browser, report, address, fresh=True) as again:
        again.page.wait_for_selector("#in-view td")
        assert again.text("#timeline-selection") == shown
        assert rows_of(again, "#in-view", 4) == durations
        launches = [int(text) for text in rows_of(again, "[aria-label='Top kernels']", 2)]
        assert launches == sorted(launches, reverse=True)
        # what a table is sorted by at first is not said
        again.page.locator("#in-view").get_by_role("button", name="begin").dblclick()
        again.page.wait_for_function("() => !location.hash.includes('by-launches')")
        again.page.locator("#timeline").focus()
        again.page.keyboard.press("Escape")
        again.page.wait_for_function("() => !location.hash.includes('slice=')")
        again.go("#/?from=0&to=40000000&in=slices")
        assert set(rows_of(again, "#in-view")) == {"compilation"}


def test_minimap_moves_the_timeline_to_any_part(opened):
    page = opened.page
    page.wait_for_selector("#in-view td")
    page.locator("#timeline").focus()
    for _ in range(4):
        page.keyboard.press("+")
    page.wait_for_function("() => location.hash.includes('from=')")
    begin = "() => Number(new URLSearchParams(location.hash.split('?')[1]).get('from'))"
    before = page.evaluate(begin)
    box = page.locator("#timeline-minimap").bounding_box()
    page.locator("#timeline-minimap").click(position={"x": box["width"] - 60, "y": 10})
    page.wait_for_function(f"before => ({begin})() > before", arg=before)
    late = page.evaluate(begin)
    page.locator("#timeline-minimap").click(position={"x": box["width"] / 2, "y": 10})
    page.wait_for_function(f"late => ({begin})() < late", arg=late)


def test_tooltip_stays_in_the_window_at_every_edge(report_browser, ranks):
    with opened_page(report_browser, ranks[1], width=1500) as opened:
        page = opened.page
        page.wait_for_selector("#in-view td")
        page.locator("#timeline").scroll_into_view_if_needed()
        box = page.locator("#timeline").bounding_box()
        found = 0
        for share in (0.12, 0.3, 0.5, 0.7, 0.99):
            for row in range(30, int(box["height"]), 18):
                page.mouse.move(box["x"] + share * box["width"], box["y"] + row)
                if not page.locator(".tooltip").count():
                    continue
                found += 1
                assert layout_problems(opened) == []
                tip = page.locator(".tooltip").bounding_box()
                assert tip["x"] >= 0
                assert tip["x"] + tip["width"] <= 1500
                assert tip["y"] + tip["height"] <= 900
        assert found


def test_pointer_and_wheel_move_the_timeline(opened):
    page = opened.page
    page.wait_for_selector("#in-view td")
    page.locator("#timeline").scroll_into_view_if_needed()
    box = page.locator("#timeline").bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] - 20)
    page.mouse.move(*middle)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    page.wait_for_function("() => location.hash.includes('from=')")
    zoomed = page.url
    page.mouse.down()
    page.mouse.move(middle[0] - 200, middle[1], steps=4)
    page.mouse.up()
    page.wait_for_function("before => location.href !== before", arg=zoomed)


def test_slice_of_any_row_shows_its_details(opened):
    page = opened.page
    page.wait_for_selector("#in-view td")
    page.locator("#timeline").focus()
    page.keyboard.press("]")
    page.keyboard.press("ArrowUp")
    assert "compile accumulate" in opened.text("#timeline-selection")
    assert "variant 2" in opened.text("#timeline-selection")
    page.keyboard.press("ArrowUp")
    assert "Mark " in opened.text("#timeline-selection")
    page.keyboard.press("z")
    page.wait_for_function("() => location.hash.includes('from=')")
