"""Every refusal of an instruction's arguments: a right call, and one that it refuses."""

from typing import Any

import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa
import kvtrace.addons.neuron.newer.language as nl
import kvtrace.addons.neuron.older.isa as older_isa
import kvtrace.addons.neuron.older.language as older_nl
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import REFUSED
from kvtrace.addons.neuron.refusals import REFUSALS
from tests.addons.neuron.conftest import Run
from tests.addons.neuron.refused_calls import BROKEN, RIGHT, Tile

CASES = [(name, says) for name, cases in BROKEN.items() for says in cases]


def _made(operand: Any) -> Any:
    if isinstance(operand, list):
        return [_made(each) for each in operand]
    return operand.made() if isinstance(operand, Tile) else operand


def called(run: Run, instruction: str, operands: dict[str, Any]) -> Any:
    """Call an instruction in a kernel of the target that its operands name; give its findings."""
    settings = dict(operands)
    target = settings.pop("target", None)
    cores = 2 if instruction in ("core_barrier", "sendrecv") else 1

    def kernel() -> None:
        made = {name: _made(each) for name, each in settings.items()}
        if instruction == "sendrecv":
            made["send_to_rank"] = made["recv_from_rank"] = 1 - nl.program_id(0)
        getattr(nisa, instruction)(**made)

    return run(kernel, target=target, grid=(cores,)).recorder.findings


def refused(instruction: str, says: str) -> Any:
    """The refusals of an instruction whose sentence begins so."""
    found = [each for each in REFUSALS[f"nisa.{instruction}"] if each.says.startswith(says)]
    assert len(found) == 1, found
    return found[0]


def broken_call(instruction: str, says: str) -> dict[str, Any]:
    return {**RIGHT[instruction], **BROKEN[instruction][says]}


@pytest.mark.parametrize("instruction", RIGHT)
def test_a_right_call_is_refused_nothing(run_newer: Run, instruction: str) -> None:
    assert called(run_newer, instruction, RIGHT[instruction]) == []


@pytest.mark.parametrize(("instruction", "says"), CASES)
def test_a_broken_call_is_a_finding_and_an_error_if_strict(
    run_newer: Run, monkeypatch: pytest.MonkeyPatch, instruction: str, says: str
) -> None:
    refusal = refused(instruction, says)
    operands = broken_call(instruction, says)

    found = [each for each in called(run_newer, instruction, operands) if says in each.message]

    assert [each.rule for each in found] == [refusal.rule]
    assert refusal.rule in REFUSED
    monkeypatch.setenv("KVTRACE_NKI_STRICT", "1")
    with pytest.raises(NkiError, match=r"test_neuron_refusals\.py:\d+\)$"):
        called(run_newer, instruction, operands)


def test_every_refusal_has_a_call_that_it_refuses() -> None:
    wanted = {(name, refusal.says) for name, listed in REFUSALS.items() for refusal in listed}

    assert {(f"nisa.{name}", refused(name, says).says) for name, says in CASES} == wanted


def test_refusals_are_those_of_the_older_interface_too(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        tile = older_nl.load(x)
        out = older_nl.ndarray((32, 24), dtype=older_nl.float32, buffer=older_nl.shared_hbm)
        made = older_isa.tensor_scalar(tile, np.subtract, 1.0, engine=older_isa.gpsimd_engine)
        older_nl.store(out, value=made)
        return out

    outcome = run_older(kernel, np.ones((32, 24), np.float32))

    assert [each.message for each in outcome.recorder.findings] == [
        "nisa.tensor_scalar: GpSimd computes rsqrt only; here op0=subtract, engine=gpsimd"
    ]
    assert np.array_equal(outcome.result, np.zeros((32, 24)))


def test_a_strict_run_refuses_a_tile_of_too_many_partitions(
    run_newer: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVTRACE_NKI_STRICT", "1")

    with pytest.raises(NkiError, match=r"partition-limit: .* spans 256 partitions of 128"):
        run_newer(lambda: nl.zeros((256, 4), nl.float32))
