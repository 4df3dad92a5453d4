"""Who asks a compiled kernel for its launcher: Triton, which launches, or another library."""

import threading
from types import SimpleNamespace

import pytest
import torch
from triton.compiler.compiler import CompiledKernel

import kvtrace
from corpus.kernels import index_kernels as kernels
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace

COUNT = 1000


@pytest.fixture(params=["off", "warn"])
def recording(request, tmp_path):
    """Records what tensors hold, with and without judging."""
    with kvtrace.capture(tmp_path, sanitize=request.param) as session:
        yield session


class Gather:
    """Launches of a gather, whose indices are looked at, and its compiled kernel."""

    def __init__(self):
        self.source, self.result = torch.randn(COUNT), torch.zeros(COUNT)
        self.chosen = torch.arange(COUNT)

    def launch(self, grid=(4,)):
        arguments = (self.source, self.chosen, self.result, COUNT)
        return kernels.gather[grid](*arguments, BLOCK=256)

    def compiled(self):
        arguments = (self.source, self.chosen, self.result, COUNT)
        kernel = kernels.gather.warmup(*arguments, BLOCK=256, grid=(4,))
        kernel._init_handles()
        return kernel


@pytest.fixture
def gather():
    return Gather()


def test_another_library_gets_the_plain_launcher(recording, gather):
    kernel = gather.compiled()
    assert kernel.run is kernel._run
    for _ in range(3):
        gather.launch()
        assert kernel.run is kernel._run


def test_another_library_may_pass_other_values(recording, gather, monkeypatch):
    """As Inductor's launchers: taken out once, with a launcher class and values of its own."""
    kernel, given = gather.compiled(), []
    gather.launch()
    monkeypatch.setattr(kernel, "_run", lambda *values: given.append(values))
    kernel.run(1, 2, 3, "a stream", "no values", "that a kernel of Triton's has")
    assert given == [(1, 2, 3, "a stream", "no values", "that a kernel of Triton's has")]


def asked_within_a_launch(gather, ask):
    """Launch with a grid that asks for something while the launch is under way."""
    answers = []

    def grid(_meta):
        answers.append(ask())
        return (4,)

    gather.launch(grid)
    return answers[0]


def test_another_thread_gets_the_plain_launcher_during_a_launch(recording, gather):
    kernel, answers = gather.compiled(), []

    def ask():
        thread = threading.Thread(target=lambda: answers.append(kernel.run))
        thread.start()
        thread.join()

    asked_within_a_launch(gather, ask)
    assert answers == [kernel._run]


def test_another_kernel_gets_the_plain_launcher_within_a_launch(recording, gather):
    flags = torch.ones(COUNT, dtype=torch.int64)
    other = kernels.add.warmup(flags, flags, flags, COUNT, BLOCK=256, grid=(4,))
    other._init_handles()
    assert asked_within_a_launch(gather, lambda: other.run) is other._run


def test_after_a_launch_that_failed_the_launcher_is_plain(recording, gather):
    kernel = gather.compiled()

    def fail():
        raise ValueError("no grid")

    with pytest.raises(ValueError, match="no grid"):
        asked_within_a_launch(gather, fail)
    assert kernel.run is kernel._run


def test_a_kernel_without_source_causes_no_error(recording, gather):
    """Inductor makes kernels of what its workers compiled; they may lack what Triton's have."""
    kernel = CompiledKernel.__new__(CompiledKernel)
    kernel._run = len
    assert asked_within_a_launch(gather, lambda: kernel.run) is len


def test_all_kinds_of_launches_by_triton_are_inspected(tmp_path, gather):
    with kvtrace.capture(tmp_path):
        kernel = gather.launch()
        kernel[(3, 1, 1)](gather.source, gather.chosen, gather.result, COUNT, 256)
    contents = plain_rows(open_trace(tmp_path).table("contents"))
    assert {row["call_id"] for row in contents} == {0, 1}


def test_owner_of_a_kernel_without_function_is_the_kernel():
    from kvtrace.backends.triton.launchers import owner_of

    kernel = SimpleNamespace(src=SimpleNamespace())
    assert owner_of(kernel) == id(kernel)
    kernel.src.fn = gather = object()
    assert owner_of(kernel) == id(gather)
