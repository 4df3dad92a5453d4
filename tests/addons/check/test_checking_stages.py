"""TTGIR that Triton makes means what its TTIR does; where it does not, it is found at fault."""

import re

import numpy as np
import pytest
from triton.compiler.errors import CompilationError

from corpus.kernels import oracle_kernels as kernels
from kvtrace.addons.check.checking import stage_at_fault
from kvtrace.addons.check.comparing import compared, computed, expected
from kvtrace.evaluate import parsed
from tests.addons.check.launched import launch as launch_of
from tests.kernels.catalog import CASES
from tests.kernels.launched import Launched
from tests.kernels.staged import (
    AMPERE,
    F16,
    F32,
    HOPPER,
    KERNELS,
    NAME,
    TARGETS,
    causal_attention,
    described,
    edited,
    numbers,
    product,
    softmax,
)
from tests.support.thorough import usually
from tests.support.tiers import some

pytestmark = pytest.mark.usefixtures("free_driver")

#: One case of the catalog in so many.
EACH = usually(40, thorough=1)


def equal(launched):
    """See that TTGIR means what TTIR does, by values and within radii of its own."""
    ttgir = launched.ttgir()
    made = launched.left_by(ttgir)
    assert compared(computed(launch_of(launched, made))).answer == "agrees"
    of_ttgir = expected(launch_of(launched, made), parsed(ttgir))
    assert of_ttgir.faults == ()
    assert len(of_ttgir.known) == len(launched.outputs)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("target", some(list(TARGETS), 2))
def test_ttgir_has_the_values_of_ttir(name, target):
    for stages in usually(part=(1, 3), thorough=(1, 2, 3, 4)):
        for warps in usually(part=(4,), thorough=(2, 4, 8)):
            equal(KERNELS[name](target=TARGETS[target], num_stages=stages, num_warps=warps))


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_asynchronous_copies_with_barriers_have_the_values_of_ttir(stages):
    launched = described(target=TARGETS["sm90"], num_stages=stages)
    assert "wait_barrier" in launched.ttgir()
    equal(launched)


@pytest.mark.sweep
@pytest.mark.parametrize("target", TARGETS)
def test_ttgir_of_the_kernel_catalog_has_the_values_of_ttir(target, say):
    refused, count, cases = [], 0, CASES[::EACH]
    for case in cases:
        options = {"target": TARGETS[target]}
        launched = Launched(
            case.kernel, case.inputs, case.outputs, case.constexprs, case.grid, options=options
        )
        try:
            ttgir = launched.ttgir()
        except (CompilationError, RuntimeError) as error:
            refused.append(f"{case.name}: {error}")  # by Triton: Ampere has not all types
            continue
        with np.errstate(all="ignore"):
            found = compared(computed(launch_of(launched, launched.left_by(ttgir))))
        assert found.answer != "differs", case.name
        count += 1
    say("ttgir", f"catalog, {target}: {count} compared, {len(refused)} refused", *refused)
    assert count > len(cases) * 0.9
    assert not refused or target == "sm80"


# -- faults that are planted ----------------------------------------------------------------------

EARLY = "reads elements that a copy in flight may not have written yet"
BY_VALUE = "the device's results are the TTGIR's values, which differ from the TTIR's"


WAIT = rf'("ttg.async_wait"\((?:{NAME}(?:, )?)+\)) <{{num = \d+', r"\1 <{num = 9"
WRONG = {
    "a swapped operand": (
        softmax, HOPPER, rf'"arith.divf"\(({NAME}), ({NAME})\)', r'"arith.divf"(\2, \1)', BY_VALUE,
    ),
    "a wrong constant": (
        softmax, HOPPER, r"dense<0xFF800000>", "dense<5.000000e+00>", BY_VALUE,
    ),
    "a wrong part of shared memory": (
        lambda **options: product(F16, **options), AMPERE,
        rf'("ttg.memdesc_index"\({NAME}), {NAME}\)(?=[^\n]*\n[^\n]*"ttg.local_load")', r"\1, ZERO)",
        "",
    ),
    "a wait that is missing": (
        lambda **options: product(F16, **options), AMPERE, *WAIT, f"ttg.local_load at .* {EARLY}",
    ),
    "a wait that is missing, on Hopper": (
        causal_attention, HOPPER, *WAIT, f"ttng.warp_group_dot at .* {EARLY}",
    ),
    "a barrier's other phase": (
        described, HOPPER, rf'("ttng.wait_barrier"\({NAME}), {NAME}\)', r"\1, ONE)",
        f"ttng.warp_group_dot at .* {EARLY}",
    ),
}  # fmt: skip


