"""What is recorded of tensors' contents at launches of Triton's kernels, and what it decides."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from triton.compiler.compiler import CompiledKernel

import kvtrace
from corpus.kernels import index_kernels as kernels
from kvtrace.backends.compiled_kernels import contents_to_copy as watching
from kvtrace.capture import copied_contents as limits
from kvtrace.cli import main
from kvtrace.clients import replay
from kvtrace.recorded_calls.reading import calls_of
from kvtrace.schema import contents
from kvtrace.schema.contents import contents_of, first_contents
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace

COUNT = 1000


@pytest.fixture
def launch():
    """Launches a gather with these indices."""
    source, result = torch.randn(COUNT), torch.zeros(COUNT)

    def launched(chosen, programs=4):
        kernels.gather[(programs,)](source, chosen, result, COUNT, BLOCK=256)

    return launched


@pytest.fixture
def no_time_budget(monkeypatch):
    monkeypatch.setattr(limits, "FRACTION", 0.0)
    monkeypatch.setattr(limits, "ALLOWANCE_NS", 0)


def content_sets_of(out, call_id=0):
    """The distinct contents of a call: launches, and by argument the bytes."""
    trace = open_trace(out)
    contents = contents_of(trace, trace.runs[0]).get(call_id)
    return [
        (
            contents_set.launches,
            {argument.arg: trace.artifact(argument.artifact) for argument in contents_set.held},
        )
        for contents_set in (() if contents is None else contents.sets)
    ]


def launches_with_contents(out, call_id=0):
    return sorted(seq for launches, _ in content_sets_of(out, call_id) for seq in launches)


def bounds(out, call_id=0):
    """What the sanitizer says of the load that the indices decide: verdict and message."""
    trace = open_trace(out)
    assert replay(trace, trace.runs[0], clients=("sanitizer",)).errors == ()
    rows = plain_rows(trace.table("findings"))
    index = min(r["op_index"] for r in rows if r["arg"] == "source")
    return [
        (row["verdict"], row["message"])
        for row in rows
        if (row["call_id"], row["op_index"]) == (call_id, index) and row["rule"].startswith("out")
    ]


def messages(out, code):
    return [row["text"] for row in plain_rows(open_trace(out).table("messages"))
            if row["code"] == code]  # fmt: skip


def test_a_later_launch_with_an_index_out_of_bounds_is_found(tmp_path, launch):
    chosen = torch.arange(COUNT)
    with kvtrace.capture(tmp_path):
        launch(chosen)
        chosen[5] = 2000
        launch(chosen)
        launch(chosen)
        chosen[5] = 0
        launch(chosen)
    assert [launches for launches, _ in content_sets_of(tmp_path)] == [(0,), (1, 2), (3,)]
    ((verdict, message),) = bounds(tmp_path)
    assert verdict == "violation"
    assert message.endswith(
        "[for the contents of launches 1, 2: 1 of 3 distinct contents, 2 of 4 launches]"
    )


def test_valid_contents_of_all_launches_prove_the_access(tmp_path, launch):
    with kvtrace.capture(tmp_path):
        for step in range(3):
            launch((torch.arange(COUNT) + step) % COUNT)
    ((verdict, message),) = bounds(tmp_path)
    assert verdict == "proven"
    assert "launches 0, 1, 2: 3 of 3 distinct contents, 3 of 3 launches" in message


def test_a_call_that_differs_in_its_grid_alone_has_its_contents(tmp_path, launch, no_time_budget):
    chosen = torch.arange(COUNT)
    with kvtrace.capture(tmp_path):
        launch(chosen)
        kvtrace.start(tmp_path).flush()  # the kernel's IR is read: it writes no integers
        launch(chosen, programs=3)
        launch(chosen, programs=2)
    for call_id in range(3):
        assert content_sets_of(tmp_path, call_id) == [((call_id,), {1: chosen.numpy().tobytes()})]


def test_launches_without_time_for_inspection_are_not_judged(tmp_path, launch, no_time_budget):
    with kvtrace.capture(tmp_path):
        launch(torch.arange(COUNT))
        kvtrace.start(tmp_path).flush()
        launch(torch.full((COUNT,), 7))
        launch(torch.arange(COUNT))
    assert launches_with_contents(tmp_path) == [0]
    (proven, covers), (unknown, reason) = sorted(bounds(tmp_path))
    assert (proven, unknown) == ("proven", "unknown")
    assert "launch 0: 1 of 1 distinct contents, 1 of 3 launches" in covers
    assert "2 of 3 launches lack recorded contents" in reason


def test_with_tensors_int_every_launch_is_inspected(tmp_path, launch, no_time_budget):
    with kvtrace.capture(tmp_path, tensors="int"):
        for step in range(5):
            launch(torch.full((COUNT,), step))
            kvtrace.start(tmp_path).flush()
    assert launches_with_contents(tmp_path) == list(range(5))


def test_contents_per_call_are_limited_and_the_excess_is_reported(tmp_path, monkeypatch, launch):
    for module in (limits, contents):
        monkeypatch.setattr(module, "SETS_A_CALL", 2)
    with kvtrace.capture(tmp_path):
        for step in (0, 1, 0, 2, 3, 1):
            launch(torch.full((COUNT,), step))
    assert [launches for launches, _ in content_sets_of(tmp_path)] == [(0, 2), (1, 5)]
    assert "a call has more distinct contents than are recorded" in messages(
        tmp_path, "contents-left-out"
    )[0]  # fmt: skip
    (proven, _), (unknown, reason) = sorted(bounds(tmp_path))
    assert (proven, unknown) == ("proven", "unknown")
    assert "2 of 6 launches lack recorded contents: only the first 64 distinct contents" in reason


@pytest.mark.parametrize(
    ("is_settled", "inspected"), [(True, [0, 1, 2, 4, 8, 16]), (False, [0, 1, 2, 3, 4, 5, 21])]
)
def test_launches_on_a_device_are_inspected_at_growing_distances(
    monkeypatch, is_settled, inspected
):
    for name, number in (("EARLY", 6), ("IN_A_ROW", 3), ("_STEP", 1)):
        monkeypatch.setattr(watching, name, number)
    watch = watching.Watch(frozenset({0}), list, every=False)
    watch.settled = is_settled
    looked_at = []
    for number in range(22):
        if watch.wait:
            watch.wait -= 1
        else:
            looked_at.append(number)
            watch.count_inspection()
    assert looked_at == inspected


def test_launches_on_the_host_are_inspected_while_time_allows(tmp_path, monkeypatch, launch):
    monkeypatch.setattr(watching, "IN_A_ROW", 3)
    monkeypatch.setattr(limits, "FRACTION", 1.0)
    with kvtrace.capture(tmp_path):
        for _ in range(20):
            launch(torch.arange(COUNT))
    assert launches_with_contents(tmp_path) == list(range(20))


def test_integers_that_the_kernel_writes_are_those_before_each_launch(tmp_path):
    chosen, result = torch.randperm(COUNT), torch.zeros(COUNT, dtype=torch.int64)
    expected = []
    with kvtrace.capture(tmp_path):
        for _ in range(4):
            expected.append(chosen.numpy().tobytes())
            version = chosen._version
            kernels.advance[(4,)](chosen, result, COUNT, BLOCK=256)
            assert chosen._version == version
            kvtrace.start(tmp_path).flush()
    assert [parts[0] for _, parts in content_sets_of(tmp_path)] == expected


def test_written_tensors_are_not_inspected_after_the_launch(tmp_path, no_time_budget):
    """A new call of a kernel that has been read, where there is no time to look before it."""
    chosen, result = torch.randperm(COUNT), torch.zeros(COUNT, dtype=torch.int64)
    with kvtrace.capture(tmp_path):
        kernels.advance[(4,)](chosen, result, COUNT, BLOCK=256)
        kvtrace.start(tmp_path).flush()
        kernels.advance[(3,)](chosen, result, COUNT, BLOCK=256)
    assert launches_with_contents(tmp_path, 0) == [0]
    assert launches_with_contents(tmp_path, 1) == []


def test_integers_that_no_access_depends_on_are_left_out(tmp_path):
    indices = torch.arange(COUNT)
    with kvtrace.capture(tmp_path / "index"):
        kernels.add[(4,)](indices, indices, torch.empty_like(indices), COUNT, BLOCK=256)
    with kvtrace.capture(tmp_path / "int", tensors="int"):
        kernels.add[(4,)](indices, indices, torch.empty_like(indices), COUNT, BLOCK=256)
    assert launches_with_contents(tmp_path / "index") == []
    assert launches_with_contents(tmp_path / "int") == [0]


def test_integers_of_loop_bounds_and_branches_are_recorded(tmp_path):
    edges = torch.tensor([0, 3, 3, 10], dtype=torch.int32)
    flags = torch.tensor([1, 0, 1], dtype=torch.int16)
    with kvtrace.capture(tmp_path):
        kernels.segment_sums[(3,)](torch.ones(10), edges, flags, torch.zeros(3), BLOCK=16)
    ((_, parts),) = content_sets_of(tmp_path)
    assert parts == {1: edges.numpy().tobytes(), 2: flags.numpy().tobytes()}


def test_kernels_without_integers_keep_their_launcher(tmp_path):
    x = torch.randn(COUNT)
    before = CompiledKernel.run
    with kvtrace.capture(tmp_path):
        kernel = kernels.add[(4,)](x, x, torch.empty_like(x), COUNT, BLOCK=256)
        assert kernel.run is kernel._run
    assert CompiledKernel.run is before
    assert "_kvtrace_watch" not in vars(kernel)


def test_no_contents_are_recorded_with_tensors_none(tmp_path, launch):
    before = CompiledKernel.run
    with kvtrace.capture(tmp_path, tensors="none"):
        launch(torch.arange(COUNT))
        assert CompiledKernel.run is before
    assert open_trace(tmp_path).table("contents").num_rows == 0
    ((verdict, reason),) = bounds(tmp_path)
    assert verdict == "unknown"
    assert "not recorded" in reason


def test_launches_of_an_autotuner_on_the_host_are_inspected_and_judged(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "ALLOWANCE_NS", 10**12)  # on a busy machine, too
    chosen = torch.tensor([2, 0, 1], dtype=torch.int32)
    with kvtrace.capture(tmp_path):
        kernels.tuned_gather.fn  # noqa: B018 - an autotuner, which takes its first choice without a GPU
        for _ in range(3):
            kernels.tuned_gather[lambda meta: (1,)](torch.randn(3), chosen, torch.zeros(3), 3)
    launches = plain_rows(open_trace(tmp_path).table("launches"))
    calls = {row["call_id"] for row in launches}
    assert {row["phase"] for row in launches} == {"run"}
    assert {seq for call in calls for seq in launches_with_contents(tmp_path, call)} == {
        row["seq"] for row in launches
    }
    assert {verdict for call in calls for verdict, _ in bounds(tmp_path, call)} == {"proven"}


class TestViews:
    """Views of a storage that is too large to be kept whole."""

    @pytest.fixture
    def pool(self, monkeypatch):
        monkeypatch.setattr(limits, "SMALL_BYTES", 9000)
        return torch.zeros(100_000, dtype=torch.int64)

    def test_a_view_decides_as_long_as_no_access_leaves_it(self, tmp_path, pool, launch):
        view = pool[5000:6000]
        view[:] = torch.arange(COUNT)
        with kvtrace.capture(tmp_path):
            launch(view)
            view[3] = 4000
            launch(view)
        first = content_sets_of(tmp_path)[0]
        assert first == ((0,), {1: torch.arange(COUNT).numpy().tobytes()})
        trace = open_trace(tmp_path)
        assert first_contents(trace, trace.runs) == {}  # it is not the whole storage
        (call,) = calls_of(trace, trace.runs[0])
        assert call.recorded == ()
        ((verdict, message),) = bounds(tmp_path)
        assert verdict == "violation"
        assert "launch 1: 1 of 2" in message

    def test_contents_outside_of_a_view_are_not_invented(self, tmp_path, pool, launch):
        with kvtrace.capture(tmp_path):
            launch(pool[5000:5900])  # a hundred lanes read past its end
        ((verdict, message),) = bounds(tmp_path)
        assert verdict == "unknown", message

    def test_too_large_a_view_is_left_out(self, tmp_path, pool, launch):
        with kvtrace.capture(tmp_path):
            launch(pool[5000:7000])
        assert launches_with_contents(tmp_path) == []


def test_info_and_validate_accept_recorded_contents(tmp_path, launch, capsys):
    with kvtrace.capture(tmp_path):
        launch(torch.arange(COUNT))
        launch(torch.arange(COUNT) // 2)
    assert main(["trace", "validate", str(tmp_path)]) == 0
    assert main(["info", str(tmp_path)]) == 0
    assert "tensor contents recorded for 2 launches" in capsys.readouterr().out


def test_replay_uses_the_contents_of_the_first_launch(tmp_path, launch):
    chosen = torch.arange(COUNT)
    with kvtrace.capture(tmp_path):
        launch(chosen)
        launch(chosen * 0)
    trace = open_trace(tmp_path)
    (call,) = calls_of(trace, trace.runs[0])
    assert np.array_equal(call.arguments[1].storage.data.view(np.int64), chosen.numpy())
    assert call.recorded == ("chosen",)


@pytest.mark.process
def test_modules_that_read_ir_are_imported_one_by_one_beside_a_program() -> None:
    program = """
import sys
import kvtrace.capture.session, kvtrace.schema.writer
from kvtrace.backends.compiled_kernels.contents_to_copy import READING
from kvtrace.capture import pacing
def loaded():
    return sum(name.startswith("kvtrace.ir.") for name in sys.modules)
counts = [loaded()]
pacing.rest = lambda: counts.append(loaded())
pacing.import_in_slices(READING)
import kvtrace.ir.index_arguments, kvtrace.ir.parser, kvtrace.ir.relocation
steps = [after - before for before, after in zip(counts, counts[1:], strict=False)]
print(len(steps), max(steps), loaded() - counts[-1])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == [str(len(watching.READING)), "2", "0"], done.stderr
