"""The candidate's process: runs the candidate's code, and logs its launches beside the trace.

The candidate's code can change anything in this process, so nothing written here is a verdict:
another process reads the log and evaluates the launches again.

Calls arrive one at a time (`calling.py`) with inputs alone, without right results or the case's
identity. Results are sent as bytes, after the call and when requested again. The log has one JSON
object per line: for each call in order its `launch`, `moved`, `returned`, `raised` and `changed`
entries, and other observed actions of the candidate (`kind`). The log is written into a pipe, so
that the candidate cannot remove entries.
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
from kvtrace.addons.judge.answering import Call, CallAnswerer
from kvtrace.addons.judge.confining import CALLS, EVENTS
from kvtrace.addons.judge.gradients import results_of_call
from kvtrace.addons.judge.messages import receive
from kvtrace.addons.judge.request import Request
from kvtrace.backends.compiled_kernels.unevaluated import before_left_out
from kvtrace.backends.triton.evaluating_launcher import ExecutedLaunch, MissingIR, launch_contexts
from kvtrace.evaluate.arguments import ScalarArgument, Storage, TensorArgument
from kvtrace.inputs.cases import TensorInput

#: Bytes of contents that are written for one candidate, at most.
_MOST_BYTES: Final = 1 << 30
_MOST_CHARACTERS: Final = 500
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
#: Events of Python's audit hooks → kinds of actions.
_CHANGING: Final = {
    "os.remove": "writes", "os.rename": "writes", "os.mkdir": "writes", "os.rmdir": "writes",
    "os.chmod": "writes", "os.link": "writes", "os.symlink": "writes", "os.truncate": "writes",
    "shutil.rmtree": "writes", "os.fork": "processes", "os.forkpty": "processes",
    "os.posix_spawn": "processes", "os.exec": "processes", "os.system": "processes",
    "subprocess.Popen": "processes", "os.kill": "processes", "os.killpg": "processes",
    "socket.connect": "network", "socket.bind": "network", "socket.getaddrinfo": "network",
    "socket.sendto": "network",
}  # fmt: skip
#: Audit events of searching for objects that the candidate did not receive.
_REACHING: Final = ("gc.get_objects", "gc.get_referrers", "gc.get_referents")
#: Events whose last argument is an open folder that the first is relative to, or -1.
_RELATIVE: Final = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.symlink")
_PACKAGE: Final = os.path.dirname(kvtrace.__file__)  # noqa: PTH120


def run_candidate(request: Request, folder: Path) -> None:
    """Import the candidate, and run and record it on all inputs that arrive through the pipe.

    `folder` is for trace, log and contents.
    """
    import torch
    import triton

    from kvtrace.addons.judge.replaced import ReplacementFinder
    from kvtrace.backends.triton.autotune_free import take_turns
    from kvtrace.capture.api import start, stop

    sys.dont_write_bytecode = True
    torch.set_num_threads(1)
    # torch then fills allocated memory; the public function for this would import Inductor.
    torch._C._set_deterministic_algorithms(True, warn_only=True)
    start(
        folder / "trace", tensors="all", compile="ttir", device="cpu", target=request.target,
        source="files",
    )  # fmt: skip
    take_turns()
    assert triton.runtime.driver.active is not None  # loads our driver before anything is patched
    events = _EventWriter()
    torch.set_default_device("cuda")  # where inputs are: a file may say no device at all
    log = LaunchLog(folder, events, request.entry.file)
    launch_contexts.append(log.around)
    before_left_out.append(_refuse)
    answerer = CallAnswerer()
    first_message = receive(CALLS, _MOST_BYTES)
    replaced = ReplacementFinder()
    with events.behavior(folder):
        try:
            os.chdir(request.entry.file.parent)
            module = tensors.import_file(request.entry.file, request.entry.file.stem)
            entry: Any = getattr(module, request.entry.name)
            if inspect.isclass(entry):
                torch.manual_seed(0)
                entry = entry(
                    *_initial_arguments(module, {} if first_message is None else first_message[0])
                )
            if isinstance(entry, torch.nn.Module):
                entry = entry.cuda()
        except Exception as error:  # noqa: BLE001 - the candidate's error is reported
            phase = "the file cannot be imported, or its model cannot be constructed"
            log.write({**failure(error, phase, request.entry.file), "case": 0})
            return
        with suppress(_Failed):
            answerer.answer_all(first_message, lambda call: log.call(call, entry))
    for name in replaced.replaced_names(request.entry.file.parent):
        log.write({"patched": name})
    stop()


def _initial_arguments(module: ModuleType, header: Mapping[str, Any]) -> list[Any]:
    """Return a model's constructor arguments: by the file's `get_init_inputs`, or from `header`.

    `header` is that of the first call, with the reference's arguments.
    """
    if hasattr(module, "get_init_inputs"):
        return list(module.get_init_inputs())
    return list(header.get("initial", ()))


def _refuse(sentence: str) -> None:
    """Raise MissingIR for a launch that the evaluator cannot run; its results are unknown."""
    raise MissingIR(sentence)


def _is_recording() -> bool:
    """Return whether this is a thread that kvtrace started, such as the journal's."""
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
    """Return the absolute path of an audit event's path, which may be relative to an open folder.

    For some events, the last of the event's `arguments` is the descriptor of this folder, or -1.
    """
    folder = os.getcwd()  # noqa: PTH109
    descriptor = arguments[-1] if event in _RELATIVE else None
    if isinstance(descriptor, int) and descriptor >= 0:
        os.chdir(descriptor)  # without /proc this is the only way to learn the folder's path
        previous, folder = folder, os.getcwd()  # noqa: PTH109
        os.chdir(previous)
    return os.path.normpath(os.path.join(folder, path))  # noqa: PTH118


