"""MLIR's contexts: used again, by one at a time, not for ever, and never over a fork."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("triton")

from kvtrace.backends.compiled_kernels import mlir_contexts
from kvtrace.backends.compiled_kernels.mlir_contexts import context_with


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Every context that is made meanwhile, in order."""
    monkeypatch.setattr(mlir_contexts, "_idle", {})
    found: list[Any] = []
    yield found
    found.clear()


def test_an_mlir_context_is_reused(made: list[Any]) -> None:
    for _ in range(3):
        with context_with("a", made.append) as context:
            assert context is made[0]
    with context_with("other dialects", made.append):
        assert len(made) == 2


def test_concurrent_users_get_separate_contexts(made: list[Any]) -> None:
    with context_with("a", made.append) as one, context_with("a", made.append) as other:
        assert one is not other


def test_a_context_is_dropped_after_an_error(made: list[Any]) -> None:
    with pytest.raises(ValueError, match="as if"), context_with("a", made.append):
        raise ValueError("as if")
    with context_with("a", made.append) as context:
        assert context is made[1]


def test_a_context_is_dropped_after_a_number_of_uses(
    made: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mlir_contexts, "_USES", 2)
    for _ in range(5):
        with context_with("a", made.append):
            pass
    assert len(made) == 3


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
