"""The first bad size of public reports, from a small launch, and none of kernels that are fixed."""

import tracemalloc

import numpy as np
import pytest

from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.rules import overflow
from kvtrace.verdicts.sizes.at_size import at_size
from kvtrace.verdicts.sizes.envelope import envelope
from kvtrace.verdicts.sizes.index_tensors import BadContract, contract_of, violation
from kvtrace.verdicts.sizes.launch_numbers import Ambiguous, call_with, launch_at
from kvtrace.verdicts.sizes.relations import Relations
from tests.verdicts import envelope_kernels as kernels
from tests.verdicts import generic_kernels
from tests.verdicts.calls import call, ids, tensor
from tests.verdicts.sizes.envelope_rows import program, relations, rows, stated_rows

WRAP = 2**31


def paged(kernel, page=480, width=576):
    return call(
        kernel, (3, page), cache=tensor(5, page, width), table=ids(0, 2, 4),
        out=tensor(3, page, 512), stride_page=page * width, stride_token=width, PAGE=page,
        WIDTH=512,
    )  # fmt: skip


def test_vllm_47671_pages_from_about_7767_on():
    found = rows(paged(kernels.paged))
    row = found["values of table", "overflow"]

    # A page is 480 tokens of 576; the last tokens of page 7,767 lie beyond 2^31.
    assert 7767 * 480 * 576 < WRAP <= 7767 * 480 * 576 + 479 * 576 + 511
    assert row.first_bad == 7767
    assert "page * stride_page" in row.what
    assert "load of cache" in row.what
    # Fine is what every rule says: the cache has five pages.
    assert row.contract is None
    row = found["values of table", "tensor"]
    assert (row.first_bad, row.contract) == (5, "0 <= values of table <= 4")


