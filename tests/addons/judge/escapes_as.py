"""Program that runs the files of `escapes/` confined, as a chosen user on a chosen system.

    python escapes_as.py FOLDER USER NAMESPACES [UNCONFINED] NAME…

USER is a number; NAMESPACES is `all`, `none-of-users` if a namespace of users is refused, as in
most containers, or `no-landlock` if the kernel has no Landlock. The program prints a JSON object:
the result of each escape by name. FOLDER holds `socket` and `precious`, which no escape may reach.
A user other than root gets a root folder in which this Python can be read.
"""

import errno
import json
import os
import runpy
import sys
import tempfile
from dataclasses import asdict
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from kvtrace.addons.judge.beside import helper_process  # noqa: E402
from kvtrace.addons.judge.confining import CannotConfine, run_confined  # noqa: E402
from kvtrace.addons.judge.walls import filters, leftovers, mounts, system_calls  # noqa: E402

ESCAPES = Path(__file__).with_name("escapes")
NEW_MOUNTS, NEW_USER = 0x00020000, 0x10000000
#: Programs without an end, and the seconds after which they are ended; others end by themselves.
ENDLESS = ("forks_without_end", "floods_output", "loops_without_end")
SECONDS, MANY_SECONDS, MEMORY_MB = 3, 250, 160


def become(user: int, host: Path) -> None:
    """Execute this program again as another user, with a root folder that the user can read."""
    root = Path(tempfile.mkdtemp())
    system_calls.unshare(NEW_MOUNTS)
    mounts.change_root(root, [ROOT, host], 1 << 30)
    system_calls.mount("proc", "/proc", "proc", 0)
    os.chown(root, user, user)
    os.environ["TMPDIR"] = str(root)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    os.execv(sys.executable, [sys.executable, str(Path(__file__).resolve()), *sys.argv[1:]])


def refuse_namespaces_of_users() -> None:
    """Refuse new namespaces of users from now on, as administrators may do."""
    if os.geteuid() != 0:
        system_calls.prctl(38, 1)  # no new privileges
    filters.install(
        [
            filters.RefusedCall(call, errno.EPERM, argument=0, mask=NEW_USER, equal=NEW_USER)
            for call in ("unshare", "clone")
        ]
    )


def result_of(name: str, scratch: Path, host: Path, *, unconfined: bool) -> dict[str, object]:
    """Return the result of an escape as a JSON object."""
    program = scratch / f"{name}.py"
    text = (ESCAPES / program.name).read_text(encoding="utf-8")
    program.write_text(text.replace("@HOST@", str(host)), encoding="utf-8")
    folder = scratch / name
    work = partial(
        run_confined, partial(runpy.run_path, str(program)), folder,
        seconds=SECONDS if name in ENDLESS else MANY_SECONDS, memory_mb=MEMORY_MB, code=[program],
        unconfined=unconfined,
    )  # fmt: skip
    with helper_process() as helper:
        helper.ask(work)
        try:
            result = asdict(helper.answer())
        except CannotConfine as error:
            return {"refused": str(error)}
        children = Path(f"/proc/{helper.pid}/task/{helper.pid}/children").read_text(
            encoding="ascii"
        )
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
    odd_files = [
        name for name in files if not (folder / name).is_file() or (folder / name).is_symlink()
    ]
    return result | {"left": sorted(files), "odd": odd_files, "children": children}


def main() -> None:
    host, user, namespaces, *names = sys.argv[1:]
    unconfined = "UNCONFINED" in names
    if os.geteuid() != int(user):
        become(int(user), Path(host))
    if namespaces == "none-of-users":
        refuse_namespaces_of_users()
    if namespaces == "no-landlock":
        system_calls.prctl(38, 1)  # no new privileges
        filters.install([filters.RefusedCall("landlock_create_ruleset", errno.ENOSYS)])
    scratch = Path(tempfile.mkdtemp())
    results = {
        name: result_of(name, scratch, Path(host), unconfined=unconfined)
        for name in names
        if name != "UNCONFINED"
    }
    leftovers.remove(scratch)
    print(json.dumps(results))


main()
