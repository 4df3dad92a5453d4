#!/usr/bin/env bash
# CuTe DSL: `//` rounds down and `%` cuts off, so that a number is not its quotient and remainder.
#
# Guess: `//` and `%` of numbers at run time both round down, as in Python, or both cut off, as in C: in both,
#   (n // m) * m + n % m is n.
# Seen:  -7 // 2 is -4 (Python's) and -7 % 2 is -1 (C's), for integers and floats alike, so that the sum is -9. Of two
#   constants, which Python computes, -7 % 2 is 1: an index `n % m` that a constant keeps inside its tensor is negative
#   once it is an argument.
# Runs:  nvidia-cutlass-dsl 4.8.1, compiled for and run on the CPU; no GPU.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nvidia-cutlass-dsl==4.8.1
cat > "$folder/program.py" <<'PROGRAM'
import cutlass
import cutlass.cute as cute


@cute.jit
def integers(n: cutlass.Int32, m: cutlass.Int32):
    cute.printf("of arguments: {} and {}, together {}", n // m, n % m, (n // m) * m + n % m)
    cute.printf("of constants: {} and {}", -7 // 2, -7 % 2)


@cute.jit
def floats(x: cutlass.Float32, y: cutlass.Float32):
    cute.printf("of floats: {} and {}", x // y, x % y)


print("nvidia-cutlass-dsl", cutlass.__version__, flush=True)
cute.compile(integers, cutlass.Int32(-7), cutlass.Int32(2))(cutlass.Int32(-7), cutlass.Int32(2))
cute.compile(floats, cutlass.Float32(-7), cutlass.Float32(2))(cutlass.Float32(-7), cutlass.Float32(2))
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected="nvidia-cutlass-dsl 4.8.1
of arguments: -4 and -1, together -9
of constants: -4 and 1
of floats: -4.000000 and -1.000000"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
