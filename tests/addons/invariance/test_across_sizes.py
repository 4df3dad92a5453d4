"""Maxima and minima in another order at another size of the batch: the same value."""

import pytest

torch = pytest.importorskip("torch")
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

from tests.addons.invariance.inputs import tensor  # noqa: E402
from tests.addons.invariance.judging import Judged  # noqa: E402


@triton.jit
def reduced(x, y, N, FORM: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    if FORM == "minimum":
        total = tl.full((B,), float("inf"), tl.float32)
    elif FORM == "sum":
        total = tl.zeros((B,), tl.float32)
    else:
        total = tl.full((B,), -float("inf"), tl.float32)
    for begin in range(0, N, B):
        at = begin + tl.arange(0, B)
        if FORM == "minimum":
            total = tl.minimum(total, tl.load(x + row * N + at, mask=at < N, other=float("inf")))
        elif FORM == "sum":
            total += tl.load(x + row * N + at, mask=at < N, other=0.0)
        else:
            values = tl.load(x + row * N + at, mask=at < N, other=-float("inf"))
            total = tl.maximum(total, values)
    if FORM == "minimum":
        tl.store(y + row, tl.min(total, axis=0))
    elif FORM == "sum":
        tl.store(y + row, tl.sum(total, axis=0))
    elif FORM == "scaled":
        tl.store(y + row, tl.max(total * 0.3 + total * 0.4, axis=0))
    else:
        tl.store(y + row, tl.max(total, axis=0))


@triton.jit
def padded(x, y, N, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    tl.store(y + row, tl.max(tl.load(x + row * N + at, mask=at < N, other=-float("inf")), axis=0))


@pytest.mark.parametrize("form", ["maximum", "minimum"])
def test_order_of_maxima_changes_no_value(judged: Judged, form: str) -> None:
    def launch() -> None:
        for rows in (1, 3, 9):
            options = {"B": 16} if rows < 8 else {"B": 32, "num_warps": 8}
            reduced[(rows,)](
                tensor(rows, 100, seed=1), tensor(rows, seed=2), 100, FORM=form, **options
            )

    (output,) = judged(launch).outputs

    assert (output.verdict, output.reasons) == ("proven", ())
    assert output.size_comparison is not None
    assert output.size_comparison.comparison.relation == "equal"


@pytest.mark.parametrize("form", ["sum", "scaled"])
def test_order_of_sums_changes_values(judged: Judged, form: str) -> None:
    def launch() -> None:
        for rows in (1, 9):
            block = 16 if rows < 8 else 32
            reduced[(rows,)](
                tensor(rows, 100, seed=1), tensor(rows, seed=2), 100, FORM=form, B=block
            )

    (output,) = judged(launch).outputs

    assert output.verdict != "proven"


def test_padding_shows_where_a_row_has_nothing_but_nans(judged: Judged) -> None:
    def launch() -> None:
        for rows in (1, 9):
            padded[(rows,)](
                tensor(rows, 64, seed=1), tensor(rows, seed=2), 64, B=64 if rows < 8 else 128
            )

    (output,) = judged(launch).outputs

    assert output.verdict == "violation"
    assert output.witness is not None
    assert output.witness.values == ("nan", "-inf")
    assert output.witness.first == "1 rows of NaNs"


@triton.jit
def filled(x, y, N, FILL: tl.constexpr, B: tl.constexpr):
    row, largest = tl.program_id(0), FILL
    for begin in range(0, N, B):
        at = begin + tl.arange(0, B)
        values = tl.load(x + row * N + at, mask=at < N, other=FILL)
        largest = tl.maximum(largest, tl.max(values, 0))
    tl.store(y + row, largest)


@pytest.mark.parametrize(("fill", "verdict"), [(-1e38, "unknown"), (-float("inf"), "proven")])
def test_padding_below_all_numbers_is_no_difference(
    judged: Judged, fill: float, verdict: str
) -> None:
    def launch() -> None:
        for rows in (3, 9):
            x, y = tensor(rows, 48, seed=1), tensor(rows, seed=2)
            filled[(rows,)](x, y, 48, FILL=fill, B=16 if rows < 8 else 32)

    (output,) = judged(launch).outputs

    assert output.verdict == verdict
