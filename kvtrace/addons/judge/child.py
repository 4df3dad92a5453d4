"""What runs in the candidate's process: its code, and a log of its launches besides the trace.

The candidate's code can change anything in this process. So nothing that is written here is a
verdict: another process reads the log and evaluates the launches again.

Calls come one at a time (`calling.py`), with inputs alone: not what is right, nor which case it is.
What a call returns is answered as bytes, at once and when it is asked for again. The log has a JSON
object a line: `launch`, `moved`, `returned`, `raised`, `changed` of a call, in order, and between
them what the candidate does besides (`kind`). It goes through a pipe: what was written cannot be
taken back.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import sys
import threading
import traceback
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import kvtrace
from kvtrace import forks
from kvtrace.addons.judge import tensors
from kvtrace.addons.judge.answering import Answering, Call
from kvtrace.addons.judge.confining import CALLS, EVENTS
from kvtrace.addons.judge.gradients import results_of_call
from kvtrace.addons.judge.inputs import TensorInput
from kvtrace.addons.judge.messages import receive
from kvtrace.addons.judge.request import Request
from kvtrace.backends.compiled_kernels.unevaluated import before_left_out
from kvtrace.backends.triton.evaluating_launcher import ExecutedLaunch, MissingIR, launch_contexts
from kvtrace.evaluate.arguments import ScalarArgument, Storage, TensorArgument

#: Bytes of contents that are kept of one candidate, at most.
_MOST_BYTES: Final = 1 << 30
_MOST_CHARACTERS: Final = 500
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
#: Events of Python's audit hooks → what they do.
_CHANGING: Final = {
    "os.remove": "writes", "os.rename": "writes", "os.mkdir": "writes", "os.rmdir": "writes",
    "os.chmod": "writes", "os.link": "writes", "os.symlink": "writes", "os.truncate": "writes",
    "shutil.rmtree": "writes", "os.fork": "processes", "os.forkpty": "processes",
    "os.posix_spawn": "processes", "os.exec": "processes", "os.system": "processes",
    "subprocess.Popen": "processes", "os.kill": "processes", "os.killpg": "processes",
    "socket.connect": "network", "socket.bind": "network", "socket.getaddrinfo": "network",
    "socket.sendto": "network",
}  # fmt: skip
#: What finds objects that nobody has handed over.
_REACHING: Final = ("gc.get_objects", "gc.get_referrers", "gc.get_referents")
#: Those whose last argument is an open folder that the first is relative to, or -1.
_RELATIVE: Final = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.symlink")
_PACKAGE: Final = os.path.dirname(kvtrace.__file__)  # noqa: PTH120


def run_candidate(request: Request, folder: Path) -> None:
    """Run a candidate on all inputs that it is handed, recorded.

    Args:
        request: What is judged.
        folder: Where trace, log and contents are left.

    """
    import torch
    import triton

    from kvtrace.addons.judge.replaced import Replaced
    from kvtrace.backends.triton.autotune_free import take_turns
    from kvtrace.capture.api import start, stop

    sys.dont_write_bytecode = True
    torch.set_num_threads(1)
    # torch fills memory that is only allocated then; its own function imports Inductor for it.
    torch._C._set_deterministic_algorithms(True, warn_only=True)
    start(
        folder / "trace", tensors="all", compile="ttir", device="cpu", target=request.target,
        source="files",
    )  # fmt: skip
    take_turns()
    assert triton.runtime.driver.active is not None  # ours, before anything can be patched
    telling = _Telling()
    torch.set_default_device("cuda")  # where inputs are: a file may say no device at all
    log = _Log(folder, telling, request.entry.file)
    launch_contexts.append(log.around)
    before_left_out.append(_refuse)
    answering = Answering()
    first = receive(CALLS, _MOST_BYTES)
    replaced = Replaced()
    with telling.behavior(folder):
        try:
            os.chdir(request.entry.file.parent)
            module = tensors.imported(request.entry.file, request.entry.file.stem)
            entry: Any = getattr(module, request.entry.name)
            if inspect.isclass(entry):
                torch.manual_seed(0)
                entry = entry(*_initial(module, {} if first is None else first[0]))
            if isinstance(entry, torch.nn.Module):
                entry = entry.cuda()
        except Exception as error:  # noqa: BLE001 - the candidate's own, reported as such
            what = "the file cannot be imported, or its model not be made"
            log.write({**failure(error, what, request.entry.file), "case": 0})
            return
        with suppress(_Failed):
            answering.answer_all(first, lambda call: log.call(call, entry))
    for name in replaced.found(request.entry.file.parent):
        log.write({"patched": name})
    stop()


def _initial(module: ModuleType, header: Mapping[str, Any]) -> list[Any]:
    """Return what a model is made with: the file's own answer, otherwise the reference's."""
    if hasattr(module, "get_init_inputs"):
        return list(module.get_init_inputs())
    return list(header.get("initial", ()))


def _refuse(sentence: str) -> None:
    """Refuse a launch that the evaluator cannot run: what it computes is to be judged."""
    raise MissingIR(sentence)


def _is_recording() -> bool:
    """Whether this thread runs a function of kvtrace's own, as the journal's does."""
    if threading.current_thread() is threading.main_thread():
        return False
    frame: types.FrameType | None = sys._getframe()
    files: list[str] = []
    while frame is not None:
        files.append(frame.f_code.co_filename)
        frame = frame.f_back
    outermost = [file for file in files if file != threading.__file__][-1]
    return outermost.startswith(f"{_PACKAGE}{os.sep}")


def _absolute(path: str, event: str, arguments: tuple[Any, ...]) -> str:
    """Return the path that an event names, which may be relative to a folder that is open."""
    folder = os.getcwd()  # noqa: PTH109
    opened = arguments[-1] if event in _RELATIVE else None
    if isinstance(opened, int) and opened >= 0:
        os.chdir(opened)  # there is no /proc that would say which folder it is
        here, folder = folder, os.getcwd()  # noqa: PTH109
        os.chdir(here)
    return os.path.normpath(os.path.join(folder, path))  # noqa: PTH118


class _Telling:
    """Writes lines into the pipe that the supervisor reads, of all threads and processes."""

    def __init__(self) -> None:
        self._lock = forks.Lock()

    def tell(self, entry: dict[str, Any]) -> None:
        """Write an object, whole."""
        line = json.dumps(entry).encode() + b"\n"
        with self._lock:
            while line:
                line = line[os.write(EVENTS, line) :]

    @contextmanager
    def behavior(self, folder: Path) -> Iterator[None]:
        """Write what the candidate does to files, processes and the network, while it runs.

        An audit hook cannot be taken away by Python code; what does not pass Python is not seen.
        """
        own = (str(folder), os.devnull)
        compilers = os.path.dirname(str(sys.modules["triton"].__file__))  # noqa: PTH120
        libraries = tuple(
            f"{os.path.dirname(str(sys.modules[name].__file__))}{os.sep}"  # noqa: PTH120
            for name in ("os", "torch", "triton", "numpy", "kvtrace")
        )
        active = [True]
        tell = self.tell

        def hear(event: str, arguments: tuple[Any, ...]) -> None:
            if not active:
                return
            code = event == "object.__setattr__" and arguments[1] == "__code__"
            if code or event in _REACHING:
                if not sys._getframe(1).f_code.co_filename.startswith(libraries):
                    tell({"kind": "reaches", "what": "__code__" if code else event})
                return
            if event != "open" and event not in _CHANGING:
                return
            if _is_recording():
                return
            kind = _CHANGING.get(event, "writes")
            what = arguments[0] if arguments else ""
            if event == "open" and not arguments[2] & _WRITING:
                return
            if kind == "processes" and str(what).startswith(compilers):
                return  # Triton's own, as where configurations are tried
            if kind == "writes":
                if isinstance(what, int):
                    return
                what = _absolute(os.fsdecode(what), event, arguments)
                if what.startswith(own) and not what.endswith("/mem"):
                    return
            tell({"kind": kind, "what": str(what)[:200]})

        sys.addaudithook(hear)
        try:
            yield
        finally:
            active.clear()


class _Failed(Exception):
    """The candidate failed on the inputs that were asked for."""


def failure(error: Exception, what: str, file: Path) -> dict[str, Any]:
    """Return what the log says of an error of the candidate, and its place in the file."""
    frames = traceback.extract_tb(error.__traceback__)
    line = next((each.lineno for each in reversed(frames) if each.filename == str(file)), None)
    place = {} if line is None else {"file": str(file), "line": line}
    return {"failed": f"{what}: {_one_line(error)}", **place}


def _one_line(error: Exception) -> str:
    """Return an error in one line: of several, as of a compiler's, the first and the last."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" ^")]
    text = " … ".join([*lines[:1], *lines[1:][-1:]])
    return f"{type(error).__name__}: {text}"[:_MOST_CHARACTERS]


