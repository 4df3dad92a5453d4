"""Runs of attempts to leave the confinement, and measurements of leaks, memory and time.

The judge runs with `--seconds 20 --memory 512`. Escaped is what brings out bytes of a secret, sends
a packet, leaves a process, or gets a wrong kernel called right; what takes 1.2 times the memory, or
10 s more than the seconds, besides what an honest file takes on the same machine.
"""

import contextlib
import ctypes
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from textwrap import indent

from benchmarks.attacks.case import Answer, Case
from benchmarks.attacks.confinement.attempts import (
    FILES,
    FORGES,
    PROCESSES,
    READS,
    SENDS,
    TAKES,
)
from benchmarks.attacks.strangers.cheats import PRELUDE

ROOT = Path(__file__).parents[3]
SECONDS, MEMORY = 20, 512
MORE_SECONDS, SHARE_OF_MEMORY = 10, 1.2


@dataclass
class Host:
    """A host with a secret in many places, and servers that notice connections and packets."""

    folder: Path
    token: str = field(default_factory=lambda: "kv" + secrets.token_hex(24))
    packets: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.secret = self.folder / "secret"
        self.secret.write_text(f"token = '{self.token}'\n")
        self.path = str(self.folder / "socket")
        self.abstract = "\0" + self.token[:20]
        self.tcp, self.udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
        self.tcp.bind(("127.0.0.1", 0))
        self.port = self.tcp.getsockname()[1]
        self.udp.bind(("127.0.0.1", self.port))
        self.unix, self.hidden = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        self.unix.bind(self.path)
        self.hidden.bind(self.abstract)
        self.wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        for listener in (self.tcp, self.unix, self.hidden):
            listener.listen()
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        for listener in (self.udp, self.wire):
            threading.Thread(target=self._receive, args=(listener,), daemon=True).start()
        self.shared = Path("/dev/shm") / self.token[:12]
        self.shared.write_text(self.token)
        ctypes.CDLL(None).syscall(248, b"user", b"kvattack", self.token.encode(), 50, -4)
        self.shown = subprocess.Popen([self.token, "600"], executable="/bin/sleep")

    def _accept(self, listening: socket.socket) -> None:
        listening.settimeout(0.5)
        while not self.stopped.is_set():
            with contextlib.suppress(TimeoutError):
                listening.accept()
                self.packets += 1

    def _receive(self, heard: socket.socket) -> None:
        heard.settimeout(0.5)
        while not self.stopped.is_set():
            with contextlib.suppress(TimeoutError):
                self.packets += self.token[:12].encode() in heard.recv(65536)

    def close(self) -> None:
        """Close the servers, and remove the secret everywhere."""
        self.stopped.set()
        self.shown.kill()
        self.shown.wait()
        self.shared.unlink(missing_ok=True)
        time.sleep(0.6)
        for open_socket in (self.tcp, self.udp, self.unix, self.hidden, self.wire):
            open_socket.close()


@dataclass
class Measurement:
    """Time, memory, and leaks of one judgment."""

    output: str
    seconds: float
    mebibytes: float
    left: int


