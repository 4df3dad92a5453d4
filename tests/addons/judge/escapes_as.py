"""Runs `tests/addons/judge/escapes` confined, as a user and on a system that are asked for.

    python escapes_as.py FOLDER USER NAMESPACES [UNCONFINED] NAME…

USER is a number; NAMESPACES is `all`, `none-of-users` where making one of users is refused, as in
most containers, or `no-landlock` where the kernel has no Landlock. It prints a JSON object: what
became of each escape by its name. FOLDER holds `socket` and `precious`, which no escape may reach.
Another user than root gets a root folder in which this Python can be read.
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
SECONDS, MEMORY_MB = 3, 160


def become(user: int, host: Path) -> None:
    """Execute this program once more as another user, who can read it."""
    own = Path(tempfile.mkdtemp())
    system_calls.unshare(NEW_MOUNTS)
    mounts.change_root(own, [ROOT, host], 1 << 30)
    system_calls.mount("proc", "/proc", "proc", 0)
    os.chown(own, user, user)
    os.environ["TMPDIR"] = str(own)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    os.execv(sys.executable, [sys.executable, str(Path(__file__).resolve()), *sys.argv[1:]])


def refuse_namespaces_of_users() -> None:
    """Let nothing here make a namespace of users from now on, as an administrator does."""
    if os.geteuid() != 0:
        system_calls.prctl(38, 1)  # no new privileges
    filters.install(
        [
            filters.RefusedCall(call, errno.EPERM, argument=0, mask=NEW_USER, equal=NEW_USER)
            for call in ("unshare", "clone")
        ]
    )


def ended(name: str, scratch: Path, host: Path, *, unconfined: bool) -> dict[str, object]:
    """Return what became of an escape."""
    program = scratch / f"{name}.py"
    text = (ESCAPES / program.name).read_text(encoding="utf-8")
    program.write_text(text.replace("@HOST@", str(host)), encoding="utf-8")
    folder = scratch / name
    work = partial(
        run_confined, partial(runpy.run_path, str(program)), folder, seconds=SECONDS,
        memory_mb=MEMORY_MB, code=[program], unconfined=unconfined,
    )  # fmt: skip
    with helper_process() as other:
        other.ask(work)
        try:
            told = asdict(other.answer())
        except CannotConfine as error:
            return {"refused": str(error)}
        children = Path(f"/proc/{other.pid}/task/{other.pid}/children").read_text(encoding="ascii")
    left = {str(each.relative_to(folder)) for each in folder.rglob("*") if not each.is_dir()}
    odd = [each for each in left if not (folder / each).is_file() or (folder / each).is_symlink()]
    return told | {"left": sorted(left), "odd": odd, "children": children}


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
    told = {
        name: ended(name, scratch, Path(host), unconfined=unconfined)
        for name in names
        if name != "UNCONFINED"
    }
    leftovers.remove(scratch)
    print(json.dumps(told))


main()
