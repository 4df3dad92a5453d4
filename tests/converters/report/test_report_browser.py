"""The report in a real browser: the frame, the lists of kernels and launches, other traces.

The overview has a file of its own, and each further view, `test_report_view_<name>.py`.
"""

import re
import shutil
from pathlib import Path

import pytest

from kvtrace.figures.part_figures import PartFigures
from kvtrace.figures.window import windowed
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.converters.browsed_report import figures, rows_of
from tests.converters.report_page import (
    FRONTEND,
    THEMES,
    accessibility_problems,
    frontend_build,
    opened_page,
    written_page,
)
from tests.support.packed import blocks_in, read_columns, read_json
from tests.support.report_trace import HOSTILE_NAME, build_report_trace
from tests.support.synthetic_trace import HOSTILE_NAMES
from tests.support.thorough import usually

FIXTURES = Path(__file__).parents[2] / "fixtures"
OWN_VIEWS = ("#/", "#/kernels", "#/launches?launch=3", "#/nowhere")

# --- the frame ----------------------------------------------------------------------------------


@pytest.mark.smoke
@pytest.mark.process
def test_every_section_opens_from_the_navigation_and_by_its_address(opened):
    for name in ("Kernels", "Launches", "Overview"):
        opened.page.locator("#nav").get_by_role("link", name=name).click()
        opened.page.wait_for_selector(f"h1:text-is('{name}')")
        assert opened.page.locator("#nav a[aria-current=page]").inner_text().startswith(name)
        assert opened.page.title().startswith(f"{name} · ")
    for address in ("#/nowhere", "#/kernel/%", "#/launches/3/4"):
        opened.go(address)
        assert opened.text("h1") == "Not here"


def test_the_search_finds_kernels_and_launches_from_the_keyboard(opened):
    page = opened.page
    page.keyboard.press("Control+k")
    assert page.evaluate("document.activeElement.ariaLabel") == "Search the report"
    page.keyboard.type("accu")
    assert "accumulate" in opened.text("#finder-results")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash === '#/kernel/1'")
    page.keyboard.press("Control+k")
    page.keyboard.type("17")
    assert "Launch 17" in opened.text("#finder-results")
    page.keyboard.press("Escape")
    assert not page.locator("#finder-results").is_visible()


def test_shortcut_keys_open_sections_and_are_listed(opened):
    page = opened.page
    page.keyboard.press("3")
    page.wait_for_selector("h1:text-is('Launches')")
    page.keyboard.press("/")
    page.keyboard.type("2")  # typed into the filter, and no section
    page.wait_for_function("() => location.hash.includes('q=2')")
    assert opened.text("h1") == "Launches"
    page.locator("body").click(position={"x": 5, "y": 500})
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    assert "Zoom to the selection" in opened.text("dialog")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog[open]", state="detached")


@pytest.mark.parametrize("scheme", THEMES)
def test_colors_follow_the_system_until_the_reader_chooses(report_browser, report, scheme):
    other = {"light": "dark", "dark": "light"}[scheme]
    with report_browser.open(report, scheme=scheme) as opened:
        back = "getComputedStyle(document.body).backgroundColor"
        theme = "document.documentElement.dataset.theme"
        first = opened.page.evaluate(back)
        assert opened.page.evaluate(theme) == scheme
        presses = {"light": 2, "dark": 1}[scheme]  # system, light, dark
        for _ in range(presses):
            opened.page.locator("#theme").click()
        assert opened.page.evaluate(theme) == other
        assert opened.page.evaluate(back) != first
        opened.page.reload()
        opened.page.wait_for_selector("html[data-ready=true]")
        assert opened.page.evaluate(theme) == other
        assert opened.console == []


@pytest.mark.parametrize("scheme", THEMES)
def test_axe_finds_nothing_in_either_theme(report_browser, report, scheme):
    with opened_page(report_browser, report, scheme=scheme) as opened:
        opened.page.wait_for_selector("#in-view td")
        for address in OWN_VIEWS:
            opened.go(address)
            assert accessibility_problems(opened) == [], address
        opened.page.keyboard.press("?")
        opened.page.wait_for_selector("dialog[open]")
        assert accessibility_problems(opened) == []


