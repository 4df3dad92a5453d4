"""Conditions for all shapes: what they say, and that no call inside of them leaves a tensor.

Brute force is the measure: of each kernel thousands of small calls are drawn, compared with the
condition, and run over their whole grid.
"""

import random
from collections import Counter
from dataclasses import dataclass

import pytest

from corpus.defects.overflow import far_rows
from corpus.kernels import basic
from kvtrace.evaluate import ScalarArgument, TensorArgument
from kvtrace.symbolic.conditions import at_least
from kvtrace.symbolic.terms import scalar
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.sizes.at_size import compared_accesses, judge_others
from kvtrace.verdicts.sizes.condition import conditions_of
from kvtrace.verdicts.sizes.wording import assumption_text, inside_text, width_text
from tests.support.defects import CORPUS
from tests.support.replacing import replace
from tests.support.thorough import usually
from tests.support.triton_versions import missing_for
from tests.verdicts import generic_kernels as kernels
from tests.verdicts.calls import call, tensor
from tests.verdicts.mutants import evaluated, mutants

SECTION = "conditions for all shapes"
PER_KERNEL = 120


def told(one):
    """What is said of each access: kind, tensor, "exactly" or "at least", the condition."""
    summary = summarize(one.module)
    names = [value.name.lstrip("%") for value in one.module.main.arguments]
    return [
        (
            found.access.kind,
            names[found.access.argument],
            "exactly" if found.exact else "at least",
            inside_text(found, summary),
        )
        if found.condition is not None
        else (found.access.kind, names[found.access.argument], "unknown", found.reason)
        for found in conditions_of(one.module)
    ]


def widths(one):
    summary = summarize(one.module)
    texts = [width_text(w, summary) for found in conditions_of(one.module) for w in found.widths]
    return list(dict.fromkeys(texts))


def assumptions(one):
    summary = summarize(one.module)
    return {
        assumption_text(symbol, least, summary)
        for found in conditions_of(one.module)
        for symbol, least in found.assumptions
    }