class _Log:
    """Writes what is launched and returned, and the contents that evaluating it takes."""

    def __init__(self, folder: Path, telling: _Telling, file: Path) -> None:
        self._folder = folder
        self._file = file
        self._telling = telling
        self._contents: set[str] = set()
        self._bytes = 0
        self._call = 0
        self._known: dict[tuple[int, int], NDArray[np.uint8]] = {}
        self._ids: dict[tuple[int, int], int] = {}
        self._alive: list[Any] = []

    def write(self, entry: dict[str, Any]) -> None:
        """Write an entry."""
        self._telling.tell({**entry, "case": self._call})

    def call(self, call: Call, entry: Any) -> list[Any] | None:
        """Call the candidate; return its results, or None where it raised an error."""
        import torch

        from kvtrace.addons.judge.moves import Moves

        self._call = call.number
        self._ids, self._known, self._alive = {}, {}, []
        tensors_given: list[Any] = [a for a in call.arguments if tensors.is_tensor(a)]
        made = [each for each in call.inputs if isinstance(each, TensorInput)]
        if call.weights and isinstance(entry, torch.nn.Module):
            tensors_given += self._loaded(call, entry)
            made += call.weights
        for at, (tensor, each) in enumerate(zip(tensors_given, made, strict=False)):
            if tensor is not None:
                self._input(at, tensor, each)
        try:
            with torch.set_grad_enabled(call.gradients), Moves(self):
                results = results_of_call(
                    entry,
                    call.arguments,
                    tracked=call.tracked,
                    cotangents=call.cotangents,
                    is_candidate=True,
                )
        except Exception as error:
            if not call.number:  # the inputs that were asked for: nothing else needs to be tried
                self.write(failure(error, "the candidate fails on the given inputs", self._file))
                raise _Failed from error
            self.write({"raised": _one_line(error)})
            return None
        self.write({"returned": [self._result(each) for each in results]})
        changed = [
            each.name
            for each, tensor in zip(made, tensors_given, strict=False)
            if tensor is not None and self._unlike(tensor)
        ]
        if changed:
            self.write({"changed": changed})
        return results

    def _loaded(self, call: Call, entry: Any) -> list[Any]:
        """Load a model's weights; return its own, in the order of the reference's.

        They are found by their names; those that have other names, by their order where all that
        are left have the same shapes.
        """
        own = {n: v for n, v in entry.state_dict().items() if tensors.is_tensor(v)}
        given = {each.name: value for each, value in zip(call.weights, call.values, strict=True)}
        places = {n: n for n, v in given.items() if n in own and own[n].shape == v.shape}
        rest = [n for n in given if n not in places]
        free = [n for n in own if n not in places]
        if len(rest) == len(free) and all(
            given[one].shape == own[other].shape for one, other in zip(rest, free, strict=True)
        ):
            places |= dict(zip(rest, free, strict=True))
        entry.load_state_dict({places[n]: given[n] for n in places}, strict=False)
        own = entry.state_dict()
        if len(places) < len(given) and len(own) > len(places):
            self.write({"unplaced": [n for n in given if n not in places]})
        return [own.get(places.get(each.name)) for each in call.weights]

    @contextmanager
    def around(self, launch: ExecutedLaunch) -> Iterator[None]:
        """Write a launch with the contents that no launch before it has left."""
        digest = hashlib.sha256(launch.ttir.encode()).hexdigest()
        path = self._folder / f"ttir-{digest}"
        if not path.exists():
            path.write_text(launch.ttir, encoding="utf-8")
        storages: dict[int, Storage] = {}
        contents: dict[int, dict[str, Any]] = {}
        entries = []
        for argument in launch.arguments:
            if isinstance(argument, ScalarArgument):
                entries.append({"name": argument.name, "value": argument.value})
                continue
            number = self._number(argument.storage)
            entries.append(_argument(argument, number))
            if number not in storages:
                storages[number] = argument.storage
                content = self._new_content(argument.storage)
                if content is not None:
                    contents[number] = {"bytes": argument.storage.nbytes, "file": content}
        self.write(
            {
                "launch": launch.kernel, "ttir": digest, "file": launch.file,
                "grid": launch.grid, "arguments": entries, "contents": contents,
            }
        )  # fmt: skip
        yield
        for storage in storages.values():
            if storage.data is not None and storage.address is not None:
                self._known[storage.address, storage.nbytes] = storage.data.copy()

    def before(self, target: Any) -> None:
        """Keep what a tensor holds before it is written to, if nothing explains it."""
        if not self.explained(target):
            self.write(
                {
                    "moved": None,
                    "sources": [self._view(target)],
                    "contents": self._contents_of([target]),
                }
            )

    def moved(self, target: Any, sources: Sequence[Any], picked: Any, fill: float) -> None:
        """Write what PyTorch moved, which explains what the target holds now."""
        others = [each for each in sources if _key(each) != _key(target)]
        entry = {
            "moved": self._view(target), "bytes": target.untyped_storage().nbytes(),
            "sources": [self._view(each) for each in sources], "fill": fill,
            "picked": None if picked is None else self._keep(tensors.bytes_of(picked)),
            "contents": self._contents_of(others),
        }  # fmt: skip
        self.write(entry)
        self._know(target)

    def explained(self, tensor: Any) -> bool:
        """Whether a tensor's storage holds what launches and moves have left there."""
        key = _key(tensor)
        return key in self._known and not self._unlike(tensor)

    def made(self, tensor: Any) -> None:
        """Forget what another tensor has left where a new one lies."""
        self._known.pop(_key(tensor), None)

    def _contents_of(self, given: Sequence[Any]) -> dict[int, dict[str, Any]]:
        """Keep the contents that nothing explains of some tensors' storages."""
        contents = {}
        for tensor in given:
            if not self.explained(tensor):
                content = tensors.storage_bytes(tensor)
                number = self._ids.setdefault(_key(tensor), 1000 + len(self._ids))
                contents[number] = {"bytes": len(content), "file": self._keep(content)}
                self._know(tensor)
        return contents

    def _view(self, tensor: Any) -> dict[str, Any]:
        return {
            "storage": self._ids.setdefault(_key(tensor), 1000 + len(self._ids)),
            "dtype": _dtype(tensor),
            "shape": list(tensor.shape),
            "strides": list(tensor.stride()),
            "offset": tensor.storage_offset(),
        }

    def _know(self, tensor: Any) -> None:
        self._known[_key(tensor)] = np.frombuffer(tensors.storage_bytes(tensor), np.uint8)

    def _input(self, number: int, tensor: Any, made: TensorInput) -> None:
        self._ids.setdefault(_key(tensor), number)
        self._know(tensor)
        self._alive.append(tensor)
        assert made.storage * tensor.element_size() == tensor.untyped_storage().nbytes()

    def _number(self, storage: Storage) -> int:
        """Return the number of a storage; those of inputs are their places, from 0."""
        assert storage.address is not None
        return self._ids.setdefault((storage.address, storage.nbytes), 1000 + len(self._ids))

    def _new_content(self, storage: Storage) -> str | None:
        """Keep what a storage holds, if it is not what the last launch left there."""
        if storage.data is None:
            return None
        known = self._known.get((storage.address or 0, storage.nbytes))
        if known is not None and np.array_equal(known, storage.data):
            return None
        return self._keep(storage.data.tobytes())

    def _keep(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self._contents and self._bytes + len(content) <= _MOST_BYTES:
            self._contents.add(digest)
            self._bytes += len(content)
            (self._folder / f"content-{digest}").write_bytes(content)
        return digest

    def _unlike(self, tensor: Any) -> bool:
        known = self._known.get(_key(tensor))
        return known is not None and bytes(known) != tensors.storage_bytes(tensor)

    def _result(self, value: Any) -> dict[str, Any]:
        if not tensors.is_tensor(value):
            return {"value": value if isinstance(value, int | float | bool) else repr(value)[:200]}
        if self.explained(value):
            return self._view(value)
        content = self._keep(tensors.bytes_of(value))
        return {"dtype": _dtype(value), "shape": list(value.shape), "content": content}


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _key(tensor: Any) -> tuple[int, int]:
    """Return where a tensor's storage begins, and its bytes."""
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.nbytes()


def _argument(argument: TensorArgument, number: int) -> dict[str, Any]:
    return {
        "name": argument.name, "storage": number, "offset": argument.offset_bytes,
        "dtype": argument.dtype, "shape": argument.shape, "strides": argument.strides,
        "padding_nan": argument.padding_nan,
    }  # fmt: skip