class _EventWriter:
    """Writes log entries as lines into the supervisor's pipe, from any thread."""

    def __init__(self) -> None:
        self._lock = forks.Lock()

    def write(self, entry: dict[str, Any]) -> None:
        """Write a log entry as one line of JSON."""
        line = json.dumps(entry).encode() + b"\n"
        with self._lock:
            while line:
                line = line[os.write(EVENTS, line) :]

    @contextmanager
    def behavior(self, folder: Path) -> Iterator[None]:
        """Log changes of files outside `folder`, and uses of processes and the network.

        This lasts while the block runs. An audit hook observes the actions, which Python code
        cannot remove; actions that bypass Python are not observed.
        """
        ignored_paths = (str(folder), os.devnull)
        compiler_folder = os.path.dirname(str(sys.modules["triton"].__file__))  # noqa: PTH120
        library_folders = tuple(
            f"{os.path.dirname(str(sys.modules[name].__file__))}{os.sep}"  # noqa: PTH120
            for name in ("os", "torch", "triton", "numpy", "kvtrace")
        )
        active = [True]
        write = self.write

        def audit(event: str, arguments: tuple[Any, ...]) -> None:
            if not active:
                return
            sets_code = event == "object.__setattr__" and arguments[1] == "__code__"
            if sets_code or event in _REACHING:
                if not sys._getframe(1).f_code.co_filename.startswith(library_folders):
                    write({"kind": "reaches", "what": "__code__" if sets_code else event})
                return
            if event != "open" and event not in _CHANGING:
                return
            if _is_recording():
                return
            kind = _CHANGING.get(event, "writes")
            subject = arguments[0] if arguments else ""
            if event == "open" and not arguments[2] & _WRITING:
                return
            if kind == "processes" and str(subject).startswith(compiler_folder):
                return  # Triton's compilers, for example when configurations are tried
            if kind == "writes":
                if isinstance(subject, int):
                    return
                subject = _absolute(os.fsdecode(subject), event, arguments)
                if subject.startswith(ignored_paths) and not subject.endswith("/mem"):
                    return
            write({"kind": kind, "what": str(subject)[:200]})

        sys.addaudithook(audit)
        try:
            yield
        finally:
            active.clear()


class _Failed(Exception):
    """The candidate failed on the given inputs, so that no other case needs to be tried."""


def failure(error: Exception, phase: str, file: Path) -> dict[str, Any]:
    """Return the log entry for an error of the candidate, with the line in its file, if any.

    `phase` says what failed.
    """
    frames = traceback.extract_tb(error.__traceback__)
    line = next((frame.lineno for frame in reversed(frames) if frame.filename == str(file)), None)
    location = {} if line is None else {"file": str(file), "line": line}
    return {"failed": f"{phase}: {_one_line(error)}", **location}


