"""Results and gradients of one call."""

import pytest
import torch

from kvtrace.addons.judge.gradients import results_of_call


def gradients(function, *arguments, cotangents=1):
    return results_of_call(function, arguments, tracked=True, cotangents=cotangents)


def test_gradients_are_those_of_all_inputs_of_floats():
    x, y, g = torch.tensor([3.0]), torch.tensor([5.0]), torch.tensor([2.0])
    results = gradients(lambda x, n, y: x * x * y * n, x, 7, y, g)
    assert [gradient.item() for gradient in results] == [2 * 2 * 3 * 5 * 7, 2 * 9 * 7]
    assert not x.requires_grad


def test_one_tensor_that_is_two_inputs_has_one_gradient():
    x = torch.tensor([3.0])
    (gradient,) = gradients(lambda x, y: x * y, x, x, torch.ones(1))
    assert gradient.item() == 6.0


def test_results_are_returned_unless_gradients_are_requested():
    requires_gradient = []
    results = gradients(
        lambda x: requires_gradient.append(x.requires_grad) or x + 1, torch.ones(1), cotangents=0
    )
    assert requires_gradient == [True]
    assert results[0].item() == 2.0


@pytest.mark.parametrize("function", [lambda x: x.detach(), lambda x: torch.ones(1) * 2])
def test_function_without_a_gradient_is_refused(function):
    with pytest.raises(ValueError, match="no gradient"):
        gradients(function, torch.ones(1), torch.ones(1))


class Tripled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 3 * x

    @staticmethod
    def backward(ctx, gradient):
        return 3 * gradient


def test_a_candidate_without_a_function_of_autograd_has_no_gradients():
    settings = {"tracked": True, "cotangents": 1, "is_candidate": True}
    arguments = [torch.ones(1), torch.ones(1)]
    with pytest.raises(ValueError, match="no gradient"):
        results_of_call(lambda x: x.clone(), arguments, **settings)
    (gradient,) = results_of_call(lambda x: Tripled.apply(x) + 1, arguments, **settings)
    assert gradient.item() == 3.0
