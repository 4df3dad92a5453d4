"""The sentence on a kernel: what is known of it, and nothing where nothing is known."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from kvtrace.converters.profile.device_limits import Position, chosen_device
from kvtrace.converters.profile.lost_time import kernel_headlines
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.profile.profile_model import Advice, Measured
from kvtrace.converters.profile.profile_text import profile_text
from kvtrace.converters.report import report_data
from kvtrace.figures.identity import KernelKey
from kvtrace.schema.trace import open_trace
from tests.support.replacing import replace

FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"
KEY = KernelKey("m", "k")
H200 = chosen_device("H200", (), ())


def kernel(device_us=None, host_us=None, roofline=None, runs=10, sector_efficiency=1.0):
    device_ns, host_ns = (None if us is None else 1_000.0 * us for us in (device_us, host_us))
    measured = Measured(None, host_ns, 0, None, None, device_ns, 10)
    derived = SimpleNamespace(sector_efficiency=sector_efficiency)
    return SimpleNamespace(
        stated=None,
        key=KEY,
        measured=measured,
        roofline=roofline,
        runs=runs,
        launches=10,
        derived=derived,
    )


def position(achieved, bound="memory", uncached_ns=500.0):
    return Position(400.0, uncached_ns, 100.0, 400.0, bound, achieved)


def headline(of, *, advice=(), device=H200):
    return kernel_headlines([of], {}, advice, (), device)[KEY]


def advice_on(rule, text, key=KEY):
    return Advice(rule, key.name, "/a/k.py", 7, text, (), 1.0, key.module, key.source)


def test_a_short_kernel_takes_longer_to_launch_than_to_run():
    assert headline(kernel(2, 20)) == (
        "takes longer to launch than to run (20.0 µs on the host, 2 µs on the GPU; medians); "
        "fuse it with its neighbors, or launch it in a CUDA graph"
    )
    assert headline(kernel(2, 20, runs=500)) is None  # it is replayed, not launched
    assert headline(kernel(20, 30)) is None


@pytest.mark.parametrize("bound", ["memory", "caches", "compute"])
def test_a_kernel_near_its_roofline_is_bound_by_what_bounds_that(bound):
    sentence = headline(kernel(20, 10, position(0.8, bound)))
    assert sentence.startswith(f"bound by {bound}: 80.0 % of its roofline (derived); ")


def test_latency_is_named_only_if_no_traffic_can_explain_the_time():
    far = "20.0 % of its roofline (derived)"
    assert headline(kernel(20, 10, position(0.2))).startswith(f"bound by latency: {far}; ")
    # All that is requested would take the whole time without caches, or it is not known how much.
    assert headline(kernel(20, 10, position(0.2, uncached_ns=2_000.0))) == far
    assert headline(kernel(20, 10, position(0.2), sector_efficiency=0.25)) == far
    assert headline(kernel(20, 10, position(0.2, uncached_ns=None))) == far
    assert headline(kernel(20, 10, position(0.2), sector_efficiency=None)) == far


def test_nothing_is_said_of_a_kernel_of_which_nothing_is_known():
    assert headline(kernel()) is None
    assert headline(kernel(), advice=[advice_on("spills", "…", KernelKey("", "k", "ab"))]) is None


def test_the_first_advice_on_the_kernel_is_what_to_try():
    advice = [
        advice_on("recompiles", "of another", KernelKey("m", "other")),
        advice_on("uncoalesced", "let neighboring lanes touch neighboring elements"),
        advice_on("spills", "use a smaller tile"),
    ]
    assert headline(kernel(20, 10, position(0.2)), advice=advice).endswith(
        "(derived); uncoalesced at k.py:7: let neighboring lanes touch neighboring elements"
    )
    far = [advice_on("far-from-roofline", "it reaches 20.0 % of its roofline: look at its lines")]
    assert headline(kernel(20, 10, position(0.2)), advice=far).endswith("; look at its lines")


def test_limits_that_are_assumed_are_named():
    assumed = replace(H200, how="assumed")
    assert headline(kernel(None, None, position(None)), device=assumed) == (
        "bound by memory (derived, for an assumed H200 SXM)"
    )


@pytest.mark.costly("all outputs of a model's run; the sentences stay by day")
def test_profile_and_page_have_the_same_sentences():
    trace = open_trace(FIXTURES / "llama_liger_cached")
    profile = read_profile(trace, trace.runs, calls=True)
    report = report_data(trace, trace.runs, "t", "t")
    headlines = {kernel.key: kernel.headline for kernel in profile.kernels}

    assert dict(zip(report.kernel_keys, (k.headline for k in report.kernels), strict=True)) == (
        headlines
    )
    row = next(row for row in profile.device_time.rows if row.name == "_rms_norm_backward_kernel_1")
    sentence = headlines[row.key]
    assert sentence.startswith(f"{100 * row.share:.1f} % of GPU time; bound by latency: ")
    assert sentence in " ".join(" ".join(profile_text(profile)).split())
