#!/usr/bin/env bash
# What `make demo` runs: every step of the README, in order, into one folder.
# Needs `kvtrace` and `python` of the environment first on PATH.
set -euo pipefail

out=${1:-demo-out}
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$out"
mkdir -p "$out"
# An empty cache of compiled kernels, so that compile times are seen.
TRITON_CACHE_DIR=$(mktemp -d)
export TRITON_CACHE_DIR
trap 'rm -rf "$TRITON_CACHE_DIR"' EXIT

step() { printf '\n=== %s\n' "$*"; }

step "1. train a small transformer with capture on: KVTRACE=$out/train python examples/train.py"
KVTRACE="$out/train" python "$here/train.py"

step "2. what was recorded: kvtrace info"
kvtrace info "$out/train"

step "3. look at every operation of every distinct call: kvtrace replay, kvtrace profile"
kvtrace replay "$out/train"
kvtrace profile "$out/train"

step "4. files for other tools and for reading: kvtrace convert perfetto, chrome; kvtrace report"
kvtrace convert perfetto "$out/train" -o "$out/train.perfetto-trace"
kvtrace convert chrome "$out/train" -o "$out/train.chrome.json"
kvtrace report "$out/train" -o "$out/report.html"

step "5. a program with a missing mask, which runs without complaint: kvtrace sanitize names the line"
KVTRACE="$out/out_of_bounds" python "$here/out_of_bounds.py"
found=0
kvtrace sanitize "$out/out_of_bounds" || found=$?
if [[ $found != 1 ]]; then
  echo "demo: kvtrace sanitize should have found the defect (exit code 1), but ended with $found." >&2
  exit 1
fi

step "6. two versions of one kernel: kvtrace diff"
KVTRACE="$out/v1" python "$here/matmul_v1.py"
KVTRACE="$out/v2" python "$here/matmul_v2.py"
kvtrace replay "$out/v1"
kvtrace replay "$out/v2"
kvtrace diff "$out/v1" "$out/v2"

step "made in $out"
(cd "$out" && du -sh -- *)
