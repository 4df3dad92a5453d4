"""Makes system calls that reach rarely used parts of the kernel, or get around others."""

import ctypes
import os
import struct

libc = ctypes.CDLL(None, use_errno=True)
room = ctypes.create_string_buffer(256)
x86 = os.uname().machine == "x86_64"
for name, number, *arguments in (
    ("io_uring_setup", 425, 8, room),
    ("io_setup", 206 if x86 else 0, 8, room),
    ("bpf", 321 if x86 else 280, 0, room, 72),
    ("userfaultfd", 323 if x86 else 282, 1),
    ("perf_event_open", 298 if x86 else 241, room, 0, -1, -1, 0),
    ("keyctl", 250 if x86 else 219, 0, -3, 1),
    ("add_key", 248 if x86 else 217, b"user", b"name", b"value", 5, -3),
    ("open_tree", 428, -100, b"/", 1),
    ("mount_setattr", 442, -100, b"/", 0x8000, room, 32),
    ("open_by_handle_at", 304 if x86 else 265, 3, room, 0),
    ("kexec_load", 246 if x86 else 104, 0, 0, 0, 0),
    ("init_module", 175 if x86 else 105, room, 0, b""),
    ("syslog", 103 if x86 else 116, 3, room, 256),
    ("seccomp", 317 if x86 else 277, 1, 0, room),
    ("landlock_create_ruleset", 444, 0, 0, 1),
    ("setns", 308 if x86 else 268, 3, 0),
    ("fanotify_init", 300 if x86 else 262, 0, 0),
    ("x32's getpid", 0x40000000 + 39),
    ("quotactl_fd", 443, 3, 0, 0, room),
    ("listmount", 458, struct.pack("=IIQQ", 24, 0, (1 << 64) - 1, 0), room, 16, 0),
    ("clone3", 435, 0, 0),
):
    if libc.syscall(ctypes.c_long(number), *arguments) >= 0:
        print("ESCAPED:", name)
