"""On-chip memory of NKI calls in Chromium: list, memories over the ops, flows, ops with tiles."""

from pathlib import Path

import numpy as np
import pytest

import kvtrace
from kvtrace.addons.neuron.views.on_chip import on_chip_calls
from kvtrace.schema.trace import resolve
from tests.addons.neuron.kernels.additions import add_spmd
from tests.addons.neuron.kernels.attention import attention_fused
from tests.addons.neuron.kernels.broken import add_without_mask
from tests.addons.neuron.kernels.products import product_blocked
from tests.converters.page_layout import screen_problems
from tests.converters.report_page import THEMES, accessibility_problems, opened_page, written_page

NAMES = ["add_spmd", "attention_fused", "product_blocked", "add_without_mask"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    out = tmp_path_factory.mktemp("onchip") / "out"
    ones = np.ones((256, 1536), np.float32)
    with kvtrace.capture(out):
        add_spmd[2, 3](ones, ones)
        attention_fused(*[np.ones((256, 64), np.float32)] * 3)
        left, right = np.ones((512, 256), np.float32), np.ones((512, 512), np.float32)
        product_blocked(left, right, m_tiles=2, n_tiles=1, k_tiles=2)
        add_without_mask(np.ones((200, 32), np.float32))
    return resolve(str(out))


@pytest.fixture(scope="module")
def calls(recorded):
    return on_chip_calls(recorded.trace, recorded.runs)


@pytest.fixture(scope="module")
def page(report_browser, recorded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("onchip-page")
    path = written_page(recorded.trace.path, folder / "report.html", "--no-replay")
    with opened_page(report_browser, path) as opened:
        yield opened


def test_the_list_has_each_call_with_its_peaks(page, calls):
    page.go("#/onchip")

    rows = page.page.locator("#onchip-calls tbody tr").all_inner_texts()
    assert [row.split(",")[0] for row in rows] == NAMES
    assert "grid 2 × 3" in rows[0]
    assert [f"{call.executed}" in row for call, row in zip(calls, rows, strict=True)] == [True] * 4
    assert accessibility_problems(page) == []
    assert screen_problems(page) == []


@pytest.mark.parametrize("number", [0, 1])
def test_a_memory_map_has_the_peak_and_the_tiles(page, calls, number):
    page.go(f"#/onchip/{number}")
    page.page.wait_for_selector("#onchip-tiles")

    shown = {
        figure.get_attribute("data-space"): int(figure.get_attribute("data-peak"))
        for figure in page.page.locator("figure.onchip-map").all()
    }
    assert shown == {usage.space: usage.peak for usage in calls[number].usage}
    assert page.page.locator("#onchip-flows tbody tr").count() == len(calls[number].flows)
    engines = [row.inner_text() for row in page.page.locator("#onchip-engines tbody tr").all()]
    assert len(engines) == len(calls[number].engines)
    assert accessibility_problems(page) == []
    assert screen_problems(page) == []


def test_the_tile_under_the_pointer_is_named(page):
    page.go("#/onchip/1")
    page.page.locator("figure.onchip-map[data-space=sbuf] [data-tile=keys]").hover()

    text = page.text("figure.onchip-map[data-space=sbuf] p")
    assert text.startswith("keys: 64.0 KiB on 64 partitions")


def test_ops_name_the_tiles_that_they_read_and_write(page):
    page.go("#/onchip/1")
    rows = page.page.locator("#onchip-ops tbody tr").all_inner_texts()

    products = [row.split("\t") for row in rows if row.startswith("nisa.nc_matmul")]
    assert [(row[2], row[3], row[4]) for row in products] == [
        ("tensor", "queries, keys", "product"),
        ("tensor", "turned, values", "total"),
    ]
    assert all("attention.py:" in row for row in rows)


def number(page, name):
    """Return a figure's plain number from the page."""
    return float(page.page.locator(f'[data-figure="{name}"]').get_attribute("data-value"))


def test_an_op_is_linked_to_its_line_and_its_tiles_and_a_line_to_its_ops(page):
    page.go("#/onchip/2")
    page.page.locator("#onchip-ops tbody tr", has_text="nisa.nc_matmul").first.click()
    page.page.wait_for_function("() => location.hash.includes('op=')")
    line = page.page.locator("#source .cm-line.there")
    line.wait_for()
    assert "matmul" in line.inner_text()
    count = page.page.locator("#onchip-ops tbody tr").count()

    line.click()
    page.page.wait_for_function("() => location.hash.includes('line=')")
    assert 1 <= page.page.locator("#onchip-ops tbody tr").count() < count


def test_tiles_are_stepped_through_with_the_keys(page, calls):
    page.go("#/onchip/1")
    page.page.locator("figure.onchip-map[data-space=psum] svg").press("ArrowRight")
    first = min(
        (tile for tile in calls[1].tiles if tile.space == "psum"),
        key=lambda tile: (tile.first, tile.number),
    )
    page.page.wait_for_function("hash => location.hash.includes(hash)", arg=f"tile={first.number}")
    assert page.page.locator("#onchip-tiles tr.chosen").count() == 1


@pytest.mark.parametrize("scheme", THEMES)
def test_a_broken_rule_is_marked_at_its_op_and_line(report_browser, recorded, page, scheme):
    path = page.page.url.partition("#")[0].removeprefix("file://")
    with opened_page(report_browser, Path(path), "#/onchip/3", scheme=scheme) as opened:
        assert "out-of-bounds" in opened.text("#onchip-findings")
        rows = opened.page.locator("#onchip-ops tbody tr").all_inner_texts()
        assert [("out-of-bounds" in row) for row in rows] == [True, False]
        marked = opened.page.locator("#source .cm-line.violation")
        marked.wait_for()
        assert "finds: out-of-bounds" in marked.inner_text()
        assert accessibility_problems(opened) == []


def test_flows_are_listed_with_source_and_target_memory(page, calls):
    page.go("#/onchip/1")
    rows = page.page.locator("#onchip-flows tbody tr").all_inner_texts()
    ends = [tuple(row.split("\t")[:2]) for row in rows]
    assert ("device memory", "SBUF") in ends
    assert ("SBUF", "PSUM") in ends
    assert len(ends) == len(calls[1].flows)


def test_the_view_of_an_nki_call_omits_warps_and_sectors(page):
    page.go("#/call/1")
    page.page.wait_for_selector("#op-table")

    text = page.page.locator("main").inner_text().lower()
    assert "nl.load" in text
    for word in ("warp", "sector", "shared memory"):
        assert word not in text
