"""What libraries ask torch of a GPU with KVTRACE_DEVICE=cpu: answered, or refused in words."""

from pathlib import Path

import pytest

from tests.backends.triton.absent_gpu.programs import Ended, run
from tests.support.tiers import needs
from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()

#: What is asked → what a GPU's answer is true of: `it`.
ASKED = {
    "torch.cuda.is_available()": "it is True",
    "torch.cuda.device_count()": "it == 1",
    "torch.cuda.current_device()": "it == 0",
    "torch.cuda.set_device(0)": "it is None",
    "torch.cuda.get_device_name(0)": "'H100' in it",
    "torch.cuda.get_device_capability()": "it == (9, 0)",
    "torch.cuda.get_device_properties('cuda').L2_cache_size": "it == 50 * 2**20",
    "torch.cuda.get_device_properties(0).multi_processor_count": "it == 132",
    "torch.cuda.get_arch_list()": "it == ['sm_90']",
    "torch.cuda.get_gencode_flags()": "'compute_90' in it",
    "torch.cuda.is_initialized()": "it is True",
    "torch.cuda.is_bf16_supported()": "it is True",
    "torch.cuda.can_device_access_peer(0, 0)": "it is False",
    "torch.cuda.synchronize()": "it is None",
    "torch.cuda.empty_cache()": "it is None",
    "torch.cuda.ipc_collect()": "it is None",
    "torch.cuda.memory_allocated()": "it >= held.nbytes",
    "torch.cuda.max_memory_allocated()": "it >= torch.cuda.memory_allocated()",
    "torch.cuda.memory_reserved()": "it >= held.nbytes",
    "torch.cuda.memory_stats()['allocated_bytes.all.current']": "it >= held.nbytes",
    "torch.cuda.memory_summary()": "'Allocated memory' in it",
    "torch.cuda.memory_snapshot()": "it == []",
    "torch.cuda.reset_peak_memory_stats()": "it is None",
    "torch.cuda.mem_get_info()": "it[1] - it[0] == torch.cuda.memory_allocated()",
    "torch.cuda.current_stream().cuda_stream": "it == 0",
    "torch.cuda.Stream(priority=-1).query()": "it is True",
    "torch.cuda.current_stream().is_capturing()": "it is False",
    "torch.cuda.is_current_stream_capturing()": "it is False",
    "torch._C._cuda_getCurrentRawStream(0)": "it == 0",
    "timed()": "0 <= it < 60_000",
    "entered(torch.cuda._DeviceGuard(0))": "it is None",
    "entered(torch.cuda.device(None))": "it is None",
    "entered(torch.cuda.device_of(held))": "it is None",
    "entered(torch.cuda.stream(torch.cuda.Stream()))": "it is None",
    "entered(torch.cuda.nvtx.range('part'))": "it is None",
    "torch.cuda.default_generators[0].device.type": "it == 'cuda'",
    "torch.cuda.get_rng_state()": "it.dtype == torch.uint8 and it.numel() == 16",
    "torch.cuda.initial_seed()": "it == torch.cuda.default_generators[0].initial_seed()",
    "torch.version.cuda": "float(it) > 11",
    "torch.backends.cuda.is_built()": "it is True",
    "torch.accelerator.current_stream().is_capturing()": "it is False",
    "torch.accelerator.memory_stats()['allocated_bytes.all.current']": "it >= held.nbytes",
    "torch.accelerator.empty_host_cache()": "it is None",
    "torch.nn.DataParallel(torch.nn.Linear(2, 2).cuda())(held).shape": "it == (3, 2)",
    "torch.kaiser_window(9, device='cuda').cpu()": "torch.equal(it, torch.kaiser_window(9))",
}
#: What a GPU would answer, and is refused.
REFUSED = {
    "torch.cuda.CUDAGraph()": "a CUDA graph is captured from a device's stream",
    "torch.cuda.current_blas_handle()": "a handle of cuBLAS belongs to a device",
    "torch.zeros(1, device='cuda:1')": "there is one GPU",
    "torch.cuda.get_device_properties(1)": "there is one GPU",
    "torch.nn.DataParallel(torch.nn.Linear(2, 2), [0, 1])": "there is one GPU",
    "held.untyped_storage().resize_(0)": "cannot be resized to 0",
    "held.to_sparse()": "only dense tensors",
    "torch.sparse_coo_tensor([[0], [1]], [1.0], (2, 2), device='cuda')": "only dense tensors",
    "load_inline('asked', '', 'int x;', build_directory='.')": "CUDA C++ is not compiled",
}
PROGRAM = f"""
import torch
from torch.utils.cpp_extension import load_inline

def entered(context):
    with context:
        return None

def timed():
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    held.sum()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)

held = torch.ones(3, 2, device="cuda")
asked, refused = {ASKED!r}, {REFUSED!r}
for question, is_right in asked.items():
    try:
        it = eval(question)
        seen[question] = "right" if eval(is_right) else repr(it)
    except Exception as error:
        seen[question] = f"{{type(error).__name__}}: {{error}}"
for question in refused:
    try:
        seen[question] = repr(eval(question))
    except Exception as error:
        seen[question] = str(error)
"""


@pytest.fixture(scope="module")
@needs("process")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    folder: Path = tmp_path_factory.mktemp("requests")
    ended = run(folder, PROGRAM, fresh=True, KVTRACE_DEVICE="cpu")
    assert ended.code == 0, ended.errors
    return ended


def test_requests_are_summarized_once_at_the_end(ended: Ended) -> None:
    *_, summary = ended.told
    assert len(ended.told) == 2
    assert "functions of torch were answered" in summary
    assert summary.endswith(
        "refused: torch.cuda.CUDAGraph, torch.cuda.current_blas_handle, cuda:1, "
        "UntypedStorage.resize_, aten::_to_sparse on torch.sparse_coo, "
        "aten::_sparse_coo_tensor_with_dims_and_tensors on Sparse, "
        "extensions in CUDA C++"
    )


@pytest.mark.parametrize("question", ASKED)
def test_a_request_is_answered_as_a_gpu_does(ended: Ended, question: str) -> None:
    assert ended.seen[question] == "right"


@pytest.mark.parametrize("question", REFUSED)
def test_unanswerable_requests_raise_a_sentence(ended: Ended, question: str) -> None:
    answer = ended.seen[question]
    assert REFUSED[question] in answer
    assert "\n" not in answer
