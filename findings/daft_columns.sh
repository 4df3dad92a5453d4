#!/usr/bin/env bash
# Daft: which columns a folder of Parquet files has is decided anew by each read.
# Relied on by: docs/compatibility.md
#
# Guess: files of one folder that differ in columns are united by name, or the columns are those of the first file
#   in the order of names; in any case, two reads of one folder agree.
# Seen:  daft 0.7.26 takes the columns of the file that a glob lists first, and its listing is in no order: of 200
#   reads of 64 files, of which 32 have a second column, some had one column and others two, without a warning.
#   A list of paths instead of a glob gives the first path's columns each time.
# Runs:  daft 0.7.26, pyarrow 25.0.1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check daft==0.7.26 pyarrow==25.0.1
cat > "$folder/program.py" <<'PROGRAM'
import os
import sys
from collections import Counter

import daft
import pyarrow as pa
import pyarrow.parquet as pq

root = sys.argv[1]
paths = []
for number in range(64):
    columns = {"a": [number]} if number % 2 else {"a": [number], "b": [number]}
    os.makedirs(f"{root}/run={number:02}")
    paths.append(f"{root}/run={number:02}/part.parquet")
    pq.write_table(pa.table(columns), paths[-1])
globbed = Counter(tuple(daft.read_parquet(f"{root}/**/*.parquet").schema().column_names()) for _ in range(200))
listed = Counter(tuple(daft.read_parquet(paths).schema().column_names()) for _ in range(20))
print("daft", daft.__version__, "by a glob:", dict(globbed), "by a list:", dict(listed))
raise SystemExit(0 if len(globbed) == 2 and len(listed) == 1 else "changed")
PROGRAM
"$folder/venv/bin/python" "$folder/program.py" "$folder/rows" || exit 1
