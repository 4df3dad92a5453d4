"""TTIR to MLIR's generic form: what is kept, what is corrected, what is refused."""

import os
import re
import threading
from pathlib import Path

import pytest

from kvtrace.ir import parse, source_stack

pytest.importorskip("triton")

from kvtrace.backends.compiled_kernels.generic import GenericFormFailed, generic_ttir
from tests.support.corpus_cases import CORPUS

#: The process's open files, where the system lists them.
FILES = Path("/proc/self/fd")


def test_the_result_is_the_same_module_in_generic_form() -> None:
    text = CORPUS["matmul"]()
    generic = generic_ttir(text)
    assert '"tt.dot"(' in generic
    assert len(re.findall(r" = arith\.mulf|\btt\.dot\b", text)) == generic.count('"tt.dot"')
    module = parse(generic)
    assert module.main.name == "matmul"
    # What was added stands outside every function.
    assert module.ops[-1].name == "tt.return"
    assert module.ops[-1].parent is module.op


def test_locations_in_the_temporary_text_are_unknown() -> None:
    # Block arguments are printed without a place, and get one when the text is read back.
    generic = generic_ttir(CORPUS["matmul"]())
    files = set(re.findall(r'"([^"]*)":\d+:\d+', generic))
    assert all(file.endswith(".py") for file in files), files


def test_columns_count_from_one() -> None:
    module = parse(generic_ttir(CORPUS["vector_add"]()))
    (store,) = (op for op in module.ops if op.name == "tt.store")
    (frame,) = source_stack(store)
    line = Path(frame.file).read_text().splitlines()[frame.line - 1]
    import triton

    if tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 8):
        assert line[frame.column - 1 :].startswith("tl.store(")
    else:  # older versions point at the arguments
        assert line[frame.column - 1 :].startswith(("out + offsets", "total"))


@pytest.mark.parametrize(
    ("text", "words"),
    [("nonsense", "cannot read the IR"), ("module {}", "there is no tt.func"), ("", "no tt.func")],
)
def test_invalid_ttir_raises_one_sentence(text: str, words: str) -> None:
    with pytest.raises(GenericFormFailed, match=words) as caught:
        generic_ttir(text)
    assert str(caught.value).startswith("Triton ")
    assert "\n" not in str(caught.value)


def test_no_temporary_file_remains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    text = CORPUS["vector_add"]()
    before = len(list(FILES.iterdir())) if FILES.is_dir() else None
    for _ in range(5):
        generic_ttir(text)
        with pytest.raises(GenericFormFailed):
            generic_ttir("nonsense")
    if before is not None:
        assert len(list(FILES.iterdir())) == before
    assert list(tmp_path.iterdir()) == []


def test_without_anonymous_files_a_temporary_one_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = CORPUS["vector_add"]()
    expected = generic_ttir(text)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delattr(os, "memfd_create", raising=False)
    assert generic_ttir(text) == expected
    assert list(tmp_path.iterdir()) == []


def test_threads_may_print_at_once() -> None:
    text = CORPUS["softmax"]()
    expected = generic_ttir(text)
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(generic_ttir(text))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == [expected] * 4
