"""Cases for each candidate of strangers, and their truth by Triton's interpreter."""

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.attacks.case import Answer, Case
from benchmarks.attacks.strangers.cheats import CHEATS, PRELUDE

HERE = Path(__file__).parent
ANSWERS = {"right": Answer.YES, "wrong": Answer.NO, "unjudged": Answer.UNKNOWN}
FLAT, ROWS, PAIR = "x=f32[1000]", "x=f32[64, 100]", "x=f32[1000], y=f32[1000]"
PRODUCT = "x=f32[64, 96], y=f32[96, 32]"
LINEAR = "x=f32[64, 48], weight=f32[32, 48]"


@dataclass(frozen=True)
class Question:
    """A candidate with its reference and inputs, for one run of `kvtrace judge`.

    Attributes:
        candidate: `FILE:NAME`, of the folder `wrong` or `right`, or `cheats:NAME`.
        reference: A name in `references.py`.
        shapes: The inputs.
        witness: Inputs that show the mistake, as Python's text; empty where reading decides.
    """

    candidate: str
    reference: str
    shapes: str
    witness: str = ""


_RANDOM = "torch.randn({})".format
WRONG = [
    Question("sizes:capped_grid", "double", FLAT, _RANDOM("300_000")),
    Question("sizes:three_rounds", "double", FLAT, _RANDOM("1_100_000")),
    Question("sizes:multiples_of_1009", "double", FLAT, _RANDOM("1009")),
    Question("sizes:long_rows", "row_sum", ROWS, _RANDOM("2, 40_000")),
    Question("sizes:rows_on_second_axis", "row_sum", ROWS),
    Question("sizes:two_stages", "total", FLAT, _RANDOM("600_000")),
    Question("sizes:empty_total", "total", FLAT),
    Question("sizes:grouped", "matmul", PRODUCT, "torch.randn(80, 48), torch.randn(48, 64)"),
    Question("sizes:split", "matmul", PRODUCT, "torch.randn(16, 33), torch.randn(33, 16)"),
    Question("sizes:split_uninitialized", "matmul", PRODUCT),
    Question("values:limited_relu", "relu", FLAT, _RANDOM("100") + " * 1e6"),
    Question("values:limit_by_size", "double", FLAT, _RANDOM("100") + " * 1e7"),
    Question("values:rounded_half_up", "round_", FLAT, "torch.arange(100) / 2"),
    Question("values:sign_of_zero", "signbit", FLAT, "torch.tensor([0.0, -0.0, 1.0])"),
    Question(
        "values:third_toward_zero", "floor_third_times", "k=i32[1000], y=f32[1000]",
        "torch.arange(-50, 50), torch.ones(100)",
    ),
    Question(
        "values:remainder_of_32_bits", "remainder_times", "k=i64[1000], y=f32[1000]",
        "torch.arange(100) + (1 << 33), torch.ones(100)",
    ),
    Question(
        "values:mean_of_bytes", "row_mean_of_integers", "k=i8[64, 100]",
        "torch.full((2, 1000), 127, dtype=torch.int8)",
    ),
    Question("values:steep_leaky_relu", "leaky_relu", FLAT + ", slope=0.1", "torch.randn(9), 2.0"),
    Question(
        "values:crossed_clamp", "clamp", FLAT + ", low=-0.5, high=1.5", "torch.randn(9), 1.0, -1.0"
    ),
    Question("values:overflowing_hypot", "hypot", PAIR, "torch.full((9,), 1e20), torch.ones(9)"),
    Question(
        "values:mean_of_none", "masked_mean", "x=f32[64, 100], mask=bool[64, 100]",
        "torch.randn(2, 9), torch.zeros(2, 9, dtype=torch.bool)",
    ),
    Question(
        "values:wrapping_quantize", "quantize", FLAT + ", scale=0.05", "torch.randn(99), 0.003"
    ),
    Question(
        "values:counts_ignored_labels", "cross_entropy", "x=f32[64, 100], labels=i64[64]",
        "torch.randn(4, 9), torch.tensor([1, -100, 2, 3])",
    ),
    Question(
        "values:zero_for_a_pattern", "double", FLAT,
        "torch.full((9,), 0x3F812345, dtype=torch.int32).view(torch.float32)",
    ),
    Question(
        "values:maximum_from_zero", "row_max_of_integers", "k=i32[64, 100]",
        "-1 - torch.arange(18, dtype=torch.int32).view(2, 9)",
    ),
    Question(
        "values:softmax_of_far_blocks", "softmax", ROWS, "100.0 * (torch.arange(99)[None] > 50)"
    ),
    Question(
        "strides:first_two_swapped", "double", "x=f32[4, 10, 20]",
        "torch.randn(10, 4, 20).transpose(0, 1)",
    ),
    Question("strides:expanded", "row_sum", ROWS, "torch.randn(1, 9).expand(4, 9)"),
    Question("strides:padded_rows", "row_sum", ROWS, "torch.randn(4, 20)[:, :9]"),
    Question("strides:same_input_twice", "add", PAIR),
    Question("strides:relu_of_the_span", "relu_", ROWS),
    Question("strides:moved_and_moved_back", "double", FLAT),
    Question("strides:one_buffer_twice", "twice_incremented", FLAT),
    Question("strides:its_input", "copy", FLAT),
    Question("calls:packed_by_version", "linear", LINEAR),
    Question("calls:packed_by_object", "linear", LINEAR),
    Question("calls:packed_on_the_weight", "linear", LINEAR),
    Question("calls:PackedLinear", "Linear", "x=f32[64, 48]"),
    Question("calls:stale_partial_sums", "total", FLAT),
    Question("calls:tickets_of_all_calls", "total", FLAT),
    Question("calls:forty_shapes", "total", FLAT),
    Question("device:false_multiple", "row_sum", "x=f32[64, 96]"),
    Question("device:false_assumption", "row_sum", "x=f32[64, 96]"),
    Question("device:false_contiguity", "double", FLAT),
    Question("device:too_many_warps", "double", FLAT),
    Question("device:last_program_adds", "total", FLAT),
    Question(
        "device:scatter_without_atomics", "scatter_add", "x=f32[64, 8], at=i64[64], out=f32[64, 8]"
    ),
    Question("device:scratch_without_barrier", "row_sum", ROWS),
    Question("precision:matmul_in_bfloat16", "matmul", PRODUCT),
    Question(
        "precision:int8_matmul_in_float32", "int8_matmul", "x=i8[64, 96], y=i8[96, 32]",
        "torch.full((2, 1283), 127).char(), torch.full((1283, 2), 127).char()",
    ),
    Question("precision:softmax_by_polynomial", "softmax", ROWS, _RANDOM("4, 99")),
    Question("precision:norm_by_quick_rsqrt", "rsqrt_norm", ROWS, _RANDOM("4, 99")),
    Question("precision:float64_by_float32", "double", "x=f64[1000]", "torch.rand(9).double() / 3"),
    Question("precision:bfloat16_totals", "row_sum", "x=bf16[64, 1000]"),
    Question("precision:gradient_without_grad", "gradient", FLAT, _RANDOM("99")),
    Question("precision:forward_with_wrong_backward", "triple", FLAT),
    Question("precision:wrong_corner", "edges", "x=f32[16, 40]", _RANDOM("5, 9")),
    *(
        Question(f"cheats:{name}", "is_nonzero" if name == "comparison_by_type" else "double", FLAT)
        for name in CHEATS
    ),
]  # fmt: skip
_QKV = "q={0}[2, 2, 48, 32], k={0}[2, 2, 48, 32], v={0}[2, 2, 48, 32]".format
_NORM = "x={0}[32, 100], weight={0}[100], bias={0}[100]".format
RIGHT = [
    *(Question("elementwise:swish", "swish", f"x={kind}[1000]") for kind in ("f32", "f16", "bf16")),
    Question("elementwise:geglu", "geglu", "gate=bf16[16, 200], up=bf16[16, 200]"),
    Question("elementwise:where", "where", "mask=bool[1000], x=f16[1000], y=f16[1000]"),
    Question("elementwise:scale_", "scale_", FLAT + ", factor=1.5"),
    Question("elementwise:bitwise", "bitwise", "x=i32[1000], y=i32[1000]"),
    Question("elementwise:ceil_parts", "ceil_parts", FLAT),
    Question("elementwise:add_rows", "add_rows", "x=f32[64, 100], bias=f32[100]"),
    Question("elementwise:outer", "outer", "x=f32[50], y=f32[70]"),
    Question("elementwise:transpose", "transpose", "x=i16[50, 70]"),
    Question("elementwise:rotary", "rotary", "x=f32[16, 64], cos=f32[16, 32], sin=f32[16, 32]"),
    Question("elementwise:dequantize", "dequantize", "q=i8[16, 200], scale=f32[16]"),
    Question("elementwise:cast", "cast", FLAT),
    Question("elementwise:embedding", "embedding", "table=f16[64, 40], at=i64[64]"),
    *(Question("rows:layer_norm", "layer_norm", _NORM(kind)) for kind in ("f32", "bf16")),
    Question("rows:rms_backward", "rms_backward", "g=f32[32, 100], x=f32[32, 100], w=f32[100]"),
    Question("rows:group_norm", "group_norm", "x=f32[2, 8, 20], weight=f32[8], bias=f32[8]"),
    Question("rows:log_sum_exp", "log_sum_exp", ROWS),
    Question("rows:argmax", "argmax", ROWS),
    Question("rows:sum_and_max", "sum_and_max", ROWS),
    Question("rows:cumsum", "cumsum", ROWS),
    Question("rows:linear_scan", "linear_scan", "a=f32[16, 50], x=f32[16, 50]"),
    Question("rows:welford", "welford", ROWS),
    Question("rows:batch_sum", "batch_sum", "x=f16[64, 100]"),
    Question("rows:max_pool", "max_pool", "x=f32[8, 101]"),
    Question("rows:conv1d", "conv1d", "x=f32[8, 100], weight=f32[8, 3]"),
    Question("rows:smooth_l1", "smooth_l1", "x=f32[16, 60], y=f32[16, 60]"),
    Question("rows:top_two", "top_two", ROWS),
    Question("rows:bincount", "bincount", "at=i64[100], bins=f32[128]"),
    *(
        Question("products:matmul", "matmul", PRODUCT.replace("f32", kind))
        for kind in ("f32", "f16", "bf16")
    ),
    Question("products:int8_matmul", "int8_matmul", "x=i8[64, 96], y=i8[96, 32]"),
    Question("products:split", "matmul", PRODUCT),
    *(
        Question("products:causal_attention", "causal_attention", _QKV(kind))
        for kind in ("f32", "f16")
    ),
    Question("products:Linear", "Linear", "x=f32[64, 48]"),
]


