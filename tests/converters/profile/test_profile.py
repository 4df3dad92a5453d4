"""`profile`: times are measured, bytes and FLOPs derived, and each is said to be what it is."""

import json
import re

import pytest

from kvtrace.cli import main
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.profile.profile_text import profile_text
from tests.converters.written_trace import Kernel, Launches, Op, add_ops, write_trace
from tests.support.replacing import replace

SCALE = Kernel(
    calls=(
        Launches(number=3, host_us=10, device_us=4),
        Launches(number=1, host_us=30, device_us=8, shape=(500,), scalar="500", grid=(4, 1, 1)),
        Launches(number=9, host_us=1000, device_us=500, phase="autotune"),
    )
)


def load(call_id, bytes_, masked=24):
    values = {"elements": 1024, "masked_off": masked, "bytes": bytes_}
    return Op(call_id, 5, "load", 12, values)


def add(call_id, flops):
    return Op(call_id, 6, "elementwise", 13, {"elements": 1024, "flops": flops})


def profile_of(side, **options):
    return read_profile(side.trace, side.runs, **options)


@pytest.fixture
def replayed(tmp_path):
    side = write_trace(tmp_path / "t", [SCALE, Kernel(name="softmax", calls=())])
    add_ops(side, [load(0, 4000), add(0, 1000), load(1, 2000, masked=0), add(1, 500)])
    return side


def test_measured_times_exclude_autotuning(replayed):
    kernel = profile_of(replayed).kernels[0]
    assert (kernel.launches, kernel.tuning_launches) == (4, 9)
    assert (kernel.measured.host_ns, kernel.measured.compiling_ns) == (50_000, 10_000)
    assert kernel.measured.compiling_launches == 1
    assert kernel.measured.host_median_ns == 10_000
    assert kernel.measured.device_ns == 20_000
    assert kernel.measured.device_median_ns == 4_000
    assert kernel.measured.device_executions == 4
    assert kernel.compile_ns == 2_000_000


def test_derived_work_weighs_each_call_by_its_launches(replayed):
    derived = profile_of(replayed).kernels[0].derived
    assert derived.bytes == 3 * 4000 + 2000
    assert derived.flops == 3 * 1000 + 500
    assert derived.bytes_per_launch == pytest.approx(3500)
    assert derived.intensity == pytest.approx(3500 / 14000)
    assert derived.mask_efficiency == pytest.approx(1 - 3 * 24 / (4 * 1024))
    assert derived.bytes_per_second == pytest.approx(14000 / 20e-6)
    assert derived.unknown_accesses == 0


def test_a_kernel_that_was_compiled_and_not_launched_is_not_in_the_text(replayed):
    profile = profile_of(replayed)
    assert [k.name for k in profile.kernels] == ["scale", "softmax"]
    assert not any("softmax" in line for line in profile_text(profile))


def test_host_time_of_compiling_launches_alone_is_not_called_excluded(replayed):
    profile = profile_of(replayed)
    kernels = tuple(replace(k, measured=replace(k.measured, host_ns=None)) for k in profile.kernels)
    text = " ".join(" ".join(profile_text(replace(profile, kernels=kernels), width=120)).split())
    assert "no host time is shown of 1 launch that compiled or loaded the kernel" in text


def test_every_column_is_under_measured_or_derived(replayed):
    lines = profile_text(profile_of(replayed), full=True, width=120)
    answer, *rest = (" ".join(line.split()) for line in lines)
    assert answer.startswith("GPU busy ")
    header = next(n for n, line in enumerate(rest) if line.startswith("kernel share GPU time"))
    assert not rest[header - 1]
    assert rest[header + 1].startswith("scale 100.0 % 20.0 µs 4 ")
    rest = rest[rest.index("on the device (measured) of executions time share median") :]
    header, scale, *rest = rest
    assert header == "on the device (measured) of executions time share median"
    assert scale == "scale Triton 4 20.0 µs 100.0 % 4 µs"
    second = rest.index("")
    header, scale, empty, derived, work = rest[second + 1 : second + 6]
    assert header == "measured launches host median compile"
    assert scale == "scale 4 50.0 µs 10.0 µs 2 ms"
    told = [" ".join(line.split()) for line in lines]
    text = " ".join(told)
    assert re.search(r"excluded: 9 launches( and .*)? of autotuners and warm-ups", text)
    assert "host time excludes 1 launch that compiled or loaded the kernel" in text
    assert not empty
    assert derived.startswith("derived bytes/launch FLOP/launch")
    assert work == "scale 3.42 KiB 875 13.7 KiB 3.50 K 0.25 98.2 %"


def test_without_replay_the_profile_says_how_to_get_bytes_and_flops(tmp_path):
    side = write_trace(tmp_path / "t", [SCALE])
    profile = profile_of(side)
    assert not profile.replayed
    assert profile.kernels[0].derived.bytes is None
    assert f"kvtrace profile {tmp_path / 't'} --replay" in " ".join(
        " ".join(profile_text(profile)).split()
    )