def _one_line(error: Exception) -> str:
    """Return the type and text of an error in one line; of several lines, the first and last."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" ^")]
    text = " … ".join([*lines[:1], *lines[1:][-1:]])
    return f"{type(error).__name__}: {text}"[:_MOST_CHARACTERS]


class LaunchLog:
    """The log of launches and results, and files with the memory contents to evaluate them.

    `_known` has, by address and size of a storage, the contents that follow from earlier entries.
    Other contents are "unexplained", and are stored.
    """

    def __init__(self, folder: Path, events: _EventWriter, file: Path) -> None:
        self._folder = folder
        self._file = file
        self._events = events
        self._contents: set[str] = set()
        self._bytes = 0
        self._call = 0
        self._known: dict[tuple[int, int], NDArray[np.uint8]] = {}
        self._ids: dict[tuple[int, int], int] = {}
        self._alive: list[Any] = []

    def write(self, entry: dict[str, Any]) -> None:
        """Write an entry, with the number of the current call as `case`."""
        self._events.write({**entry, "case": self._call})

    def call(self, call: Call, entry: Any) -> list[Any] | None:
        """Call the candidate and log results or error; return the results, None for an error.

        Raises:
            _Failed: the candidate raised an error on the first call, that of the given inputs.
        """
        import torch

        from kvtrace.addons.judge.moves import MoveReporter

        self._call = call.number
        self._ids, self._known, self._alive = {}, {}, []
        passed: list[Any] = [value for value in call.arguments if tensors.is_tensor(value)]
        descriptions = [entry for entry in call.inputs if isinstance(entry, TensorInput)]
        if call.weights and isinstance(entry, torch.nn.Module):
            passed += self._load_weights(call, entry)
            descriptions += call.weights
        for number, (tensor, description) in enumerate(zip(passed, descriptions, strict=False)):
            if tensor is not None:
                self._add_input(number, tensor, description)
        try:
            with torch.set_grad_enabled(call.gradients), MoveReporter(self):
                results = results_of_call(
                    entry,
                    call.arguments,
                    tracked=call.tracked,
                    cotangents=call.cotangents,
                    is_candidate=True,
                )
        except Exception as error:
            if not call.number:  # the given inputs: no other case needs to be tried
                self.write(failure(error, "the candidate fails on the given inputs", self._file))
                raise _Failed from error
            self.write({"raised": _one_line(error)})
            return None
        self.write({"returned": [self._result_entry(result) for result in results]})
        changed = [
            description.name
            for description, tensor in zip(descriptions, passed, strict=False)
            if tensor is not None and self._is_changed(tensor)
        ]
        if changed:
            self.write({"changed": changed})
        return results

    def _load_weights(self, call: Call, entry: Any) -> list[Any]:
        """Load the reference's weights into a model; return the model's tensors in their order.

        Weights are matched by name, and the others by order if all their shapes are equal. None
        stands for a weight without a tensor in the model.
        """
        state = {n: v for n, v in entry.state_dict().items() if tensors.is_tensor(v)}
        weights = {w.name: value for w, value in zip(call.weights, call.values, strict=True)}
        matches = {n: n for n, v in weights.items() if n in state and state[n].shape == v.shape}
        unmatched_weights = [n for n in weights if n not in matches]
        unmatched_tensors = [n for n in state if n not in matches]
        if len(unmatched_weights) == len(unmatched_tensors) and all(
            weights[weight_name].shape == state[tensor_name].shape
            for weight_name, tensor_name in zip(unmatched_weights, unmatched_tensors, strict=True)
        ):
            matches |= dict(zip(unmatched_weights, unmatched_tensors, strict=True))
        entry.load_state_dict({matches[n]: weights[n] for n in matches}, strict=False)
        state = entry.state_dict()
        if len(matches) < len(weights) and len(state) > len(matches):
            self.write({"unplaced": [n for n in weights if n not in matches]})
        return [state.get(matches.get(weight.name)) for weight in call.weights]

    @contextmanager
    def around(self, launch: ExecutedLaunch) -> Iterator[None]:
        """Log a launch with unexplained contents of its storages, and afterwards its effect.

        The launch happens in the block; what it leaves in memory counts as explained.
        """
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
            entries.append(_argument_entry(argument, number))
            if number not in storages:
                storages[number] = argument.storage
                content = self._store_unexplained(argument.storage)
                if content is not None:
                    contents[number] = {"bytes": argument.storage.nbytes, "file": content}
        self.write(
            {
                "launch": launch.kernel, "ttir": digest, "file": launch.file,
                "options": [launch.options.warps, launch.options.triton, launch.options.fuses],
                "grid": launch.grid, "arguments": entries, "contents": contents,
            }
        )  # fmt: skip
        yield
        for storage in storages.values():
            if storage.data is not None and storage.address is not None:
                self._known[storage.address, storage.nbytes] = storage.data.copy()

    def before(self, target: Any) -> None:
        """Log the contents of a tensor before PyTorch writes to it, if they are unexplained."""
        if not self.explained(target):
            self.write(
                {
                    "moved": None,
                    "sources": [self._view_entry(target)],
                    "contents": self._contents_of([target]),
                }
            )

    def moved(self, target: Any, sources: Sequence[Any], picked: Any, fill: float) -> None:
        """Log a move of elements by PyTorch; the target's new contents count as explained.

        Args:
            target: The written tensor.
            sources: The tensors that the elements come from.
            picked: For each element of the target its number among the elements of all sources,
                from 1; 0: `fill`. None: the elements of the only source in order, or `fill`
                everywhere without a source.
            fill: The value of elements without a source.
        """
        other_sources = [source for source in sources if _key(source) != _key(target)]
        entry = {
            "moved": self._view_entry(target), "bytes": target.untyped_storage().nbytes(),
            "sources": [self._view_entry(source) for source in sources], "fill": fill,
            "picked": None if picked is None else self._store_content(tensors.bytes_of(picked)),
            "contents": self._contents_of(other_sources),
        }  # fmt: skip
        self.write(entry)
        self._set_explained(target)

    def explained(self, tensor: Any) -> bool:
        """Return whether a storage's contents are those that logged launches and moves left."""
        key = _key(tensor)
        return key in self._known and not self._is_changed(tensor)

    def made(self, tensor: Any) -> None:
        """Mark a new tensor's contents as unexplained."""
        self._known.pop(_key(tensor), None)

    def _contents_of(self, values: Sequence[Any]) -> dict[int, dict[str, Any]]:
        """Store the unexplained contents of tensors' storages; return size and file by number."""
        contents = {}
        for tensor in values:
            if not self.explained(tensor):
                content = tensors.storage_bytes(tensor)
                number = self._ids.setdefault(_key(tensor), 1000 + len(self._ids))
                contents[number] = {"bytes": len(content), "file": self._store_content(content)}
                self._set_explained(tensor)
        return contents

    def _view_entry(self, tensor: Any) -> dict[str, Any]:
        return {
            "storage": self._ids.setdefault(_key(tensor), 1000 + len(self._ids)),
            "dtype": _dtype(tensor),
            "shape": list(tensor.shape),
            "strides": list(tensor.stride()),
            "offset": tensor.storage_offset(),
        }

    def _set_explained(self, tensor: Any) -> None:
        self._known[_key(tensor)] = np.frombuffer(tensors.storage_bytes(tensor), np.uint8)

    def _add_input(self, number: int, tensor: Any, description: TensorInput) -> None:
        self._ids.setdefault(_key(tensor), number)
        self._set_explained(tensor)
        self._alive.append(tensor)
        assert description.storage * tensor.element_size() == tensor.untyped_storage().nbytes()

    def _number(self, storage: Storage) -> int:
        """Return the number of a storage: inputs' storages have their positions, others 1000 up."""
        assert storage.address is not None
        return self._ids.setdefault((storage.address, storage.nbytes), 1000 + len(self._ids))

    def _store_unexplained(self, storage: Storage) -> str | None:
        """Store a storage's contents and return their digest; None if they are explained."""
        if storage.data is None:
            return None
        explained = self._known.get((storage.address or 0, storage.nbytes))
        if explained is not None and np.array_equal(explained, storage.data):
            return None
        return self._store_content(storage.data.tobytes())

    def _store_content(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self._contents and self._bytes + len(content) <= _MOST_BYTES:
            self._contents.add(digest)
            self._bytes += len(content)
            (self._folder / f"content-{digest}").write_bytes(content)
        return digest

    def _is_changed(self, tensor: Any) -> bool:
        explained = self._known.get(_key(tensor))
        return explained is not None and bytes(explained) != tensors.storage_bytes(tensor)

    def _result_entry(self, value: Any) -> dict[str, Any]:
        if not tensors.is_tensor(value):
            return {"value": value if isinstance(value, int | float | bool) else repr(value)[:200]}
        if self.explained(value):
            return self._view_entry(value)
        content = self._store_content(tensors.bytes_of(value))
        return {"dtype": _dtype(value), "shape": list(value.shape), "content": content}


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _key(tensor: Any) -> tuple[int, int]:
    """Return the address and the size in bytes of a tensor's storage."""
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.nbytes()


def _argument_entry(argument: TensorArgument, number: int) -> dict[str, Any]:
    return {
        "name": argument.name, "storage": number, "offset": argument.offset_bytes,
        "dtype": argument.dtype, "shape": argument.shape, "strides": argument.strides,
        "padding_nan": argument.padding_nan,
    }  # fmt: skip
