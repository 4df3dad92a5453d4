"""The view of findings, in Chromium, on defects recorded and judged for this."""

import contextlib
import io
import json
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from kvtrace.cli import main
from kvtrace.converters.findings.causes import by_cause
from kvtrace.converters.findings.reading import read_findings
from kvtrace.schema.trace import resolve
from tests.converters.launch_pages import blocks_of
from tests.converters.report_page import THEMES, accessibility_problems, opened_page, written_page

if find_spec("triton") is None:
    pytest.skip("Triton is not installed: nothing to launch", allow_module_level=True)

LIST = "#finding-list tbody tr[data-place]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("findings-view")


@pytest.fixture(scope="module")
def unjudged(folder):
    """The page before `kvtrace sanitize` has run, of a launch in which nothing was seen."""
    import kvtrace
    from tests.metrics import kernels

    x = torch.randn(1000)
    with kvtrace.capture(folder / "sound"):
        kernels.copy[(4,)](x, torch.empty_like(x), 1000, BLOCK=256)
    return written_page(folder / "sound", folder / "unjudged.html", "--no-replay")


@pytest.fixture(scope="module")
def page(folder):
    import kvtrace

    with kvtrace.capture(folder / "out", tensors="none"):
        _launches()
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["replay", str(folder / "out")]) == 0
        assert main(["sanitize", str(folder / "out")]) == 1
    return written_page(folder / "out", folder / "page.html")


def _launches():
    from tests.converters.report import finding_kernels as kernels

    values = torch.randn(1000)
    kernels.copied[(4,)](values, torch.zeros(1000), BLOCK=256)
    kernels.inlining[(1,)](values[:100].clone(), torch.zeros(100), 100, BLOCK=128)
    kernels.gathered[(1,)](values, torch.zeros(8, dtype=torch.int64), torch.zeros(8), 8, BLOCK=8)
    kernels.colliding[(2,)](values, torch.zeros(16), BLOCK=16)
    kernels.padded[(1,)](values[:100].clone(), torch.zeros(100), BLOCK=128)


@pytest.fixture(scope="module")
def report(page):
    return json.loads(blocks_of(page)["report"])


def found_in(report, kernel, **facts):
    """The one finding of a kernel that is like that."""
    (found,) = (
        each
        for each in report["findings"]
        if each["found"]["kernel"] == kernel
        and all(each["found"][name] == value for name, value in facts.items())
    )
    return found


def address_of(placed):
    return f"#/findings/{placed['found']['finding_id']}"


def fact(opened, name):
    """The content of a fact by its name."""
    row = opened.page.locator("#finding dl.facts > div").filter(
        has=opened.page.locator("dt", has_text=name)
    )
    return row.first.locator("dd").inner_text()


def shown(opened):
    """Rule and kernel of each row of the list."""
    rows = opened.page.locator(LIST).all()
    return {tuple(row.inner_text().split("\t")[place] for place in (1, 3)) for row in rows}


def hash_of(opened):
    return opened.page.evaluate("() => decodeURIComponent(location.hash)")


def test_messages_of_the_recorder_are_listed_apart_from_findings(report_browser, tmp_path):
    import kvtrace
    from tests.backends import live_kernels as kernels

    chosen = torch.arange(1000)
    chosen[17] = 1003
    with kvtrace.capture(tmp_path / "out", tensors="none"):
        kernels.gather[(4,)](torch.randn(1000), chosen, torch.zeros(1000), 1000, BLOCK=256)
    path = written_page(tmp_path / "out", tmp_path / "seen.html", "--no-replay")

    with opened_page(report_browser, path, "#/findings") as opened:
        assert "Not judged" in opened.text("main .note")
        assert "findings that the run itself observed" in opened.text("main .note")
        assert "out-of-bounds" in opened.text("main")
        opened.go("#/")
        assert "Not judged" in opened.text("main")
        assert "no violation" not in opened.text("main")
        opened.go("#/kernels")
        assert "none" not in opened.text("main table")


def test_unanalyzed_trace_shows_the_command_for_analysis(report_browser, unjudged, folder):
    with opened_page(report_browser, unjudged, "#/findings") as opened:
        assert "no access of this trace has been judged yet" in opened.text("main .note")
        assert opened.text("main .note .command") == f"kvtrace sanitize {folder / 'sound'}/"
        assert opened.page.locator("table").count() == 0
        assert accessibility_problems(opened) == []


