"""Cases of torchao's and bitsandbytes' kernels."""

import torch
import triton

from benchmarks.invariance.batch import Batch, Results, case

FP8 = torch.float8_e4m3fn


@case("torchao", "rows", "BLOCK_K is 128; BLOCK_M and BLOCK_N by autotuning")
def fp8_gemm_1x128_128x128(batch: Batch) -> Results:
    from torchao.prototype.blockwise_fp8_training import kernels as module

    a, b = batch.per_row(256), batch.shared(128, 256)
    a, b = (a * a * a).clamp(-400, 400).to(FP8), b.to(FP8).T
    out = torch.empty(batch.rows, 128)
    one, two = batch.per_row(2), batch.shared(2, 1)
    grid = lambda meta: (triton.cdiv(batch.rows, meta["BLOCK_SIZE_M"]),  # noqa: E731
                         triton.cdiv(128, meta["BLOCK_SIZE_N"]))  # fmt: skip
    module.triton_fp8_gemm_1x128_128x128_kernel[grid](
        a, *a.stride(), b, *b.stride(), out, *out.stride(), one, *one.stride(), two, *two.stride(),
        batch.rows, 128, 256, BLOCK_SIZE_K=128, out_dtype=torch.float32,
    )  # fmt: skip
    return {"c": batch.observed(out)}


@case("torchao", "rows", "a maximum per group of 128 columns: no sum")
def fp8_blockwise_act_quant(batch: Batch) -> Results:
    from torchao.kernel.blockwise_quantization import fp8_blockwise_act_quant as function

    out, scale = function(batch.per_row(256))
    return {"y": batch.observed(out.view(torch.uint8)), "scale": batch.observed(scale)}


@case("torchao", "rows", "int32 accumulation is exact; scales multiply once")
def scaled_int8_mm(batch: Batch) -> Results:
    from torchao.prototype.quantized_training.int8_mm import scaled_int8_mm_cuda as function

    a = (batch.per_row(128) * 30).to(torch.int8)
    b = (batch.shared(64, 128) * 30).to(torch.int8).T
    return {"c": batch.observed(function(a, b, batch.per_row(), batch.shared(64)))}


@case("bitsandbytes", "rows", "a maximum per block of 64 elements: no sum")
def quantize_8bit_blockwise(batch: Batch) -> Results:
    from bitsandbytes.backends.triton.kernels_8bit_quant import quantize_blockwise_triton

    code = torch.linspace(-1, 1, 256)
    out, absmax = quantize_blockwise_triton(batch.per_row(256), code, 64)
    return {"out": batch.observed(out), "absmax": batch.observed(absmax.view(batch.rows, 4))}


@case("bitsandbytes", "rows", "elementwise: no sum")
def dequantize_8bit_blockwise(batch: Batch) -> Results:
    from bitsandbytes.backends.triton.kernels_8bit_quant import dequant_8bit_blockwise

    out = (batch.per_row(256).abs() * 60).to(torch.uint8)
    got = dequant_8bit_blockwise(
        out, batch.per_row(4).flatten(), torch.linspace(-1, 1, 256), 64, torch.float32
    )
    return {"out": batch.observed(got.view(batch.rows, 256))}


@case("bitsandbytes", "rows", "a maximum per block of 64 elements, then a search: no sum")
def quantize_nf4_blockwise(batch: Batch) -> Results:
    from bitsandbytes.backends.triton.kernels_4bit import quantize_4bit_blockwise_triton as function

    x, count = batch.per_row(256), batch.rows * 256
    absmax, out = torch.empty(batch.rows * 4), torch.empty(count // 2, 1, dtype=torch.uint8)
    function(x, 64, "nf4", batch.rows * 4, absmax, count, out)
    return {
        "out": batch.observed(out.view(batch.rows, 128)),
        "absmax": batch.observed(absmax.view(-1, 4)),
    }
