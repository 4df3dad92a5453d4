#!/usr/bin/env bash
# Triton: ops that the language accepts for a type, and the compiler then refuses by an exception that names none.
# Relied on by: docs/internals/coverage.md
#
# Guess: what `triton.language` accepts for a type, the compiler can lower for sm_90, or it says which op and type
#   it cannot.
# Seen:  with Triton 3.6.0, `tl.fdiv` of fp16 and bf16, `tl.histogram` of all integers but 32 bits wide, fp8 to
#   and from fp64, between the 8-bit floats, and fp8 arithmetic (`+`, `tl.sum`, `tl.sort`) pass the frontend; then
#   the exception is "PassManager::run failed", and only a dump of MLIR on standard error has the op. fp32 and
#   int32 compile, and so does fp8 to fp32.
# Runs:  triton 3.6.0 and the python3 of PATH; no GPU.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check triton==3.6.0 setuptools==80.9.0
cat > "$folder/program.py" <<'PROGRAM'
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def kernel(x, out, OP: tl.constexpr):
    lanes = tl.arange(0, 128)
    a = tl.load(x + lanes)
    if OP == "fdiv":
        tl.store(out + lanes, tl.fdiv(a, a))
    elif OP == "histogram":
        tl.store(out + tl.arange(0, 16), tl.histogram(a, 16))
    elif OP == "to":
        tl.store(out + lanes, a.to(out.dtype.element_ty))
    elif OP == "sum":
        tl.store(out, tl.sum(a))
    elif OP == "sort":
        tl.store(out + lanes, tl.sort(a))
    else:
        tl.store(out + lanes, a + a)


CASES = [
    ("fdiv", "fp32", "fp32"), ("fdiv", "fp16", "fp16"), ("fdiv", "bf16", "bf16"),
    ("histogram", "i32", "i32"), ("histogram", "i8", "i32"), ("histogram", "i64", "i32"),
    ("to", "fp8e5", "fp32"), ("to", "fp8e5", "fp64"), ("to", "fp64", "fp8e4nv"),
    ("to", "fp8e4nv", "fp8e5"), ("add", "fp8e5", "fp8e5"), ("sum", "fp8e4nv", "fp8e4nv"),
    ("sort", "fp8e5", "fp8e5"),
]
seen = ""
for op, source, target in CASES:
    types = {"x": f"*{source}", "out": f"*{target}", "OP": "constexpr"}
    code = triton.compiler.ASTSource(kernel, types, {"OP": op})
    try:
        triton.compile(code, target=GPUTarget("cuda", 90, 32))
        result = "compiles"
    except RuntimeError as error:
        result = str(error)
    except triton.CompilationError:
        result = "refused by the language"
    print(f"{op} {source} {target}: {result}")
    seen += {"compiles": "+", "PassManager::run failed": "-"}.get(result, "?")
print("triton", triton.__version__)
raise SystemExit(0 if seen == "+--+--+------" else f"changed: {seen}")
PROGRAM
"$folder/venv/bin/python" "$folder/program.py" 2> "$folder/errors" || { tail -n 1 "$folder/errors"; exit 1; }
