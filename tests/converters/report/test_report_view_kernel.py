"""A kernel's view in Chromium: code with heat and linked lines, variants, compilation, roofline.

What is shown is compared with the page's own blocks, whose figures have tests of their own.
"""

import re
import time
from pathlib import Path

import pytest

from kvtrace.converters.profile.autotune import read_tunings
from kvtrace.figures.times import compiling_launches
from kvtrace.text import duration
from tests.converters.replayed_trace import blocks_of, json_blocks, replayed
from tests.converters.report_page import THEMES, Page, accessibility_problems, opened_page
from tests.support.browser import LONGEST_MS
from tests.support.report_trace import DEFECT_LINE, KERNELS, STAGES, build_report_trace

#: Line of a call that is inlined, and of what it is inlined from.
CALLING = 1 + KERNELS.split("\n").index("    values = leaky(values, 0.1)")
CALLED = 1 + KERNELS.split("\n").index("    return tl.where(value > 0, value, value * slope)")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Kernels that were compiled here, with findings on known lines; heat was not derived."""
    folder = tmp_path_factory.mktemp("kernel-view")
    return Page(build_report_trace(folder, stages=(*STAGES, "cubin")).path, folder)


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    """A run on an H200 with device times and an autotuner, replayed."""
    return Page(replayed("device").trace.path, tmp_path_factory.mktemp("kernel-device"))


@pytest.fixture(scope="module")
def opened_compiled(report_browser, compiled):
    """Opened once: what a test chooses stands in the address, and the next one goes elsewhere."""
    with opened_page(report_browser, compiled.path) as opened:
        yield opened


@pytest.fixture(scope="module")
def opened_device(report_browser, device):
    with opened_page(report_browser, device.path) as opened:
        yield opened


def lines_with(opened, pane, *classes):
    """Numbers of a pane's lines in view that have one of the classes."""
    selector = ", ".join(f"#{pane} .cm-line.{name}" for name in classes)
    found = opened.page.locator(selector).evaluate_all("all => all.map(e => e.dataset.line)")
    return sorted(map(int, found))


def assert_soon(read, wanted):
    """What is read becomes what is wanted: code is dressed a frame after a choice."""
    end = time.monotonic() + LONGEST_MS / 1000
    while read() != wanted and time.monotonic() < end:
        time.sleep(0.02)
    assert read() == wanted


def assert_lines(opened, pane, name, wanted):
    assert_soon(lambda: lines_with(opened, pane, name), wanted)


def heat_shares(opened, pane):
    """What stands beside a pane's lines, as shares."""
    texts = opened.page.locator(f"#{pane} .heat-cell").all_inner_texts()
    return [pytest.approx(float(text.split()[0]) / 100, rel=0.01, abs=1e-4) for text in texts]


def line(opened, pane, number):
    return opened.page.locator(f'#{pane} .cm-line[data-line="{number}"]')


def hash_of(opened):
    return opened.page.evaluate("() => location.hash")


def partners(text, number, depth=None):
    """Lines of a stage that a source line became, from the page's own data."""
    stacks = text["links"]["stacks"]
    files = text["links"]["files"]
    found = []
    for place, stack in enumerate(text["links"]["lines"], start=1):
        frames = stacks[stack] if stack >= 0 else ()
        at = [d for d, (f, n) in enumerate(frames) if n == number and "kernels_of" in files[f]]
        if at and (depth is None or (at[0] == 0) == (depth == 0)):
            found.append(place)
    return found


# --- code ---------------------------------------------------------------------------------------


