"""Calls are weighed by the figures that the profile has of them."""

import pytest

from kvtrace.addons.suite.choice import weighed_calls
from kvtrace.converters.profile.profile import read_profile
from kvtrace.figures.requested_part import WHOLE, RequestedPart
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import select_runs
from tests.support.tree import ROOT

LLAMA = ROOT / "tests" / "fixtures" / "h200" / "llama"


@pytest.mark.parametrize("part", [RequestedPart(), WHOLE])
def test_weights_are_the_device_times_of_the_profile(part):
    selection = select_runs(LLAMA)

    weighed = weighed_calls(selection, part)

    profile = read_profile(selection.trace, selection.runs, calls=True, part=part)
    of_kernels = {k.name: k.measured.device_ns for k in profile.kernels if k.measured.device_ns}
    sums = dict.fromkeys(of_kernels, 0)
    for call in weighed.calls:
        sums[call.kernel] += call.device_ns
    assert sums == of_kernels
    assert weighed.weighed_by == "device time"
    assert weighed.weight == sum(of_kernels.values())
    assert weighed.device_ns == profile.device_time.device_ns > weighed.weight
    assert [c.weight for c in weighed.calls] == sorted(
        (c.weight for c in weighed.calls), reverse=True
    )


def test_launches_count_without_a_device_timeline(made):
    weighed = weighed_calls(made.selection)

    assert weighed.weighed_by == "launches"
    assert weighed.device_ns is None
    assert weighed.weight == 10
    assert weighed.calls[0].kernel == "double"
    assert (weighed.calls[0].launches, weighed.calls[0].median_ns) == (2, None)


def test_a_part_without_launches_has_no_suite():
    with pytest.raises(BadSetting, match="no launch of a known kernel"):
        weighed_calls(select_runs(LLAMA), RequestedPart(since="0ns", until="1ns"))
