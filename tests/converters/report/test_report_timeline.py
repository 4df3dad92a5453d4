"""The page's timeline in a real browser: zoom, keys, tooltips, steps, arrows, labels, phones.

The page is of a recorded training run. What is drawn is read from the calls that draw it.
"""

import itertools
import shutil
from pathlib import Path

import pytest

from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.report.data import report_data
from kvtrace.schema.trace import open_trace
from tests.converters.browsed_report import rows_of
from tests.converters.report_page import opened_page, written_page
from tests.support.thorough import in_turn

TRACE = Path(__file__).parents[2] / "fixtures" / "h200" / "llama_steady"
#: Pixels from the canvas's top to the row of steps, and to that of a stream's executions.
STEPS, EXECUTIONS = 36, 59
#: Keeps what the timeline's last drawing drew: where its labels end, texts with their width and the
#: rectangle before them, and arrows with their color.
SPY = """
const { prototype } = CanvasRenderingContext2D;
const wrapped = (name, note) => {
  const draw = prototype[name];
  prototype[name] = function (...given) {
    if (this.canvas.id === "timeline") note(this, given);
    return draw.apply(this, given);
  };
};
let last = [0, 0];
wrapped("clearRect", () => { window.drawn = { labels: null, texts: [], arrows: [] }; });
wrapped("fillRect", (_, [x, , width]) => {
  window.drawn.labels ??= x;
  last = [x, x + width];
});
wrapped("fillText", (context, [text, x]) => {
  window.drawn.texts.push([text, x, x + context.measureText(text).width, ...last]);
});
wrapped("bezierCurveTo", ({ strokeStyle }) => { window.drawn.arrows.push(strokeStyle); });
"""


@pytest.fixture(scope="module")
def steady(tmp_path_factory):
    folder = tmp_path_factory.mktemp("steady")
    shutil.copytree(TRACE, folder / "llama_steady")
    return written_page(folder / "llama_steady", folder / "page.html", "--no-replay")


def spied(page):
    page.add_init_script(SPY)


@pytest.fixture
def opened(report_browser, steady):
    with opened_page(report_browser, steady, prepare=spied) as shown:
        shown.page.wait_for_selector("#in-view td")
        shown.page.locator("#timeline").scroll_into_view_if_needed()
        yield shown


@pytest.fixture
def few(opened):
    """The timeline with less than a hundred slices in view, in the middle of a step."""
    begin, end = in_view(opened)
    middle = begin + 0.45 * (end - begin)
    show(opened, middle - 200_000, middle + 200_000)
    return opened


def show(opened, begin, end):
    opened.go(f"#/?from={begin:.0f}&to={end:.0f}")
    opened.settle()


def in_view(opened):
    """The part of the timeline in view, in ns."""
    return opened.page.locator(".timeline").evaluate(
        "e => [Number(e.dataset.begin), Number(e.dataset.end)]"
    )


def drawn(opened, kind):
    """What the timeline's last drawing has of a kind, once it is drawn."""
    return opened.page.evaluate(
        """async (kind) => {
          for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
          return window.drawn[kind];
        }""",
        kind,
    )


def place(opened, share, y):
    """A place of the window: a share of the width that slices have, and pixels from the top."""
    box = opened.page.locator("#timeline").bounding_box()
    labels = drawn(opened, "labels")
    return box["x"] + labels + share * (box["width"] - labels), box["y"] + y


def hover(opened, share=0.5):
    """Point at the first slice, from the top, that has a tooltip, and return the text."""
    height = opened.page.locator("#timeline").bounding_box()["height"]
    for y in range(STEPS, int(height), 6):
        opened.page.mouse.move(*place(opened, share, y))
        if opened.page.locator(".tooltip").count():
            return opened.text(".tooltip")
    raise AssertionError("there is no slice")


def moment(view, share):
    return view[0] + share * (view[1] - view[0])