@pytest.mark.parametrize("width", [800, 1280])
def test_no_view_is_wider_than_the_window(report_browser, ranks, width):
    with opened_page(report_browser, ranks[1], width=width) as opened:
        for address in OWN_VIEWS:
            opened.go(address)
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= width, address


@pytest.mark.smoke
def test_hostile_text_is_shown_and_never_becomes_markup(opened):
    for address in OWN_VIEWS:
        opened.go(address)
        assert opened.page.locator("main img, main script, main b").count() == 0
    opened.go("#/kernels")
    assert HOSTILE_NAME in opened.text("main")
    assert "taken over" not in opened.page.title()


def test_names_of_a_megabyte_and_those_that_turn_the_text_round_are_shown_as_what_they_are(
    report_browser, tmp_path
):
    writer = RunWriter(tmp_path / "out", "20260102T030405-names")
    names = ["long" * 250_000, "soft\u202exam"]
    writer.append_rows("kernels", [{"kernel_id": n, "name": name} for n, name in enumerate(names)])
    writer.append_rows("calls", [{"call_id": n, "kernel_id": n} for n in range(2)])
    launches = [{"seq": n, "call_id": n % 2, "enter": 5 + n, "exit": 9 + n} for n in range(9)]
    writer.append_rows("launches", launches)
    writer.flush()
    page = written_page(tmp_path / "out", tmp_path / "r.html")
    with opened_page(report_browser, page) as opened:
        opened.page.wait_for_selector("#in-view td")
        for address in OWN_VIEWS:
            opened.go(address)
            width = opened.page.evaluate("document.documentElement.scrollWidth")
            assert width <= 1280, address
            assert len(opened.text("main")) < 50_000
        opened.go("#/kernels")
        assert "(1,000,000 characters)" in opened.text("main")
        assert "soft⟨U+202E⟩xam" in opened.text("main")


def interfaces():
    """Interface → names of its fields, of what the front end says that Python writes."""
    frontend_build().write_types()
    data = FRONTEND / "src" / "data"
    text = "".join((data / name).read_text(encoding="utf-8") for name in ("model.ts", "types.ts"))
    found = re.findall(r"^export interface (\w+)(?: extends \w+)? \{$(.*?)^\}", text, re.M | re.S)
    return {name: set(re.findall(r"^  readonly (\w+):", body, re.M)) for name, body in found}


@pytest.mark.process  # types are written by a program
def test_the_types_of_the_front_end_have_the_fields_that_python_writes(report):
    blocks = blocks_in(report)
    told = read_json(blocks["report"])
    variant, finding = told["variants"][0], told["findings"][0]
    recompiled = next(each["recompiled"] for each in told["variants"] if each["recompiled"])
    written = {
        "Report": told, "Run": told["runs"][0], "Totals": told["totals"], "Limits": told["limits"],
        "Kernel": told["kernels"][0], "Variant": variant, "Stage": variant["stages"][0],
        "SourceFile": variant["files"][0], "Parameter": variant["signature"][0],
        "Recompiled": recompiled, "Change": recompiled["changes"][0],
        "Occupancy": variant["occupancy"], "Argument": told["arguments"][0],
        "Call": told["calls"][0], "PlacedFinding": finding, "Finding": finding["found"],
        "StackFrame": finding["found"]["launched_at"],
        "FindingCount": told["finding_counts"][0], "Message": told["messages"][0],
        "Mark": told["marks"][0], "Track": told["tracks"][0],
        "SliceColumns": read_columns(blocks["launches"]),
        "Text": read_json(blocks["texts/0"]), "LineLinks": read_json(blocks["texts/0"])["links"],
    }  # fmt: skip
    fields = interfaces()
    assert {name: set(each) for name, each in written.items()} == {
        name: fields[name] for name in written
    }
    execution = set(read_columns(blocks["device"]))
    assert execution == fields["SliceColumns"] | fields["ExecutionColumns"]


# --- kernels and launches -----------------------------------------------------------------------


def test_the_kernel_table_sorts_and_filters(opened):
    opened.go("#/kernels")
    assert len(rows_of(opened, "main")) == 3
    opened.page.locator("#kernel-filter").fill("ACCU")
    assert rows_of(opened, "main") == ["accumulate"]
    assert "q=ACCU" in opened.page.url
    opened.page.locator("#kernel-filter").fill("")
    opened.page.locator("th:has-text('Kernel') button").click()
    assert rows_of(opened, "main") == sorted(rows_of(opened, "main"))