def test_strides_are_bad_if_recorded_indices_then_leave_the_tensor():
    row = stated_rows(
        call(
            kernels.from_starts, (3,), q=tensor(50, 512), starts=ids(0, 7, 20),
            out=tensor(3, 64), stride_token=512, DIM=64,
        )
    )["stride_token", "overflow"]  # fmt: skip

    assert row.first_bad == -(-WRAP // 20)
    assert "values of starts stay within 0 to 20" in row.along


def test_vllm_47671_fixed_has_no_bad_page():
    found = rows(paged(kernels.paged_fixed))

    assert found["values of table", "tensor"].first_bad == 5
    assert ("values of table", "overflow") not in found


def test_vllm_50427_as_many_blocks_as_the_report_says():
    block, heads, dim = 16, 8, 128
    stride = 2 * heads * dim
    row = rows(
        call(
            kernels.interleaved, (3,), cache=tensor(7, block, 2 * heads * dim), blocks=ids(0, 2, 6),
            out=tensor(3, block, dim), stride_token=stride, BLOCK=block, DIM=dim,
        )
    )["values of blocks", "overflow"]  # fmt: skip

    assert row.first_bad == WRAP // (block * 2 * heads * dim)


def test_an_index_tensor_that_grows_with_the_size_is_not_allocated():
    """At the first bad size it has 2.9 GB, which are not needed to say so."""
    first, other = (
        call(
            kernels.spread, (-(-n // 128),), out=tensor(9000), n=n, BLOCK=128,
            index=tensor(n, dtype="i32", data=np.zeros(n, np.int32)),
        )
        for n in (1000, 600)
    )  # fmt: skip
    tracemalloc.start()
    try:
        row = stated_rows(first, other, blocks=(128,))["n", "overflow"]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert row.first_bad == WRAP // 3 + 2
    assert peak < 100e6


@pytest.mark.parametrize(("stride", "tokens"), [(8192, 262_144), (16384, 131_072)])
def test_sglang_20389_tokens_by_stride(stride, tokens):
    row = rows(
        call(
            kernels.from_starts, (3,), q=tensor(50, stride), starts=ids(0, 7, 20),
            out=tensor(3, 64), stride_token=stride, DIM=64,
        )
    )["values of starts", "overflow"]  # fmt: skip

    assert row.first_bad == tokens


def test_sglang_9344_indices_in_a_loop():
    stride = 8 * 64
    found = rows(
        call(
            kernels.gathered, (1,), cache=tensor(100, stride), indices=ids(*range(37)),
            out=tensor(64), tokens=37, stride_token=stride, BLOCK=16, DIM=64,
        )
    )  # fmt: skip

    assert found["values of indices", "overflow"].first_bad == WRAP // stride
    assert found["values of indices", "tensor"].first_bad == 100


def sequences(kernel, batch=3, length=300, heads=4, dim=64):
    return call(
        kernel, (-(-length // 64), batch * heads), k=tensor(batch, length, heads, dim),
        out=tensor(batch, length, heads, dim), length=length, H=heads, K=dim, BT=64,
    )  # fmt: skip


def test_fla_1080_by_the_arithmetic_of_the_report():
    """As reported, the greatest start is ((batch - 1) * length * heads + heads - 1) * dim."""
    row = stated_rows(
        sequences(kernels.chunks), sequences(kernels.chunks, length=700), blocks=(64,)
    )["length", "overflow"]

    def start(length):
        return (2 * length * 4 + 3) * 64

    assert start(row.first_bad - 1) < WRAP <= start(row.first_bad)
    assert row.along == (
        "k.shape[1] = length",
        "out.shape[1] = length",
        "grid_x = cdiv(length, 64)",
    )


def test_fla_1080_fixed_ends_with_the_argument():
    found = stated_rows(
        sequences(kernels.chunks_fixed), sequences(kernels.chunks_fixed, length=700), blocks=(64,)
    )

    assert found["length", "argument"].first_bad == WRAP
    assert found["length", "argument"].contract == f"0 <= length <= {WRAP - 1:,}"


def test_fla_818_starts_that_were_made_32_bits():
    row = rows(
        call(
            kernels.packed, (3,), k=tensor(100, 32, 128), out=tensor(3, 128),
            starts=ids(0, 10, 30, dtype="i64"), H=32, K=128,
        )
    )["values of starts", "overflow"]  # fmt: skip

    assert row.first_bad == WRAP // (32 * 128)


def many_rows(kernel, count=24):
    x, out = tensor(count, 7000), tensor(count, 7000)
    return call(kernel, (count,), x=x, out=out, stride=7000, columns=7000, BLOCK=8192)


def test_the_first_bad_size_fails_when_run_and_the_size_before_is_proven():
    launches = many_rows(kernels.rows_of), many_rows(kernels.rows_of, 30)
    of_rows = relations(*launches)
    size = of_rows.number("x.shape[0]")
    bad = rows(*launches)["x.shape[0]", "overflow"].first_bad

    assert bad == (WRAP - 1) // 7000 + 2

    def verdicts(value):
        numbers, _ = launch_at(of_rows, {size: value})
        return {v.verdict for v in overflow.judge(BoundCall(call_with(launches[0], numbers)))}

    assert "violation" in verdicts(bad)
    assert verdicts(bad - 1) == {"proven"}


def test_a_fixed_kernel_is_proven_up_to_the_grid():
    launches = many_rows(kernels.rows_of_fixed), many_rows(kernels.rows_of_fixed, 30)

    row = stated_rows(*launches)["x.shape[0]", "grid"]

    assert (row.first_bad, row.contract) == (WRAP, f"0 <= x.shape[0] <= {WRAP - 1:,}")


def test_a_grid_of_two_axes_has_a_smaller_proven_range():
    launches = (sequences(kernels.chunks_fixed, batch=batch, heads=1) for batch in (50, 70))

    row = stated_rows(*launches)["k.shape[0]", "grid"]

    assert row.first_bad == 65_536


# -- correct kernels ------------------------------------------------------------------------------


def test_no_overflow_of_a_masked_flat_kernel():
    launches = [
        call(
            generic_kernels.add, (-(-n // 1024),), x=tensor(n), y=tensor(n), result=tensor(n), n=n,
            BLOCK=1024,
        )
        for n in (4000, 1500)
    ]  # fmt: skip

    row = stated_rows(*launches, blocks=(1024,))["n", "argument"]

    assert (row.first_bad, row.contract) == (WRAP, f"0 <= n <= {WRAP - 1:,}")
    assert {kind for _, kind in stated_rows(*launches, blocks=(1024,))} == {"argument"}


def test_more_columns_than_the_block_covers_belong_to_another_variant():
    found = stated_rows(
        *(
            call(
                generic_kernels.softmax, (9,), x=tensor(9, n), result=tensor(9, n), x_stride=n,
                result_stride=n, columns=n, BLOCK=64,
            )
            for n in (50, 60)
        )
    )  # fmt: skip

    assert found["columns", "constants"].first_bad == 65


# -- what varies together -------------------------------------------------------------------------


def square(n, m):
    x, out = tensor(n, m), tensor(n, m)
    return call(kernels.rows_of_fixed, (n,), x=x, out=out, stride=m, columns=m, BLOCK=64)


def test_a_second_launch_distinguishes_equal_extents_of_a_tensor():
    found = rows(square(64, 64))
    assert {kind for _, kind in found} == {"unseen"}
    assert any("record a launch with another" in row.reason for row in found.values())

    found = stated_rows(square(64, 64), square(32, 64))
    assert found["x.shape[0]", "grid"].first_bad == WRAP


def padded_rows():
    x, out = (tensor(6, 50, strides=(64, 1)) for _ in range(2))
    return call(kernels.rows_of_fixed, (6,), x=x, out=out, stride=64, columns=50, BLOCK=64)


def test_a_stride_does_not_make_a_tensor_grow():
    found = at_size(Relations(padded_rows()), {"stride": 70}, ("out-of-bounds",))

    assert found.reason.startswith("x.shape[0] was 6, and how it grows with stride is not known")


def test_padded_rows_do_not_determine_how_a_stride_grows():
    ties = [f"{name}.shape[1] = columns" for name in ("x", "out")]
    launches = relations(padded_rows(), ties=ties)

    with pytest.raises(Ambiguous, match="x was not contiguous"):
        launch_at(launches, {launches.number("columns"): 70})


def test_contents_that_were_not_recorded_are_unknown():
    first = call(
        kernels.from_starts, (3,), q=tensor(50, 512), starts=tensor(3, dtype="i32"),
        out=tensor(3, 64), stride_token=512, DIM=64,
    )  # fmt: skip

    found = stated_rows(first)

    assert found["values of starts", "overflow"].first_bad == WRAP // 512
    assert "starts" in found["stride_token", "unknown"].reason


# -- at a size ------------------------------------------------------------------------------------


def test_a_size_is_judged_without_running_it():
    recorded = sequences(kernels.chunks), sequences(kernels.chunks, length=700)
    launches = relations(*recorded, ties=program(*recorded, blocks=(64,)))

    found = at_size(launches, {"length": 5_000_000}, ("overflow", "out-of-bounds"))

    assert "overflow" in {v.rule for v in found.verdicts if v.verdict == "violation"}
    assert "grid_x = cdiv(length, 64)" in found.along

    small = at_size(launches, {"length": 500_000}, ("overflow", "out-of-bounds"))
    assert {v.verdict for v in small.verdicts} == {"proven"}


def test_a_size_beyond_the_grid_limit_has_no_launch():
    batches = [sequences(kernels.chunks_fixed, batch=batch, heads=1) for batch in (50, 70)]

    found = at_size(
        relations(*batches, ties=program(*batches)), {"k.shape[0]": 70_000}, ("overflow",)
    )

    assert found.verdicts == ()
    assert found.limit == "grid_y is 70,000, and CUDA launches 1 to 65,535"


# -- contracts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("subject", ["page", "table"])
@pytest.mark.costly("searches sizes of two arguments; fixed ones stay")
def test_a_contract_lets_values_grow_with_what_bounds_them(subject):
    contract = contract_of(f"0 <= {subject} < cache.shape[0]")

    launch = paged(kernels.paged)
    ties = [tie for tie in program(launch) if not tie.startswith("cache.shape[0]")]
    found = envelope(relations(launch, ties=ties), [contract])

    row = next(row for row in found if row.quantity == "cache.shape[0]")
    # Page 7,767 is the last of 7,768.
    assert (row.kind, row.first_bad, row.contract) == (
        "overflow", 7768, "1 <= cache.shape[0] <= 7,767",
    )  # fmt: skip
    assert f"0 <= {subject} < cache.shape[0]" in row.along


def test_a_contract_is_checked_on_a_launch():
    assert violation(contract_of("0 <= page < cache.shape[0]"), paged(kernels.paged)) is None
    assert violation(contract_of("0 <= page < cache.shape[0] - 1"), paged(kernels.paged)) == (
        "0 <= page < cache.shape[0] - 1: table holds 4"
    )


@pytest.mark.parametrize("text", ["page", "0 <= page", "0 < 1 < 2", "0 > page > 3", "0 <="])
def test_a_text_of_another_form_is_refused_as_a_contract(text):
    with pytest.raises(BadContract, match="is not a contract such as"):
        contract_of(text)
