#!/usr/bin/env bash
# Z3 for Python: of bit vectors `/` truncates and `%` floors, so `x == x / y * y + x % y` is false.
# Relied on by: kvtrace/symbolic/prover/solver.py
#
# Guess: both operators are of one kind: as in C, as in Python, or as of Z3's own integers.
# Seen:  of bit vectors -7 / 2 is -3, as in C, and -7 % 2 is 1, as in Python; their sum is -5. `SRem` belongs to `/`. Of
#   integers both are Euclid's: -7 / -2 is 4 and 7 / -2 is -3, which neither C, Python nor a GPU has. `==` of floats
#   is of their bits (NaN equals itself, -0.0 is not 0.0), `fpEQ` as in programs, and the maximum of 0.0 and -0.0 may
#   be either: a proof about a kernel has to choose each of them.
# Runs:  z3-solver 5.4.1.0 and the python3 of PATH.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check z3-solver==5.4.1.0
cat > "$folder/program.py" <<'PROGRAM'
import z3

print("z3", z3.get_version_string())
for x, y in ((-7, 2), (7, -2), (-7, -2)):
    bits, whole = [z3.BitVecVal(n, 32) for n in (x, y)], [z3.IntVal(n) for n in (x, y)]
    results = [z3.simplify(value).as_signed_long() for value in (bits[0] / bits[1], bits[0] % bits[1], z3.SRem(*bits))]
    integers = [z3.simplify(value).as_long() for value in (whole[0] / whole[1], whole[0] % whole[1])]
    print(f"{x}, {y}: bit vectors /, %, SRem {results}, integers /, % {integers}, Python {[x // y, x % y]}")
a, b = z3.BitVecs("a b", 32)
for name, remainder in (("%", a % b), ("SRem", z3.SRem(a, b))):
    solver = z3.Solver()
    solver.add(a == -7, b == 2, a != a / b * b + remainder)
    print(f"-7 differs from -7 / 2 * 2 + {name}: {solver.check()}")
zero, below, nan = (z3.FPVal(value, z3.Float32()) for value in (0.0, -0.0, float("nan")))
print("NaN == NaN:", z3.simplify(nan == nan), "by fpEQ", z3.simplify(z3.fpEQ(nan, nan)))
print("0.0 == -0.0:", z3.simplify(zero == below), "by fpEQ", z3.simplify(z3.fpEQ(zero, below)))
solver = z3.Solver()
for value in (zero, below):
    solver.push()
    solver.add(z3.fpMax(zero, below) == value)
    print(f"fpMax(0.0, -0.0) may be {value}: {solver.check()}")
    solver.pop()
PROGRAM
seen=$("$folder/venv/bin/python" "$folder/program.py")
echo "$seen"
expected="z3 5.4.1
-7, 2: bit vectors /, %, SRem [-3, 1, -1], integers /, % [-4, 1], Python [-4, 1]
7, -2: bit vectors /, %, SRem [-3, -1, 1], integers /, % [-3, 1], Python [-4, -1]
-7, -2: bit vectors /, %, SRem [3, -1, -1], integers /, % [4, 1], Python [3, -1]
-7 differs from -7 / 2 * 2 + %: sat
-7 differs from -7 / 2 * 2 + SRem: unsat
NaN == NaN: True by fpEQ False
0.0 == -0.0: False by fpEQ True
fpMax(0.0, -0.0) may be +0.0: sat
fpMax(0.0, -0.0) may be -0.0: sat"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
