"""Conditions of problems, measured by moving inputs, independent of a candidate."""

import numpy as np
import pytest

from kvtrace.addons.tolerance.condition import (
    Condition,
    Draw,
    are_alike,
    conditions,
    granted_distance,
    inputs_of,
    reference_losses,
)
from kvtrace.evaluate.shadows.errors.roundings import unit_of

SCALES = 7.0


def measured(function, *arrays, types=("f32",), result="f32", coarse=0.0):
    """Return the exact result, its condition, and the granted distance."""
    inputs = inputs_of(arrays, list(types), coarse=coarse)
    exact = {"out": function(*arrays)}

    def moved(draw):
        given = [
            draw.moved(each, unit) for each, unit in zip(arrays, inputs.units, strict=True)
        ]  # fmt: skip
        return {"out": function(*given)}

    out, condition = exact["out"], conditions(moved, exact, inputs)["out"]
    return out, condition, granted_distance(out, condition, inputs, result, SCALES)


def variance(x):
    return x.var(-1)


@pytest.mark.parametrize("mean", [0.0, 1e2, 1e4])
def test_condition_of_a_variance_depends_on_the_mean(mean):
    x = mean + np.random.default_rng(0).standard_normal((64, 1000))

    exact, condition, radius = measured(variance, x)

    slopes = 2 * (x - x.mean(-1, keepdims=True)) * x / 1000
    moves = unit_of("f32") * np.sqrt((slopes**2).sum(-1) / 3)
    assert np.median(condition.stored / moves) == pytest.approx(1, rel=0.1)
    assert (radius > 100 * condition.stored).all()
    assert (radius < 8e-3 * exact).all()


def test_conditions_are_proportional_to_the_units_of_the_input_types():
    x = np.random.default_rng(0).standard_normal(4000)
    _, single, _ = measured(np.exp, x)
    _, half, _ = measured(np.exp, x, types=("bf16",))
    assert half.stored == pytest.approx(single.stored * 2.0**16, rel=1e-3)
    assert half.working == pytest.approx(single.working, rel=1e-3)


def test_inputs_of_different_types_move_by_their_own_units():
    x, w = np.random.default_rng(0).standard_normal((2, 4000))
    _, condition, _ = measured(lambda x, w: x + 0 * w, x, w, types=("f32", "bf16"))
    assert (condition.stored <= unit_of("f32") * np.abs(x) * 1.001).all()
    _, condition, _ = measured(lambda x, w: w + 0 * x, x, w, types=("f32", "bf16"))
    assert np.median(condition.stored / np.abs(w)) > unit_of("bf16") / 4
    assert (condition.working <= unit_of("f32") * np.abs(w) * 1.001).all()


def test_an_input_that_does_not_affect_a_result_grants_no_error():
    x = np.random.default_rng(0).standard_normal(4000)
    zeros = np.zeros(4000)
    _, _, alone = measured(lambda x: x, x)
    _, _, radius = measured(lambda x, bias: x + bias, x, zeros, types=("f32", "f8E4M3FN"))
    assert radius == pytest.approx(alone, rel=0.5)
    _, _, radius = measured(lambda x, bias: x + bias, x, zeros + 3, types=("f32", "f8E4M3FN"))
    assert (radius > 0.1).all()


def test_integer_results_that_do_not_move_are_granted_no_error():
    large = np.array([2.0**25 + 1, -(2.0**40)])
    for arrays, types in ([], []), ([np.ones(2)], ["f32"]):
        inputs = inputs_of(arrays, types, results=["i64"])
        condition = Condition(np.zeros(2), np.zeros(2))
        assert (granted_distance(large, condition, inputs, "i64", SCALES) < 1e-30).all()
        assert (granted_distance(large, condition, inputs, "f32", SCALES) > 1).all()


def test_input_types_grant_no_error_if_nothing_is_rounded_to_them():
    arrays = [np.ones(3)]
    assert inputs_of(arrays, ["bf16"]).coarsest == unit_of("bf16")
    assert inputs_of(arrays, ["bf16"], rounded=False).coarsest == unit_of("f32")
    assert inputs_of(arrays, ["f32"], coarse=2.0**-10, rounded=False).coarsest == 2.0**-10


def test_the_number_of_inputs_of_an_element_is_measured():
    x = np.random.default_rng(0).standard_normal((64, 4096))
    assert measured(np.exp, x)[1].length == 1
    assert measured(lambda x: x[:, 1:] * x[:, :-1], x)[1].length in (2, 3)
    assert measured(lambda x: x.sum(-1), x)[1].length == 4096