@pytest.mark.parametrize(("share", "turned"), [(0.1, -120), (0.7, -3), (0.7, 60)])
def test_wheel_and_pinch_zoom_about_the_pointer(few, share, turned):
    """Given Ctrl and a wheel, or a pinch on a touchpad, the moment at the pointer stays there."""
    before = in_view(few)
    few.page.mouse.move(*place(few, share, 100))
    few.page.keyboard.down("Control")
    few.page.mouse.wheel(0, turned)
    few.page.keyboard.up("Control")
    few.settle()
    after = in_view(few)
    width = before[1] - before[0]
    assert (after[1] - after[0] < width) == (turned < 0)
    assert after != before
    assert moment(after, share) == pytest.approx(moment(before, share), abs=width / 500)


def test_two_fingers_zoom_about_their_middle_and_move_the_timeline(few):
    before = in_view(few)
    session = few.page.context.new_cdp_session(few.page)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})

    def touch(kind, *shares):
        points = [place(few, share, 150) for share in shares]
        session.send(
            "Input.dispatchTouchEvent",
            {
                "type": kind,
                "touchPoints": [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)],
            },
        )

    touch("touchStart", 0.4, 0.6)
    for step in range(1, 6):
        touch("touchMove", 0.4 - 0.02 * step, 0.6 + 0.06 * step)
    touch("touchEnd")
    session.detach()
    few.settle()
    after = in_view(few)
    # the fingers are on the same moments: 0.4 and 0.6 of what was in view are at 0.3 and 0.9
    width = before[1] - before[0]
    assert moment(after, 0.3) == pytest.approx(moment(before, 0.4), abs=width / 100)
    assert moment(after, 0.9) == pytest.approx(moment(before, 0.6), abs=width / 100)
    assert "slice=" not in few.page.url  # it was no tap


def test_the_address_follows_a_movement_when_it_pauses(few):
    address = few.page.url
    few.page.locator("#timeline").focus()
    few.page.evaluate(
        """() => new Promise((done) => {
          const canvas = document.getElementById("timeline");
          const press = () => canvas.dispatchEvent(
            new KeyboardEvent("keydown", { key: "+", bubbles: true, cancelable: true }));
          press(); press();
          setTimeout(done, 20);
        })"""
    )
    # two keys before one drawing both count
    width = in_view(few)[1] - in_view(few)[0]
    assert width == pytest.approx(400_000 / 1.5**2, rel=0.01)
    few.page.wait_for_function("before => location.href !== before", arg=address)
    few.settle()
    begin, end = in_view(few)
    assert f"from={begin:.0f}&to={end:.0f}" in few.page.url


@pytest.mark.parametrize(
    ("key", "moves", "scales"),
    [
        ("ArrowRight", 0.1, 1),
        ("ArrowLeft", -0.1, 1),
        ("+", 0, 1 / 1.5),
        ("-", 0, 1.5),
    ],
)
def test_keys_pan_by_a_tenth_and_zoom_about_the_center(few, key, moves, scales):
    before = in_view(few)
    width = before[1] - before[0]
    few.page.locator("#timeline").focus()
    few.page.keyboard.press(key)
    few.settle()
    after = in_view(few)
    assert after[1] - after[0] == pytest.approx(width * scales, rel=1e-3)
    assert moment(after, 0.5) - moment(before, 0.5) == pytest.approx(moves * width, abs=10)


LEAVINGS = {
    "another element": lambda page: page.mouse.move(5, 5),
    "Escape": lambda page: page.keyboard.press("Escape"),
    "scroll": lambda page: page.mouse.wheel(0, 60),
    "drag": lambda page: (page.mouse.down(), page.mouse.move(700, 300), page.mouse.move(720, 300)),
    "another view": lambda page: page.keyboard.press("2"),
    "another tab": lambda page: page.evaluate("() => document.dispatchEvent("
                                              "new Event('visibilitychange', {bubbles: true}))"),
    "another window": lambda page: page.evaluate("() => window.dispatchEvent(new Event('blur'))"),
}  # fmt: skip