def test_launches_filter_sort_and_show_their_call(opened):
    opened.go("#/launches")
    assert opened.text("#launch-count").startswith("300 of 300 launches")
    opened.page.locator("label:has-text('Phase') select").select_option(label="warmup")
    assert opened.text("#launch-count").startswith("30 of 300 launches")
    opened.page.locator("th:has-text('host time') button").click()
    assert opened.page.locator("th[aria-sort=descending]").count() == 1
    opened.page.locator("#launch-table tbody tr").nth(1).locator("td").first.click()
    assert "warmup" in opened.text("#selected-launch")
    assert "source_ptr" in opened.text("#selected-launch")
    assert "launch=" in opened.page.url
    assert opened.page.locator("tr.chosen").count() == 1


def test_keyboard_moves_through_launches_and_copies_them(opened):
    opened.go("#/launches?q=softmax&launch=3")
    page = opened.page
    page.locator("tr.chosen").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("() => !location.hash.endsWith('launch=3')")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    last = opened.text("tr.chosen td")
    assert int(last) > 250
    copied = page.evaluate(
        """() => {
            const data = new DataTransfer();
            const event = new ClipboardEvent("copy", { clipboardData: data, bubbles: true });
            document.querySelector("tr.chosen").dispatchEvent(event);
            return data.getData("text/plain").split("\\n").map(line => line.split("\\t"));
        }"""
    )
    assert copied[0][:3] == ["Launch", "Kernel", "call"]
    assert {row[1] for row in copied[1:]} == {"softmax"}
    assert copied[-1][0] == last


def test_the_address_of_a_launch_in_a_long_list_brings_it_into_view(opened):
    opened.go("#/launches?launch=250")
    assert opened.text("tr.chosen td") == "250"
    assert opened.page.locator("tr.chosen").is_visible()
    assert opened.page.locator("#launch-table tbody tr").count() < 80


# --- other traces -------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [0, 3])
def test_almost_empty_run_is_shown(report_browser, tmp_path, rows):
    writer = RunWriter(tmp_path / "out", "20260102T030405-sparse")
    if rows:
        writer.append_rows("kernels", [{"kernel_id": 5}])
        writer.append_rows("calls", [{"call_id": 7, "kernel_id": 5}, {"call_id": 8}])
        launches = [{"seq": n, "call_id": 7 + n, "enter": 5, "exit": 9} for n in range(rows)]
        writer.append_rows("launches", launches)
    writer.flush()
    page = written_page(tmp_path / "out", tmp_path / "r.html")
    with opened_page(report_browser, page) as opened:
        if rows:
            assert figures(opened)["launches"] == str(rows)
        else:
            assert "there is nothing to profile or to judge" in opened.text("main")
            assert not opened.page.locator("table").count()
        assert "the process was killed" in opened.text("main")
        for address in ("#/kernels", "#/launches", "#/launches?launch=2"):
            opened.go(address)
            assert opened.text("h1") in ("Kernels", "Launches")


def test_several_ranks_with_hostile_names_and_device_streams(report_browser, ranks):
    made, path = ranks
    with opened_page(report_browser, path) as opened:
        opened.page.wait_for_selector("#in-view td")
        assert figures(opened)["launches"] == str(made.launches)
        assert int(figures(opened)["GPU time"]) > 0
        assert "executions" in opened.text("#in-view")
        opened.go("#/kernels")
        text = opened.page.locator("main").text_content()
        for name in HOSTILE_NAMES:
            assert (name or "(no name)")[:200] in text
        opened.go("#/launches")
        assert "rank 1 thread 4243" in opened.page.locator("main").text_content()


