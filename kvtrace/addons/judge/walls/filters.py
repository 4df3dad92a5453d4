"""The seccomp filter that refuses system calls to a confined process.

Refused are calls that reach the host or rarely used parts of the kernel, that start a process or a
program, or that use memory which counts for no process, as locks and watches do:
https://docs.kernel.org/userspace-api/seccomp_filter.html.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kvtrace.addons.judge.walls import system_calls

_SET_SECCOMP: Final = 22
_FILTER: Final = 2
_ARCHITECTURE: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_ALLOW: Final = 0x7FFF0000
_REFUSE: Final = 0x00050000
_KILL: Final = 0x80000000
#: First number of the x32 system calls, another way into the kernel.
_X32: Final = 0x40000000
_FIRST_ARGUMENT: Final = 16
_ALL_BITS: Final = 0xFFFFFFFF
_THREAD: Final = 0x00010000  # of clone
_SHARED, _ANONYMOUS, _KIND = 0x01, 0x20, 0x0F  # of mmap
_DEATH_SIGNAL, _FILTERS = 1, 22  # of prctl
#: Operations of fcntl: locks of ranges, leases, watches, sizes of pipes.
_LOCKS: Final = (6, 7, 37, 38)
_LEASE, _NOTIFY, _PIPE_SIZE = 1024, 1026, 1031
_PUSH_INPUT, _COPY_SCREEN = 0x5412, 0x541C  # ioctls of a terminal: TIOCSTI, TIOCLINUX

#: System calls → numbers on x86_64 and aarch64; None if the machine lacks the call.
_NUMBERS: Final[dict[str, tuple[int | None, int | None]]] = {
    "acct": (163, 89), "add_key": (248, 217), "adjtimex": (159, 171), "bpf": (321, 280),
    "chroot": (161, 51), "clock_adjtime": (305, 266), "clock_settime": (227, 112),
    "clone": (56, 220), "clone3": (435, 435), "delete_module": (176, 106),
    "epoll_create": (213, None), "epoll_create1": (291, 20), "execve": (59, 221),
    "execveat": (322, 281), "fanotify_init": (300, 262), "fcntl": (72, 25),
    "finit_module": (313, 273), "fork": (57, None), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fsopen": (430, 430), "fspick": (433, 433), "init_module": (175, 105),
    "inotify_init": (253, None), "inotify_init1": (294, 26), "io_setup": (206, 0),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "io_uring_setup": (425, 425),
    "ioctl": (16, 29), "ioperm": (173, None), "iopl": (172, None), "kcmp": (312, 272),
    "kexec_file_load": (320, 294), "kexec_load": (246, 104), "keyctl": (250, 219),
    "landlock_create_ruleset": (444, 444), "listmount": (458, 458), "memfd_create": (319, 279),
    "memfd_secret": (447, 447), "mmap": (9, 222), "mount": (165, 40),
    "mount_setattr": (442, 442), "move_mount": (429, 429), "mq_open": (240, 180),
    "msgget": (68, 186), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "open_tree": (428, 428), "perf_event_open": (298, 241), "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41), "prctl": (157, 167), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "ptrace": (101, 117), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "reboot": (169, 142), "request_key": (249, 218),
    "seccomp": (317, 277), "semget": (64, 190), "setdomainname": (171, 162),
    "sethostname": (170, 161), "setns": (308, 268), "settimeofday": (164, 170),
    "shmget": (29, 194), "socket": (41, 198), "socketpair": (53, 199), "splice": (275, 76),
    "statmount": (457, 457),
    "swapoff": (168, 225), "swapon": (167, 224), "syslog": (103, 116), "tee": (276, 77),
    "umount2": (166, 39), "unshare": (272, 97), "userfaultfd": (323, 282), "vfork": (58, None),
    "vhangup": (153, 58), "vmsplice": (278, 75),
}  # fmt: skip
#: System calls that libraries try first, with a fallback for kernels that lack them.
_UNKNOWN: Final = frozenset(
    ("clone3", "io_uring_enter", "io_uring_register", "io_uring_setup", "memfd_create")
)
_BY_ARGUMENT: Final = frozenset(("clone", "fcntl", "ioctl", "mmap", "prctl"))


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A refused system call: always, or only if some bits of an argument have a certain value.

    Attributes:
        call: name of the system call.
        error: error number that the call fails with.
        argument: position of the deciding argument, from 0; None: the call is always refused.
        equal: refused value of the deciding bits.
        mask: deciding bits among the argument's lower 32.
    """

    call: str
    error: int = errno.EPERM
    argument: int | None = None
    equal: int = 0
    mask: int = _ALL_BITS


CONFINED: Final = (
    *(
        RefusedCall(name, errno.ENOSYS if name in _UNKNOWN else errno.EPERM)
        for name in _NUMBERS
        if name not in _BY_ARGUMENT
    ),
    RefusedCall("clone", argument=0, mask=_THREAD, equal=0),  # threads alone may be started
    # Pages that survive their last mapping, and count for no process.
    RefusedCall("mmap", argument=3, mask=_KIND | _ANONYMOUS, equal=_SHARED | _ANONYMOUS),
    *(RefusedCall("fcntl", errno.ENOLCK, argument=1, equal=command) for command in _LOCKS),
    *(RefusedCall("fcntl", argument=1, equal=value) for value in (_LEASE, _NOTIFY, _PIPE_SIZE)),
    RefusedCall("ioctl", argument=1, equal=_PUSH_INPUT),
    RefusedCall("ioctl", argument=1, equal=_COPY_SCREEN),
    RefusedCall(
        "prctl", argument=0, equal=_DEATH_SIGNAL
    ),  # the process must end with its supervisor
    RefusedCall("prctl", argument=0, equal=_FILTERS),
)


def install(refused: Iterable[RefusedCall] = CONFINED) -> None:
    """Refuse system calls from now on, for this process and its threads and children.

    Raises:
        OSError: the kernel has no filters, or the machine is not supported.
    """
    if system_calls.MACHINE is None:
        raise OSError(errno.ENOSYS, "the numbers of this machine's system calls are not known")
    lines = b"".join(struct.pack("=HBBI", *line) for line in _program(refused))
    buffer = ctypes.create_string_buffer(lines)
    program = struct.pack("HxxxxxxP", len(lines) // 8, ctypes.addressof(buffer))
    system_calls.prctl(_SET_SECCOMP, _FILTER, program)


def _program(refused: Iterable[RefusedCall]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the filter's instructions: code, jump if true, jump if false, constant."""
    machine = system_calls.MACHINE
    assert machine is not None
    yield _LOAD, 0, 0, 4
    yield _EQUAL, 1, 0, _ARCHITECTURE[machine]
    yield _RETURN, 0, 0, _KILL
    yield _LOAD, 0, 0, 0
    if machine == "x86_64":
        yield _AT_LEAST, 0, 1, _X32
        yield _RETURN, 0, 0, _REFUSE | errno.EPERM
    for call in refused:
        number = _NUMBERS[call.call][machine == "aarch64"]
        if number is None:
            continue
        if call.argument is None:
            yield _EQUAL, 0, 1, number
            yield _RETURN, 0, 0, _REFUSE | call.error
            continue
        yield _EQUAL, 0, 5, number
        yield _LOAD, 0, 0, _FIRST_ARGUMENT + 8 * call.argument
        yield _AND, 0, 0, call.mask
        yield _EQUAL, 0, 1, call.equal
        yield _RETURN, 0, 0, _REFUSE | call.error
        yield _LOAD, 0, 0, 0
    yield _RETURN, 0, 0, _ALLOW
