"""Imports that rooms of this add-on may have; see `tests/test_architecture.py` for the core."""

import pytest

from tests.support.imports import HEAVY_IN_CAPTURE, MODULES, imports_of

_NEURON = "kvtrace.addons.neuron"
_KERNELS = {"kvtrace.schema", "kvtrace.evaluate", "kvtrace.forks"}  # the evaluator's threads alone
#: Beginnings of what each room may import, besides the kernels' own.
ALLOWED = {
    "": _KERNELS
    | {"kvtrace.verdicts.rules.choice", "kvtrace.capture.records", "kvtrace.capture.stacks"},
    ".recording": _KERNELS | {"kvtrace.settings", "kvtrace.capture", "kvtrace.backends"}
    | {"kvtrace.verdicts.rules.choice"},
    ".views": {"kvtrace.schema", "kvtrace.converters", "kvtrace.figures", "kvtrace.text"},
}  # fmt: skip


def room_of(name: str) -> str:
    rest = name.removeprefix(_NEURON)
    return next((room for room in ALLOWED if room and rest.startswith(room)), "")


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_rooms_import_only_what_they_need(room: str) -> None:
    allowed = tuple(ALLOWED[room] | {_NEURON + room})
    ours = [(name, path) for name, path in MODULES if name.startswith(_NEURON)]
    broken = [
        f"{name} imports {target}"
        for name, path in ours
        if room_of(name) == room
        for target in imports_of(name, path)
        if target.startswith("kvtrace.")
        and not target.startswith(allowed)
        # what records kernels, and what shows them, may use the kernels' own modules
        and not (room and target.startswith(_NEURON) and room_of(target) == "")
    ]
    assert ours
    assert broken == []


def test_recording_imports_nothing_heavy() -> None:
    broken = [
        f"{name} imports {target}"
        for name, path in MODULES
        if name.startswith(_NEURON) and room_of(name) != ".views"
        for target in imports_of(name, path)
        if target.split(".")[0] in HEAVY_IN_CAPTURE
    ]
    assert broken == []
