"""On-chip memory of NKI calls in Chromium: list, memories over the ops, flows, ops with tiles."""

from pathlib import Path

import numpy as np
import pytest

import kvtrace
from kvtrace.addons.neuron.views.on_chip import on_chip_calls
from kvtrace.schema.trace import resolve
from tests.addons.neuron.kernels.additions import add_masked, add_spmd
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
    busiest = [row.split()[0] for row in engines if row.strip().endswith("100 %")]
    assert len(busiest) == 1
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


def loop_of(page, name, around=None):
    """The item of a loop in the view, by the variable that counts and that of the loop around."""
    items = page.page.locator(f"#loops li:has(> .slider > input[data-axis={name}])")
    if around is None:
        return items.first
    return page.page.locator(
        f"#loops li:has(> .slider > input[data-axis={around}]) > ul > "
        f"li:has(> .slider > input[data-axis={name}])"
    ).first


def slider_of(item):
    return item.locator("> .slider > input[type=number]")


def executed_in(recorded, number, **trips_of):
    """Return the rows of ops executed in given trips of the loops with these variables."""
    rows = {
        name: [row for row in recorded.trace.table(table).to_pylist() if row["call_id"] == number]
        for name, table in (
            ("loops", "client_nki_loops"),
            ("iterations", "client_nki_iterations"),
            ("executions", "client_nki_executions"),
        )
    }
    names = {row["op_index"]: row["name"] for row in rows["loops"]}
    iterations = {row["iteration"]: row for row in rows["iterations"]}
    executed = []
    for row in rows["executions"]:
        trips, at = {}, row["iteration"]
        while at is not None:
            trips.setdefault(names[iterations[at]["op_index"]], iterations[at]["trip"])
            at = iterations[at]["around"]
        if all(trips.get(name) == trip for name, trip in trips_of.items()):
            executed.append(row)
    return executed


def test_loops_are_nested_as_in_the_program_each_with_a_slider_of_its_trips(page):
    page.go("#/onchip/2")
    page.page.wait_for_selector("#loops")

    def nested(item):
        inner = item.locator("> ul > li").all()
        name = item.locator("> .slider > input[type=number]").get_attribute("data-axis")
        return {f"{name} {item.get_attribute('data-trips')}": [nested(child) for child in inner]}

    (shown,) = [
        nested(child) for child in page.page.locator("#loops .loop-sliders > ul > li").all()
    ]
    product = {"j 1": [{"i 2": [{"step 2": []}]}]}
    assert shown == {
        "n 1": [
            {"k 2": [{"i 2": []}, {"m 1": [{"i 2": []}, product]}]},
            {"m 1": [{"i 2": [{"j 1": []}]}]},
        ]
    }
    assert accessibility_problems(page) == []


def test_a_slider_shows_the_ops_tiles_and_memory_of_its_trip(page, recorded, calls):
    page.go("#/onchip/2")
    inner = loop_of(page, "i", around="j")
    slider_of(inner).fill("1")
    slider_of(inner).press("Enter")
    page.page.wait_for_selector("#moment")

    executed = executed_in(recorded, 2, i=1, j=0, m=0)
    executed = [row for row in executed if row["engine"] != "dma"]
    assert number(page, "ops in these trips") == len(executed)
    ops = {row["op_index"] for row in executed}
    assert page.page.locator("#onchip-ops tbody tr").count() == len(ops)
    orders = [row["order"] for row in executed]
    live = [
        tile for tile in calls[2].tiles if any(tile.first <= order <= tile.last for order in orders)
    ]
    assert page.page.locator("#onchip-tiles tbody tr").count() == len(live) < len(calls[2].tiles)
    for space in ("sbuf", "psum"):
        most = max(
            sum(
                tile.amount
                for tile in live
                if tile.space == space and tile.first <= at <= tile.last
            )
            for at in orders
        )
        assert number(page, f"{space.upper()} then") == most
        assert page.page.locator(f"[data-space={space}] path.moment").count() == 1

    # A loop inside it narrows what is shown further; one beside it takes its place.
    step = loop_of(page, "step")
    slider_of(step).fill("0")
    slider_of(step).press("Enter")
    page.page.wait_for_function("() => location.hash.match(/trips=[^&]*%2C/)")
    assert (
        number(page, "ops in these trips") == len(executed_in(recorded, 2, i=1, j=0, step=0)) == 2
    )
    assert accessibility_problems(page) == []
    loading = loop_of(page, "i", around="k")
    slider_of(loading).fill("1")
    slider_of(loading).press("Enter")
    page.page.wait_for_selector("#moment-accesses a")
    assert number(page, "ops in these trips") == 2
    page.page.locator("#moment-accesses a").click()
    counted = page.page.locator("#chosen-op [data-figure=accesses]").first
    counted.wait_for()
    assert int(counted.get_attribute("data-value")) == 2 * 128 * 512
    page.page.go_back()
    page.page.wait_for_selector("#moment")
    page.page.locator("#loops button", has_text="All iterations").click()
    page.page.locator("#moment").wait_for(state="detached")
    assert page.page.locator("#onchip-tiles tbody tr").count() == len(calls[2].tiles)


