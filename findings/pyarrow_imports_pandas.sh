#!/usr/bin/env bash
# pyarrow: making an array from a list imports pandas where that is installed.
# Relied on by: schema/arrays.py
#
# Guess: pyarrow needs pandas for to_pandas() and from_pandas() alone; a program that never mentions pandas
#   does not load it.
# Seen:  pyarrow.array([1]) imports pandas, about 1,000 modules, if it is installed, and so does
#   pyarrow.parquet.read_table; ParquetFile(...).read() does not. With sys.modules["pandas"] = None, which
#   makes an import fail, pyarrow.array raises AttributeError; with a finder that raises
#   ModuleNotFoundError it works.
# Runs:  pyarrow 26.0.1, pandas 2.3.3, NumPy 2.3.5.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==26.0.1 pandas==2.3.3 numpy==2.3.5
cat > "$folder/program.py" <<'PROGRAM'
import sys
import pyarrow, pyarrow.parquet

case = sys.argv[1]

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name)

if case == "none":
    sys.modules["pandas"] = None
if case == "finder":
    sys.meta_path.insert(0, Refusing())
if case == "read":
    pyarrow.parquet.read_table(sys.argv[2])
elif case == "file":
    pyarrow.parquet.ParquetFile(sys.argv[2]).read()
else:
    try:
        array = pyarrow.array([1])
    except Exception as error:
        print(case, type(error).__name__)
        sys.exit()
if case == "write":
    pyarrow.parquet.write_table(pyarrow.table({"x": array}), sys.argv[2])
print(case, "pandas" if sys.modules.get("pandas") else "no pandas")
PROGRAM
seen=$(for case in array write read file none finder; do "$folder/venv/bin/python" "$folder/program.py" $case "$folder/x.parquet"; done)
echo "$seen"
expected="array pandas
write pandas
read pandas
file no pandas
none AttributeError
finder no pandas"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