def test_elementwise_results_are_granted_the_same_for_any_tensor_size():
    small, large = (np.linspace(1e-3, 2e-3, count) for count in (1000, 100_000))
    radii = [np.median(measured(np.expm1, x)[2]) for x in (small, large)]
    assert radii[1] == pytest.approx(radii[0], rel=0.2)
    assert radii[1] < 1.5e-8  # exp(x) - 1 loses 3e-8


def test_draws_do_not_move_masks_and_zeros():
    mask = np.array([0.0, 1.0, 1.0, 0.0])
    assert (Draw(0, 1.0).moved(mask, 0.5) == mask).all()
    moved = Draw(0, 1.0).moved(np.array([0.0, 2.0, -np.inf]), 0.5)
    assert (moved[0], moved[2]) == (0.0, -np.inf)
    assert moved[1] != 2.0


def test_results_that_are_not_finite_have_no_bound():
    x = np.array([-1.0, 0.0, 2.0])
    with np.errstate(all="ignore"):
        _, _, radius = measured(np.log, x)
    assert np.isinf(radius[:2]).all()
    assert radius[2] < 1e-5


def test_every_element_is_granted_an_underflow():
    x = np.linspace(-100, -89, 500)
    exact, _, radius = measured(lambda x: x / (1 + np.exp(-x)), x)
    assert (np.abs(exact) < radius).all()
    assert (radius < 1e-32).all()


def test_a_granted_coarser_product_moves_inputs_farther():
    x = np.random.default_rng(0).standard_normal((64, 100))
    _, _, plain = measured(lambda x: x.sum(-1), x)
    _, _, coarse = measured(lambda x: x.sum(-1), x, coarse=2.0**-10)
    assert (coarse > 20 * plain).all()


def test_results_that_differ_in_the_order_of_sums_are_alike():
    x = np.random.default_rng(0).standard_normal(1000)
    assert are_alike(x, x * (1 + 1e-14))
    assert not are_alike(x, x * (1 + 1e-9))
    assert not are_alike(x, x[:10])


def test_correct_tf32_products_are_within_the_granted_distance_everywhere():
    # given products whose factors are cut to tf32, as tensor cores do, of 4 million elements in all
    random = np.random.default_rng(0)
    for _ in range(60):
        a, b = (random.standard_normal(shape) for shape in ((256, 13), (13, 256)))
        a, b = (each.astype(np.float32).astype(np.float64) for each in (a, b))
        # when what the exact product grants is measured
        exact, _, radius = measured(np.matmul, a, b, types=("f32", "f32"), coarse=2.0**-10)
        # then no element is near it, also none of those whose condition chance makes small
        assert (np.abs(cut_to_tf32(a) @ cut_to_tf32(b) - exact) <= radius / 2).all()


def cut_to_tf32(values):
    bits = values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
    return bits.view(np.float32).astype(np.float64)


def backward_of_rms(x, g):
    r = 1 / np.sqrt(x * x + x.dtype.type(1e-6))
    return r * g - x * r**3 * (g * x)


def cubes_apart(x, g):
    return (g + x) * (g + x) * (g + x) - g * (g + x) * (g + x) - x * (g + x) * (g + x)


@pytest.mark.parametrize("function", [backward_of_rms, cubes_apart])
def test_elements_whose_roundings_meet_by_chance_are_granted_the_loss_of_others(function):
    x, g = 1.5 + np.random.default_rng(0).random((2, 20_000))

    def both(draw):
        narrow = [draw.moved(values, 1.0).astype(np.float32) for values in (x, g)]
        wide = [values.astype(np.float64) for values in narrow]
        return {"out": function(*narrow).astype(np.float64)}, {"out": function(*wide)}

    measured = {"out": Condition(np.zeros(x.shape), np.zeros(x.shape))}
    inputs = inputs_of([x, g], ["f32", "f32"])

    losses = reference_losses(both, {"out": function(x, g)}, measured, inputs)["out"]

    assert losses.min() > np.median(losses) / 5


def test_few_draws_measure_a_loss_that_the_condition_grants_anyway():
    x = np.random.default_rng(0).random((1000,))
    measured = {"out": Condition(np.full(x.shape, 1e-6), np.full(x.shape, 1e-6))}
    seen = []

    def both(draw):
        seen.append(draw)
        return {"out": x.astype(np.float32).astype(np.float64)}, {"out": x}

    reference_losses(both, {"out": x}, measured, inputs_of([x], ["f32"]))

    assert len(seen) == 4
