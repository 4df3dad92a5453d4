"""What is recorded under each version of Triton: tutorials, Liger, FLA, races in programs.

    python -m tests.verdicts.version_programs [NAME …]

launches each program once, inside a mark of its name; `KVTRACE_DEVICE=cpu` gives it a GPU.
`version_results.py` reads what was recorded. FLA is among them where it is installed or
`KVTRACE_PUBLIC_FLA` names its folder.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import torch

import kvtrace
from corpus.defects import within
from corpus.kernels import attention, basic, normalization
from corpus.questions.defects import Sample, Tensor
from tests.kernels import liger_operators
from tests.public.packages import PACKAGES, folder_of, load
from tests.public.work import cases_of

Program = Callable[[], None]

_TYPES: Final = {
    "fp32": torch.float32, "i32": torch.int32, "i16": torch.int16, "i64": torch.int64,
}  # fmt: skip

#: Operators whose kernels are launched on tensors of the host, forward and backward.
LIGER: Final = (
    "cross_entropy", "fused_add_rms_norm", "geglu", "group_norm", "jsd", "kl_div", "layer_norm",
    "poly_norm", "relu_squared", "rms_norm", "rope", "softmax", "sparsemax", "swiglu", "tvd",
)  # fmt: skip

#: Cases of `tests/public` that are run as programs.
FLA: Final = (
    "causal_conv1d", "chunk_delta_rule", "chunk_gla", "chunk_local_cumsum", "cross_entropy_loss",
    "fused_recurrent_delta_rule", "fused_recurrent_gla", "l2norm", "layer_norm", "mean_pooling",
    "parallel_attn", "rms_norm_gated", "rotary_embedding", "softmax_and_logsumexp",
    "solve_tril_varlen", "swiglu", "token_shift",
)  # fmt: skip


def programs() -> dict[str, Program]:
    """Return all programs by name."""
    return {
        **{f"tutorial: {name}": run for name, run in _tutorials()},
        **{f"liger: {name}": partial(_operator, name) for name in LIGER},
        **{f"fla: {name}": partial(_public, "fla", name) for name in _present("fla", FLA)},
        **{f"within: {sample.name}": partial(_sample, sample) for sample in within.CASES},
    }


def _tutorials() -> Iterator[tuple[str, Program]]:
    x, y, out = (torch.ones(1000) for _ in range(3))
    yield "vector add", lambda: basic.vector_add[(8,)](x, y, out, 1000, BLOCK=128)
    wide, of_wide = torch.randn(9, 300), torch.empty(9, 300)
    sizes = (300, 300, 9, 300)
    yield "softmax", lambda: basic.softmax[(3,)](of_wide, wide, *sizes, BLOCK=512)
    a, b, c = torch.randn(96, 80), torch.randn(80, 70), torch.empty(96, 70)
    strides = (*a.stride(), *b.stride(), *c.stride())
    blocks = {"BM": 32, "BN": 32, "BK": 16, "GROUP": 2, "ACTIVATION": "", "PRECISION": "tf32"}
    yield "matmul", lambda: basic.matmul[(9,)](a, b, c, 96, 70, 80, *strides, **blocks)
    keep = (torch.arange(1000) % 3 > 0).int()
    yield "dropout", lambda: normalization.dropout[(8,)](x, keep, out, 1000, 0.3, BLOCK=128)
    seeded = normalization.seeded_dropout
    yield "seeded dropout", lambda: seeded[(8,)](x, out, 1000, 0.5, 5, BLOCK=128)
    yield "layer norm", _layer_norm
    yield "attention", partial(_attention, causal=False)
    yield "causal attention", partial(_attention, causal=True)


def _layer_norm() -> None:
    rows, columns = 4, 300
    x, y = torch.randn(rows, columns), torch.empty(rows, columns)
    weight, bias = torch.randn(2, columns)
    mean, scale = torch.empty(2, rows)
    normalization.layer_norm_forward[(rows,)](
        x=x, y=y, weight=weight, bias=bias, mean_out=mean, rstd_out=scale, stride=columns,
        columns=columns, eps=1e-5, BLOCK=128,
    )  # fmt: skip


def _attention(*, causal: bool) -> None:
    heads, length, depth = 2, 100, 32
    q, k, v = torch.randn(3, 1, heads, length, depth).half()
    out, log_sum = torch.empty_like(q), torch.empty(heads, length)
    attention.attention[(-(-length // 32), heads)](
        q=q, k=k, v=v, out=out, log_sum=log_sum, scale=depth**-0.5, heads=heads, length=length,
        batch_stride=q.stride(0), head_stride=q.stride(1), row_stride=q.stride(2),
        BM=32, BN=16, D=depth, CAUSAL=causal,
    )  # fmt: skip


def _operator(name: str) -> None:
    torch.manual_seed(len(name))
    operator = liger_operators.OPERATORS[name]
    inputs = operator.inputs()
    floats = [
        at for at, x in enumerate(inputs) if x.dtype == torch.float32 and at not in operator.fixed
    ]
    liger_operators.outcome(operator.ours, inputs, floats, [])


def _present(package: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the cases of a public package, or none where its files are not there."""
    return names if folder_of(PACKAGES[package]) else ()


def _public(package: str, name: str) -> None:
    torch.manual_seed(len(name))
    load(PACKAGES[package])
    cases_of(package)[name].run()


def _sample(sample: Sample) -> None:
    sample.kernel[sample.grid](**_values(sample.arguments), **sample.constexprs)


def _values(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Make the arguments that a sample describes; views share a storage as it says."""
    storages: dict[str, torch.Tensor] = {}
    for name, value in arguments.items():
        if isinstance(value, Tensor) and not value.shares:
            others = (each for each in arguments.values() if isinstance(each, Tensor))
            reach = [each.last for each in others if each.shares == name]
            room = value.last if value.room is None else value.room
            storages[name] = torch.zeros(max(room, *reach, 1), dtype=_TYPES[value.dtype])
    return {
        name: torch.as_strided(
            storages[value.shares or name], value.shape, value.steps, value.offset
        )
        if isinstance(value, Tensor)
        else value
        for name, value in arguments.items()
    }


def main(names: list[str]) -> None:
    """Launch the programs of these names, or all."""
    torch.set_default_device("cuda")
    for name, run in programs().items():
        if not names or name in names:
            with kvtrace.mark(name):
                run()


if __name__ == "__main__":
    main(sys.argv[1:])
