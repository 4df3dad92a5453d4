"""Programs that try to escape: as root and as another user, with namespaces or without.

`escapes_as.py` runs all of `escapes/` in a separate process, which becomes the user.
"""

import json
import os
import re
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.addons.judge.labeled import FOLDER

PROGRAM = Path(__file__).with_name("escapes_as.py")
ESCAPES = sorted(path.stem for path in (FOLDER / "escapes").glob("*.py"))
ROOT, NOBODY = 0, 65534
#: Escapes that do not complete: how they end, and the bound that they exceed.
ENDED = {
    "takes_memory_and_disk": ("broken", "exceeded the memory limit, together with its files"),
    "keeps_anonymous_files": ("broken", ""),  # bound of the folder, or of folder and memory
    "keeps_segments": ("whole broken", ""),  # its memory is seen in time, or the folder is full
    "takes_memory_in_four": ("broken", ""),
    "fills_the_disk": ("broken", ""),  # bound of the folder, or of folder and memory
    "calls_as_32_bits": ("broken", ""),
    "starts_threads": ("broken", "more than 256 threads"),
    "floods_events": ("broken", "more than 256 MiB of events"),
    "leaves_sparse_files": ("broken", "the files that it left exceed its memory limit"),
    "leaves_no_rights": ("whole", ""),
    "forks_without_end": ("late", ""),
    "floods_output": ("late", ""),
    "loops_without_end": ("late", ""),
}
REACHING = [name for name in ESCAPES if name not in ENDED]
SYSTEMS = [(ROOT, "all"), (ROOT, "none-of-users"), (ROOT, "no-landlock"), (NOBODY, "all")]
NIGHT = pytest.mark.night("bounds of time, memory and disk; by day with all namespaces")
CALLS = pytest.mark.night("all calls of sockets, 8 s; at each push as root with all namespaces")


def marks(system, name):
    if name == "calls_a_socket" and system != SYSTEMS[0]:
        return [CALLS]
    return [NIGHT] * (name in ENDED and system[1] != "all")


CASES = [
    pytest.param(user, namespaces, name, marks=marks((user, namespaces), name))
    for user, namespaces in SYSTEMS
    for name in ESCAPES
]
SECRET = "a-line-of-the-host"
MOST_MIB = 1.2 * 160  # the limit of `escapes_as.py`, and memory that the kernel needs besides


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """Yield a folder with a listening socket and a file, which escapes must not reach.

    A second socket has the folder's path as its abstract name.
    """
    folder = tmp_path_factory.mktemp("host")
    (folder / "precious").write_text(SECRET)
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as abstract:
        for bound, name in ((listening, str(folder / "socket")), (abstract, f"\0{folder}")):
            bound.bind(name)
            bound.listen()
        for path in (folder, *folder.iterdir()):
            path.chmod(0o777)
        yield folder


@pytest.fixture(scope="module")
def escaping(host):
    """Return a function that runs escapes as a user, and caches the results."""

    @cache
    def run(user, namespaces, *names):
        if user != os.geteuid() and os.geteuid() != ROOT:
            pytest.skip("only root can become another user")
        done = subprocess.run(
            [sys.executable, PROGRAM, host, str(user), namespaces, *names],
            env=os.environ | {"HF_TOKEN": "the-secret"}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def alike(name):
    """Return the escapes that run in one program with an escape: those that end, or do not."""
    return tuple(ENDED) if name in ENDED else tuple(REACHING)


@pytest.mark.process
@pytest.mark.parametrize(("user", "namespaces", "name"), CASES)
def test_no_escape_reaches_the_host(escaping, host, user, namespaces, name):
    result = escaping(user, namespaces, *alike(name))[name]
    if "refused" in result:
        pytest.skip(f"this system cannot confine user {user}: {result['refused']}")

    assert result["confined"]
    assert "ESCAPED" not in result["output"], result["output"]
    assert SECRET not in str(result)
    how, reason = ENDED.get(name, ("whole", ""))
    assert result["how"] in how.split(), result
    assert reason in result["reason"]
    assert max(map(int, re.findall(r"HOLDS (\d+)", result["output"])), default=0) <= MOST_MIB
    assert result["children"] == ""
    assert (host / "precious").read_text() == SECRET
    assert sorted(path.name for path in host.iterdir()) == ["precious", "socket"]


@pytest.mark.process
@pytest.mark.parametrize("name", ["replaces_files_by_pipes", "replaces_files_by_links"])
def test_only_regular_left_files_are_copied(escaping, name):
    result = escaping(os.geteuid(), "all", *alike(name))[name]
    assert (result["left"], result["odd"]) == (["events"], [])


def test_files_are_copied_up_to_the_size_limit(escaping):
    result = escaping(os.geteuid(), "all", *ENDED)["fills_the_disk"]
    assert {"file0", "file2"} <= set(result["left"])
    assert "file9" not in result["left"]


@pytest.mark.process
def test_run_is_refused_on_a_system_that_cannot_confine(escaping):
    result = escaping(NOBODY, "none-of-users", "lists_processes")["lists_processes"]
    assert "does not let kvtrace confine" in result["refused"]
    assert "--unconfined" in result["refused"]


@pytest.mark.process
def test_unconfined_run_is_allowed_on_request_and_reported(escaping):
    results = escaping(NOBODY, "none-of-users", "UNCONFINED", "nests_folders", "reads_secrets")

    nested, reading = results["nests_folders"], results["reads_secrets"]
    assert (nested["how"], nested["confined"], nested["left"]) == ("whole", False, ["events"])
    assert (reading["how"], reading["confined"]) == ("whole", False)


@pytest.mark.process
def test_unconfined_option_still_confines_where_possible(escaping):
    result = escaping(os.geteuid(), "all", "UNCONFINED", "lists_processes")["lists_processes"]
    assert result["confined"]
