"""Fresh memory of recorded programs, filled as the environment asks."""

import os

import pytest

from kvtrace.addons.memory.settings import FILL, FILLED
from tests.support.warm_python import warm_python

pytest.importorskip("triton")
pytestmark = pytest.mark.process

PROGRAM = """
import torch
y = torch.ones(100, device="cuda").new_empty(100)
count = torch.empty(100, dtype=torch.int32, device="cuda")
flags = torch.empty(100, dtype=torch.bool, device="cuda")
print(bool(y.isnan().all()), bool((count == 2**31 - 1).all()), bool(flags.all()))
print(bool((y == 0).all()), bool((count == 0).all()), bool((~flags).all()))
"""


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("nan", ["True True True", "False False False"]),
        ("zero", ["False False False", "True True True"]),
    ],
)
def test_fresh_memory_is_filled(tmp_path, how, expected):
    assert filled(tmp_path, how) == expected


@pytest.mark.parametrize(("line", "filled_one"), [(3, 0), (4, 1)])
def test_only_the_memory_of_a_line_is_filled_and_other_memory_is_zeros(tmp_path, line, filled_one):
    have_nan, are_zeros = filled(tmp_path, f"nan@prog.py:{line}")
    expected = ["False", "False", "False"]
    expected[filled_one] = "True"
    assert have_nan.split() == expected
    assert are_zeros.split() == ["False" if has == "True" else "True" for has in expected]
    assert (tmp_path / "witness").exists()


GROWN = """
import torch
ones = torch.ones(4, device="cuda")
fresh = [torch.empty(0, device="cuda").resize_(4), ones.new(4), ones.new(torch.Size([4]))]
print(*(bool(x.isnan().all()) for x in fresh))
kept = [ones.new([1.0]), ones.clone().resize_(2), ones.new(ones)]
print(*(bool((x == 1).all()) for x in kept))
"""


def test_memory_of_resizes_and_legacy_constructors_is_filled_and_values_stay(tmp_path):
    assert filled(tmp_path, "nan", GROWN) == ["True True True"] * 2


def test_no_witness_is_made_if_the_line_allocates_nothing(tmp_path):
    assert filled(tmp_path, "nan@prog.py:2")[1] == "True True True"
    assert not (tmp_path / "witness").exists()


COMPILED = """
import torch, triton, triton.language as tl

@triton.jit
def doubled(x, y, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)

@torch.compile(fullgraph=True)
def rows(x):
    y = torch.empty_like(x)
    doubled[(1,)](x, y, 90, BLOCK=128)
    return y

y = rows(torch.ones(100, device="cuda"))
print(bool((y[:90] == 2).all()), bool(y[90:].isnan().all()), bool((y[90:] == 0).all()))
"""


NIGHT = pytest.mark.night("7 s each; one stays, and test_fresh_memory_is_filled fills all memory")


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        pytest.param("zero", "True False True", marks=NIGHT),
        pytest.param("nan", "True True False", marks=NIGHT),
        # As findings name it: where the function begins.
        pytest.param("nan@prog.py:9", "True True False", marks=NIGHT),
        ("nan@prog.py:11", "True False True"),  # Inductor allocates it, not this line
    ],
)
def test_memory_of_compiled_code_is_filled_when_it_runs(tmp_path, how, expected):
    assert filled(tmp_path, how, COMPILED) == [expected]


UNUSUAL = """
import torch
torch.empty(0)
torch.empty((2, 2), layout=torch.sparse_coo)
torch.empty(4, device="meta")
torch.empty(4, dtype=torch.quint8) if hasattr(torch, "quint8") else None
print(torch.empty(2, dtype=torch.float8_e4m3fn).isnan().all().item())
"""


def test_tensors_that_cannot_be_filled_do_not_end_the_program(tmp_path):
    assert filled(tmp_path, "nan", UNUSUAL) == ["True"]


def filled(tmp_path, how, text=PROGRAM):
    program = tmp_path / "prog.py"
    program.write_text(text, encoding="utf-8")
    environment = os.environ | {
        "KVTRACE": str(tmp_path / "out"), "KVTRACE_DEVICE": "cpu", FILL: how,
        FILLED: str(tmp_path / "witness"),
    }  # fmt: skip
    done = warm_python().run(program, folder=tmp_path, environment=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
