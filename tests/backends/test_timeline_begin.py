"""When the device timeline begins: with the program's use of the device, not with a launch."""

import torch
import triton  # noqa: F401 - its backend is installed where it is there

import kvtrace


def queued_since(number):
    return [call for call, _ in torch.cuda._queued_calls[number:]]


def test_timeline_waits_for_the_device_and_begins_without_a_launch(tmp_path, capfd):
    before = len(torch.cuda._queued_calls)
    with kvtrace.capture(tmp_path / "out", mode="timeline"):
        (begin,) = queued_since(before)
        assert "timeline" not in capfd.readouterr().err
        begin()  # as torch does when the program first uses the device
    del torch.cuda._queued_calls[before:]

    said = capfd.readouterr().err
    assert "without the timeline" in said, "it was tried, on a machine that has no device"


def test_nothing_begins_after_the_recording_has_ended(tmp_path):
    before = len(torch.cuda._queued_calls)
    with kvtrace.capture(tmp_path / "out", mode="timeline"):
        (begin,) = queued_since(before)
    begin()
    del torch.cuda._queued_calls[before:]

    assert not (tmp_path / "out").exists()


def test_launch_mode_asks_torch_for_nothing(tmp_path):
    before = len(torch.cuda._queued_calls)
    with kvtrace.capture(tmp_path / "out"):
        assert queued_since(before) == []
