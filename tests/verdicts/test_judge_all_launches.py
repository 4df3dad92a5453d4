"""Launches on views of one storage: each is judged where its tensors lay, in any order."""

import numpy as np
import pytest

import kvtrace
from kvtrace.recorded_calls.reading import calls_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.trace import open_trace
from kvtrace.verdicts import judge as judging
from kvtrace.verdicts.judge import judge_launches
from kvtrace.verdicts.replaying import run
from tests.support.replacing import replace
from tests.verdicts.index_kernels import target_of_row

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: E402

tl = triton.language


@triton.jit
def scatter(values, index, out):
    program = tl.program_id(0)
    tl.store(out + tl.load(index + program), tl.load(values + program))


@triton.jit
def exchange(left, right, out):
    program = tl.program_id(0)
    tl.store(out + tl.load(left + program), program)
    tl.store(out + tl.load(right + program), program)


@triton.jit
def reverse(source, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK) + tl.program_id(0) * BLOCK
    count = tl.num_programs(0) * BLOCK
    tl.store(out + lanes, tl.load(source + count - 1 - lanes))


@triton.jit
def reverse_by_descriptor(source, out, BLOCK: tl.constexpr):
    program, last = tl.program_id(0), tl.num_programs(0) - 1
    out.store([program * BLOCK], source.load([(last - program) * BLOCK]))


