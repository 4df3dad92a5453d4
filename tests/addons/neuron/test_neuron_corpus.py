"""Kernels of the corpus against NumPy, and the broken ones against their comments."""

import inspect
import re
from typing import Any

import numpy as np
import pytest

from kvtrace.addons.neuron.findings import RULES
from kvtrace.addons.neuron.launching import bound_arguments, execute
from tests.addons.neuron.kernels.broken import BROKEN
from tests.addons.neuron.kernels.case import Case
from tests.addons.neuron.kernels.catalogue import CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_kernel_gives_what_numpy_gives_and_breaks_no_rule(case: Case) -> None:
    outcome, expected = case.run()

    given = np.asarray(outcome.result, np.float32)
    assert given.shape == expected.shape
    largest = float(np.abs(expected).max())
    assert float(np.abs(given - expected).max()) <= case.tolerance * largest
    assert [finding.message for finding in outcome.recorder.findings] == []


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken[0].__name__)
def test_a_defect_is_found_at_its_line(broken: Any) -> None:
    kernel, grid, arguments = broken

    outcome = execute(kernel, grid, bound_arguments(kernel.function, arguments, {}))

    lines, first = inspect.getsourcelines(kernel.function)
    wanted = {
        (rule.strip(), first + number)
        for number, line in enumerate(lines)
        if (comment := re.search(r"# finds: ([\w, -]+)", line))
        for rule in comment[1].split(",")
    }
    sites = outcome.recorder.sites
    found = {
        (finding.rule, sites[finding.site].frames[0].line) for finding in outcome.recorder.findings
    }
    assert wanted == found


def test_every_rule_has_a_kernel_that_breaks_it() -> None:
    texts = "".join(inspect.getsource(kernel.function) for kernel, _, _ in BROKEN)

    assert {rule for rule in RULES if f"# finds: {rule}" in texts or f", {rule}" in texts} == set(
        RULES
    )
