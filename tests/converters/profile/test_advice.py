"""Advice: said of planted inefficiencies, at their line, and of nothing else."""

import inspect
from pathlib import Path
from types import SimpleNamespace

import pytest

import kvtrace
from kvtrace.clients.recorded import replay
from kvtrace.converters.profile.advice import _access_advice, _tuning_advice, _variants
from kvtrace.converters.profile.autotune import Trial, Tuning
from kvtrace.converters.profile.device_limits import Position
from kvtrace.converters.profile.lost_time import _roofline_advice
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.profile.profile_model import Measured, profile_object
from kvtrace.converters.profile.profile_text import profile_text
from kvtrace.figures.identity import KernelKey
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from kvtrace.text import duration
from tests.converters import advice_kernels
from tests.support.tiers import some

FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"


def profile_of(folder, program):
    with kvtrace.capture(folder, tensors="int"):
        program()
    trace = open_trace(folder)
    for run in trace.runs:
        replay(trace, run, None, ("profiler",))
    trace = open_trace(folder)
    return read_profile(trace, trace.runs, device="H200")


def marked_line(kernel):
    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(number for number, line in enumerate(lines) if "# here" in line)


#: Compiled for 27 s until registers are spilled.
SPILLS = pytest.param("spills", marks=pytest.mark.night("low-occupancy is of registers, too"))


@pytest.mark.parametrize(
    "rule", [*some([rule for rule in advice_kernels.PLANTED if rule != "spills"], 3), SPILLS]
)
def test_planted_inefficiency_is_reported_at_its_line(tmp_path, rule):
    program, kernel = advice_kernels.PLANTED[rule]
    profile = profile_of(tmp_path / "out", program)

    (advice,) = (one for one in profile.advice if one.rule == rule)
    if kernel is not None:
        assert advice.kernel == kernel.fn.__name__
        # Of a kernel as a whole, the line is that of its definition, after the decorator.
        assert advice.line == marked_line(kernel)
        assert Path(advice.file) == Path(advice_kernels.__file__)
    assert all(figure.how in ("measured", "derived", "assumed") for figure in advice.figures)
    text = " ".join(" ".join(profile_text(profile)).split())
    assert f"{rule}: " in text.partition("what to try")[2]
    assert profile_object(profile)["advice"][0]["figures"]


@pytest.mark.parametrize("grid_x", [-3, 0, None, 2])
def test_call_has_a_program_at_least_whatever_its_grid(tmp_path, grid_x):
    writer = RunWriter(tmp_path, "r0")
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "a"}])
    writer.append_rows("calls", [{"call_id": 0, "kernel_id": 0, "grid_x": grid_x, "grid_y": 1}])
    writer.seal({"ending": "exit"})
    trace = open_trace(tmp_path)
    ((variant,),) = _variants(trace, trace.runs, [KernelKey("", "a", "")]).values()
    assert list(variant["calls"].values()) == [grid_x if grid_x == 2 else 1]


@pytest.mark.costly("records and replays kernels; the rules by themselves stay by day")
def test_efficient_kernels_give_no_advice(tmp_path):
    profile = profile_of(tmp_path / "out", advice_kernels.run_good_ones)

    assert len(profile.kernels) == 10
    assert [f"{one.rule}: {one.kernel} {one.figures}" for one in profile.advice] == []


@pytest.mark.costly("the profile of a model; the rules by themselves stay by day")
def test_program_that_keeps_the_device_idle_gets_advice():
    trace = open_trace(FIXTURES / "llama")
    assert read_profile(trace, trace.runs).advice[0].rule == "launch-bound"

    graphs = open_trace(FIXTURES / "llama_graphs")
    assert not {"host-bound", "launch-bound", "small-kernels"} & {
        one.rule for one in read_profile(graphs, graphs.runs).advice
    }

    decoding = open_trace(FIXTURES / "decoding")
    profile = read_profile(decoding, decoding.runs)
    (advice,) = (
        piece for piece in profile.advice if piece.rule in ("small-kernels", "launch-bound")
    )
    assert advice.rule == "small-kernels"
    busy = profile.device_time.busy
    assert advice.cost_ns < busy.idle_ns
    without = duration(busy.span_ns - advice.cost_ns)
    assert f"from {duration(busy.span_ns)} to {without} at best" in advice.text


