"""Lines of the program with most GPU time, on the page's first screen."""

from pathlib import Path

import pytest

from kvtrace.converters.profile.call_paths import TreeLeaf
from kvtrace.converters.profile.call_tree import CallFigures, CallSums
from kvtrace.converters.report.costly_lines import costly_lines
from kvtrace.converters.report.writing import without_code
from tests.converters.recorded_outputs import recorded_outputs
from tests.converters.report_page import opened_page, written_page

FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"


def library(name, line, device_ns):
    """Executions of a library's kernel from a line of the program; None: not known."""
    frames = line and [{"file": "model.py", "line": line, "function": "forward"}]
    return TreeLeaf(None, frames, library=("cuBLAS", name)), CallFigures(1, device_ns)


def test_kernels_of_a_line_are_added_up_and_unknown_lines_are_no_line():
    leaves = (library("a", 7, 30), library("b", 7, 20), library("c", 9, 40), library("d", None, 60))
    costly = costly_lines(CallSums(("device_ns",), leaves))

    assert [(line.label, line.device_ns) for line in costly.lines] == [
        ("forward model.py:7", 50),
        ("forward model.py:9", 40),
    ]
    assert (costly.known_ns, costly.device_ns) == (90, 150)


@pytest.mark.parametrize(
    "sums",
    [
        CallSums(("host_ns",), (library("a", 7, 0),)),
        CallSums(("device_ns",), (library("a", None, 9),)),
        CallSums((), ()),
    ],
)
def test_without_gpu_time_or_a_known_line_there_is_nothing_to_show(sums):
    assert costly_lines(sums) is None


def test_a_page_without_source_has_no_code_of_lines():
    report = recorded_outputs("llama").page

    assert any(line.code for line in report.costly_lines.lines)
    assert not any(line.code for line in without_code(report).costly_lines.lines)


def test_first_screen_shows_the_lines_and_how_much_is_not_known(report_browser, tmp_path):
    path = written_page(FIXTURES / "llama_ranks", tmp_path / "page.html", "--no-replay")
    with opened_page(report_browser, path) as opened:
        opened.page.set_viewport_size({"width": 1440, "height": 900})
        text = " ".join(opened.text("#costly-lines").split())
        box = opened.page.locator("#costly-lines").bounding_box()

    assert "5.11 ms 5.68 % Llama.forward llama.py:96" in text
    assert "Lines are known of 5.68 % of GPU time." in text
    assert box["y"] < 900  # below what limits a job of ranks, with its map
