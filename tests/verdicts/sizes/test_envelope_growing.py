"""Extents and grids that grow with a size, as a tie states it."""

import pytest
import triton
import triton.language as tl

from kvtrace.verdicts.sizes.at_size import at_size
from kvtrace.verdicts.sizes.ties import BadTie
from tests.verdicts.calls import call, tensor
from tests.verdicts.sizes.envelope_rows import program, relations, rows


@triton.jit
def scaled(x, scales, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    scale = tl.load(scales + i // 32, i < n, 0)
    tl.store(y + i, tl.load(x + i, i < n, 0) * scale, i < n)


def groups(n, scales):
    grid = (-(-n // 256),)
    return call(scaled, grid, x=tensor(n), scales=tensor(scales), y=tensor(n), n=n, B=256)


GRID = "grid_x = cdiv(n, 256)"


@pytest.mark.parametrize("launches", [((993, 32), (70, 3)), ((1024, 32), (96, 3)), ((999, 32),)])
@pytest.mark.parametrize(
    ("stated", "asked"), [(GRID, ".shape[0]"), ("scales.shape[0] = cdiv(n, 32)", '"grid_x')]
)
def test_a_number_of_which_nothing_states_how_it_grows_is_asked_for(launches, stated, asked):
    found = rows(*(groups(*launch) for launch in launches), ties=[stated])

    (row,) = (row for (name, _), row in found.items() if name == "n")
    assert row.fine == (launches[0][0],) * 2
    assert row.kind == ("unknown" if len(launches) > 1 else "unseen")
    assert "how it grows with n is not known: record a launch" in row.reason
    assert f'{asked} = …"' in row.reason


def test_a_quotient_that_the_user_states_holds():
    launches = groups(1024, 32), groups(96, 3)

    up = rows(*launches, ties=["scales.shape[0] = cdiv(n, 32)", GRID])["n", "argument"]
    down = rows(*launches, ties=["scales.shape[0] = n // 32", GRID])["n", "tensor"]

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
    ties = ["grid_x = cdiv(size, 32)", "h.shape[1] = grid_x", "h.shape[0] = 3", "grid_y = 3"]
    ties.append("h.shape[2] = 64")
    launches = relations(chunks(64, 2), chunks(65, 3), ties=ties)

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
    launches = relations(*(recorded := (on_rows(3, 300), on_rows(5, 200))), ties=program(*recorded))

    by_size, by_extent = (at_size(launches, {name: 400}) for name in ("n", "x.shape[1]"))

    assert by_extent.reason is None
    assert (by_extent.along, by_extent.verdicts) == (by_size.along, by_size.verdicts)
    contradicting = at_size(launches, {"n": 400, "x.shape[1]": 300})
    assert contradicting.reason == "x.shape[1] was n: it follows from that number"


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

    padded = "cdiv(n, 128) * 128"
    ties = [f"x.shape[0] = {padded}", f"y.shape[0] = {padded}", "grid_x = cdiv(n, 128)"]
    row = rows(first, other, ties=ties)["n", "argument"]

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
        for (size, _), row in rows(
            first, other, ties=["grid_x = n + 4", "y.shape[0] = 100"]
        ).items()
        if size == "n" and row.fine
    )

    assert (row.fine, row.last_bad, row.first_bad) == ((1, 96), 0, 97)


@triton.jit
def copied_rows(x, y, columns, B: tl.constexpr):
    i = tl.arange(0, B)
    at = tl.program_id(0) * columns + i
    tl.store(y + at, tl.load(x + at, i < columns, 0), i < columns)


def test_rows_and_columns_are_independent_if_launches_or_the_program_say_so():
    """Extents that the program has as variables state themselves."""
    sizes = (600, 300), (500, 250)
    launches = [call(copied_rows, (n,), x=tensor(n, m), y=tensor(n, m), columns=m, B=512)
                for n, m in (*sizes, (500, 300), (500, 200))]  # fmt: skip
    variables = [f"{name} = {name}" for name in ("x.shape[0]", "columns")]

    for found in (rows(*launches), rows(*launches[:2], ties=variables)):
        assert found["columns", "constants"].along == (
            "x.shape[1] = columns", "y.shape[1] = columns",
        )  # fmt: skip
        assert found["x.shape[0]", "overflow"].first_bad == 2**31 // 300 + 1
    (row,) = (row for (name, _), row in rows(*launches[:2]).items() if name == "columns")
    assert row.fine == (300, 300)


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
