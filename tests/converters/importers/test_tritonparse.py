"""tritonparse's logs, with the IR of a real compilation: verdicts and repro work on them."""

import json
import re

import pytest
import triton
import triton.language as tl

from kvtrace.cli import main
from kvtrace.converters.importers.importing import import_files
from kvtrace.converters.importers.registry import BadSource
from kvtrace.converters.report.views.lines import op_lines
from kvtrace.ir import source_stack
from kvtrace.recorded_calls.reading import calls_of
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace, resolve
from tests.converters.replayed_trace import context_of
from tests.support.compile_ttir import compile_ttir


@triton.jit
def scaled(x, y, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + lanes, tl.load(x + lanes, lanes < n) * 2, lanes < n)


def tensor(address, size, offset=0):
    return {"type": "tensor", "shape": [size], "dtype": "torch.float32", "device": "cuda:1",
            "stride": [1], "numel": size, "element_size": 4, "storage_offset": offset,
            "data_ptr": hex(address + 4 * offset)}  # fmt: skip


def events(n=1000, fraction="123456"):
    ttir = compile_ttir(scaled, {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"BLOCK": 256})
    metadata = {"name": "scaled", "hash": "abc", "num_warps": 4, "num_ctas": 1, "num_stages": 3,
                "shared": 0, "triton_version": triton.__version__, "cache_hit": True,
                "target": {"backend": "cuda", "arch": 90, "warp_size": 32}}  # fmt: skip
    stack = [{"line": 3, "name": "<module>", "filename": "/p/train.py"},
             {"line": 9, "name": "step", "filename": "/p/train.py"}]  # fmt: skip
    source = "@triton.jit\ndef scaled(x, y, n, BLOCK: tl.constexpr):\n    pass\n"
    compilation = {
        "event_type": "compilation", "pid": 100, "stack": stack,
        "timestamp": f"2026-01-02T03:04:05.{fraction}Z",
        "payload": {
            "metadata": {**metadata, "src_constants": {"(3,)": 256},
                         "src_attrs": {"(0,)": [["tt.divisibility", 16]]}},
            "file_content": {"scaled.ttir": ttir, "scaled.ptx": "//", "scaled.json": "{}"},
            "python_source": {"file_path": "/p/train.py", "start_line": 4, "code": source},
        },
    }  # fmt: skip
    launch = {
        "event_type": "launch", "pid": 100, "name": "scaled", "stream": 7, "grid": [4],
        "compilation_metadata": metadata, "stack": stack,
        "timestamp": f"2026-01-02T03:04:06.{fraction}Z",
        "extracted_args": {
            "x": tensor(0x7F0000000000, 1000), "y": tensor(0x7F0000000000, 1000, 1000),
            "n": {"type": "int", "value": n}, "BLOCK": {"type": "int", "value": 256},
        },
    }  # fmt: skip
    return [compilation, launch, {"event_type": "launch_diff", "name": "scaled"}, launch]


def written(path, lines):
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def imported(folder, lines):
    import_files([written(folder / "log.ndjson", lines)], folder / "out")
    return open_trace(folder / "out")


def test_kernels_calls_and_launches_are_those_of_the_log(tmp_path):
    trace = imported(tmp_path, events())
    (kernel,) = plain_rows(trace.table("kernels"))
    assert (kernel["name"], kernel["target"], kernel["num_warps"]) == ("scaled", "cuda:90", 4)
    assert (kernel["file"], kernel["line"]) == ("/p/train.py", 5)
    assert [each["type"] for each in kernel["signature"]] == ["*fp32", "*fp32", "i32", "constexpr"]
    assert [each["stage"] for each in kernel["stages"]] == ["ttir", "ptx"]
    (call,) = plain_rows(trace.table("calls"))
    x, y, n, block = call["args"]
    assert (x["alias_group"], y["alias_group"], y["offset_bytes"]) == (0, 0, 4000)
    assert x["storage_bytes"] is y["storage_bytes"] is None
    assert (n["scalar"], block["kind"]) == ("1000", "constexpr")
    first, second = plain_rows(trace.table("launches"))
    assert first["enter"] == 1_767_323_046_123_456_000
    assert (first["device"], first["stream"], second["seq"]) == (1, 7, 1)
    (stack,) = plain_rows(trace.table("stacks"))
    assert [frame["line"] for frame in stack["frames"]] == [9, 3]


