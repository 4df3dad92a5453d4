"""Rows of numbers that follow from a size, or do not, and loops that never end."""

import pytest
import triton
import triton.language as tl

from kvtrace.verdicts.sizes.at_size import at_size
from tests.verdicts.calls import call, tensor
from tests.verdicts.sizes.envelope_rows import program, relations, rows, stated_rows


def up(n):
    return -(-n // 32)


def down(n):
    return n // 32


@triton.jit
def partial_sums(x, part, n):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    tl.store(part + tl.program_id(0), tl.sum(tl.load(x + i, i < n, 0)))


@triton.jit
def flags(x, part, n):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    tl.store(x + i, 1.0, i < n)
    tl.store(part + tl.program_id(0), 1.0)


@triton.jit
def scaled(x, part, n):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    scale = tl.load(part + tl.program_id(0))
    tl.store(x + i, tl.load(x + i, i < n) * scale, i < n)


def launches(kernel, sizes, count, grid=up, extent=lambda n: n):
    return [
        call(kernel, (grid(n),), x=tensor(extent(n)), part=tensor(count(n)), n=n) for n in sizes
    ]


GRID = "grid_x = cdiv(n, 32)"
TIES = (GRID, "part.shape[0] = cdiv(n, 32)")


@pytest.mark.parametrize("kernel", [partial_sums, flags, scaled])
def test_partials_that_are_rounded_down_are_left_where_a_block_is_not_full(kernel):
    up_to_date, short = launches(kernel, (64, 256), up), launches(kernel, (64, 256), down)
    right = rows(*up_to_date, ties=TIES)["n", "argument"]
    wrong = rows(*short, ties=(GRID, "part.shape[0] = n // 32"))["n", "tensor"]

    assert right.fine == (0, 2**31 - 1)
    assert (wrong.fine, wrong.first_bad, wrong.last_bad) == ((64, 64), 65, 63)
    assert rows(*short)["n", "unknown"].fine == (64, 64)


def test_a_buffer_that_a_stated_grid_leaves_is_bad():
    fixed = launches(partial_sums, (70, 250), lambda _: 8)
    row = rows(*fixed, ties=("grid_x = cdiv(n, 32)",))["n", "tensor"]

    assert (row.fine, row.first_bad) == ((0, 256), 257)


def test_a_limit_of_the_grid_hides_no_element_that_the_mask_admits():
    capacity = launches(flags, (64, 65), up, extent=lambda _: 512)
    row = rows(*capacity, ties=TIES + ("x.shape[0] = 512",))["n", "tensor"]

    assert (row.fine, row.first_bad, row.what) == ((0, 512), 513, "the store leaves x")


def test_a_tensor_that_only_some_launches_limit_is_no_smaller_than_they_say():
    limited = launches(flags, (70, 250, 500, 700), lambda n: min(up(n), 16))
    row = rows(*limited, ties=(GRID, "part.shape[0] = min(grid_x, 16)"))["n", "tensor"]

    assert (row.fine, row.first_bad) == ((0, 512), 513)


@pytest.mark.parametrize("count", [{100: 6, 64: 5, 127: 6}, {127: 9, 100: 6, 64: 6}])
def test_an_extent_that_is_the_same_at_two_sizes_may_grow(count):
    """Extents of blocks often are, and differ at the next size."""
    found = launches(partial_sums, tuple(count), count.__getitem__)
    row = rows(*found, ties=(GRID,))["n", "unknown"]

    assert (row.fine[0], row.fine[1], row.first_bad) == (row.recorded, row.recorded, None)
    assert "how it grows with n is not known" in row.reason


@triton.jit
def ringed(x, part, n):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    tl.store(part + i, tl.load(x + i, i < n, 0))


@pytest.mark.parametrize(
    ("kernel", "count"), [(ringed, lambda _: 128), (flags, up), (partial_sums, up)]
)
def test_what_was_the_same_at_all_sizes_may_be_of_their_blocks(kernel, count):
    """At 129 a fifth program leaves what four blocks fill, or a constant grid leaves none."""
    row = rows(*launches(kernel, (100, 110), count))["n", "unknown"]

    assert (row.fine, row.first_bad) == ((100, 100), None)
    assert row.reason == (
        "grid_x was 4, and how it grows with n is not known: record a launch with n twice "
        'as large, or state it as --tie "grid_x = …"'
    )


def test_what_stays_the_same_while_a_size_doubles_is_a_constant():
    found = [call(ringed, (4,), x=tensor(128), part=tensor(128), n=n) for n in (60, 120)]

    assert rows(*found)["n", "argument"].fine[1] == 2**31 - 1


# -- tensors padded by a constant, and sizes that no argument has ----------------------------------


@triton.jit
def whole_blocks(x, part, n):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    tl.store(part + i, tl.load(x + i))


@pytest.mark.parametrize(("more", "bad"), [(31, None), (30, 129), (40, None)])
def test_a_tensor_is_longer_by_a_constant_if_that_is_stated(more, bad):
    sizes = (100, 64, 190)
    longer = launches(whole_blocks, sizes, lambda n: n + more, extent=lambda n: n + more)
    ties = ("grid_x = cdiv(n, 32)", *(f"{name}.shape[0] = n + {more}" for name in ("x", "part")))

    first_bad = [row.first_bad for (_, kind), row in rows(*longer, ties=ties).items()
                 if kind == "tensor"]  # fmt: skip
    assert first_bad == ([bad] if bad else [])
    assert not any(kind == "tensor" for _, kind in rows(*longer))


@triton.jit
def windows(x, y, out):
    i = tl.program_id(0) * 16 + tl.arange(0, 16)
    v = tl.load(x + 2 * i, i < out, 0) + tl.load(x + 2 * i + 2, i < out, 0)
    tl.store(y + i, v, i < out)


def convolved(sizes, count):
    parts = ((n, count(n)) for n in sizes)
    return [
        call(windows, (-(-out // 16),), x=tensor(n), y=tensor(out), out=out) for n, out in parts
    ]


def test_a_stated_part_leaves_its_extent_a_size():
    count = {33: 16, 65: 32, 121: 60}.__getitem__
    ties = ["out = x.shape[0] // 2", "grid_x = cdiv(out, 16)"]
    row = rows(*convolved((33, 65, 121), count), ties=ties)

    assert row["x.shape[0]", "tensor"].first_bad == 34


# -- numbers that follow from an argument ---------------------------------------------------------


@triton.jit
def copied_half(x, n, half):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    tl.store(x + half + i, tl.load(x + i, i < half), i < half)


def parted(kernel, sizes, part):
    return [call(kernel, (up(part(n)),), x=tensor(n), n=n, half=part(n)) for n in sizes]


def test_a_part_is_right_or_bad_as_it_is_rounded():
    launches = parted(copied_half, (60, 96), lambda n: n // 2)
    ties = ["half = n // 2", "grid_x = cdiv(half, 32)"]

    assert rows(*launches, ties=ties)["n", "argument"].fine == (0, 2**31 - 1)
    found = rows(*launches, ties=["half = cdiv(n, 2)", ties[1]])
    assert (found["n", "tensor"].first_bad, found["n", "tensor"].last_bad) == (61, 59)


# -- grids ----------------------------------------------------------------------------------------


@triton.jit
def persistent(x, n):
    for block in range(tl.program_id(0), tl.cdiv(n, 64), tl.num_programs(0)):
        i = block * 64 + tl.arange(0, 64)
        tl.store(x + i, 1.0, i < n)


@pytest.mark.parametrize("sizes", [(100, 300), (300, 1000), (1000, 2000)])
def test_a_grid_of_at_most_some_programs_is_no_reason_to_be_bad(sizes):
    limited = [call(persistent, (min(-(-n // 64), 8),), x=tensor(n), n=n) for n in sizes]
    found = rows(*limited, ties=("grid_x = min(cdiv(n, 64), 8)",))

    (row,) = (row for (size, _), row in found.items() if size == "n")
    # n + 63, which cdiv adds, is the first integer to wrap around.
    assert (row.fine, row.first_bad) == ((0, 2**31 - 64), 2**31 - 63)


@triton.jit
def halves_of_blocks(x, n, m):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    tl.store(x + i, 1.0, i < m)
    tl.store(x + m + i, 1.0, (i < m) & (i + m < n))


def test_a_formula_may_name_another_number_that_follows():
    first, other = (
        call(halves_of_blocks, (-(-n // 128),), x=tensor(n), n=n, m=-(-n // 2)) for n in (301, 600)
    )

    row = rows(first, other, ties=["grid_x = cdiv(m, 64)", "m = cdiv(n, 2)"])["n", "argument"]

    assert "grid_x = cdiv(m, 64)" in row.along
    assert row.fine == (0, 2**31 - 1)


@triton.jit
def second_axis(x):
    tl.store(x + tl.program_id(1), 1.0)


@pytest.mark.parametrize(("grid", "axis"), [((1, 70_000), "y"), ((1, 1, 65_536), "z")])
def test_a_recorded_grid_that_cuda_refuses_is_in_no_range(grid, axis):
    found = rows(call(second_axis, grid, x=tensor(80_000)))

    assert all(row.contract is None for row in found.values())
    row = found[f"grid_{axis}", "grid"]
    assert (row.first_bad, row.recorded) == (max(grid), max(grid))
    assert row.what == f"grid_{axis} is {max(grid):,}, and CUDA launches 1 to 65,535"


# -- loops that never end -------------------------------------------------------------------------


@triton.jit
def stepped(x, s):
    i = 0
    while i < 1000:
        tl.store(x + i, 1.0)
        i += s


@triton.jit
def stepped_down(x, s):
    i = 999
    while i >= 0:
        tl.store(x + i, 1.0)
        i -= s


@triton.jit
def stepped_by_two(x, s):
    i = 0
    j = 0
    while (i < 1000) & (j < 500):
        tl.store(x + i, 1.0)
        i += s
        j += 1


@pytest.mark.parametrize("kernel", [stepped, stepped_down])
def test_a_while_loop_whose_step_is_0_is_bad(kernel):
    first, other = (call(kernel, (1,), x=tensor(1000), s=s) for s in (5, 9))

    (row,) = stated_rows(first, other).values()

    assert (row.fine[0], row.last_bad) == (1, 0)
    assert row.below == "the while loop never ends, as its step is not positive"
    verdicts = at_size(relations(first, other, ties=program(first, other)), {"s": 0}).verdicts
    assert "never ends" in next(v.message for v in verdicts if v.verdict == "violation")


def test_a_while_loop_that_another_comparison_ends_may_have_a_step_of_0():
    first, other = (call(stepped_by_two, (1,), x=tensor(1000), s=s) for s in (1, 2))

    assert all(row.last_bad != 0 for row in stated_rows(first, other).values())
    assert {row.fine[0] <= 0 for row in stated_rows(first, other).values() if row.fine} <= {True}


@triton.jit
def first_blocks(x, y, n):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    tl.store(y + i, tl.load(x + i, i < n), i < n)


@pytest.mark.parametrize(("grid", "tie"), [(down, "n // 32"), (lambda _: 2, "2")])
def test_elements_that_recorded_launches_leave_end_no_range(grid, tie):
    found = [call(first_blocks, (grid(n),), x=tensor(n), y=tensor(n), n=n) for n in (150, 330, 500)]

    assert rows(*found, ties=(f"grid_x = {tie}",))["n", "argument"].fine == (0, 2**31 - 1)


def test_a_grid_that_no_reading_fits_is_asked_for():
    sizes_and_grids = ((150, 5), (330, 10), (500, 16))  # the second of which is n // 32
    found = [
        call(first_blocks, (grid,), x=tensor(n), y=tensor(n), n=n) for n, grid in sizes_and_grids
    ]

    row = rows(*found)["n", "unknown"]

    assert (row.fine, row.first_bad) == ((150, 150), None)
    assert 'state it as --tie "grid_x = …"' in row.reason
    judged = at_size(relations(*found), {"n": 1000})
    assert judged.verdicts == ()
    assert 'state it as --tie "grid_x = …", or give both' in judged.reason


def test_blocks_that_cease_to_cover_a_size_end_its_range():
    one_block = [call(first_blocks, (1,), x=tensor(n), y=tensor(n), n=n) for n in (20, 31)]

    (row,) = rows(*one_block, ties=("grid_x = 1",)).values()

    assert (row.fine, row.kind, row.first_bad) == ((0, 32), "constants", 33)


# -- lanes of a tile, and sizes that stay ------------------------------------------------------


@triton.jit
def turned(x, y, n, m):
    row = tl.program_id(0) * 16 + tl.arange(0, 16)[:, None]
    column = tl.program_id(1) * 16 + tl.arange(0, 16)[None, :]
    on = (row < n) & (column < m)
    tl.store(y + column * n + row, tl.load(x + row * m + column, on), on)


@triton.jit
def by_rows(x, y, n, m):
    row = tl.program_id(0) * 16 + tl.arange(0, 16)[:, None]
    column = tl.program_id(1) * 16 + tl.arange(0, 16)[None, :]
    on = (row < n) & (column < m)
    tl.store(y + row * m + column, tl.load(x + row * m + column, on), on)


@pytest.mark.parametrize(("kernel", "size"), [(turned, "n"), (by_rows, "m")])
def test_lanes_of_a_tile_that_is_wider_than_its_rows_are_told_apart(kernel, size):
    """By the masks alone: columns of 5 elements lie closer than the 16 lanes along them."""
    found = rows(*(
        call(kernel, (-(-n // 16), -(-m // 16)), n=n, m=m, x=tensor(n, m),
             y=tensor(m, n) if kernel is turned else tensor(n, m))
        for n, m in ((40, 21), (57, 21), (40, 35))
    ), ties=("grid_x = cdiv(n, 16)", "grid_y = cdiv(m, 16)"))  # fmt: skip

    (low,) = {row.fine[0] for (name, _), row in found.items() if name == size and row.fine}
    assert low == 0


@pytest.mark.parametrize("columns", [9, 16])
def test_a_size_that_no_launch_changed_is_unseen(columns):
    found = rows(*(
        call(by_rows, (-(-n // 16), 1), n=n, m=columns, x=tensor(n, columns), y=tensor(n, columns))
        for n in (40, 57)
    ))  # fmt: skip

    row = found["m", "unseen"]
    assert (row.fine, row.first_bad) == ((columns, columns), None)
    assert "record a launch with another m" in row.reason


@pytest.mark.parametrize("half", [32, 16])
def test_sizes_for_which_no_program_is_launched_are_not_covered(half):
    launches = [
        call(first_blocks, ((n + half) // 32,), x=tensor(n), y=tensor(n), n=n) for n in (32, 60)
    ]

    row = rows(*launches, ties=(f"grid_x = (n + {half}) // 32",))[
        "n", "constants" if half < 32 else "argument"
    ]

    assert row.fine[0] == (0 if half == 32 else 16)


@triton.jit
def padded_copy(x, y, n, padded):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    tl.store(y + i, tl.load(x + i, i < padded, 0), i < n)


def test_an_extent_that_was_equal_to_two_arguments_is_tied_to_neither():
    """All launches were at powers of two, to which the program may pad."""
    found = rows(
        *(call(padded_copy, (up(n),), x=tensor(n), y=tensor(n), n=n, padded=n) for n in (64, 128)),
        ties=(GRID,),
    )

    assert {name for name, _ in found} >= {"n", "padded"}
    assert all(row.fine is None or row.fine[1] <= 128 for row in found.values())
