"""The view of a launch and its call, in Chromium, on kernels recorded for this."""

import io
import json
from collections import Counter
from importlib.util import find_spec

import numpy as np
import pytest

from tests.converters.launch_pages import (
    blocks_of,
    call_named,
    listed_counts,
    listed_executions,
    rewritten,
    written_pages,
)
from tests.converters.page_layout import watch_canvases
from tests.converters.report_page import THEMES, accessibility_problems, opened_page

if find_spec("triton") is None:
    pytest.skip("Triton is not installed: nothing to launch", allow_module_level=True)

#: Bytes of an element of the tensors that the kernels go to.
SIZES = {"f32": 4, "bf16": 2, "f16": 2, "i64": 8}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return written_pages(tmp_path_factory.mktemp("launch-view"))


@pytest.fixture(scope="module")
def blocks(pages):
    return blocks_of(pages.page)


def memory_ops(call):
    """Ops of a call's block whose accesses are known, with their records."""
    for op in call["ops"]:
        accesses = [access for access in call["accesses"] if access["op"] == op["index"]]
        if accesses and all(each["layout"].get("runs", ()) is not None for each in accesses):
            yield op, accesses


def op_of(call, kind, buffer):
    return next(op for op in call["ops"] if (op["kind"], op["buffer"]) == (kind, buffer))


def figure(opened, name, section="#map-figures"):
    """A figure's plain number as the page has it."""
    text = opened.page.locator(f'{section} [data-figure="{name}"]').get_attribute("data-value")
    return None if text == "" else float(text)


def show(opened, address, *choices):
    """Go to an address, and wait for the op's map to be there."""
    opened.go(address + ("?" if choices else "") + "&".join(choices))
    opened.page.wait_for_selector("#map-figures")


def cell_position(opened, row, column):
    """The middle of a cell of the access map, in its canvas."""
    across, down = (
        float(opened.page.locator("#access-map").get_attribute(f"data-{name}"))
        for name in ("across", "down")
    )
    return {"x": (column + 0.5) * across, "y": (row + 0.5) * down}


def cell_colour(opened, row, column):
    """The colour that a cell of the access map is drawn in, as CSS says it."""
    return opened.page.locator("#access-map canvas").evaluate(
        """(canvas, { x, y }) => {
            const ratio = devicePixelRatio;
            const copy = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
            copy.drawImage(canvas, -Math.floor(x * ratio), -Math.floor(y * ratio));
            const { data } = copy.getImageData(0, 0, 1, 1);
            return `rgb(${data[0]}, ${data[1]}, ${data[2]})`;
        }""",
        cell_position(opened, row, column),
    )


def rows_of(opened, table):
    return opened.page.locator(f"{table} tbody tr[data-place]").all_inner_texts()


def legend_colour(opened, name):
    return opened.page.locator(f"#access-legend [data-key={name}]").evaluate(
        "key => getComputedStyle(key).backgroundColor"
    )


def saved(opened, button):
    """What a button saves, as a NumPy array."""
    with opened.page.expect_download() as waiting:
        opened.page.locator(button).click()
    return np.load(io.BytesIO(waiting.value.path().read_bytes()))


def pressed(opened, selector, *keys):
    opened.page.locator(selector).focus()
    for key in keys:
        opened.page.keyboard.press(key)


def address_has(opened, *parts):
    """Wait until the address says all that: choices reach it a moment later."""
    opened.page.wait_for_function(
        "parts => parts.every((part) => decodeURIComponent(location.hash).includes(part))",
        arg=list(parts),
    )


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


def test_regions_of_a_huge_tensor_are_counted_exactly(report_browser, pages):
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


def test_arguments_grid_and_sources_of_figures(report_browser, pages, blocks):
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
            page.get_by_label("Grid coloured by").select_option(kind)
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