def test_the_page_lists_what_the_terminal_prints_once(report_browser, tmp_path):
    import kvtrace
    from tests.converters.report import finding_kernels as kernels

    values, places = torch.randn(1000), torch.zeros(8, dtype=torch.int64)
    with kvtrace.capture(tmp_path / "out", tensors="none"):
        kernels.gathered[(1,)](values, places, torch.zeros(8), 8, BLOCK=8)
        kernels.gathered_twice[(1,)](values, places, torch.zeros(8), 8, BLOCK=8)
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["sanitize", str(tmp_path / "out")]) == 0
    page = written_page(tmp_path / "out", tmp_path / "page.html", "--no-replay")
    report = json.loads(blocks_of(page)["report"])
    selection = resolve(str(tmp_path / "out"))
    groups = by_cause(read_findings(selection.trace, selection.runs)).groups
    on_page = [
        {each["found"]["finding_id"] for each in report["findings"] if each["cause"] == at}
        for at in range(len(report["causes"]))
    ]
    assert on_page == [{found.finding_id for found in group} for group in groups]
    first, *others = next(ids for ids in on_page if len(ids) > 1)
    with opened_page(report_browser, page, "#/findings") as opened:
        assert opened.page.locator(LIST).count() == len(groups) < len(report["findings"])
        opened.go(f"#/findings/{first}")
        links = opened.page.locator("#also-in a").all()
        targets = {link.get_attribute("href").partition("?")[0] for link in links}
        assert targets == {f"#/findings/{other}" for other in others}


def test_violations_come_first_and_every_filter_stands_in_the_address(report_browser, page, report):
    with opened_page(report_browser, page, "#/findings") as opened:
        pills = [row.locator(".pill").inner_text() for row in opened.page.locator(LIST).all()]
        order = ["error", "warning", "note", "unknown", "suppressed"]
        assert len(pills) == len(report["causes"])
        assert pills == sorted(pills, key=order.index)

        rules = opened.page.locator("#finding-filters select").nth(0)
        rules.select_option("race")
        assert shown(opened) == {("race", "colliding")}
        assert "rule=race" in hash_of(opened)
        rules.select_option("")

        verdicts = opened.page.locator("#finding-filters select").nth(1)
        verdicts.select_option("unknown")
        assert shown(opened) == {("out-of-bounds", "gathered")}
        verdicts.select_option("suppressed")
        assert shown(opened) == {("out-of-bounds", "padded")}

        opened.go("#/findings?q=inlining+out-of-bounds")
        assert shown(opened) == {("out-of-bounds", "inlining")}
        kernel = found_in(report, "copied", access="load")["kernel"]
        opened.go(f"#/findings?kernel={kernel}")
        assert shown(opened) == {("out-of-bounds", "copied")}


def test_proven_accesses_are_counted_by_kernel_as_the_trace_has_them(report_browser, page, folder):
    selection = resolve(str(folder / "out"))
    rows = selection.trace.table("findings", selection.runs).to_pylist()
    with opened_page(report_browser, page, "#/findings?verdict=proven") as opened:
        assert "counted below" in opened.text("main .note")
        assert opened.text("main .note .command").endswith("--all")
        table = opened.page.locator("#kernel-verdicts tbody tr")
        cells = [row.inner_text().split("\t") for row in table.all()]
        for place, name in enumerate(("error", "warning", "note", "unknown", "proven"), start=1):
            expected = sum(
                (row["severity"] if row["verdict"] == "violation" else row["verdict"]) == name
                for row in rows
            )
            assert sum(int(row[place]) for row in cells) == expected, name
        assert len(cells) == 5
        links = [link.get_attribute("href") for link in table.locator("td a[href*=verdict]").all()]
        assert links
        for link in (*links, "#/findings?verdict=violation"):  # the latter of older pages
            opened.go(link)
            assert opened.page.locator(LIST).count(), link

        opened.go("#/findings?rule=race")
        races = [row for row in rows if row["rule"] == "race"]
        cells = [row.inner_text().split("\t") for row in table.all()]
        assert sum(int(row[place]) for row in cells for place in range(1, 6)) == len(races)


def test_a_finding_shows_its_place_its_witness_and_what_to_do(report_browser, page, report):
    placed = found_in(report, "copied", access="load")
    line = Path(__file__).with_name("finding_kernels.py").read_text().split("\n").index(
        "    tl.store(result + index, tl.load(source + index))  # neither has a mask"
    )  # fmt: skip
    with opened_page(report_browser, page, address_of(placed)) as opened:
        # the line is marked, and what stands at the column
        opened.page.wait_for_selector("#excerpt .finding-caret")
        marked = opened.page.locator("#excerpt .cm-line.violation")
        assert marked.get_attribute("data-line") == str(line + 1)
        assert opened.text("#excerpt .finding-caret") == "source"
        # the witness: the first lane past the end of 1,000 elements
        assert fact(opened, "Program") == "(3, 0, 0) of grid (4, 1, 1)"
        assert fact(opened, "Lane") == "(232)"
        assert fact(opened, "Byte") == "4,000†"
        assert fact(opened, "Index") == "[1000] of [1000]"
        assert fact(opened, "Past the end") == "4 B past the end of source†"
        assert opened.text("#finding-expression") == placed["found"]["expression"]
        # drawn on its storage, with a table beside
        drawing = opened.page.locator("#storage-drawing [role=img]").get_attribute("aria-label")
        assert "bytes 4,000 to 4,003 end 4 B past the end of its storage" in drawing
        spans = opened.page.locator("#storage-spans tbody tr").all()
        assert [row.inner_text().split("\t")[1:] for row in spans] == [
            ["0", "3,999", "4,000"],
            ["0", "3,999", "4,000"],
            ["4,000", "4,003", "4"],
        ]
        # what to do, how to see it again
        assert "pass mask= to the load" in opened.text("#finding-hint").lower()
        assert opened.text("#remedy .command") == "# kvtrace: ignore[out-of-bounds] reason"
        assert "--rule out-of-bounds" in opened.text("#reproduce")
        assert "KVTRACE_SANITIZE=raise" in opened.text("#reproduce")
        assert f"--finding {placed['found']['finding_id']} -o" in opened.text("#reproduce")
        assert opened.text("#finding-launch").startswith("copied[(4, 1, 1)](source=fp32[1000]")