def test_a_run_on_a_gpu_shows_its_device_and_its_executions(report_browser, tmp_path):
    page = written_page(FIXTURES / "h200" / "device", tmp_path / "r.html", "--no-replay")
    with opened_page(report_browser, page) as opened:
        opened.page.wait_for_selector("#in-view td")
        assert "H200" in opened.text("main")
        assert int(figures(opened)["GPU time"]) > 0
        top = opened.page.locator("[aria-label='Top kernels'] th", has_text="GPU time")
        assert top.get_attribute("aria-sort") == "descending"
        assert sum(map(int, rows_of(opened, "#in-view", 4))) == 258
        opened.page.get_by_role("tab", name="Rows").click()
        assert "device 0 stream 7" in rows_of(opened, "#in-view")
        assert all(0 <= float(text.split()[0]) <= 100 for text in rows_of(opened, "#in-view", 5))
        opened.page.get_by_role("tab", name="Kernels in view").click()
        names = " ".join(rows_of(opened, "#in-view"))
        assert "vectorized_elementwise_kernel" in names  # torch's own, which no launch is known of
        opened.page.locator("#timeline").focus()
        for _ in range(6):
            opened.page.keyboard.press("]")
        assert "in 1 execution, the first" in opened.text("#timeline-selection")
        for _ in range(3):  # over compilations and marks: devices stand first
            opened.page.keyboard.press("ArrowUp")
        caused = opened.page.locator("#timeline-selection a[href^='#/launch/']").inner_text()
        assert int(caused.replace(",", "")) > 0


class MainThread:
    """The processor time of a page's main thread, from before the page is loaded."""

    def begin(self, page):
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds(self):
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return next(each["value"] for each in metrics if each["name"] == "ThreadTime")


def test_the_largest_page_there_is_opens_in_three_seconds_and_answers_quickly(
    report_browser, tmp_path, say
):
    """Of ten million launches no more is on the page than of these: parts of them, and bins."""
    built = build_report_trace(tmp_path, launches=1_200_000, stages=("ttir",))
    path = written_page(built.path, tmp_path / "r.html")
    thread = MainThread()
    with opened_page(report_browser, path, fresh=True, prepare=thread.begin) as opened:
        page = opened.page
        page.wait_for_selector("#in-view td")
        seconds = thread.seconds()
        size = path.stat().st_size / 1e6
        say(
            "report page",
            f"{size:.1f} MB for 1,200,000 launches: shown in {seconds:.2f} s of processor time",
        )
        assert 0 < seconds < 3
        assert figures(opened)["launches"] == "1200000"
        assert "launches in view, counted in bins" in opened.text("#timeline-status")
        assert (
            sum(int(text.replace(",", "")) for text in rows_of(opened, "#in-view", 2)) == 1_200_000
        )
        opened.go("#/launches")
        rows = int(opened.text("#launch-count").split()[0].replace(",", ""))
        assert 140_000 < rows <= 150_000
        assert page.locator("#launch-table tbody tr").count() < 80
        page.locator("th:has-text('host time') button").click()
        page.locator("#launch-table .table-scroll").evaluate("box => box.scrollTo(0, 1e9)")
        page.wait_for_selector(f"tr[aria-rowindex='{rows + 1}']")
        page.locator("#launch-filter").fill("accumulate")
        page.wait_for_function(
            "() => document.querySelector('#launch-table').textContent.includes('accumulate') &&"
            " !document.querySelector('#launch-table').textContent.includes('softmax')"
        )


GPU_PROGRAMS = ("decoding", "llama_ranks", "llama", "llama_graphs")


@pytest.mark.parametrize("name", GPU_PROGRAMS[: usually(1, thorough=4)])
def test_page_of_a_gpu_program_begins_with_device_time(report_browser, tmp_path, name):
    """The five longest come first, with their shares; rows of the timeline say what they are."""
    trace = open_trace(shutil.copytree(FIXTURES / "h200" / name, tmp_path / name))
    part, _ = windowed(trace, trace.runs)  # the steady part, as on the page
    time = PartFigures(part, trace.runs).device_time
    page = written_page(trace.path, tmp_path / "page.html", "--no-replay")
    with opened_page(report_browser, page) as opened:
        shown = rows_of(opened, "#top-kernels")
        shares = rows_of(opened, "#top-kernels", 2)
        for row, text, share in zip(time.rows[:5], shown, shares, strict=False):
            assert text.startswith(row.name[:40])
            assert float(share.split()[0]) == pytest.approx(100 * row.share, rel=0.01)
        told = opened.text("#step-time")
        assert ("2 GPUs busy" if "ranks" in name else "GPU busy") in told
        assert "a step (mean of" in told
        assert "_ZN" not in opened.text("main")
        assert accessibility_problems(opened) == []
