"""Torch's operators on kvtrace's simulated GPU, compared with those on the CPU.

    KVTRACE=out KVTRACE_DEVICE=cpu python benchmarks/device_operators.py [NAME ...] [--samples 6]
        [--part 0/1]

Operators, samples and types are those of torch's own tests (`torch.testing._internal`, which wants
the package expecttest). Each sample runs on the CPU and, copied, on "cuda": the function, its
variant in place, its outputs given, its gradients. A line says which case differs in type, shape,
strides, device or elements, or fails on one of both; the last one counts. Operators that draw
random numbers are compared in their device alone.
"""

import argparse
import copy
import platform
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

TYPES = (torch.float32, torch.int64, torch.uint8, torch.complex64, torch.bfloat16)
#: Parts of names of operators whose elements are random, or never written.
RANDOM = (
    "bernoulli", "cauchy", "dropout", "empty", "exponential", "fractional", "geometric",
    "log_normal", "multinomial", "normal", "pca_lowrank", "poisson", "rand", "rrelu", "svd_lowrank",
    "uniform",
)  # fmt: skip


def on_cuda(value: Any) -> Any:
    """Return a value with its tensors copied to "cuda", strides kept, and "cpu" replaced."""
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided:
            return value
        result = value.detach().to("cuda")
        if all(
            stride or size < 2 for size, stride in zip(value.shape, value.stride(), strict=True)
        ):
            result = torch.empty_strided(
                value.shape, value.stride(), dtype=value.dtype, device="cuda"
            ).copy_(value.detach())
        return result.requires_grad_() if value.requires_grad else result
    if type(value) in (list, tuple):
        return type(value)(map(on_cuda, value))
    if isinstance(value, dict):
        return {name: on_cuda(item) for name, item in value.items()}
    on_cpu = value == "cpu" if isinstance(value, str) else value == torch.device("cpu")
    return "cuda" if on_cpu else value


def flattened(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return (
        [leaf for item in value for leaf in flattened(item)]
        if isinstance(value, list | tuple)
        else [value]
    )


def outcome_of(call: Callable[[], Any]) -> tuple[bool, Any]:
    torch.manual_seed(0)
    try:
        return True, call()
    except Exception as error:  # noqa: BLE001 - both devices are to fail alike
        return False, " ".join(str(error).split())[:160]


def difference(on_cpu: Any, on_device: Any, elements: bool = True) -> str | None:
    """Return a text on how two results differ; None if they are equal."""
    cpu_values, device_values = flattened(on_cpu), flattened(on_device)
    if len(cpu_values) != len(device_values):
        return f"{len(cpu_values)} and {len(device_values)} results"
    for a, b in zip(cpu_values, device_values, strict=True):
        if not isinstance(a, torch.Tensor) or a.layout != torch.strided:
            continue
        if b.device.type != "cuda":
            return f"on {b.device}"
        if not elements:
            continue
        strides = a.numel() < 2 or a.stride() == b.stride()
        if (a.dtype, a.shape, a.requires_grad) != (
            b.dtype,
            b.shape,
            b.requires_grad,
        ) or not strides:
            return f"{a.dtype} {a.shape} {a.stride()} and {b.dtype} {b.shape} {b.stride()}"
        try:
            torch.testing.assert_close(
                b.detach().cpu(), a.detach(), equal_nan=True, rtol=1e-5, atol=1e-6
            )
        except AssertionError as error:
            return " ".join(str(error).split())[:160]
    return None


def outcome_difference(
    on_cpu: tuple[bool, Any], on_device: tuple[bool, Any], elements: bool
) -> str | None:
    if on_cpu[0] != on_device[0]:
        name, (_, error) = ("CPU", on_device) if on_cpu[0] else ("device", on_cpu)
        return f"only the {name} can: {error}"
    return difference(on_cpu[1], on_device[1], elements) if on_cpu[0] else None


def trainable(value: Any) -> list[Any]:
    return [
        tensor
        for tensor in flattened(value)
        if isinstance(tensor, torch.Tensor) and tensor.requires_grad
    ]


def cases(operator: Any, sample: Any, grad: bool) -> Iterator[tuple[str, str | None]]:
    """Yield (variant, difference or None): function, in place, with outputs, gradient."""
    elements = not any(name_part in operator.name for name_part in RANDOM)
    on_host = (sample.input, sample.args, sample.kwargs)
    device = on_cuda(on_host)

    def outcome(function: Any, given: Any, **more: Any) -> tuple[bool, Any]:
        return outcome_of(lambda: function(given[0], *given[1], **given[2], **more))

    on_cpu, on_device = outcome(operator.op, on_host), outcome(operator.op, device)
    yield "function", outcome_difference(on_cpu, on_device, elements)
    if operator.inplace_variant and not grad:
        host_copy = copy.deepcopy(on_host)
        outcomes = [
            outcome(operator.inplace_variant, tensors)
            for tensors in (host_copy, on_cuda(host_copy))
        ]
        yield "in place", outcome_difference(outcomes[0], outcomes[1], elements)
    if not on_cpu[0] or not on_device[0] or not elements:
        return
    if operator.supports_out and not grad and isinstance(on_cpu[1], torch.Tensor):
        for out in (torch.empty_like(on_cpu[1]), torch.empty(0, dtype=on_cpu[1].dtype)):
            host_outcome = outcome(operator.op, on_host, out=out)
            yield (
                "out",
                outcome_difference(
                    host_outcome, outcome(operator.op, device, out=out.cuda()), elements
                ),
            )
    if grad and trainable(on_host) and trainable(on_cpu[1]):
        yield "gradient", outcome_difference(
            *(
                outcome_of(lambda outs=outs, ins=ins: torch.autograd.grad(
                    [(out.abs() ** 2).sum() for out in trainable(outs)], trainable(ins),
                    allow_unused=True, materialize_grads=True,
                ))
                for outs, ins in ((on_cpu[1], on_host), (on_device[1], device))
            ),
            elements,
        )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--samples", type=int, default=6)
    parser.add_argument("--part", default="0/1")
    options = parser.parse_args()
    if torch.empty(0).device.type != "cpu" or not torch.cuda.is_available():
        print("needs KVTRACE=out KVTRACE_DEVICE=cpu")
        return 2
    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as error:
        print(f"torch's own tests do not load: {error}")
        return 2
    warnings.simplefilter("ignore")
    part, parts = map(int, options.part.split("/"))
    operators = [
        each for each in op_db[part::parts] if not options.names or each.name in options.names
    ]
    print(f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}")
    count = wrong = 0
    for operator in operators:
        for dtype in TYPES:
            if dtype not in operator.dtypes:
                continue
            grad = dtype == torch.float32 and operator.supports_autograd
            samples_outcome = outcome_of(
                lambda o=operator, d=dtype, g=grad: list(o.sample_inputs("cpu", d, g))
            )
            for sample_index, sample in enumerate(
                samples_outcome[1][: options.samples] if samples_outcome[0] else ()
            ):
                for variant, text in cases(operator, sample, grad):
                    count += 1
                    wrong += text is not None
                    if text is not None:
                        name = f"{operator.name} {operator.variant_test_name}".strip()
                        print(
                            f"{name}, {variant}, {dtype}, sample {sample_index}: {text}", flush=True
                        )
    print(f"{len(operators)} operators, {count} cases, {wrong} differ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
