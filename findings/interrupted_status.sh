#!/usr/bin/env bash
# CPython: a string that is executed at exit changes the status of a program ended by Ctrl-C.
# Relied on by: kvtrace/_boot.py
#
# Guess: a program that an unhandled KeyboardInterrupt ends has status 130 (death by SIGINT), whatever its
#   exit functions do.
# Seen:  with Python 3.9 to 3.13, 130 becomes 1 once an exit function executes a string: exec("pass"), a
#   namedtuple, a dataclass (also in a module that it imports first then). A code object, as attrs executes,
#   leaves 130. So a shell loop, or a scheduler, that stops at 130 goes on.
# Why:   run_eval_code_obj in pythonrun.c, which executes strings, resets the flag of the interrupt that
#   Py_RunMain reads last.
# Runs:  attrs 25.4.0 and the python3 of PATH.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check attrs==25.4.0
cat > "$folder/program.py" <<'PROGRAM'
import atexit, collections, dataclasses, sys
import attr

code = compile("pass", "<code>", "exec")
at_exit = {
    "nothing": lambda: None,
    "code object": lambda: exec(code),
    "attrs": lambda: attr.make_class("A", ["x"]),
    "string": lambda: exec("pass"),
    "namedtuple": lambda: collections.namedtuple("A", ["x"]),
    "dataclass": lambda: dataclasses.make_dataclass("A", ["x"]),
}
atexit.register(at_exit[sys.argv[1]])
raise KeyboardInterrupt
PROGRAM
seen=""
for way in nothing "code object" attrs string namedtuple dataclass; do
  status=0
  "$folder/venv/bin/python" "$folder/program.py" "$way" 2> /dev/null || status=$?
  echo "$way at exit: status $status"
  seen="$seen $status"
done
"$folder/venv/bin/python" --version
[ "$seen" = " 130 130 130 1 1 1" ] || { echo "changed:$seen"; exit 1; }
