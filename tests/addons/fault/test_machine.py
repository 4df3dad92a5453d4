import json

import kvtrace.addons.fault.machine as machine
from kvtrace.addons.fault.machine import faults_part
from kvtrace.cli import main


def test_machine_without_a_driver_says_that_none_writes_dumps(monkeypatch):
    monkeypatch.setattr(machine, "_DRIVER", "libcuda-that-nobody-has.so.1")
    part = faults_part({})
    assert (part.name, part.state) == ("faults", "missing")
    assert "libcuda-that-nobody-has" in part.text


def test_variables_that_the_user_has_set_are_named(monkeypatch):
    monkeypatch.setattr(machine, "_DRIVER", "libc.so.6")  # a library that is there
    assert faults_part({}).state == "ok"
    part = faults_part({"CUDA_COREDUMP_FILE": "here/core"})
    assert part.state == "missing"
    assert "CUDA_COREDUMP_FILE" in part.text


def test_doctor_has_a_row_on_faults(capsys):
    main(["doctor", "--json"])
    names = [part["name"] for part in json.loads(capsys.readouterr().out)["parts"]]
    assert "faults" in names
