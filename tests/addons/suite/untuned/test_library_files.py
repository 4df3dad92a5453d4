"""What recordings note of libraries' files of configurations, and the calls that it is for."""

import pytest

from kvtrace.addons.suite.untuned.library_files import (
    CODE,
    SGLANG_EXPERTS,
    VLLM_EXPERTS,
    VLLM_PRODUCTS,
    files_of,
    formula_of,
    lookups,
    lookups_for,
    noted,
)

MODULE = VLLM_EXPERTS.modules[0]


def message(args, result, function="get_moe_configs", module=MODULE):
    return {"code": CODE, "text": noted(module, function, args, result)}


def test_kernels_belong_to_the_library_that_defines_them():
    assert files_of("fused_moe_kernel", "vllm.fused_moe") is VLLM_EXPERTS
    assert files_of("fused_moe_kernel", "sglang.srt.fused_moe") is SGLANG_EXPERTS
    assert files_of("fused_moe_kernel", "mine") is None
    assert files_of("other", "vllm.fused_moe") is None


def test_notes_are_read_again_with_the_batch_sizes_of_a_file():
    (without, with_file) = lookups(
        [
            message((4, 128, None), None),
            {"code": "hot-path", "text": "a.b(1, 2): no file"},
            message((8, 64, "fp8_w8a8"), {16: {}, 1: {}}),
        ]
    )

    assert (without.arguments, without.batches) == ("4, 128, None", ())
    assert (with_file.arguments, with_file.batches) == ("8, 64, 'fp8_w8a8'", (1, 16))


@pytest.mark.parametrize(
    ("shape", "is_for"),
    [
        ([4, 256, 512], True),  # w1: E, 2 N, K
        ([4, 512, 128], True),  # w2: E, K, N
        ([4, 512, 64], True),  # w2 of two 4-bit values in a byte
        ([8, 256, 512], False),
        ([4, 128, 512], False),
    ],
)
def test_weights_of_experts_select_the_lookup(shape, is_for):
    found = lookups([message((4, 128, None), None)])

    assert bool(lookups_for(VLLM_EXPERTS, {"b_ptr": {"shape": shape}}, found)) == is_for


def test_products_are_selected_by_their_sizes_and_not_by_another_library():
    module, function = VLLM_PRODUCTS.modules[0], VLLM_PRODUCTS.function
    found = lookups([message((256, 512, 128, 128), None, function, module)])
    sizes = {"N": {"scalar": "256"}, "K": {"scalar": "512"}}

    assert lookups_for(VLLM_PRODUCTS, sizes, found) == found
    assert lookups_for(VLLM_PRODUCTS, sizes | {"K": {"scalar": "64"}}, found) == []
    assert lookups_for(SGLANG_EXPERTS, {"b_ptr": {"shape": [256, 2, 512]}}, found) == []


def test_formula_of_liger_has_to_give_block_and_warps():
    module = "liger_kernel.ops.rms_norm"

    assert "(2816)" in str(formula_of(module, {"BLOCK_SIZE": 4096, "n_cols": 2816}, 8))
    assert formula_of(module, {"BLOCK_SIZE": 4096, "n_cols": 2816}, 4) is None
    assert formula_of(module, {"BLOCK_SIZE": 2048, "n_cols": 2816}, 8) is None
    assert formula_of("mine", {"BLOCK_SIZE": 4096, "n_cols": 2816}, 8) is None
