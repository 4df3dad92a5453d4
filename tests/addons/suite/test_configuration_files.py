"""Files of configurations to try, with grids as expressions, and those that vLLM reads."""

import json

import pytest

from kvtrace.addons.suite.configuration_files import (
    CannotTry,
    computed,
    file_of,
    read_configurations,
    write_files,
)
from kvtrace.converters.scripts.launching import Call, Tensor

DEVICE = "NVIDIA H100 80GB HBM3"
NAME = "E=8,N=512,device_name=NVIDIA_H100_80GB_HBM3.json"


@pytest.mark.parametrize(
    ("extent", "value"),
    [
        (7, 7),
        ("cdiv(n, BLOCK)", 16),
        ("cdiv(n, BLOCK) * 2 + n % 3 - n // 100", 23),
        ("min(n, max(BLOCK, 80))", 80),
    ],
)
def test_extent_is_a_number_or_an_expression(extent, value):
    assert computed(extent, {"n": 1000, "BLOCK": 64}) == value


@pytest.mark.parametrize(
    "extent",
    [
        "rows",
        "n / 2",
        "cdiv(n)",
        "n.real",
        "__import__('os')",
        "n if n else 1",
        "n //",
        "n // 0",
        1.5,
    ],
)
def test_other_expressions_are_refused(extent):
    with pytest.raises(CannotTry, match="cannot be computed"):
        computed(extent, {"n": 1000})


def test_file_is_read_by_kernel(tmp_path):
    path = tmp_path / "configs.json"
    content = {"scale": {"space": {"BLOCK": [64]}, "grid": ["cdiv(n, BLOCK)"]}}
    path.write_text(json.dumps(content))

    assert read_configurations(path) == content


@pytest.mark.parametrize("text", ["[]", '{"scale": []}', '{"scale": {"space": []}}', "{", '"x"'])
def test_file_of_another_form_is_refused(tmp_path, text):
    path = tmp_path / "configs.json"
    path.write_text(text)

    with pytest.raises(CannotTry, match=r"configs\.json (is no file of configurations|cannot be)"):
        read_configurations(path)


def experts(*, second=False, tokens=16, kernel="fused_moe_kernel", **values):
    """A call for 8 experts of 2 chosen, hidden size 256 and intermediate size 512."""
    shapes = {
        "a_ptr": (2 * tokens, 512) if second else (tokens, 256),
        "b_ptr": (8, 256, 512) if second else (8, 1024, 256),
        "c_ptr": (tokens, 2, 256 if second else 1024),
    }
    arguments = {name: Tensor(name, "bfloat16", shape, shape, 0) for name, shape in shapes.items()}
    arguments |= {"top_k": 1 if second else 2, "MUL_ROUTED_WEIGHT": second, "BLOCK_SIZE_M": 16}
    return Call(kernel, (1, 1, 1), {}, {}, arguments | values, None, "source", "")


def test_both_products_of_a_layer_have_the_same_file_and_batch_size():
    assert file_of(experts(), DEVICE) == (NAME, 16)
    assert file_of(experts(second=True), DEVICE) == (NAME, 16)


@pytest.mark.parametrize(
    ("values", "ending"),
    [
        ({"use_fp8_w8a8": True}, ",dtype=fp8_w8a8.json"),
        ({"use_int8_w8a16": True}, ",dtype=int8_w8a16.json"),
        (
            {"use_fp8_w8a8": True, "group_n": 128, "group_k": 64},
            ",dtype=fp8_w8a8,block_shape=[128,64].json",
        ),
    ],
)
def test_name_has_the_quantization(values, ending):
    assert file_of(experts(**values), DEVICE) == (NAME.replace(".json", ending), 16)


def test_all_h200_share_a_name_and_other_kernels_have_no_file():
    assert file_of(experts(), "NVIDIA H200 NVL")[0] == "E=8,N=512,device_name=NVIDIA_H200.json"
    assert file_of(experts(kernel="mine"), DEVICE) is None


def test_batch_sizes_are_added_to_those_that_a_file_has(tmp_path):
    (tmp_path / NAME).write_text(json.dumps({"1": {"BLOCK_SIZE_M": 8}, "16": {}}))
    tuned = [(experts(), {"BLOCK_SIZE_N": 64, "num_warps": 8}), (experts(kernel="mine"), {})]

    assert write_files(tmp_path, DEVICE, tuned) == [tmp_path / NAME]

    assert json.loads((tmp_path / NAME).read_text()) == {
        "1": {"BLOCK_SIZE_M": 8},
        "16": {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 64, "num_warps": 8},
    }
