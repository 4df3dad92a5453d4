"""What `kvtrace diff` answers about 60 edits of Liger-Kernel's kernels: are the results the same?

    python -m benchmarks.edits [NAME …]

Method: each edit replaces a pattern in a copy of the installed module. Both versions of the
operator run forward and backward on the same CPU tensors, recorded without a GPU; then changed
kernels are compared as `kvtrace diff` does. 20 edits keep every bit, 20 keep the mathematics, and
20 break it. *Same results?* must never be yes for a broken one, nor no for a kept one.
"""

import importlib.util
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal

import torch

import kvtrace
from kvtrace.addons.invariance.differences import kernel_meanings
from kvtrace.schema.trace import Selection, open_trace

Kind = Literal["bits", "mathematics", "broken"]
_SECONDS: Final = 30.0


@dataclass(frozen=True)
class Edit:
    """An edit: a module of `liger_kernel.ops`, what it does to the results, and the replacement."""

    module: str
    kind: Kind
    why: str
    pattern: str
    replacement: str

    @property
    def name(self) -> str:
        """The module, and what is edited."""
        return f"{self.module}: {self.why}"


def _bits(module: str, why: str, pattern: str, replacement: str) -> Edit:
    return Edit(module, "bits", why, pattern, replacement)


def _mathematics(module: str, why: str, pattern: str, replacement: str) -> Edit:
    return Edit(module, "mathematics", why, pattern, replacement)


def _broken(module: str, why: str, pattern: str, replacement: str) -> Edit:
    return Edit(module, "broken", why, pattern, replacement)


