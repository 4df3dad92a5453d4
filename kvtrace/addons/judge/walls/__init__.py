"""Walls: measures that confine a process, one kind per file.

`mounts.py` gives the process a separate root folder and namespaces, and `neighbors.py` copies the
files of the judged file's folder. `privileges.py` removes capabilities and limits resources;
`filters.py` refuses system calls; `landlock.py` protects files. `processes.py` measures memory and
threads, and `leftovers.py` copies the files that the process leaves. `confining.py`, in the parent
folder, puts the walls up and waits for the process. docs/design.md says why they are not
bubblewrap's or nsjail's.
"""
