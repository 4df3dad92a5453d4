"""Ranks on the report's first screen: sentences, the heat map, and its table."""

import pytest

from kvtrace.converters.profile.device_text import ranks_sentences
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.profile.profile_model import profile_object
from kvtrace.converters.report.answer import answer_of
from kvtrace.figures.ranks import read_ranks
from tests.converters.report_page import opened_page, written_page
from tests.support.simulated_ranks import UNIT, changed, planned, simulated, write_ranks

STEPS = 12


@pytest.fixture(scope="module")
def selection(tmp_path_factory):
    """A job of three ranks: the third works longer, and the second pauses in step 4."""
    plans = changed(planned(3, STEPS), 2, range(STEPS), work=18)
    plans = changed(plans, 1, range(4, 5), pause=500)
    return write_ranks(tmp_path_factory.mktemp("ranks") / "out", simulated(plans))


def test_map_has_a_row_a_rank_and_a_column_a_step(selection):
    shown = read_ranks(selection.trace, selection.runs).late_map
    assert (shown.first, shown.steps, len(shown.late_ns)) == (0, 1, 3)
    first, second, third = shown.late_ns
    assert len(third) == STEPS
    assert second[4] > 400 * UNIT > third[4]
    assert all(late > 0 for step, late in enumerate(third) if step != 4)
    assert all(late < 0 for late in first)


def test_many_steps_share_columns_that_show_the_latest_rank(tmp_path):
    plans = changed(planned(2, 900), 1, range(700, 701), pause=300)
    selection = write_ranks(tmp_path / "out", simulated(plans))
    shown = read_ranks(selection.trace, selection.runs).late_map
    assert (shown.steps, len(shown.late_ns[0])) == (3, 300)
    assert shown.late_ns[1].index(max(shown.late_ns[1])) == 700 // 3


def test_page_has_what_the_terminal_says_and_no_busy_time_of_waiting_devices(selection):
    profile = read_profile(selection.trace, selection.runs)
    answer = answer_of(profile, (), 0)
    assert answer.ranks.sentences == tuple(ranks_sentences(profile.ranks))
    assert not any("busy" in sentence for sentence in answer.summary)
    assert sum(answer.ranks.rows[0].parts.values()) == sum(profile.ranks.ranks[0].parts.values())
    assert "late_map" not in profile_object(profile)["ranks"]


def test_heat_map_names_step_and_rank_below_the_pointer(report_browser, selection, tmp_path):
    page = written_page(selection.trace.path, tmp_path / "page.html", "--no-replay")
    with opened_page(report_browser, page) as opened:
        assert "slowest rank: 2, " in opened.text("#ranks")
        canvas = opened.page.locator(".rank-map")
        box = canvas.bounding_box()
        canvas.hover(position={"x": box["width"] * 4.5 / STEPS, "y": box["height"] / 2})
        assert canvas.get_attribute("title").startswith("rank 1, step 4: late by 4")
        opened.page.locator("#ranks").get_by_role("button", name="Show as a table").click()
        rows = opened.page.locator("#ranks tbody tr")
        assert rows.count() == 3
