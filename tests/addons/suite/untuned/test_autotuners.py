"""Autotuners as recorded source declares them."""

import pytest

from kvtrace.addons.suite.untuned.autotuners import declared_autotuner


def declared(decorators, line=None):
    return declared_autotuner(f"{decorators}\ndef kernel(x):\n    pass\n", "kernel", line)


def test_configurations_and_key_are_read_by_name_and_by_position():
    by_name = declared("@triton.autotune(configs=[a, b], key=['M', 'N'])\n@triton.jit")
    by_position = declared("@triton.autotune([a, b], ['M', 'N'])\n@triton.jit")

    assert by_name == by_position
    assert (by_name.configurations, by_name.key) == (2, ("M", "N"))
    assert not by_name.by_inductor


def test_computed_configurations_and_keys_are_not_known():
    autotuner = declared("@autotune(configs=[f(n) for n in SIZES], key=keys())\n@jit")

    assert (autotuner.configurations, autotuner.key) == (None, None)
    assert declared("@autotune(configs=[a, *more], key=[*keys])\n@jit").configurations is None


def test_function_without_an_autotuner_has_none():
    assert declared("@triton.heuristics({'EVEN': even})\n@triton.jit") is None
    assert declared("@triton.jit") is None


def test_constants_of_inductor_are_read_and_other_values_left_out():
    autotuner = declared(
        "@triton_heuristics.reduction(reduction_hint=ReductionHint.OUTER,\n"
        "    inductor_meta={'max_autotune': False, 'hints': set()})\n@triton.jit"
    )

    assert autotuner.by_inductor
    assert autotuner.options == {"max_autotune": False, "reduction_hint": "OUTER"}


def test_function_at_the_line_counts_whatever_it_is_called():
    text = "@autotune(configs=[a], key=[])\ndef kernel(x):\n    pass\n"

    autotuner = declared_autotuner(text, "kernel_0", 2)

    assert autotuner is not None
    with pytest.raises(LookupError, match="does not define kernel_0"):
        declared_autotuner(text, "kernel_0", 7)


def test_text_that_is_no_python_is_an_error():
    with pytest.raises(LookupError, match="cannot be parsed"):
        declared_autotuner("def (", "kernel", None)
