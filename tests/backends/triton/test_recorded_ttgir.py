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


def test_recorded_ttgir_becomes_generic_form(ttgir):
    module = parse(generic_ttgir(ttgir, None))

    assert module.main.name == "add"
    assert any("#blocked" in str(value.type) for op in module.ops for value in op.results)


def columns(ttgir, version):
    module = parse(generic_ttgir(ttgir, version))
    return {frame.column for op in module.ops for frame in source_stack(op)}


def test_columns_are_corrected_for_the_version_that_recorded_the_ttgir(ttgir):
    """A trace of another version is read by the one that is installed."""
    assert columns(ttgir, "3.7.1") == {column + 1 for column in columns(ttgir, "3.8.0")}


def test_unreadable_ttgir_raises_tritons_message(ttgir):
    with pytest.raises(UnreadableTtgir, match=r"Triton [\d.]+ cannot read the IR of kernel add"):
        generic_ttgir(ttgir.replace("arith.addf", "arith.of_another_version"), None)


@pytest.mark.parametrize(
    ("compiler", "message"),
    [
        ("raise ImportError", "Triton, which reads TTGIR, is not installed here"),
        ("import os; os.abort()", "Triton exited with -6 while reading it"),
    ],
)
def test_a_missing_or_crashing_compiler_is_reported(
    ttgir, tmp_path, monkeypatch, compiler, message
):
    (tmp_path / "triton.py").write_text(compiler)
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(UnreadableTtgir, match=message):
        generic_ttgir(ttgir, None)


def test_one_process_reads_several_texts_despite_a_bad_one(ttgir, monkeypatch):
    runs = []
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: runs.append(1) or run(*a, **k))
    wrong = ttgir.replace("arith.addf", "arith.of_another_version")
    first, second, third = generic_ttgirs([(text, None) for text in (ttgir, wrong, ttgir)])

    assert first == third
    assert first.startswith("#blocked")
    assert isinstance(second, UnreadableTtgir)
    assert len(runs) == 1


def test_a_text_that_crashes_the_process_does_not_affect_others(ttgir, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(
        "import builtins, os\n"
        "from kvtrace.backends.compiled_kernels import generic\n"
        "generic.generic_ttir = lambda text, _: os.abort() if text == 'bad' else text\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    first, second, third = generic_ttgirs([(text, None) for text in ("one", "bad", "two")])

    assert (first, third) == ("one", "two")
    assert str(second) == "Triton exited with -6 while reading it"


def test_a_late_crash_is_not_blamed_on_the_next_text(tmp_path, monkeypatch):
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
