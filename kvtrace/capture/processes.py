"""Output of other programs, as git, in a program that may replace functions and close files."""

import posix  # the functions of which nobody replaces, as gevent does those of `os`
from collections.abc import Mapping
from typing import Final

from kvtrace.schema.descriptors import Descriptor
from kvtrace.surroundings import pause

#: SIGPIPE and SIGXFSZ, which Python ignores and other programs must not.
_IGNORED_BY_PYTHON: Final = (13, 25)
#: Seconds from one look at a program's output to the next.
_STEP: Final = 0.002


def output_of(words: list[str], environment: Mapping[str, str], seconds: float) -> bytes | None:
    """Run a program to its end, and return its standard output; None if it fails.

    Raises:
        OSError: it cannot be started, has not ended within the seconds, or the program has closed
            the pipe.

    """
    read, write = map(Descriptor, posix.pipe())
    try:
        empty = [
            (posix.POSIX_SPAWN_OPEN, number, b"/dev/null", posix.O_RDWR, 0) for number in (0, 2)
        ]
        process = posix.posix_spawnp(
            words[0], words, environment, setsigdef=_IGNORED_BY_PYTHON, setsigmask=(),
            file_actions=[(posix.POSIX_SPAWN_DUP2, write.number, 1), *empty],
        )  # fmt: skip
    except BaseException:
        read.close()
        raise
    finally:
        write.close()
    ended = False
    try:
        output = _read_all(read, seconds)
        ended = True
    finally:
        read.close()
        if not ended:
            posix.kill(process, 9)
        status = _status(process)
    return None if status else output


def _read_all(pipe: Descriptor, seconds: float) -> bytes:
    posix.set_blocking(pipe.number, False)
    pieces: list[bytes] = []
    waited = 0.0
    while waited < seconds and pipe.is_open:
        try:
            piece = posix.read(pipe.number, 1 << 16)
        except BlockingIOError:
            pause(_STEP)
            waited += _STEP
            continue
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
    raise TimeoutError


def _status(process: int) -> int:
    try:
        return posix.waitpid(process, 0)[1]
    except ChildProcessError:
        return 0  # the program waits for all processes, and ignores this one's end
