"""Leaves files and folders whose names are read otherwise by terminals, shells and Python."""

import os

folder = os.fsencode(os.path.dirname(os.environ["HOME"]))
for name in (
    b"-rf",
    b"--help",
    b"\n\n",
    b"\x1b]0;title\x07\x1b[2J",
    b"\xff\xfe",
    b"%s%n",
    b"$(reboot)",
    b"a" * 255,
    "\u202eexe.py".encode(),
    b" ",
    b"...",
    b"events.json",
    b"~",
):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(name)
os.makedirs(folder + b"/" + b"/".join([b"\xf0" * 200] * 7))
