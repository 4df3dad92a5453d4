"""Walls around a confined process, one kind per file.

`mounts.py` gives the process a separate root folder and namespaces, and `neighbors.py` copies the
files beside the judged file. `privileges.py` removes capabilities and limits resources;
`filters.py` refuses system calls; `landlock.py` protects files. `processes.py` measures memory and
threads, and `leftovers.py` takes over the files that the process leaves. `confining.py`, above this
folder, puts the walls up and waits for the process. docs/design.md says why they are not
bubblewrap's or nsjail's.
"""
