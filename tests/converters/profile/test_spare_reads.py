"""Reads that could be spared, as `kvtrace profile --lines` names them."""

import inspect
import json

import pytest
import torch

import kvtrace
from kvtrace.cli import main

triton = pytest.importorskip("triton")
tl = triton.language


@triton.jit
def twice(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    first = tl.load(x + i, mask=i < n)
    tl.store(y + i, first * 2, mask=i < n)
    second = tl.load(x + i, mask=i < n)
    tl.store(z + i, second + 1, mask=i < n)


@triton.jit
def rotated(x, y, z, n, BLOCK: tl.constexpr):
    """Read the same bytes over the grid, by other programs."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    first = tl.load(x + i, mask=i < n)
    tl.store(y + i, first, mask=i < n)
    second = tl.load(x + (i + BLOCK) % n, mask=i < n)
    tl.store(z + i, second, mask=i < n)


@triton.jit
def updated(x, y, z, n, BLOCK: tl.constexpr):
    """Read again what was written in between."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    first = tl.load(x + i, mask=i < n)
    tl.store(x + i, first * 2, mask=i < n)
    second = tl.load(x + i, mask=i < n)
    tl.store(z + i, second + 1, mask=i < n)


@triton.jit
def discarded(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0).to(tl.float64)
    chosen = tl.where(i % 4 < 2, value, 0.0)
    tl.store(y + i, chosen.to(tl.float32), mask=i < n)


@triton.jit
def rectified(x, y, z, n, BLOCK: tl.constexpr):
    """Discard by the value itself, which no mask could know."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.store(y + i, tl.where(value > 0, value, 0.0), mask=i < n)


@triton.jit
def masked(x, y, z, n, BLOCK: tl.constexpr):
    """Discard the lanes that the mask leaves out."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=(i < n) & (i % 4 < 2), other=0)
    tl.store(y + i, tl.where(i < n, value, -1.0))


@triton.jit
def used_whole(x, y, z, n, BLOCK: tl.constexpr):
    """Discard lanes that are stored elsewhere."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.store(y + i, tl.where(i % 4 < 2, value, 0.0), mask=i < n)
    tl.store(z + i, value, mask=i < n)


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    """The sentences by line of this file, and the text of the profile."""
    out = tmp_path_factory.mktemp("spare") / "out"
    x, y, z = torch.randn(1000), torch.empty(1024), torch.empty(1024)
    with kvtrace.capture(out):
        for kernel in (twice, rotated, updated, discarded, rectified, masked, used_whole):
            kernel[(4,)](x.clone(), y, z, 1000, BLOCK=256)
    assert main(["replay", str(out), "-q"]) == 0
    file = out.parent / "profile"
    assert main(["profile", str(out), "--lines", "--json", "-o", f"{file}.json"]) == 0
    assert main(["profile", str(out), "--lines", "-o", f"{file}.txt"]) == 0
    lines = json.loads(file.with_suffix(".json").read_text())["lines"]
    sentences = {line["line"]: line["spare_reads"] for line in lines if line["spare_reads"]}
    return sentences, file.with_suffix(".txt").read_text()


def line_of(kernel, text):
    source, first = inspect.getsourcelines(kernel.fn)
    return next(first + number for number, line in enumerate(source) if text in line)


def test_only_what_could_be_spared_is_named(notes):
    assert set(notes[0]) == {line_of(twice, "second = tl.load"), line_of(discarded, "tl.load")}


def test_second_load_of_the_same_addresses_names_the_first(notes):
    (sentence,) = notes[0][line_of(twice, "second = tl.load")]
    assert sentence == (
        f"reads the same addresses of x again, after line {line_of(twice, 'first = tl.load')} "
        "(3.91 KiB a launch): keep the value"
    )


def test_load_names_the_where_that_discards_its_lanes(notes):
    (sentence,) = notes[0][line_of(discarded, "tl.load")]
    where = line_of(discarded, "tl.where")
    assert sentence.startswith(f"reads lanes that the where of line {where} discards: ")
    assert " ".join(sentence.split()) in " ".join(notes[1].split())
