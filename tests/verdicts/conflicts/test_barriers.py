"""Barriers between ops of a program, in TTIR, in PTX and in pipelined loops."""

import re

import pytest
import triton
import triton.language as tl

from corpus.questions.defects import Sample
from corpus.questions.defects import tensor as described
from kvtrace.ir.ops import MEMORY, effect_of
from kvtrace.recorded_calls.compiled_barriers import CompiledBarriers
from kvtrace.verdicts.conflicts.barriers import Order
from kvtrace.verdicts.judge import judge
from tests.support.replacing import replace
from tests.verdicts import pipelined_kernels
from tests.verdicts.calls import call, tensor
from tests.verdicts.conflicts.compiled_samples import (
    SAMPLES,
    WITHIN,
    answers,
    compiled,
    version,
    worst,
)


def test_barriers_between_ops_are_read_from_ptx():
    made = compiled(SAMPLES["a store, a barrier, then a load by other lanes"], 4)
    first, load, last = (op for op in made.module.ops if op.name in MEMORY)
    barriers = made.compiled.barriers

    assert barriers.separate(first, load) is True
    assert barriers.separate(load, last) is False
    assert barriers.separate(load, first) is True  # there is no way back
    without = CompiledBarriers(
        made.module, barriers.ptx.replace("bar.sync", "bar.arrive"), barriers.triton
    )
    assert without.separate(first, load) is False


@pytest.mark.parametrize("ptx", ["", "no PTX", ".visible .entry k(\n)\n{\n\tbrx.idx x;\n}\n"])
def test_ptx_with_unknown_control_flow_has_no_known_barriers(ptx):
    module = SAMPLES["a block flipped in place"].module()
    load, store = (op for op in module.ops if op.name in MEMORY)
    assert CompiledBarriers(module, ptx, None).separate(load, store) is None


def test_an_instruction_without_location_may_belong_to_any_op():
    made = compiled(SAMPLES["a store, a barrier, then a load by other lanes"], 4)
    first, load, _ = (op for op in made.module.ops if op.name in MEMORY)
    moved = made.compiled.barriers.ptx.replace("bar.sync", ".loc 1 0 0\n\tld.global.b32 x;bar.sync")
    assert CompiledBarriers(made.module, moved, triton.__version__).separate(first, load) is None


def test_instructions_without_location_show_no_race():
    made = compiled(SAMPLES["a block flipped in place"], 4)
    elsewhere = re.sub(r"\.loc\s+1 \d+", ".loc 1 1", made.compiled.barriers.ptx)
    barriers = replace(made.compiled.barriers, ptx=elsewhere)
    judged = replace(made, compiled=replace(made.compiled, barriers=barriers))
    assert answers(judged) == ["unknown"]


# -- orders ----------------------------------------------------------------------------------------


@triton.jit
def nested(x, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    for outer in range(n):
        tl.store(x + lanes, outer)
        for _ in range(n):
            tl.load(x + lanes)
            tl.debug_barrier()
            tl.store(x + lanes + 8, tl.load(x + lanes + 16))
        tl.debug_barrier()


def test_paths_without_a_barrier_name_the_loop_of_the_next_trip():
    module = call(nested, (1,), x=tensor(64, dtype="i32"), n=3, BLOCK=8).module
    ops = [op for op in module.ops if op.name in MEMORY]
    store = next(op for op in ops if effect_of(op) == "store")
    inner = [op for op in ops if effect_of(op) == "store"][-1]
    order = Order(module, (), {})

    assert {path.turn for path in order.paths(inner, inner)} == set()  # a barrier in each trip
    assert {path.turn for path in order.paths(store, store)} == set()
    assert order.paths(inner, store) == frozenset()
    loads = [op for op in ops if effect_of(op) == "load"]
    assert {(path.turn, path.once) for path in order.paths(inner, loads[0])} <= {(1, True)}


@pytest.mark.parametrize(("n", "answer"), [(0, "violation"), (1, "proven"), (5, "proven")])
def test_a_loop_that_surely_runs_has_its_barrier(n, answer):
    sample = SAMPLES["a barrier in a loop of three trips"]
    assert worst(replace(sample, arguments={**sample.arguments, "n": n}).call()) == answer


@triton.jit
def turned_in_trips(x, first, end, step, BLOCK: tl.constexpr):
    """Trips turn a block around; each has a barrier, and there is none between trips."""
    lanes = tl.arange(0, BLOCK)
    for _ in range(first, end, step):
        values = tl.load(x + BLOCK - 1 - lanes)
        tl.debug_barrier()
        tl.store(x + lanes, values)


@triton.jit
def turned_behind_a_loop(x, first, end, step, BLOCK: tl.constexpr):
    """A block is turned around; the barrier is in a loop."""
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + BLOCK - 1 - lanes)
    for _ in range(first, end, step):
        tl.debug_barrier()
    tl.store(x + lanes, values)


@triton.jit
def turned_where_a_loop_led(x, first, end, step, BLOCK: tl.constexpr):
    """A loop moves the place of a store; without a trip it stores what is loaded next."""
    lanes = tl.arange(0, BLOCK)
    place = x + lanes
    for _ in range(first, end, step):
        place += BLOCK
    tl.store(place, lanes + 1.0)
    tl.store(x + 2 * BLOCK + lanes, tl.load(x + BLOCK - 1 - lanes))


@triton.jit
def turned_while_positive(x, first, end, step, BLOCK: tl.constexpr):
    """Trips turn a block around; the barrier between them depends on the counter."""
    lanes = tl.arange(0, BLOCK)
    for k in range(first, end, step):
        values = tl.load(x + BLOCK - 1 - lanes)
        tl.debug_barrier()
        tl.store(x + lanes, values)
        if k >= 0:
            tl.debug_barrier()