@pytest.mark.parametrize("how", in_turn(LEAVINGS, 3))
def test_no_tooltip_is_left_when_the_pointer_is_elsewhere(few, how):
    few.page.evaluate("() => document.activeElement.blur()")
    hover(few)
    LEAVINGS[how](few.page)
    few.page.wait_for_selector(".tooltip", state="detached")
    few.page.mouse.up()


def test_tooltip_names_what_has_come_under_a_still_pointer(few):
    few.page.locator("#timeline").focus()
    texts = set()
    few.page.mouse.move(*place(few, 0.6, EXECUTIONS))
    for _ in range(30):
        few.page.keyboard.press("ArrowRight")
        few.settle()
        tips = few.page.locator(".tooltip").all_inner_texts()
        few.page.mouse.move(5, 5)  # as if it had come there now
        few.page.mouse.move(*place(few, 0.6, EXECUTIONS))
        assert few.page.locator(".tooltip").all_inner_texts() == tips
        texts.update(tips)
    assert len(texts) > 1


def test_steps_have_a_row_with_the_durations_of_the_profile(opened):
    trace = open_trace(TRACE)
    (steps,) = read_profile(trace, trace.runs).gaps.steps
    first = (len(steps.begin) - 3) // 2
    opened.page.mouse.move(*place(opened, 0.5, STEPS))
    assert opened.text(".tooltip").startswith(f"step {steps.first + first + 1} · ")
    opened.page.get_by_role("tab", name="One by one").click()
    rows = zip(rows_of(opened, "#in-view"), rows_of(opened, "#in-view", 2), strict=True)
    assert ("step", f"step {steps.first + first}") in rows
    opened.page.mouse.click(*place(opened, 0.5, STEPS))
    opened.page.wait_for_selector("#timeline-selection h3")
    assert opened.text("#timeline-selection h3") == f"step {steps.first + first + 1}"
    opened.page.locator("#timeline").focus()
    opened.page.keyboard.press("z")
    opened.settle()
    begin, end = in_view(opened)
    assert (end - begin) / 3 == pytest.approx(steps.duration_ns[first + 1], abs=2)


def test_arrows_lead_from_all_launches_in_view_where_they_are_few(few):
    view = in_view(few)
    arrows = drawn(few, "arrows")
    assert len(arrows) == len(expected_arrows(*view))
    assert len(set(arrows)) == 1
    width = view[1] - view[0]
    show(few, view[0] - 50 * width, view[1] + 50 * width)
    assert drawn(few, "arrows") == []


def expected_arrows(begin, end):
    """Executions of launches, of which one or the other reaches into a part of the run."""
    trace = open_trace(TRACE)
    report = report_data(trace, trace.runs, "title", "trace/")
    run_of = [track.run for track in report.tracks]

    def reaching(slices):
        times = zip(slices.begin.tolist(), slices.duration.tolist(), strict=True)
        return [first < end and first + length >= begin for first, length in times]

    rows = zip(report.launches.seq, report.launches.track, reaching(report.launches), strict=True)
    launches = {(run_of[track], seq): inside for seq, track, inside in rows}
    device = report.device
    executions = enumerate(zip(device.launch, device.track, reaching(device), strict=True))
    return {
        row
        for row, (seq, track, inside) in executions
        if (run_of[track], seq) in launches and (inside or launches[run_of[track], seq])
    }


