"""Liger-Kernel's operators, forward and backward: 60 edits by the author of the rule."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import torch

from corpus.questions.edits import Results, Source, bits, broken, mathematics

CASES: Final = (
    bits("softmax", "axis by position", r"sum\(e, axis=0\)", "sum(e, 0)"),
    bits("softmax", "a name for the difference", r"( +)e = tl.exp\(x - m\)",
          r"\1shifted = x - m\n\1e = tl.exp(shifted)"),
    bits("softmax", "mask turned around", r"mask = offs < n_cols", "mask = n_cols > offs"),
    bits("softmax", "another way to write infinity", r'-float\("inf"\)', 'float("-inf")'),
    bits("softmax", "offset added first", r"X_ptr \+ row_id \* X_row_stride \+ offs",
          "X_ptr + (row_id * X_row_stride + offs)"),
    bits("rms_norm", "a name for the square",
          r"( +)mean_square = tl.sum\(X_row \* X_row, axis=0\)",
          r"\1square = X_row * X_row\n\1mean_square = tl.sum(square, axis=0)"),
    bits("rms_norm", "factors change places", r"X_row \* \(offset \+ W_row\)",
          "(W_row + offset) * X_row"),
    bits("rms_norm", "addends change places", r"mean_square \+ eps", "eps + mean_square"),
    bits("rms_norm", "zero as a float", r"mask=mask, other=0\)", "mask=mask, other=0.0)"),
    bits("rms_norm", "mask with another bound", r"col_offsets < n_cols",
          "col_offsets <= n_cols - 1"),
    bits("layer_norm", "the mask again", r"tl.where\(mask, X_centered, 0.0\)",
          "tl.where(col_offsets < n_cols, X_centered, 0.0)"),
    bits("layer_norm", "bias first", r"X_centered \* rstd \* W_f32 \+ B_f32",
          "B_f32 + X_centered * rstd * W_f32"),
    bits("layer_norm", "a name for the square",
          r"( +)var = tl.sum\(X_centered_masked \* X_centered_masked, axis=0\)",
          r"\1square = X_centered_masked * X_centered_masked\n\1var = tl.sum(square, axis=0)"),
    bits("layer_norm", "eps added first", r"var \+ eps.to\(tl.float32\)",
          "eps.to(tl.float32) + var"),
    bits("swiglu", "factors change places", r"return x \* tl.sigmoid\(x\)",
          "return tl.sigmoid(x) * x"),
    bits("swiglu", "pointers by assignment", r"a_ptr \+= program_id \* stride",
          "a_ptr = a_ptr + stride * program_id"),
    bits("geglu", "parentheses as they bind", r"a_row \* a_row \* a_row",
          "(a_row * a_row) * a_row"),
    bits("geglu", "more digits of a constant", r"0\.7978845608028654",
          "0.797884560802865355879892"),
    bits("group_norm", "a sum by assignment", r"s \+= tl.sum\(X\)", "s = s + tl.sum(X)"),
    bits("group_norm", "m times m", r"\(m \* m\)", "m * m"),
    mathematics("softmax", "exp by exp2", r"tl.exp\(x - m\)",
                 "tl.exp2((x - m) * 1.4426950408889634)"),
    mathematics("softmax", "times the reciprocal", r"y = e / d", "y = e * (1.0 / d)"),
    mathematics("softmax", "multiplied out", r"y \* \(dy - dot\)", "y * dy - y * dot"),
    mathematics("rms_norm", "divided before the sum",
                 r"tl.sum\(X_row \* X_row, axis=0\) / n_cols",
                 "tl.sum(X_row * X_row / n_cols, axis=0)"),
    mathematics("rms_norm", "root and division", r"rsqrt\(mean_square \+ eps\)",
                 "1.0 / tl.sqrt(mean_square + eps)"),
    mathematics("rms_norm", "divided by the root", r"( +)X_row = X_row \* rstd\n",
                 r"\1X_row = X_row / tl.sqrt(mean_square + eps)\n"),
    mathematics("rms_norm", "multiplied out", r"X_row \* \(offset \+ W_row\)",
                 "X_row * offset + X_row * W_row"),
    mathematics("layer_norm", "divided before the sum", r"tl.sum\(X_f32, axis=0\) / n_cols",
                 "tl.sum(X_f32 / n_cols, axis=0)"),
    mathematics("layer_norm", "root and division", r"rsqrt\(var \+ eps.to\(tl.float32\)\)",
                 "1.0 / tl.sqrt(var + eps.to(tl.float32))"),
    mathematics("layer_norm", "weight times deviation first",
                 r"X_centered \* rstd \* W_f32", "X_centered * (rstd * W_f32)"),
    mathematics("layer_norm", "one fused operation",
                 r"X_centered \* rstd \* W_f32 \+ B_f32",
                 "tl.fma(X_centered * rstd, W_f32, B_f32)"),
    mathematics("layer_norm", "squares divided before the sum",
                 r"tl.sum\(X_centered_masked \* X_centered_masked, axis=0\) / n_cols",
                 "tl.sum(X_centered_masked * X_centered_masked / n_cols, axis=0)"),
    mathematics("swiglu", "sigmoid by its formula", r"return x \* tl.sigmoid\(x\)",
                 "return x * (1.0 / (1.0 + tl.exp(-x)))"),
    mathematics("swiglu", "one division", r"return x \* tl.sigmoid\(x\)",
                 "return x / (1.0 + tl.exp(-x))"),
    mathematics("swiglu", "derivative factored", r"silu_a \* \(1 - sig_a\) \+ sig_a",
                 "sig_a * (1 + a_row * (1 - sig_a))"),
    mathematics("geglu", "polynomial factored", r"a_row \+ 0\.044715 \* a_cubed",
                 "a_row * (1 + 0.044715 * a_row * a_row)"),
    mathematics("geglu", "multiplied out", r"0\.5 \* a_row \* \(1 \+ tanh_result\)",
                 "0.5 * a_row + 0.5 * a_row * tanh_result"),
    mathematics("geglu", "tanh by sigmoid", r"tanh\(tanh_arg\)",
                 "(2 * tl.sigmoid(2 * tanh_arg) - 1)"),
    mathematics("group_norm", "times the reciprocal", r"s / hidden_size",
                 "s * (1.0 / hidden_size)"),
    mathematics("group_norm", "scale and shift", r"\(X - m\) \* rstd \* W \+ B",
                 "X * (rstd * W) + (B - m * rstd * W)"),
    broken("softmax", "a mask's other is zero", r'other=-float\("inf"\)', "other=0.0"),
    broken("softmax", "the last column is left out", r"mask = offs < n_cols",
            "mask = offs < n_cols - 1"),
    broken("softmax", "a sign in the derivative", r"\(dy - dot\)", "(dy + dot)"),
    broken("softmax", "without the maximum", r"m = tl.max\(x, axis=0\)", "m = 0.0"),
    broken("rms_norm", "eps outside of the root", r"rsqrt\(mean_square \+ eps\)",
            "(rsqrt(mean_square) + eps)"),
    broken("rms_norm", "divided by the block's size",
            r"tl.sum\(X_row \* X_row, axis=0\) / n_cols",
            "tl.sum(X_row * X_row, axis=0) / BLOCK_SIZE"),
    broken("rms_norm", "another value kept for backward", r"tl.store\(rstd_base, rstd\)",
            "tl.store(rstd_base, mean_square)"),
    broken("rms_norm", "computed in 16 bits", r"X_row = X_row.to\(tl.float32\)",
            "X_row = X_row.to(tl.float16)"),
    broken("layer_norm", "deviations without a mask",
            r"tl.where\(mask, X_centered, 0.0\)", "X_centered"),
    broken("layer_norm", "without eps", r"rsqrt\(var \+ eps.to\(tl.float32\)\)", "rsqrt(var)"),
    broken("layer_norm", "without the bias", r"X_centered \* rstd \* W_f32 \+ B_f32",
            "X_centered * rstd * W_f32"),
    broken("layer_norm", "divided by one less",
            r"(X_centered_masked \* X_centered_masked, axis=0\)) / n_cols", r"\1 / (n_cols - 1)"),
    broken("swiglu", "another sigmoid", r"return x \* tl.sigmoid\(x\)",
            "return x * tl.sigmoid(1.702 * x)"),
    broken("swiglu", "a sign in the derivative", r"\(1 - sig_a\)", "(1 + sig_a)"),
    broken("swiglu", "the activation in 16 bits", r"c_row = silu\(a_row\)",
            "c_row = silu(a_row).to(tl.bfloat16)"),
    broken("geglu", "digits of a constant change places", r"0\.044715 \* a_cubed",
            "0.044175 * a_cubed"),
    broken("geglu", "few digits of a constant", r"0\.7978845608028654", "0.798"),
    broken("geglu", "a factor in the derivative", r"3 \* 0\.044715", "0.044715"),
    broken("group_norm", "the tail is left out of sums",
            r"(hidden_size_offsets < hidden_size)(\n.*tl.load.*other=0.0)", r"\1 - 1\2"),
    broken("group_norm", "the wrong channel", r"local_channel = hidden_size_offsets //",
            "local_channel = 1 + hidden_size_offsets //"),
)  # fmt: skip


def _random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, requires_grad=True)


#: What makes each module's operator run, with tensors of odd sizes.
_PROGRAMS: Final[dict[str, Callable[[Any], torch.Tensor]]] = {
    "softmax": lambda ops: ops.LigerSoftmaxFunction.apply(_random(13, 301)),
    "rms_norm": lambda ops: ops.LigerRMSNormFunction.apply(_random(13, 100), _random(100), 1e-6),
    "layer_norm": lambda ops: ops.LigerLayerNormFunction.apply(
        _random(13, 100), _random(100), _random(100), 1e-5
    ),
    "swiglu": lambda ops: ops.LigerSiLUMulFunction.apply(_random(3, 7, 129), _random(3, 7, 129)),
    "geglu": lambda ops: ops.LigerGELUMulFunction.apply(_random(3, 7, 129), _random(3, 7, 129)),
    "group_norm": lambda ops: ops.LigerGroupNormFunction.apply(
        _random(3, 12, 50), _random(12), _random(12), 12, 4, 1e-6
    ),
}


def _run(program: Callable[[Any], torch.Tensor], ops: Any, _hard: bool) -> Results:
    result = program(ops)
    result.backward(torch.randn_like(result))
    return (result.detach(),), None


SOURCES: Final = tuple(
    Source(name, f"liger_kernel/ops/{name}.py", partial(_run, program), whole=True)
    for name, program in _PROGRAMS.items()
)
