#!/usr/bin/env bash
# Quadrants and Taichi: after `init`, NumPy and Python compute without subnormal numbers, too.
#
# Guess: kernels may flush subnormal numbers to zero; what the program computes elsewhere stays as it was.
# Seen:  `init(arch=cpu)` sets the processor's mode for the calling thread, and threads that it starts inherit it: a
#   float32 1e-40 is equal to 0 in NumPy, a float64 1e-310 times 2 is 0 and `json.loads("1e-310")` is 0.0. `reset()` does
#   not set the mode back. So NumPy beside a kernel does not show what the kernel flushes.
# Runs:  quadrants 1.3.3, taichi 1.7.4, numpy 2.4.6; a CPU (x86-64).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check quadrants==1.3.3 taichi==1.7.4 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
import importlib
import json
import sys
import threading
from importlib.metadata import version

import numpy as np


def report(when):
    single = np.array([1e-40], np.float32)
    double = [1e-310]
    loaded = json.loads("[1e-310]")[0]
    print(f"  {when}: 1e-40 == 0 {(single == 0).item()}, 1e-310 * 2 {double[0] * 2}, sum {sum(double)}, json {loaded}", flush=True)


library = importlib.import_module(sys.argv[1])
print(library.__name__, version(library.__name__))
report("imported")
library.init(arch=library.cpu, log_level=library.ERROR)
report("after init")
thread = threading.Thread(target=report, args=("in a thread",))
thread.start()
thread.join()
library.reset()
report("after reset")
PROGRAM
seen=$(for library in quadrants taichi; do
  HOME=$folder "$folder/venv/bin/python" -W ignore "$folder/program.py" "$library" | grep -v '^\['
done)
echo "$seen"
expected='quadrants 1.3.3
  imported: 1e-40 == 0 False, 1e-310 * 2 2e-310, sum 1e-310, json 1e-310
  after init: 1e-40 == 0 True, 1e-310 * 2 0.0, sum 0.0, json 0.0
  in a thread: 1e-40 == 0 True, 1e-310 * 2 0.0, sum 0.0, json 0.0
  after reset: 1e-40 == 0 True, 1e-310 * 2 0.0, sum 0.0, json 0.0
taichi 1.7.4
  imported: 1e-40 == 0 False, 1e-310 * 2 2e-310, sum 1e-310, json 1e-310
  after init: 1e-40 == 0 True, 1e-310 * 2 0.0, sum 0.0, json 0.0
  in a thread: 1e-40 == 0 True, 1e-310 * 2 0.0, sum 0.0, json 0.0
  after reset: 1e-40 == 0 True, 1e-310 * 2 0.0, sum 0.0, json 0.0'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