def test_source_line_highlights_its_lines_in_every_stage(opened_compiled, compiled):
    ttir, llir = (compiled.stage(0, stage) for stage in ("ttir", "llir"))
    opened = opened_compiled
    opened.go("#/kernel/0/variant/0")
    line(opened, "source", DEFECT_LINE).hover()
    own = partners(ttir, DEFECT_LINE)
    assert_lines(opened, "stage", "there", own)
    assert f"{len(own)} TTIR lines" in opened.text("#link-status")
    assert "line=" not in hash_of(opened)

    line(opened, "source", DEFECT_LINE).click()
    opened.page.locator("[data-tab=llir]").click()
    opened.page.wait_for_selector("#stage .cm-line.there")
    assert f"line={DEFECT_LINE}" in hash_of(opened)
    assert "stage=llir" in hash_of(opened)
    shown = lines_with(opened, "stage", "there")
    assert shown
    assert set(shown) <= set(partners(llir, DEFECT_LINE))
    assert_lines(opened, "source", "here", [DEFECT_LINE])

    line(opened, "source", DEFECT_LINE).click()
    assert "line=" not in hash_of(opened)


def test_a_stage_s_line_leads_back_through_what_was_inlined(opened_compiled, compiled):
    ttir = compiled.stage(0, "ttir")
    inlined = partners(ttir, CALLING, depth=1)
    assert inlined
    assert inlined == partners(ttir, CALLED)
    opened = opened_compiled
    opened.go("#/kernel/0/variant/0")
    line(opened, "stage", inlined[0]).click()
    assert_lines(opened, "source", "there", [CALLED])
    assert_lines(opened, "source", "outer", [CALLING])
    assert f"ir={inlined[0]}" in hash_of(opened)

    frames = opened.page.locator("#link-status a")
    assert [text.rpartition(":")[2] for text in frames.all_inner_texts()] == [
        str(CALLED),
        str(CALLING),
    ]
    frames.last.click()
    opened.page.wait_for_function("() => location.hash.includes('line=')")
    assert_lines(opened, "source", "here", [CALLING])
    assert_lines(opened, "stage", "outer", inlined)


def test_any_stage_stands_beside_any_other_with_its_lines_linked(opened_compiled, compiled):
    opened = opened_compiled
    opened.go("#/kernel/0/variant/0?stage=sass")
    opened.page.get_by_label("On the left").select_option("ttgir")
    opened.page.wait_for_selector("#left .cm-line")
    sass, ttgir = (compiled.stage(0, stage) for stage in ("sass", "ttgir"))
    assert "//##" not in sass["text"]
    opened.page.wait_for_selector("#stage .cm-line.linked")
    instruction = partners(sass, DEFECT_LINE)[0]
    line(opened, "stage", instruction).click()
    assert_lines(opened, "left", "there", partners(ttgir, DEFECT_LINE, depth=0))
    assert f"SASS line {instruction} is from" in opened.text("#link-status")

    own = partners(ttgir, DEFECT_LINE, depth=0)[0]
    line(opened, "left", own).click()
    assert f"beside={own}" in hash_of(opened)
    assert "ir=" not in hash_of(opened)
    assert_soon(lambda: bool(lines_with(opened, "stage", "there")), True)
    assert set(lines_with(opened, "stage", "there")) <= set(partners(sass, DEFECT_LINE))
    assert f"TTGIR line {own} is from" in opened.text("#link-status")
    opened.page.get_by_label("On the left").select_option(label="source")
    opened.page.wait_for_selector("#source .cm-line")
    assert "beside=" not in hash_of(opened)


def test_each_text_is_copied_and_saved_whole(opened_compiled, compiled):
    opened = opened_compiled
    opened.go("#/kernel/0/variant/0?stage=ttir&left=sass")
    for pane, stage, title in (("#code", "ttir", "TTIR"), ("#code", "sass", "SASS")):
        part = opened.page.locator(pane)
        with opened.page.expect_download() as saved:
            part.get_by_role("button", name=f"Download {title}").click()
        assert saved.value.suggested_filename == f"kernel.{stage}"
        assert Path(saved.value.path()).read_text() == compiled.stage(0, stage)["text"]
        part.get_by_role("button", name=f"Copy {title}").click()
        part.get_by_role("button", name=f"Copy {title}").get_by_text("copied").wait_for()


