"""On-chip memory of NKI calls in Chromium: list, memories over the ops, flows, ops with tiles."""

import numpy as np
import pytest

import kvtrace
from kvtrace.converters.on_chip import on_chip_calls
from kvtrace.schema.trace import resolve
from tests.converters.report_page import accessibility_problems, opened_page, written_page
from tests.kernels.nki.additions import add_spmd
from tests.kernels.nki.attention import attention_fused


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    out = tmp_path_factory.mktemp("onchip") / "out"
    ones = np.ones((256, 1536), np.float32)
    with kvtrace.capture(out):
        add_spmd[2, 3](ones, ones)
        attention_fused(*[np.ones((256, 64), np.float32)] * 3)
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


def test_the_list_has_each_call_with_what_was_in_use_at_most(page, calls):
    page.go("#/onchip")

    rows = page.page.locator("#onchip-calls tbody tr").all_inner_texts()
    assert [row.split(",")[0] for row in rows] == ["add_spmd", "attention_fused"]
    assert "grid 2 × 3" in rows[0]
    assert [f"{call.executed}" in row for call, row in zip(calls, rows, strict=True)] == [True] * 2
    assert accessibility_problems(page) == []


@pytest.mark.parametrize("number", [0, 1])
def test_a_memory_s_picture_has_its_peak_and_its_tiles(page, calls, number):
    page.go(f"#/onchip/{number}")
    page.page.wait_for_selector("#onchip-tiles")

    shown = {
        figure.get_attribute("data-space"): int(figure.get_attribute("data-peak"))
        for figure in page.page.locator("figure.onchip-map").all()
    }
    assert shown == {usage.space: usage.peak for usage in calls[number].usage}
    assert page.page.locator("#onchip-flows tbody tr").count() == len(calls[number].flows)
    assert page.page.locator("#onchip-engines tbody tr").count() == len(calls[number].engines)
    assert accessibility_problems(page) == []


def test_the_tile_under_the_pointer_is_named(page):
    page.go("#/onchip/1")
    canvas = page.page.locator("figure.onchip-map[data-space=sbuf] canvas")
    box = canvas.bounding_box()

    # The keys lie lowest from the first op to the last product
    canvas.hover(position={"x": box["width"] * 0.3, "y": box["height"] - 18 - 4})

    text = page.text("figure.onchip-map[data-space=sbuf] p")
    assert text.startswith("keys: 64 KiB on 64 partitions")


def test_ops_name_the_tiles_that_they_read_and_write(page):
    page.go("#/onchip/1")
    rows = page.page.locator("#onchip-ops tbody tr").all_inner_texts()

    products = [row.split("\t") for row in rows if row.startswith("nisa.nc_matmul")]
    assert [(row[2], row[3], row[4]) for row in products] == [
        ("tensor", "queries, keys", "product"),
        ("tensor", "turned, values", "total"),
    ]
    assert all("attention.py:" in row for row in rows)
