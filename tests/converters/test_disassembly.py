"""Program that disassembles, its options, and the number of its starts."""

import importlib.util
import os
import stat
from hashlib import sha256
from types import SimpleNamespace

import pytest

from kvtrace.converters.disassembly import disassembled, disassembler, listings
from kvtrace.schema.layout import KEPT_TIMES
from kvtrace.schema.trace import open_trace
from tests.converters.written_trace import Kernel, write_trace

CUBINS = ("one", "other")


def made(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_disassembler_on_path_is_preferred_to_that_of_triton(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert disassembler() is None
    package = SimpleNamespace(origin=str(tmp_path / "triton" / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: package)
    assert disassembler() is None
    own = made(tmp_path / "triton" / "backends" / "nvidia" / "bin" / "nvdisasm", "exit 3")
    assert disassembler() == own
    on_path = made(tmp_path / "bin" / "cuobjdump", "exit 3")
    assert disassembler() == on_path


def test_listing_is_none_if_the_disassembler_fails(tmp_path):
    assert disassembled(made(tmp_path / "cuobjdump", "exit 3"), b"no cubin") is None
    tool = made(tmp_path / "nvdisasm", 'echo "$1 $2"')
    assert disassembled(tool, b"cubin") == "-c -g\n"


@pytest.fixture
def trace(tmp_path):
    """A trace with two cubins."""
    kernels = [Kernel(name=cubin, later={"cubin": cubin}) for cubin in CUBINS]
    write_trace(tmp_path / "trace", kernels)
    return open_trace(tmp_path / "trace")


def test_listings_are_kept_until_the_tool_changes(tmp_path, trace):
    ran = tmp_path / "ran"
    text = f'echo run >> {ran}; echo "$1 $2"; cat "$3"'
    tool = made(tmp_path / "nvdisasm", text)
    hashes = [sha256(cubin.encode()).hexdigest() for cubin in CUBINS]
    expected = [(digest, f"-c -g\n{cubin}") for digest, cubin in zip(hashes, CUBINS, strict=True)]
    for runs, asked in ((1, hashes[:1]), (2, hashes), (2, hashes), (2, hashes[1:])):
        reopened = open_trace(trace.path)
        assert list(listings(reopened, tool, asked)) == [p for p in expected if p[0] in asked]
        assert len(ran.read_text().split()) == runs
    made(tmp_path / "nvdisasm", f"{text}; echo new")
    assert next(listings(trace, tool, hashes[:1]))[1].endswith("new\n")


def test_failures_are_not_kept_and_missing_cubins_left_out(tmp_path, trace):
    tool = made(tmp_path / "nvdisasm", "exit 3")
    digest = sha256(CUBINS[0].encode()).hexdigest()
    assert not list(listings(trace, tool, [digest, "0" * 64]))
    assert not (trace.path / KEPT_TIMES).exists()


def test_nothing_is_kept_in_a_trace_that_cannot_be_written(tmp_path, trace, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write to all folders
    tool = made(tmp_path / "nvdisasm", "echo text")
    digest = sha256(CUBINS[0].encode()).hexdigest()
    assert list(listings(trace, tool, [digest])) == [(digest, "text\n")]
    assert not (trace.path / KEPT_TIMES).exists()
