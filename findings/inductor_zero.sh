#!/usr/bin/env bash
# torch.compile: NaN * 0 is 0, and NaN * 0.0 is NaN; 0 / NaN is 0.
#
# Guess: compiled code keeps NaN and infinity as eager code does; 0 and 0.0 beside a tensor of floats are one number.
# Seen:  a product with the Python integer 0, or False, is replaced by zeros, also where the 0 is computed of a shape, and so
#   is the quotient 0 / x; with 0.0, or a tensor of zeros, both are as in eager code. So `loss + 0 * x.sum()`, which
#   keeps a parameter in the graph, hides its NaN once compiled, and `(x * 0).isnan()` is never true.
#   On an H200 (torch 2.11) x * 0 and 0 / x are the same.
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


def pair(function, numbers):
    torch._dynamo.reset()
    x = torch.tensor(numbers)
    return f"{function(x).tolist()}, compiled {torch.compile(function)(x).tolist()}"


print("torch", torch.__version__.split("+")[0])
numbers = [NAN, INF, -3.0, 5.0]
print("x * 0:", pair(lambda x: x * 0, numbers))
print("x * 0.0:", pair(lambda x: x * 0.0, numbers))
print("x * False:", pair(lambda x: x * False, numbers))
print("x * zeros_like(x):", pair(lambda x: x * torch.zeros_like(x), numbers))
print("x * (x.shape[0] - 4):", pair(lambda x: x * (x.shape[0] - 4), numbers))
print("5 + 0 * x.sum():", pair(lambda x: 5 + 0 * x.sum(), numbers))
print("0 / x:", pair(lambda x: 0 / x, [NAN, 0.0, 2.0]))
print("0.0 / x:", pair(lambda x: 0.0 / x, [NAN, 0.0, 2.0]))
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='torch 2.13.0
x * 0: [nan, nan, -0.0, 0.0], compiled [0.0, 0.0, 0.0, 0.0]
x * 0.0: [nan, nan, -0.0, 0.0], compiled [nan, nan, -0.0, 0.0]
x * False: [nan, nan, -0.0, 0.0], compiled [0.0, 0.0, 0.0, 0.0]
x * zeros_like(x): [nan, nan, -0.0, 0.0], compiled [nan, nan, -0.0, 0.0]
x * (x.shape[0] - 4): [nan, nan, -0.0, 0.0], compiled [0.0, 0.0, 0.0, 0.0]
5 + 0 * x.sum(): nan, compiled 5.0
0 / x: [nan, nan, 0.0], compiled [0.0, 0.0, 0.0]
0.0 / x: [nan, nan, 0.0], compiled [nan, nan, 0.0]'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