def test_keyboard_moves_through_linked_lines(opened_compiled, compiled):
    opened = opened_compiled
    opened.go("#/kernel/0/variant/0")
    for pane, parameter in (("source", "line"), ("stage", "ir")):
        opened.page.locator(f"#{pane} .cm-content").focus()
        chosen = []
        for _ in range(3):
            opened.page.keyboard.press("ArrowDown")
            chosen.append(int(hash_of(opened).rpartition(f"{parameter}=")[2]))
            assert_lines(opened, pane, "here", chosen[-1:])
        opened.page.keyboard.press("ArrowUp")
        assert len(set(chosen)) == 3
        assert f"{parameter}={chosen[1]}" in hash_of(opened)
        opened.page.keyboard.press("Escape")
        assert f"{parameter}=" not in hash_of(opened)


def test_an_address_opens_the_line_the_stage_and_the_variant(report_browser, compiled):
    ptx = compiled.stage(1, "ptx")
    at = partners(ptx, DEFECT_LINE)[-1]
    address = f"#/kernel/0/variant/1?stage=ptx&ir={at}&locations=1"
    with opened_page(report_browser, compiled.path, address, fresh=True) as opened:
        opened.page.wait_for_selector("#stage .cm-line.here")
        assert_lines(opened, "stage", "here", [at])
        assert_lines(opened, "source", "there", [DEFECT_LINE])
        assert opened.page.locator("[data-tab=ptx]").get_attribute("aria-selected") == "true"
        assert opened.page.locator("#locations").is_checked()
        assert opened.text("#variants tr.chosen td") == "1"
        # The line is what one came for, so the page does not stay at its top.
        assert_soon(lambda: opened.page.evaluate("() => scrollY > 200"), True)


def test_locations_are_hidden_by_default(opened_compiled, compiled):
    opened = opened_compiled
    opened.go("#/kernel/0/variant/0")
    opened.page.wait_for_selector("#stage .cm-line")
    assert "loc(" not in opened.text("#stage .cm-content")
    assert opened.page.locator("#stage .fold").count()
    opened.page.locator("#locations").check()
    opened.page.wait_for_function("() => location.hash.includes('locations=1')")
    opened.page.wait_for_function(
        "() => document.querySelector('#stage').shadowRoot.textContent.includes('loc(')"
    )


def test_findings_are_marks_on_their_lines_and_links(opened_compiled, compiled):
    opened = opened_compiled
    opened.go("#/kernel/0/variant/0")
    opened.page.wait_for_selector("#source .cm-line")
    assert_lines(opened, "source", "violation", [DEFECT_LINE])
    links = opened.page.locator("#kernel-findings td a").evaluate_all(
        "all => all.map(e => e.getAttribute('href'))"
    )
    assert {"#/findings?q=out-of-bounds+softmax", "#/findings/oob-1"} <= set(links)
    assert any(re.fullmatch(r"#/call/\d+\?op=11&p=3%2C0%2C0", each) for each in links)
    opened.page.locator("#kernel-findings td button").first.click()
    assert_lines(opened, "source", "here", [DEFECT_LINE])


def test_heat_beside_the_source_and_the_ttir_is_that_of_the_page_s_figures(opened_device, device):
    kernel = device.kernel("added")
    variant = device.report["kernels"][kernel]["variants"][0]
    block = device.block(f"lines/{variant}")
    lines = block["files"][0]["lines"]
    stores = {number: each for number, each in lines.items() if each["bytes"]}
    assert stores
    opened = opened_device
    opened.go(f"#/kernel/{kernel}/variant/{variant}")
    known = [each["time_share"] for each in lines.values() if each["time_share"]]
    assert_soon(lambda: heat_shares(opened, "source"), known)
    (title, *_) = opened.page.locator("#source .heat-cell").evaluate_all(
        "all => all.map(e => e.title)"
    )
    assert "of the time at best" in title
    assert "Derived" in title

    opened.page.get_by_label("Heat").select_option("masked")
    assert "heat=masked" in hash_of(opened)
    masked = [e["masked_share"] for e in lines.values() if e["masked_share"] is not None]
    assert_soon(lambda: heat_shares(opened, "source"), masked)

    own = {op: each for op, each in block["ops"].items() if each["masked_share"] is not None}
    stage = opened.page.locator("#stage .heat-cell")
    assert stage.count() == len(own)
    titles = stage.evaluate_all("all => all.map(e => e.title)")
    assert sorted(each.split(":")[0] for each in titles) == sorted(e["op"] for e in own.values())

    opened.page.locator("[data-tab=ptx]").click()
    opened.page.wait_for_function("() => location.hash.includes('ptx')")
    assert "the heat of the source line" in opened.text(".tab-panel")
    opened.page.get_by_role("button", name="Lines as a table").click()
    rows = opened.page.locator("#line-table tbody tr")
    assert rows.count() == len(lines)
    assert "bank ways" in opened.text("#line-table thead")
    rows.first.locator("td").nth(1).click()
    assert "line=" in hash_of(opened)