def test_the_map_says_who_accesses_an_element(report_browser, pages, blocks):
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_legend_has_the_colours_of_the_map(report_browser, pages, blocks, scheme):
    index, call = call_named(blocks, "product")
    op = op_of(call, "load", "a")
    address = f"#/call/{index}?op={op['index']}&p=2,1,0&it=1"
    with opened_page(report_browser, pages.page, address, scheme=scheme) as opened:
        opened.page.wait_for_selector("#access-legend")
        opened.settle()
        scale = opened.page.locator(".launch-scale").evaluate(
            "scale => getComputedStyle(scale).backgroundImage"
        )
        # what is accessed once has the first colour of the scale
        assert scale.startswith(f"linear-gradient(to right, {cell_colour(opened, 33, 20)}")
        assert cell_colour(opened, 1, 1) == legend_colour(opened, "context")
        show(opened, f"#/call/{index}", f"op={op['index']}&p=2,1,0&it=2")
        opened.settle()
        assert cell_colour(opened, 33, 20) == legend_colour(opened, "context")
        # of every second element the others come along in their sectors
        index, call = call_named(blocks, "banded")
        show(opened, f"#/call/{index}", f"op={op_of(call, 'store', 'out')['index']}")
        opened.settle()
        assert cell_colour(opened, 0, 1) == legend_colour(opened, "wasted")
        assert cell_colour(opened, 0, 6) == legend_colour(opened, "masked")


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


