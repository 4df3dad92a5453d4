from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.converters.timeline.captions import argument_text, process_title, script_name
from kvtrace.converters.timeline.drawing import compile_spans, process_ids, timelines
from kvtrace.converters.timeline.drawing_device import counter_step
from kvtrace.converters.timeline.timeline import Tally
from kvtrace.figures.columns import combined_codes
from kvtrace.schema.runs import Run
from kvtrace.schema.trace import resolve
from kvtrace.schema.writer import RunWriter
from tests.support.synthetic_trace import EPOCH, HOSTILE_NAMES, build_synthetic_trace

H200 = Path(__file__).parents[2] / "fixtures" / "h200"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    out = tmp_path_factory.mktemp("timeline") / "out"
    build_synthetic_trace(out, runs=2, launches=300)
    return list(timelines(resolve(str(out))))


def written(out, **tables):
    """A trace of one run with the given tables."""
    writer = RunWriter(out, "20260102-030405-000-0000abcd")
    for table, columns in tables.items():
        writer.append(table, columns)
    writer.seal({"started": EPOCH, "command": "python train.py", "pid": 4242})
    return next(timelines(resolve(str(out))))


def test_each_run_is_a_process_with_its_rank_in_the_name(drawn):
    assert [timeline.process.name.split(" · ")[:2] for timeline in drawn] == [
        ["rank 0", "train.py"],
        ["rank 1", "train.py"],
    ]
    assert len({timeline.process.pid for timeline in drawn}) == 2


def test_slices_that_overlap_go_to_another_lane_of_their_thread(drawn):
    launches = [part for part in drawn[0].slices if part.category == "launch"]

    assert [part.track.name for part in launches] == [
        "main thread",
        "overlapping",
        "launching thread",
    ]
    assert launches[1].begin.tolist() == [EPOCH + 350_000]
    assert launches[1].track.parent == launches[0].track


def test_lanes_of_a_mark_track_share_the_parent_and_have_their_own_names(drawn):
    ranges = (part for part in drawn[0].slices if not part.are_instants)
    marks = [part.track for part in ranges if part.category == "mark"]
    main = [track for track in marks if track.parent.tid == 4242]

    assert [track.name for track in main] == ["marks", "marks · overlapping"]
    assert main[0].parent == main[1].parent
    assert main[0].identity != main[1].identity


@pytest.mark.parametrize(
    ("name", "overlapping"),
    [("decoding", ["stream 7 · overlapping"]), ("llama_ranks", [])],
)
def test_no_two_tracks_of_one_parent_look_alike(name, overlapping):
    """Given executions that overlap on one stream, its two tracks have different names."""
    tracks = {t for timeline in timelines(resolve(str(H200 / name))) for t in timeline.tracks}
    shown = [(track.parent, track.kind, track.name, track.tid) for track in tracks]

    assert len(set(shown)) == len(shown)
    assert [track.name for track in tracks if "overlapping" in track.name] == overlapping


def test_parents_come_before_their_children(drawn):
    for timeline in drawn:
        seen = set()
        for track in timeline.tracks:
            assert track.parent is None or track.parent in seen
            seen.add(track)


def test_no_two_tracks_of_all_runs_have_the_same_identity(drawn):
    tracks = [track for timeline in drawn for track in timeline.tracks]

    assert len({track.identity for track in tracks}) == len(tracks)


def test_hostile_kernel_names_reach_the_captions_unchanged(drawn):
    launches = next(part for part in drawn[0].slices if part.category == "launch")

    assert set(HOSTILE_NAMES) <= {caption.name for caption in launches.captions}


def test_launches_without_times_or_calls_are_counted_or_named(tmp_path):
    timeline = written(
        tmp_path / "out",
        launches={
            "seq": [0, 1, 2],
            "call_id": [7, 7, 8],
            "enter": [EPOCH, None, EPOCH + 50],
            "exit": [None, EPOCH, EPOCH + 20],
            "thread": [1, 1, None],
        },
    )

    assert timeline.left_out == {"launches without a time": 1}
    assert [part.duration.tolist() for part in timeline.slices] == [[0], [0]]
    assert timeline.slices[0].captions[0].name == "call 7"
    tally = Tally()
    tally.add(timeline)
    assert tally.sentences() == ("1 run: 2 launches", "left out: launches without a time (1)")


def test_a_trace_without_any_rows_has_an_empty_timeline(tmp_path):
    timeline = written(tmp_path / "out")

    assert timeline.parts == []
    assert timeline.tracks == (timeline.process,)
    assert timeline.first is None


def test_a_stage_without_a_duration_is_left_out():
    kernel = {
        "kernel_id": 1,
        "name": "k",
        "compile_begin": 100,
        "compile_ns": 50,
        "cache_hit": False,
        "stages": [
            {"stage": "ttir", "duration_ns": 20},
            {"stage": "ttir_generic", "duration_ns": None},
            {"stage": "ptx", "duration_ns": 40},
        ],
    }

    spans = [(begin, duration, caption.name) for begin, duration, caption in compile_spans(kernel)]

    assert spans == [(100, 60, "compile k"), (100, 20, "ttir"), (120, 40, "ptx")]


