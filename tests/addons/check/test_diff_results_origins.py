"""Origins of differences that were planted in a small training program, named by `kvtrace diff`."""

import os
from functools import cache
from pathlib import Path

import pytest

from kvtrace.converters.diff import compare
from kvtrace.schema.trace import resolve
from tests.support.warm_python import warm_python

pytest.importorskip("torch")
pytest.importorskip("triton")

#: Three steps: a batch is copied, scaled by weights, dropped out, summed, and the weights updated.
PROGRAM = '''
import torch, triton, triton.language as tl

torch.set_default_device("cuda")
N = 512


@triton.jit
def scaled(x, w, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * tl.load(w + at, mask=at < n), mask=at < n)


@triton.jit
def dropped_out(x, out, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, at) > 0.5
    tl.store(out + at, tl.where(keep, tl.load(x + at, mask=at < n) * 2, 0.0), mask=at < n)


@triton.jit
def summed(x, carry, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n, other=0.0) + tl.load(carry + at, mask=at < n, other=0.0)
    tl.atomic_add(total, tl.sum(values, axis=0))


@triton.jit
def updated(w, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(w + at, mask=at < n) - tl.load(x + at, mask=at < n) / 8
    tl.store(w + at, values, mask=at < n)


def flip(kernel, launch):
    """Have a launch of a kernel leave another last bit, as another device or order may."""
    from kvtrace.backends.triton import evaluating_launcher

    evaluate, seen = evaluating_launcher.evaluate, []

    def changed(module, arguments, grid, **given):
        evaluate(module, arguments, grid, **given)
        seen.extend([kernel] * (given.get("kernel") == kernel))
        if given.get("kernel") == kernel and len(seen) == launch:
            (out,) = [a for a in arguments if a.name in ("out", "total")]
            out.storage.data[0] ^= 1

    evaluating_launcher.evaluate = changed


batches = [torch.arange(N) % (7 + number) / 4 for number in range(3)]
x, hidden, out, carry = (torch.zeros(N) for _ in range(4))
w = torch.full((N,), 0.5)
total = torch.zeros(1)
for step in range(3):
    x.copy_(batches[step])
    x.mul_(2)
    scaled[(4,)](x, w, hidden, N, BLOCK=128)
    dropped_out[(4,)](hidden, out, N, step, BLOCK=128)
    summed[(4,)](out, carry, total, N, BLOCK=128)
    updated[(4,)](w, out, N, BLOCK=128)
'''
EMPTY = PROGRAM.replace(
    "w = torch",
    "carry = torch.empty(N)\n"
    "__import__('ctypes').memset(carry.data_ptr(), GARBAGE, 4 * N)\nw = torch",
)
SPLIT = PROGRAM.replace("batches =", "flip('scaled', 1)\nbatches =")


@pytest.fixture(scope="module")
def why(tmp_path_factory):
    """Return the sentence on the first difference between two programs, "" if none."""
    folder = tmp_path_factory.mktemp("origins")

    @cache
    def recorded(text: str, memory: str) -> Path:
        program = folder / "train.py"
        program.write_text(text)
        out = folder / f"out-{len(list(folder.iterdir()))}"
        environment = {
            **os.environ, "KVTRACE": str(out), "KVTRACE_DEVICE": "cpu", "KVTRACE_COMPILE": "ttir",
            "KVTRACE_CHECK": "digest,kernel:[su]*", "KVTRACE_MEMORY": memory,
        }  # fmt: skip
        done = warm_python().run(program, folder=folder, environment=environment)
        assert done.returncode == 0, done.stderr
        return out

    def sentence(before: str, after: str, memory: str = "on") -> str:
        sides = (resolve(recorded(text, memory)) for text in (before, after))
        first = compare(*sides, meaning=0).results.first
        return first.why.replace(f"{folder}/", "") if first else ""

    return sentence


def changed(*pairs: tuple[str, str]) -> str:
    text = PROGRAM
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


UPSTREAM = "its inputs {} differed already, and no compared launch wrote them differently: "
SAME = "the same operators wrote {}, so one got other inputs"
FILL = "hidden, N, BLOCK=128"


@pytest.mark.process
@pytest.mark.costly("records each program; day has the bracket without operators")
@pytest.mark.parametrize(
    ("before", "after", "origin"),
    [
        pytest.param(
            PROGRAM, changed(("/ 8", "/ 4")),
            "launch 1 of updated is the first with another result (w): its code was changed "
            "(source); its inputs were equal; beyond the derived bound: element", id="kernel",
        ),
        pytest.param(
            PROGRAM, changed(("N, step,", "N, step + step // 2,")),
            "launch 3 of dropped_out is the first with another result (out): "
            "its argument seed is 3, was 2", id="dropout",
        ),
        pytest.param(
            PROGRAM, changed(("batches[step]", "batches[(0, 2, 1)[step]]")),
            "launch 2 of scaled is the first with another result (out); "
            + UPSTREAM.format("x") + SAME.format("x (aten::mul_ at train.py:57, aten::copy_ at "
            "train.py:56, aten::mul_ at train.py:57)"), id="sample",
        ),
        pytest.param(
            PROGRAM, changed(("0.5)\ntotal", "0.25)\ntotal")),
            "launch 1 of scaled is the first with another result (out); "
            + UPSTREAM.format("w") + SAME.format("w (aten::full at train.py:53)"), id="fill",
        ),
        pytest.param(
            EMPTY.replace("GARBAGE", "0x3F"), EMPTY.replace("GARBAGE", "0x40"),
            "launch 1 of summed is the first with another result (total); "
            + UPSTREAM.format("carry") + "no recorded operator or launch wrote carry since "
            "aten::empty at train.py:53 made it: uninitialized memory", id="uninitialized",
        ),
        pytest.param(
            PROGRAM, changed(("batches =", "flip('summed', 2)\nbatches =")),
            "launch 2 of summed is the first with another result (total), though its inputs were "
            "equal: the kernel is not deterministic. tt.atomic_rmw at train.py:25 adds floats of "
            "several programs to one element and rounds each sum: the result depends on the order "
            "of the programs; expected: all elements are within the derived bound", id="atomics",
        ),
        pytest.param(
            PROGRAM, SPLIT.replace(FILL, f"{FILL}, num_warps=8"),
            "launch 1 of scaled is the first with another result (out): its code was changed "
            "(num_warps 4 → 8); its inputs were equal; whether that is expected is not known",
            id="warps",
        ),
        pytest.param(
            PROGRAM, changed(("    updated[", "    if step != 1: updated[")),
            "other kernels are launched: launch 7 was one of updated, and launch 7 is of scaled",
            id="launch-dropped",
        ),
        pytest.param(
            PROGRAM, changed(("    x.mul_", "    if step != 1: x.mul_")),
            "launch 2 of scaled is the first with another result (out); "
            + UPSTREAM.format("x") + "x was written by aten::mul_ at train.py:57 only before",
            id="operator-dropped",
        ),
        pytest.param(PROGRAM, changed(("N = 512", "N = 2 * 256")), "", id="none"),
    ],
)  # fmt: skip
def test_origin_of_a_planted_difference_is_named(why, before, after, origin):
    assert why(before, after).startswith(origin)
    assert bool(origin) == bool(why(before, after))


@pytest.mark.process
def test_without_operators_an_earlier_launch_on_other_memory_is_no_bracket(why):
    swapped = changed(("batches[step]", "batches[(0, 2, 1)[step]]"))
    text = why(PROGRAM, swapped, memory="")
    assert "(equal results, which may not have had these inputs)" in text
    assert "KVTRACE_MEMORY=on operators" in text
