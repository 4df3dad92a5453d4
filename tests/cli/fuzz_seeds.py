"""Sound traces and files of other tools, which `tests.cli.fuzz` mutates."""

import contextlib
import io
import json
import shutil
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from kvtrace.cli import main
from tests.support import foreign_traces

ROOT = Path(__file__).parents[2]


def write_seeds(folder: Path) -> None:
    """Write the sound traces: recorded ones and their passes, made ones, journals."""
    from tests.schema.flips import write_trace
    from tests.support.synthetic_trace import build_synthetic_trace

    write_trace(folder / "every-table")
    (folder / "every-table" / "trace").rename(folder / "journals")
    shutil.rmtree(folder / "every-table")
    build_synthetic_trace(folder / "hostile", runs=2, launches=20, kernels=6)
    for name in ("device", "train"):
        shutil.copytree(ROOT / "tests" / "fixtures" / "h200" / name, folder / name)
    _quietly("replay", "--client", "tracer", "--client", "profiler", "--client", "sanitizer",
             str(folder / "device"))  # fmt: skip
    if find_spec("tests.addons.graphs"):
        _record_graphs(folder / "graphs")
    if find_spec("tests.addons.check"):
        _record_checks(folder / "checks")


def _quietly(*arguments: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(arguments) == 0


def _record_graphs(out: Path) -> None:
    """Record NumPy functions, with an open journal beside them."""
    import kvtrace
    from tests.addons.graphs.hlo import recorded_program

    with kvtrace.capture(out):
        recorded_program.main()


def _record_checks(out: Path) -> None:
    """Record launches whose memory is kept, and what made a NaN."""
    import torch

    import kvtrace
    from tests.addons.check import bad_kernels
    from tests.backends.compiled_kernels import check_kernels

    with kvtrace.capture(out, check="first,finite"):
        check_kernels.add[(4,)](*[torch.ones(1000) for _ in range(3)], 1000, BLOCK=256)
        bad_kernels.log_of_zero[(4,)](torch.zeros(1000), torch.zeros(1000), 1000, BLOCK=256)
        check_kernels.total[(4,)](torch.ones(1000), torch.zeros(1), 1000, BLOCK=256)
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(("check", str(out))) == 1


def write_files(folder: Path, others: Iterable[Path] = ()) -> None:
    """Write a file of each tool, with tritonparse's of the fixtures, each in a folder of its own.

    `others` are linked beside them.
    """
    writers = {name: write for name, write in vars(foreign_traces).items() if name[:6] == "write_"}
    for name, write in writers.items():
        (folder / name).mkdir(parents=True)
        write(folder / name)
    (folder / "write_tritonparse").mkdir()
    argument = {"type": "tensor", "shape": [8], "stride": [1], "dtype": "torch.float32",
                "device": "cuda:0", "element_size": 4, "storage_offset": 0,
                "data_ptr": "0x7f00"}  # fmt: skip
    metadata = {"name": "k", "hash": "abc", "num_warps": 4, "src_constants": {"(1,)": 8}}
    lines = [
        {"event_type": "compilation", "pid": 1, "payload": {
            "metadata": metadata, "file_content": {"k.ttir": "module {}", "k.ptx": "//"}}},
        {"event_type": "launch", "pid": 1, "name": "k", "stream": 7, "grid": [4],
         "compilation_metadata": metadata, "timestamp": "2026-01-02T03:04:06.123Z",
         "stack": [{"line": 3, "name": "step", "filename": "train.py"}],
         "extracted_args": {"x": argument, "BLOCK": {"type": "int", "value": 8}}},
    ]  # fmt: skip
    log = folder / "write_tritonparse" / "log.ndjson"
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for number, path in enumerate(others):
        (folder / f"other{number:03}").mkdir()
        (folder / f"other{number:03}" / path.name).symlink_to(path.resolve())
