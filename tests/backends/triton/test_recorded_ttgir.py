"""TTGIR of a trace is read by the Triton that is installed, in another process."""

import subprocess

import pytest

from kvtrace.backends.triton.recorded_ttgir import UnreadableTtgir, generic_ttgir, generic_ttgirs
from kvtrace.ir import parse, source_stack
from tests.backends.compiled_kernels import check_kernels
from tests.support.compile_ttir import compile_ttir

pytestmark = pytest.mark.process

SIGNATURE = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}


@pytest.fixture(scope="module")
def ttgir():
    return compile_ttir(check_kernels.add, SIGNATURE, {"BLOCK": 256}, stage="ttgir")


def test_it_becomes_the_generic_form(ttgir):
    module = parse(generic_ttgir(ttgir, None))

    assert module.main.name == "add"
    assert any("#blocked" in str(value.type) for op in module.ops for value in op.results)


def columns(ttgir, version):
    module = parse(generic_ttgir(ttgir, version))
    return {frame.column for op in module.ops for frame in source_stack(op)}


def test_its_columns_are_those_of_the_version_that_recorded_it(ttgir):
    """A trace of another version is read by the one that is installed."""
    assert columns(ttgir, "3.7.1") == {column + 1 for column in columns(ttgir, "3.8.0")}


def test_what_triton_cannot_read_says_so(ttgir):
    with pytest.raises(UnreadableTtgir, match=r"Triton [\d.]+ cannot read the IR of kernel add"):
        generic_ttgir(ttgir.replace("arith.addf", "arith.of_another_version"), None)


def test_without_triton_it_says_so(ttgir, tmp_path, monkeypatch):
    (tmp_path / "triton.py").write_text("raise ImportError")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(UnreadableTtgir, match="Triton, which reads TTGIR, is not installed here"):
        generic_ttgir(ttgir, None)


def test_a_compiler_that_crashes_is_survived(ttgir, tmp_path, monkeypatch):
    (tmp_path / "triton.py").write_text("import os; os.abort()")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(UnreadableTtgir, match="Triton exited with -6 while reading it"):
        generic_ttgir(ttgir, None)


def test_several_are_read_by_one_process_and_a_bad_one_spoils_no_other(ttgir, monkeypatch):
    runs = []
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: runs.append(1) or run(*a, **k))
    wrong = ttgir.replace("arith.addf", "arith.of_another_version")
    first, second, third = generic_ttgirs([(each, None) for each in (ttgir, wrong, ttgir)])

    assert first == third
    assert first.startswith("#blocked")
    assert isinstance(second, UnreadableTtgir)
    assert len(runs) == 1


def test_one_that_ends_the_process_spoils_no_other(ttgir, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(
        "import builtins, os\n"
        "from kvtrace.backends.compiled_kernels import generic\n"
        "generic.generic_ttir = lambda text, _: os.abort() if text == 'bad' else text\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    first, second, third = generic_ttgirs([(each, None) for each in ("one", "bad", "two")])

    assert (first, third) == ("one", "two")
    assert str(second) == "Triton exited with -6 while reading it"


def test_a_process_that_ends_after_many_is_not_laid_to_the_next(tmp_path, monkeypatch):
    """As where all of them together take longer than one may."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os\n"
        "from kvtrace.backends.compiled_kernels import generic\n"
        "read = []\n"
        "def generic_ttir(text, version):\n"
        "    read.append(text)\n"
        "    return text if len(read) < 3 else os.abort()\n"
        "generic.generic_ttir = generic_ttir\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    texts = ["one", "two", "three", "four", "five"]
    assert [*generic_ttgirs([(text, None) for text in texts])] == texts