def _descendants(of: int) -> Iterator[int]:
    for task in Path(f"/proc/{of}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                yield child
                yield from _descendants(child)


def _anonymous_kib(pid: int) -> int:
    """Return a process's anonymous memory in KiB, with shared pages divided by their users."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss_Anon:"):
                return int(line.split()[1])
    return 0


def _shared_kib() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Shmem:"))


def measured_judgment(file: Path, host: Host) -> Measurement:
    """Judge a file, and return time, memory and leaks."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphans of the judge become ours
    command = [
        sys.executable, "-m", "kvtrace", "judge", str(file), "--entry", "candidate",
        "--reference", f"{ROOT / 'benchmarks/attacks/strangers/references.py'}:double",
        "--shapes", "x=f32[300]", "--json", "--seconds", str(SECONDS), "--memory", str(MEMORY),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "API_KEY": host.token}
    shared_before, peak, start = _shared_kib(), 0, time.perf_counter()
    with tempfile.TemporaryFile() as output:
        judge = subprocess.Popen(
            command, stdout=output, stderr=output, cwd="/", env=environment,
            start_new_session=True,
        )  # fmt: skip
        while judge.poll() is None:
            tree = [judge.pid, *_descendants(judge.pid)]
            peak = max(peak, sum(map(_anonymous_kib, tree)) + max(_shared_kib() - shared_before, 0))
            time.sleep(0.1)
            if time.perf_counter() - start > 10 * SECONDS:
                os.killpg(judge.pid, signal.SIGKILL)
        seconds = time.perf_counter() - start
        remaining_processes = set(_descendants(os.getpid())) - {host.shown.pid}
        for pid in remaining_processes:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        output.seek(0)
        output_text = output.read(32 << 20).decode(errors="replace")
    return Measurement(output_text, seconds, peak / 1024, len(remaining_processes))


def _text(body: str, host: Host, *, wrong: bool) -> str:
    names = {
        "SECRET": str(host.secret), "TOKEN_": [host.token[:25], host.token[25:]], "PORT": host.port,
        "SOCKET": host.path, "ABSTRACT": host.abstract, "NAME": host.token[:12] + ".invalid",
    }  # fmt: skip
    above = "\n".join(f"{name} = {value!r}" for name, value in names.items())
    call = "attack()" if wrong else "got = got or attempted()"
    return (
        f"{PRELUDE}import os, resource, signal, time\n{above}\nTOKEN = ''.join(TOKEN_)\n\n\n"
        f"def attack():\n{indent(body.strip(), '    ')}\n\n\n"
        "def attempted():\n    try:\n        return attack()\n    except Exception as error:\n"
        "        return 'refused: ' + str(error)[:200]\n\n\ngot = None\n\n\n"
        "def candidate(x):\n    global got\n"
        f"    out = _launch(x, {1 if wrong else 2})\n    {call}\n"
        "    if got and 'refused' not in str(got):\n"
        "        raise ValueError(str(got)[:3000])\n    return out\n"
    )


def _plant(host: Host, folder: Path) -> None:
    """Write files with the secret beside the judged file, which the judge must not pass on."""
    (folder / "planted.py").symlink_to(host.secret)
    package = host.folder / "package"
    package.mkdir()
    (package / "__init__.py").write_text(host.secret.read_text())
    (folder / "linked").symlink_to(package)
    (folder / "hard.py").hardlink_to(host.secret)
    (folder / "notes.txt").write_text(host.token)


def _answer(name: str, body: str, kind: str) -> tuple[Answer, str]:
    with tempfile.TemporaryDirectory() as beside, tempfile.TemporaryDirectory() as judged:
        host = Host(Path(beside))
        path = Path(judged) / "candidate.py"
        try:
            if kind == "file":
                exec(body, {"os": os, "path": path, "secret": host.secret})
            else:
                _plant(host, Path(judged))
                path.write_text(_text(body, host, wrong=kind == "forges"))
            took = measured_judgment(path, host)
        finally:
            host.close()
        touched = Path(f"{host.secret}.touched").exists()
    windows = {host.token[position : position + 12] for position in range(0, 39, 3)}
    # The file has the token's halves, which a finding may quote: only the whole counts.
    out = 50 if host.token in took.output else 0
    if kind == "file":
        out = max(out, 12 * sum(window in took.output for window in windows))
    usual, slow = (0.0, 0.0) if name == "honest" else honest_use()
    extra_mebibytes = took.mebibytes - usual
    verdict = "right" if '"verdict": "right"' in took.output else "not right"
    escaped = [
        text
        for text, is_so in (
            ("bytes", out), ("packets", host.packets), ("processes", took.left),
            ("memory", name != "honest" and extra_mebibytes > SHARE_OF_MEMORY * MEMORY),
            ("seconds", took.seconds - slow > SECONDS + MORE_SECONDS),
            ("forged", kind == "forges" and (verdict == "right" or touched)),
        )
        if is_so
    ]  # fmt: skip
    figures = (
        f"{out} bytes, {host.packets} packets, {extra_mebibytes:+.0f} MiB, {took.left} left, "
        f"{took.seconds:.1f} s (honest: {slow:.1f}), {verdict}"
    )
    if name == "honest":
        return Answer.NO, f"{took.mebibytes} {took.seconds}"
    return (Answer.YES if escaped else Answer.NO), figures + "".join(f" **{x}**" for x in escaped)


@cache
def honest_use() -> tuple[float, float]:
    """Return the MiB and seconds that judging a harmless file takes."""
    mebibytes, seconds = _answer("honest", "return None", "takes")[1].split()
    return float(mebibytes), float(seconds)


def _answer_function(name: str, body: str, kind: str) -> Callable[[], tuple[Answer, str]]:
    return lambda: _answer(name, body, kind)


def cases() -> list[Case]:
    """Return the cases of all attempts."""
    groups = {
        "reads": READS, "sends": SENDS, "processes": PROCESSES, "takes": TAKES, "forges": FORGES,
        "file": FILES,
    }  # fmt: skip
    return [
        Case(f"{kind}: {name}", False, "", _answer_function(name, body, kind), None, "measured")
        for kind, bodies in groups.items()
        for name, body in bodies.items()
    ]
