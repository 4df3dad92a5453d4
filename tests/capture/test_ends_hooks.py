"""Hooks for ends of a process, in a process that goes on."""

from kvtrace.capture import ends


def test_function_that_is_called_at_finalization_is_added_once(monkeypatch):
    monkeypatch.setattr(ends, "_at_finalization", [])
    monkeypatch.setattr(ends.gc, "callbacks", [])

    for _ in range(2):
        ends.before_finalization(len)

    assert ends._at_finalization == [len]
    assert ends.gc.callbacks == [ends._collecting]
