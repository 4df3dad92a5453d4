"""Requests of a host, from launches and executions: what an autotuner asks for is left out."""

import numpy as np
import pytest

from kvtrace.figures.requests import requests_of_run
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.converters.written_trace import EPOCH

RUN = "20260102T030405-0001"


def test_fills_between_trials_are_no_requests_and_a_replay_does_the_work_of_its_nodes(tmp_path):
    # given four launches, two of them trials; a fill after each; and two replays of three nodes
    writer = RunWriter(tmp_path, RUN)
    launches = EPOCH + np.array([10, 20, 30, 40])
    writer.append(
        "launches",
        {
            "seq": [0, 1, 2, 3], "call_id": [0, 0, 0, 0], "enter": launches, "exit": launches + 1,
            "thread": [1] * 4, "phase": ["autotune", "autotune", "run", "run"],
        },
    )  # fmt: skip
    requested = EPOCH + np.array([11, 21, 31, 41, *[50] * 3, *[60] * 3])
    writer.append(
        "gpu_kernels",
        {
            "record": range(10), "requested": requested, "start": requested + 5,
            "end": requested + 6, "name": [*["fill"] * 4, *"abc" * 2],
            "graph_id": [None] * 4 + [7] * 6, "kind": [None] * 10,
        },
    )  # fmt: skip
    writer.seal({"run_id": RUN, "started": EPOCH, "ended": EPOCH + 100})
    trace = open_trace(tmp_path)
    # when its requests are read
    found = requests_of_run(trace, trace.runs[0])
    # then the trials and the fill between them are none
    offsets = (found.time - EPOCH).tolist()
    assert offsets == [21, 30, 31, 40, 41, 50, 60]
    assert found.work.tolist() == [1, 1, 1, 1, 1, 3, 3]


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (["gemmSN_TN_kernel<float>", "sm80_xmma_gemm_f32", "_ZN7cutlass7Kernel2IfEEvv"], 1),
        (["void at::native::relu<float>(float*)", "void at::native::gelu<float>(float*)"], 2),
        (["mine_gemm_kernel", "mine"], 2),
    ],
)
def test_kernels_that_a_library_chooses_by_sizes_are_of_one_kind(names, kinds, tmp_path):
    writer = RunWriter(tmp_path, RUN)
    requested = EPOCH + np.arange(len(names))
    columns = {"record": range(len(names)), "requested": requested, "name": names}
    writer.append("gpu_kernels", columns | {"start": requested + 5, "end": requested + 6})
    writer.seal({"run_id": RUN, "started": EPOCH, "ended": EPOCH + 100})
    trace = open_trace(tmp_path)
    assert np.unique(requests_of_run(trace, trace.runs[0]).kind).size == kinds
