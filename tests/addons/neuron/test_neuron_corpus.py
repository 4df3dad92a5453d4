"""Kernels of the corpus against NumPy, and defective kernels against their comments."""

import inspect
import re
from typing import Any

import numpy as np
import pytest

from kvtrace.addons.neuron.findings import RULES
from kvtrace.addons.neuron.launching import bound_arguments, execute
from tests.addons.neuron.kernels.broken import BROKEN
from tests.addons.neuron.kernels.case import Case
from tests.addons.neuron.kernels.catalog import CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_correct_kernel_equals_numpy_and_has_no_finding(case: Case) -> None:
    outcome, expected = case.run()

    result = np.asarray(outcome.result, np.float32)
    assert result.shape == expected.shape
    largest = float(np.abs(expected).max())
    assert float(np.abs(result - expected).max()) <= case.tolerance * largest
    assert [finding.message for finding in outcome.recorder.findings] == []


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken[0].__name__)
def test_a_defect_is_found_at_its_line(broken: Any) -> None:
    kernel, grid, arguments = broken

    outcome = execute(kernel, grid, bound_arguments(kernel.function, arguments, {}))

    lines, first = inspect.getsourcelines(kernel.function)
    expected = {
        (rule.strip(), first + number)
        for number, line in enumerate(lines)
        if (comment := re.search(r"# finds: ([\w, -]+)", line))
        for rule in comment[1].split(",")
    }
    sites = outcome.recorder.sites
    reported = {
        (finding.rule, sites[finding.site].frames[0].line) for finding in outcome.recorder.findings
    }
    assert expected == reported


def test_every_rule_has_a_kernel_that_violates_it() -> None:
    texts = "".join(inspect.getsource(kernel.function) for kernel, _, _ in BROKEN)

    assert {rule for rule in RULES if f"# finds: {rule}" in texts or f", {rule}" in texts} == set(
        RULES
    )
