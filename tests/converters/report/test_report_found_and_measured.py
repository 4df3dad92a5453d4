"""What a reader does with the page: filters, finds names, measures ranges, copies; on any width."""

import shutil
from pathlib import Path

import pytest

from kvtrace.converters.profile.profile import read_profile
from kvtrace.schema.trace import open_trace
from tests.converters.report_page import opened_page, written_page

STEADY = Path(__file__).parents[2] / "fixtures" / "h200" / "llama_steady"


@pytest.fixture(scope="module")
def steady(tmp_path_factory):
    folder = tmp_path_factory.mktemp("steady")
    trace = shutil.copytree(STEADY, folder / "trace")
    return written_page(trace, folder / "page.html", "--no-replay")


@pytest.mark.parametrize(
    ("view", "width", "left_out"),
    [("kernels", 1000, "calls, variants"), ("launches", 720, "Thread")],
)
def test_narrow_table_drops_columns_before_it_shortens_names(
    report_browser, steady, view, width, left_out
):
    narrow = {"width": width, "height": 900}
    with opened_page(report_browser, steady, f"#/{view}", **narrow) as opened:
        page = opened.page
        note = page.locator("[data-left-out]")
        assert left_out in note.inner_text()
        room = page.locator(".table-scroll").first.evaluate("e => [e.scrollWidth, e.clientWidth]")
        assert room[0] <= room[1]
        assert "Kernel" in page.locator("thead").first.inner_text()
        wide = {"width": 2200, "height": 900}
        page.set_viewport_size(wide)
        note.wait_for(state="detached")
        page.set_viewport_size(narrow)
        note.wait_for()


def test_the_first_table_is_filtered_and_its_matches_are_summed(report_browser, steady):
    trace = open_trace(STEADY)
    rows = read_profile(trace, trace.runs).device_time.rows
    wanted = [row for row in rows if "nvjet" in row.name]
    with opened_page(report_browser, steady) as opened:
        page = opened.page
        page.keyboard.press("/")
        page.keyboard.type("nvjet")
        taken = page.locator("#top-kernels [data-taken]")
        assert int(taken.get_attribute("data-taken")) == sum(row.device_ns for row in wanted)
        assert taken.inner_text().startswith(f"{len(wanted)} rows")
        names = page.locator("#top-kernels tbody td:first-child").all_inner_texts()
        assert len(names) == len(wanted)
        assert all("nvjet" in name for name in names)
        assert "ran=nvjet" in page.url
        page.locator("#ran-filter").fill("no such kernel")
        assert "No kernel matches" in opened.text("#top-kernels")


def test_advice_is_copied_as_text(report_browser, steady):
    with opened_page(report_browser, steady, fresh=True) as opened:
        page = opened.page
        page.evaluate(
            """() => document.addEventListener("copy", (event) => {
              window.copied = event.clipboardData.getData("text/plain");
            })"""
        )
        page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; }")
        page.locator("#what-to-try button.copy").click()
        page.wait_for_function("() => window.copied")
        text = page.evaluate("window.copied")
        assert text.startswith("- up to 518 ms: launch-bound: the program")
        assert "without these gaps 1.07 s (derived)" in text


def seen(page):
    """The range of the timeline that the address holds, in ns."""
    return page.evaluate(
        """() => ["from", "to"].map((name) =>
          Number(new URLSearchParams(location.hash.split("?")[1]).get(name)))"""
    )


def pressing(page, canvas):
    """Return a function that presses a key and returns the range once the address follows."""

    def pressed(key):
        before = page.evaluate("location.hash")
        canvas.press(key)
        page.wait_for_function("before => location.hash !== before", arg=before)
        return seen(page)

    return pressed


def test_a_range_is_measured_with_shift_and_drag_and_filled(report_browser, steady):
    with opened_page(report_browser, steady, fresh=True) as opened:
        opened.go("#/?from=40000000000&to=40100000000")
        canvas = opened.page.locator("#timeline")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        mouse = opened.page.mouse
        opened.page.keyboard.down("Shift")
        mouse.move(box["x"] + box["width"] - 401, box["y"] + 20)
        mouse.down()
        mouse.move(box["x"] + box["width"] - 201, box["y"] + 20, steps=4)
        text = opened.page.locator(".tooltip").inner_text()
        assert " from " in text
        mouse.up()
        opened.page.keyboard.up("Shift")
        opened.page.wait_for_function("() => !location.hash.includes('from=40000000000&')")
        begin, end = seen(opened.page)
        assert 40_000_000_000 < begin < end < 40_100_000_000
        milliseconds = float(text.split(" ms")[0])
        assert (end - begin) / 1e6 == pytest.approx(milliseconds, rel=0.01)


def test_wasd_keys_zoom_and_pan_the_timeline(report_browser, steady):
    with opened_page(report_browser, steady, fresh=True) as opened:
        opened.go("#/?from=40000000000&to=40100000000")
        canvas = opened.page.locator("#timeline")
        pressed = pressing(opened.page, canvas)
        begin, end = pressed("w")
        assert end - begin == pytest.approx(100_000_000 / 1.5, rel=0.001)
        assert (begin + end) / 2 == pytest.approx(40_050_000_000, abs=10)
        assert pressed("d")[0] == pytest.approx(begin + (end - begin) / 10, abs=10)
        pressed("a")
        assert pressed("s") == pytest.approx([40_000_000_000, 40_100_000_000], abs=10)


def test_a_name_is_found_and_its_callers_and_callees_are_summed(report_browser, steady):
    with opened_page(report_browser, steady, "#/called") as opened:
        page = opened.page
        page.wait_for_selector("#called-drawing [title]")
        page.locator("#called-filter").fill("LlamaDecoderLayer.forward")
        found = page.locator("#called-found")
        found.wait_for()
        assert "LlamaDecoderLayer" in page.locator("#steps-table tbody tr").first.inner_text()
        assert page.locator("#called-drawing .found").count() >= 2
        assert page.locator("#called-drawing .other").count() > 10
        page.locator("#steps-table tbody tr").first.click()
        page.wait_for_selector("#sandwich")
        callers, callees = page.locator("#sandwich .data-table").all()
        assert callers.locator("tbody tr").count() >= 1
        assert callees.locator("tbody tr").count() >= 2
        first = page.locator("#step h2").inner_text()
        callees.locator("tbody tr").first.click()
        page.wait_for_function(f"() => document.querySelector('#step h2').innerText !== {first!r}")