@triton.jit
def turned_behind_counted_barriers(x, first, end, step, BLOCK: tl.constexpr):
    """Trips turn a block around; how many barriers there are depends on the counter."""
    lanes = tl.arange(0, BLOCK)
    for k in range(first, end, step):
        values = tl.load(x + BLOCK - 1 - lanes)
        for _ in range(tl.minimum(k >> 29, 3)):
            tl.debug_barrier()
        tl.store(x + lanes, values)
        tl.debug_barrier()


@triton.jit
def stored_at_a_counter(x, first, end, step, BLOCK: tl.constexpr):
    """Store a block in each trip, at four times the counter, without a barrier."""
    lanes = tl.arange(0, BLOCK)
    for k in range(first, end, step):
        tl.store(x + k * 4 + lanes, lanes + k * 1.0)


WRAPS = (2**30 - 4, 2**30, 3 * 2**29)  # 2**30 - 4, 2**30 - 2**31 - 4, -4
PAST = (2**30, 2**30 + 1, 2**30 + 1)  # four times these, modulo 2**32, are 0, 4, 8 and 12


@pytest.mark.parametrize(
    ("kernel", "bounds", "answer"),
    [
        (turned_in_trips, (0, 7, 7), "proven"),
        (turned_in_trips, WRAPS, "violation"),  # by ideal numbers there is one trip
        (turned_behind_a_loop, (0, 7, 7), "proven"),
        (turned_behind_a_loop, (7, 0, -1), "violation"),  # 7 < 0 is false before the first trip
        (turned_where_a_loop_led, (0, 7, 7), "proven"),
        (turned_where_a_loop_led, (1, 0, -1), "violation"),
        (turned_while_positive, (0, 3, 1), "proven"),
        (turned_while_positive, WRAPS, "violation"),
        (turned_behind_counted_barriers, (2**30 - 4, 2**30, 4), "proven"),
        (turned_behind_counted_barriers, WRAPS, "violation"),
        (stored_at_a_counter, (0, 1, 2**30 + 1), "proven"),
        (stored_at_a_counter, PAST, "violation"),
    ],
)
def test_loops_take_the_trips_that_a_device_takes(kernel, bounds, answer):
    names = ("first", "end", "step")
    made = call(kernel, (1,), x=tensor(1536), BLOCK=512, **dict(zip(names, bounds, strict=True)))
    assert worst(made) == answer


@triton.jit
def held_in_one_program(x, which, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    block = x + tl.program_id(0) * BLOCK
    values = tl.load(block + BLOCK - 1 - lanes)
    if tl.program_id(0) == which:
        tl.debug_barrier()
    tl.store(block + lanes, values)


@pytest.mark.parametrize("which", [0, 1, 7])
def test_programs_that_skip_the_barrier_are_replayed_for_a_race(which):
    """The solver's program may be one whose branch takes the barrier: others are tried, too."""
    made = call(held_in_one_program, (8,), x=tensor(8 * 512), which=which, BLOCK=512)
    assert worst(made) == "violation"


# -- loops that are pipelined ----------------------------------------------------------------------


def from_trip_to_trip(stages, how="", trips=8):
    return Sample(
        f"from trip to trip, {stages} stages {how}",
        pipelined_kernels.from_trip_to_trip,
        {"x": described(17 * 256), "n": trips},
        {"HOW": how, "STAGES": stages, "BLOCK": 256},
        (1,),
    )


@pytest.mark.parametrize(("stages", "answer"), [(1, "proven"), (3, "violation"), (4, "violation")])
def test_a_trip_of_a_pipelined_loop_reads_what_an_earlier_one_has_yet_to_store(stages, answer):
    sample = from_trip_to_trip(stages)
    assert worst(compiled(sample, 4)) == answer
    # Without TTGIR it is not known whether loads are started early, but for loops of one stage.
    assert worst(sample.call()) == ("proven" if stages == 1 else "unknown")


def test_the_finding_says_that_the_load_was_started_early():
    (verdict,) = judge(compiled(from_trip_to_trip(3), 4), [WITHIN])
    assert "started in an earlier trip" in verdict.message
    assert (verdict.iteration, verdict.arg) == (0, "x")


def test_no_race_between_trips_farther_apart_than_the_pipeline_is_deep():
    verdicts = answers(compiled(from_trip_to_trip(3, "far"), 4))
    assert "violation" not in verdicts


@pytest.mark.parametrize("how", ["apart", "in place"])
def test_trips_that_share_nothing_stay_proven_without_ttgir(how):
    assert worst(from_trip_to_trip(3, how).call()) == "proven"


def test_loops_with_a_product_are_pipelined_by_default():
    sample = Sample(
        "products from trip to trip", pipelined_kernels.products_in_a_row,
        {"x": described(9 * 64 * 64, dtype="fp16"), "w": described(64, 64, dtype="fp16"), "n": 8},
        {"SIDE": 64}, (1,),
    )  # fmt: skip
    assert worst(compiled(sample, 4)) == "violation"
    assert worst(sample.call()) == "unknown"
    assert worst(replace(sample.call(), stages=1)) == "proven"


def test_an_atomic_orders_its_program_where_it_was_compiled_with_a_barrier_behind_it():
    """Since Triton 3.9 one that acquires and releases has a barrier on either side."""
    made = compiled(SAMPLES["a counter updated atomically and loaded plainly"], 4)
    barrier = re.search(
        r"atom\.global.*\bbar\.sync.*\bld\.global", made.compiled.barriers.ptx, re.S
    )
    assert (barrier is not None) is (version(triton) >= (3, 9))
    assert worst(made) == ("violation" if barrier is None else "proven")