EDITS: Final = (
    _bits("softmax", "axis by position", r"sum\(e, axis=0\)", "sum(e, 0)"),
    _bits("softmax", "a name for the difference", r"( +)e = tl.exp\(x - m\)",
          r"\1shifted = x - m\n\1e = tl.exp(shifted)"),
    _bits("softmax", "mask turned around", r"mask = offs < n_cols", "mask = n_cols > offs"),
    _bits("softmax", "another way to write infinity", r'-float\("inf"\)', 'float("-inf")'),
    _bits("softmax", "offset added first", r"X_ptr \+ row_id \* X_row_stride \+ offs",
          "X_ptr + (row_id * X_row_stride + offs)"),
    _bits("rms_norm", "a name for the square",
          r"( +)mean_square = tl.sum\(X_row \* X_row, axis=0\)",
          r"\1square = X_row * X_row\n\1mean_square = tl.sum(square, axis=0)"),
    _bits("rms_norm", "factors change places", r"X_row \* \(offset \+ W_row\)",
          "(W_row + offset) * X_row"),
    _bits("rms_norm", "addends change places", r"mean_square \+ eps", "eps + mean_square"),
    _bits("rms_norm", "zero as a float", r"mask=mask, other=0\)", "mask=mask, other=0.0)"),
    _bits("rms_norm", "mask with another bound", r"col_offsets < n_cols",
          "col_offsets <= n_cols - 1"),
    _bits("layer_norm", "the mask again", r"tl.where\(mask, X_centered, 0.0\)",
          "tl.where(col_offsets < n_cols, X_centered, 0.0)"),
    _bits("layer_norm", "bias first", r"X_centered \* rstd \* W_f32 \+ B_f32",
          "B_f32 + X_centered * rstd * W_f32"),
    _bits("layer_norm", "a name for the square",
          r"( +)var = tl.sum\(X_centered_masked \* X_centered_masked, axis=0\)",
          r"\1square = X_centered_masked * X_centered_masked\n\1var = tl.sum(square, axis=0)"),
    _bits("layer_norm", "eps added first", r"var \+ eps.to\(tl.float32\)",
          "eps.to(tl.float32) + var"),
    _bits("swiglu", "factors change places", r"return x \* tl.sigmoid\(x\)",
          "return tl.sigmoid(x) * x"),
    _bits("swiglu", "pointers by assignment", r"a_ptr \+= program_id \* stride",
          "a_ptr = a_ptr + stride * program_id"),
    _bits("geglu", "parentheses as they bind", r"a_row \* a_row \* a_row",
          "(a_row * a_row) * a_row"),
    _bits("geglu", "more digits of a constant", r"0\.7978845608028654",
          "0.797884560802865355879892"),
    _bits("group_norm", "a sum by assignment", r"s \+= tl.sum\(X\)", "s = s + tl.sum(X)"),
    _bits("group_norm", "m times m", r"\(m \* m\)", "m * m"),
    _mathematics("softmax", "exp by exp2", r"tl.exp\(x - m\)",
                 "tl.exp2((x - m) * 1.4426950408889634)"),
    _mathematics("softmax", "times the reciprocal", r"y = e / d", "y = e * (1.0 / d)"),
    _mathematics("softmax", "multiplied out", r"y \* \(dy - dot\)", "y * dy - y * dot"),
    _mathematics("rms_norm", "divided before the sum",
                 r"tl.sum\(X_row \* X_row, axis=0\) / n_cols",
                 "tl.sum(X_row * X_row / n_cols, axis=0)"),
    _mathematics("rms_norm", "root and division", r"rsqrt\(mean_square \+ eps\)",
                 "1.0 / tl.sqrt(mean_square + eps)"),
    _mathematics("rms_norm", "divided by the root", r"( +)X_row = X_row \* rstd\n",
                 r"\1X_row = X_row / tl.sqrt(mean_square + eps)\n"),
    _mathematics("rms_norm", "multiplied out", r"X_row \* \(offset \+ W_row\)",
                 "X_row * offset + X_row * W_row"),
    _mathematics("layer_norm", "divided before the sum", r"tl.sum\(X_f32, axis=0\) / n_cols",
                 "tl.sum(X_f32 / n_cols, axis=0)"),
    _mathematics("layer_norm", "root and division", r"rsqrt\(var \+ eps.to\(tl.float32\)\)",
                 "1.0 / tl.sqrt(var + eps.to(tl.float32))"),
    _mathematics("layer_norm", "weight times deviation first",
                 r"X_centered \* rstd \* W_f32", "X_centered * (rstd * W_f32)"),
    _mathematics("layer_norm", "one fused operation",
                 r"X_centered \* rstd \* W_f32 \+ B_f32",
                 "tl.fma(X_centered * rstd, W_f32, B_f32)"),
    _mathematics("layer_norm", "squares divided before the sum",
                 r"tl.sum\(X_centered_masked \* X_centered_masked, axis=0\) / n_cols",
                 "tl.sum(X_centered_masked * X_centered_masked / n_cols, axis=0)"),
    _mathematics("swiglu", "sigmoid by its formula", r"return x \* tl.sigmoid\(x\)",
                 "return x * (1.0 / (1.0 + tl.exp(-x)))"),
    _mathematics("swiglu", "one division", r"return x \* tl.sigmoid\(x\)",
                 "return x / (1.0 + tl.exp(-x))"),
    _mathematics("swiglu", "derivative factored", r"silu_a \* \(1 - sig_a\) \+ sig_a",
                 "sig_a * (1 + a_row * (1 - sig_a))"),
    _mathematics("geglu", "polynomial factored", r"a_row \+ 0\.044715 \* a_cubed",
                 "a_row * (1 + 0.044715 * a_row * a_row)"),
    _mathematics("geglu", "multiplied out", r"0\.5 \* a_row \* \(1 \+ tanh_result\)",
                 "0.5 * a_row + 0.5 * a_row * tanh_result"),
    _mathematics("geglu", "tanh by sigmoid", r"tanh\(tanh_arg\)",
                 "(2 * tl.sigmoid(2 * tanh_arg) - 1)"),
    _mathematics("group_norm", "times the reciprocal", r"s / hidden_size",
                 "s * (1.0 / hidden_size)"),
    _mathematics("group_norm", "scale and shift", r"\(X - m\) \* rstd \* W \+ B",
                 "X * (rstd * W) + (B - m * rstd * W)"),
    _broken("softmax", "a mask's other is zero", r'other=-float\("inf"\)', "other=0.0"),
    _broken("softmax", "the last column is left out", r"mask = offs < n_cols",
            "mask = offs < n_cols - 1"),
    _broken("softmax", "a sign in the derivative", r"\(dy - dot\)", "(dy + dot)"),
    _broken("softmax", "without the maximum", r"m = tl.max\(x, axis=0\)", "m = 0.0"),
    _broken("rms_norm", "eps outside of the root", r"rsqrt\(mean_square \+ eps\)",
            "(rsqrt(mean_square) + eps)"),
    _broken("rms_norm", "divided by the block's size",
            r"tl.sum\(X_row \* X_row, axis=0\) / n_cols",
            "tl.sum(X_row * X_row, axis=0) / BLOCK_SIZE"),
    _broken("rms_norm", "another value kept for backward", r"tl.store\(rstd_base, rstd\)",
            "tl.store(rstd_base, mean_square)"),
    _broken("rms_norm", "computed in 16 bits", r"X_row = X_row.to\(tl.float32\)",
            "X_row = X_row.to(tl.float16)"),
    _broken("layer_norm", "deviations without a mask",
            r"tl.where\(mask, X_centered, 0.0\)", "X_centered"),
    _broken("layer_norm", "without eps", r"rsqrt\(var \+ eps.to\(tl.float32\)\)", "rsqrt(var)"),
    _broken("layer_norm", "without the bias", r"X_centered \* rstd \* W_f32 \+ B_f32",
            "X_centered * rstd * W_f32"),
    _broken("layer_norm", "divided by one less",
            r"(X_centered_masked \* X_centered_masked, axis=0\)) / n_cols", r"\1 / (n_cols - 1)"),
    _broken("swiglu", "another sigmoid", r"return x \* tl.sigmoid\(x\)",
            "return x * tl.sigmoid(1.702 * x)"),
    _broken("swiglu", "a sign in the derivative", r"\(1 - sig_a\)", "(1 + sig_a)"),
    _broken("swiglu", "the activation in 16 bits", r"c_row = silu\(a_row\)",
            "c_row = silu(a_row).to(tl.bfloat16)"),
    _broken("geglu", "digits of a constant change places", r"0\.044715 \* a_cubed",
            "0.044175 * a_cubed"),
    _broken("geglu", "few digits of a constant", r"0\.7978845608028654", "0.798"),
    _broken("geglu", "a factor in the derivative", r"3 \* 0\.044715", "0.044715"),
    _broken("group_norm", "the tail is left out of sums",
            r"(hidden_size_offsets < hidden_size)(\n.*tl.load.*other=0.0)", r"\1 - 1\2"),
    _broken("group_norm", "the wrong channel", r"local_channel = hidden_size_offsets //",
            "local_channel = 1 + hidden_size_offsets //"),
)  # fmt: skip


