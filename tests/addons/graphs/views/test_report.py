"""The view of traced NumPy graphs, in Chromium, on programs that are recorded here."""

import re

import numpy as np
import pytest

import kvtrace
from kvtrace.addons.graphs.hlo import trace
from tests.addons.graphs.hlo import programs
from tests.converters.page_layout import screen_problems
from tests.converters.report_page import THEMES, accessibility_problems, opened_page, written_page
from tests.support.packed import read_json


@trace
def layered(x, weights):
    """Unrolled while it is traced: one group for each repetition."""
    for weight in weights:
        hidden = np.maximum(x @ weight, 0)
        x = x + hidden
    return x


@pytest.fixture(scope="module")
def graph():
    """The transformer block as `specialize` gives it: what the page is compared with."""
    return trace(programs.transformer_block).specialize(*_arguments())


def _arguments():
    random = np.random.default_rng(5)
    x = random.normal(size=(4, 32)).astype(np.float32)
    cache = np.zeros((16, 32), np.float32)
    weights = programs.transformer_weights(random)
    return x, weights, cache, cache.copy(), np.array(0, np.int32)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph-view")
    with kvtrace.capture(folder / "out"):
        trace(programs.transformer_block)(*_arguments())
        layered(np.ones((2, 8), np.float32), [np.ones((8, 8), np.float32)] * 40)
    return written_page(folder / "out", folder / "report.html", "--no-replay")


def block(page, name):
    text = page.read_text(encoding="utf-8")
    match = re.search(rf'id="{name}">([^<]*)<', text)
    return None if match is None else read_json(match[1])


def figure(opened, name):
    return float(opened.page.locator(f'[data-figure="{name}"]').get_attribute("data-value"))


def rows(opened, table):
    return int(opened.page.locator(f"{table} table").get_attribute("aria-rowcount")) - 1


def test_graph_blocks_have_the_ops_and_their_derived_figures(page, graph):
    content = block(page, "graph/0")
    columns = content["graph"]
    figures = graph.figures()

    opcodes = [columns["opcodes"][place] for place in columns["opcode"]]
    assert opcodes == [op.opcode for op in graph.ops]
    assert [tuple(shape) for shape in columns["shape"]] == [op.shape for op in graph.ops]
    assert columns["live"] == [op.live_bytes for op in figures.ops]
    assert columns["totals"]["peak_op"] == figures.peak_op
    assert content["measured"] is False
    assert {names["aliases"] for names in columns["names"].values()} == {None, "keys", "values"}


def test_values_of_constants_are_left_out_with_the_source(page, tmp_path):
    bare = written_page(page.parent / "out", tmp_path / "r.html", "--no-replay", "--no-source")

    assert not any(
        name.startswith("value")
        for attributes in block(bare, "graph/0")["graph"]["attributes"].values()
        for name in attributes
    )


@pytest.mark.parametrize("scheme", THEMES)
def test_pages_of_graphs_are_accessible(report_browser, page, graph, scheme):
    with opened_page(report_browser, page, "#/graphs", scheme=scheme) as opened:
        assert rows(opened, "#graphs") == 2
        assert accessibility_problems(opened) == []
        assert screen_problems(opened) == []
        opened.go("#/graph/0?op=20")
        opened.page.wait_for_selector('#op[data-op="20"]')
        assert figure(opened, "ops") == len(graph.ops)
        assert figure(opened, "FLOPs") == graph.figures().flops
        assert accessibility_problems(opened) == []
        assert screen_problems(opened) == []


def test_an_op_can_be_searched_and_selected_and_links_to_its_line(report_browser, page, graph):
    dots = [at for at, op in enumerate(graph.ops) if op.opcode == "dot_general"]
    with opened_page(report_browser, page, "#/graph/0?q=dot_general") as opened:
        opened.page.wait_for_selector("#found")
        assert rows(opened, "#ops-table") == len(dots)
        opened.page.locator("#ops-table tbody tr").first.click()
        opened.page.wait_for_selector(f'#op[data-op="{dots[0]}"]')
        assert f"op={dots[0]}" in opened.page.url
        line = graph.rows(0)[dots[0]].stack[0][1]
        opened.page.wait_for_selector(f'#source .cm-line[data-line="{line}"].there')
        opened.page.locator("#op ol.stack button").first.click()
        opened.page.wait_for_selector(f'#source .cm-line[data-line="{line}"].here')
        on_line = [op for op in graph.rows(0) if any(frame[1] == line for frame in op.stack)]
        opened.go(f"#/graph/0?line={line}")
        opened.page.wait_for_selector("#found")
        assert rows(opened, "#ops-table") == len(on_line)


def test_zoom_and_selection_in_the_drawing_are_in_the_address(report_browser, page):
    with opened_page(report_browser, page, "#/graph/1") as opened:
        drawing = opened.page.locator("#graph-drawing [role=img]")
        # a group for each of the 40 repetitions: clicked, one is gone into
        drawing.locator("[title^='3 of 40']").click()
        opened.page.wait_for_function("() => location.hash.includes('see=')")
        assert drawing.locator("[title^='4 of 40']").count() == 0
        address = opened.page.url
        drawing.press("-")
        opened.page.wait_for_function("seen => location.href !== seen", arg=address)
        drawing.press("+")
        opened.page.wait_for_function("() => location.hash.includes('see=')")
        drawing.press("0")
        opened.page.wait_for_function("() => !location.hash.includes('see=')")
        drawing.press("]")
        opened.page.wait_for_selector('#op[data-op="0"]')
        # an op is chosen, and what it reads stands out
        opened.go("#/graph/1?see=80,90")
        drawing.locator("[title*='dot_general']").first.click()
        opened.page.wait_for_selector("#op[data-op]")
        assert drawing.locator(".chosen").count() == 1
        assert drawing.locator(".read").count() + drawing.locator(".reader").count() > 0


def test_groups_of_repetitions_are_named(report_browser, page):
    with opened_page(report_browser, page, "#/graph/1") as opened:
        titles = opened.page.locator("#graph-drawing [title]").evaluate_all(
            "all => all.map((each) => each.title)"
        )
        named = [title for title in titles if re.match(r"\d+ of 40: lines? ", title)]
        assert len(named) == 40
        assert all(re.search(r": \d+ ops?, .* \(derived\)$", title) for title in named)


def test_the_peak_of_live_memory_links_to_its_op(report_browser, page, graph):
    peak = graph.figures().peak_op
    with opened_page(report_browser, page, "#/graph/0") as opened:
        opened.page.locator("#live-op button").click()
        opened.page.wait_for_selector(f'#op[data-op="{peak}"]')
        opened.page.locator("#memory .with-table > button").click()
        assert (
            opened.page.locator("#memory .data-table tbody tr")
            .first.inner_text()
            .startswith(f"%{peak} ")
        )


def test_inputs_and_outputs_written_in_place_are_marked(report_browser, page):
    with opened_page(report_browser, page, "#/graph/0") as opened:
        listed = opened.text("#ends")
        assert "written into keys" in listed
        assert "written by the result values" in listed


def test_a_page_without_graphs_has_no_entry(report_browser, tmp_path):
    with kvtrace.capture(tmp_path / "out"):
        kvtrace.mark("nothing")
    bare = written_page(tmp_path / "out", tmp_path / "r.html", "--no-replay")
    with opened_page(report_browser, bare) as opened:
        assert opened.page.locator("nav a", has_text="Graphs").count() == 0
