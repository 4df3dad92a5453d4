"""Executions of a sampled run, as the timeline hands them to the journal."""

import time
from collections import Counter

import numpy as np

from kvtrace.backends.cupti.joining import JoinedExecutions
from kvtrace.backends.cupti.records import Kernels, Looks, Transfers
from kvtrace.backends.cupti.timeline import Timeline
from kvtrace.capture.session import Session
from kvtrace.figures.causes import NONE
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.weights import weights
from kvtrace.settings import settings_from_arguments
from tests.capture.killed_program import arguments, kernel


class Rows:
    """Gives a timeline's rows without a device."""

    def __init__(self):
        self.timeline = object.__new__(Timeline)
        self.timeline._looks = Looks()
        self.timeline._next_record = self.timeline._transferred = 0

    def kernels(self, seq, call, name):
        count = len(seq)
        number = self.timeline._looks.number(name, (4, 1, 1))
        start = np.maximum(seq, 0) * 1000 + 1
        kernels = Kernels(
            start=start, end=start + 100, device=np.zeros(count, np.int64),
            stream=np.full(count, 7), correlation=np.arange(count), graph=np.zeros(count, np.int64),
            graph_node=np.zeros(count, np.int64), grid=np.ones((count, 3), np.int64),
            registers=np.full(count, 32), shared_bytes=np.zeros(count, np.int64),
            look=np.full(count, number),
        )  # fmt: skip
        foreign = np.asarray(seq) == NONE
        return self.timeline._columns(
            JoinedExecutions(kernels, np.asarray(seq), np.asarray(call), foreign)
        )

    def copies(self, count):
        numbers = np.arange(count)
        copies = Transfers(
            start=numbers + 1, end=numbers + 2, device=np.zeros(count, np.int64),
            stream=np.full(count, 7), correlation=numbers, graph=np.zeros(count, np.int64),
            graph_node=np.zeros(count, np.int64), bytes=np.full(count, 64),
            fill=np.zeros(count, bool), names=["memcpy host to device"] * count,
        )  # fmt: skip
        return self.timeline._transfer_columns(copies)


def test_a_sampled_run_counts_every_execution(tmp_path):
    # given launches of one call, and kernels and copies that no launch caused
    session = Session(str(tmp_path / "out"), settings_from_arguments(sample="1/10"))
    call = session.add_call(session.add_kernel(kernel(0)), (1, 1, 1), arguments(0), ())
    rows = Rows()
    for batch in range(10):
        seq = list(range(batch * 40, batch * 40 + 40))
        for _ in seq:
            now = time.time_ns()
            session.add_launch(call, now, now + 1)
        session.flush()
        parts = [
            rows.kernels(seq, [call] * 40, "kernel_0"),
            rows.kernels([NONE] * 15, [NONE] * 15, "gemm"),
            rows.copies(5),
        ]
        for part in parts:
            session._submit(lambda journal, part=part: journal.append("gpu_kernels", part))
        session.flush()
    session.stop("exit")

    # then every one is counted, few are recorded, and each names a launch that is
    trace = open_trace(tmp_path / "out")
    table = trace.table("gpu_kernels")
    counts = Counter()
    for name, kind, weight in zip(
        table["name"].to_pylist(), table["kind"].to_pylist(), weights(table).tolist(), strict=True
    ):
        counts[name, kind] += weight
    assert counts == {
        ("kernel_0", None): 400,
        ("gemm", None): 150,
        ("memcpy host to device", "copy"): 50,
    }
    launched = table["launch_seq"].drop_null().to_pylist()
    assert set(launched) <= set(trace.table("launches")["seq"].to_pylist())
    assert len(launched) >= 35
    assert table.num_rows < 100
    assert validate(tmp_path / "out") == []
