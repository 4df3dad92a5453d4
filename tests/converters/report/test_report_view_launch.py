"""The view of a launch and its call, in Chromium, on kernels recorded for this."""

from importlib.util import find_spec

import numpy as np
import pytest

from tests.converters.launch_pages import (
    blocks_of,
    call_named,
    listed_counts,
    listed_executions,
)
from tests.converters.launch_view import (
    SIZES,
    address_has,
    cell_color,
    cell_position,
    figure,
    legend_color,
    memory_ops,
    op_of,
    pressed,
    saved,
    show,
)
from tests.converters.page_layout import watch_canvases
from tests.converters.report_page import THEMES, opened_page

if find_spec("triton") is None:
    pytest.skip("Triton is not installed: nothing to launch", allow_module_level=True)


def test_counts_equal_an_expansion_address_by_address(report_browser, pages, blocks):
    # given every op of every kernel: boxes, runs, active lanes, steps back, loops in loops, gathers
    forms, compared = set(), 0
    with opened_page(report_browser, pages.page, "#/kernels") as opened:
        for kernel in ("product", "halved_volume", "backwards", "banded", "gathered"):
            index, call = call_named(blocks, kernel)
            for op, accesses in memory_ops(call):
                size = SIZES[op["dtype"]]
                forms |= {key for access in accesses for key in access["layout"]}
                # when the page decodes the layouts
                show(opened, f"#/call/{index}", f"op={op['index']}")
                counts = saved(opened, "#download-counts")
                # then each element is accessed as often as a plain list of addresses says
                expected = listed_counts(accesses)
                inside = {at: n for at, n in expected.items() if 0 <= at < counts.size * size}
                assert {
                    int(at) * size: int(counts[at]) for at in np.flatnonzero(counts)
                } == inside, (kernel, op["index"])
                assert figure(opened, "accesses") == expected.total()
                assert figure(opened, "outside the tensor") == expected.total() - sum(
                    inside.values()
                )
                assert figure(opened, "elements touched") == len(inside)
                compared += 1
    assert {"box", "active", "runs", "programs", "trips", "lanes"} <= forms
    assert compared >= 11


def test_one_program_and_iteration_equal_the_expansion(report_browser, pages, blocks):
    with opened_page(report_browser, pages.page, "#/kernels") as opened:
        for kernel, buffer, place, program in (
            ("product", "a", "3,1", 8),
            ("product", "b", "0,3", 15),
            ("banded", "x", "7", 7),
        ):
            index, call = call_named(blocks, kernel)
            op = op_of(call, "load", buffer)
            accesses = [each for each in call["accesses"] if each["op"] == op["index"]]
            for iteration in (0, 2):
                show(
                    opened, f"#/call/{index}", f"op={op['index']}", f"p={place}", f"it={iteration}"
                )
                counts = saved(opened, "#download-counts")
                expected = listed_counts(accesses, program, iteration)
                found = {int(at) * 4: int(counts[at]) for at in np.flatnonzero(counts)}
                assert found == dict(expected)
                assert found


def test_accesses_in_regions_of_a_huge_tensor_are_counted_exactly(report_browser, pages):
    blocks = blocks_of(pages.large)
    with opened_page(report_browser, pages.large, "#/kernels") as opened:
        index, _ = call_named(blocks, "filled")
        show(opened, f"#/call/{index}")
        assert figure(opened, "accesses") == 5000 * 4200
        assert figure(opened, "masked lanes") == 66 * 64 * 40 * 128 - 5000 * 4200
        opened.page.get_by_role("button", name="Show as a table (Accesses of out").click()
        first = opened.page.locator("#regions tbody tr[data-place='0']").inner_text().split("\t")
        # rows 0 to 312 and columns 0 to 262 are each stored to once
        assert first == ["0 – 312", "0 – 262", f"{313 * 263:,}"]
        # and a tensor with one axis, whose rows are only how it is looked at
        index, _ = call_named(blocks, "swept")
        show(opened, f"#/call/{index}")
        assert figure(opened, "accesses") == 21_000_000
        assert figure(opened, "outside the tensor") == 0
        opened.page.get_by_role("button", name="Show as a table (Accesses of out").click()
        rows = opened.page.locator("#regions tbody tr[data-place='0']").inner_text().split("\t")
        assert rows == ["0 – 160", "0 – 511", f"{161 * 512:,}"]


