"""`kvtrace doctor --settings` prints the settings in force and names variables without meaning."""

import json

from kvtrace.settings import DEFAULT


def test_settings_print_each_setting_and_a_differing_default(kvtrace, monkeypatch):
    monkeypatch.setenv("KVTRACE_TENSORS", "int")
    monkeypatch.setenv("KVTRACE", "out")
    code, out, err = kvtrace("doctor", "--settings")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "KVTRACE=out"
    assert "KVTRACE_TENSORS=int  (environment; default index)" in out.splitlines()
    assert "KVTRACE_MODE=launch" in out.splitlines()


def test_unknown_variables_are_reported_with_the_nearest_name(kvtrace, monkeypatch):
    monkeypatch.setenv("KVTRACE_SANITISE", "1")
    monkeypatch.setenv("KVTRACE_MODE", "fast")
    code, out, _ = kvtrace("doctor", "--settings", "--json")
    output = json.loads(out)
    assert code == 1
    assert output["variables"] == {"KVTRACE": None, **DEFAULT.as_environment()}
    assert "did you mean 'KVTRACE_SANITIZE'?" in output["problems"][1]
    assert "using 'launch'" in output["problems"][0]