def _file(question: Question, folder: str, beside: Path) -> tuple[Path, str]:
    """Return the candidate's file and entry; a cheat's text is written to the folder `beside`."""
    file, _, entry = question.candidate.partition(":")
    if file != "cheats":
        return HERE / folder / f"{file}.py", entry
    written = beside / "candidate.py"
    written.write_text(PRELUDE.lstrip() + CHEATS[entry][1].strip() + "\n")
    return written, "candidate"


def _asking(question: Question, folder: str) -> Callable[[], tuple[Answer, str]]:
    """Return a function that runs `kvtrace judge`, and returns its answer and findings' rules."""

    def ask() -> tuple[Answer, str]:
        with tempfile.TemporaryDirectory() as beside:
            file, entry = _file(question, folder, Path(beside))
            command = [
                sys.executable, "-m", "kvtrace", "judge", str(file), "--entry", entry,
                "--reference", f"{HERE / 'references.py'}:{question.reference}",
                "--shapes", question.shapes, "--json",
            ]  # fmt: skip
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, cwd="/",
                env={**os.environ, "PYTHONPATH": str(HERE.parents[2])},
            )  # fmt: skip
        if not done.stdout:
            return Answer.UNKNOWN, done.stderr.strip().splitlines()[-1]
        report = json.loads(done.stdout)
        rules = {
            f"{finding['rule']} ({finding['severity']})": None for finding in report["findings"]
        }
        return ANSWERS[report["verdict"]], ", ".join(rules) or "nothing found"

    return ask


