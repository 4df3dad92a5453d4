"""Accesses that a branch decides, judged by the widths of the branch's integers."""

import triton
import triton.language as tl

from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.widths import uses
from tests.verdicts.calls import call, tensor


@triton.jit
def leaving_late(x, index, out, n):
    place = tl.program_id(0)
    value = tl.load(x + place)
    if tl.load(index + place) * 8 > n:
        return
    tl.store(out + place, value)


def test_a_branch_orders_only_ops_after_it():
    found = call(leaving_late, (4,), x=tensor(4), index=tensor(4, dtype="i32"), out=tensor(4), n=7)
    assert {use.access.op.name for use in uses(found.module)} == {"tt.store"}
    unknown = [(v.rule, v.arg) for v in judge(found) if v.verdict == "unknown"]
    assert unknown == [("out-of-bounds", "out")]  # of the product it is said there
