"""The report's first screen: where the time went, what to try, findings, and one table of all."""

import json
import shutil
from pathlib import Path

import pytest

from kvtrace.converters.profile.device_text import busy_phrase, library_sentence, step_sentence
from kvtrace.converters.profile.one_table import table_rows
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.profile.profile_text import notable_sentences
from kvtrace.converters.report.data import report_data
from kvtrace.schema.trace import open_trace
from tests.converters.launch_pages import blocks_of
from tests.converters.report_page import opened_page, written_page

FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"
NARROW = {"width": 1000, "height": 900}


def copied(name, folder):
    return shutil.copytree(FIXTURES / name, folder / Path(name).name)


@pytest.mark.costly("a page of a recorded trace; the profile's stay by day")
@pytest.mark.parametrize("name", ["planted/item", "planted/loader", "planted/good"])
def test_figures_on_the_page_equal_those_of_the_profile(name):
    trace = open_trace(FIXTURES / name)
    profile = read_profile(trace, trace.runs)
    report = report_data(trace, trace.runs, "title", "trace/")
    answer = report.answer
    assert answer.part == profile.window.sentence
    assert answer.advice == profile.advice
    assert answer.gaps == profile.gaps
    assert set(answer.gaps.by_cause) <= set(answer.causes)
    assert report.device_time.busy.idle_ns == answer.gaps.idle_ns
    rows = table_rows(profile)
    assert [(r.name, r.executions, r.device_ns) for r in answer.ran] == [
        (r.name, r.executions, r.taken_ns) for r in rows
    ]
    (triad,) = (row for row in answer.ran if row.name == "triad")
    assert report.kernels[triad.kernel].name == "triad"
    assert dict(zip(report.device_names, report.device_kinds, strict=True))["memset"] == "fill"


@pytest.fixture(scope="module")
def item(tmp_path_factory):
    folder = tmp_path_factory.mktemp("item")
    return written_page(copied("planted/item", folder), folder / "page.html")


def test_overview_shows_time_then_advice_then_findings_then_kernels(report_browser, tmp_path):
    page_file = written_page(copied("planted/loader", tmp_path), tmp_path / "page.html")
    with opened_page(report_browser, page_file, **NARROW) as opened:
        page = opened.page
        places = [
            page.locator(f"#{name}").bounding_box()["y"]
            for name in ("step-time", "what-to-try", "top-kernels", "timeline", "what-ran")
        ]
        assert places == sorted(places)
        findings = page.locator("#overview-findings").bounding_box()["y"]
        assert places[1] <= findings < places[2] < NARROW["height"]
        assert page.locator("#what-to-try li").first.get_attribute("data-rule") == "host-bound"
        assert "planted.py:118" in opened.text("#what-to-try")
        parts = page.locator(".time-legend li").evaluate_all(
            "all => all.map(e => [e.dataset.cause, Number(e.dataset.value)])"
        )
        assert [cause for cause, _ in parts[:2]] == ["busy", "host"]
        wide = page.locator(".time-bar").bounding_box()["width"]
        first = page.locator(".time-part").first.bounding_box()["width"]
        whole = sum(ns for _, ns in parts)
        assert first / wide == pytest.approx(parts[0][1] / whole, abs=0.02)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def test_without_a_gpu_findings_come_with_line_and_sentence_and_no_column_is_of_dashes(
    report_browser, tmp_path
):
    trace = shutil.copytree(FIXTURES.parent / "missing_mask", tmp_path / "trace")
    page_file = written_page(trace, tmp_path / "page.html")
    listed = json.loads(blocks_of(page_file)["report"])["findings"]
    with opened_page(report_browser, page_file, **NARROW) as opened:
        page = opened.page
        first = page.locator(".first-findings li").all_inner_texts()
        assert 0 < len(first) <= 6
        assert first[0].startswith("error")
        sections = page.locator("main section").evaluate_all("all => all.map(e => e.id)")
        assert sections[0] == "overview-findings"
        assert opened.text("#figures .figure").split("\n")[1].startswith("errors and warnings")
        found = listed[0]["found"]
        assert f"{Path(found['file']).name}:{found['line']}" in first[0]
        assert any(each["found"]["message"] in first[0] for each in listed)
        assert page.locator(".first-findings").bounding_box()["y"] < 200
        rows = page.locator("#top-kernels tbody tr").all()
        texts = [row.locator("td").all_inner_texts() for row in rows]
        assert all(any(cell != "–" for cell in column) for column in zip(*texts, strict=True))
        opened.go("#/called")
        page.wait_for_selector("#called-drawing")