def test_code_opens_at_its_hottest_line_by_the_measure_shown(opened_device, device):
    kernel = device.kernel("added")
    variant = device.report["kernels"][kernel]["variants"][0]
    lines = device.block(f"lines/{variant}")["files"][0]["lines"]
    opened, source = opened_device, opened_device.page.locator("#source")
    address = f"#/kernel/{kernel}/variant/{variant}?heat="
    opened.go(f"{address}none")
    source.evaluate("box => { box.style.maxBlockSize = '70px'; scrollTo(0, 0); }")
    assert lines_with(opened, "source", "hottest") == []
    for name, field in (("time", "time_share"), ("bytes", "bytes")):
        opened.go(f"{address}{name}")
        wanted = max(lines, key=lambda number: lines[number][field] or 0)
        assert_lines(opened, "source", "hottest", [int(wanted)])
        box, shown = source.bounding_box(), line(opened, "source", wanted).bounding_box()
        assert box["y"] <= shown["y"] <= box["y"] + box["height"] - shown["height"]
        assert f"Hottest: line {wanted}," in opened.text("#heat-note")
    assert not opened.page.evaluate("scrollY")


# --- what the compiler did ----------------------------------------------------------------------


def test_variants_say_what_recompiled_them(opened_device, device):
    kernel = device.kernel("scaled")
    variants = device.report["kernels"][kernel]["variants"]
    opened = opened_device
    opened.go(f"#/kernel/{kernel}")
    rows = opened.page.locator("#variants tbody tr")
    assert rows.count() == len(variants)
    for row, index in zip(rows.all_inner_texts(), variants, strict=True):
        recompiled = device.report["variants"][index]["recompiled"]
        assert device.report["variants"][index]["reason"] in row
        for change in recompiled["changes"] if recompiled else ():
            assert f"{change['what']} {change['before'] or '(none)'} → " in row
    rows.nth(4).locator("td").nth(2).click()
    opened.page.wait_for_function("() => location.hash.includes('/variant/')")
    assert hash_of(opened).startswith(f"#/kernel/{kernel}/variant/{variants[4]}")
    changed = device.report["variants"][variants[4]]
    assert f"Compiled again for {duration(changed['compile_ns'])}." in opened.text("#recompile")
    assert opened.text("#specialization .pill.warning") == "changed"


def test_stages_show_recorded_compile_times(opened_compiled, opened_device, device, compiled):
    opened = opened_device
    opened.go("#/kernel/0/variant/0")
    stages = device.report["variants"][0]["stages"]
    shares = opened.page.locator("#stages .share-fill").evaluate_all(
        "all => all.map(e => Number.parseFloat(e.style.inlineSize))"
    )
    timed = [each["duration_ns"] for each in stages if each["duration_ns"]]
    rest = device.report["variants"][0]["compile_ns"] - sum(timed)
    longest = max(*timed, rest)
    assert [share for share in shares[: len(stages)] if share] == pytest.approx(
        [100 * duration / longest for duration in timed], rel=0.001
    )
    assert opened.page.locator("#stages th[data-source='measured']").count()
    assert opened.page.locator("#stages tbody tr").count() == len(stages) + (rest > 0)
    assert "not recorded" in opened.text("#compilation .facts")

    for name, field in (("registers", "registers"), ("shared memory", "shared_bytes")):
        figure = opened.page.locator(f'#resources [data-figure="{name}"]')
        assert figure.get_attribute("data-value") == str(device.report["variants"][0][field])
        assert figure.get_attribute("data-source") == "compiler"
    occupancy = device.report["variants"][0]["occupancy"]
    figure = opened.text('#resources [data-figure="occupancy"]')
    assert f"{occupancy['warps']} of {occupancy['of']} warps" in figure
    opened = opened_compiled
    opened.go("#/kernel/0/variant/1")
    opened.page.locator("#stages tbody", has_text="module load").wait_for()
    assert "700 µs" in opened.text("#compilation .facts")
    opened.page.locator("#stages a", has_text="LLIR").click()
    opened.page.wait_for_selector("[data-tab=llir][aria-selected=true]")