def test_the_slider_of_programs_selects_the_ops_of_a_program(page, recorded):
    page.go("#/onchip/0")
    chosen = page.page.locator("#loops input[type=number][data-axis=program]")
    chosen.fill("4")
    chosen.press("Enter")
    page.page.wait_for_selector("#moment")
    rows = recorded.trace.table("client_nki_executions").to_pylist()
    own_rows = [row for row in rows if row["call_id"] == 0 and row["program"] == 4]
    assert number(page, "ops in these trips") == len(own_rows) > 0


def test_ops_are_listed_inside_of_their_loops(page):
    page.go("#/call/2?ops=all")
    page.page.wait_for_selector("#op-table")
    lines = [
        (int(line.get_attribute("data-depth")), line.inner_text().split(",")[0].strip())
        for line in page.page.locator("#op-table .launch-op").all()
    ]
    at = next(index for index, (_, text) in enumerate(lines) if "step" in text)
    assert lines[at] == (5, "loop step 2 trips")
    assert lines[at + 1] == (6, "nisa.nc_matmul")
    assert [depth for depth, text in lines if text.startswith("loop n ")] == [0]
    assert [text.split()[1] for depth, text in lines if text.startswith("loop") and depth == 1] == [
        "k",
        "m",
    ]


def test_the_access_map_has_a_slider_for_each_loop_around_the_op(page, recorded):
    """`b` is loaded in k and i: a trip of either is a part of the right matrix."""
    accesses = [
        row
        for row in recorded.trace.table("accesses").to_pylist()
        if row["call_id"] == 2 and row["arg"] == "right"
    ]
    op = accesses[0]["op_index"]
    page.go(f"#/call/2?op={op}")
    sliders = page.page.locator("#chosen-op .loop-sliders input[type=number]")
    sliders.first.wait_for()
    assert [slider.get_attribute("data-axis") for slider in sliders.all()] == ["n", "k", "i"]
    whole = page.page.locator("#chosen-op [data-figure=accesses]").first.get_attribute("data-value")

    sliders.nth(2).fill("1")
    sliders.nth(2).press("Enter")
    page.page.wait_for_function("() => location.hash.includes('trips=')")
    part = page.page.locator("#chosen-op [data-figure=accesses]").first.get_attribute("data-value")
    of_trip = sum(row["active"] for row in accesses if row["iteration"] == 1)
    assert (int(whole), int(part)) == (sum(row["active"] for row in accesses), of_trip)
    assert accessibility_problems(page) == []


def test_a_chosen_tile_without_values_says_how_to_record_them(page, calls):
    page.go("#/onchip/1")
    page.page.locator("#onchip-tiles tbody tr").first.click()
    page.page.wait_for_selector("#no-values")
    assert "KVTRACE_TENSORS=all" in page.text("#no-values")


@pytest.mark.parametrize("scheme", THEMES)
def test_a_chosen_tile_shows_the_values_that_it_held(report_browser, tmp_path, scheme):
    a = np.random.default_rng(5).normal(size=(200, 8)).astype(np.float32)
    a[0, 0] = np.inf
    with kvtrace.capture(tmp_path / "out", tensors="all"):
        add_masked(a, 2 * a)
        ones = np.ones((256, 1536), np.float32)
        add_spmd[2, 3](ones, ones)
    selection = resolve(str(tmp_path / "out"))
    path = written_page(selection.trace.path, tmp_path / "report.html", "--no-replay")
    calls = on_chip_calls(selection.trace, selection.runs)
    left = [tile.number for tile in calls[0].tiles if tile.name == "left"]
    with opened_page(report_browser, path, f"#/onchip/0?tile={left[0]}", scheme=scheme) as opened:
        opened.page.wait_for_selector("#onchip-values")
        first = opened.page.locator("#onchip-values tbody tr").first.inner_text().split("\t")
        assert first[:2] == ["0", "inf"]
        assert [float(cell) for cell in first[2:]] == pytest.approx(a[0, 1:], rel=1e-6)
        assert accessibility_problems(opened) == []

        opened.go(f"#/onchip/0?tile={left[1]}")
        opened.page.wait_for_selector("#onchip-values")
        opened.page.locator("#onchip-values th", has_text="Partition").click()
        shown = opened.page.locator("#onchip-values tbody tr").all_inner_texts()
        unwritten = ["\t".join([row.split("\t")[0], *["–"] * 8]) for row in shown]
        assert shown[0].startswith("127\t")
        assert shown[:5] == unwritten[:5]

        # A tile of another program than the first
        later = calls[1].tiles[-1].number
        opened.go(f"#/onchip/1?tile={later}")
        opened.page.wait_for_selector("#no-values")
        assert "not among" in opened.text("#no-values")


def test_the_view_of_an_nki_call_omits_warps_and_sectors(page):
    page.go("#/call/1")
    page.page.wait_for_selector("#op-table")
    page.page.locator("#op-table tbody tr", has_text="nl.load").first.click()
    page.page.wait_for_selector("#access-legend")

    text = page.page.locator("main").inner_text().lower()
    assert "accesses" in text
    for word in ("warp", "sector", "shared memory"):
        assert word not in text
