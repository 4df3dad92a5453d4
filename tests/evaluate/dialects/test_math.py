"""Functions of floats against torch."""

import numpy as np
import pytest
import torch

from tests.evaluate.one_op import run_op

POSITIVE = np.array([1e-3, 0.1, 0.5, 1.0, 1.5, 2.0, 10.0, 50.0], np.float32)
ANY = np.array([-20.0, -2.5, -0.5, -1e-4, 0.0, 0.3, 1.5, 4.5], np.float32)

FUNCTIONS = {
    "math.exp": (ANY, torch.exp),
    "math.exp2": (ANY, torch.exp2),
    "math.log": (POSITIVE, torch.log),
    "math.log2": (POSITIVE, torch.log2),
    "math.sqrt": (POSITIVE, torch.sqrt),
    "math.rsqrt": (POSITIVE, torch.rsqrt),
    "math.sin": (ANY, torch.sin),
    "math.cos": (ANY, torch.cos),
    "math.erf": (ANY, torch.erf),
    "math.floor": (ANY, torch.floor),
    "math.ceil": (ANY, torch.ceil),
    "math.absf": (ANY, torch.abs),
    "arith.negf": (ANY, torch.neg),
    "tt.precise_sqrt": (POSITIVE, torch.sqrt),
}


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_math_functions_equal_torch(name, element):
    values, function = FUNCTIONS[name]

    (result,) = run_op(name, [(element, values)], [element])

    expected = function(torch.from_numpy(values).double()).numpy()
    np.testing.assert_allclose(result, expected, rtol=3e-6 if element == "f32" else 1e-9, atol=1e-9)


def test_erf_equals_torch_over_its_whole_range():
    values = np.linspace(-7, 7, 4096).astype(np.float32)

    (result,) = run_op("math.erf", [("f32", values)], ["f32"])

    np.testing.assert_allclose(result, torch.erf(torch.from_numpy(values)).numpy(), atol=2e-7)


def test_fma_rounds_once():
    a = np.array([1 + 2**-12, 3.0], np.float32)
    c = np.array([-1 - 2**-11, 1.0], np.float32)

    (result,) = run_op("math.fma", [("f32", a), ("f32", a), ("f32", c)], ["f32"])

    assert result.tolist() == [2.0**-24, 10.0]


def test_the_absolute_value_of_the_least_integer_is_itself():
    (result,) = run_op("math.absi", [("i32", np.array([0, 1, -1, -(2**31)]))], ["i32"])
    assert result.tolist() == [0, 1, 1, -(2**31)]


@pytest.mark.parametrize(
    ("symbol", "function"),
    [
        ("__nv_tanhf", torch.tanh),
        ("__nv_rintf", torch.round),
        ("__nv_expm1f", torch.expm1),
        ("__ocml_atan_f32", torch.atan),
    ],
)
def test_library_functions_are_found_by_symbol(symbol, function):
    (result,) = run_op(
        "tt.extern_elementwise",
        [("f32", ANY)],
        ["f32"],
        f'libname = "", libpath = "", pure = true, symbol = "{symbol}"',
    )
    np.testing.assert_allclose(result, function(torch.from_numpy(ANY)).numpy(), rtol=1e-6)


def test_clamp_returns_nan_only_if_the_op_propagates_nan():
    x = np.array([-5.0, 0.5, 9.0, np.nan])
    low, high = np.zeros(4), np.ones(4)

    def run(propagate):
        operands = [("f32", x), ("f32", low), ("f32", high)]
        return run_op("tt.clampf", operands, ["f32"], f"propagateNan = {propagate} : i32")[0]

    assert run(0).tolist() == [0.0, 0.5, 1.0, 0.0]
    assert np.isnan(run(65535)[3])
