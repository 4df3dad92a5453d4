"""Runs a program in the warm Python that listens at a socket: `warm_client.py SOCKET ARGUMENTS`.

For programs that other programs start, as `kvtrace gate` does. Environment, folder, output and
exit code are those of `python ARGUMENTS`; the process group is the warm Python's, so that a signal
to the client's does not reach it.
"""

import json
import os
import socket
import sys
from pathlib import Path

socket_path, *arguments = sys.argv[1:]
request = {"arguments": arguments, "folder": str(Path.cwd()), "environment": dict(os.environ)}
told, to_told = os.pipe()
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
    connection.connect(socket_path)
    socket.send_fds(connection, [json.dumps(request).encode()], [1, 2, to_told])
    os.close(to_told)
    with os.fdopen(told, encoding="ascii") as ended:
        _pid, code = (int(line) for line in ended)
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