def test_a_compilation_holds_its_stages_and_the_loading_follows(tmp_path):
    # given a kernel that was compiled and then loaded, and one that was only loaded
    kernel = {
        "kernel_id": [0, 1],
        "name": ["k", "k"],
        "target": ["cuda:90", None],
        "num_warps": [4, None],
        "registers": [64, None],
        "shared_bytes": [0, None],
        "thread": [4242, None],
        "compile_begin": [EPOCH, None],
        "compile_ns": [60, None],
        "cache_hit": [False, None],
        "stages": [
            [{"stage": "ttir", "duration_ns": 20}, {"stage": "cubin", "duration_ns": 30}],
            None,
        ],
        "load_begin": [EPOCH + 100, EPOCH + 500],
        "load_ns": [7, 9],
        "load_thread": [4242, 4242],
    }

    timeline = written(tmp_path / "out", kernels=kernel)

    (part,) = timeline.slices
    captions = [part.captions[index] for index in part.caption]
    found = zip(part.begin - EPOCH, part.duration, captions, strict=True)
    assert [(int(begin), int(taken), caption.name) for begin, taken, caption in found] == [
        (100, 7, "load k"), (0, 60, "compile k"), (0, 20, "ttir"), (20, 30, "cubin"),
        (500, 9, "load k"),
    ]  # fmt: skip
    facts = dict(captions[1].facts)
    assert facts["occupancy"] == "50% (32 of 64 warps, limited by registers)"
    assert timeline.left_out == {"kernels without a time of compilation": 1}


def test_process_ids_are_kept_unless_they_collide():
    runs = [Run("a", pid=5), Run("b", pid=5), Run("c"), Run("d", pid=6), Run("e", pid=-1)]

    chosen = process_ids(runs)

    assert (chosen["a"], chosen["d"]) == (5, 6)
    assert len(set(chosen.values())) == 5
    assert min(chosen["b"], chosen["c"], chosen["e"]) > 1 << 22


def test_process_title_has_the_known_facts():
    run = Run("a", command="python -m pkg.train --x", rank=3, host="h", pid=9, git_commit="ab" * 20)

    assert process_title(run, 9) == "rank 3 · pkg.train · h · abababab"
    assert process_title(run, 1 << 22) == "rank 3 · pkg.train · h · pid 9 · abababab"
    assert process_title(Run("a"), 1) == "python"


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("python -u /x/train.py --n 1", "train.py"),
        ("/usr/bin/torchrun --nproc 2 job", "torchrun"),
        ("python /lib/torch/_inductor/compile_worker/__main__.py --kind=fork", "compile_worker"),
        ("python __main__.py", "__main__.py"),
        ("python 'my train.py'", "my train.py"),
        ("unbalanced 'quote", "unbalanced"),
        (None, "python"),
    ],
)
def test_the_script_is_found_in_a_command_line(command, script):
    assert script_name(command) == script


def test_arguments_are_formatted_as_text():
    names = ("x", "y")
    tensor = {
        "kind": "tensor", "dtype": "bf16", "shape": [4, 8], "strides": [16, 2],
        "device": "cuda:1", "offset_bytes": 64, "alias_group": 0,
    }  # fmt: skip

    assert argument_text(tensor, 1, names) == (
        "bf16[4, 8] strides (16, 2) on cuda:1, 64 bytes into its storage, same storage as x"
    )
    assert argument_text({"kind": "scalar", "scalar": "0.5"}, 0, names) == "0.5"
    assert argument_text({"kind": "descriptor"}, 0, names) == "descriptor"
    assert argument_text({}, 0, names) == "?"


@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(-(2**62), 2**62) | st.integers(0, 3),
            st.none() | st.sampled_from(["a", "b", ""]),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_codes_are_equal_exactly_for_equal_rows(rows):
    columns = [
        pa.chunked_array([pa.array([a for a, _ in rows], pa.int64())]),
        pa.chunked_array([pa.array([b for _, b in rows], pa.dictionary(pa.int32(), pa.string()))]),
    ]

    codes, first = combined_codes(columns)

    assert len(set(zip(codes.tolist(), rows, strict=True))) == len(set(rows)) == first.size
    assert sorted(set(codes.tolist())) == list(range(first.size))
    assert np.array_equal(codes[first], np.arange(first.size))


@given(st.integers(0, 10**16))
def test_counter_has_at_most_2000_steps_of_a_decimal_length(span):
    step = counter_step(span)

    assert span // step <= 2_000
    assert step == 1_000_000 or span // step > 2_000 // 5
    assert str(step // 1_000_000).strip("0") in ("1", "2", "5")
