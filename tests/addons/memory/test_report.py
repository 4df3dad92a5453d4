"""The view of a run's memory, in Chromium: bytes in use, who holds them, lives, and findings."""

from pathlib import Path

import pytest

from kvtrace.cli import main
from kvtrace.converters.report.pack import read_json
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace, resolve
from tests.addons.memory import hand_made, lives_program
from tests.converters.page_layout import screen_problems
from tests.converters.replayed_trace import blocks_of
from tests.converters.report_page import THEMES, accessibility_problems, opened_page, written_page
from tests.support.tiers import needs
from tests.support.triton_versions import INSTALLED, run_with

pytest.importorskip("triton")

PROGRAM = Path(lives_program.__file__)
LINES = {
    name: 1 + next(n for n, line in enumerate(PROGRAM.read_text().splitlines()) if name in line)
    for name in ("the memory that is read", "the memory that nobody reads", "torch.zeros")
}
READ, REST, ZEROS = (
    f"torch.{made} lives_program.py:{line}"
    for made, line in zip(
        ("empty at", "empty at", "zeros (first called at"), LINES.values(), strict=True
    )
)


@pytest.fixture(scope="module")
@needs("process")
def trace(tmp_path_factory):
    """A recorded program of which one step of four reads what nobody wrote."""
    folder = tmp_path_factory.mktemp("lives")
    run_with(
        INSTALLED, [str(PROGRAM)], folder / "cache", fresh=True,
        KVTRACE=str(folder / "out"), KVTRACE_MEMORY="on", KVTRACE_DEVICE="cpu",
    )  # fmt: skip
    rules = "default,uninitialized-read,unwritten-result"
    assert main(["sanitize", str(folder / "out"), "--rule", rules]) == 0
    return folder / "out"


@pytest.fixture(scope="module")
def path(trace):
    return written_page(trace, trace.parent / "page.html", "--no-replay")


def finding_ids(trace):
    """Ids of the violations by rule."""
    rows = plain_rows(open_trace(trace).table("findings"))
    return {row["rule"]: row["finding_id"] for row in rows if row["verdict"] == "violation"}


def rows_of(opened, table):
    """The texts of a table's rows, by cell."""
    rows = opened.page.locator(f"#{table} tbody tr").all()
    return [[cell.strip() for cell in row.inner_text().split("\t")] for row in rows]


def test_life_of_a_finding_is_that_of_the_storage_with_unwritten_bytes(trace):
    memory = read_json(blocks_of(resolve(str(trace))).blocks["memory/0"])
    ids = finding_ids(trace)
    lives = {key: life for life in memory["storages"] for key in life["findings"]}
    read, rest = lives[ids["uninitialized-read"]], lives[ids["unwritten-result"]]

    assert (read["made"], read["bytes"], read["alike"]) == (READ, 16_384, 4)
    assert [
        (use["by"], use["tensor"], use["reads"], use["writes"], use["unwritten"])
        for use in read["uses"]
    ] == [("scaled", "target", 0, 16_256, 0), ("summed", "source", 16_384, 0, 128)]
    assert (rest["made"], rest["alike"]) == (REST, 4)
    assert [(use["by"], use["writes"]) for use in rest["uses"]] == [("scaled", 4000)]


@pytest.mark.parametrize("scheme", THEMES)
def test_view_shows_the_peak_its_holders_and_the_life_of_a_chosen_storage(
    report_browser, trace, path, scheme
):
    with opened_page(report_browser, path, "#/memory", scheme=scheme, width=1440) as opened:
        assert "at least this much" in opened.text("main")
        figure = opened.page.locator("[data-figure='most in use']")
        assert figure.get_attribute("data-source") == "derived"
        peak = int(figure.get_attribute("data-value"))
        # the weights, what is added to them, and the vector
        assert peak == 2 * (1 << 18) + 16_384
        assert "528 KiB in use" in opened.text("#in-use-at")
        assert rows_of(opened, "holders")[0][1:3] == ["1", "256 KiB"]
        storages = rows_of(opened, "storages")
        assert storages[0][0:4] == ["256 KiB", f"{ZEROS})", "1", "torch.zeros, torch.add_"]
        assert storages[3][0:5] == ["16.0 KiB", READ, "4", "scaled", "summed"]
        opened.page.locator("#storages tbody tr").nth(3).click()
        opened.page.wait_for_selector("#life")
        assert "storage=3" in opened.page.evaluate("() => location.hash")
        assert [row[1] for row in rows_of(opened, "life")] == [
            "allocated", "written: 16,256 of 16,384 B", "read 128 B of it nobody wrote",
            "last used",
        ]  # fmt: skip
        assert opened.page.locator(".life-time").count() == 1
        assert accessibility_problems(opened) == []
        assert screen_problems(opened) == []


def test_choice_of_a_holder_lists_its_storages(report_browser, path):
    with opened_page(report_browser, path, "#/memory") as opened:
        opened.page.locator("#holders tbody tr", has_text="torch.zeros").click()
        opened.page.wait_for_function(
            "() => document.querySelectorAll('#storages tbody tr').length === 1"
        )
        assert "torch.zeros" in opened.text("#storages tbody")


def test_curve_is_there_as_a_table(report_browser, path):
    with opened_page(report_browser, path, "#/memory") as opened:
        opened.page.get_by_role("button", name="Show as a table (bytes in use)").click()
        rows = opened.page.locator(".with-table tbody tr:not([aria-hidden])")
        assert rows.first.inner_text().split("\t")[1] == "16.0 KiB"
        assert rows.last.inner_text().split("\t")[1] == "0 B"


def test_finding_shows_the_life_of_its_memory_with_a_link_to_it_and_back(
    report_browser, trace, path
):
    finding = finding_ids(trace)["uninitialized-read"]
    with opened_page(report_browser, path, f"#/findings/{finding}") as opened:
        assert [row[1] for row in rows_of(opened, "life")][1:3] == [
            "written: 16,256 of 16,384 B", "read 128 B of it nobody wrote",
        ]  # fmt: skip
        assert opened.page.locator("#life a", has_text="summed").count() == 1
        assert accessibility_problems(opened) == []
        opened.page.get_by_role("link", name="In the run's memory").click()
        opened.page.wait_for_selector("#storage")
        assert READ in opened.text("#storage h2")
        opened.page.get_by_role("link", name="uninitialized-read in summed").click()
        opened.page.wait_for_selector("#finding-memory")


def test_chosen_device_has_its_own_curve_and_storages(report_browser, tmp_path):
    hand_made.small_program(tmp_path / "out", frees=True)
    page = written_page(tmp_path / "out", tmp_path / "page.html", "--no-replay")
    with opened_page(report_browser, page, "#/memory?device=1") as opened:
        assert "500 B in use" in opened.text("#in-use-at")
        assert [row[0] for row in rows_of(opened, "storages")] == ["500 B"]
        assert screen_problems(opened) == []  # the last tick is at the plot's edge
        opened.go("#/memory?storage=0")
        assert rows_of(opened, "life")[-1][1:3] == ["freed", "last used by torch.mul"]


def test_view_is_absent_without_recorded_memory(report_browser, tmp_path):
    hand_made.write(
        tmp_path / "out", operators=[], calls=[[hand_made.given(4)]],
        events=[("launch", 1, 0, None)],
    )  # fmt: skip
    page = written_page(tmp_path / "out", tmp_path / "page.html", "--no-replay")
    with opened_page(report_browser, page) as opened:
        assert opened.page.locator("nav a", has_text="Memory").count() == 0