def test_launch_shows_arguments_grid_and_sources_of_figures(report_browser, pages, blocks):
    index, _ = call_named(blocks, "product")
    with opened_page(report_browser, pages.page, f"#/call/{index}") as opened:
        arguments = opened.text("#arguments")
        for text in ("(70, 45)", "(45, 1)", "fp32", "12.3 KiB", "BLOCK"):
            assert text in arguments
        assert "5 × 4" in opened.text("#grid")
        sources = opened.page.locator("[data-figure]").evaluate_all(
            "all => all.map((each) => each.dataset.source)"
        )
        assert len(sources) > 12
        assert set(sources) == {"measured", "derived"}
        # a launch of it has the same parts, and its own measured time
        opened.go("#/launch/0")
        opened.page.wait_for_selector("#map-figures")
        assert opened.text("h1").startswith("Launch 0 of product")
        assert opened.page.locator('.facts [data-source="measured"]').count() == 2


def test_programs_are_picked_by_slider_number_keys_and_map(report_browser, pages, blocks):
    index, call = call_named(blocks, "product")
    with opened_page(report_browser, pages.page, f"#/call/{index}") as opened:
        page = opened.page
        assert page.locator("#all-programs").get_attribute("aria-pressed") == "true"
        page.locator("[data-axis=x]").fill("2")
        page.locator("[data-axis=x]").press("Tab")
        address_has(opened, "p=2,0,0")
        pressed(opened, "input[aria-label='Program y, slider']", "ArrowRight", "ArrowRight")
        address_has(opened, "p=2,2,0")
        pressed(opened, "#grid-heat canvas", "ArrowLeft", "ArrowUp")
        address_has(opened, "p=1,1,0")
        page.locator("#grid-heat canvas").click(position={"x": 3, "y": 3})
        address_has(opened, "p=0,0,0")
        page.locator("h1").click()
        page.keyboard.press("]")
        address_has(opened, "p=1,0,0")
        # the table beside the map has each program's bytes and masked lanes
        page.locator("#programs").get_by_role("button", name="Show as a table").click()
        cells = page.locator("#program-table tr[data-place='6']").inner_text().split("\t")
        ops = {op["index"]: op for op in call["ops"]}
        moved = sum(
            len(addresses) * SIZES[ops[access["op"]]["dtype"]]
            for access in call["accesses"]
            for program, _, addresses in listed_executions(access)
            if program == 6
        )
        assert cells[0] == "(1, 1, 0)"
        assert float(cells[1].removesuffix(" KiB")) == pytest.approx(moved / 1024, abs=0.01)
        page.keyboard.press("Escape")
        page.locator("#all-programs").click()
        page.wait_for_function("() => !location.hash.includes('p=')")
        for kind in ("masked", "findings"):
            page.get_by_label("Grid colored by").select_option(kind)
            address_has(opened, f"heat={kind}")


def test_ops_stand_in_program_order_with_their_loops(report_browser, pages, blocks):
    index, call = call_named(blocks, "banded")
    with opened_page(report_browser, pages.page, f"#/call/{index}?ops=all") as opened:
        rows = opened.page.locator("#op-table tbody tr").all_inner_texts()
        numbers = [int(row.split("\t")[0]) for row in rows]
        assert numbers == sorted(numbers)
        assert len(numbers) == len(call["ops"]) + len(call["loops"])
        loops = [row for row in rows if "loop" in row]
        assert ["5 trips" in loops[0], "4 trips" in loops[1]] == [True, True]
        load = op_of(call, "load", "x")
        depths = opened.page.locator("#op-table .launch-op").evaluate_all(
            "all => all.map((each) => [each.innerText, Number(each.dataset.depth)])"
        )
        assert [depth for text, depth in depths if text.startswith("loop")] == [0, 1]
        assert ["tt.load", 2] in depths
        # choosing one shows its line of source
        opened.page.locator(f"#op-table tr:has(td:first-child:text-is('{load['index']}'))").click()
        address_has(opened, f"op={load['index']}")
        opened.page.wait_for_selector("#code-peek .cm-line.outer")
        assert "# runs" in opened.text("#code-peek .cm-line.outer")
        assert figure(opened, "bytes", "#op-figures") == load["bytes"]


