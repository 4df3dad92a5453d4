"""Requirements of instructions on their arguments: a correct and a violating call for each."""

from typing import Any

import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa
import kvtrace.addons.neuron.newer.language as nl
import kvtrace.addons.neuron.older.isa as older_isa
import kvtrace.addons.neuron.older.language as older_nl
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import REFUSED
from kvtrace.addons.neuron.requirements import REQUIREMENTS, Requirement
from tests.addons.neuron.conftest import Run
from tests.addons.neuron.refused_calls import BROKEN, RIGHT, Tile

CASES = [(name, beginning) for name, cases in BROKEN.items() for beginning in cases]


def _in_kernel(operand: Any) -> Any:
    """Return an operand with its tiles allocated in the running kernel."""
    if isinstance(operand, list):
        return [_in_kernel(item) for item in operand]
    return operand.allocate() if isinstance(operand, Tile) else operand


def findings_of(run: Run, instruction: str, operands: dict[str, Any]) -> Any:
    """Call an instruction in a kernel for the target among its operands; return the findings."""
    settings = dict(operands)
    target = settings.pop("target", None)
    cores = 2 if instruction in ("core_barrier", "sendrecv") else 1

    def kernel() -> None:
        arguments = {name: _in_kernel(operand) for name, operand in settings.items()}
        if instruction == "sendrecv":
            other_core = 1 - nl.program_id(0)
            arguments["send_to_rank"] = arguments["recv_from_rank"] = other_core
        getattr(nisa, instruction)(**arguments)

    return run(kernel, target=target, grid=(cores,)).recorder.findings


def requirement_of(instruction: str, beginning: str) -> Requirement:
    """Return the only requirement of an instruction whose sentence begins with `beginning`."""
    [requirement] = [
        requirement
        for requirement in REQUIREMENTS[f"nisa.{instruction}"]
        if requirement.sentence.startswith(beginning)
    ]
    return requirement


@pytest.mark.parametrize("instruction", RIGHT)
def test_a_correct_call_has_no_findings(run_newer: Run, instruction: str) -> None:
    assert findings_of(run_newer, instruction, RIGHT[instruction]) == []


@pytest.mark.parametrize(("instruction", "beginning"), CASES)
def test_a_violating_call_is_a_finding_and_an_error_if_strict(
    run_newer: Run, monkeypatch: pytest.MonkeyPatch, instruction: str, beginning: str
) -> None:
    requirement = requirement_of(instruction, beginning)
    operands = {**RIGHT[instruction], **BROKEN[instruction][beginning]}

    findings = findings_of(run_newer, instruction, operands)

    matching = [finding for finding in findings if beginning in finding.message]
    assert [finding.rule for finding in matching] == [requirement.rule]
    assert requirement.rule in REFUSED
    monkeypatch.setenv("KVTRACE_NKI_STRICT", "1")
    with pytest.raises(NkiError, match=r"test_neuron_requirements\.py:\d+\)$"):
        findings_of(run_newer, instruction, operands)


def test_every_requirement_has_a_violating_call() -> None:
    tested = {
        (f"nisa.{name}", requirement_of(name, beginning).sentence) for name, beginning in CASES
    }

    assert tested == {
        (name, requirement.sentence)
        for name, requirements in REQUIREMENTS.items()
        for requirement in requirements
    }


def test_requirements_hold_in_the_older_interface_too(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        tile = older_nl.load(x)
        out = older_nl.ndarray((32, 24), dtype=older_nl.float32, buffer=older_nl.shared_hbm)
        result = older_isa.tensor_scalar(tile, np.subtract, 1.0, engine=older_isa.gpsimd_engine)
        older_nl.store(out, value=result)
        return out

    outcome = run_older(kernel, np.ones((32, 24), np.float32))

    assert [finding.message for finding in outcome.recorder.findings] == [
        "nisa.tensor_scalar: GpSimd computes rsqrt only; here op0=subtract, engine=gpsimd"
    ]
    assert np.array_equal(outcome.result, np.zeros((32, 24)))


def test_a_strict_run_raises_for_a_tile_of_too_many_partitions(
    run_newer: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVTRACE_NKI_STRICT", "1")

    with pytest.raises(NkiError, match=r"partition-limit: .* spans 256 partitions of 128"):
        run_newer(lambda: nl.zeros((256, 4), nl.float32))
