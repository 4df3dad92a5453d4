"""Programs that try to leave their room: as root and as another user, with namespaces or without.

`escapes_as.py` runs all of `escapes/` in a process of its own, which becomes that user.
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

from tests.addons.judge.labelled import FOLDER

PROGRAM = Path(__file__).with_name("escapes_as.py")
ESCAPES = sorted(path.stem for path in (FOLDER / "escapes").glob("*.py"))
ROOT, NOBODY = 0, 65534
#: Escapes that do not come to their end, how they end, and what they are ended for.
ENDED = {
    "takes_memory_and_disk": ("broken", "took more memory together than they may"),
    "keeps_anonymous_files": ("broken", ""),  # its folder is full, or that and its memory are
    "keeps_segments": ("broken", "took more memory together than they may"),
    "takes_memory_in_four": ("broken", ""),
    "fills_the_disk": ("broken", ""),  # by the bound of its folder, or of that and its memory
    "calls_as_32_bits": ("broken", ""),
    "starts_threads": ("broken", "more than 256 threads"),
    "floods_events": ("broken", "more than 256 MiB of events"),
    "leaves_sparse_files": ("broken", "larger files than it may take memory"),
    "leaves_no_rights": ("whole", ""),
    "forks_without_end": ("late", ""),
    "floods_output": ("late", ""),
    "loops_without_end": ("late", ""),
}
SYSTEMS = [(ROOT, "all"), (ROOT, "none-of-users"), (ROOT, "no-landlock"), (NOBODY, "all")]
SECRET = "a-line-of-the-host"
MOST_MIB = 1.2 * 160  # what `escapes_as.py` grants, with what the kernel needs besides


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """Return a folder with a socket that answers and a file, which escapes must not reach.

    Another socket has the folder's path as a name that is in no folder.
    """
    folder = tmp_path_factory.mktemp("host")
    (folder / "precious").write_text(SECRET)
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as abstract:
        for each, name in ((listening, str(folder / "socket")), (abstract, f"\0{folder}")):
            each.bind(name)
            each.listen()
        for path in (folder, *folder.iterdir()):
            path.chmod(0o777)
        yield folder


@pytest.fixture(scope="module")
def escaping(host):
    """Return a function that runs escapes as a user, once for all tests."""

    @cache
    def run(user, namespaces, *names):
        if user != os.geteuid() and os.geteuid() != ROOT:
            pytest.skip("only root can become another user")
        done = subprocess.run(
            [sys.executable, PROGRAM, host, str(user), namespaces, *(names or ESCAPES)],
            env=os.environ | {"HF_TOKEN": "the-secret"}, capture_output=True, text=True,
            timeout=200,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.process
@pytest.mark.parametrize("name", ESCAPES)
@pytest.mark.parametrize(("user", "namespaces"), SYSTEMS)
def test_nothing_gets_out(escaping, host, user, namespaces, name):
    found = escaping(user, namespaces)[name]
    if "refused" in found:
        pytest.skip(f"this system cannot confine user {user}: {found['refused']}")

    assert found["confined"]
    assert "ESCAPED" not in found["said"], found["said"]
    assert SECRET not in str(found)
    how, reason = ENDED.get(name, ("whole", ""))
    assert found["how"] == how, found
    assert reason in found["reason"]
    assert found["seconds"] < 10
    assert max(map(int, re.findall(r"HOLDS (\d+)", found["said"])), default=0) <= MOST_MIB
    assert found["children"] == ""
    assert (host / "precious").read_text() == SECRET
    assert sorted(path.name for path in host.iterdir()) == ["precious", "socket"]


@pytest.mark.process
@pytest.mark.parametrize("name", ["replaces_files_by_pipes", "replaces_files_by_links"])
def test_only_regular_files_are_taken_over(escaping, name):
    found = escaping(os.geteuid(), "all")[name]
    assert (found["left"], found["odd"]) == (["events"], [])


def test_files_are_taken_over_up_to_the_bound(escaping):
    found = escaping(os.geteuid(), "all")["fills_the_disk"]
    assert {"file0", "file2"} <= set(found["left"])
    assert "file9" not in found["left"]


@pytest.mark.process
def test_where_it_cannot_be_confined_it_is_refused(escaping):
    found = escaping(NOBODY, "none-of-users", "lists_processes")["lists_processes"]
    assert "does not let kvtrace confine" in found["refused"]
    assert "--unconfined" in found["refused"]


@pytest.mark.process
def test_unless_it_is_asked_for_and_then_that_is_said(escaping):
    found = escaping(NOBODY, "none-of-users", "UNCONFINED", "nests_folders", "reads_secrets")

    nested, read = found["nests_folders"], found["reads_secrets"]
    assert (nested["how"], nested["confined"], nested["left"]) == ("whole", False, ["events"])
    assert (read["how"], read["confined"]) == ("whole", False)


@pytest.mark.process
def test_what_can_be_confined_is_confined_also_then(escaping):
    found = escaping(os.geteuid(), "all", "UNCONFINED", "lists_processes")["lists_processes"]
    assert found["confined"]