def test_a_launch_that_is_pointed_at_or_chosen_has_its_arrow(opened):
    """Given many launches in view, then only the arrow of that one is drawn."""
    begin, end = in_view(opened)
    show(opened, begin, begin + (end - begin) / 10)
    opened.page.mouse.move(5, 5)
    assert drawn(opened, "arrows") == []
    opened.page.locator("#timeline").focus()
    opened.page.keyboard.press("]")  # chooses a launch
    opened.settle()
    assert len(drawn(opened, "arrows")) == 1
    opened.page.keyboard.press("Escape")
    opened.settle()
    assert drawn(opened, "arrows") == []
    height = opened.page.locator("#timeline").bounding_box()["height"]
    shares = [number / 40 for number in range(1, 40)]
    for y, share in itertools.product(range(EXECUTIONS, int(height), 9), shares):
        opened.page.mouse.move(*place(opened, share, y))
        if drawn(opened, "arrows"):
            break
    assert len(drawn(opened, "arrows")) == 1
    opened.page.mouse.move(5, 5)
    assert drawn(opened, "arrows") == []


def test_labels_end_inside_their_slices_and_have_a_few_characters(few):
    labels = drawn(few, "labels")
    inside = [text for text in drawn(few, "texts") if text[1] >= labels and text[3] >= labels - 2]
    names = [row for row in inside if row[0] and not row[0].startswith("+")]
    cut = [row[0] for row in names if row[0].endswith("…")]
    assert cut
    assert all(len(text) >= 4 for text in cut)
    for text, left, right, begin, end in names:
        if text[0].isdigit():
            continue  # of the axis
        assert begin <= left, text
        assert right <= end, text
    few.page.mouse.move(*place(few, 0.5, STEPS))
    assert "…" not in few.text(".tooltip")


def test_nothing_of_the_timeline_is_wider_than_a_phone(report_browser, steady):
    with opened_page(report_browser, steady, fresh=True, width=390) as narrow:
        narrow.page.wait_for_selector("#in-view td")
        narrow.page.locator("#timeline").focus()
        narrow.page.keyboard.press("]")
        narrow.page.wait_for_selector("#timeline-selection .panel")
        for tab in ("Rows", "One by one", "Kernels in view"):
            narrow.page.get_by_role("tab", name=tab).click()
            narrow.settle()
            wide = narrow.page.evaluate(
                """() => [...document.querySelectorAll(".timeline, .timeline *")]
                  .filter((e) => !e.closest(".table-scroll table, pre, .canvas-box"))
                  .filter((e) => e.getBoundingClientRect().right > 390)
                  .map((e) => e.outerHTML.slice(0, 80))"""
            )
            assert wide == []


def test_rows_are_drawn_when_they_are_scrolled_into_sight(report_browser, ranks):
    """Given more rows than the timeline is tall, then only those in sight are drawn."""
    with opened_page(report_browser, ranks[1], prepare=spied) as tall:
        tall.page.wait_for_selector("#in-view td")
        box = tall.page.locator(".timeline .movable")
        box.evaluate("e => { e.style.maxBlockSize = '120px'; }")

        def scrolled_to(top):
            box.evaluate("(e, top) => { e.scrollTop = top; }", top)
            labels = drawn(tall, "labels")
            return [text for text, x, *_ in drawn(tall, "texts") if x < labels]

        first, last = scrolled_to(10), scrolled_to(10_000)
        assert first
        assert last
        assert not {*first} & {*last}


def test_boxes_of_a_flame_have_a_name_or_none(report_browser, steady):
    """Given boxes of all widths, a name is cut with an ellipsis, or left out where little fits."""
    with opened_page(report_browser, steady, "#/called") as called:
        called.page.wait_for_selector(".flame > span")
        boxes = called.page.locator(".flame > span").evaluate_all(
            """all => all.map((e) => {
              const name = e.querySelector(".flame-name");
              const shown = name !== null && getComputedStyle(name).display !== "none";
              return [e.clientWidth, shown, shown ? name.clientWidth : 0, e.title];
            })"""
        )
        assert {shown for _, shown, *_ in boxes} == {True, False}
        for width, shown, name, title in boxes:
            assert shown == (width > 38 and name > 0), title
            assert name <= width
            assert title
