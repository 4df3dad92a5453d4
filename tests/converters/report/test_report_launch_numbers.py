"""A launch has one number: in SQL, the report, what Perfetto and Chrome show, and for `repro`."""

import json
import shutil
from pathlib import Path

import pytest

import kvtrace
from kvtrace.cli import main
from tests.converters.report_page import opened_page
from tests.support.browser import browser

FIXTURE = Path(__file__).parents[2] / "fixtures" / "h200" / "ranks"


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """A copy of a trace with two runs, each of which numbers its launches from 0."""
    folder = tmp_path_factory.mktemp("numbers")
    shutil.copytree(FIXTURE, folder / "ranks", ignore=shutil.ignore_patterns("part-[a-z]*"))
    return kvtrace.open(folder / "ranks")


def kernels(trace):
    """(run, number) → kernel, by SQL."""
    rows = trace.sql("SELECT run, seq, kernel FROM launched")
    return {(row["run"], row["seq"]): row["kernel"] for row in rows}


@pytest.mark.browser
def test_the_report_has_the_numbers_of_sql_and_of_the_run_that_is_named(ranks, tmp_path):
    page = tmp_path / "report.html"
    ranks.report(page, replay=False)
    known = kernels(ranks)
    other = next(seq for (_, seq), name in known.items() if name == "squared_relu_backward")

    with browser() as chromium, opened_page(chromium, page, f"#/launch/{other}@1") as opened:
        facts = opened.text(".facts")
        run = next(run for run in ranks.run_ids if run in facts)
        assert opened.text("h1") == f"Launch {other} of {known[run, other]}"
        opened.go(f"#/launch/{other}@0")
        (first,) = set(ranks.run_ids) - {run}
        assert first in opened.text(".facts")

        opened.go("#/launches")
        opened.page.locator("#launch-table tbody tr", has_text="squared").nth(1).locator(
            "td"
        ).first.click()
        number = opened.text("tr.chosen td")
        link = opened.page.locator("#selected-launch h2 a")
        assert link.inner_text() == f"Launch {number}"
        assert link.get_attribute("href") in {f"#/launch/{number}@{run}" for run in (0, 1)}

        opened.go("#/launch/99")
        assert "no such launch" in opened.text("main")


@pytest.mark.browser
def test_a_search_for_a_number_finds_it_in_each_run(ranks, tmp_path):
    page = tmp_path / "report.html"
    ranks.report(page, replay=False)

    with browser() as chromium, opened_page(chromium, page) as opened:
        opened.page.keyboard.press("Control+k")
        opened.page.keyboard.type("7")
        found = opened.page.locator("#finder-results li", has_text="Launch 7")
        found.first.wait_for()
        texts = found.all_inner_texts()
        assert len(texts) == 2
        assert all(any(run in text for text in texts) for run in ranks.run_ids)
        found.last.click()
        opened.page.locator("h1", has_text="Launch 7 of ").wait_for()
        assert opened.page.url.endswith("#/launch/7@1")


def test_slices_of_a_timeline_have_the_launch_number(ranks, tmp_path):
    ranks.convert("chrome", tmp_path / "chrome.json")
    events = json.loads((tmp_path / "chrome.json").read_text())["traceEvents"]
    drawn = [
        (event["name"], event["args"]["launch"])
        for event in events
        if event["ph"] == "X" and event.get("cat") == "launch"
    ]

    assert sorted(drawn) == sorted((name, seq) for (_, seq), name in kernels(ranks).items())


def test_repro_accepts_a_launch_number_and_asks_for_the_run(ranks, tmp_path, capsys):
    number = 3
    path, script = str(ranks.path), tmp_path / "repro.py"

    assert main(["repro", path, "--launch", str(number), "-o", str(script)]) == 2
    said = capsys.readouterr().err
    assert f"2 runs have a launch {number}: choose by --run" in said
    assert all(run in said for run in ranks.run_ids)

    for run in ranks.run_ids:  # this trace has no IR; which kernel it would be is told
        assert main(["repro", path, "--launch", str(number), "--run", run, "-o", str(script)]) == 2
        assert f"of kernel {kernels(ranks)[run, number]} " in capsys.readouterr().err
