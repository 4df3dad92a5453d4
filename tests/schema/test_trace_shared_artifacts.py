"""Runs whose artifacts other runs of the trace hold, as earlier versions merged traces."""

from kvtrace.schema.compaction import compact
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from tests.support.many_runs import COMMON, own, write_run


def test_a_run_is_complete_when_read_alone(tmp_path):
    # given a run whose artifact another one holds
    for number in range(3):
        write_run(tmp_path / "all", number, 3 - number, shares=number > 0)
    trace = open_trace(tmp_path / "all")
    last = trace.runs[-1]
    both = {COMMON["sha256"], own(2)["sha256"]}
    # then its table has both
    assert set(trace.table("artifacts", [last])["sha256"].to_pylist()) == both
    # and it stays so when its files are compacted
    compact(tmp_path / "all")
    assert validate(tmp_path / "all") == []
