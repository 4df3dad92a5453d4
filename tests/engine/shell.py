"""Stands in for `trace_processor_shell`, which the package `perfetto` would fetch from the network.

It takes that program's `--http-port`, and answers for the same engine: the WebAssembly build that
`trace_processor.py` runs. The package's own client starts it, and talks to it as to the real one.
"""

import argparse
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.engine.trace_processor import TraceProcessor


class Server(HTTPServer):
    """One trace, which comes in pieces, and its engine."""

    def __init__(self, port: int) -> None:
        super().__init__(("localhost", port), Answers)
        self.trace = tempfile.NamedTemporaryFile()  # noqa: SIM115 - lives as long as the server
        self.engine: TraceProcessor | None = None


class Answers(BaseHTTPRequestHandler):
    """The requests that loading a trace and asking it take."""

    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/notify_eof":
            self.server.trace.flush()
            log = Path(self.server.trace.name + ".log")
            self.server.engine = TraceProcessor(Path(self.server.trace.name), log)
        self.answer(b"")

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.path == "/parse":
            self.server.trace.write(content)
            self.answer(b"")
            return
        engine = self.server.engine
        assert engine is not None
        arguments = engine.protos.QueryArgs()
        arguments.ParseFromString(content)
        self.answer(engine.execute_query(arguments.sql_query).SerializeToString())

    def answer(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def executable(folder: Path) -> Path:
    """A file that can be started as the real program is."""
    path = folder / "trace_processor_shell"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" "$@"\n')
    path.chmod(0o755)
    return path


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--http-port", type=int, required=True)
    chosen, _ = options.parse_known_args()
    Server(chosen.http_port).serve_forever()
