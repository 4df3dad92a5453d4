"""The rule `race-within-program`: threads, replays; random kernels against their lanes."""

import re
from collections import Counter

import numpy as np
import pytest
import triton
import triton.language as tl

from corpus.questions.defects import Sample
from corpus.questions.defects import tensor as described
from kvtrace.backends.compiled_kernels import generic
from kvtrace.evaluate import parsed
from kvtrace.recorded_calls.compiled_code import cta_splits
from kvtrace.verdicts.judge import judge
from tests.support.replacing import replace
from tests.support.thorough import usually
from tests.verdicts import within_kernels
from tests.verdicts.calls import call, tensor
from tests.verdicts.conflicts.compiled_samples import (
    SAMPLES,
    WITHIN,
    answers,
    assembled,
    compiled,
    version,
    worst,
)


@triton.jit
def clamped_rows(x, rows, n, BLOCK: tl.constexpr):
    """Lanes past the end load the last row, which a lane before them stores, and store nothing."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    last = tl.minimum(i, n - 1)
    tl.store(rows + i, tl.load(x + last) + tl.load(rows + last), mask=i < n)


def test_the_reason_is_that_of_the_byte_where_lanes_meet():
    """Other bytes and programs are replayed, too, and there no lanes meet."""
    one_result = "both orders of the lanes gave the same result in the replay"
    numbers = np.arange(37, dtype=np.float32)
    for x in (tensor(37), tensor(37, data=numbers)):
        rows = call(clamped_rows, (3,), x=x, rows=tensor(37, data=numbers), n=37, BLOCK=16)

        (verdict,) = judge(rows, [WITHIN])

        made_up = "" if x.storage.data is not None else ", which did not have the data of x"
        assert verdict.reason == one_result + made_up


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
        ("an element of what is stored after sums of a loop of no trips", 4, "unknown"),  # one warp
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
    verdicts = [v for v in judge(judged, [WITHIN]) if v.verdict != "proven"]
    assert verdicts
    assert all("the threads of one CTA only" in verdict.reason for verdict in verdicts)


@pytest.mark.parametrize(
    ("name", "answer"), [*zip(BEHIND_BARRIERS, ("violation", "violation", "unknown"), strict=True)]
)
def test_a_barrier_of_one_cta_does_not_order_lanes_of_another(name, answer):
    """Which CTA stores a scalar is not known: the last sample, which stores one, is undecided."""
    verdicts = [v for v in judge(compiled(SAMPLES[name], 4, ctas=2), [WITHIN]) if v.op is not None]
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


def test_lanes_of_one_warp_are_unknown_as_only_lockstep_orders_them():
    (verdict,) = judge(compiled(SAMPLES["a block flipped in place"], 1), [WITHIN])
    assert "lockstep" in verdict.reason


def test_a_witness_is_of_two_warps():
    (verdict,) = judge(compiled(SAMPLES["a block flipped in place"], 4), [WITHIN])
    assert verdict.verdict == "violation"
    assert verdict.other_op.index != verdict.op.index
    # four elements a thread would be 128 a warp; this kernel has one: 32 a warp
    assert verdict.lane[0] // 32 % 4 != (511 - verdict.lane[0]) // 32 % 4


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
    (verdict,) = judge(made, [WITHIN])
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
    (verdict,) = judge(made, [WITHIN])
    assert verdict.verdict == "unknown"
    assert "depends on the contents of x" in verdict.reason  # by formulas, then the evaluation
    assert verdict.reason.endswith(
        "; evaluated: its address may depend on what the launch itself writes to x"
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


@triton.jit
def locked_count(lock, out, ORDERED: tl.constexpr, BLOCK: tl.constexpr):
    """The first program with the lock stores, the others add, as in a layer norm's backward."""
    lanes = tl.arange(0, BLOCK)
    total = tl.full((BLOCK,), 1.0, tl.float32)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    count = tl.load(lock + 1)
    if ORDERED:
        tl.debug_barrier()
    if count == 0:
        tl.atomic_xchg(lock + 1, 1)
    else:
        total += tl.load(out + lanes)
    tl.store(out + lanes, total)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@pytest.mark.parametrize(("ordered", "answer"), [(False, "unknown"), (True, "proven")])
def test_the_barrier_that_a_reason_names_decides_a_count_behind_a_lock(ordered, answer):
    lock = tensor(2, dtype="i32", data=np.zeros(2, np.int32))
    made = call(locked_count, (4,), lock=lock, out=tensor(32), ORDERED=ordered, BLOCK=32)
    verdicts = judge(made, [WITHIN])
    assert {verdict.verdict for verdict in verdicts} == {answer, "proven"}
    unknown = [verdict.reason for verdict in verdicts if verdict.verdict == "unknown"]
    assert all("writes to lock: tl.debug_barrier()" in reason for reason in unknown)


@pytest.mark.parametrize("form", ["branch", "masked", "exchanged"])
def test_a_condition_that_the_launch_writes_is_no_address(form):
    numbers = (np.zeros(1, np.int32), np.zeros(64, np.int32))
    x, y = (tensor(len(data), dtype="i32", data=data) for data in numbers)
    verdicts = judge(call(counted, (1,), x=x, y=y, FORM=form, BLOCK=64), [WITHIN])
    (unknown,) = (verdict for verdict in verdicts if verdict.verdict != "proven")
    assert unknown.verdict == "unknown"
    assert unknown.reason.endswith(
        "; evaluated: whether it runs may depend on what the launch itself writes to x: "
        "tl.debug_barrier() after its load of that would order both"
    )


# -- what it costs ---------------------------------------------------------------------------------


@triton.jit
def in_place(x, y, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    tl.store(x + lanes, tl.load(x + lanes, mask=mask) + tl.load(y + lanes, mask=mask), mask=mask)


def test_elementwise_in_place_takes_no_solver():
    made = call(in_place, (8,), x=tensor(1000), y=tensor(1000), n=1000, BLOCK=128)
    (verdict,) = judge(made, [WITHIN])
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
    say(WITHIN, f"random kernels: {dict(counts)}, none of them wrong")
    assert counts["violation"] > counts["several results"] * 2 / 3
    assert counts["proven"] > 0