# -- calls drawn at random ------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """A kernel, and a function that draws the arguments and the grid of a small call.

    What a right caller would pass, mostly: each number is now and then another one.
    """

    kernel: object
    draw: object

    def calls(self, count):
        numbers = random.Random(self.kernel.fn.__name__)
        first = call(self.kernel, (1,), **self.draw(numbers)[1])
        for _ in range(count):
            grid, arguments = self.draw(numbers)
            names = [name for name in self.kernel.arg_names if not name.isupper()]
            bound = tuple(self.bound(name, arguments[name]) for name in names)
            yield replace(first, grid=(*grid, 1, 1)[:3], arguments=bound)

    @staticmethod
    def bound(name, value):
        if isinstance(value, TensorArgument):
            return replace(value, name=name)
        return ScalarArgument(name, value)


def about(numbers, right, least=0):
    """The right number, mostly; or one near it."""
    return max(least, right + numbers.choice((0, 0, 0, 0, -1, 1, 3, -2)))


def room(numbers, elements, dtype="fp32"):
    return tensor(max(1, about(numbers, elements)), dtype=dtype)


def tiles(size, block):
    return -(-size // block)


def draw_add(numbers):
    n = numbers.randint(0, 40)
    grid = (about(numbers, tiles(n, 8), 1),)
    tensors = {name: room(numbers, n) for name in ("x", "y", "result")}
    return grid, {**tensors, "n": about(numbers, n, -1), "BLOCK": 8}


def draw_softmax(numbers):
    rows, columns = numbers.randint(1, 4), numbers.randint(1, 20)
    stride = about(numbers, columns)
    size = (rows - 1) * stride + min(columns, 16)
    return (about(numbers, rows, 1),), {
        "x": room(numbers, size), "result": room(numbers, size), "x_stride": about(numbers, stride),
        "result_stride": stride, "columns": columns, "BLOCK": 16,
    }  # fmt: skip


def draw_whole_blocks(numbers):
    rows, stride = numbers.randint(1, 4), numbers.randint(0, 24)
    size = (rows - 1) * stride + 16
    return (about(numbers, rows, 1),), {
        "x": room(numbers, size), "result": room(numbers, size), "stride": stride, "BLOCK": 16,
    }  # fmt: skip


def draw_matmul(numbers):
    m, n, k = (numbers.randint(1, 40) for _ in range(3))
    transposed = numbers.random() < 0.3
    a = (1, m) if transposed else (k, 1)
    return (about(numbers, tiles(m, 16), 1), about(numbers, tiles(n, 16), 1)), {
        "a": room(numbers, m * k), "b": room(numbers, k * n), "c": room(numbers, m * n),
        "rows": about(numbers, m), "columns": about(numbers, n), "inner": about(numbers, k),
        "a_row": about(numbers, a[0]), "a_inner": a[1], "b_inner": n, "b_column": 1, "c_row": n,
        "BM": 16, "BN": 16, "BK": 16,
    }  # fmt: skip


def draw_grouped(numbers):
    m, n, k = (numbers.randint(1, 60) for _ in range(3))
    grid = (about(numbers, tiles(m, 16) * tiles(n, 16), 1),)
    return grid, {
        "a": room(numbers, m * k), "b": room(numbers, k * n), "c": room(numbers, m * n),
        "m": m, "n": n, "k": about(numbers, k, 1), "stride_am": k, "stride_ak": 1, "stride_bk": n,
        "stride_bn": 1, "stride_cm": n, "stride_cn": 1, "BM": 16, "BN": 16, "BK": 16, "GROUP": 2,
        "ACTIVATION": "", "PRECISION": "ieee",
    }  # fmt: skip


def draw_rows(numbers):
    rows, columns = numbers.randint(1, 4), numbers.randint(0, 40)
    stride = about(numbers, columns)
    return (about(numbers, rows, 1),), {
        "x": room(numbers, (rows - 1) * stride + columns), "result": room(numbers, rows),
        "stride": stride, "columns": columns, "BLOCK": 16,
    }  # fmt: skip


def draw_rows_too_far(numbers):
    grid, arguments = draw_rows(numbers)
    padded = (tiles(arguments["columns"] + 1, 16)) * 16
    size = (grid[0] - 1) * arguments["stride"] + padded
    return grid, {**arguments, "x": room(numbers, size)}


def draw_heads(numbers):
    batches, count, head = numbers.randint(1, 3), numbers.randint(1, 4), numbers.randint(8, 12)
    size = batches * count * head
    return (about(numbers, batches * count, 1),), {
        "x": room(numbers, size), "result": room(numbers, size), "count": about(numbers, count),
        "batch_stride": count * head, "head_stride": head, "BLOCK": 8,
    }  # fmt: skip


def draw_wrapped(numbers):
    rows, stride = numbers.randint(0, 12), numbers.randint(0, 12)
    size = max(rows - 1, 0) * stride + 8
    return (numbers.randint(1, 4),), {
        "x": room(numbers, size), "result": room(numbers, size), "rows": rows, "stride": stride,
        "BLOCK": 4, "WIDTH": 8,
    }  # fmt: skip


def draw_one_size(numbers):
    n = numbers.randint(0, 40)
    grid = (about(numbers, tiles(n, 8), 1),)
    return grid, {"x": room(numbers, n), "result": room(numbers, n), "n": n, "BLOCK": 8}


def draw_clamped(numbers):
    grid, arguments = draw_one_size(numbers)
    return grid, {**arguments, "result": room(numbers, 8 * grid[0])}


def draw_if_large(numbers):
    n, least = numbers.randint(0, 20), numbers.randint(0, 20)
    return (1,), {
        "x": room(numbers, n + 8 if n > least else 1), "result": room(numbers, 8), "n": n,
        "least": least, "BLOCK": 8,
    }  # fmt: skip


def draw_blocks(numbers):
    rows, columns = numbers.randint(1, 20), numbers.randint(1, 20)
    stride = about(numbers, columns)
    size = (rows - 1) * stride + columns
    return (numbers.randint(1, 4),), {
        "x": room(numbers, size), "result": room(numbers, size), "rows": rows, "columns": columns,
        "stride": stride, "BM": 8, "BN": 16,
    }  # fmt: skip


_DRAWN = (
    Drawn(kernels.add, draw_add),
    Drawn(kernels.softmax, draw_softmax),
    Drawn(kernels.softmax_of_whole_blocks, draw_whole_blocks),
    Drawn(kernels.matmul, draw_matmul),
    Drawn(basic.matmul, draw_grouped),
    Drawn(kernels.row_sums, draw_rows),
    Drawn(kernels.row_sums_one_block_too_far, draw_rows_too_far),
    Drawn(kernels.heads, draw_heads),
    Drawn(kernels.wrapped_rows, draw_wrapped),
    Drawn(kernels.left_neighbour, draw_one_size),
    Drawn(kernels.last_first, draw_one_size),
    Drawn(kernels.clamped, draw_clamped),
    Drawn(kernels.if_large, draw_if_large),
    Drawn(kernels.block_pointers, draw_blocks),
)
DRAWN = tuple(each for each in _DRAWN if not missing_for(each.kernel, {}))


def sizes_are_positive(one):
    return all(a.value >= 1 for a in one.arguments if isinstance(a, ScalarArgument))


def compared(one):
    """How each op stands, and what a run of the whole grid shows of it."""
    seen = evaluated(one)
    by_op = {}
    for held in compared_accesses(one):
        by_op.setdefault(held.condition.op.index, []).append(held)
    for op, held in by_op.items():
        broken = any(index == op for _, index in seen.broken)
        yield held, broken, op in seen.doubtful


def counted(calls):
    """Count what is inside, outside or open, and leaves or not; fails on what is unsound."""
    counts = Counter()
    for one in calls:
        for held, broken, doubtful in compared(one):
            if all(each.standing == "inside" for each in held):
                assert not broken, (one.kernel, one.grid, one.arguments)
                counts["inside"] += 1
            elif any(each.standing == "outside" for each in held):
                counts["outside, leaves" if broken or doubtful else "outside, stays"] += 1
                exact = all(each.condition.exact for each in held)
                if exact and sizes_are_positive(one) and not doubtful:
                    assert broken, (one.kernel, one.grid, one.arguments)
                    counts["exactly"] += 1
            else:
                counts["open, leaves" if broken or doubtful else "open, stays"] += 1
    return counts


def shares(counts):
    clean = counts["inside"] + counts["outside, stays"] + counts["open, stays"]
    return (
        f"{counts.total() - counts['exactly']} accesses: {counts['inside']} inside, none of them "
        f"leaves; {counts['outside, leaves']} outside and leave; of {clean} that stay "
        f"{counts['outside, stays']} are outside ({counts['outside, stays'] / max(clean, 1):.1%}), "
        f"{counts['open, stays']} open; exact and outside: {counts['exactly']}, all leave"
    )


@pytest.fixture(scope="module")
def drawn():
    """What came out of all calls that are drawn, by kernel."""
    return {
        f"{each.kernel.__module__.rpartition('.')[2]}.{each.kernel.fn.__name__}": counted(
            each.calls(PER_KERNEL)
        )
        for each in DRAWN
    }


@pytest.mark.sweep
def test_calls_inside_never_leave_their_tensors(drawn, say):
    total = sum(drawn.values(), Counter())
    say(SECTION, f"small calls drawn at random: {shares(total)}")

    assert total["inside"] > 1000
    assert total["outside, leaves"] > 200
    assert total["exactly"] > 200


@pytest.mark.sweep
def test_few_calls_inside_their_tensors_violate_the_condition(drawn):
    total = sum(drawn.values(), Counter())

    assert total["outside, stays"] <= 0.02 * (total["inside"] + total["outside, stays"])


@pytest.mark.sweep
def test_every_kernel_that_is_drawn_has_calls_on_both_sides(drawn):
    for kernel, counts in drawn.items():
        assert counts["inside"] > 20, kernel
        assert counts["outside, leaves"] + counts["open, leaves"] > 0, kernel


@pytest.mark.sweep
def test_verdicts_on_defects_with_one_changed_number_agree_with_brute_force(say):
    each = usually(30, thorough=5)
    calls = [one for sample in CORPUS if sample.programs <= 64 for _, one in mutants(sample.call())]
    counts = counted(calls[::each])
    say(SECTION, f"corpus of defects, one number changed: {shares(counts)}")

    assert counts["inside"] > 2000 / each


# -- what is said ---------------------------------------------------------------------------------


def test_the_condition_of_vector_addition_is_the_lesser_of_size_and_grid():
    one = call(kernels.add, (4,), x=tensor(99), y=tensor(99), result=tensor(99), n=99, BLOCK=1024)

    assert told(one) == [
        (kind, name, "exactly", f"min(n, 1024 * grid_x) <= extent({name})")
        for kind, name in (("load", "x"), ("load", "y"), ("store", "result"))
    ]
    assert widths(one) == ["1024 * grid_x <= 2**31"]
    assert assumptions(one) == {"n >= 0"}


def test_the_condition_of_softmax_is_the_smaller_of_columns_and_block():
    one = call(
        kernels.softmax, (9,), x=tensor(9, 99), result=tensor(9, 99), x_stride=99,
        result_stride=99, columns=99, BLOCK=128,
    )  # fmt: skip

    assert told(one)[0] == (
        "load", "x", "exactly", "min(128, columns) + (grid_x - 1) * x_stride <= extent(x)",
    )  # fmt: skip
    assert widths(one)[0] == "(grid_x - 1) * x_stride <= 2**31 - 1"


def reaches(one):
    summary = summarize(one.module)
    return [width_text(c, summary) for found in conditions_of(one.module) for c in found.reach]


def test_reach_conditions_compare_the_size_with_grid_and_block():
    rows = {"x_stride": 99, "result_stride": 99, "columns": 99}
    wide = call(kernels.softmax, (9,), x=tensor(9, 99), result=tensor(9, 99), **rows, BLOCK=64)
    one = added(1000, n=1000, programs=1)

    assert reaches(wide) == ["columns <= 64"]
    assert [each.reaches for each in compared_accesses(wide)] == [True, False]
    assert reaches(one) == ["n <= 1024 * grid_x"]
    assert all(each.reaches for each in compared_accesses(one))


def test_the_condition_of_a_matrix_product_covers_the_last_row_and_column():
    grid, arguments = draw_matmul(random.Random(1))
    one = call(kernels.matmul, grid, **{**arguments, "a_inner": 2, "b_column": 3})

    assert [text for _, _, exact, text in told(one) if exact == "exactly"] == [
        "(min(rows, 16 * grid_x) - 1) * a_row + (inner - 1) * a_inner + 1 <= extent(a)",
        "(min(columns, 16 * grid_y) - 1) * b_column + (inner - 1) * b_inner + 1 <= extent(b)",
        "(min(rows, 16 * grid_x) - 1) * c_row + min(columns, 16 * grid_y) <= extent(c)",
    ]


def test_the_condition_of_a_loop_over_blocks_follows_from_its_mask():
    grid, arguments = draw_rows(random.Random(1))

    load, store = told(call(kernels.row_sums, grid, **{**arguments, "stride": 41}))

    assert load[2:] == ("exactly", "(grid_x - 1) * stride + columns <= extent(x)")
    assert store[2:] == ("exactly", "grid_x <= extent(result)")


def test_no_condition_where_indices_are_data_and_the_reason():
    one = call(
        kernels.gather, (2,), x=tensor(64), indices=tensor(10, dtype="i32"), result=tensor(10),
        n=10, BLOCK=8,
    )  # fmt: skip

    assert told(one)[1] == ("load", "x", "unknown", "its address depends on what indices holds")
    assert [answer for _, _, answer, _ in told(one)] == ["exactly", "unknown", "exactly"]


def test_a_stride_that_is_negative_is_outside_of_the_assumptions_and_judged_by_itself():
    grid, arguments = draw_whole_blocks(random.Random(1))
    stride = {"stride": -16, "x": tensor(16 * grid[0], offset=16), "result": tensor(64)}
    one = call(kernels.softmax_of_whole_blocks, grid, **{**arguments, **stride})

    held = compared_accesses(one)

    assert {each.standing for each in held} == {"open"}
    assert {each.reason for each in held} == {"the call violates the condition's assumptions"}
    assert judge_others(one, held)


# -- calls ----------------------------------------------------------------------------------------


def added(elements, n, programs):
    tensors = {name: tensor(elements) for name in ("x", "y", "result")}
    return call(kernels.add, (programs,), **tensors, n=n, BLOCK=1024)


def test_a_call_outside_is_a_violation_with_a_witness():
    one = added(1000, n=1001, programs=1)

    held = compared_accesses(one)
    verdicts = judge_others(one, held)

    assert [each.standing for each in held] == ["outside"] * 3
    assert [(v.rule, v.verdict, v.past_end_bytes) for v in verdicts] == [
        ("out-of-bounds", "violation", 4)
    ] * 3
    assert {v.lane for v in verdicts} == {(1000,)}


def test_a_call_outside_of_its_view_alone_breaks_out_of_view():
    wide = {name: tensor(1000, room=2000) for name in ("x", "y", "result")}
    one = call(kernels.add, (1,), **wide, n=1001, BLOCK=1024)

    assert {v.rule for v in judge_others(one, compared_accesses(one))} == {"out-of-view"}


def test_a_call_inside_its_conditions_is_not_judged_again(monkeypatch):
    monkeypatch.setattr("kvtrace.verdicts.sizes.at_size.judge", None)
    one = added(10**9, n=10**9, programs=10**6)

    held = compared_accesses(one)

    assert [each.standing for each in held] == ["inside"] * 3
    assert judge_others(one, held) == ()


def test_a_call_whose_index_wraps_around_is_not_inside():
    one = added(2**31 + 1024, n=2**31 + 1024, programs=2**21 + 1)

    assert {each.standing for each in compared_accesses(one)} == {"open"}
    assert {v.verdict for v in judge_others(one, compared_accesses(one))} == {"violation"}


def test_a_call_that_breaks_the_condition_on_widths_is_not_proven_for_landing_inside():
    # program 1's row is 65,536: times the stride it is 2^32, which is 0 in 32 bits
    held = {"x": tensor(65_537, 65_536, dtype="i8"), "out": tensor(2, 64, dtype="i8")}
    one = call(far_rows, (2,), **held, stride=65_536, BLOCK=64)

    found = [
        verdict
        for verdict in judge_others(one, compared_accesses(one))
        if verdict.verdict != "proven"
    ]

    assert {each.standing for each in compared_accesses(one)} == {"open", "inside"}
    assert [(verdict.rule, verdict.verdict) for verdict in found] == [("overflow", "violation")]


def test_a_grid_without_programs_is_inside():
    one = replace(added(10, n=1000, programs=1), grid=(0, 1, 1))

    assert {each.standing for each in compared_accesses(one)} == {"inside"}


def test_each_summand_of_a_condition_is_printed_once():
    """Of `a * b * c - a * b - a`, the second summand went into the first one's factor."""
    a, b, c = (scalar(index) for index in range(2, 5))
    needed = at_least(2**31 - 1, a * b * c - a * b - a)

    rows = {"x_stride": 4, "result_stride": 4, "columns": 4}
    one = call(kernels.softmax, (1,), x=tensor(4), result=tensor(4), **rows, BLOCK=4)

    assert width_text(needed, summarize(one.module)) == (
        "(columns - 1) * result_stride * x_stride - x_stride <= 2**31 - 1"
    )
