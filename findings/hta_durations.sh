#!/usr/bin/env bash
# HTA: a kernel of half a microsecond lasts -1 us, and one of 5.5 us 4.
# Relied on by: docs/join.md
#
# Guess: Kineto's times, which have three decimals, are kept, or rounded to the nearest microsecond.
# Seen:  starts are rounded up and ends down, so that each event loses up to 2 us, and one within a microsecond has a
#   negative duration, which breakdowns, percentages and idle times add up: of 11.1 us of kernels 7 are left. Decode
#   steps of many small kernels lose most.
# Runs:  HolisticTraceAnalysis 0.5.0, pandas 2.3.3, numpy 2.4.6.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check HolisticTraceAnalysis==0.5.0 pandas==2.3.3 numpy==2.4.6
cat > "$folder/program.py" <<'PROGRAM'
import json
import logging
import tempfile
from importlib.metadata import version

logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis

# The starts and durations of five kernels in microseconds, as Kineto writes them.
KERNELS = [(1010.100, 0.500), (1020.100, 1.900), (1030.000, 0.999), (1040.900, 2.200), (1050.250, 5.500)]
step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1}
events = [step | {"ts": 1000.0, "dur": 100.0}]
for number, (start, duration) in enumerate(KERNELS, 1):
    launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1}
    kernel = {"ph": "X", "cat": "kernel", "name": f"kernel{number}", "pid": 0, "tid": 7, "ts": start, "dur": duration}
    events += [launch | {"ts": start - 3, "dur": 1.5, "args": {"correlation": number}}]
    events += [kernel | {"args": {"correlation": number, "stream": 7, "device": 0}}]
trace = {"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": events}

print("HolisticTraceAnalysis", version("HolisticTraceAnalysis"))
with tempfile.TemporaryDirectory() as folder:
    with open(f"{folder}/rank0.json", "w") as file:
        json.dump(trace, file)
    analysis = TraceAnalysis(trace_files={0: f"{folder}/rank0.json"})
    kinds, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
    times = dict(zip(kernels["name"], kernels["sum (us)"]))
    for number, (_, duration) in enumerate(KERNELS, 1):
        print(f"kernel{number}: {duration} us in the trace, {times[f'kernel{number}']} us in the breakdown")
    total = sum(duration for _, duration in KERNELS)
    print(f"all: {total:.3f} us in the trace, {kinds['sum'].sum()} us in the breakdown")
PROGRAM
seen=$("$folder/venv/bin/python" -W ignore "$folder/program.py")
echo "$seen"
expected='HolisticTraceAnalysis 0.5.0
kernel1: 0.5 us in the trace, -1 us in the breakdown
kernel2: 1.9 us in the trace, 1 us in the breakdown
kernel3: 0.999 us in the trace, 0 us in the breakdown
kernel4: 2.2 us in the trace, 2 us in the breakdown
kernel5: 5.5 us in the trace, 4 us in the breakdown
all: 11.099 us in the trace, 7 us in the breakdown'
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
