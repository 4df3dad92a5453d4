"""Kernels that cannot be evaluated, by what a trace has of them."""

import pytest

from kvtrace.schema.trace import open_trace
from kvtrace.schema.without_ir import (
    evaluated_without_rules,
    kernels_without_ir,
    runs_without_ir,
)
from tests.converters.written_trace import Kernel, Op, add_ops, write_trace
from tests.support.foreign_producer import RUN, write_foreign


@pytest.mark.parametrize("stage", [None, "toyir"])
def test_kernels_of_another_producer_cannot_be_evaluated(stage, tmp_path):
    trace = open_trace(write_foreign(tmp_path / "out", stage=stage))
    kernels = kernels_without_ir(trace, trace.runs[0])
    assert [(kernel.name, kernel.calls) for kernel in kernels.values()] == [
        ("axpy", (0,)), ("softmax", (1,)),
    ]  # fmt: skip
    assert all("from toydsl" in kernel.reason for kernel in kernels.values())
    assert all(("toyir" in kernel.reason) == (stage is not None) for kernel in kernels.values())
    assert "kernels from toydsl without TTIR" in runs_without_ir(trace, trace.runs)[RUN]


def test_a_kernel_with_ttir_can_be_evaluated_whoever_recorded_it(tmp_path):
    trace = open_trace(write_foreign(tmp_path / "out", stage="ttir_generic"))
    assert not kernels_without_ir(trace, trace.runs[0])
    assert not runs_without_ir(trace, trace.runs)


def test_a_run_with_one_kernel_of_triton_is_judged(tmp_path):
    trace = open_trace(write_foreign(tmp_path / "out", origins=("jit", "toydsl")))
    assert [kernel.name for kernel in kernels_without_ir(trace, trace.runs[0]).values()] == [
        "softmax"
    ]
    assert not runs_without_ir(trace, trace.runs)


def test_a_kernel_that_was_evaluated_while_it_ran_is_judged_by_the_rules_of_its_pass(tmp_path):
    side = write_trace(tmp_path / "out", [Kernel(origin="nki")])
    assert kernels_without_ir(side.trace, side.runs[0])
    add_ops(side, [Op(0, 0, "load", 11, {"bytes": 4000})])
    assert not kernels_without_ir(side.trace, side.runs[0])
    assert [kernel.name for kernel in evaluated_without_rules(side.trace, side.runs[0])] == [
        "scale"
    ]
    rows = side.trace.table("ops", side.runs).drop_columns(["run"])
    facts = {"rules": {"race": {"severity": "error"}}}
    side.trace.add_derived(side.runs[0].run_id, "replay", {"ops": rows}, facts)
    assert not evaluated_without_rules(side.trace, side.runs[0])


def test_a_kernel_without_origin_is_triton_s_only_with_ttir(tmp_path):
    trace = open_trace(write_foreign(tmp_path / "out", origins=(None, None)))
    kernels = kernels_without_ir(trace, trace.runs[0]).values()
    assert {kernel.maker for kernel in kernels} == {"of unknown origin"}
    assert "kernels of unknown origin without TTIR" in runs_without_ir(trace, trace.runs)[RUN]
    with_ttir = write_foreign(tmp_path / "ttir", origins=(None, None), stage="ttir_generic")
    trace = open_trace(with_ttir)
    assert not kernels_without_ir(trace, trace.runs[0])
