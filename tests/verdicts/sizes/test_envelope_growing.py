"""Extents and grids that grow with a size, read off recorded launches of two sizes."""

import pytest
import triton
import triton.language as tl

from kvtrace.verdicts.sizes.at_size import at_size
from kvtrace.verdicts.sizes.readings import BadTie
from tests.verdicts.calls import call, tensor
from tests.verdicts.sizes.envelope_rows import relations, rows


@triton.jit
def scaled(x, scales, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    scale = tl.load(scales + i // 32, i < n, 0)
    tl.store(y + i, tl.load(x + i, i < n, 0) * scale, i < n)


def groups(n, scales):
    grid = (-(-n // 256),)
    return call(scaled, grid, x=tensor(n), scales=tensor(scales), y=tensor(n), n=n, B=256)


def test_an_extent_that_the_kernel_divides_for_grows_by_that_quotient():
    row = rows(groups(993, 32), groups(70, 3))["n", "argument"]

    assert "scales.shape[0] = cdiv(n, 32) or n // 32 + 1" in row.along
    assert row.fine == (0, 2**31 - 1)


def test_a_quotient_that_may_be_rounded_either_way_is_not_guessed():
    row = rows(groups(1024, 32), groups(96, 3))["n", "unknown"]

    assert row.fine == (1024, 1024)
    assert "which may be cdiv(n, 32) or n // 32" in row.reason
    assert 'record a launch with n = 1,025, or state it as --tie "scales.shape[0] =' in row.reason


def test_a_quotient_that_the_user_states_is_the_only_reading():
    launches = groups(1024, 32), groups(96, 3)

    up = rows(*launches, ties=["scales.shape[0] = cdiv(n, 32)"])["n", "argument"]
    down = rows(*launches, ties=["scales.shape[0] = n // 32", "grid_x = cdiv(n, 256)"])[
        "n", "tensor"
    ]

    assert up.fine == (0, 2**31 - 1)
    assert (down.fine, down.first_bad, down.last_bad) == ((1024, 1024), 1025, 1023)


@pytest.mark.parametrize("text", ["scales.shape[0]", "n = = 3", "n = n //", "= n"])
def test_a_malformed_tie_is_refused(text):
    with pytest.raises(BadTie, match="is not a tie such as"):
        relations(groups(1024, 32), ties=[text])


def test_a_tie_that_does_not_hold_or_names_other_numbers_is_left_out():
    wrong, other = "scales.shape[0] = n // 64", "scales.shape[0] = m // 32"
    unfit = relations(groups(1024, 32), ties=[wrong, other]).unfit

    assert unfit[wrong].endswith("scales.shape[0] was 32, and n // 64 is 16.")
    assert unfit[other].startswith("no kernel has all numbers of the tie")


@triton.jit
def shorter(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, i < n - 1, 0), i < n - 1)


def test_an_extent_that_is_smaller_by_a_constant_grows_with_the_size():
    first, other = (
        call(shorter, (1,), x=tensor(n), y=tensor(n - 1), n=n, B=128) for n in (101, 70)
    )

    found = rows(first, other, ties=["y.shape[0] = n - 1"])

    (row,) = (each for (quantity, _), each in found.items() if quantity == "n")
    assert row.along == ("x.shape[0] = n", "y.shape[0] = n - 1")
    assert row.fine == (1, 129)
    assert not any(quantity == "y.shape[0]" for quantity, _ in found)


@triton.jit
def flat_heads(x, y, tokens):
    token, head = tl.program_id(0) // 6, tl.program_id(0) % 6
    at = tl.arange(0, 16)
    row = tl.load(x + (head * tokens + token) * 16 + at)
    tl.store(y + (token * 6 + head) * 16 + at, row)


def test_a_grid_that_is_a_multiple_of_a_size_grows_with_it():
    first, other = (
        call(flat_heads, (6 * n,), x=tensor(6, n, 16), y=tensor(n, 6, 16), tokens=n) for n in (5, 9)
    )

    row = rows(first, other, ties=["grid_x = 6 * tokens"])["tokens", "overflow"]

    assert (row.fine, row.last_bad) == ((0, 2**31 // 96), None)


@triton.jit
def chunked(h, size, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(
        h + (tl.program_id(1) * tl.cdiv(size, 32) + tl.program_id(0)) * B + i, tl.program_id(0) * 32
    )


def chunks(size, count):
    return call(chunked, (count, 3), h=tensor(3, count, 64), size=size, B=64)


def test_a_number_derived_from_a_scalar_is_no_separate_quantity():
    launches = relations(chunks(64, 2), chunks(65, 3))

    found = at_size(launches, {"h.shape[1]": 9})

    assert found.reason == "h.shape[1] was cdiv(size, 32): it follows from that number"
    along = at_size(launches, {"size": 1000}).along
    assert {"grid_x = cdiv(size, 32)", "h.shape[1] = cdiv(size, 32)"} <= set(along)


@triton.jit
def of_rows(x, x_stride, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + tl.program_id(0) * x_stride + i, 0.0, i < n)


def on_rows(row_count, n):
    return call(of_rows, (row_count,), x=tensor(row_count, n), x_stride=n, n=n, B=512)


def test_an_extent_that_equals_a_size_may_be_named_in_its_place():
    launches = relations(on_rows(3, 300), on_rows(5, 200))

    by_size, by_extent = (at_size(launches, {name: 400}) for name in ("n", "x.shape[1]"))

    assert by_extent.reason is None
    assert (by_extent.along, by_extent.verdicts) == (by_size.along, by_size.verdicts)
    contradicting = at_size(launches, {"n": 400, "x.shape[1]": 300})
    assert contradicting.reason == "x.shape[1] was n: it follows from that number"


@pytest.mark.parametrize(("row_count", "widths"), [(3, [300]), (50, [100, 120])])
def test_the_launch_that_would_decide_between_readings_is_not_far_larger(row_count, widths):
    row = rows(*(on_rows(row_count, width) for width in widths))["x.shape[0]", "unknown"]

    assert row.fine[1] > 7_000_000
    assert f"record a launch with x.shape[0] = {row_count + 1}, or state it as --tie" in row.reason
    assert f"record a launch with x.shape[0] = {row_count - 1}, or state it as --tie" in row.below


def test_the_only_row_of_a_tensor_grows_with_its_length_by_one_reading_at_least():
    one_row, two_columns = rows(on_rows(1, 300)), rows(on_rows(150, 2))

    # x may have 301 elements at n = 301, so that nothing is refuted
    assert one_row["n", "unseen"].fine[1] == 300
    assert ("n", "tensor") not in one_row.keys() | two_columns.keys()


@triton.jit
def triangle(x, y, n):
    row = tl.program_id(0)
    tl.store(y + row, tl.load(x + row * (row + 1) // 2 + row))


def test_the_elements_of_a_triangle_grow_with_its_rows():
    first, other = (
        call(triangle, (n,), x=tensor(n * (n + 1) // 2), y=tensor(n), n=n) for n in (5, 9)
    )

    found = rows(first, other, ties=["x.shape[0] = n * (n + 1) // 2"])

    assert all("x.shape[0] = n * (n + 1) // 2" in row.along for row in found.values())
    assert {row.first_bad for row in found.values()} <= {46342, None}  # None if time is up


def test_no_violation_is_claimed_if_a_tensor_may_grow_differently():
    first, other = (
        call(triangle, (n,), x=tensor(n * (n + 7) // 2), y=tensor(n), n=n) for n in (5, 9)
    )

    (row,) = (row for (size, _), row in rows(first, other).items() if size == "n")

    assert row.fine == (5, 5)
    assert "differ in x.shape[0], and how it grows with n is not known" in row.reason


@triton.jit
def copied(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, i < n), i < n)


def test_tensors_may_be_padded_to_whole_blocks():
    first, other = (
        call(copied, (blocks,), x=tensor(128 * blocks), y=tensor(128 * blocks), n=n, B=128)
        for n, blocks in ((100, 1), (200, 2))
    )

    row = rows(first, other)["n", "argument"]

    assert row.fine == (0, 2**31 - 1)
    assert "x.shape[0] = cdiv(n, 128) * 128" in row.along


@triton.jit
def counted_down(x, y, n):
    p = tl.program_id(0)
    tl.store(y + p, tl.load(x + n - 1 - tl.maximum(p - 4, 0)))


def test_a_grid_of_some_programs_more_than_a_size_grows_with_it():
    first, other = (call(counted_down, (n + 4,), x=tensor(n), y=tensor(100), n=n) for n in (50, 90))

    (row,) = (
        row
        for (size, _), row in rows(first, other, ties=["grid_x = n + 4"]).items()
        if size == "n" and row.fine
    )

    assert (row.fine, row.last_bad, row.first_bad) == ((1, 96), 0, 97)


@triton.jit
def copied_rows(x, y, columns, B: tl.constexpr):
    i = tl.arange(0, B)
    at = tl.program_id(0) * columns + i
    tl.store(y + at, tl.load(x + at, i < columns, 0), i < columns)


def test_rows_do_not_become_columns_for_being_twice_as_many_or_some_less():
    for sizes in (((600, 300), (500, 250)), ((200, 300), (150, 250))):
        first, other = (
            call(copied_rows, (n,), x=tensor(n, m), y=tensor(n, m), columns=m, B=512)
            for n, m in sizes
        )

        found = rows(first, other)

        assert found["columns", "constants"].along == (
            "x.shape[1] = columns", "y.shape[1] = columns",
        )  # fmt: skip
        assert found["x.shape[0]", "overflow"].first_bad == 2**31 // 300 + 1


@triton.jit
def partial_sums(x, parts, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(parts + tl.program_id(0), tl.sum(tl.load(x + i, i < n, 0)))


def test_a_grid_with_an_element_for_each_program_grows_by_what_programs_are_multiplied_by():
    first, other = (
        call(partial_sums, (-(-n // 64),), x=tensor(n), parts=tensor(-(-n // 64)), n=n, B=64)
        for n in (192, 449)
    )

    found = rows(first, other)

    row = found["n", "argument"]
    assert set(row.along) == {
        "x.shape[0] = n", "parts.shape[0] = cdiv(n, 64)", "grid_x = cdiv(n, 64)"
    }  # fmt: skip
    assert row.fine == (0, 2**31 - 1)
    assert not any(quantity == "grid_x" for quantity, _ in found)


@triton.jit
def concatenated(x, y, out, n, m):
    i = tl.program_id(0) * 16 + tl.arange(0, 16)
    tl.store(out + i, tl.load(x + i, i < n), i < n)
    tl.store(out + i, tl.load(y + i - n, (i >= n) & (i < n + m)), (i >= n) & (i < n + m))


@pytest.mark.parametrize(
    ("extent", "tie", "bad"),
    [(lambda n, _: 2 * n, "2 * n", 19), (lambda n, m: n + m, "n + m", None)],
)
def test_a_grid_of_the_blocks_of_two_sizes_grows_with_both(extent, tie, bad):
    found = rows(
        *(
            call(
                concatenated, (-(-(n + m) // 16),), x=tensor(n), y=tensor(m),
                out=tensor(extent(n, m)), n=n, m=m,
            )
            for n, m in ((36, 20), (33, 20), (51, 50), (70, 30))
        ),
        ties=["grid_x = cdiv(n + m, 16)", f"out.shape[0] = {tie}"],
    )  # fmt: skip

    assert not any(name == "grid_x" for name, _ in found)
    assert [row.last_bad for (name, _), row in found.items() if name == "n"] == [bad]