def test_bars_scale_to_the_largest_row_and_derived_columns_have_a_mark(report_browser, item):
    with opened_page(report_browser, item) as opened:
        table = opened.page.locator("#top-kernels")
        bars = table.locator(".share-fill").evaluate_all(
            "all => all.map(e => Number.parseFloat(e.style.inlineSize))"
        )
        assert max(bars) == pytest.approx(100)
        marked = table.locator("th:has(.derived)").evaluate_all(
            "all => all.map(e => e.dataset.source)"
        )
        assert set(marked) == {"derived"}
        assert opened.page.locator("main .legend:visible").count() == 1
        assert "measured" not in table.locator("thead").inner_text()


def moment_at(page, share):
    """The moment of the timeline at a share of its width, in ns, by what the address says."""
    begin, end = page.evaluate(
        """() => {
          const query = new URLSearchParams(location.hash.split("?")[1]);
          return [Number(query.get("from")), Number(query.get("to"))];
        }"""
    )
    return begin + share * (end - begin), end - begin


def test_the_wheel_zooms_at_the_pointer_by_how_far_it_turns(report_browser, item):
    spans = []
    for turned in (-120, -360):
        with opened_page(report_browser, item, fresh=True) as opened:
            opened.go("#/?from=100000000&to=500000000")
            canvas = opened.page.locator("#timeline")
            canvas.scroll_into_view_if_needed()
            label = canvas.evaluate("e => e.getBoundingClientRect().left")
            frame = opened.page.locator("#timeline-minimap").bounding_box()
            assert frame["x"] == pytest.approx(label, abs=2)
            box = canvas.bounding_box()
            # the last pixel: its moment is the end of what is seen, whatever labels take
            opened.page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 30)
            opened.page.keyboard.down("Control")
            opened.page.mouse.wheel(0, turned)
            opened.page.keyboard.up("Control")
            opened.page.wait_for_function("() => !location.hash.includes('from=100000000&')")
            end, span = moment_at(opened.page, 1)
            assert end == pytest.approx(500_000_000, rel=0.005)
            spans.append(span)
    assert spans[1] < spans[0] < 400_000_000


def test_library_kernels_have_the_color_of_their_kind(report_browser, item):
    with opened_page(report_browser, item) as opened:
        kinds = opened.page.locator(".kinds > span").all_inner_texts()
        assert {"cuBLAS", "copy", "fill"} <= {kind.strip() for kind in kinds}
        opened.page.wait_for_selector("#in-view td")
        swatches = opened.page.locator("#in-view .swatch").evaluate_all(
            "all => all.map(e => getComputedStyle(e).backgroundColor)"
        )
        assert len(set(swatches)) == len(swatches)


def test_an_opened_finding_is_seen_on_a_narrow_screen(report_browser, tmp_path):
    trace = copied("llama_liger_cached", tmp_path)
    page = written_page(trace, tmp_path / "page.html")
    with opened_page(report_browser, page, "#/findings", **NARROW) as opened:
        opened.page.locator("#finding-list tbody a").first.click()
        opened.page.wait_for_selector("#finding-message")
        assert opened.page.locator("#finding-message").bounding_box()["y"] < 300
        assert opened.page.locator("#source").bounding_box()["y"] < 500


