"""Programs that waste time in one way each (tests/gpu/planted.py), recorded on an H200.

What wastes most is named first among what to try, at its line; of a good program nothing is said.
"""

import shutil
from pathlib import Path

import pytest

from kvtrace.clients.recorded import replay
from kvtrace.converters.profile.lost_time import _gap_advice, _recurring
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.profile.profile_text import profile_text
from kvtrace.schema.trace import open_trace
from kvtrace.text import display_width
from tests.support.replacing import replace
from tests.support.simulated_ranks import Step, simulated, write_ranks
from tests.support.tiers import some

FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200" / "planted"
PROGRAM = Path(__file__).parents[2] / "gpu" / "planted.py"
#: The rule, and what is in the line that it names.
CAUSES = {
    "item": ("synchronization", ".item()"),
    "loader": ("host-bound", 'to("cuda"'),
    "allocations": ("allocations", "torch.cuda.empty_cache()"),
    "recompiles": ("recompiles", "graph_break()"),
    "tiny": ("small-kernels", "def nudge"),
    "uncoalesced": ("uncoalesced", "tl.load(x + lanes * side"),
    "good": (None, None),
}
#: What is said only once bytes are known.
OF_BYTES = frozenset({"uncoalesced", "good"})


def profile_of(name, folder):
    path = FIXTURES / name
    if name in OF_BYTES:
        path = shutil.copytree(path, folder / "out")
        trace = open_trace(path)
        for run in trace.runs:
            replay(trace, run, None, ("profiler",))
    trace = open_trace(path)
    return read_profile(trace, trace.runs)


@pytest.mark.parametrize("name", some(list(CAUSES), 3))
def test_planted_cause_of_lost_time_is_the_first_advice(name, tmp_path):
    rule, code = CAUSES[name]
    profile = profile_of(name, tmp_path)
    if rule is None:
        assert [one.text for one in profile.advice] == []
        return
    # One of the steps with `.item()` was interrupted for 8.8 ms, which no read took: once.
    first = profile.advice[0]
    assert first.rule == rule
    assert ("once" in {advice.rule for advice in profile.advice}) >= (name == "item")
    assert first.cost_ns > 0.15 * profile.device_time.busy.span_ns
    line = PROGRAM.read_text().splitlines()[first.line - 1]
    assert code in line
    lines = profile_text(profile)
    place = next(number for number, line in enumerate(lines) if f" {rule}: " in line)
    assert place < 10
    assert all(display_width(line) <= 80 for line in lines)


def host_bound(profile, **steps):
    """Return the text of the advice on pauses, with other steps of the profile's."""
    time = replace(profile.device_time, steps=replace(profile.device_time.steps, **steps))
    texts = [
        one.text
        for one in _gap_advice(
            time, profile.gaps, _recurring(time, profile.gaps), in_recording=False
        )
    ]
    return next(text for text in texts if "code of the host" in text)


def test_a_data_loader_is_named_only_for_pauses_between_marked_steps(tmp_path):
    profile = profile_of("loader", tmp_path)
    gaps = profile.gaps
    assert gaps.paused_between_steps_ns == gaps.paused_ns > 0
    assert "between steps" in host_bound(profile)
    assert "data loader" in host_bound(profile)
    # A period of launches begins anywhere, and pauses inside steps are not waits for data.
    assert "data loader" not in host_bound(profile, name=None)
    inside = replace(profile, gaps=replace(gaps, paused_between_steps_ns=gaps.paused_ns // 3))
    assert "data loader" not in host_bound(inside)


def test_pauses_inside_layers_are_not_blamed_on_a_data_loader():
    trace = open_trace(FIXTURES.parent / "llama_liger")
    profile = read_profile(trace, trace.runs)
    advice = profile.advice
    rules = {one.rule: {f.name: f.value for f in one.figures} for one in advice}
    once = rules["once"]  # its pause is of no step but one
    assert once["gaps"] == f"{profile.gaps.lost.number_once}"
    assert once["longest"] not in {rules["recompiles"]["longest"], rules["recompiles"]["idle"]}
    assert "host-bound" not in rules
    assert not any("data loader" in one.text for one in advice)


@pytest.mark.parametrize("changes", [{"recording": 60}, {"collect": 60}])
def test_collections_of_the_recording_are_nothing_to_change(changes, tmp_path):
    plans = [[Step(**(changes if number % 3 == 0 else {})) for number in range(12)]] * 2
    selection = write_ranks(tmp_path, simulated(plans))
    advice = read_profile(selection.trace, selection.runs).advice
    (text,) = (one.text for one in advice if one.rule == "garbage-collection")
    assert ("gc.freeze" in text) == ("collect" in changes)
    assert ("nothing to change in the program" in text) == ("recording" in changes)


@pytest.mark.parametrize("name", [name for name in CAUSES if name not in OF_BYTES])
def test_steady_range_begins_after_the_first_step(name, tmp_path):
    profile = profile_of(name, tmp_path)
    window = profile.window
    assert (window.how, window.name, window.steps) == ("mark", "step", 29)
    assert window.before_compiling_ns > 100e6
    assert profile.gaps.idle_ns == profile.device_time.busy.idle_ns
    assert sum(profile.gaps.by_cause.values()) == profile.gaps.idle_ns
    assert list(profile.gaps.small) == sorted(profile.gaps.small)  # by no hash
    assert profile.gaps.by_cause.get("unknown", 0) < 0.1 * profile.gaps.idle_ns
