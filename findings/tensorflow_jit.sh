#!/usr/bin/env bash
# TensorFlow: `jit_compile=True` drops NaN from reduce_max, saturates casts, and sorts NaN to the end.
#
# Guess: XLA changes last bits; what eager code does with NaN, casts and integers' means, it does, too.
# Seen:  on a CPU reduce_max is NaN in eager code and 3 compiled, maximum keeps a NaN only as its first operand, argmax
#   finds it; a cast of 300 to int8 is 44 and 127, of -1 to uint32 4294967295 and 0; the mean of two int32 of 2147483647
#   is 2147483647 and -1; a float16 sum that overflows is finite compiled. Eager sort leaves NaN where it is and eager
#   softmax has 0 beside it. floor(x / 41.0) of 41 is 0 in a tf.function that is not compiled, too.
# Runs:  tensorflow-cpu 2.21.0, numpy 2.4.6.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tensorflow-cpu==2.21.0 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

NAN, INF = float("nan"), float("inf")


def shown(name, function, *arrays):
    arrays = [tf.constant(array) for array in arrays]
    ways = {"eager": function, "tf.function": tf.function(function), "jit_compile": tf.function(function, jit_compile=True)}
    results = {way: way_of_calling(*arrays).numpy().tolist() for way, way_of_calling in ways.items()}
    print(f"{name}: " + "; ".join(f"{way} {result}" for way, result in results.items()))


print("tensorflow", tf.__version__)
shown("reduce_max of [1, NaN, 3, 2]", tf.reduce_max, [1.0, NAN, 3.0, 2.0])
shown("maximum of [NaN, 1] and [1, NaN]", tf.maximum, [NAN, 1.0], [1.0, NAN])
shown("argmax of [1, 3, 2, NaN]", tf.argmax, [1.0, 3.0, 2.0, NAN])
shown("sort of [1, NaN, 3, 2]", tf.sort, [1.0, NAN, 3.0, 2.0])
shown("softmax of [NaN, 1, 2]", tf.nn.softmax, [NAN, 1.0, 2.0])
shown("cast of [300, 40000, -1, 1e10] to int8", lambda x: tf.cast(x, tf.int8), [300.0, 40000.0, -1.0, 1e10])
shown("cast of [300, -1, NaN, 1e10] to uint32", lambda x: tf.cast(x, tf.uint32), [300.0, -1.0, NAN, 1e10])
shown("mean of int32 [2147483647, 2147483647]", tf.reduce_mean, [2147483647, 2147483647])
half = tf.constant([60000.0, 60000.0, -60000.0], tf.float16)
shown("sum of float16 [60000, 60000, -60000]", tf.reduce_sum, half)
shown("cumsum of float16 [60000, 60000, -60000]", tf.cumsum, half)
shown("floor(x / 41.0) of [41, 82, 123]", lambda x: tf.floor(x / 41.0), [41.0, 82.0, 123.0])
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py" 2>"$folder/messages")
echo "$seen"
expected='tensorflow 2.21.0
reduce_max of [1, NaN, 3, 2]: eager nan; tf.function nan; jit_compile 3.0
maximum of [NaN, 1] and [1, NaN]: eager [nan, nan]; tf.function [nan, nan]; jit_compile [nan, 1.0]
argmax of [1, 3, 2, NaN]: eager 1; tf.function 1; jit_compile 3
sort of [1, NaN, 3, 2]: eager [1.0, nan, 2.0, 3.0]; tf.function [1.0, nan, 2.0, 3.0]; jit_compile [1.0, 2.0, 3.0, nan]
softmax of [NaN, 1, 2]: eager [nan, 0.0, 0.0]; tf.function [nan, 0.0, 0.0]; jit_compile [nan, nan, nan]
cast of [300, 40000, -1, 1e10] to int8: eager [44, 64, -1, 0]; tf.function [44, 64, -1, 0]; jit_compile [127, 127, -1, 127]
cast of [300, -1, NaN, 1e10] to uint32: eager [300, 4294967295, 0, 1410065408]; tf.function [300, 4294967295, 0, 1410065408]; jit_compile [300, 0, 0, 4294967295]
mean of int32 [2147483647, 2147483647]: eager 2147483647; tf.function 2147483647; jit_compile -1
sum of float16 [60000, 60000, -60000]: eager inf; tf.function inf; jit_compile 60000.0
cumsum of float16 [60000, 60000, -60000]: eager [60000.0, inf, inf]; tf.function [60000.0, inf, inf]; jit_compile [60000.0, inf, 60000.0]
floor(x / 41.0) of [41, 82, 123]: eager [1.0, 2.0, 3.0]; tf.function [0.0, 1.0, 3.0]; jit_compile [0.0, 1.0, 3.0]'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