def test_a_warp_s_sectors_equal_those_of_its_addresses(report_browser, pages, blocks):
    index, call = call_named(blocks, "product")
    op = op_of(call, "load", "a")
    address = f"#/call/{index}?op={op['index']}&p=2,1,0&it=1"
    with opened_page(report_browser, pages.page, address) as opened:
        for warp in (0, 3):
            rows = (32 + 2 * warp, 33 + 2 * warp)
            asked = {
                (row * 45 + column) * 4 + byte
                for row in rows
                for column in range(16, 32)
                for byte in range(4)
            }
            sectors, lines = ({byte // size for byte in asked} for size in (32, 128))
            opened.page.get_by_label("Warp of the block", exact=True).fill(str(warp))
            opened.page.keyboard.press("Tab")
            opened.page.wait_for_function(
                "lane => document.getElementById('warp').innerText.includes(`Lanes ${lane} to`)",
                arg=32 * warp,
            )
            told = opened.text("#warp p")
            assert f"{len(asked)} bytes asked for in {len(sectors)} sectors" in told
            assert f"of the {32 * len(sectors)} bytes moved" in told
            opened.page.get_by_role("button", name="Show as a table (Lines").click()
            cells = [row.split("\t") for row in rows_of(opened, "#warp-lines")]
            assert [int(row[0].replace(",", "")) for row in cells] == [
                128 * n for n in sorted(lines)
            ]
            assert sum(int(row[2]) for row in cells) == len(sectors)
            opened.page.get_by_role("button", name="Hide the table (Lines").click()


def test_all_programs_counts_and_the_table_beside_the_map(report_browser, pages, blocks):
    index, call = call_named(blocks, "product")
    op = op_of(call, "load", "a")
    with opened_page(report_browser, pages.page, f"#/call/{index}?op={op['index']}") as opened:
        assert figure(opened, "most often") == 4  # programs along y read the same rows
        opened.page.locator("#chosen-op").get_by_role(
            "button", name="Show as a table (Accesses"
        ).click()
        rows = opened.page.locator("#elements tbody tr[data-place]").first.inner_text().split("\t")
        assert rows[:4] == ["0", "(0, 0)", "0", "4"]
        assert "3,150 rows" in opened.text("#elements")


def test_programs_that_share_elements_have_one_colour(report_browser, pages, blocks):
    index, call = call_named(blocks, "product")
    op = op_of(call, "load", "b")
    readers = {}
    for access in call["accesses"]:
        if access["op"] == op["index"]:
            for program, _, addresses in listed_executions(access):
                for address in addresses:
                    readers.setdefault(address, set()).add(program)
    expected = Counter(tuple(sorted(programs)) for programs in readers.values())
    address = f"#/call/{index}?op={op['index']}&colour=programs"
    with opened_page(report_browser, pages.page, address) as opened:
        rows = [
            row.split("\t")
            for row in opened.page.locator("#subsets tbody tr[data-place]").all_inner_texts()
        ]
        assert sorted((int(row[2]), int(row[3])) for row in rows) == sorted(
            (len(programs), elements) for programs, elements in expected.items()
        )
        assert rows[0][1].startswith("(0, 0, 0) (1, 0, 0)")


def test_tensor_view_is_edited(report_browser, pages, blocks):
    index, call = call_named(blocks, "backwards")
    op = op_of(call, "load", "x")
    with opened_page(
        report_browser, pages.page, f"#/call/{index}?op={op['index']}&look=1"
    ) as opened:
        page = opened.page
        page.locator("#look-shape").fill("10 x 100")
        page.locator("#look-shape").press("Tab")
        address_has(opened, "shape=10 x 100".replace(" ", "+"))
        canvas = page.locator("#access-map canvas")

        def pointed(row, column):
            canvas.hover(position=cell_position(opened, row, column))
            page.wait_for_selector(".tooltip")
            return opened.text(".tooltip")

        canvas.scroll_into_view_if_needed()
        assert "element 312" in pointed(3, 12)
        page.locator("#transpose").click()
        address_has(opened, "axes=1,0")
        page.mouse.move(0, 0)
        assert "element 312" in pointed(12, 3)
        page.locator("#look-shape").fill("7 x 9")
        page.locator("#look-shape").press("Tab")
        page.wait_for_selector("text=7 x 9 is 63 places, and there are 1000 elements.")


def test_an_address_holds_all_that_is_chosen(report_browser, pages, blocks):
    index, call = call_named(blocks, "product")
    op = op_of(call, "load", "a")
    address = (
        f"#/call/{index}?op={op['index']}&p=2,1,0&it=1&el=1460&look=1&shape=35x90&axes=1,0"
        "&colour=value&heat=masked&scope=op&ops=all"
    )
    with opened_page(report_browser, pages.page, address, fresh=True) as opened:
        page = opened.page
        page.wait_for_selector("#element")
        values = page.locator("main input, main select").evaluate_all(
            "all => all.map((each) => each.value)"
        )
        for value in ("2", "1", "35x90", "value", "masked", "op", "all"):
            assert value in values
        assert "element 1,460" in opened.text("#element")
        assert page.locator("#all-programs").get_attribute("aria-pressed") == "false"
        # and the keys of iterations go on from there
        page.locator("h1").click()
        page.keyboard.press(".")
        address_has(opened, "it=2", "p=2,1,0")
        page.keyboard.press("a")
        page.wait_for_function("() => !/[?&](p|it)=/.test(location.hash)")


def test_an_op_that_goes_to_two_tensors(report_browser, pages, blocks, tmp_path):
    # given a load whose pointer depends on data: some programs read a, others b
    index, call = call_named(blocks, "product")
    op = op_of(call, "load", "a")
    accesses = [access for access in call["accesses"] if access["op"] == op["index"]]
    for access in accesses[:3]:
        access["arg"] = "b"
    page = rewritten(pages.page, tmp_path / "x.html", {f"call/{index}": call})
    with opened_page(report_browser, page, f"#/call/{index}?op={op['index']}") as opened:
        for name in ("a", "b"):
            opened.page.locator("#chosen-op > .toolbar select").select_option(name)
            opened.page.wait_for_selector(f"canvas[aria-label^='Accesses of {name}']")
            expected = listed_counts([each for each in accesses if each["arg"] == name])
            assert figure(opened, "accesses") == expected.total()


def test_volume_in_slices_side_by_side(report_browser, pages, blocks):
    index, call = call_named(blocks, "halved_volume")
    op = op_of(call, "load", "x")
    address = f"#/call/{index}?op={op['index']}&look=1"
    with opened_page(report_browser, pages.page, address) as opened:
        page = opened.page
        page.get_by_label("Layout").select_option("side")
        page.wait_for_selector("#side-by-side figure")
        slices = page.locator("#side-by-side figcaption").all_inner_texts()
        assert slices == ["slice 0", "slice 1", "slice 2", "slice 3, past the end"]
        page.locator("#look-editor label:has-text('Slices') select").select_option("2")
        address_has(opened, "axes=2,1,0")
        assert page.locator("#side-by-side figure").count() == 7


def test_product_is_stepped_through_its_slices_of_k(report_browser, pages, blocks):
    index, call = call_named(blocks, "product")
    (dot,) = call["dots"]
    records = {
        name: [access for access in call["accesses"] if access["op"] == dot[name.lower()]]
        for name in "ABC"
    }
    address = f"#/call/{index}?op={dot['op']}&p=1,2"
    with opened_page(report_browser, pages.page, address) as opened:
        page = opened.page
        page.wait_for_selector("#matmul [data-factor=C][data-accesses]")
        assert "transposed" in opened.text("[data-factor=B] figcaption")
        pressed(opened, "#matmul input[type=range]", "Home", "ArrowRight", "ArrowRight")
        address_has(opened, "it=2")
        for name, iteration in (("A", 2), ("B", 2), ("C", None)):
            expected = listed_counts(records[name], 1 + 5 * 2, iteration).total()
            page.wait_for_selector(f"[data-factor={name}][data-accesses='{expected}']")
        # the last slice of k has 45 - 2 * 16 columns
        assert page.locator("[data-factor=A]").get_attribute("data-accesses") == str(16 * 13)
        # and the loads lead to it
        page.locator("[data-factor=A]").get_by_role("button", name="tt.load").click()
        page.wait_for_selector("#map-figures")
        page.get_by_role("tab", name="Matrix product").click()
        address_has(opened, "tab=matmul")


def test_recorded_values_are_shown_and_saved(report_browser, pages, blocks):
    index, call = call_named(blocks, "backwards")
    op = op_of(call, "load", "x")
    address = f"#/call/{index}?op={op['index']}"
    with opened_page(report_browser, pages.page, address, fresh=True) as opened:
        page = opened.page
        cells = page.locator("#recorded-tensors tr[data-place='0']").inner_text().split("\t")
        # min, max, mean of finite ones, zeros, NaN, infinite
        mean = np.delete(np.arange(1000.0), [3, 5, 7]).mean()
        assert cells[3:9] == ["0", "999", f"{mean:.0f}", "1", "1", "2"]
        recorded = next(value for value in call["values"] if value["name"] == "x")
        page.locator("#recorded").get_by_role("button", name="Show as a table").click()
        bins = page.locator("#histogram-table tbody tr[data-place]").all_inner_texts()
        counts = recorded["histogram"]["counts"]
        assert [int(row.split("\t")[2].replace(",", "")) for row in bins][:5] == counts[:5]
        # the map by value
        before = page.locator("#access-map canvas").screenshot()
        page.locator("#chosen-op label:has-text('Colour by') select").select_option("value")
        address_has(opened, "colour=value")
        page.wait_for_timeout(100)
        assert page.locator("#access-map canvas").screenshot() != before
        assert "0 to 999 (measured" in opened.text(".launch-legend")
        # the file is the tensor
        found = saved(opened, "#recorded-tensors tr[data-place='0'] button")
        expected = np.frombuffer(blocks[f"tensor/{recorded['artifact']}"], "<f2")
        assert found.dtype == np.float16
        np.testing.assert_array_equal(found, expected)
        # bf16, which NumPy lacks, is widened
        index, call = call_named(blocks, "halved_volume")
        opened.go(f"#/call/{index}")
        page.wait_for_selector("#recorded-tensors")
        found = saved(opened, "#recorded-tensors tr[data-place='0'] button")
        recorded = next(value for value in call["values"] if value["name"] == "x")
        bits = np.frombuffer(blocks[f"tensor/{recorded['artifact']}"], "<u2").astype("<u4") << 16
        assert found.shape == (3, 6, 7)
        np.testing.assert_array_equal(found.reshape(-1), bits.view("<f4"))


def test_a_finding_leads_to_its_witness_on_the_map(report_browser, pages, blocks):
    index, _ = call_named(blocks, "halved_volume")
    finding = json.loads(blocks["report"])["findings"][0]["found"]
    with opened_page(report_browser, pages.page, f"#/call/{index}") as opened:
        page = opened.page
        assert "out-of-bounds" in opened.text("#call-findings")
        page.get_by_role("button", name="Show on the map").click()
        element = finding["address_offset"] // 2
        address_has(opened, "p=3,0,0", f"el={element}")
        assert finding["message"][:40] in opened.text("#element")
        assert "outside of x" in opened.text("#element")
        assert figure(opened, "outside the tensor") == 42
        page.get_by_label("Grid coloured by").select_option("findings")
        page.locator("#programs").get_by_role("button", name="Show as a table").click()
        assert page.locator("#program-table tr[data-place='3']").inner_text().split("\t")[3] == "1"


def test_both_sides_of_a_race_are_shown(report_browser, pages, blocks, tmp_path):
    # given the finding made a race of two programs at two ops, seen in two calls
    report = json.loads(blocks["report"])
    index, call = call_named(blocks, "halved_volume")
    other, _ = call_named(blocks, "product")
    store = op_of(call, "store", "out")
    (placed,) = report["findings"]
    placed |= {"other_op": store["index"], "in_calls": [index, other]}
    placed["found"]["other_program"] = [1, 0, 0]
    page = rewritten(pages.page, tmp_path / "x.html", {"report": report})
    with opened_page(report_browser, page, f"#/call/{index}") as opened:
        opened.page.get_by_role("button", name="The other program").click()
        address_has(opened, f"op={store['index']}", "p=1,0,0")
        # then the call that has it too leads to the one with the witness
        opened.go(f"#/call/{other}")
        opened.page.wait_for_selector("#call-findings a[href^='#/call/']")
        opened.page.locator("#call-findings a[href^='#/call/']").click()
        opened.page.wait_for_function(f"() => location.hash === '#/call/{index}'")


@pytest.mark.parametrize("scheme", THEMES)
def test_nothing_stands_in_anyones_way(report_browser, pages, blocks, scheme):
    product, call = call_named(blocks, "product")
    volume, _ = call_named(blocks, "halved_volume")
    with opened_page(
        report_browser, pages.page, f"#/call/{product}?p=1,1", scheme=scheme
    ) as opened:
        opened.page.wait_for_selector("#map-figures")
        closed = opened.page.get_by_role("button", name="Show as a table (Accesses")
        while closed.count():
            closed.first.click()
        assert accessibility_problems(opened) == []
        # no other view's style hides a part of it
        assert opened.page.locator("#chosen-op").evaluate(
            "panel => panel.scrollHeight <= panel.clientHeight"
        )
        opened.go(f"#/call/{product}?op={call['dots'][0]['op']}")
        opened.page.wait_for_selector("#matmul")
        assert accessibility_problems(opened) == []
        show(opened, f"#/call/{volume}", "look=1", "lay=side", "el=3")
        assert accessibility_problems(opened) == []


def test_what_is_not_there_is_said(report_browser, pages, blocks):
    index, call = call_named(blocks, "gathered")
    op = op_of(call, "load", "x")
    with opened_page(report_browser, pages.page, f"#/call/{index}?op={op['index']}") as opened:
        opened.page.wait_for_selector("#op-figures")
        assert "1,000 of its 1,000 accesses are too irregular to be kept" in opened.text(
            "#chosen-op"
        )
        opened.go("#/call/999")
        assert "no such call" in opened.text("main")
        opened.go("#/launch/x")
        assert "no such launch" in opened.text("main")