def test_autotuning_table_marks_the_chosen_configuration(opened_device, device):
    kernel = device.kernel("scaled")
    tunings = device.block(f"kernel/{kernel}")["tunings"]
    opened = opened_device
    opened.go(f"#/kernel/{kernel}")
    opened.page.wait_for_selector("#tuning table")
    tables = opened.page.locator("#tuning tbody")
    assert tables.count() == len(tunings) == 2
    for place, tuning in enumerate(tunings):
        kept = tables.nth(place).locator("tr", has_text="kept").all_inner_texts()
        (winner,) = (trial for trial in tuning["trials"] if trial["kept"])
        assert len(kept) == 1
        assert kept[0].split()[:2] == list(winner["configuration"].values())


# --- calls --------------------------------------------------------------------------------------


def test_every_call_is_a_point_of_the_roofline_chart_that_links_to_it(opened_device, device):
    kernel = device.kernel("added")
    variants = set(device.report["kernels"][kernel]["variants"])
    calls = [c for c in device.report["calls"] if c["variant"] in variants]
    marks = [c for c in calls if c["roofline"] and c["roofline"]["intensity"]]
    opened = opened_device
    opened.go(f"#/kernel/{kernel}")
    assert opened.page.locator("#roofline tbody tr").count() == len(calls)
    assert opened.page.locator("#calls tbody tr").count() == len(calls)
    label = opened.page.locator("#roofline-chart svg").get_attribute("aria-label")
    measured = sum(c["roofline"]["reached"] is not None for c in marks)
    assert f"Roofline of {len(marks)} calls, {measured} of them measured" in label
    assert "4.80 TB/s" in opened.text("#roofline-part")

    assert opened.page.locator("#roofline-chart circle").count() == len(marks)
    assert opened.page.locator("#roofline-chart circle.measured").count() == measured
    chosen = marks[0]
    place = device.report["calls"].index(chosen)
    mark = opened.page.locator(f"#roofline-chart a[href='#/call/{place}'] circle")
    said = mark.locator("title").text_content()
    assert said.startswith(f"Call {chosen['call_id']}, grid ")
    assert said.endswith(f"bound by {chosen['roofline']['position']['bound']}")
    heights = opened.page.locator("#roofline-chart circle").evaluate_all(
        "all => all.map((each) => each.cy.baseVal.value)"
    )
    rates = [c["roofline"]["reached"] or c["roofline"]["attainable"] for c in marks]
    assert [rates[i] for i in sorted(range(len(rates)), key=lambda i: -heights[i])] == sorted(rates)
    mark.dispatch_event("click")
    opened.page.wait_for_function(f"() => location.hash.startsWith('#/call/{place}')")


def test_calls_are_found_by_their_arguments(report_browser, tmp_path):
    page = Page(build_report_trace(tmp_path, calls_per_kernel=9).path, tmp_path)
    with opened_page(report_browser, page.path, "#/kernel/1") as opened:
        assert opened.page.locator("#calls tbody tr").count() == 9
        opened.page.get_by_label("Filter calls").fill("fp32[7,1000]")
        assert_soon(lambda: opened.page.locator("#calls tbody tr").count(), 1)
        assert "calls=fp32" in hash_of(opened)
        assert "1 of 9 unique calls" in opened.text("#calls-part")


# --- what is not there --------------------------------------------------------------------------


