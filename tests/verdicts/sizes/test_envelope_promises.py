"""What is said to be fine is: by every rule, by relations that launches show, by contents."""

import re

import pytest

from kvtrace.converters.findings.envelope import EnvelopeRow, envelope_text
from kvtrace.symbolic.prover import nominal_seconds
from kvtrace.verdicts.sizes.envelope import envelope
from kvtrace.verdicts.sizes.launch_numbers import numbers_of
from kvtrace.verdicts.sizes.relations import Relations
from tests.backends.compiled_kernels import check_kernels
from tests.support.defects import CORPUS
from tests.verdicts import generic_kernels
from tests.verdicts import promise_kernels as kernels
from tests.verdicts.calls import call, ids, tensor
from tests.verdicts.sizes.envelope_rows import program, relations, rows, stated_rows


def flat(kernel, n, room=0, programs=None, block=1024):
    x, out = tensor(n + room), tensor(n)
    return call(kernel, (programs or -(-n // block),), x=x, out=out, n=n, BLOCK=block)


# -- every rule -----------------------------------------------------------------------------------


def test_a_recorded_size_that_violates_a_rule_is_in_no_range():
    found = rows(flat(kernels.one_off, 1000))

    assert {row.contract for row in found.values()} == {None}
    row = found["n", "tensor"]
    assert row.first_bad == 1000
    assert row.what == "as recorded, load ends 4 bytes past the end of x (out-of-bounds)"


def test_a_kernel_on_a_larger_storage_is_proven_up_to_its_end():
    launches = flat(kernels.one_off, 1000, room=1), flat(kernels.one_off, 1500, room=1)

    row = rows(*launches, ties=["x.shape[0] = n + 1", "grid_x = cdiv(n, 1024)"])["n", "argument"]

    assert row.contract == f"0 <= n <= {2**31 - 1:,}"
    assert "x.shape[0] = n + 1" in row.along


def test_unmasked_blocks_are_proven_only_for_the_recorded_sizes():
    one = call(kernels.lost_tail, (2,), x=tensor(2048), out=tensor(2048), BLOCK=1024)

    row = next(row for (size, _), row in rows(one).items() if size == "x.shape[0]")

    # How many programs are launched for more elements, one launch does not tell.
    assert (row.first_bad, row.contract) == (None, "x.shape[0] = 2,048")
    assert row.reason.startswith("grid_x was 2, and how it grows with x.shape[0] is not known")


def test_the_grid_range_ends_at_the_condition_on_an_extent():
    one = call(
        kernels.ragged, (3,), x=tensor(20, 16), cu=ids(0, 3, 9, 20, 20, 20), out=tensor(9, 16),
        WIDTH=16,
    )  # fmt: skip

    ties = [tie for tie in program(one) if "grid_x" not in tie]
    row = rows(one, ties=ties)["grid_x", "tensor"]

    # cu has 6 numbers: the last of grid_x + 1 is there up to 5 programs.
    assert (row.first_bad, row.contract) == (6, "1 <= grid_x <= 5")


def test_a_rule_that_warns_leaves_no_range_either():
    found = stated_rows(
        *(
            call(
                generic_kernels.matmul, (-(-n // 16), 2), a=tensor(n, 50), b=tensor(50, 30),
                c=tensor(n, 30), rows=n, columns=30, inner=50, a_row=50, a_inner=1, b_inner=30,
                b_column=1, c_row=30, BM=16, BN=16, BK=16,
            )
            for n in (40, 90)
        ),
        blocks=(16,),
    )  # fmt: skip

    assert {row.contract for row in found.values()} == {None}
    assert "undefined-lanes" in found["rows", "rule"].what
    # Where its integers wrap around is said all the same.
    assert found["rows", "overflow"].first_bad == (2**31 - 1) // 50 + 2


def test_a_proof_by_recorded_contents_is_for_no_other_size():
    one = call(
        kernels.scattered, (2,), x=tensor(20), index=ids(*range(20)), out=tensor(100), n=20,
        BLOCK=16,
    )  # fmt: skip

    found = stated_rows(one)

    assert {row.contract for row in found.values()} == {None}
    assert re.search("race|lane-conflict", found["n", "unknown"].reason)


def test_a_size_at_which_another_launch_is_bad_is_in_no_range():
    first, other = flat(kernels.copied, 1500), flat(kernels.copied, 1000)
    numbers = {**numbers_of(other), ("scalar", 2, 0): 1001}
    own = Relations(first, [numbers])

    (row,) = (r for r in envelope(own) if r.quantity == "n")
    assert row.fine == (1500, 1500)
    (row,) = (
        r
        for r in envelope(
            Relations(first, [], ["x.shape[0] = 1500", "out.shape[0] = 1500", "grid_x = 2"]),
            broken=[(numbers, "a load leaves x")],
        )
        if r.quantity == "n"
    )
    assert (row.first_bad, row.contract) == (1001, None)


@pytest.mark.parametrize(
    "tie", ["x.shape[0] = n", "grid_x = cdiv(n, 1024)", "out.shape[0] = n + 0"]
)
def test_a_tie_of_a_number_that_another_launch_has_as_a_constant_is_unfit(tie):
    first, other = flat(kernels.copied, 1500), flat(kernels.copied, 1)
    numbers = {n: value for n, value in numbers_of(other).items() if n != ("scalar", 2, 0)}

    assert Relations(first, [numbers], [tie]).unfit == {
        tie: f"no kernel has all numbers of the tie {tie!r}."
    }


# -- contents -------------------------------------------------------------------------------------


def test_values_that_are_out_of_bounds_as_recorded_are_not_fine():
    one = call(
        check_kernels.gather, (2,), x=tensor(100), index=ids(*range(90, 110)), out=tensor(20), n=20,
        BLOCK=16,
    )  # fmt: skip

    row = rows(one)["values of index", "tensor"]

    assert (row.first_bad, row.fine, row.contract) == (109, None, None)
    assert row.what.startswith("as recorded, ")
    assert row.what.endswith("(out-of-bounds)")


def test_values_that_only_bound_a_loop_are_traced():
    one = call(
        kernels.ragged, (3,), x=tensor(20, 16), cu=ids(0, 3, 9, 18), out=tensor(3, 16), WIDTH=16
    )

    row = rows(one)["values of cu", "tensor"]

    assert (row.first_bad, row.contract) == (21, "0 <= values of cu <= 20")


# -- relations ------------------------------------------------------------------------------------


def decoded(batch=3, heads=4, n=2, page=64, pages=16):
    starts = [pages * i // batch for i in range(batch + 1)]
    return call(
        kernels.decode, (batch, heads), q=tensor(batch, heads, 16), kv_indptr=ids(*starts),
        cache=tensor(pages, page), out=tensor(batch, heads, 16), heads=heads, n=n,
        stride_page=page, WIDTH=16,
    )  # fmt: skip


def test_relations_that_one_launch_does_not_show_are_not_invented():
    """heads is n * n and as many as kv_indptr has numbers; a page is a square of the heads' 8."""
    texts = {text for row in rows(decoded()).values() for text in row.along}

    assert not any("n * n" in text or "heads * heads" in text for text in texts)
    assert "kv_indptr.shape[0] = heads" not in texts
    assert not any(text.startswith("cache.shape") and "*" in text for text in texts)


def test_an_extent_of_batch_plus_one_grows_with_the_batch():
    launches = decoded(), decoded(batch=7)
    ties = ["kv_indptr.shape[0] = q.shape[0] + 1", *program(*launches)]
    row = rows(*launches, ties=ties)["q.shape[0]", "overflow"]

    assert "kv_indptr.shape[0] = q.shape[0] + 1" in row.along
    # (sequence * 4 + head) * 16 with 4 heads.
    assert row.first_bad == 2**31 // 64 + 1


def test_heads_are_a_quantity_of_their_own():
    row = stated_rows(decoded(), decoded(heads=5))["heads", "grid"]

    assert "q.shape[1] = heads" in row.along
    assert (row.first_bad, row.contract) == (65_536, "0 <= heads <= 65,535")


def test_extents_equal_to_a_constant_of_the_kernel_do_not_grow():
    names = {name for name, _ in rows(decoded())}

    assert not any(name in ("q.shape[2]", "out.shape[2]") for name in names)


def flat_tiles(m, n):
    return call(
        kernels.flat_tiles, (m * -(-n // 8),), x=tensor(m, n), out=tensor(m, n), rows=m, columns=n,
        BLOCK=8,
    )  # fmt: skip


def test_a_product_is_read_where_it_is_stated():
    alone = rows(flat_tiles(5, 20))["rows", "unseen"]
    assert alone.reason.startswith("grid_x was 15, and how it grows with rows is not known")

    launches = flat_tiles(5, 20), flat_tiles(7, 20), flat_tiles(5, 33)
    row = rows(*launches, ties=["grid_x = cdiv(columns, 8) * rows"])["rows", "overflow"]
    assert "grid_x = cdiv(columns, 8) * rows" in row.along
    assert row.basis == "3 recorded launches, 2 sizes"
    assert row.first_bad == 2**31 // 20 + 1


# -- what is printed ------------------------------------------------------------------------------


def printed(first, *more, ties=()):
    found = envelope(relations(first, *more, ties=ties))
    listed = [
        EnvelopeRow(
            r.quantity, r.recorded, r.kind, r.first_bad, r.what, None, None, r.expression,
            r.contract, r.along, r.basis, r.reason,
        )
        for r in found
    ]  # fmt: skip
    return " ".join(" ".join(envelope_text(listed, 400, None)).split())


def test_a_range_is_reported_with_its_assumptions():
    assert printed(
        flat(kernels.copied, 1000), flat(kernels.copied, 1600), ties=["grid_x = cdiv(n, 1024)"]
    ) == (
        "sizes n (was 1,000): another variant from 2,147,483,648 on: n no longer fits into 32 "
        "bits: Triton compiles again; proven for 0 <= n <= 2,147,483,647, assuming x.shape[0] = n, "
        "out.shape[0] = n, grid_x = cdiv(n, 1024), other sizes as recorded (2 recorded launches, 2 "
        "sizes)"
    )


def test_one_launch_says_what_another_would_tell():
    assert printed(flat(kernels.copied, 1000)).endswith(
        "no launch had a larger one, so that beyond is unknown: grid_x was 1, and how it grows "
        'with n is not known: record a launch with another n, or state it as --tie "grid_x = …"'
    )


def test_a_kernel_that_fails_as_recorded_has_no_proven_range():
    assert printed(flat(kernels.one_off, 1000)) == (
        "sizes n (was 1,000): already bad: as recorded, load ends 4 bytes past the end of x "
        "(out-of-bounds); no size is proven safe"
    )


# -- time -----------------------------------------------------------------------------------------


@pytest.mark.costly("searches until its time is up")
def test_time_may_be_up_while_a_size_is_shown_to_be_bad():
    one = next(s for s in CORPUS if s.name == "a program for each row").call()
    ties = ["grid_x = x.shape[0]", "out.shape[0] = x.shape[0]", "x.shape[1] = columns"]
    own = relations(one, ties=[*ties, "out.shape[1] = columns"])
    began = nominal_seconds()
    assert {row.kind for row in envelope(own)} >= {"overflow"}
    taken = nominal_seconds() - began

    for share in range(1, 40):
        found = envelope(own, seconds=taken * share / 40)
        assert {row.kind for row in found} <= {"constants", "overflow", "unknown", "unseen"}