def _random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, requires_grad=True)


#: What makes each module's operator run, with tensors of odd sizes.
PROGRAMS: Final[dict[str, Callable[[Any], torch.Tensor]]] = {
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


@contextmanager
def _module(name: str, folder: Path, edit: Edit | None) -> Iterator[ModuleType]:
    """Give a copy of a module, edited or as it is, in place of the one that is installed."""
    full = f"liger_kernel.ops.{name}"
    spec = importlib.util.find_spec(full)
    assert spec is not None
    assert spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    if edit is not None:
        text, count = re.subn(edit.pattern, edit.replacement, text, count=0)
        if not count:
            raise SystemExit(f"{edit.name}: nothing in {spec.origin} matches")
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    copied = importlib.util.spec_from_file_location(full, path)
    assert copied is not None
    assert copied.loader is not None
    module = importlib.util.module_from_spec(copied)
    before = sys.modules.get(full)
    sys.modules[full] = module
    try:
        copied.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[full]
        if before is not None:
            sys.modules[full] = before


def recorded(name: str, folder: Path, edit: Edit | None) -> Selection:
    """Record an operator forward and backward."""
    folder.mkdir()
    torch.manual_seed(0)
    with (
        _module(name, folder, edit) as module,
        kvtrace.capture(folder / "trace", target="cuda:90", compile="ttir"),
    ):
        result = PROGRAMS[name](module)
        result.backward(torch.randn_like(result))
    trace = open_trace(folder / "trace")
    return Selection(trace, trace.runs)


def answer(before: Selection, after: Selection) -> tuple[str, str]:
    """Return the answer to "same results?", and the evidence for it."""
    kernels = {
        each["name"]
        for side in (before, after)
        for each in side.trace.table("kernels").select(["name"]).to_pylist()
    }
    meanings = kernel_meanings(before, after, {name: name for name in kernels}, _SECONDS)
    for word in ("no", "not known"):
        found = [each for each in meanings if each.same == word]
        if found:
            return word, f"{found[0].kernel}, {found[0].output}: {found[0].evidence}"
    return ("yes", "") if meanings else ("not known", "nothing was compared")


def main() -> None:
    """Print a row for each edit, and for each kind how many edits got each answer."""
    asked = sys.argv[1:]
    tally: Counter[tuple[str, str]] = Counter()
    seconds = 0.0
    root = Path(tempfile.mkdtemp())
    before = {name: recorded(name, root / name, None) for name in PROGRAMS}
    print("| edit | kept | same results? | s | evidence |\n|---|---|---|--:|---|")
    for number, edit in enumerate(EDITS):
        if asked and not any(each in edit.name for each in asked):
            continue
        after = recorded(edit.module, root / str(number), edit)
        begun = time.perf_counter()
        word, evidence = answer(before[edit.module], after)
        took = time.perf_counter() - begun
        seconds += took
        tally[edit.kind, word] += 1
        print(f"| {edit.name} | {edit.kind} | {word} | {took:.1f} | {evidence} |", flush=True)
    shutil.rmtree(root)
    for kind in ("bits", "mathematics", "broken"):
        words = {word: tally[kind, word] for word in ("yes", "not known", "no")}
        print(f"{kind}: {', '.join(f'{count} {word}' for word, count in words.items())}")
    print(f"compared in {seconds:.0f} s")


if __name__ == "__main__":
    main()
