"""Which program disassembles, and what it is asked."""

import importlib.util
import stat
from types import SimpleNamespace

from kvtrace.converters.disassembly import disassembled, disassembler


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
    assert disassembled(tool, b"cubin", lines=True) == "-c -g\n"
