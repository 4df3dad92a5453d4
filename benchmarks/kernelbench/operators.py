"""Operators of KernelBench's first level by number and name; shapes are scaled down.

The operators and which shapes they take are facts of KernelBench; their texts are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import torch
import torch.nn.functional as F
import triton

from benchmarks.kernelbench import references as ref

Tensors = tuple[torch.Tensor, ...]
Launch = Callable[[Any, Tensors, torch.Tensor], None]


@dataclass(frozen=True)
class Operator:
    """An operator of KernelBench's first level, with a plain kernel and a wrong one.

    Attributes:
        number: its number in KernelBench.
        name: its name here.
        compute: the operator by torch.
        shapes: shapes of the inputs.
        launch: Launches the plain kernel with a function or a constant: `launch(choice, inputs,
            out)`.
        right: the choice that computes the operator.
        wrong: a choice that computes something else.
        inputs: the compiled kernel's order of inputs, if it differs.

    """

    number: int
    name: str
    compute: Callable[..., torch.Tensor]
    shapes: tuple[tuple[int, ...], ...]
    launch: Launch
    right: Any
    wrong: Any
    inputs: tuple[int, ...] | None = None
    make: Callable[..., torch.Tensor] = field(default=torch.randn)


OPERATORS: Final[list[Operator]] = []
#: Those that are not here, and why.
LEFT_OUT: Final = {
    "convolutions (50, 54 to 87)": "Inductor's template numbers the pixels of an image, and which "
    "element a pixel is is not followed; those of 3D or transposed have no template",
    "group norm, batch norm, norms of all elements (33, 35, 37)": "two kernels or more",
    "pools of volumes (43, 46)": "as those of images",
    "other scans and losses, attention (90, 92, 93, 95, 97, 99)": "not written yet",
}


def _add(
    number: int, name: str, compute: Callable[..., torch.Tensor], shapes: Any, launch: Launch,
    right: Any, wrong: Any, **more: Any,
) -> None:  # fmt: skip
    OPERATORS.append(Operator(number, name, compute, shapes, launch, right, wrong, **more))


def _block(length: int) -> int:
    return max(triton.next_power_of_2(length), 16)


# -- activations ----------------------------------------------------------------------------------

FLAT: Final = (16, 200)


def _pointwise(choice: Any, inputs: Tensors, out: torch.Tensor) -> None:
    n = out.numel()
    ref.pointwise[(triton.cdiv(n, 64),)](inputs[0], out, n, choice, 64)


for _number, _name, _function in (
    (5, "scaled", lambda x: x * 3.14),
    (19, "relu", torch.relu),
    (20, "leaky_relu", F.leaky_relu),
    (21, "sigmoid", torch.sigmoid),
    (22, "tanh", torch.tanh),
    (25, "swish", lambda x: x * torch.sigmoid(x)),
    (26, "gelu", F.gelu),
    (27, "selu", F.selu),
    (28, "hard_sigmoid", F.hardsigmoid),
    (29, "softplus", F.softplus),
    (30, "softsign", F.softsign),
    (31, "elu", F.elu),
    (32, "hard_tanh", F.hardtanh),
    (88, "gelu_by_tanh",
     lambda x: 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))),
):  # fmt: skip
    _add(_number, _name, _function, (FLAT,), _pointwise,
         getattr(ref, _name), getattr(ref, _name + "_wrong"))  # fmt: skip


# -- reductions and norms -------------------------------------------------------------------------


def _along(choice: Any, inputs: Tensors, out: torch.Tensor) -> None:
    batch, length, step = inputs[0].shape
    ref.along[(step, batch)](inputs[0], out, length, step, choice, _block(length))


def _rows(choice: Any, inputs: Tensors, out: torch.Tensor) -> None:
    length = inputs[0].shape[-1]
    many = inputs[0].numel() // length
    ref.rows[(many,)](inputs[0], out, length, choice, _block(length))


def _columns(choice: Any, inputs: Tensors, out: torch.Tensor) -> None:
    batch, length, step = inputs[0].shape
    ref.columns[(step, batch)](inputs[0], out, length, step, choice, _block(length))


def _images(choice: Any, inputs: Tensors, out: torch.Tensor) -> None:
    length = inputs[0].shape[-1] * inputs[0].shape[-2]
    ref.rows[(inputs[0].numel() // length,)](inputs[0], out, length, choice, _block(length))


CUBE: Final = (4, 48, 20)
for _number, _name, _function in (
    (47, "sum", lambda x: torch.sum(x, 1, keepdim=True)),
    (48, "mean", lambda x: torch.mean(x, 1)),
    (49, "max", lambda x: torch.amax(x, 1)),
    (51, "argmax", lambda x: torch.argmax(x, 1)),
    (52, "argmin", lambda x: torch.argmin(x, 1)),
    (53, "min", lambda x: torch.amin(x, 1)),
):
    _add(_number, _name, _function, (CUBE,), _along,
         getattr(ref, _name + "_of"), getattr(ref, _name + "_wrong"))  # fmt: skip
for _number, _name, _function, _shape, _launch in (
    (23, "softmax", lambda x: torch.softmax(x, 1), FLAT, _rows),
    (24, "log_softmax", lambda x: torch.log_softmax(x, 1), FLAT, _rows),
    (34, "instance_norm", F.instance_norm, (2, 3, 8, 10), _images),
    (36, "rms_norm", lambda x: x / torch.sqrt(torch.mean(x**2, 1, keepdim=True) + 1e-5), FLAT,
     _rows),
    (38, "l1_norm", lambda x: x / torch.mean(torch.abs(x), 1, keepdim=True), FLAT, _rows),
    (39, "l2_norm", lambda x: x / torch.norm(x, p=2, dim=1, keepdim=True), FLAT, _rows),
):  # fmt: skip
    _add(_number, _name, _function, (_shape,), _launch,
         getattr(ref, _name), getattr(ref, _name + "_wrong"))  # fmt: skip


def _layer_norm(choice: Any, inputs: Tensors, out: torch.Tensor) -> None:
    rows, length = inputs[0].shape
    ref.affine_rows[(rows,)](*inputs, out, length, choice, _block(length))


_add(40, "layer_norm", lambda x, w, b: F.layer_norm(x, (200,), w, b), (FLAT, (200,), (200,)),
     _layer_norm, 0, 1)  # fmt: skip


# -- pooling --------------------------------------------------------------------------------------


def _pooled(kind: str, stride: int, padding: int, size: int) -> Launch:
    def launch(choice: Any, inputs: Tensors, out: torch.Tensor) -> None:
        width, steps = inputs[0].shape[-1], out.shape[-1]
        many = inputs[0].numel() // width
        ref.pooled[(many,)](inputs[0], out, width, steps, stride, padding, choice, kind, size,
                            _block(steps))  # fmt: skip

    return launch


def _pooled_2d(kind: str, stride: int, padding: int, size: int) -> Launch:
    def launch(choice: Any, inputs: Tensors, out: torch.Tensor) -> None:
        height, width = inputs[0].shape[-2:]
        down, across = out.shape[-2:]
        images = inputs[0].numel() // (height * width)
        ref.pooled_2d[(images, down)](inputs[0], out, height, width, stride, padding, down, across,
                                      kind, size, choice, _block(across))  # fmt: skip

    return launch


_add(41, "max_pool1d", lambda x: F.max_pool1d(x, 4, 2, 1), ((4, 8, 40),), _pooled("max", 2, 1, 4),
     0, -1)  # fmt: skip
_add(42, "max_pool2d", lambda x: F.max_pool2d(x, 2, 2, 1), ((2, 3, 16, 18),),
     _pooled_2d("max", 2, 1, 2), 0, 1)  # fmt: skip
_add(44, "avg_pool1d", lambda x: F.avg_pool1d(x, 4, 1, 1), ((4, 8, 40),), _pooled("mean", 1, 1, 4),
     0, -1)  # fmt: skip
_add(45, "avg_pool2d", lambda x: F.avg_pool2d(x, 3), ((2, 3, 18, 18),),
     _pooled_2d("mean", 3, 0, 3), 0, 1)  # fmt: skip


# -- products -------------------------------------------------------------------------------------


def _product(transposed: tuple[bool, bool], keep: str = "") -> Launch:
    def launch(choice: Any, inputs: Tensors, out: torch.Tensor) -> None:
        a, b = (
            tensor.transpose(-1, -2) if is_transposed else tensor
            for tensor, is_transposed in zip(inputs, transposed, strict=True)
        )
        b = b if b.dim() > 1 else b[:, None]
        batches = a.shape[0] if b.dim() == 3 else 1
        a = a if b.dim() == 3 else a.reshape(-1, a.shape[-1])
        (m, k), n = a.shape[-2:], b.shape[-1]
        ref.product[(m, n, batches)](
            *inputs, out, m, n, k, a.stride(-2), a.stride(-1), b.stride(-2), b.stride(-1),
            a.stride(0) if batches > 1 else 0, b.stride(0) if batches > 1 else 0,
            choice, _block(k), keep,
        )  # fmt: skip

    return launch


for _number, _name, _shapes, _turned in (
    (1, "square product", ((32, 32), (32, 32)), (False, False)),
    (2, "product", ((32, 48), (48, 32)), (False, False)),
    (13, "product of symmetric", ((32, 32), (32, 32)), (False, False)),
    (3, "batched product", ((3, 32, 48), (3, 48, 16)), (False, False)),
    (4, "matrix times vector", ((64, 300), (300, 1)), (False, False)),
    (6, "product, large K", ((16, 700), (700, 16)), (False, False)),
    (7, "product, small K", ((32, 8), (8, 32)), (False, False)),
    (8, "product, irregular", ((33, 37), (37, 29)), (False, False)),
    (9, "product, tall", ((64, 16), (16, 24)), (False, False)),
    (10, "3D product", ((3, 16, 48), (48, 16)), (False, False)),
    (11, "4D product", ((2, 3, 8, 48), (48, 16)), (False, False)),
    (16, "product of a transposed", ((48, 32), (48, 24)), (True, False)),
    (17, "product with a transposed", ((32, 48), (24, 48)), (False, True)),
    (18, "product of two transposed", ((48, 32), (24, 48)), (True, True)),
):
    _add(_number, _name,
         lambda a, b, t=_turned: torch.matmul(a.mT if t[0] else a, b.mT if t[1] else b),
         _shapes, _product(_turned), 0, 1)  # fmt: skip


for _number, _name, _kept, _keep in (
    (14, "upper triangular product", torch.triu, "upper"),
    (15, "lower triangular product", torch.tril, "lower"),
):
    _add(_number, _name, lambda a, b, kept=_kept: kept(torch.matmul(a, b)), ((24, 32), (32, 24)),
         _product((False, False), _keep), 0, 1)  # fmt: skip


def _scaled_rows(choice: Any, inputs: Tensors, out: torch.Tensor) -> None:
    rows, length = out.shape
    ref.scaled_rows[(rows,)](*inputs, out, length, choice, _block(length))


_add(12, "diagonal times matrix", lambda a, b: a[:, None] * b, ((16,), FLAT), _scaled_rows, 0, 1)


# -- scans ----------------------------------------------------------------------------------------


def _summed_up(reverse: bool) -> Launch:
    def launch(choice: Any, inputs: Tensors, out: torch.Tensor) -> None:
        rows, length = out.shape
        ref.summed_up[(rows,)](inputs[0], out, length, reverse, choice, _block(length))

    return launch


_add(89, "cumsum", lambda x: torch.cumsum(x, 1), (FLAT,), _summed_up(False), 0, 1)
_add(91, "cumsum, reverse", lambda x: torch.cumsum(x.flip(1), 1).flip(1), (FLAT,),
     _summed_up(True), 0, 1)  # fmt: skip


# -- losses ---------------------------------------------------------------------------------------


def _averaged(choice: Any, inputs: Tensors, out: torch.Tensor) -> None:
    n = inputs[0].numel()
    ref.averaged[(1,)](*inputs, out, n, choice, _block(n))


LOSS: Final = (16, 60)
_add(
    94, "MSE loss", F.mse_loss, (LOSS, LOSS), _averaged, ref.squared_error, ref.squared_error_wrong
)
_add(96, "Huber loss", F.smooth_l1_loss, (LOSS, LOSS), _averaged, ref.huber, ref.huber_wrong)
_add(98, "KL divergence", lambda x, y: F.kl_div(x, y, reduction="mean"), (LOSS, LOSS), _averaged,
     ref.divergence, ref.divergence_wrong, inputs=(1, 0), make=torch.rand)  # fmt: skip
_add(100, "hinge loss", lambda x, y: torch.mean(torch.clamp(1 - x * y, min=0)), (LOSS, LOSS),
     _averaged, ref.hinge, ref.hinge_wrong)  # fmt: skip
