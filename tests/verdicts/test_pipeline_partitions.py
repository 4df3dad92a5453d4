"""Kernels whose partitions wait for each other: mutants are found, and nothing wrong is proven."""

from functools import partial
from pathlib import Path

import pytest

from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu((3, 6), "warp specialization")

from corpus.kernels.gluon_kernels import double_in_partitions  # noqa: E402
from kvtrace.evaluate import evaluate  # noqa: E402
from kvtrace.evaluate.errors import Deadlock  # noqa: E402
from kvtrace.evaluate.partitions import needs_clocks  # noqa: E402
from kvtrace.ir.flow import partition_of  # noqa: E402
from kvtrace.verdicts.judge import judge  # noqa: E402
from tests.verdicts.gluon_mutants import changed, judged, line_of, of_text, recorded_by  # noqa: E402

KERNELS = Path(__file__).parents[2] / "corpus" / "kernels"


def recorded_in(out, stages):
    """The recorded call of the kernel without a fault, and the kernel's generic TTGIR."""
    return recorded_by(partial(double_in_partitions, "cpu", stages), out)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return recorded_in(tmp_path_factory.mktemp("partitions"), 2)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_the_right_kernel_is_evaluated_and_shows_no_disorder(stages, tmp_path):
    call, text = recorded_in(tmp_path, stages)
    found, mutant = judged(call, text), of_text(call, text)
    assert needs_clocks(mutant.module)
    assert found.verdict == "unknown"
    assert "evaluations of its calls show no disorder" in found.reason
    assert {v.verdict for v in judge(mutant)} == {"proven"}


#: Of each mutant: what is changed, and the lines of source that a finding names.
MUTANTS = {
    "no wait for the tile": (
        "wait_barrier", 0, "tiles.index(stage).load", "full.index(stage), tiles.index(stage)",
    ),
    "no wait for a free result": ("wait_barrier", 1, "out.store(", "tma_store("),
    "no wait for an empty tile": (
        "wait_barrier", 2, "full.index(stage), tiles.index(stage)",
        "full.index(stage), tiles.index(stage)",
    ),
    "no wait for the result": ("wait_barrier", 3, "tma_store(", "out.store("),
    "no arrival at empty": ("arrive_barrier", 0, "mbarrier.wait(", ""),
    "no arrival at made": ("arrive_barrier", 1, "mbarrier.wait(", ""),
    "no arrival at free": ("arrive_barrier", 2, "mbarrier.wait(", ""),
    "no expected bytes": ("barrier_expect", 0, "mbarrier.wait(", ""),
    "no fence": ("fence_async_shared", 0, "tma_store(", "out.store("),
    "no wait for the store": ("async_tma_store_wait", 0, "out.store(", "tma_store("),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_what_is_left_out_is_found_with_its_lines(name, recorded):
    call, text = recorded
    op, number, line, other = MUTANTS[name]
    found = judged(call, changed(text, op, number))
    assert found.verdict == "violation", found.message
    assert line in line_of(found.op, KERNELS)
    if found.other is not None:
        assert other in line_of(found.other, KERNELS)


CHANGES = {
    **{f"two arrivals at barrier {n}": ("init_barrier", n, "count = 1", "count = 2")
       for n in range(6)},
    "more bytes expected": ("barrier_expect", 0, r"size = \d+", "size = 8192"),
    "fewer bytes expected": ("barrier_expect", 0, r"size = \d+", "size = 2048"),
    "two stores in flight": ("async_tma_store_wait", 0, "pendings = 0", "pendings = 2"),
    "two arrivals": ("arrive_barrier", 0, "count = 1", "count = 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_wrong_counts_are_found(name, recorded):
    call, text = recorded
    op, number, pattern, by = CHANGES[name]
    found = judged(call, changed(text, op, number, pattern, by))
    assert found.verdict == "violation", found.message


def test_a_deadlock_names_phase_arrivals_and_all_waits(recorded):
    call, text = recorded
    text = changed(text, "arrive_barrier", 2)
    found, mutant = judged(call, text), of_text(call, text)
    assert "phase 0 of its barrier, of parity 0, has 0 of 1 arrivals" in found.message
    assert found.message.count("waits forever") >= 2
    with pytest.raises(Deadlock, match="waits forever"):
        evaluate(mutant.module, mutant.arguments, mutant.grid)


def test_accesses_of_partitions_have_their_region(recorded):
    module = recorded[0].module
    regions = {op.name: partition_of(op) for op in module.ops}
    copy, store = "ttng.async_tma_copy_global_to_local", "ttng.async_tma_copy_local_to_global"
    assert regions["ttng.init_barrier"] is None
    assert None not in (regions[copy], regions[store], regions["ttg.local_store"])
    assert len({id(regions[name]) for name in (copy, store, "ttg.local_store")}) == 3
