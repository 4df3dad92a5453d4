"""The rule `race-within-program`: orders, threads, replays; random kernels against their lanes."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import triton
import triton.language as tl

from corpus.defects import within
from corpus.questions.defects import Sample
from corpus.questions.defects import tensor as described
from kvtrace.backends.compiled_kernels import generic
from kvtrace.evaluate import parsed
from kvtrace.ir.ops import MEMORY, effect_of
from kvtrace.recorded_calls.compiled_barriers import CompiledBarriers
from kvtrace.recorded_calls.compiled_code import cta_splits
from kvtrace.verdicts.conflicts.barriers import Order
from kvtrace.verdicts.judge import judge
from tests.support.thorough import usually
from tests.verdicts import pipelined_kernels, within_kernels
from tests.verdicts.calls import call, tensor
from tests.verdicts.conflicts.compiled_samples import assembled, compiled

RULE = "race-within-program"
SAMPLES = {sample.name: sample for sample in within.CASES}


def answers(judged):
    return [verdict.verdict for verdict in judge(judged, [RULE])]


def version(package):
    return tuple(map(int, package.__version__.split(".")[:2]))


def worst(judged):
    found = answers(judged)
    return next(a for a in ("violation", "unknown", "proven") if a in found)


@triton.jit
def clamped_rows(x, rows, n, BLOCK: tl.constexpr):
    """Lanes past the end load the last row, which a lane before them stores, and store nothing."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    last = tl.minimum(i, n - 1)
    tl.store(rows + i, tl.load(x + last) + tl.load(rows + last), mask=i < n)


def test_the_reason_is_that_of_the_byte_where_lanes_meet():
    """Other bytes and programs are replayed, too, and there no lanes meet."""
    rows = call(clamped_rows, (3,), x=tensor(37), rows=tensor(37), n=37, BLOCK=16)

    (verdict,) = judge(rows, [RULE])

    assert verdict.reason == "both orders of the lanes gave the same result in the replay"


# -- with the code that was compiled ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "warps", "answer"),
    [
        ("a block flipped in place", 4, "violation"),
        ("a block flipped in place", 1, "unknown"),
        ("a block flipped in place, all loaded first", 4, "proven"),
        ("a counter read, stored, and used by all lanes", 4, "violation"),
        ("a counter that only its store uses", 4, "proven"),
        ("even elements from odd ones, all stored", 4, "proven"),  # four a thread, by the layout
        ("a tile transposed in place", 4, "proven"),  # it goes to another layout, with a barrier
        ("scratch stored by rows and loaded by columns", 4, "proven"),  # the same threads
        ("a number carried, the barrier before its store only", 4, "violation"),
        ("a sum lies between a store and a load by other lanes", 4, "proven"),
        ("an element of what is stored after sums of a loop", 4, "proven"),
        ("an element of what is stored after sums of a loop of no trips", 4, "violation"),
        ("sums of registers in a loop between a store and a load", 4, "unknown"),
    ],
)
def test_layouts_and_barriers_of_the_compiled_code_decide(name, warps, answer):
    assert worst(compiled(SAMPLES[name], warps)) == answer


@pytest.mark.parametrize("name", [*SAMPLES][::6])
def test_an_empty_grid_has_no_race(name):
    """The launch is legal; a shape of zero makes it."""
    found = judge(replace(SAMPLES[name].call(), grid=(0, 1, 1)))
    assert [str(v) for v in found if v.verdict != "proven"] == []


@triton.jit
def put_back(x, loaded, stored, BLOCK: tl.constexpr):
    """Store a block, then load an element of it and store a number that is made of it."""
    lanes = tl.arange(0, BLOCK)
    tl.store(x + lanes, lanes + 1.0)
    tl.store(x + stored, tl.load(x + loaded) + 1000)


@pytest.mark.parametrize(
    ("loaded", "stored", "answer"),
    [
        (3, 3, "proven"),  # by the layout the first thread has elements 0 to 3 of each 512
        (4, 3, "unknown"),  # of the second thread
        (128, 3, "violation"),  # of the second warp
        (3, 128, "violation"),
    ],
)
def test_a_loaded_scalar_that_only_a_store_uses_belongs_to_one_thread(loaded, stored, answer):
    arguments = {"x": described(512), "loaded": loaded, "stored": stored}
    sample = Sample("put back", put_back, arguments, {"BLOCK": 512}, (1,))
    assert worst(compiled(sample, 4)) == answer


BEHIND_BARRIERS = (
    "a block flipped in place, all loaded first",
    "a store, a barrier, then a load by other lanes",
    "a number carried, barriers on both sides of its store",
)


