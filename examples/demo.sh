#!/usr/bin/env bash
# What `make demo` runs: every step of the README, in order, into one folder.
# Needs `kvtrace` and `python` of the environment first on PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-demo-out}
rm -rf "$out"
mkdir -p "$out"

# An empty cache of compiled kernels, so that compile times are seen.
TRITON_CACHE_DIR=$(mktemp -d)
export TRITON_CACHE_DIR
trap 'rm -rf "$TRITON_CACHE_DIR"' EXIT

step() { printf '\n=== %s\n' "$*"; }

step "1. train a small transformer with capture on: KVTRACE=$out/train python examples/train.py"
KVTRACE="$out/train" python examples/train.py

step "2. what was recorded: kvtrace info"
kvtrace info "$out/train"

step "3. every operation of every unique call, from the trace: kvtrace profile"
kvtrace profile "$out/train" --replay

step "4. is any access out of bounds? kvtrace sanitize, first on the training run"
kvtrace sanitize "$out/train"

step "5. then on a program with a missing mask, which itself runs without complaint"
KVTRACE="$out/out_of_bounds" python examples/out_of_bounds.py
found=0
kvtrace sanitize "$out/out_of_bounds" || found=$?
if [[ $found != 1 ]]; then
  echo "demo: kvtrace sanitize should have found the defect (exit code 1), but ended with $found." >&2
  exit 1
fi

step "6. files for other tools and for reading: kvtrace convert perfetto, chrome; kvtrace report"
kvtrace convert perfetto "$out/train" -o "$out/train.perfetto-trace"
kvtrace convert chrome "$out/train" -o "$out/train.chrome.json"
kvtrace report "$out/train" -o "$out/report.html"

step "7. two versions of one kernel: kvtrace diff"
KVTRACE="$out/v1" python examples/matmul_v1.py
KVTRACE="$out/v2" python examples/matmul_v2.py
different=0
kvtrace diff --replay "$out/v1" "$out/v2" || different=$?
if [[ $different != 1 ]]; then
  echo "demo: kvtrace diff should have found other results (exit code 1), but ended with $different." >&2
  exit 1
fi

step "made in $out"
(cd "$out" && du -sh -- *)