def kernel(name, device_ns, achieved, median_ns=50_000.0):
    measured = Measured(None, None, 0, None, device_ns, median_ns, 10)
    roof = Position(0.0, None, 0.0, 0.0, "memory", achieved)
    return SimpleNamespace(
        name=name,
        file=None,
        line=None,
        measured=measured,
        roofline=roof,
        module="m",
        source=None,
        key=KernelKey("m", name),
    )


def test_lost_time_of_kernels_far_from_their_roofline_is_summed():
    kernels = [
        kernel("large", 100_000, 0.2),
        kernel("near", 500_000, 0.9),
        kernel("tiny", 500_000, 0.1, 1_000.0),
        *(kernel(f"part_{number}", 18_000, 0.25) for number in range(3)),
    ]
    large, parts = _roofline_advice(kernels, 1_000_000, ())
    assert (large.kernel, large.cost_ns) == ("large", pytest.approx(80_000))
    assert parts.cost_ns == pytest.approx(3 * 18_000 * 0.75)
    assert all(f"part_{number} (25.0 %)" in parts.text for number in range(3))
    advised = {KernelKey("m", "large"), KernelKey("other", "part_0")}
    # What something else is said of is not said to be far away, too, nor what is little together.
    assert [one.kernel for one in _roofline_advice(kernels, 1_000_000, advised)] == [None]
    assert list(_roofline_advice(kernels[3:], 10_000_000, ())) == []


def access(kind, line, sectors, sector_bytes):
    row = {"kind": kind, "file": "k.py", "line": line, "dtype": "fp32", "lanes": 32, "masked": 0}
    figures = {"sectors": sectors, "sector_bytes": sector_bytes, "bytes": sector_bytes}
    return row | figures | {"unique_once": sector_bytes, "unique_asked": sector_bytes}


def test_uncoalesced_accesses_of_a_kind_are_one_piece_of_advice():
    wasteful = [access("load", line, 100, 400) for line in (7, 5)]
    rows = [*wasteful, access("store", 9, 100, 400), access("load", 3, 100, 3_200)]
    loads, store = _access_advice(kernel("spread", 8_000, 0.5), rows, True)

    assert (loads.rule, loads.line, loads.cost_ns) == ("uncoalesced", 7, pytest.approx(3_500))
    assert loads.text.startswith(
        "2 loads in lines 5, 7 use 12.5 % of the 32-byte sectors that they"
    )
    assert [figure.value for figure in loads.figures] == ["12.5 %", "50.0 %"]
    assert store.text.startswith("the store uses 12.5 % of the 32-byte sectors that it requests")
    assert store.cost_ns == pytest.approx(1_750)


def tuning(*medians, kept):
    trials = tuple(
        Trial(number, {"BLOCK": str(64 << number)}, 20, median, 32, 0, 0, None, number == kept)
        for number, median in enumerate(medians)
    )
    return Tuning("run", "scale", "kernels", "kernels.py", "x fp32[1000]", trials, "")


def test_advice_names_a_configuration_faster_than_the_chosen_one():
    (advice,) = _tuning_advice([tuning(10_000, 14_000, kept=1)], {}, {})
    assert (advice.rule, advice.kernel) == ("autotune-choice", "scale")
    # The kept one is as fast as the best where it is not tried out, but used.
    assert list(_tuning_advice([tuning(10_000, 14_000, kept=1)], {("run", 1): 10_100.0}, {})) == []


def test_advice_names_equally_fast_configurations():
    (advice,) = _tuning_advice([tuning(10_000, 10_100, 10_050, kept=0)], {}, {})
    assert advice.rule == "autotune-noise"
    assert list(_tuning_advice([tuning(10_000, 11_000, kept=0)], {}, {})) == []
    assert list(_tuning_advice([tuning(10_000, None, kept=0)], {}, {})) == []