def test_calls_that_replay_could_not_evaluate_are_counted(tmp_path):
    side = write_trace(tmp_path / "t", [SCALE])
    add_ops(side, [load(0, 4000)])
    profile = profile_of(side)
    assert profile.missing_calls == 1
    assert any("1 launched call not in ops" in line for line in profile_text(profile))


def test_unknown_mask_makes_bytes_a_lower_bound(tmp_path):
    side = write_trace(tmp_path / "t", [SCALE])
    unknown = Op(0, 7, "store", 14, {"elements": 1024, "masked_off": None, "bytes": None})
    add_ops(side, [load(0, 4000), unknown, load(1, 4000)])
    profile = profile_of(side)
    assert profile.kernels[0].derived.unknown_accesses == 1
    for width in (40, 80):  # where a call takes several lines, and one
        lines = profile_text(profile, full=True, width=width)
        assert any(">3.91 KiB" in line for line in lines)


def test_without_times_the_table_has_bytes_and_flops_and_no_dashes(tmp_path):
    side = write_trace(tmp_path / "t", [Kernel()])  # its only launch compiled it
    add_ops(side, [load(0, 4000), add(0, 1000)])
    profile = profile_of(side)
    assert profile.device is not None
    header, row, *notes = (" ".join(line.split()) for line in profile_text(profile))
    assert header == "kernel launches bytes/launch FLOP/launch from"
    assert row == "scale 1 3.91 KiB 1 K kernels.py:10"
    assert not any("roofline" in note for note in notes)
    assert any("roofline" in line for line in profile_text(profile, full=True))


def test_kernels_of_equal_times_are_in_order_of_bytes(tmp_path):
    small = Kernel(name="small", calls=(Launches(number=2),))
    side = write_trace(tmp_path / "t", [small, Kernel(name="large")])
    add_ops(side, [load(0, 2000), add(0, 500), load(1, 8000), add(1, 1000)])
    header, *rows = (" ".join(line.split()) for line in profile_text(profile_of(side)))
    assert header == "kernel host time launches bytes/launch FLOP/launch from"
    assert rows[0] == "large 10.0 µs 1 7.81 KiB 1 K kernels.py:10"
    assert rows[1] == "small 10.0 µs 2 1.95 KiB 500 kernels.py:10"
    assert not any("roofline" in row for row in rows)


def test_without_a_device_timeline_its_columns_are_left_out(tmp_path):
    side = write_trace(tmp_path / "t", [Kernel()])
    profile = profile_of(side)
    assert profile.kernels[0].measured.device_ns is None
    assert "device" not in profile_text(profile)[0]


def test_distinct_calls(replayed):
    calls = profile_of(replayed, calls=True).kernels[0].calls
    assert [(c.grid, c.launches, c.tensors, c.derived.bytes) for c in calls] == [
        ((8, 1, 1), 3, ("x_ptr fp32[1000]", "y_ptr fp32[1000]"), 12_000),
        ((4, 1, 1), 1, ("x_ptr fp32[500]", "y_ptr fp32[500]"), 2_000),
    ]


def test_source_lines(replayed):
    lines = profile_of(replayed, lines=True).lines
    assert [(line.line, line.accesses, line.bytes, line.flops) for line in lines] == [
        (12, "load", 14_000, None),
        (13, "", None, 3_500),
    ]
    assert lines[0].source == "    values = tl.load(x_ptr + offsets, mask=offsets < n)"
    assert lines[0].kernels == ("scale",)


def access(call_id, index, kind, buffer, asked, unique, sectors, masked=0):
    values = {
        "elements": 1024, "masked_off": masked, "bytes": asked, "unique_bytes": unique,
        "sectors": sectors, "buffer": buffer, "dtype": "f32",
    }  # fmt: skip
    return Op(call_id, index, kind, 12 if kind == "load" else 14, values)


def product(call_id, flops):
    return Op(call_id, 9, "dot", 13, {"elements": 64, "flops": flops, "dtype": "bf16"})


MATRIX = Kernel(calls=(Launches(number=4, device_us=10),))


@pytest.fixture
def placed(tmp_path):
    """One call that reads x three times, once whole, and writes y; on an H200."""
    device = {"index": 0, "name": "NVIDIA H200", "capability": "9.0", "memory_bytes": 1}
    side = write_trace(tmp_path / "t", [MATRIX], devices=[device])
    ops = [
        access(0, 5, "load", "x_ptr", 96_000_000, 4_800_000, 3_000_000),
        access(0, 6, "load", "x_ptr", 2_400_000, 2_400_000, 75_000),
        access(0, 7, "store", "y_ptr", 4_800_000, 4_800_000, 600_000),
        product(0, 989_500_000),
        Op(0, 10, "elementwise", 13, {"elements": 64, "flops": 6_700_000, "dtype": "f32"}),
    ]
    add_ops(side, ops)
    return side