@pytest.mark.parametrize(("version", "shift"), [("3.7.1", 1), ("3.8.0", 0)])
def test_columns_are_those_of_the_triton_that_wrote_the_log(tmp_path, version, shift):
    lines = events()
    lines[0]["payload"]["metadata"]["triton_version"] = version
    trace = imported(tmp_path, lines)
    (kernel,) = plain_rows(trace.table("kernels"))
    ttir = trace.artifact(kernel["stages"][0]["artifact"]).decode()
    written_columns = {int(found) for found in re.findall(r'\.py":\d+:(\d+)', ttir)}
    (call,) = calls_of(trace, trace.runs[0])
    frames = (frame for op in call.module.ops for frame in source_stack(op))
    columns = {frame.column for frame in frames if frame.column}
    assert columns
    assert columns <= {column + shift for column in written_columns}


def verdicts(folder):
    """Return rule, answer, argument and message of what was judged of accesses."""
    rows = plain_rows(open_trace(folder).table("findings"))
    return sorted(
        (row["rule"], row["verdict"], row["arg"], row["message"])
        for row in rows
        if row["rule"] in ("out-of-bounds", "out-of-view")
    )


def test_imported_calls_are_analyzed(tmp_path, capsys):
    imported(tmp_path, events())
    out = str(tmp_path / "out")
    assert main(["sanitize", out]) == 0
    assert [each[1] for each in verdicts(out)] == ["proven", "proven"]
    assert main(["repro", out, "--call", "0", "-o", str(tmp_path / "r.py")]) == 0
    assert "8000" in (tmp_path / "r.py").read_text(), "the storage that both tensors need"
    capsys.readouterr()
    assert main(["info", out]) == 0
    assert "does not record how large storages are" in capsys.readouterr().out


def test_the_report_shows_figures_beside_the_text_of_the_log(tmp_path):
    imported(tmp_path, events())
    context = context_of(resolve(str(tmp_path / "out")))
    module = context.module(0)
    text = context.stage(0, "ttir")
    assert module is not None
    assert text is not None
    lines = op_lines(module.ops, text)
    (load,) = (op for op in module.ops if op.name == "tt.load")
    assert "tt.load" in text.splitlines()[lines[load.index]]


def test_what_goes_past_the_end_of_a_storage_is_unknown(tmp_path):
    """x is followed by y in one storage, so past x is out of view; past y is not known."""
    imported(tmp_path, events(1001))
    out = tmp_path / "out"
    assert main(["sanitize", str(out)]) == 1
    (_, bounds, arg, message), (_, view, other, _) = verdicts(out)
    assert (bounds, arg, view, other) == ("unknown", "y", "violation", "x")
    assert "the size of the storage of y was not recorded" in message


def test_unknown_accesses_do_not_fail_the_command(tmp_path, capsys):
    compilation, launch, *_ = events(1001)
    launch["extracted_args"]["y"] = tensor(0x7F1000000000, 1000)
    imported(tmp_path, [compilation, launch])
    out = tmp_path / "out"
    assert main(["sanitize", str(out)]) == 0
    assert "error" not in capsys.readouterr().out
    assert [each[1:3] for each in verdicts(out)] == [("unknown", "x"), ("unknown", "y")]
    assert main(["sanitize", "--strict", str(out)]) == 1


def test_timestamps_in_whole_seconds_are_not_launch_times(tmp_path):
    trace = imported(tmp_path, events(fraction="%f"))
    assert [row["enter"] for row in plain_rows(trace.table("launches"))] == [None, None]
    told = [row["text"] for row in plain_rows(trace.table("messages"))]
    assert any("whole seconds" in text for text in told)


def test_a_line_that_was_cut_off_is_counted(tmp_path):
    path = written(tmp_path / "log.ndjson", [*events(), 7])
    path.write_bytes(path.read_bytes()[:-50])
    (run,) = import_files([path], tmp_path / "out")
    assert run.left_out == {"lines that are no event": 1}
    assert open_trace(tmp_path / "out").table("launches").num_rows == 1


def test_a_log_without_a_whole_line_is_refused(tmp_path):
    path = tmp_path / "log.ndjson"
    path.write_bytes(b'{"event_type": "launch", "pid"')
    with pytest.raises(BadSource, match="neither compilations nor launches"):
        import_files([path], tmp_path / "out")
    assert not (tmp_path / "out").exists()
