"""Both ends of a range: loops whose counter wraps around above, and zero below."""

import pytest

from kvtrace.analysis.conditions import parse_sizes
from kvtrace.converters.findings.envelope import EnvelopeRow, envelope_text
from kvtrace.evaluate import parsed
from kvtrace.schema.errors import BadSetting
from kvtrace.verdicts.sizes.at_size import at_size, refusal_of
from kvtrace.verdicts.sizes.relations import Relations
from kvtrace.verdicts.sizes.sized_claims import rules_of_sizes
from tests.support.compile_ttir import compile_generic
from tests.support.replacing import replace
from tests.verdicts import looping_kernels as kernels
from tests.verdicts.calls import call, tensor
from tests.verdicts.sizes.envelope_rows import program, relations, rows, stated_rows

MOST = 2**31 - 1


def stated(launch):
    return relations(launch, ties=[tie for tie in program(launch) if "grid_x" not in tie])


def summed(n):
    return call(kernels.summed, (1,), x=tensor(n), y=tensor(128), n=n, B=128)


def by_grid(grid, n=100_000):
    return call(kernels.copied_by_grid, (grid,), x=tensor(n), y=tensor(n), n=n, B=256)


def strided(n=100, s=3, extent=400):
    return call(kernels.strided, (1,), x=tensor(extent), y=tensor(128), n=n, s=s, B=128)


def test_a_loop_over_all_of_int32_ends_where_its_counter_wraps_around():
    row = rows(summed(1000), summed(700))["n", "overflow"]

    assert (row.first_bad, row.fine) == (MOST - 126, (0, MOST - 127))
    assert row.what == "i + 128 does not fit into 32 bits, for the load of x (by its loop)"


