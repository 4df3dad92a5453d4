"""Looks for a file of the host in all folders that there are, and above them."""

import os
from pathlib import Path

for start in ("/", "/..", "../../../../../..", "@HOST@", "@HOST@/..", "/usr/../.."):
    for folder, folders, files in os.walk(start):
        folders[:] = [each for each in folders if each not in ("usr", "lib", "site-packages")]
        if "precious" in files:
            print("ESCAPED:", (Path(folder) / "precious").read_text())
for missing in (
    "/root",
    "/home",
    "/run",
    "/var",
    "/boot",
    "/sys",
    "/mnt",
    "/etc/shadow",
    "/etc/hosts",
):
    if Path(missing).is_file() or (Path(missing).is_dir() and missing not in str(Path.cwd())):
        print("there is", missing, [*Path(missing).iterdir()][:3])
try:
    os.chdir("@HOST@")
except OSError as error:
    print(f"kept out: {error!r}")
else:
    print("ESCAPED: inside", *os.listdir())
