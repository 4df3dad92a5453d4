"""Work of launches as authors state it, beside that of the IR, weighted by runs of calls."""

import pytest

from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.profile.profile_text import profile_text
from kvtrace.converters.profile.stated_work import StatedFigures
from kvtrace.converters.report.data import report_data
from tests.converters.written_trace import Kernel, Launches, Op, add_ops, write_trace
from tests.support.replacing import replace

SMALL = Launches(number=3, stated={"name": "small", "flops16": 1000.0, "flops32": 24.0})
LARGE = Launches(number=1, shape=(2000,), scalar="2000", stated={"flops": 2000.0, "bytes": 16000.0})


def work(call_id, bytes_, flops):
    load = {"elements": 1024, "masked_off": 0, "bytes": bytes_}
    load |= {"unique_bytes": bytes_, "fresh_bytes": bytes_}
    return [
        Op(call_id, 5, "load", 12, load),
        Op(call_id, 6, "elementwise", 13, {"elements": 1024, "flops": flops}),
    ]


def profile_of(folder, calls, ops):
    side = write_trace(folder, [Kernel(calls=calls)])
    add_ops(side, [op for call in ops for op in call])
    return read_profile(side.trace, side.runs), side


def test_figures_are_means_of_a_launch_over_calls_that_state_them(tmp_path):
    calls = (SMALL, LARGE, replace(SMALL, shape=(3,), scalar="3", stated=None))
    ops = (work(0, 8000, 1536), work(1, 16384, 2048), work(2, 1, 1))
    profile, side = profile_of(tmp_path / "t", calls, ops)
    (kernel,) = profile.kernels
    assert kernel.stated == StatedFigures(
        flops=(3 * 1024 + 2000) / 4, ir_flops=(3 * 1536 + 2048) / 4, bytes=16000, ir_bytes=16384
    )
    sentence = "author 1,268 FLOPs, IR 1,664; author 16,000 bytes, IR 16,384"
    assert kernel.stated.sentence == sentence
    assert f"a launch of scale: {sentence}" in " ".join(profile_text(profile, width=200))
    report = report_data(side.trace, side.runs, "title", "t/")
    assert sentence in report.kernels[0].headline


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({"bytes": 8.0}, "author 8 bytes, IR not known"),
        ({"flops": 0.0}, "author 0 FLOPs, IR not known"),
    ],
)
def test_what_was_not_replayed_is_not_known(tmp_path, stated, expected):
    profile, _ = profile_of(tmp_path / "t", (replace(SMALL, stated=stated),), ())
    assert profile.kernels[0].stated.sentence == expected


@pytest.mark.parametrize("stated", [None, {"name": "alone"}])
def test_without_figures_nothing_is_said(tmp_path, stated):
    profile, _ = profile_of(tmp_path / "t", (replace(SMALL, stated=stated),), (work(0, 1, 1),))
    assert profile.kernels[0].stated is None
    assert not any("author" in line for line in profile_text(profile))
