"""The view of where kernels are called from, in Chromium, on programs recorded on a GPU."""

import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.converters.profile.call_paths import GROUPINGS
from kvtrace.schema.tables import TABLES
from tests.converters.report_page import THEMES, accessibility_problems, opened_page, written_page
from tests.support.packed import read_json

FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"


def page_of(tmp_path_factory, name, *settings):
    folder = tmp_path_factory.mktemp(name)
    shutil.copytree(FIXTURES / name, folder / name)
    return written_page(folder / name, folder / "report.html", *settings)


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return page_of(tmp_path_factory, "llama_graphs", "--no-replay")


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    """ReplayedSums, so that bytes are known; without a device timeline."""
    return page_of(tmp_path_factory, "train", "--replay")


def block(page, grouping):
    found = re.search(rf'id="called/{grouping}">([^<]*)<', page.read_text(encoding="utf-8"))
    return None if found is None else read_json(found[1])


def figure(opened, name):
    return float(opened.page.locator(f'[data-figure="{name}"]').get_attribute("data-value"))


def opened_tree(report_browser, page, query="", **settings):
    return opened_page(report_browser, page, f"#/called{query}", **settings)


@pytest.mark.process
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_a_block_has_the_tree_in_order(llama, train, grouping):
    for page, known in ((llama, "device_ns"), (train, "bytes")):
        held = block(page, grouping)
        assert held["parent"][0] == -1
        assert all(above < place for place, above in enumerate(held["parent"]))
        for values in filter(None, held["figures"].values()):
            leaves = set(range(len(values))) - set(held["parent"])
            assert sum(values[leaf] for leaf in leaves) == values[0]
        assert held["figures"][known] is not None
    assert block(llama, grouping)["figures"]["bytes"] is None
    assert block(train, grouping)["figures"]["device_ns"] is None


@pytest.mark.parametrize("scheme", THEMES)
@pytest.mark.parametrize("query", ["", "?by=module&measure=compile_ns&at=3"])
def test_the_view_is_accessible(report_browser, llama, scheme, query):
    with opened_tree(report_browser, llama, query, scheme=scheme) as opened:
        opened.page.wait_for_selector("#steps-table tbody tr")
        assert accessibility_problems(opened) == []


def test_call_tree_is_opened_and_navigated_by_keyboard(report_browser, llama):
    held = block(llama, "stack")
    with opened_page(report_browser, llama, "#/kernels") as opened:
        opened.page.get_by_role("link", name="Where they are called from").focus()
        opened.page.keyboard.press("Enter")
        drawing = opened.page.locator("#called-drawing [role=img]")
        drawing.focus()
        drawing.press("ArrowDown")
        assert "at=1" in opened.page.url
        drawing.press("ArrowRight")
        second = held["parent"].index(0, 2)
        opened.page.wait_for_selector(f"text={held['label'][second]} >> nth=0")
        assert f"at={second}" in opened.page.url
        assert figure(opened, "GPU time") == held["figures"]["device_ns"][second]
        drawing.press("Enter")
        assert f"see={second}" in opened.page.url
        rows = opened.page.locator("#steps-table tbody tr")
        assert rows.first.inner_text().startswith(held["label"][second])
        drawing.press("ArrowDown")
        drawing.press("0")
        assert "see=" not in opened.page.url
        drawing.press("Escape")
        assert "at=" not in opened.page.url


def test_the_address_keeps_grouping_measure_and_step(report_browser, train):
    held = block(train, "module")
    at = held["label"].index("Block")
    with opened_tree(report_browser, train, f"?by=module&measure=bytes&at={at}") as opened:
        opened.page.wait_for_selector("#step-figures")
        assert opened.page.locator("#step h2").inner_text() == "Block"
        assert figure(opened, "bytes") == held["figures"]["bytes"][at] > 0
        assert opened.page.locator(".toolbar select").nth(1).input_value() == "bytes"
        opened.page.locator(".toolbar select").first.select_option("source")
        opened.page.wait_for_selector("#called-drawing")
        assert "by=source" in opened.page.url
        assert "at=" not in opened.page.url
        assert "measure=bytes" in opened.page.url


def test_boxes_stay_in_the_chart_and_a_click_selects_the_row_of_the_table(report_browser, llama):
    with opened_tree(report_browser, llama, "?by=op") as opened:
        opened.page.wait_for_selector("#called-drawing [title]")
        outside = opened.page.locator("#called-drawing [role=img]").evaluate(
            """(drawing) => {
                const room = drawing.getBoundingClientRect();
                return [...drawing.children].filter((box) => {
                    const { left, right, bottom } = box.getBoundingClientRect();
                    const within = left > room.left - 1 && right < room.right + 1;
                    return !within || bottom > room.bottom + 1;
                }).length;
            }"""
        )
        assert outside == 0
        box = opened.page.locator('#called-drawing [title^="_unsafe_view_mul_silu:"]')
        assert "481 µs" in box.get_attribute("title")
        box.click()
        opened.page.wait_for_selector("#step-figures")
        assert opened.page.locator("#steps-table tr.chosen td").first.inner_text() == (
            "_unsafe_view_mul_silu"
        )
        assert "read from the kernel's name" in opened.page.locator("#step").inner_text()


def with_origins(trace):
    """Give the first kernel of a trace what it was generated from, as format 1.5 records it."""
    (path,) = trace.glob("kernels/*/*.parquet")
    table = pq.read_table(path, partitioning=None)
    column = TABLES["kernels"].schema.field("origins")
    module = {"op": "aten.mul", "node": "y", "module": "blocks.0.norm", "file": "/src/model.py"}
    origin = module | {"line": 33, "function": "forward", "code": "return x * self.weight"}
    values = pa.array([[origin], *([None] * (table.num_rows - 1))], column.type)
    bare = table.drop_columns([column.name]) if column.name in table.column_names else table
    pq.write_table(bare.append_column(column, values), path)


def test_lines_behind_a_kernel_are_shown_with_their_code_unless_that_is_left_out(
    report_browser, tmp_path
):
    trace = tmp_path / "llama"
    shutil.copytree(FIXTURES / "llama_graphs", trace)
    with_origins(trace)
    page = written_page(trace, tmp_path / "r.html", "--no-replay")
    held = block(page, "source")
    at = held["label"].index("model.py:33 forward")
    assert "norm" in block(page, "module")["label"]
    with opened_tree(report_browser, page, f"?by=source&at={at}") as opened:
        opened.page.wait_for_selector("#step pre")
        assert opened.page.locator("#step pre").inner_text() == "33: return x * self.weight"
        assert accessibility_problems(opened) == []
    bare = written_page(trace, tmp_path / "bare.html", "--no-replay", "--no-source")
    assert set(block(bare, "source")["note"]) == {None}
