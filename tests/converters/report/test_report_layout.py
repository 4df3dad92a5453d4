"""No text of a report of a real program is cut off, covered or pale, and no box too wide.

Each page is opened once, and each of its views shown in three windows and both themes. Views of
add-ons are in their own tests.
"""

import shutil
from pathlib import Path

import pytest

from tests.converters.page_contrast import contrast_problems
from tests.converters.page_layout import layout_problems, screen_problems, watch_canvases
from tests.converters.report_page import accessibility_problems, opened_page, written_page
from tests.support.thorough import in_turn

FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"
VIEWS = (
    "#/",
    "#/kernels",
    "#/kernel/1?left=ttgir&stage=ptx",
    "#/launches",
    "#/launch/5",
    "#/call/3?op=17&p=1",
    "#/findings",
    "#/called?at=2",
    "#/nowhere",
)
#: Whose pages axe looks at: one with ops and accesses, and one without.
JUDGED = ("decoding", "llama")


@pytest.fixture(scope="module")
def decoding(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decoding")
    trace = shutil.copytree(FIXTURES / "decoding", folder / "out")
    return written_page(trace, folder / "page.html")


TRACES = ["decoding", "llama_steady", "llama", "llama_ranks", "llama_graphs", "llama_liger_cached"]


@pytest.mark.parametrize("name", in_turn(TRACES, len(TRACES)))
def test_all_text_can_be_read_in_every_view_window_and_theme(report_browser, tmp_path, name):
    trace = shutil.copytree(FIXTURES / name, tmp_path / name)
    passes = () if name == "decoding" else ("--no-replay",)  # the others take seconds
    page = written_page(trace, tmp_path / "page.html", *passes)
    found = []
    with opened_page(report_browser, page, width=1440, prepare=watch_canvases) as opened:
        for address in VIEWS:
            opened.go(address)
            opened.settle()
            found += [f"{address} {problem}" for problem in screen_problems(opened)]
            if name in JUDGED:
                assert accessibility_problems(opened) == [], address
    assert found == []


@pytest.mark.parametrize("source", in_turn([(), ("--no-replay", "--no-source")], 2))
def test_small_page_with_a_finding_is_readable_with_and_without_what_was_derived(
    report_browser, tmp_path, source
):
    trace = shutil.copytree(FIXTURES.parent / "missing_mask", tmp_path / "out")
    page = written_page(trace, tmp_path / "page.html", *source)
    found = []
    with opened_page(report_browser, page, width=1440, prepare=watch_canvases) as opened:
        opened.go("#/findings")
        finding = opened.page.locator("#finding-list tbody a").first.get_attribute("href")
        for address in ("#/", "#/kernels", "#/kernel/0", "#/call/0", "#/findings", finding):
            opened.go(address)
            opened.settle()
            found += [f"{address} {problem}" for problem in screen_problems(opened)]
    assert found == []


#: What Tab is to come to: all that is shown and can have the focus, each once.
TABBABLE = """() => {
  const roots = [document, ...[...document.querySelectorAll(".code")].map((e) => e.shadowRoot)];
  const all = roots.flatMap((root) => [...root.querySelectorAll(
    "a[href], button, input, select, summary, [tabindex='0']")]);
  const shown = all.filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility());
  window.reached = new Set();
  window.wanted = shown;
  return shown.length;
}"""
REACH = """() => {
  let at = document.activeElement;
  while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  window.reached.add(at);
}"""
MISSED = """() => window.wanted.filter((e) => e.isConnected && !window.reached.has(e))
  .map((e) => e.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize(
    ("address", "last"),
    in_turn(
        [
            ("#/", "#in-view td"),
            (VIEWS[2], "#stage .cm-line"),
            (VIEWS[5], "#warp canvas"),
            ("#/kernels", "td"),
            ("#/findings", "td"),
        ],
        3,
    ),
)
def test_tab_reaches_every_control_and_is_never_trapped(report_browser, decoding, address, last):
    with opened_page(report_browser, decoding, address, width=1500) as opened:
        opened.page.wait_for_selector(last)
        opened.settle()
        many = opened.page.evaluate(TABBABLE)
        assert many > 10
        for _ in range(many + 4):
            opened.page.keyboard.press("Tab")
            opened.page.evaluate(REACH)
        assert opened.page.evaluate(MISSED) == []


def test_text_cut_off_by_a_layout_is_detected(report_browser, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        """<html data-ready="true"><style>
        div { font: 16px monospace; width: 200px; height: 20px; }
        .cut { width: 60px; overflow: hidden; white-space: nowrap; }
        .dotted { text-overflow: ellipsis; }
        </style>
        <div class="cut">one two three four</div>
        <div class="cut dotted">five six seven</div>
        <div class="cut dotted" title="well meant">well meant, indeed</div>
        <div class="cut" style="overflow: auto">scrolled into view</div>
        <div>under</div><div style="margin-top: -15px">over</div>
        <p style="inline-size: 120vw; background: gold">wide</p>
        <p style="color: #999; background: #fff">pale</p>
        <button></button><canvas width="80" height="30"></canvas>
        <script>
        const drawing = document.querySelector("canvas");
        drawing.width = 80;
        const context = drawing.getContext("2d");
        context.fillText("left", 0, 10);
        context.fillText("right out", 60, 10);
        context.fillText("on it", 5, 12);
        </script>"""
    )
    with report_browser.open(page, prepare=watch_canvases) as opened:
        problems = [each.partition(" in #")[0] for each in layout_problems(opened)]
        pale = contrast_problems(opened)
    assert problems == [
        "cut off: “one two three four”",
        "cut off: “five six seven”",
        "on “over”: “under”",
        "no label: “canvas”",
        "cut off in a canvas: “right out”",
        "in a canvas on “on it”: “left”",
        "no label: “BUTTON”",
        "the page is 1544 px wide, the window 1280",
        "beyond the window: “wide”",
    ]
    assert pale == ["contrast 2.85: “pale” in p."]


def test_a_phone_keeps_the_text_of_findings_and_names_the_hidden_columns(report_browser, decoding):
    with opened_page(report_browser, decoding, "#/findings", width=390, height=844) as opened:
        table = opened.page.locator("#finding-list")
        headers = table.locator("th").all_inner_texts()
        assert (headers[0], headers[-1]) == ("Severity", "What")
        hidden = "Hidden at this width: launches, calls, places, Kernel, Line"
        assert table.locator("[data-left-out]").inner_text().startswith(hidden)
        room = table.locator(".table-scroll").evaluate("e => [e.scrollWidth, e.clientWidth]")
        assert room[0] <= room[1]