@pytest.mark.parametrize("name", BEHIND_BARRIERS)
def test_a_barrier_holds_the_threads_of_one_cta(name):
    """Of two CTAs each goes on when its own threads are there: `bar.sync` is not of a cluster."""
    judged = replace(SAMPLES[name].call(), ctas=2)
    verdicts = [v for v in judge(judged, [RULE]) if v.verdict != "proven"]
    assert verdicts
    assert all("the threads of one CTA only" in verdict.reason for verdict in verdicts)


@pytest.mark.parametrize(
    ("name", "answer"), [*zip(BEHIND_BARRIERS, ("violation", "violation", "unknown"), strict=True)]
)
def test_a_barrier_of_one_cta_does_not_order_lanes_of_another(name, answer):
    """Which CTA stores a scalar is not known: the last sample, which stores one, is undecided."""
    verdicts = [v for v in judge(compiled(SAMPLES[name], 4, ctas=2), [RULE]) if v.op is not None]
    shown = [v for v in verdicts if v.verdict == "violation"]
    assert bool(shown) is (answer == "violation")
    assert all("different CTAs of the program" in v.message for v in shown)
    unknown = [v for v in verdicts if v.verdict == "unknown"]
    assert all("the threads of one CTA only" in v.reason for v in unknown)


@triton.jit
def exchanged(x, by, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + (lanes ^ by))
    tl.debug_barrier()
    tl.store(x + lanes, values)


@pytest.mark.parametrize(
    ("by", "ctas", "warps", "answer"),
    [
        (256, 1, 4, "proven"),
        (256, 2, 4, "violation"),
        (256, 2, 1, "violation"),
        (128, 2, 4, "unknown"),  # within a CTA, where its barrier would do
        (128, 4, 4, "violation"),
        (64, 4, 4, "unknown"),
    ],
)
def test_lanes_of_one_cta_are_not_shown_to_race_behind_its_barrier(by, ctas, warps, answer):
    arguments = {"x": described(512), "by": by}
    sample = Sample("exchanged", exchanged, arguments, {"BLOCK": 512}, (1,))
    assert worst(compiled(sample, warps, ctas=ctas)) == answer


CTAS = re.compile(
    r"CGALayout = \[\[1\]\]|CTAsPerCGA = \[2\], CTASplitNum = \[2\], CTAOrder = \[0\]"
)


@pytest.mark.parametrize(
    ("layout", "line", "split"),
    [
        ("CGALayout = [[1]]", "", {(2,)}),
        ("CTAsPerCGA = [2], CTASplitNum = [2], CTAOrder = [0]", "", {(2,)}),  # until Triton 3.5
        ("CGALayout = [[0]]", "", set()),  # both have all lanes
        ("CTAsPerCGA = [2], CTASplitNum = [1], CTAOrder = [0]", "", set()),
        ("CGALayout = [[1]]", "barrier.cluster.arrive;", set()),  # one may wait for the other
        ("CGALayout = [[1]]", "mapa.shared::cluster.u32 %r1, %r2, 0;", set()),
    ],
)
def test_layouts_that_split_a_block_over_ctas_give_the_cta_of_a_lane(layout, line, split):
    made = assembled(SAMPLES["a block flipped in place, all loaded first"], 4, ctas=2)
    ttgir, count = CTAS.subn(layout, made.asm["ttgir"])
    assert count > 0
    module = parsed(generic.generic_ttir(made.asm["ttir"]))
    ptx = made.asm["ptx"].replace("bar.sync", f"{line}\n\tbar.sync")
    if version(triton) < (3, 9):  # from then on all wait before they end
        waits = "barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;"
        ptx = ptx.replace("\tret;", f"\t{waits}\n\tret;")
    splits = cta_splits(module, ttgir, ptx, triton=triton.__version__)
    assert set(splits.values()) == split


def test_layouts_over_several_ctas_are_not_read_as_layouts_of_one():
    made = compiled(SAMPLES["a block flipped in place, all loaded first"], 4, ctas=2)
    assert made.compiled.layouts == {}


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
    (verdict,) = judge(compiled(from_trip_to_trip(3), 4), [RULE])
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


def test_lanes_of_one_warp_are_unknown_as_only_lockstep_orders_them():
    (verdict,) = judge(compiled(SAMPLES["a block flipped in place"], 1), [RULE])
    assert "lockstep" in verdict.reason


def test_a_witness_is_of_two_warps():
    (verdict,) = judge(compiled(SAMPLES["a block flipped in place"], 4), [RULE])
    assert verdict.verdict == "violation"
    assert verdict.other_op.index != verdict.op.index
    # four elements a thread would be 128 a warp; this kernel has one: 32 a warp
    assert verdict.lane[0] // 32 % 4 != (511 - verdict.lane[0]) // 32 % 4


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


# -- with recorded contents ------------------------------------------------------------------------


