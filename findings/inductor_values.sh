#!/usr/bin/env bash
# torch.compile: nextafter of float16 is x itself, x // 0.1 of 1 is 10, and softshrink of NaN is 0.
#
# Guess: compiled values differ from eager ones in last bits at most.
# Seen:  16-bit floats are computed in float32, so nextafter takes a step of float32, which is rounded away. x // 0.1 of 1, 6
#   and 7 is 10, 60 and 70, where eager code has Python's 9, 59 and 69: a bin is off by one. x % 3.0 of 1e10 is 1
#   in an array of 3 and 0 in one of 64, as vectors divide and leftovers do not. inf // 2 is infinite (eager: NaN), and
#   softshrink drops NaN, which hardshrink keeps.
#   On an H200 (torch 2.11) nextafter, x // 0.1 and softshrink are the same, 1e10 % 0.1 is 55.8 and 1e10 % 3.0 is 256.
# Runs:  torch 2.13.0 on a CPU, numpy 2.3.5, and the C++ compiler of PATH.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TORCHINDUCTOR_CACHE_DIR="$folder/cache"
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.3.5
cat > "$folder/program.py" <<'PROGRAM'
import torch

NAN, INF = float("nan"), float("inf")


def pair(function, numbers, kind=torch.float32):
    torch._dynamo.reset()
    x = torch.tensor(numbers, dtype=kind)
    return f"{function(x).tolist()}, compiled {torch.compile(function)(x).tolist()}"


print("torch", torch.__version__.split("+")[0])
for kind in (torch.float16, torch.bfloat16, torch.float32):
    print(f"nextafter to 2 of 1, -7, 3 in {str(kind)[6:]}:", pair(lambda x: torch.nextafter(x, torch.full_like(x, 2.0)), [1.0, -7.0, 3.0], kind))
print("x // 0.1 of 1, 6, 7:", pair(lambda x: x // 0.1, [1.0, 6.0, 7.0]))
for length in (3, 64):
    print(f"x % 3.0 of 1e10, in {length} elements:", pair(lambda x: (x % 3.0)[:1], [1e10] * length))
print("x // 2 of inf, -inf:", pair(lambda x: x // 2, [INF, -INF]))
print("softshrink of nan, 3:", pair(torch.nn.functional.softshrink, [NAN, 3.0]))
print("hardshrink of nan, 3:", pair(torch.nn.functional.hardshrink, [NAN, 3.0]))
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='torch 2.13.0
nextafter to 2 of 1, -7, 3 in float16: [1.0009765625, -6.99609375, 2.998046875], compiled [1.0, -7.0, 3.0]
nextafter to 2 of 1, -7, 3 in bfloat16: [1.0078125, -6.96875, 2.984375], compiled [1.0, -7.0, 3.0]
nextafter to 2 of 1, -7, 3 in float32: [1.0000001192092896, -6.999999523162842, 2.999999761581421], compiled [1.0000001192092896, -6.999999523162842, 2.999999761581421]
x // 0.1 of 1, 6, 7: [9.0, 59.0, 69.0], compiled [10.0, 60.0, 70.0]
x % 3.0 of 1e10, in 3 elements: [1.0], compiled [1.0]
x % 3.0 of 1e10, in 64 elements: [1.0], compiled [0.0]
x // 2 of inf, -inf: [nan, nan], compiled [inf, -inf]
softshrink of nan, 3: [nan, 2.5], compiled [0.0, 2.5]
hardshrink of nan, 3: [nan, 3.0], compiled [nan, 3.0]'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
