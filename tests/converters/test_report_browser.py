"""The report in a real browser: what a reader sees, with an empty console and no request."""

import pytest

from kvtrace.cli import main
from kvtrace.schema.writer import RunWriter
from tests.support.browser import browser
from tests.support.report_trace import DEFECT_LINE, HOSTILE_NAME, KERNELS, build_report_trace
from tests.support.synthetic_trace import HOSTILE_NAMES, build_synthetic_trace


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


def page_of(trace, out):
    assert main(["report", str(trace), "-o", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    return page_of(build_report_trace(folder).path, folder / "report.html")


@pytest.fixture
def opened(chromium, report):
    """The report's first page; afterwards the console must be empty, the file the only request."""
    with chromium.open(report) as page:
        yield page
        assert page.console == []
        assert [url.partition("#")[0] for url in page.requests] == [report.as_uri()]


def figures(opened):
    values = opened.page.eval_on_selector_all(
        "[data-figure]", "nodes => nodes.map(n => [n.dataset.figure, n.dataset.value])"
    )
    return dict(values)


def source_line(opened, number):
    """The line of the source pane with that number."""
    lines = opened.page.locator("#source-pane .line")
    return lines.filter(has=opened.page.locator(f".line-number:text-is('{number}')"))


def test_the_overview_shows_what_ran_its_figures_and_what_was_found(opened):
    found = figures(opened)
    assert found["launches"] == "300"
    assert found["kernels"] == "3"
    assert found["distinct calls"] == "12"
    assert found["violations"] == "1"
    text = opened.text("main")
    assert "abababababab on main with uncommitted changes" in text
    assert "30 warmup, 270 run" in text
    assert f"A launcher was not seen: {HOSTILE_NAME}" in text


def test_every_section_opens_from_the_navigation_and_by_its_address(opened):
    for name in ("Kernels", "Launches", "Findings", "Overview"):
        opened.page.get_by_role("link", name=name).first.click()
        opened.page.wait_for_selector(f"h1:text-is('{name}')")
        assert opened.page.locator("#nav a[aria-current=page]").inner_text().startswith(name)
    for address, heading in (
        ("#/kernel/1", "accumulate"), ("#/call/3", "Call 4"), ("#/nowhere", "Not here"),
        ("#/kernel/99", "Not here"), ("#/call/99", "Not here"), ("#/kernel/%", "Not here"),
    ):  # fmt: skip
        opened.go(address)
        assert opened.text("h1") == heading


def test_hostile_text_is_shown_and_never_becomes_markup(opened):
    for address in (
        "#/",
        "#/kernels",
        "#/kernel/0",
        "#/kernel/2",
        "#/launches",
        "#/call/0",
        "#/findings",
    ):
        opened.go(address)
        opened.page.wait_for_timeout(100)
        assert opened.page.locator("main img, main script, main b").count() == 0
    opened.go("#/kernel/2")
    assert opened.text("h1") == HOSTILE_NAME
    opened.go("#/findings")
    assert "<b>not bold</b>" in opened.text("article.finding")
    assert "taken over" not in opened.page.title()


def test_a_source_line_lights_its_ttir_lines_and_back(opened):
    opened.go("#/kernel/0")
    opened.page.wait_for_selector("#stage-pane .line.linked")
    line = source_line(opened, DEFECT_LINE)
    line.hover()
    there = opened.page.locator("#stage-pane .line.there")
    texts = there.all_inner_texts()
    assert any("tt.load" in text for text in texts)
    assert not any("tt.store" in text for text in texts)
    assert f"kernels_of_the_test.py:{DEFECT_LINE} ↔" in opened.text("#link-status")
    store = opened.page.locator("#stage-pane .line", has_text="tt.store")
    store.click()
    marked = opened.page.locator("#source-pane .line.there").all_inner_texts()
    assert len(marked) == 1
    assert "tl.store(" in marked[0]


def test_an_inlined_line_lights_its_caller_too(opened):
    opened.go("#/kernel/0")
    opened.page.wait_for_selector("#stage-pane .line.linked")
    opened.page.locator("#stage-pane .line", has_text="arith.select").click()
    assert "tl.where" in opened.text("#source-pane .line.there")
    assert "leaky(values" in opened.text("#source-pane .line.outer")
    assert "inlined at" in opened.text("#link-status")


def test_the_other_stages_are_linked_too(opened):
    opened.go("#/kernel/0")
    for name, word in (("TTGIR", "tt.load"), ("LLVM IR", "ld.global"), ("PTX", "ld.global")):
        opened.page.get_by_role("tab", name=name).click()
        opened.page.wait_for_selector(f"[role=tab][aria-selected=true]:text-is('{name}')")
        opened.page.wait_for_timeout(100)
        opened.page.mouse.move(0, 0)
        source_line(opened, DEFECT_LINE).hover()
        texts = opened.page.locator("#stage-pane .line.there").all_inner_texts()
        assert any(word in text for text in texts), name


def test_a_kernel_that_was_compiled_elsewhere_is_linked_by_its_file_s_name(chromium, tmp_path):
    built = build_report_trace(
        tmp_path, launches=20, stages=("ttir",), moved_to="/new/kernels_of_the_test.py"
    )
    with chromium.open(page_of(built.path, tmp_path / "r.html"), "#/kernel/0") as opened:
        opened.page.wait_for_selector("#stage-pane .line.linked")
        source_line(opened, DEFECT_LINE).hover()
        assert opened.page.locator("#stage-pane .line.there", has_text="tt.load").count() == 1


def test_lines_are_linked_from_the_keyboard(opened):
    opened.go("#/kernel/0")
    opened.page.wait_for_selector("#stage-pane .line.linked")
    opened.page.locator("#source-pane").focus()
    before = None
    for _ in range(3):
        opened.page.keyboard.press("ArrowDown")
        status = opened.text("#link-status")
        assert "↔" in status
        assert status != before
        before = status
    opened.page.keyboard.press("Escape")
    assert opened.page.locator(".line.there, .line.here").count() == 0


def test_a_finding_shows_rule_witness_and_its_marked_line(opened):
    opened.go("#/findings")
    opened.page.wait_for_selector("article .line.marked")
    card = opened.text("article.finding")
    for text in ("out-of-bounds", "softmax", "(3, 0, 0)", "(232)", "96 bytes", "and 2 others"):
        assert text in card
    marked = opened.page.locator("article .line.marked").first.inner_text()
    assert KERNELS.split("\n")[DEFECT_LINE - 1].strip() in marked
    assert str(DEFECT_LINE) in marked
    opened.page.locator("label:has-text('Show') select").select_option("unknown")
    assert opened.page.locator("article").count() == 1
    assert "hangs on data that was not recorded" in opened.text("article")


def test_launches_filter_sort_and_show_their_call(opened):
    opened.go("#/launches")
    assert "300 of 300 launches" in opened.text("main")
    opened.page.locator("label:has-text('Phase') select").select_option(label="warmup")
    assert "30 of 300 launches" in opened.text("main")
    opened.page.locator("th:has-text('host time') button").click()
    assert opened.page.locator("th[aria-sort=descending]").count() == 1
    opened.page.locator("tbody tr").first.click()
    assert "warmup" in opened.text("#selected-launch")
    assert "source_ptr" in opened.text("#selected-launch")
    assert "#/launch/" in opened.page.url
    opened.page.get_by_role("button", name="Show launch").nth(1).press("Enter")
    assert opened.page.locator("tr.chosen").count() == 1


def test_the_kernel_table_sorts_and_filters(opened):
    opened.go("#/kernels")
    names = opened.page.locator("tbody tr td:first-child")
    assert names.count() == 3
    opened.page.locator("#kernel-filter").fill("ACCU")
    assert names.all_inner_texts() == ["accumulate"]
    opened.page.locator("#kernel-filter").fill("")
    opened.page.locator("th:has-text('Kernel') button").click()
    assert names.all_inner_texts() == sorted(names.all_inner_texts())


def test_the_timeline_zooms_selects_and_lists_what_is_in_view(opened):
    page = opened.page
    page.wait_for_selector("#in-view td")
    assert "Every launch in view is drawn on its own" in opened.text("#timeline-status")
    page.locator("#timeline").focus()
    page.keyboard.press("]")
    assert "Launch 0" in opened.text("#timeline-selection")
    page.keyboard.press("]")
    assert "Launch " in opened.text("#timeline-selection")
    before = opened.text("#in-view")
    for _ in range(6):
        page.keyboard.press("+")
    page.wait_for_timeout(300)
    assert opened.text("#in-view") != before
    page.get_by_role("button", name="Show all").click()
    page.wait_for_timeout(300)
    assert opened.text("#in-view") == before


def test_the_canvas_draws_launches_in_their_kernels_colours(opened):
    opened.page.wait_for_selector("#in-view td")
    colours = opened.page.evaluate(
        """() => {
            const canvas = document.getElementById("timeline");
            const { width, height } = canvas;
            const image = canvas.getContext("2d").getImageData(0, 0, width, height);
            return new Set(new Uint32Array(image.data.buffer)).size;
        }"""
    )
    assert colours > 10


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_until_the_reader_chooses(chromium, report, scheme):
    other = {"light": "dark", "dark": "light"}[scheme]
    with chromium.open(report, scheme=scheme) as opened:
        back = "getComputedStyle(document.body).backgroundColor"
        theme = "document.documentElement.dataset.theme"
        first = opened.page.evaluate(back)
        assert opened.page.evaluate(theme) == scheme
        opened.page.locator("#theme").click()
        assert opened.page.evaluate(theme) == other
        assert opened.page.evaluate(back) != first
        assert opened.console == []


@pytest.mark.parametrize("width", [800, 1280])
def test_no_page_is_wider_than_the_window(chromium, report, width):
    with chromium.open(report, width=width) as opened:
        for address in ("#/", "#/kernels", "#/kernel/0", "#/launch/3", "#/call/0", "#/findings"):
            opened.go(address)
            opened.page.wait_for_timeout(100)
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= width, address


def test_without_derived_tables_the_page_names_the_commands_that_fill_them(chromium, tmp_path):
    built = build_report_trace(tmp_path, launches=20, derived=False, stages=("ttir",))
    with chromium.open(page_of(built.path, tmp_path / "r.html")) as opened:
        text = opened.text("main")
        assert "run kvtrace replay" in text
        assert f"kvtrace sanitize {built.path}/" in text
        opened.go("#/findings")
        assert "kvtrace sanitize" in opened.text("main")
        assert opened.console == []


@pytest.mark.parametrize("rows", [0, 3])
def test_a_run_with_next_to_nothing_in_it_is_shown(chromium, tmp_path, rows):
    writer = RunWriter(tmp_path / "out", "20260102T030405-sparse")
    if rows:
        writer.append_rows("kernels", [{"kernel_id": 5}])
        writer.append_rows("calls", [{"call_id": 7, "kernel_id": 5}, {"call_id": 8}])
        launches = [{"seq": n, "call_id": 7 + n, "enter": 5, "exit": 9} for n in range(rows)]
        writer.append_rows("launches", launches)
    writer.flush()
    with chromium.open(page_of(tmp_path / "out", tmp_path / "r.html")) as opened:
        assert figures(opened)["launches"] == str(rows)
        assert "the process was killed" in opened.text("main")
        for address in ("#/kernels", "#/kernel/0", "#/launches", "#/launch/2", "#/call/1"):
            opened.go(address)
            opened.page.wait_for_timeout(50)
        assert opened.console == []


def test_several_ranks_with_hostile_names_and_device_streams(chromium, tmp_path):
    made = build_synthetic_trace(tmp_path / "out", kernels=12)
    with chromium.open(page_of(made.path, tmp_path / "r.html")) as opened:
        opened.page.wait_for_selector("#in-view td")
        assert figures(opened)["launches"] == str(made.launches)
        assert int(figures(opened)["device time"]) > 0
        opened.go("#/kernels")
        text = opened.page.locator("main").text_content()
        for name in HOSTILE_NAMES:
            assert (name or "(no name)")[:200] in text
        opened.go("#/launches")
        assert "rank 1 thread 4243" in opened.text("main")
        assert opened.console == []
        assert len(opened.requests) == 1


def test_two_hundred_thousand_launches_open_in_three_seconds(chromium, tmp_path):
    built = build_report_trace(tmp_path, launches=200_000, stages=("ttir",))
    page = page_of(built.path, tmp_path / "r.html")
    assert page.stat().st_size < 4 << 20
    with chromium.open(page) as opened:
        opened.page.wait_for_selector("#in-view td")
        assert opened.page.evaluate("performance.now()") < 3000
        assert figures(opened)["launches"] == "200000"
        assert "one column a pixel" in opened.text("#timeline-status")
        opened.go("#/launches")
        assert "200,000 of 200,000 launches" in opened.text("main")
        assert opened.page.locator("tbody tr").count() == 100
        assert opened.console == []


def test_suppressed_findings_and_races_are_told_on_the_findings_page(chromium, tmp_path):
    from dataclasses import replace

    from tests.converters.finding_rows import KERNEL, LOAD, RACE, STORE, VIOLATION
    from tests.converters.written_trace import SOURCE, add_findings, write_trace

    marked = SOURCE.replace("offsets < n)\n", "offsets < n)  # kvtrace: ignore[race] lock\n", 1)
    side = write_trace(tmp_path / "t", [replace(KERNEL, source=marked)])
    add_findings(side, [VIOLATION, RACE], [LOAD, STORE])
    with chromium.open(page_of(tmp_path / "t", tmp_path / "report.html")) as page:
        page.go("#/findings")
        page.page.wait_for_selector("article .line.marked")
        assert page.page.locator("article").count() == 2
        page.page.locator("label:has-text('Show') select").select_option("suppressed")
        card = page.text("article.finding")
        for text in ("suppressed", "race", "lock", "program (6, 0, 0) at", "16 bytes further on"):
            assert text in card
        page.page.locator("label:has-text('Show') select").select_option("violation")
        assert "pass mask= to the load" in page.text("article.finding")
        assert page.console == []