def fault(launch, ttgir):
    """Which stage is at fault in a launch that differs from its TTIR."""
    return stage_at_fault(launch, computed(launch).known, ttgir)


@pytest.mark.parametrize("name", WRONG)
def test_passes_to_ttgir_that_change_values_are_at_fault(name):
    make, options, pattern, other, reason = WRONG[name]
    launched = make(**options)
    wrong = edited(launched.ttgir(), pattern, other)
    launch = launch_of(launched, launched.left_by(wrong))
    assert compared(computed(launch)).answer == "differs"

    found = fault(launch, parsed(wrong))

    assert found.stage == "ttgir"
    assert re.search(reason, found.reason)
    assert found.text.startswith("at fault are Triton's passes from TTIR to TTGIR: ")


@pytest.mark.parametrize("name", KERNELS)
def test_fault_is_behind_ttgir_if_ttgir_has_the_values_of_ttir(name):
    launched = KERNELS[name](**HOPPER)
    made = launched.left_by(launched.ttgir())
    made[launched.outputs[0]].reshape(-1)[0] += 64
    launch = launch_of(launched, made)
    assert compared(computed(launch)).answer == "differs"

    found = fault(launch, parsed(launched.ttgir()))

    assert (found.stage, found.reason) == (
        "behind ttgir",
        "the TTGIR has the same values as the TTIR",
    )


def test_stage_is_unknown_if_ttir_ttgir_and_device_all_differ():
    launched = softmax(**HOPPER)
    wrong = edited(launched.ttgir(), *WRONG["a swapped operand"][2:4])
    made = launched.left_by(wrong)
    made["out"].reshape(-1)[:] = 7

    found = fault(launch_of(launched, made), parsed(wrong))

    assert (found.stage, found.reason) == (
        "unknown", "the TTGIR's values differ both from the TTIR's and from the device's results",
    )  # fmt: skip


def test_an_op_that_is_not_evaluated_is_named():
    launched = softmax(**HOPPER)
    wrong = launched.ttgir().replace('"math.exp"', '"ttg.exponential"')
    made = launched.meant()
    made["out"].reshape(-1)[0] += 64

    found = fault(launch_of(launched, made), parsed(wrong))

    assert found.stage == "unknown"
    assert "op 'ttg.exponential' at " in found.reason
    assert found.text.startswith("which stage is at fault is unknown: ")


def test_overwriting_an_operand_in_use_by_a_product_is_detected():
    """One that nobody waits for may read until a wait that leaves none."""
    launched = described(**HOPPER)
    wrong = edited(launched.ttgir(), r"pendings = 1 :", "pendings = 2 :")

    found = expected(launch_of(launched, launched.meant()), parsed(wrong))

    assert len(found.faults) == 1
    assert re.search(
        "async_tma_copy_.* writes elements that an asynchronous product may still read",
        found.faults[0],
    )


@pytest.mark.parametrize("target", TARGETS)
def test_race_in_ttgir_made_by_triton_is_found(target):
    """Of a tile that a product and registers read, Hopper's pipeline has a buffer too few."""
    inputs = {
        "a": numbers("a", 64, 512, dtype=F16), "b": numbers("b", 512, 64, dtype=F16),
        "out": np.zeros((64, 64), F32), "k": 512,
    }  # fmt: skip
    options = {"divisible_by_16": ("a", "b", "out", "k"), "target": TARGETS[target]}
    launched = Launched(
        kernels.summed_product, inputs, ("out",), {"BM": 64, "BN": 64, "BK": 64},
        options=options | {"num_stages": 3},
    )  # fmt: skip
    ttgir = launched.ttgir()
    made = launched.left_by(ttgir)
    assert (
        compared(computed(launch_of(launched, made))).answer == "agrees"
    )  # what comes too early came in time
    made["out"][0, 0] += 64

    found = fault(launch_of(launched, made), parsed(ttgir))

    buffers = re.findall(r'"ttg.local_alloc"\(\) : \(\) -> !ttg.memdesc<(\d)x64x64xf16', ttgir)
    if sorted(buffers) == ["2", "3"] and "pendings = 1" in ttgir:
        assert found.stage == "ttgir"
        assert re.search(
            "async_copy_.* writes elements that an asynchronous product may still read",
            found.reason,
        )
    else:
        assert (found.stage, found.reason) == (
            "behind ttgir",
            "the TTGIR has the same values as the TTIR",
        )
