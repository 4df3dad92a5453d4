"""Log probabilities of torch computed as kernels do, to see what that loses."""

from __future__ import annotations

from typing import Any


def by_log_sums() -> Any:
    """Return a torch mode in which log probabilities are logits minus a log of summed powers.

    Kernels compute cross entropy this way: for a nearly certain label, the loss has the error of
    one rounding of its logit. torch subtracts the maximum first, which is more exact.
    """
    import torch
    from torch.overrides import TorchFunctionMode

    functions = torch.nn.functional
    softmaxes = (functions.log_softmax, torch.log_softmax, torch.Tensor.log_softmax)

    class ByLogSums(TorchFunctionMode):  # type: ignore[misc] # torch is not typed here
        def __torch_function__(
            self, function: Any, _types: Any, given: Any = (), named: Any = None
        ) -> Any:
            named = named or {}
            if function in softmaxes:
                axis = named.get("dim", given[1] if len(given) > 1 else None)
                if isinstance(axis, int):
                    x = given[0] if given else named["input"]
                    return x - torch.logsumexp(x, axis, keepdim=True)
            if function is functions.cross_entropy and len(given) == 2:
                x, label = given
                is_plain = not named.get("label_smoothing") and not label.is_floating_point()
                if is_plain and x.is_floating_point():
                    options = {k: v for k, v in named.items() if k != "label_smoothing"}
                    axis = min(1, x.dim() - 1)
                    less = x - torch.logsumexp(x, axis, keepdim=True)
                    return functions.nll_loss(less, label, **options)
            return function(*given, **named)

    return ByLogSums()
