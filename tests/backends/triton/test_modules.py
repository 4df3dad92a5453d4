"""The IR of compiled kernels, read once for those that have the same."""

import gc

import pytest

pytest.importorskip("triton")

from kvtrace.backends.compiled_kernels import generic, kernel_records
from kvtrace.backends.triton.modules import module_from
from tests.support.corpus_cases import CORPUS


def test_equal_ttir_of_one_file_is_parsed_once() -> None:
    text = CORPUS["vector_add"]()
    module = module_from(text, "/a/k.py", "cuda:90")

    assert module_from(str(text), "/a/k.py", "cuda:90") is module
    assert module_from(text, "/b/k.py", "cuda:90") is not module
    assert module_from(text, "/a/k.py", "cuda:80") is not module


@pytest.mark.usefixtures("young_heap")
def test_a_parsed_module_is_freed_with_its_last_user() -> None:
    text = CORPUS["vector_add"]()
    first = module_from(text, "/c/k.py", "cuda:90")
    first.memo["mark"] = True
    del first
    gc.collect()

    assert "mark" not in module_from(text, "/c/k.py", "cuda:90").memo


def test_execution_and_recording_share_one_generic_form(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []
    print_it = generic.generic_ttir
    monkeypatch.setattr(
        generic, "generic_ttir", lambda text, _: printed.append(text) or print_it(text)
    )
    text = CORPUS["softmax"]().replace("softmax", "softmax_once")
    module_from(text, None, "cuda:90")
    (stage,) = kernel_records._generic("ttir", text, pytest.fail)

    assert printed == [text]
    assert stage.content == print_it(text).encode()