@pytest.mark.costly("a huge range; other ends stay by day")
def test_the_range_of_a_grid_stride_loop_ends_where_its_counter_wraps():
    row = stated_rows(by_grid(8), by_grid(5))["grid_x", "overflow"]

    # Of 391 programs that count from below 100,000, the last begins at 99,840.
    assert row.first_bad == -(-(2**31 - 99_840) // 256)
    assert row.fine == (1, row.first_bad - 1)


@pytest.mark.parametrize(("value", "fits"), [(-MOST - 1, True), (-MOST - 2, False)])
def test_the_smallest_number_of_32_bits_is_still_an_argument(value, fits):
    sizes = Relations(by_grid(8))
    (scalar,) = (number for number in sizes.base if number[0] == "scalar")
    assert (refusal_of(sizes, sizes.base | {scalar: value}) is None) == fits


def test_at_a_size_beyond_the_range_the_loop_is_a_violation():
    sums = relations(summed(1000), summed(700))
    found = at_size(sums, {"n": 2_147_483_548}, ["overflow", "out-of-bounds"])
    assert "violation" in {v.verdict for v in found.verdicts if v.rule == "overflow"}

    found = at_size(
        stated(by_grid(8)),
        {"grid_x": 8_388_600},
        ["overflow", "out-of-bounds"],
    )
    assert {v.rule for v in found.verdicts if v.verdict == "violation"} == {
        "overflow", "out-of-bounds",
    }  # fmt: skip


def test_the_range_of_a_stride_begins_with_zero():
    row = stated_rows(strided())["s", "tensor"]

    assert (row.first_bad, row.fine) == (5, (0, 4))
    assert row.contract == "0 <= s <= 4"
    assert (row.last_bad, row.below) == (None, "")


def test_a_size_of_zero_may_be_the_last_bad_one():
    one = call(kernels.picked, (1,), x=tensor(100), y=tensor(1), first=0, n=100, s=3)

    row = stated_rows(one)["s", "unknown"]

    # A step of 0 never ends.
    assert (row.fine[0], row.last_bad) == (1, 0)
    assert row.below == "i + s does not fit into 32 bits, for the load of x (by its loop)"


def test_a_scalar_that_reaches_nothing_is_fine_until_its_products_wrap_around():
    one = call(kernels.strided, (1,), x=tensor(400), y=tensor(128), n=1, s=3, B=128)

    # i * s is computed for 128 lanes, of which the first alone is let through.
    most = 2**31 // 127
    assert stated_rows(one)["s", "unknown"].fine == (0, most)


def printed(row):
    listed = EnvelopeRow(
        row.quantity, row.recorded, row.kind, row.first_bad, row.what, contract=row.contract,
        along=row.along, basis=row.basis, reason=row.reason, low=row.fine[0], high=row.fine[1],
        last_bad=row.last_bad, below=row.below, below_kind=row.below_kind,
    )  # fmt: skip
    return " ".join(" ".join(envelope_text([listed], 400, None)).split())


def test_both_ends_of_the_proven_range_are_printed():
    one = call(kernels.picked, (1,), x=tensor(100), y=tensor(1), first=0, n=100, s=3)

    text = printed(stated_rows(one)["s", "unknown"])

    assert "proven for 1 <= s <= " in text
    assert text.endswith(
        "below that, bad at 0: i + s does not fit into 32 bits, for the load of x (by its loop)"
    )


def test_a_negative_size_may_be_asked_for():
    assert parse_sizes("s=-1, n=1_000") == {"s": -1, "n": 1000}
    for text in ("s=--1", "s=", "s=-", "s=1.5", "=3"):
        with pytest.raises(BadSetting, match="--at needs sizes"):
            parse_sizes(text)

    found = at_size(stated(strided()), {"s": -1}, ["out-of-bounds"])
    assert {v.verdict for v in found.verdicts} == {"violation", "proven"}
    assert found.limit is None


def test_no_launch_has_a_negative_extent_or_no_programs():
    copied = relations(summed(1000), summed(700))
    assert at_size(copied, {"n": -1}, ["overflow"]).limit == (
        "x.shape[0] is -1, and no extent is negative"
    )
    assert at_size(stated(by_grid(8)), {"grid_x": 0}, ["overflow"]).limit == (
        "grid_x is 0, and CUDA launches 1 to 2,147,483,647"
    )


def test_a_mask_that_lets_no_lane_through_ends_no_range():
    """A single element has no next element: that all its loads are masked off is no defect."""
    launches = (
        call(kernels.following, (-(-n // 128),), x=tensor(n), y=tensor(n), n=n, B=128)
        for n in (1000, 700)
    )

    row = stated_rows(*launches, blocks=(128,))["n", "overflow"]

    assert (row.fine, row.last_bad) == ((0, MOST - 127), None)
    assert row.what.startswith("i + 1 does not fit into 32 bits")
    assert "mask-always-false" not in rules_of_sizes()


def test_a_smaller_grid_is_another_variant_and_no_bad_size():
    launches = (
        call(kernels.following, (grid,), x=tensor(1000), y=tensor(1000), n=1000, B=128)
        for grid in (10, 9)
    )

    row = stated_rows(*launches)

    (grid,) = (each for (quantity, _), each in row.items() if quantity == "grid_x")
    assert (grid.last_bad, grid.below_kind) == (7, "constants")
    assert "; below that, another variant from 7 down: the grid" in printed(grid)


def test_a_size_for_which_triton_compiles_again_is_no_violation():
    types = {"x": "*fp32", "y": "*fp32", "n": "i32", "B": "constexpr"}
    text = compile_generic(kernels.following, types, {"B": 128}, divisible_by_16=("n",))
    launches = [
        call(kernels.following, (-(-n // 128),), x=tensor(n), y=tensor(n), n=n, B=128)
        for n in (1008, 720)
    ]
    ties = program(*launches, blocks=(128,))
    one = relations(*(replace(launch, module=parsed(text)) for launch in launches), ties=ties)

    found = at_size(one, {"n": 1001})

    assert found.limit == "n is 1,001, not a multiple of 16: Triton compiles another variant"
    assert {v.verdict for v in found.verdicts} == {"proven"}
    assert at_size(one, {"n": 1040}).limit is None


def test_the_solver_proves_an_end_that_linear_reasoning_does_not():
    """Linear reasoning overestimates which of the lanes 10 to 15 the mask lets through."""
    row = stated_rows(call(kernels.either_way, (1,), x=tensor(100), y=tensor(16), s=2))[
        "s", "tensor"
    ]

    assert (row.fine, row.first_bad) == ((0, 5), 6)


# -- which numbers grow together ------------------------------------------------------------------


def test_the_modulus_of_an_index_is_the_extent_that_it_accesses():
    launches = (
        call(kernels.around, (8,), x=tensor(n), y=tensor(1024), n=n, m=1024, B=128)
        for n in (1000, 700)
    )

    row = stated_rows(*launches)["n", "argument"]

    assert "x.shape[0] = n" in row.along
    assert row.fine == (1, MOST)


@pytest.mark.parametrize("constant", [8, 1000])
def test_an_extent_that_a_constant_bounds_grows_with_nothing(constant):
    """Also where it was, by chance, as large as a scalar."""
    launches = (
        call(
            kernels.around_constant, (-(-m // 128),), x=tensor(constant), y=tensor(m), m=m,
            K=constant, B=128,
        )
        for m in (1000, 700)
    )  # fmt: skip

    row = stated_rows(*launches, blocks=(128,))["m", "argument"]

    assert not any(each.startswith("x.shape[0]") for each in row.along)
    assert row.fine == (0, MOST)


def test_half_of_a_size_is_an_extent_that_grows_with_it():
    launches = (
        call(kernels.halved, (-(-n // 256),), x=tensor(n), y=tensor(n // 2), n=n, B=128)
        for n in (1001, 700)
    )

    ties = ["y.shape[0] = n // 2", "grid_x = cdiv(n, 256)"]
    row = rows(*launches, ties=ties)["n", "argument"]

    assert {"x.shape[0] = n", "y.shape[0] = n // 2"} <= set(row.along)
    assert row.fine == (0, MOST)


def test_launches_of_several_sizes_say_that_a_tensor_stays_as_it_is():
    first, other = (
        call(kernels.strided, (1,), x=tensor(199), y=tensor(128), n=n, s=2, B=128)
        for n in (100, 60)
    )  # fmt: skip

    assert stated_rows(first, other)["n", "tensor"].first_bad == 101