def test_the_witness_leads_to_the_access_map(report_browser, page, report):
    placed = found_in(report, "copied", access="load")
    with opened_page(report_browser, page, address_of(placed)) as opened:
        opened.page.locator("#to-the-map").click()
        opened.page.wait_for_selector("#map-figures")
        assert hash_of(opened).startswith(f"#/call/{placed['call']}?op={placed['op']}&p=3,0,0")
        outside = opened.page.locator('#map-figures [data-figure="outside the tensor"]')
        assert outside.get_attribute("data-value") == "24"


def test_frames_of_inlined_code_can_be_walked(report_browser, page, report):
    placed = found_in(report, "inlining", verdict="violation")
    with opened_page(report_browser, page, address_of(placed)) as opened:
        frames = opened.page.locator(".finding-frames button")
        assert frames.count() == 2
        inner = opened.page.locator("#excerpt .cm-line.violation")
        assert "one too far" in inner.inner_text()
        frames.nth(1).click()
        opened.page.wait_for_function("() => location.hash.includes('frame=1')")
        assert "values = fetched(source, index, size)" in inner.inner_text()


def test_a_race_names_both_sides(report_browser, page, report):
    placed = found_in(report, "colliding", rule="race")
    with opened_page(report_browser, page, address_of(placed)) as opened:
        assert fact(opened, "Against").startswith("program (")
        assert "against" in opened.text(".finding-frames li:nth-child(2)")
        label = opened.page.locator("#storage-drawing [role=img]").get_attribute("aria-label")
        assert "inside the tensor" in label


def test_an_unknown_finding_shows_its_reason_and_how_to_decide(report_browser, page, report):
    placed = found_in(report, "gathered", verdict="unknown")
    with opened_page(report_browser, page, address_of(placed)) as opened:
        assert "which were not recorded" in opened.text("#finding-reason")
        assert opened.text("#finding-assumption") == placed["found"]["assumption"]
        assert "KVTRACE_TENSORS=int" in opened.text("#reproduce")
        assert opened.page.locator("#excerpt .cm-line.unknown").count() == 1


def test_findings_that_a_comment_suppresses_are_shown_as_suppressed(report_browser, page, report):
    placed = found_in(report, "padded", suppressed=True)
    with opened_page(report_browser, page, address_of(placed)) as opened:
        assert opened.text("#finding-message .pill") == "suppressed"
        assert "the allocator pads" in opened.text("#remedy")
        assert opened.page.locator("#remedy .command").count() == 0


def test_keyboard_moves_through_the_filtered_list(report_browser, page):
    with opened_page(
        report_browser, page, "#/findings?rule=out-of-bounds&verdict=violation"
    ) as opened:
        rows = opened.page.locator(LIST)
        count = rows.count()
        rows.first.locator("a").click()
        opened.page.locator(".finding-steps", has_text=f"1 of {count}").wait_for()
        opened.arrive()  # a key that is pressed before the view listens is lost
        for place in range(2, count + 1):
            opened.page.keyboard.press("]")
            opened.page.locator(".finding-steps", has_text=f"{place} of {count}").wait_for()
        assert "verdict=violation" in hash_of(opened)
        opened.page.keyboard.press("[")
        opened.page.locator(".finding-steps", has_text=f"{count - 1} of {count}").wait_for()
        opened.page.keyboard.press("Escape")
        opened.page.wait_for_selector("#verdict-figures")


def test_the_search_in_the_header_finds_findings(report_browser, page, report):
    placed = found_in(report, "colliding", rule="race")
    with opened_page(report_browser, page, "#/") as opened:
        opened.page.locator("header input[type=search]").fill("race colliding")
        opened.page.locator(".finder li", has_text="race in colliding").click()
        opened.page.wait_for_selector("#finding")
        assert hash_of(opened) == address_of(placed)


def test_address_of_an_unknown_finding_shows_a_message(report_browser, page):
    with opened_page(report_browser, page, "#/findings/none") as opened:
        assert "no such finding" in opened.text("main")


@pytest.mark.parametrize("scheme", THEMES)
def test_the_view_is_accessible(report_browser, page, report, scheme):
    with opened_page(report_browser, page, "#/findings", scheme=scheme) as opened:
        assert accessibility_problems(opened) == []
        for kernel, facts in (("copied", {"access": "load"}), ("gathered", {"verdict": "unknown"})):
            opened.go(address_of(found_in(report, kernel, **facts)))
            opened.page.wait_for_selector("#excerpt .cm-line")
            assert accessibility_problems(opened) == []
