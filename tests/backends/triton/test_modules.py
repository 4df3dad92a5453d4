"""The IR of compiled kernels, read once for those that have the same."""

import gc

import pytest

pytest.importorskip("triton")

from kvtrace.backends.triton.modules import module_from
from tests.support.corpus import CORPUS


def test_the_same_ttir_of_the_same_file_is_read_once() -> None:
    text = CORPUS["vector_add"]()
    module = module_from(text, "/a/k.py")

    assert module_from(str(text), "/a/k.py") is module
    assert module_from(text, "/b/k.py") is not module


def test_it_is_kept_no_longer_than_somebody_has_it() -> None:
    text = CORPUS["vector_add"]()
    first = module_from(text, "/c/k.py")
    first.memo["mark"] = True
    del first
    gc.collect()

    assert "mark" not in module_from(text, "/c/k.py").memo
