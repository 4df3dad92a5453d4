"""The view of what `not-invariant` judged, in Chromium: verdicts, trees, source, both ways."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kvtrace
from kvtrace.cli import main
from kvtrace.converters.report.pack import read_json
from kvtrace.schema.content import artifact_row
from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace, resolve
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.addons.invariance.contracted import broken, kept, launch
from tests.addons.invariance.planted import PLANTED
from tests.converters.page_layout import screen_problems
from tests.converters.replayed_trace import blocks_of
from tests.converters.report_page import THEMES, accessibility_problems, opened_page, written_page
from tests.support.browser import Browser, OpenPage
from tests.support.tiers import needs

PRODUCT = next(each for each in PLANTED if each.name == "product, BLOCK_K by M")


@pytest.fixture(scope="module")
@needs("process")
def trace(tmp_path_factory: pytest.TempPathFactory, free_driver: object) -> Path:
    """A product whose steps change with the batch, and contracts: one kept, and one broken."""
    out = tmp_path_factory.mktemp("invariance") / "out"
    with kvtrace.capture(out):
        for rows in PRODUCT.sizes:
            PRODUCT.launch(PRODUCT.wrong, rows)
        launch(kept, 3, 5)
        launch(broken, 3, 5)
    assert main(["sanitize", str(out), "--rule", "default,not-invariant"]) == 1
    return out


@pytest.fixture(scope="module")
def path(trace: Path) -> Path:
    return written_page(trace, trace.parent / "page.html")


def rows_of(opened: OpenPage, side: int) -> list[str]:
    """Return what the rows of a tree say, without their line."""
    return opened.page.locator(".tree").nth(side).locator(".tree-text").all_text_contents()


def test_report_shows_stored_verdicts_without_judging_again(trace: Path) -> None:
    blocks = blocks_of(resolve(str(trace))).blocks
    rows = read_json(blocks["invariance/index"])
    drawn = read_json(blocks["invariance/0"])

    assert [(row["verdict"], row["over"]) for row in rows] == [
        ("violation", "rows"), ("violation", "M"), ("proven", "M"),
    ]  # fmt: skip
    assert [row["contract"] is None for row in rows] == [True, False, False]
    assert [tree["rows"] for tree in drawn["trees"]] == [[1], [40]]
    assert [len(row["values"] or ()) for row in rows] == [2, 2, 0]


def test_report_without_source_has_no_trees(trace: Path) -> None:
    blocks = blocks_of(resolve(str(trace)), source=False).blocks
    assert not any(name.startswith("invariance/") for name in blocks)


@pytest.mark.parametrize(
    ("content", "settings"),
    [
        (b"{", None), (b"[1]", None), (b'[{"call_id": 0}]', None), (b"7", None),
        (b"[]", {"artifacts": 5}), (b"[]", {"artifacts": {"trees": [1]}}),
    ],
)  # fmt: skip
def test_damaged_trees_are_reported_in_one_sentence(
    content: bytes, settings: dict[str, Any] | None, tmp_path: Path
) -> None:
    writer = RunWriter(tmp_path / "out", new_run_id())
    writer.seal({"ending": "exit"})
    row = artifact_row("trees", content)
    table = pa.Table.from_pylist([row], TABLES["artifacts"].schema)
    open_trace(tmp_path / "out").add_derived(
        writer.run_id, "run-invariance", {"artifacts": table},
        settings or {"artifacts": {"trees": row["sha256"]}},
    )  # fmt: skip

    with pytest.raises(DamagedFile, match="run kvtrace sanitize again"):
        blocks_of(resolve(str(tmp_path / "out")))


@pytest.mark.parametrize("scheme", THEMES)
def test_trees_of_two_sizes_are_shown_side_by_side_with_differences(
    report_browser: Browser, path: Path, scheme: str
) -> None:
    with opened_page(report_browser, path, "#/invariance", scheme=scheme, width=1000) as opened:
        rows = [row.inner_text() for row in opened.page.locator("#outputs tbody tr").all()]
        assert [row.split()[0] for row in rows] == ["violation", "violation", "proven"]
        opened.page.locator("#outputs tbody tr").first.click()
        opened.page.wait_for_selector("#trees")
        assert "output=0" in opened.page.evaluate("() => location.hash")
        first, second = rows_of(opened, 0), rows_of(opened, 1)
        assert first[1] == "↻a loop of 2 trips, k0, the trees part here"
        assert second[1] == "↻a loop of 8 trips, k0, the trees part here"
        assert first[2].startswith("·first the number 0 (f32)")
        assert first[3].startswith("×each trip a product of f32 × f32 over 128 elements")
        assert second[3].startswith("×each trip a product of f32 × f32 over 32 elements")
        values = opened.text("#witness")
        assert "1 rows, row 0" in values
        assert "40 rows, row 0" in values
        assert len(set(opened.page.locator("#witness dd").all_inner_texts())) == 2
        assert accessibility_problems(opened) == []
        assert screen_problems(opened) == []


def test_selected_node_highlights_its_line_and_vice_versa(
    report_browser: Browser, path: Path
) -> None:
    with opened_page(report_browser, path, "#/invariance?output=2") as opened:
        opened.page.locator("[role=treeitem]", has_text="x[i0, k0]").click()
        assert "values = tl.load" in opened.text("#source .cm-line.there")
        opened.page.locator("[role=treeitem]", has_text="reduction by").click()
        opened.page.wait_for_selector("#source .cm-line.outer")
        assert "tl.sum(values)" in opened.text("#source .cm-line.outer")
        assert "reduction by arith.addf over 32 elements" in opened.text("#node")
        opened.page.locator("#source .cm-line", has_text="values = tl.load").click()
        opened.page.wait_for_selector(".tree .held")
        held = opened.page.locator(".tree .held").all_inner_texts()
        assert held
        assert all("x[i0, " in each or "else" in each for each in held)


def test_arrow_keys_move_through_a_tree(report_browser: Browser, path: Path) -> None:
    with opened_page(report_browser, path, "#/invariance?output=0") as opened:
        opened.page.locator(".tree").first.locator("[role=treeitem]").first.focus()
        focused = "() => document.activeElement.innerText"
        for key, said in (
            ("ArrowDown", "a loop of 2 trips"), ("ArrowRight", "the number 0"),
            ("ArrowLeft", "a loop of 2 trips"), ("End", "value 0 of the loop"), ("Home", "out["),
        ):  # fmt: skip
            opened.page.keyboard.press(key)
            assert said in opened.page.evaluate(focused)
        assert "node=" in opened.page.evaluate("() => location.hash")
        opened.page.keyboard.press("Tab")
        assert "Tree at 40 rows" in opened.page.evaluate(
            "() => document.activeElement.closest('[role=tree]').ariaLabel"
        )


def test_kernel_page_links_to_its_outputs(report_browser: Browser, path: Path) -> None:
    with opened_page(report_browser, path, "#/kernels") as opened:
        opened.page.get_by_role("link", name="broken", exact=True).first.click()
        opened.page.get_by_role("link", name="1 output: violation (derived)").click()
        opened.page.wait_for_selector("#output")
        assert "broken: y" in opened.text("#output")


def test_single_tree_can_be_shown_alone(report_browser: Browser, path: Path) -> None:
    with opened_page(report_browser, path, "#/invariance?output=0") as opened:
        opened.page.get_by_role("combobox", name="Beside it").select_option("none")
        assert opened.page.locator(".tree").count() == 1
        opened.page.get_by_role("combobox", name="Tree at").select_option(label="40 rows")
        assert "a loop of 8 trips" in rows_of(opened, 0)[1]


def test_view_is_absent_without_judged_kernels(
    report_browser: Browser, tmp_path: Path, free_driver: object
) -> None:
    with kvtrace.capture(tmp_path / "out"):
        PRODUCT.launch(PRODUCT.wrong, 3)
    page = written_page(tmp_path / "out", tmp_path / "page.html")
    with opened_page(report_browser, page) as opened:
        assert opened.page.locator("nav a", has_text="Invariance").count() == 0
