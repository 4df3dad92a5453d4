"""MLIR's contexts: used again, by one at a time, not for ever, and never over a fork."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("triton")

from kvtrace.backends.compiled_kernels import generic
from kvtrace.backends.compiled_kernels.generic import context_with


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Every context that is made meanwhile, in order."""
    monkeypatch.setattr(generic, "_idle", {})
    contexts: list[Any] = []
    yield contexts
    contexts.clear()


def test_an_mlir_context_is_reused(loaded: list[Any]) -> None:
    for _ in range(3):
        with context_with("a", loaded.append) as context:
            assert context is loaded[0]
    with context_with("other dialects", loaded.append):
        assert len(loaded) == 2


def test_concurrent_users_get_separate_contexts(loaded: list[Any]) -> None:
    with context_with("a", loaded.append) as first, context_with("a", loaded.append) as second:
        assert first is not second


def test_a_context_is_dropped_after_an_error(loaded: list[Any]) -> None:
    with pytest.raises(ValueError, match="as if"), context_with("a", loaded.append):
        raise ValueError("as if")
    with context_with("a", loaded.append) as context:
        assert context is loaded[1]


def test_a_context_is_dropped_after_a_number_of_uses(
    loaded: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generic, "_USES", 2)
    for _ in range(5):
        with context_with("a", loaded.append):
            pass
    assert len(loaded) == 3


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_contexts_are_dropped_at_a_fork() -> None:
    before: list[Any] = []
    with context_with("kept over no fork", before.append):
        pass
    child = os.fork()
    if child == 0:
        after: list[Any] = []
        with context_with("kept over no fork", after.append):
            os._exit(0 if after else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
