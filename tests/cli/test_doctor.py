"""`kvtrace doctor` says what works here; each part that does not says what to do."""

import json


def test_every_part_has_a_state_and_broken_parts_have_advice(kvtrace):
    code, out, _ = kvtrace("doctor", "--json")
    parts = {part["name"]: part for part in json.loads(out)["parts"]}
    assert {"system", "hot path", "Triton", "GPU", "timeline", "folder", "settings"} <= set(parts)
    assert {part["state"] for part in parts.values()} <= {"ok", "missing", "broken"}
    assert all(e["advice"] for e in parts.values() if e["state"] == "broken")
    assert code == int(any(part["state"] == "broken" for part in parts.values()))
    assert parts["Triton"]["state"] == "ok"


def test_a_folder_that_cannot_be_written_to_is_broken(kvtrace, monkeypatch):
    monkeypatch.setenv("KVTRACE", "/proc/nowhere")
    code, out, _ = kvtrace("doctor")
    assert code == 1
    assert "broken   folder" in out
    assert "set KVTRACE to another folder" in out


def test_unknown_settings_are_shown_as_broken(kvtrace, monkeypatch):
    monkeypatch.setenv("KVTRACE_TENSOR", "int")
    _, out, _ = kvtrace("doctor")
    assert "there is no variable KVTRACE_TENSOR (did you mean 'KVTRACE_TENSORS'?)" in out
