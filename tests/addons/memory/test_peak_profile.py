"""Peak memory in a profile: bytes, when, and who holds them."""

import json
from pathlib import Path

import pytest

from kvtrace.addons.memory.peak_profile import SECTION, Holder, PeakMemory, read_peaks
from kvtrace.addons.memory.storage_lives import storage_lives
from kvtrace.cli import main
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import Trace, open_trace
from kvtrace.schema.window import TraceWindow
from tests.addons.memory import hand_made
from tests.addons.memory.hand_made import EPOCH, A, given, tensor
from tests.support.tiers import needs
from tests.support.triton_versions import INSTALLED, run_with

PROGRAM = Path(__file__).with_name("peak_program.py")
UNSEEN = "made where kvtrace does not see it"
MIB = 1 << 20


def test_peak_without_frees_is_at_the_operator_that_was_given_and_made_most(tmp_path):
    trace = hand_made.small_program(tmp_path, frees=False)

    peak, other = read_peaks(trace, trace.runs)

    assert peak == PeakMemory(
        run=trace.runs[0].run_id, device=0, bytes=11_000, run_bytes=11_000, frees_recorded=False,
        begin=EPOCH + 50, end=EPOCH + 51, launch=1, is_during=False, kernel="scale", mark="loss",
        step=1,
        holders=(
            Holder("torch.zeros (first called at model.py:20)", 1, 4000, 4000 / 11_000),
            Holder("torch.mul (first called at model.py:30)", 1, 4000, 4000 / 11_000),
            Holder(UNSEEN, 1, 2000, 2000 / 11_000),
            Holder("torch.empty at model.py:12", 1, 1000, 1000 / 11_000),
        ),
    )  # fmt: skip
    assert (other.device, other.bytes, other.launch, other.step) == (1, 500, None, 0)
    assert other.holders == (Holder("torch.ones (first called at model.py:40)", 1, 500, 1.0),)


def test_peak_with_frees_has_blocks_of_the_allocator_until_they_are_freed(tmp_path):
    trace = hand_made.small_program(tmp_path, frees=True)

    peak, _ = read_peaks(trace, trace.runs)

    assert (peak.bytes, peak.begin - EPOCH, peak.end - EPOCH) == (11_216, 45, 53)
    assert (peak.launch, peak.is_during, peak.mark, peak.frees_recorded) == (2, True, "loss", True)
    assert [holder.bytes for holder in peak.holders] == [4096, 4096, 2000, 1024]


def test_workspaces_in_use_at_the_peak_are_named_without_a_size(tmp_path):
    workspaces = [
        ("allocation", begin, end, 0x90000 + begin, None, None)
        for begin, end in [(1, 4), (3, 40), (2, None), (9, 31)]
    ]
    trace = hand_made.write(
        tmp_path,
        operators=[("aten::zeros", 20, [hand_made.tensor("created", 1000)])],
        calls=[[given(1000)]],
        events=[
            *workspaces,
            ("allocation", 5, 35, A, 1024, None),
            ("operator", 30, 0, [A]),
            ("launch", 32, 0, [A]),
        ],
    )

    (peak,) = read_peaks(trace, trace.runs)

    assert (peak.bytes, peak.begin - EPOCH, peak.unsized) == (1024, 5, 2)
    assert "besides 2 allocations of unknown size (workspaces of operators)" in SECTION.text(
        [peak], 80
    )


@pytest.mark.parametrize(
    ("begin", "end", "number", "moment"),
    [(15, 35, 7000, 30), (50, 50, 11_000, 50), (51, 60, 3000, 51), (52, 65, 3000, 51)],
)
def test_peak_of_a_part_of_a_run_counts_what_was_allocated_before(
    tmp_path, begin, end, number, moment
):
    trace = hand_made.small_program(tmp_path, frees=False)

    peak, *_ = read_peaks(TraceWindow(trace, EPOCH + begin, EPOCH + end), trace.runs)

    assert (peak.bytes, peak.begin - EPOCH, peak.run_bytes) == (number, moment, 11_000)


def test_a_part_of_a_run_without_memory_has_no_peak(tmp_path):
    trace = hand_made.small_program(tmp_path, frees=False)

    assert read_peaks(TraceWindow(trace, EPOCH + 80, EPOCH + 90), trace.runs) == ()
    assert read_peaks(TraceWindow(trace, EPOCH, EPOCH + 9), trace.runs) == ()


