"""Conditions on sizes of the kernels of a trace."""

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402

import kvtrace  # noqa: E402
from kvtrace.analysis.conditions import kernel_conditions  # noqa: E402
from kvtrace.schema.trace import resolve  # noqa: E402


@triton.jit
def transposed(x, y, L, H, D, total, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < total
    column, head, row = at % D, at // D % H, at // D // H % L
    place = ((at // D // H // L * H + head) * L + row) * D + column
    tl.store(y + place, tl.load(x + at, mask=inside), mask=inside)


@pytest.mark.costly("compiles and judges kernels; rows of one stay by day in sizes")
def test_rows_of_a_kernel_do_not_depend_on_the_number_of_kernels(tmp_path):
    rows = {}
    for number in (1, 4):
        out = tmp_path / str(number)
        with kvtrace.capture(out, compile="ttir"):
            for block in (128, 256, 512, 1024)[:number]:
                x = torch.ones(2, 20, 6, 10)
                transposed[(19,)](x, x.clone(), 20, 6, 10, 2400, BLOCK=block)
        kernels, failures = kernel_conditions(resolve(str(out)), seconds=0.4)
        assert (len(kernels), failures) == (number, [])
        rows[number] = kernels[0].envelope
    assert rows[1] == rows[4] != ()
