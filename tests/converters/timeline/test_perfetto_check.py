"""`convert perfetto --check`: the package's own client, asking the engine that tests have."""

import shutil
import sys
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from kvtrace.cli import main
from kvtrace.converters.registry import load_converter
from kvtrace.converters.timeline.perfetto_check import check_file
from kvtrace.schema.trace import resolve
from tests.engine.shell import executable
from tests.support.synthetic_trace import build_synthetic_trace

FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    return executable(tmp_path_factory.mktemp("engine"))


def converted(trace, tmp_path):
    file = tmp_path / "file"
    load_converter("perfetto").convert(resolve(str(trace)), file, {})
    return file


@pytest.mark.process
@pytest.mark.parametrize("name", ["llama_graphs", "llama_ranks", "decoding"])
def test_what_was_recorded_on_an_h200_is_in_the_file(shell, tmp_path, capsys, name):
    trace = tmp_path / name
    shutil.copytree(FIXTURES / name, trace)

    code = main(
        ["convert", "perfetto", str(trace), "-o", str(tmp_path / "file"), "--check",
         "--set", f"trace_processor={shell}"]
    )  # fmt: skip

    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    launches = resolve(str(trace)).table("launches", ["seq"]).num_rows
    assert f"checked in Perfetto's trace processor: launch, {launches:,} slices of " in out
    assert "checked in Perfetto's trace processor: gpu, " in out


@pytest.mark.process
def test_hostile_names_and_slices_of_every_shape_compare_equal(shell, tmp_path):
    trace = build_synthetic_trace(tmp_path / "out", runs=2, launches=200)

    found = check_file(converted(trace.path, tmp_path), resolve(str(trace.path)), str(shell))

    assert found.differences == ()
    assert len(found.compared) == 5


@pytest.mark.process
def test_missing_or_shortened_slice_is_reported(shell, tmp_path):
    # given a file without the last end of the launches' sequence, and one more mark
    trace = build_synthetic_trace(tmp_path / "out", runs=1, launches=50, hostile=False)
    file = converted(trace.path, tmp_path)
    read = pb.Trace.FromString(file.read_bytes())
    spans = [packet for packet in read.packet if packet.track_event.type]
    launches = [packet for packet in spans if packet.track_event.debug_annotations]
    launches[-1].track_event.name_iid = launches[0].track_event.name_iid
    last = max(i for i, packet in enumerate(read.packet) if packet.track_event.type == 2)
    read.packet[last].timestamp += 7
    file.write_bytes(read.SerializeToString())

    found = check_file(file, resolve(str(trace.path)), str(shell))

    assert any(" ns in the file, " in each for each in found.differences)


@pytest.mark.process
def test_differences_end_the_command_with_1(shell, tmp_path, capsys, monkeypatch):
    trace = build_synthetic_trace(tmp_path / "out", runs=1, launches=50, hostile=False)
    monkeypatch.setattr("kvtrace.converters.timeline.perfetto.encode_instants", lambda *_: iter(()))

    code = main(
        ["convert", "perfetto", str(trace.path), "-o", str(tmp_path / "file"), "--check",
         "--set", f"trace_processor={shell}"]
    )  # fmt: skip

    err = capsys.readouterr().err
    assert code == 1
    assert (
        "the file differs from the tables: message 'launcher-not-seen': 0 slices of 0 ns in the "
        in err
    )


def test_missing_package_raises_a_one_sentence_error(tmp_path, capsys, monkeypatch):
    trace = build_synthetic_trace(tmp_path / "out", runs=1, launches=5)
    monkeypatch.setitem(sys.modules, "perfetto.trace_processor", None)

    code = main(["convert", "perfetto", str(trace.path), "-o", str(tmp_path / "file"), "--check"])

    assert code == 2
    assert capsys.readouterr().err == (
        "kvtrace: --check needs Perfetto's trace processor: install kvtrace[perfetto], or leave "
        "out --check\n"
    )


def test_engine_that_fails_to_start_raises_a_one_sentence_error(tmp_path, capsys):
    trace = build_synthetic_trace(tmp_path / "out", runs=1, launches=5)

    code = main(
        ["convert", "perfetto", str(trace.path), "-o", str(tmp_path / "file"), "--check",
         "--set", f"trace_processor={tmp_path}/none"]
    )  # fmt: skip

    err = capsys.readouterr().err
    assert code == 2
    assert err.startswith("kvtrace: Perfetto's trace processor does not start (")
    assert err.count("\n") == 1


def test_the_setting_check_is_0_or_1(tmp_path, capsys):
    trace = build_synthetic_trace(tmp_path / "out", runs=1, launches=5)

    assert main(["convert", "perfetto", str(trace.path), "--set", "check=yes"]) == 2
    assert "must be 0 or 1, not 'yes'" in capsys.readouterr().err