def test_the_first_ten_places_are_listed_and_the_others_summed(tmp_path):
    operators = [
        ("aten::empty", line, [tensor("created", 4 * (100 - line))]) for line in range(1, 14)
    ]
    addresses = [A + 4096 * n for n in range(13)]
    events = [("operator", 10 + n, n, [address]) for n, address in enumerate(addresses)]
    events += [("launch", 40, 0, addresses)]
    calls = [[given(4 * (100 - line)) for line in range(1, 14)]]
    trace = hand_made.write(tmp_path, operators=operators, calls=calls, events=events)

    (peak,) = read_peaks(trace, trace.runs)

    assert [holder.place for holder in peak.holders] == [
        *(f"torch.empty at model.py:{line}" for line in range(1, 11)),
        "3 other places",
    ]
    assert peak.holders[-1].bytes == 4 * (89 + 88 + 87)
    assert peak.holders[-1].storages == 3
    assert sum(holder.share for holder in peak.holders) == pytest.approx(1)


def test_text_says_that_bytes_are_at_least_unless_frees_were_recorded(tmp_path, capsys):
    for frees in (False, True):
        hand_made.small_program(tmp_path / str(frees), frees=frees)
        assert main(["profile", str(tmp_path / str(frees))]) == 0
        output = capsys.readouterr().out
        assert "peak memory of device 0 (derived)" in output
        assert ("frees are not recorded" in output) != frees
        launch = "at launch 2" if frees else "after launch 1"
        assert f"reached {launch} of scale, in mark loss, in step 1" in output
        assert "reached before the first launch, in mark step, in step 0" in output


def test_text_names_the_peak_outside_of_the_part(tmp_path):
    trace = hand_made.small_program(tmp_path, frees=False)
    rows = read_peaks(TraceWindow(trace, EPOCH + 52, EPOCH + 65), trace.runs)

    text = "\n".join(SECTION.text(rows, 80))

    assert "outside of this part of the run: 10.7 KiB (--whole)" in text


def test_a_trace_without_recorded_memory_has_no_section_and_no_table_is_read(
    tmp_path, capsys, monkeypatch
):
    events = [("launch", 20, 0, [A])]
    trace = hand_made.write(tmp_path, operators=[], calls=[[given(400)]], events=events)
    runs = trace.runs
    with monkeypatch.context() as patched:
        patched.delattr(Trace, "table")
        patched.delattr(Trace, "pieces")
        assert read_peaks(trace, runs) == ()

    assert main(["profile", str(tmp_path)]) == 0
    assert "peak memory" not in capsys.readouterr().out
    assert main(["profile", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["memory_peaks"] == []


@pytest.fixture(scope="module")
@needs("process")
def recorded(tmp_path_factory):
    """The trace of a program that ran without a GPU."""
    folder = tmp_path_factory.mktemp("peak")
    run_with(
        INSTALLED, [str(PROGRAM)], folder / "cache", fresh=True,
        KVTRACE=str(folder / "out"), KVTRACE_MEMORY="on", KVTRACE_DEVICE="cpu",
    )  # fmt: skip
    return folder / "out"


def line_of(text):
    lines = PROGRAM.read_text().splitlines()
    (line,) = [number for number, line in enumerate(lines, 1) if text in line]
    return f"{PROGRAM.name}:{line}"


def test_peak_of_a_recorded_program_is_held_by_its_three_lines(recorded, capsys):
    assert main(["profile", str(recorded), "--json"]) == 0
    (peak,) = json.loads(capsys.readouterr().out)["memory_peaks"]

    holders = {holder["place"]: holder["bytes"] for holder in peak["holders"]}
    assert holders == {
        f"torch.empty_like at {line_of('torch.empty_like')}": 3 * MIB,
        f"torch.zeros (first called at {line_of('torch.zeros')})": 3 * MIB,
        f"torch.ones (first called at {line_of('torch.ones')})": MIB,
    }
    assert peak["bytes"] == 7 * MIB
    assert (peak["kernel"], peak["launch"], peak["is_during"]) == ("doubled", 1, True)
    assert peak["mark"] == "largest"
    assert not peak["frees_recorded"]


def test_storages_of_a_recorded_program_end_with_their_last_use(recorded):
    trace = open_trace(recorded)
    lives = storage_lives(trace, trace.runs[0])

    sizes = lives.bytes[lives.bytes >= MIB].tolist()
    assert sorted(sizes) == [MIB, MIB, MIB, 3 * MIB, 3 * MIB]
    large = [i for i in range(len(lives)) if lives.bytes[i] == 3 * MIB]
    launches = plain_rows(trace.table("launches", None, ["enter"]))
    zeros, result = sorted(large, key=lambda i: lives.until[i])
    assert lives.last_use[zeros] == launches[1]["enter"] < lives.last_use[result]
