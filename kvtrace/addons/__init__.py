"""Add-ons: what few need, each in one folder that registers itself and can be deleted.

An add-on's `entry_points.txt` says what it adds, in the groups of `kvtrace/registry.py`. The core
imports no add-on and names none; an add-on may import all of the core, and no other add-on. Its
commands are modules of its folder `commands`, which alone imports the command line. Its tests are
in the folder of its name in `tests/addons/`.
"""