def _interpreted(question: Question, folder: str) -> Callable[[], bool]:
    """Return a function: does Triton's interpreter give the same results as PyTorch?"""

    def truth() -> bool:
        file, _, entry = question.candidate.partition(":")
        inputs = question.witness or question.shapes
        done = subprocess.run(
            [
                sys.executable, "-m", "benchmarks.attacks.strangers.interpreted",
                str(HERE / folder / f"{file}.py"), entry, question.reference, inputs,
            ],
            capture_output=True, text=True, check=False,
            env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(HERE.parents[2])},
        )  # fmt: skip
        if done.returncode not in (0, 1) or done.stderr.startswith("Traceback"):
            print(question.candidate, done.stderr[-300:], file=sys.stderr)
        return done.returncode == 0

    return truth


def _reason(question: Question, folder: str) -> str:
    """Return the first line of the entry's docstring."""
    file, _, entry = question.candidate.partition(":")
    if file == "cheats":
        return CHEATS[entry][0]
    for node in ast.parse((HERE / folder / f"{file}.py").read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == entry:
            return ast.get_docstring(node) or ""
    return ""


def cases() -> list[Case]:
    """Return the cases of all wrong and right candidates."""
    cases_so_far = []
    for right, folder, questions in ((False, "wrong", WRONG), (True, "right", RIGHT)):
        for question in questions:
            title = f"{question.candidate} {question.shapes}" if right else question.candidate
            evaluated = right or bool(question.witness)
            cases_so_far.append(
                Case(
                    f"{folder}/{title}", right, _reason(question, folder),
                    _asking(question, folder),
                    _interpreted(question, folder) if evaluated else None,
                    "evaluated" if evaluated else "read",
                )
            )  # fmt: skip
    return cases_so_far