@triton.jit
def gathered_rows(x, rows, STEP: tl.constexpr, TRIPS: tl.constexpr, BLOCK: tl.constexpr):
    """Rows named by an index are put, turned around, into a program's own; in each trip one."""
    lanes = tl.arange(0, BLOCK)
    own = x + tl.program_id(0) * TRIPS * BLOCK
    for trip in range(TRIPS):
        row = tl.load(rows + tl.program_id(0) * TRIPS + trip)
        values = tl.load(x + row * BLOCK + lanes)
        tl.store(own + trip * STEP + BLOCK - 1 - lanes, values)


@pytest.mark.parametrize(
    ("rows", "step", "answer"),
    [
        ([2, 3, 0, 1], 8, "proven"),  # each program reads the other's rows
        ([2, 3, 0, 2], 8, "violation"),  # the second one reads a row that it has stored to
        ([2, 3, 0, 1], 7, "violation"),  # trips overlap by an element
        (None, 8, "unknown"),
    ],
)
def test_addresses_by_loaded_indices_are_decided(rows, step, answer):
    index = tensor(4, dtype="i32", data=None if rows is None else np.array(rows, np.int32))
    made = call(gathered_rows, (2,), x=tensor(4 * 8), rows=index, STEP=step, TRIPS=2, BLOCK=8)
    (verdict,) = judge(made, [RULE])
    assert verdict.verdict == answer
    assert verdict.method == "affine" or answer != "proven"  # row by row, not by an evaluation


@triton.jit
def led_by_itself(x, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    place = tl.load(x)
    tl.store(x + place + lanes, tl.load(x + 3 * BLOCK - lanes))


def test_an_index_that_the_launch_writes_to_proves_nothing():
    contents = np.full(64, 2, np.int32)
    made = call(led_by_itself, (2,), x=tensor(64, dtype="i32", data=contents), BLOCK=8)
    (verdict,) = judge(made, [RULE])
    assert verdict.verdict == "unknown"
    assert "depends on the contents of x" in verdict.reason  # by formulas, then the evaluation
    assert verdict.reason.endswith(
        "; evaluated: its address may depend on values that the launch itself writes"
    )


@triton.jit
def counted(x, y, FORM: tl.constexpr, BLOCK: tl.constexpr):
    count = tl.load(x)
    if FORM == "masked":
        tl.store(x, 1, mask=count == 0)
    elif FORM == "exchanged":
        if count == 0:
            tl.atomic_xchg(x, 1)
    elif count == 0:
        tl.store(x, 1)
    tl.store(y + tl.arange(0, BLOCK), count + tl.arange(0, BLOCK))


@pytest.mark.parametrize("form", ["branch", "masked", "exchanged"])
def test_a_condition_that_the_launch_writes_is_no_address(form):
    numbers = (np.zeros(1, np.int32), np.zeros(64, np.int32))
    x, y = (tensor(len(data), dtype="i32", data=data) for data in numbers)
    verdicts = judge(call(counted, (1,), x=x, y=y, FORM=form, BLOCK=64), [RULE])
    (unknown,) = (verdict for verdict in verdicts if verdict.verdict != "proven")
    assert unknown.verdict == "unknown"
    assert unknown.reason.endswith(
        "; evaluated: whether it runs may depend on values that the launch itself writes"
    )


# -- what it costs ---------------------------------------------------------------------------------


@triton.jit
def in_place(x, y, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    tl.store(x + lanes, tl.load(x + lanes, mask=mask) + tl.load(y + lanes, mask=mask), mask=mask)


def test_elementwise_in_place_takes_no_solver():
    made = call(in_place, (8,), x=tensor(1000), y=tensor(1000), n=1000, BLOCK=128)
    (verdict,) = judge(made, [RULE])
    assert (verdict.verdict, verdict.method, verdict.solver_ns) == ("proven", "affine", None)


# -- random kernels --------------------------------------------------------------------------------


@pytest.mark.costly("random kernels; layouts one by one stay by day")
def test_proven_kernels_have_one_result_and_racing_kernels_several(tmp_path, say):
    counts = Counter()
    for seed in range(usually(20, thorough=1500)):
        kernel = within_kernels.random_kernel(seed)
        made = within_kernels.compiled_from(kernel, tmp_path, f"within_{seed}")
        found = answers(call(made, (1,), x=tensor(within_kernels.CELLS, dtype="i32")))
        expected = within_kernels.in_order(kernel)
        one_result = all(left == expected for left in within_kernels.in_other_orders(kernel))
        if set(found) == {"proven"}:
            assert one_result, (seed, kernel.text())
        if "violation" in found:
            assert not one_result, (seed, kernel.text())
        counts[next((a for a in ("violation", "unknown") if a in found), "proven")] += 1
        counts["several results"] += not one_result
    say(RULE, f"random kernels: {dict(counts)}, none of them wrong")
    assert counts["violation"] > counts["several results"] * 2 / 3
    assert counts["proven"] > 0