def test_missing_derived_data_is_listed_with_its_command(report_browser, tmp_path):
    page = Page(build_report_trace(tmp_path, derived=False).path, tmp_path)
    with opened_page(report_browser, page.path, "#/kernel/0/variant/0") as opened:
        trace = page.report["trace"]
        notes = opened.page.locator(".note .command").all_inner_texts()
        assert f"kvtrace profile {trace} --replay" in notes
        assert f"kvtrace sanitize {trace}" in notes
        assert opened.page.locator("#source .cm-line").count()
        assert opened.text('[data-figure="bytes moved"]').startswith("–")
        opened.go("#/kernel/2")
        for part, said in (
            ("code", "Neither source nor compiled code"),
            ("resources-part", "are not known"),
            ("compilation", "No compilation"),
        ):
            assert said in opened.text(f"#{part} .note")
        opened.go("#/kernel/0/variant/2")
        assert opened.text("h1") == "Not here"
        opened.go("#/kernel/99")
        assert opened.text("h1") == "Not here"
        opened.go("#/")
        assert "run kvtrace profile --replay" in opened.text("main")
        assert f"kvtrace sanitize {trace}" in opened.text("main")


def test_figures_are_shown_without_source(report_browser, tmp_path):
    page = Page(replayed("device").trace.path, tmp_path, "--no-source")
    with opened_page(report_browser, page.path, "#/kernel/0") as opened:
        assert "--no-source" in opened.text("#code .note")
        assert opened.page.locator("#source, #stage").count() == 0
        assert opened.page.locator("#roofline tbody tr").count()
        assert opened.page.locator("#tuning tbody").count()
        assert accessibility_problems(opened) == []


@pytest.mark.parametrize("scheme", THEMES)
def test_it_is_accessible(opened_compiled, opened_device, scheme):
    opened_compiled.page.emulate_media(color_scheme=scheme)
    opened_compiled.go(f"#/kernel/0/variant/0?line={DEFECT_LINE}")
    opened_compiled.page.wait_for_selector("#stage .cm-line.there")
    assert accessibility_problems(opened_compiled) == []

    opened_device.page.emulate_media(color_scheme=scheme)
    opened_device.go("#/kernel/0/variant/2?heat=masked&stage=ttgir")
    opened_device.page.wait_for_selector("#source .heat-cell")
    assert accessibility_problems(opened_device) == []


def test_trials_are_those_of_info_autotune(device):
    selection = replayed("device")
    tunings = read_tunings(selection.trace, selection.runs)
    (block,) = json_blocks(blocks_of(selection), "kernel").values()

    assert block["measured"]
    assert [each["arguments"] for each in block["tunings"]] == [t.arguments for t in tunings]
    for shown, tuning in zip(block["tunings"], tunings, strict=True):
        ids = [
            device.report["variants"][trial["variant"]]["kernel_id"] for trial in shown["trials"]
        ]
        assert ids == [trial.kernel_id for trial in tuning.trials]
        medians = [trial["median_ns"] for trial in shown["trials"]]
        assert medians == [trial.median_ns for trial in tuning.trials]


def test_launches_that_compiled_loaded_or_tuned_have_chips(opened_device, device):
    kernel, selection = device.kernel("scaled"), replayed("device")
    launches = compiling_launches(selection.trace, selection.runs[0])["seq"].to_pylist()
    opened = opened_device
    opened.go(f"#/launches?kernel={kernel}")
    rows = opened.page.locator("#launch-table tbody tr", has=opened.page.locator(".pill"))
    numbers = [int(text.split()[0].replace(",", "")) for text in rows.all_inner_texts()]
    assert set() < set(numbers) <= set(launches)

    chips = opened.page.locator("#launch-table .pill").all_inner_texts()
    for variant in device.report["kernels"][kernel]["variants"]:
        assert f"compiled {duration(device.report['variants'][variant]['compile_ns'])}" in chips
    rows.first.locator("td").first.click()
    opened.page.locator("#selected-launch .pill").first.wait_for()
    opened.go(f"#/kernel/{kernel}")
    opened.page.locator("#calls .pill").first.wait_for()