def test_map_names_the_programs_that_access_an_element(report_browser, pages, blocks):
    index, call = call_named(blocks, "product")
    op = op_of(call, "load", "a")
    with opened_page(report_browser, pages.page, f"#/call/{index}?op={op['index']}") as opened:
        canvas = opened.page.locator("#access-map canvas")
        canvas.scroll_into_view_if_needed()
        cell = cell_position(opened, 33, 20)
        canvas.hover(position=cell)
        place = 33 * 45 + 20
        opened.page.wait_for_selector(".tooltip")
        tip = opened.text(".tooltip")
        values = np.frombuffer(
            blocks[f"tensor/{next(v for v in call['values'] if v['name'] == 'a')['artifact']}"],
            "<f4",
        )
        assert "a[33, 20]" in tip
        assert f"element {place:,}" in tip
        assert f"byte {place * 4:,}" in tip
        assert "4 accesses" in tip
        assert "(2, 0, 0)" in tip
        shown = float(tip.split("value ")[1].split(" ·")[0])
        assert shown == pytest.approx(float(values[place]), rel=5e-3)
        # a click pins it; the keys go on from there; its executions are listed
        canvas.click(position=cell)
        address_has(opened, f"el={place}")
        executions = {
            (program, trip)
            for access in call["accesses"]
            if access["op"] == op["index"]
            for program, trip, addresses in listed_executions(access)
            if place * 4 in addresses
        }
        rows = opened.page.locator("#element-table tbody tr").all_inner_texts()
        assert {tuple(row.split("\t")) for row in rows} == {
            (f"({program % 5}, {program // 5}, 0)", str(trip)) for program, trip in executions
        }
        pressed(opened, "#access-map canvas", "ArrowRight", "ArrowDown")
        address_has(opened, f"el={place + 46}")
        opened.page.keyboard.press("+")
        opened.page.keyboard.press("Shift+ArrowRight")
        opened.page.keyboard.press("0")
        opened.page.keyboard.press("Escape")
        opened.page.wait_for_function("() => !location.hash.includes('el=')")


@pytest.mark.parametrize("scheme", THEMES)
def test_the_legend_has_the_colors_of_the_map(report_browser, pages, blocks, scheme):
    index, call = call_named(blocks, "product")
    op = op_of(call, "load", "a")
    address = f"#/call/{index}?op={op['index']}&p=2,1,0&it=1"
    with opened_page(report_browser, pages.page, address, scheme=scheme) as opened:
        opened.page.wait_for_selector("#access-legend")
        opened.settle()
        scale = opened.page.locator(".launch-scale").evaluate(
            "scale => getComputedStyle(scale).backgroundImage"
        )
        # what is accessed once has the first color of the scale
        assert scale.startswith(f"linear-gradient(to right, {cell_color(opened, 33, 20)}")
        assert cell_color(opened, 1, 1) == legend_color(opened, "context")
        show(opened, f"#/call/{index}", f"op={op['index']}&p=2,1,0&it=2")
        opened.settle()
        assert cell_color(opened, 33, 20) == legend_color(opened, "context")
        # of every second element the others come along in their sectors
        index, call = call_named(blocks, "banded")
        show(opened, f"#/call/{index}", f"op={op_of(call, 'store', 'out')['index']}")
        opened.settle()
        assert cell_color(opened, 0, 1) == legend_color(opened, "wasted")
        assert cell_color(opened, 0, 6) == legend_color(opened, "masked")


def test_the_map_has_names_ticks_and_square_cells(report_browser, pages, blocks):
    index, call = call_named(blocks, "product")
    op = op_of(call, "load", "a")
    address = f"#/call/{index}?op={op['index']}"
    with opened_page(report_browser, pages.page, address, prepare=watch_canvases) as opened:
        opened.page.wait_for_selector(".map-ticks span")
        assert opened.text("#access-map .map-names") == "↓ dim 0 (70) → dim 1 (45)"
        ticks = opened.page.locator("#access-map .map-ticks.down span").all_inner_texts()
        assert ticks == ["0", "10", "20", "30", "40", "50", "60"]
        place = opened.page.locator("#access-map")
        assert place.get_attribute("data-across") == place.get_attribute("data-down")
        # programs that differ in y alone read the same rows
        opened.settle()
        names = "canvas => canvas.texts.map(({ text }) => text)"
        drawn = opened.page.locator("#access-map canvas").evaluate(names)
        assert drawn == [f"{x} +3" for x in range(5)]
        show(opened, f"#/call/{index}", f"op={op['index']}&shape=2x1575")
        assert "Not to scale" in opened.text("#access-map")


def test_programs_and_iterations_are_played_through(report_browser, pages, blocks):
    index, call = call_named(blocks, "product")
    op = op_of(call, "load", "a")
    with opened_page(report_browser, pages.page, f"#/call/{index}?op={op['index']}") as opened:
        play = opened.page.get_by_role("button", name="Play through iterations")
        play.click()
        address_has(opened, "it=2")
        play.wait_for()  # there is none after it
        opened.page.get_by_role("button", name="Play through programs").click()
        address_has(opened, "p=1,0,0", "it=2")
        opened.page.get_by_role("button", name="Pause through programs").click()
        opened.page.get_by_role("button", name="Play through programs").wait_for()
