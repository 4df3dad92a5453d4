"""Why CUPTI is not there, in a sentence."""

import pytest
import torch

from kvtrace.backends.cupti.library import CuptiUnavailable, _check_device, _load_driver


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ({"hip": "6.4"}, "built for ROCm"),
        ({"xpu": "20250101"}, "built for Intel's devices"),
        ({}, "a build for the CPU alone"),
    ],
)
def test_timeline_error_names_what_torch_is_built_for(
    monkeypatch: pytest.MonkeyPatch, version: dict[str, str], words: str
) -> None:
    for name, value in ({"cuda": None, "hip": None, "xpu": None} | version).items():
        monkeypatch.setattr(torch.version, name, value, raising=False)
    with pytest.raises(CuptiUnavailable, match=words):
        _check_device()


def test_missing_driver_beside_an_installed_toolkit_is_told_in_a_sentence() -> None:
    with pytest.raises(CuptiUnavailable, match=r"is not installed here \(libabsent\.so\.1: "):
        _load_driver("libabsent.so.1")
