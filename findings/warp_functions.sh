#!/usr/bin/env bash
# Warp: acos(NaN) is pi, normalize of a NaN is 0, acos(5) is 0; a sorted tile with a NaN is not sorted; sign(0) is 1.
#
# Guess: a NaN shows in what is computed of it, acos(5) is NaN, sign(0) is 0, step(x) is 1 for x >= 0, a tile's NaN goes
#   to an end when it is sorted, and gradients are those of the values.
# Seen:  on a CPU acos and asin clamp, to -1 for a NaN; clamp(NaN, 0, 1) is 0, sign(NaN) 1; step(x) is 1 for x < 0. After
#   tile_sort numbers on both sides of the NaN are out of order. The gradient of x % y for y is 0 (-1 at 5 % 3), of |x|
#   at 0 is 1, of the length of a NaN 0. `//` of integers rounds down and their `%` does not.
# Runs:  warp-lang 1.19.0, numpy 2.4.6; a CPU.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check warp-lang==1.19.0 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
import contextlib
import io
import tempfile

import warp as wp

NAN = float("nan")
NAMES = ("acos(x)", "asin(x)", "normalize((x, y))[0]", "sign(x)", "step(x)", "clamp(x, 0, 1)", "max(x, y)", "x % y", "abs(x)", "length((x, y))")


@wp.kernel
def functions(x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32), out: wp.array2d(dtype=wp.float32)):
    i = wp.tid()
    a = x[i]
    b = y[i]
    out[0, i] = wp.acos(a)
    out[1, i] = wp.asin(a)
    out[2, i] = wp.normalize(wp.vec2(a, b))[0]
    out[3, i] = wp.sign(a)
    out[4, i] = wp.step(a)
    out[5, i] = wp.clamp(a, 0.0, 1.0)
    out[6, i] = wp.max(a, b)
    out[7, i] = a % b
    out[8, i] = wp.abs(a)
    out[9, i] = wp.length(wp.vec2(a, b))


@wp.kernel
def sort(x: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)):
    keys = wp.tile_load(x, shape=8)
    values = wp.tile_zeros(shape=8, dtype=wp.int32)
    wp.tile_sort(keys, values)
    wp.tile_store(out, keys)


@wp.kernel
def integers(x: int, out: wp.array(dtype=wp.int32)):
    out[0] = x // 2
    out[1] = x % 2


@wp.kernel
def remainder(x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    out[i] = x[i] % y[i]


@wp.kernel
def magnitude(x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    out[i] = wp.abs(x[i])


@wp.kernel
def length(x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    out[i] = wp.length(wp.vec2(x[i], y[i]))


def single(numbers, **keywords):
    return wp.array(numbers, dtype=wp.float32, device="cpu", **keywords)


def gradients(kernel, x, y):
    arrays = [single([number], requires_grad=True) for number in (x, y, 0)]
    with wp.Tape() as tape:
        wp.launch(kernel, 1, arrays[:2], outputs=arrays[2:], device="cpu")
    tape.backward(grads={arrays[2]: single([1])})
    return [array.grad.numpy().item() for array in arrays[:2]]


wp.config.quiet = True
wp.config.kernel_cache_dir = tempfile.mkdtemp()
print("warp", wp.__version__)
lines = []
with contextlib.redirect_stdout(io.StringIO()):
    x, y = [NAN, 5, 0, -7], [1, 3, 1, 2]
    out = wp.zeros((len(NAMES), 4), dtype=wp.float32, device="cpu")
    wp.launch(functions, 4, [single(x), single(y), out], device="cpu")
    lines += [f"{name}: {[round(number, 4) for number in row.tolist()]}" for name, row in zip(NAMES, out.numpy())]
    for numbers in ([0, 1, 2, 3, 4, NAN, 6, 7], [7, 6, 5, 4, NAN, 2, 1, 0]):
        result = wp.zeros(8, dtype=wp.float32, device="cpu")
        wp.launch_tiled(sort, dim=[1], inputs=[single(numbers), result], block_dim=64, device="cpu")
        lines.append(f"tile_sort of {numbers}: {result.numpy().tolist()}")
    pair = wp.zeros(2, dtype=wp.int32, device="cpu")
    wp.launch(integers, 1, [-7, pair], device="cpu")
    lines.append(f"-7 // 2, -7 % 2: {pair.numpy().tolist()}")
    for kernel, a, b in ((remainder, 5, 3), (magnitude, 0, 0), (length, NAN, 1)):
        lines.append(f"gradients of {kernel.key} at {a}, {b}: {gradients(kernel, a, b)}")
print("x =", x, "y =", y)
print("\n".join(lines))
PROGRAM
seen=$(TMPDIR=$folder "$folder/venv/bin/python" -W ignore "$folder/program.py" 2> "$folder/errors")
echo "$seen"
expected='warp 1.19.0
x = [nan, 5, 0, -7] y = [1, 3, 1, 2]
acos(x): [3.1416, 0.0, 1.5708, 3.1416]
asin(x): [-1.5708, 1.5708, 0.0, -1.5708]
normalize((x, y))[0]: [0.0, 0.8575, 0.0, -0.9615]
sign(x): [1.0, 1.0, 1.0, -1.0]
step(x): [0.0, 0.0, 0.0, 1.0]
clamp(x, 0, 1): [0.0, 1.0, 0.0, 0.0]
max(x, y): [1.0, 5.0, 1.0, 2.0]
x % y: [nan, 2.0, 0.0, -1.0]
abs(x): [nan, 5.0, 0.0, 7.0]
length((x, y)): [nan, 5.831, 1.0, 7.2801]
tile_sort of [0, 1, 2, 3, 4, nan, 6, 7]: [0.0, 1.0, 2.0, 3.0, 6.0, nan, 4.0, 7.0]
tile_sort of [7, 6, 5, 4, nan, 2, 1, 0]: [0.0, 1.0, 2.0, 4.0, nan, 5.0, 6.0, 7.0]
-7 // 2, -7 % 2: [-4, -1]
gradients of remainder at 5, 3: [1.0, 0.0]
gradients of magnitude at 0, 0: [1.0, 0.0]
gradients of length at nan, 1: [0.0, 0.0]'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
