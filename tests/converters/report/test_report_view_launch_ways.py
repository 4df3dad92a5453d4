"""Further ways to look at a launch: warps, sharing, shapes, values, findings; in Chromium."""

import json
from collections import Counter
from importlib.util import find_spec

import numpy as np
import pytest

from tests.converters.launch_pages import (
    call_named,
    listed_counts,
    listed_executions,
    rewritten,
)
from tests.converters.launch_view import (
    address_has,
    cell_position,
    figure,
    op_of,
    pressed,
    rows_of,
    saved,
    show,
)
from tests.converters.report_page import THEMES, accessibility_problems, opened_page

if find_spec("triton") is None:
    pytest.skip("Triton is not installed: nothing to launch", allow_module_level=True)


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
            assert f"{len(asked)} bytes requested in {len(sectors)} sectors" in told
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


def test_programs_that_share_elements_have_one_color(report_browser, pages, blocks):
    index, call = call_named(blocks, "product")
    op = op_of(call, "load", "b")
    readers = {}
    for access in call["accesses"]:
        if access["op"] == op["index"]:
            for program, _, addresses in listed_executions(access):
                for address in addresses:
                    readers.setdefault(address, set()).add(program)
    expected = Counter(tuple(sorted(programs)) for programs in readers.values())
    address = f"#/call/{index}?op={op['index']}&color=programs"
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
        "&color=value&heat=masked&scope=op&ops=all"
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


def test_matmul_is_stepped_through_its_slices_of_k(report_browser, pages, blocks):
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
        page.locator("#chosen-op label:has-text('Color by') select").select_option("value")
        address_has(opened, "color=value")
        while page.locator("#access-map canvas").screenshot() == before:
            page.wait_for_timeout(20)
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
        page.get_by_label("Grid colored by").select_option("findings")
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
def test_view_is_accessible(report_browser, pages, blocks, scheme):
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


def test_missing_accesses_and_calls_are_reported(report_browser, pages, blocks):
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
