#!/usr/bin/env bash
# CPython: a cache keyed by code objects takes a function of one file for that of another.
# Relied on by: kvtrace/addons/graphs/hlo/errors.py
#
# Guess: a code object is equal only to itself, or at least only to one of the same file, since it has
#   co_filename; so (frame.f_code, frame.f_lasti) identifies a place in a program.
# Seen:  code objects compare name, first line, bytecode, constants and line table, and no file name: two
#   copies of a module (two versions side by side, a vendored package) have equal functions with equal
#   hashes, and a cache keyed by the code gives the first one's file for both. So do functools.lru_cache and
#   cachetools' decorator; a key of id(code) with the code kept alive tells them apart.
# Runs:  cachetools 6.2.1 and the python3 of PATH (the same with CPython 3.9 to 3.13).
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check cachetools==6.2.1
mkdir "$folder/v1" "$folder/v2"
printf 'import sys\n\ndef place():\n    return sys._getframe()\n' | tee "$folder/v1/model.py" > "$folder/v2/model.py"
cat > "$folder/program.py" <<'PROGRAM'
import functools, importlib.util, platform, sys
import cachetools

def module(version):
    spec = importlib.util.spec_from_file_location(f"model_{version}", f"{sys.argv[1]}/{version}/model.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded

def file_of(code, instruction):
    return code.co_filename.split("/")[-2]

frames = [module(version).place() for version in ("v1", "v2")]
one, other = (frame.f_code for frame in frames)
print("equal:", one == other, "equal hashes:", hash(one) == hash(other), "files:", one.co_filename != other.co_filename)
for name, cached in (
    ("functools", functools.lru_cache(None)(file_of)),
    ("cachetools", cachetools.cached({})(file_of)),
):
    print(name, [cached(frame.f_code, frame.f_lasti) for frame in frames])
print("CPython", platform.python_version(), "cachetools", cachetools.__version__, file=sys.stderr)
PROGRAM
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder")
echo "$seen"
expected="equal: True equal hashes: True files: True
functools ['v1', 'v1']
cachetools ['v1', 'v1']"
[ "$seen" = "$expected" ] || { echo changed; exit 1; }