def test_distinct_bytes_are_counted_once_per_buffer_and_direction(placed):
    derived = profile_of(placed).kernels[0].derived
    assert derived.unique_bytes == 4 * (4_800_000 + 4_800_000)
    assert derived.reuse == pytest.approx(103_200_000 / 12_000_000)


def test_coalescing_is_requested_bytes_over_bytes_of_touched_sectors(placed):
    profile = profile_of(placed, lines=True)
    assert profile.kernels[0].derived.sector_efficiency == pytest.approx(
        103_200_000 / (32 * 3_675_000)
    )
    by_line = {line.line: line for line in profile.lines}
    assert by_line[14].sector_efficiency == pytest.approx(4_800_000 / (32 * 600_000))
    assert by_line[12].reuse == pytest.approx(98_400_000 / 7_200_000)


def test_flops_are_counted_per_type_and_separately_for_dots(placed):
    by_type = profile_of(placed).kernels[0].derived.flops_by_type
    assert by_type.dot == {"bf16": 4 * 989_500_000}
    assert by_type.other == {"f32": 4 * 6_700_000}


def test_roofline_time_is_compared_with_the_measured_time(placed):
    profile = profile_of(placed, calls=True)
    (kernel,) = profile.kernels
    assert (profile.device.how, profile.device.limits.name) == ("recorded", "H200 SXM")
    assert kernel.roofline.best_ns == pytest.approx(4 * 2000)  # 9.6 MB at 4.8 TB/s, four times
    assert kernel.roofline.compute_ns == pytest.approx(4 * 1000)
    assert kernel.roofline.bound == "memory"
    assert kernel.roofline.achieved == pytest.approx(0.2)  # 2 of 10 us
    assert kernel.calls[0].roofline == kernel.roofline


def test_roofline_of_another_device_can_be_requested(placed, capsys):
    other = profile_of(placed, device="A100")
    assert other.device.how == "given"
    assert other.kernels[0].roofline.best_ns > 4 * 2000
    assert main(["profile", str(placed.trace.path), "--device", "Voodoo2"]) == 2
    assert "Voodoo2" in capsys.readouterr().err


def test_the_text_says_what_is_derived_for_which_device_and_from_which_source(placed):
    lines = profile_text(profile_of(placed), full=True)
    (header,) = [line for line in lines if "at best" in line and line.startswith("derived")]
    assert header.split()[-2:] == ["of", "measured"]
    row = lines[lines.index(header) + 1]
    assert row.split() == ["scale", "9.16", "MiB", "8.6", "x", "87.8", "%", "memory", "2", "µs",
                           "20.0", "%"]  # fmt: skip
    told = " ".join(" ".join(lines).split())
    assert "share of the limits of H200 SXM (4.80 TB/s; NVIDIA H200 data sheet)" in told
    assert max(map(len, lines)) <= 80


def test_without_a_recorded_device_a_default_is_assumed_and_reported(tmp_path):
    side = write_trace(tmp_path / "t", [Kernel()])
    add_ops(side, [access(0, 5, "load", "x_ptr", 4000, 4000, 125)])
    profile = profile_of(side)
    assert (profile.device.how, profile.device.limits.name) == ("assumed", "H100 SXM")
    lines = profile_text(profile, full=True)
    assert "assumed from the compile target" in " ".join(" ".join(lines).split())
    assert not any("of measured" in line for line in lines)


def test_kernel_with_an_unreplayed_call_has_no_roofline_position(tmp_path):
    side = write_trace(tmp_path / "t", [SCALE])
    add_ops(side, [access(0, 5, "load", "x_ptr", 4000, 4000, 125)])
    kernel = profile_of(side, calls=True).kernels[0]
    assert kernel.roofline is None
    assert [call.roofline is None for call in kernel.calls] == [False, True]


def test_variants_and_ranks_of_a_kernel_are_summed_once(tmp_path):
    small = Kernel(calls=(Launches(),))
    for rank in range(2):
        side = write_trace(
            tmp_path / "t", [small, replace(small, block=64)], run_id=f"r{rank}", group_id="job"
        )
    side = replace(side, runs=side.trace.select())
    add_ops(side, [load(0, 100), load(1, 100)])
    profile = profile_of(side, lines=True)
    (kernel,) = profile.kernels
    assert (kernel.launches, kernel.compilations, kernel.derived.bytes) == (4, 4, 400)
    assert profile.lines[0].bytes == 400


def test_the_command_line(replayed, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    path = str(replayed.trace.path)
    assert main(["profile", path, "--calls", "--lines"]) == 0
    out = capsys.readouterr().out
    assert "kernels.py:12" in out
    assert max(map(len, out.splitlines())) <= 80
    assert main(["profile", path, "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["kernels"][0]["measured"]["host_ns"] == 50_000
    assert form["kernels"][0]["derived"]["bytes"] == 14_000