@triton.jit
def promised(source, out, BYTES: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    start = tl.multiple_of(source + tl.program_id(0) * BLOCK, BYTES)
    tl.store(out + lanes, tl.load(start + lanes))


@triton.jit
def where_it_runs(out, KIND: tl.constexpr):
    """Every program stores a bit of its processor's number, or of the time."""
    number = tl.inline_asm_elementwise(
        "mov.u32 $0, %smid;" if KIND == "processor" else "mov.u32 $0, %clock;",
        "=r", [], dtype=tl.int32, is_pure=False, pack=1,
    )  # fmt: skip
    tl.store(out, number & 1)


def judged(folder, launches):
    """Return what is not proven of a program that makes these launches: rules and verdicts."""
    with kvtrace.capture(folder):
        for launch in launches:
            launch()
    trace = open_trace(folder)
    (run,) = trace.runs
    calls = list(calls_of(trace, run))
    assert all(isinstance(call, Call) for call in calls)
    verdicts = [verdict for call in calls for verdict in judge_launches(call)]
    return {(v.rule, v.verdict) for v in verdicts if v.verdict != "proven"}


def slices(first, second):
    return lambda: reverse[(4,)](first, second, BLOCK=16)


def descriptors(first, second):
    made = [TensorDescriptor(part, [64], [1], [16]) for part in (first, second)]
    return lambda: reverse_by_descriptor[(4,)](*made, BLOCK=16)


def gathers(index):
    values, out = torch.arange(8.0), torch.zeros(32)
    return lambda: scatter[(8,)](values, index, out)


BUFFER = torch.zeros(256)
INDICES = torch.arange(32)
INDICES[25] = INDICES[24]
ARRAY = np.zeros(256, np.float32)
SLICES = {begin: torch.from_numpy(ARRAY[begin : begin + 64]) for begin in (0, 32, 64)}
RACE = {("race", "violation")}


@pytest.mark.parametrize(
    ("right", "wrong", "expected"),
    [
        pytest.param(
            slices(BUFFER[:64], BUFFER[64:128]), slices(BUFFER[:64], BUFFER[32:96]), RACE,
            id="overlap",
        ),
        pytest.param(
            slices(torch.zeros(64), torch.zeros(64)), slices(BUFFER[16:80], BUFFER[:64]), RACE,
            id="one-storage-or-two",
        ),
        pytest.param(
            slices(BUFFER[:64].view(torch.int32), BUFFER[64:128]),
            slices(BUFFER[:64].view(torch.int32), BUFFER[32:96]), RACE, id="two-dtypes",
        ),
        pytest.param(
            slices(BUFFER[::2][:64], BUFFER[128:192]), slices(BUFFER[::2][:64], BUFFER[4:68]),
            RACE, id="strides",
        ),
        pytest.param(
            slices(SLICES[0], SLICES[64]), slices(SLICES[0], SLICES[32]), RACE, id="two-owners",
        ),
        pytest.param(
            descriptors(BUFFER[:16], BUFFER[64:80]), descriptors(BUFFER[:16], BUFFER[32:48]), RACE,
            id="descriptors",
        ),
        pytest.param(
            descriptors(BUFFER[:16], BUFFER[64:80]), descriptors(BUFFER[:16], torch.zeros(16)),
            {("out-of-bounds", "violation")}, id="room-of-descriptors",
        ),
        pytest.param(gathers(INDICES[:8]), gathers(INDICES[24:]), RACE, id="contents"),
        pytest.param(
            gathers(INDICES[:8]), gathers(torch.cat([INDICES[24:], INDICES])[:8]), RACE,
            id="contents-of-another-size",
        ),
    ],
)  # fmt: skip
def test_the_order_of_launches_decides_no_verdict(tmp_path, right, wrong, expected):
    alone = judged(tmp_path / "alone", [wrong])
    assert expected <= alone
    assert judged(tmp_path / "first", [wrong, right]) == alone
    assert judged(tmp_path / "last", [right, wrong]) == alone


@pytest.mark.parametrize(("promise", "expected"), [(16, set()), (32, {("wrong-hint", "unknown")})])
def test_promises_beyond_what_launches_share_are_not_proven(tmp_path, promise, expected):
    source = torch.arange(96.0)
    parts = source[:32], source[4:36]  # 16 bytes apart
    launches = [
        lambda part=part: promised[(1,)](part, torch.zeros(32), promise, 32) for part in parts
    ]

    assert judged(tmp_path / "aligned first", launches) == expected


def test_several_views_of_one_launch_are_read_where_that_launch_had_them(tmp_path):
    packed = torch.arange(48)

    def launch(begin):
        places = packed[begin : begin + 8], packed[begin + 16 : begin + 24]
        return lambda: exchange[(8,)](*places, torch.zeros(64))

    assert judged(tmp_path / "packed", [launch(0), launch(8), launch(24)]) == set()
    packed[40] = packed[25]  # programs 0 and 1 of the last launch
    assert judged(tmp_path / "same", [launch(0), launch(24)]) == RACE


def race_verdicts(folder, parts, unplaced=frozenset()):
    """Return the verdicts on races of a kernel that was launched once for each index tensor.

    `unplaced` are tensors whose offset at each launch is not known, as in older traces.
    """
    values, out = torch.arange(8.0), torch.zeros(32)
    with kvtrace.capture(folder / "out"):
        for part in parts:
            scatter[(8,)](values, part, out)
    trace = open_trace(folder / "out")
    (run,) = trace.runs
    return {
        verdict.verdict
        for call in calls_of(trace, run)
        for verdict in judge_launches(
            replace(call, launches=replace(call.launches, unplaced=unplaced)), ["race"]
        )
        if verdict.access == "store"
    }


def test_slices_are_each_judged(tmp_path):
    index = torch.arange(32)
    assert race_verdicts(tmp_path / "right", index.split(8)) == {"proven"}
    index[25] = index[24]  # programs 0 and 1 of the last launch
    assert race_verdicts(tmp_path / "wrong", index.split(8)) == {"violation"}


def test_slices_of_which_only_the_first_offset_is_known_are_not_proven(tmp_path):
    assert race_verdicts(tmp_path, torch.arange(32).split(8), frozenset({"index"})) == {"unknown"}


def test_a_race_in_the_first_slice_is_a_violation(tmp_path):
    index = torch.arange(32)
    index[1] = index[0]
    assert race_verdicts(tmp_path, index.split(8)) == {"violation"}


def test_copies_of_slices_are_each_judged(tmp_path):
    index = torch.arange(32)
    assert race_verdicts(tmp_path, [part.clone() for part in index.split(8)]) == {"proven"}


def test_one_launch_of_a_slice_and_launches_of_whole_tensors_are_proven(tmp_path):
    index = torch.arange(32)
    assert race_verdicts(tmp_path / "one", [index[8:16]]) == {"proven"}
    assert race_verdicts(tmp_path / "whole", [torch.arange(8)] * 3) == {"proven"}


def test_launches_beyond_the_distinct_contents_that_are_judged_are_unknown(tmp_path, monkeypatch):
    monkeypatch.setattr(judging, "_MOST_JUDGED", 3)
    assert race_verdicts(tmp_path, torch.arange(32).split(8)) == {"proven", "unknown"}


def test_one_of_many_contents_that_races_is_a_violation_of_its_launch(tmp_path):
    """Only launch 3 has a target in another program's row; all others prove the accesses."""
    rows, columns = 8, 16
    with kvtrace.capture(tmp_path / "out"):
        for launch in range(6):
            targets = (torch.arange(rows) + launch) % columns
            targets[launch % rows] = -100
            targets[5] = -1 if launch == 3 else 2
            target_of_row[(rows,)](torch.zeros(rows, columns), targets, -100, columns, WIDTH=16)
    trace = open_trace(tmp_path / "out")
    (call,) = calls_of(trace, trace.runs[0])

    verdicts = judge_launches(call, ["race", "out-of-bounds"])

    races = [v for v in verdicts if (v.rule, v.verdict) == ("race", "violation")]
    assert races
    assert all("the contents of launch 3: 1 of 6 distinct contents" in v.message for v in races)
    assert all(v.launches == {3} for v in races)
    assert {v.verdict for v in verdicts if v.rule == "out-of-bounds"} == {"proven"}


def test_many_contents_are_proven_together_as_each_alone(tmp_path, monkeypatch):
    rows, columns = 8, 16
    with kvtrace.capture(tmp_path / "out"):
        for launch in range(6):
            targets = torch.roll(torch.arange(rows), launch)
            targets[launch % 3] = -100
            target_of_row[(rows,)](torch.zeros(rows, columns), targets, -100, columns, WIDTH=16)
    trace = open_trace(tmp_path / "out")
    (call,) = calls_of(trace, trace.runs[0])
    alone = judging._verdicts_on_contents
    judged_alone = []
    monkeypatch.setattr(
        judging, "_verdicts_on_contents", lambda *a: judged_alone.append(a[1]) or alone(*a)
    )

    together = judge_launches(call)

    assert judged_alone == [call.launches.contents.sets[0]]
    monkeypatch.setattr(judging, "_MOST_BYTES_TOGETHER", 0)
    assert together == judge_launches(call)
    assert len(judged_alone) == 7
    assert any("6 of 6 distinct contents" in v.message for v in together if v.rule == "race")


def test_one_evaluation_does_not_decide_several_contents(tmp_path):
    with kvtrace.capture(tmp_path / "out"):
        gathers(INDICES[:8])()
    trace = open_trace(tmp_path / "out")
    (call,) = calls_of(trace, trace.runs[0])
    assert run(call, ()) is None
    assert run(replace(call, others=(call,)), ()) == "it is judged for several contents at once"


@pytest.mark.parametrize("kind", ["processor", "time"])
def test_where_or_when_a_program_runs_is_not_known_to_be_the_same(tmp_path, kind):
    out = torch.zeros(2, dtype=torch.int32)

    found = judged(tmp_path / kind, [lambda: where_it_runs[(4,)](out, kind)])

    assert found == {("race", "unknown")}