def test_a_click_on_the_slowest_step_shows_it_on_the_timeline(report_browser, tmp_path):
    trace = open_trace(FIXTURES / "llama_steady")
    (steps,) = read_profile(trace, trace.runs).gaps.steps
    slowest = max(range(len(steps.duration_ns)), key=lambda number: steps.duration_ns[number])
    page = written_page(copied("llama_steady", tmp_path), tmp_path / "page.html", "--no-replay")
    with opened_page(report_browser, page) as opened:
        bars = opened.page.locator(".step-bar")
        assert bars.count() == len(steps.duration_ns)
        bar = opened.page.locator(f'.step-bar[data-step="{steps.first + slowest}"]')
        assert bar.get_attribute("class") == "step-bar clipped"
        bar.click()
        query = dict(part.split("=") for part in opened.page.url.partition("?")[2].split("&"))
        shown = int(query["to"]) - int(query["from"])
        assert shown == pytest.approx(steps.duration_ns[slowest], abs=2)
        assert f"step {steps.first + slowest} took 361 ms" in opened.text("#step-time")


@pytest.fixture(scope="module")
def steady_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("steady")
    return written_page(copied("llama_steady", folder), folder / "page.html", "--no-replay")


def test_the_page_says_what_the_terminal_says(report_browser, steady_page):
    trace = open_trace(FIXTURES / "llama_steady")
    profile = read_profile(trace, trace.runs)
    time = profile.device_time
    with opened_page(report_browser, steady_page) as opened:
        first = opened.text("#step-time")
        for sentence in (
            step_sentence(time), busy_phrase(time.busy, 1, time.steps.number),
            profile.window.sentence, *notable_sentences(profile),
        ):  # fmt: skip
            assert sentence in first
        assert library_sentence(time) in opened.text("#top-kernels")
        assert profile.window.within == "in 35 steps"
        assert opened.text('[data-figure="host time"]').endswith("in 35 steps")
        report = report_data(trace, trace.runs, "title", "trace/")
        kernel, headline = next(
            (index, kernel.headline)
            for index, kernel in enumerate(report.kernels)
            if kernel.name == "_triton_rope"
        )
        opened.go(f"#/kernel/{kernel}")
        assert opened.text("#kernel-headline") == f"{headline}."
        assert opened.text("h1") == "_triton_rope"


def test_the_timeline_opens_on_three_steady_steps(report_browser, steady_page):
    trace = open_trace(FIXTURES / "llama_steady")
    (steps,) = read_profile(trace, trace.runs).gaps.steps
    with opened_page(report_browser, steady_page) as opened:
        rows = opened.page.locator("#in-view tbody tr", has_text="flash_bprop").first
        cells = rows.locator("td").all_inner_texts()
        per_step = 210 // len(steps.duration_ns)
        assert cells[1:4] == ["–", "–", str(3 * per_step)]  # launches of a library are not known
        opened.page.get_by_role("button", name="Show all").click()
        opened.page.wait_for_function(
            "() => document.querySelector('#in-view').innerText.includes('43,436')"
        )


def test_the_tooltip_of_a_short_name_is_the_full_one(report_browser, steady_page):
    with opened_page(report_browser, steady_page) as opened:
        opened.go("#/kernels")
        name = opened.page.locator(
            "#library-kernels [title*='at::native::CUDAFunctor_add<c10::BFloat16>']"
        )
        assert (
            name.first.inner_text() == "vectorized_elementwise_kernel<8, CUDAFunctor_add<BFloat16>>"
        )


def test_library_kernels_are_on_the_kernels_page_with_their_share(report_browser, steady_page):
    trace = open_trace(FIXTURES / "llama_steady")
    profile = read_profile(trace, trace.runs)
    others = [row for row in table_rows(profile) if row.kernel is None]
    with opened_page(report_browser, steady_page) as opened:
        opened.go("#/kernels")
        section = opened.text("#library-kernels")
        assert "cudnn_generated_fort_native_sdpa" in section
        assert "10.4 %" in section
        assert others[0].name.startswith("cudnn_generated")
        assert "Times are of this part: steady state: 35 steps" in opened.text("main")
