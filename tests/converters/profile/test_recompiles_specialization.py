"""What a variant is compiled for, as facts that mean the same in another environment."""

import pytest

from kvtrace.converters.profile.recompiles import specialization

ROW = dict.fromkeys(("target", "warp_size", "num_warps", "num_ctas", "num_stages"))


def options(**values):
    return specialization({**ROW, "signature": None, "options": list(values.items())})


@pytest.mark.parametrize(
    "folder",
    ["/home/user/a b/site-packages/triton/lib/", "/opt/venv/lib/", "C:\\\\Users\\\\x\\\\lib\\\\"],
)
def test_library_paths_are_shown_without_the_installation_folder(folder):
    given = options(extern_libs=f"[['libdevice', '{folder}libdevice.10.bc']]")
    assert given == {"option extern_libs": "[['libdevice', '…/libdevice.10.bc']]"}


def test_versions_and_hashes_are_not_listed_for_a_variant():
    assert options(triton_version="3.6.0", hash="ab12") == {}


@pytest.mark.parametrize("value", ["", "sm_90a", "a/b", "['tf32', 'ieee']", "1 / 2", "0.5/x"])
def test_options_that_are_not_paths_are_not_shortened(value):
    assert options(choice=value) == {"option choice": value}


def test_another_library_is_a_difference():
    assert options(extern_libs="/a/one.bc") != options(extern_libs="/a/other.bc")
