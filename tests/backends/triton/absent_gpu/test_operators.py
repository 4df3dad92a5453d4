"""Tensors on the absent GPU know that they are: as torch's own do on a GPU."""

import pytest

from tests.backends.triton.absent_gpu.programs import KERNEL, Ended, run
from tests.support.tiers import needs
from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()

PROGRAM = f"""
import copy, io, pickle, warnings
import torch
from torch import nn
{KERNEL}
def refused(call):
    try:
        call()
    except Exception as error:
        return f"{{type(error).__name__}}: {{error}}"

# 1. what an operator gives is on the GPU, and is not copied to it again
x = torch.arange(6.0, device="cuda")
made = x * 2
made.cuda().add_(1)
made.to("cuda").add_(1)
made.to(torch.device("cuda", 0)).add_(1)
seen["kept"] = made.tolist() == [2 * n + 3 for n in range(6)]
seen["itself"] = [each.cuda() is each for each in (made, made[1:], x.view(2, 3).t(), x.sum())]
leaf = (x + 1).requires_grad_()
seen["leaf"] = [leaf.cuda().is_leaf, leaf.cuda() is leaf]
(leaf.cuda() ** 2).sum().backward()
seen["gradient"] = [str(leaf.grad.device), leaf.grad.tolist() == (2 * (x + 1)).tolist()]

# 2. the device is part of the tensor
host = torch.ones(3)
seen["said"] = [x.is_cuda, host.is_cuda, str(x.device), x.device.index, x.get_device()]
seen["said"].append(x.type())
seen["printed"] = repr(torch.zeros(2, device="cuda"))
alike = [torch.empty_like(x), x.new_ones(2), x.clone(), x[x > 2], x.cpu().cuda()]
seen["alike"] = sorted({{str(each.device) for each in alike}})
back = x.cpu()
back += 1
seen["copied"] = [str(back.device), x[0].item(), back[0].item(), host.cpu() is host]
at_once = x.to("cpu", torch.int64, non_blocking=True, copy=True)
seen["at once"] = [str(at_once.device), at_once.tolist(), x.to("cuda", non_blocking=True) is x]
seen["mixed"] = [refused(lambda: x[:3] + host), refused(lambda: host.add_(x[:3]))]
seen["scalars"] = (x[:3] * torch.tensor(2.0)).tolist()
seen["numpy"] = refused(x.numpy)
seen["index"] = x[torch.tensor([1, 2])].tolist()
pinned = [torch.empty(2, pin_memory=True), host.pin_memory()]
seen["pinned"] = [
    [each.is_pinned() for each in pinned], host.is_pinned(), refused(x.pin_memory),
    pinned[0].pin_memory() is pinned[0],
]
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(host), pin_memory=True)
seen["loader"] = [part[0].is_pinned() for part in loader]
with torch.device("cuda"):
    seen["context"] = str(torch.ones(1).device)
torch.set_default_device("cuda")
seen["default"] = str(nn.Linear(1, 1).weight.device)
torch.set_default_device(None)

# 3. what programs do with them
torch.manual_seed(3)
net = nn.Sequential(nn.Conv2d(2, 2, 3, groups=2), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 2))
twin = copy.deepcopy(net).cuda()
seen["copy"] = [str(each.device) for each in (copy.deepcopy(x), copy.deepcopy(twin[3]).weight)]
given = torch.randn(4, 2, 4, 4)
for kind in (torch.optim.AdamW, torch.optim.Adam, torch.optim.RMSprop, torch.optim.SGD):
    for each, data in ((net, given), (twin, given.cuda())):
        optimizer = kind(each.parameters(), lr=0.01)
        each(data).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
seen["trained"] = all(
    torch.allclose(a, b.cpu(), atol=1e-6) for a, b in zip(net.parameters(), twin.parameters())
)
buffer = io.BytesIO()
torch.save(twin.state_dict(), buffer)
saved = buffer.getvalue()
loads = [torch.load(io.BytesIO(saved), map_location=place) for place in (None, "cpu")]
seen["loaded"] = [str(each["3.weight"].device) for each in loads]
seen["pickled"] = str(pickle.loads(pickle.dumps(x)).device)
net.load_state_dict(twin.state_dict())
q = torch.randn(1, 2, 5, 8, device="cuda", requires_grad=True)
attended = nn.functional.scaled_dot_product_attention(q, q, q)
attended.sum().backward()
on_cpu = nn.functional.scaled_dot_product_attention(*[q.detach().cpu()] * 3)
seen["attention"] = torch.allclose(attended.detach().cpu(), on_cpu, atol=1e-5)
out = torch.empty(0, device="cuda")
torch.add(x, 1, out=out)
seen["out"] = [str(out.device), out.tolist() == (x + 1).tolist()]
grown = torch.ones(2, device="cuda").resize_(3)
seen["grown"] = [str(grown.device), grown[:2].tolist()]
whole = torch.arange(4.0, device="cuda")
part = whole[:3]
with warnings.catch_warnings():  # of an output that has elements and another size
    warnings.simplefilter("ignore")
    torch.add(torch.ones(2, device="cuda"), 1, out=whole)
seen["shrunk"] = [whole.tolist(), part.tolist()]
seen["resized in place"] = refused(lambda: torch.ones((), device="cuda").addr_(x[:2], x[:3]))
seen["shared"] = refused(lambda: whole.resize_(5))
seen["float8"] = str(x.to(torch.float8_e4m3fn).float().device)
complex_ = torch.tensor([[1 + 2j, 3 - 4j], [5j, 6 + 0j]])
lazy = complex_.cuda().conj()
seen["conjugated"] = [
    lazy.tolist() == complex_.conj().tolist(),
    lazy.imag.tolist() == (-complex_.imag).tolist(),
    lazy.t().clone().tolist() == complex_.conj().t().tolist(),
    torch.equal((lazy @ lazy).cpu(), complex_.conj() @ complex_.conj()),
    lazy.clone().conj_physical_().tolist() == complex_.tolist(),
]
zeros = x.clone().requires_grad_()
(zeros.sgn() ** 2).sum().backward()
seen["zeros"] = zeros.grad.tolist()
seen["numbers"] = [(x.long() & 2**32 - 1).tolist(), (x.long()[5] | 2).item(), str(
    (x.to(torch.uint8)[5] | 2).dtype)]
halves = x.half().requires_grad_()
wide = halves.softmax(0, dtype=torch.float32)
wide.square().sum().backward()
wide_on_cpu = halves.detach().float().cpu().requires_grad_()
wide_on_cpu.softmax(0).square().sum().backward()
seen["half to float"] = [
    torch.equal(wide.cpu(), wide_on_cpu.softmax(0)), str(halves.grad.dtype),
    torch.equal(halves.grad.cpu(), wide_on_cpu.grad.half()),
]
rows = x.half().view(2, 3)
seen["wide product"] = torch.mm(rows, rows.t(), out_dtype=torch.float32).tolist()
seen["counted"] = torch.histc(x.long(), bins=3, min=0, max=5).tolist()
outer = torch.func.vmap(torch.func.grad(lambda v: (v * v).sum()))(x.view(2, 3))
seen["functional"] = outer.tolist() == (2 * x.view(2, 3)).tolist()
sequence, seen["recurrent"] = torch.randn(5, 2, 4), []
for kind in (nn.LSTM, nn.GRU, nn.RNN):
    of_host = kind(4, 3)
    of_device = copy.deepcopy(of_host).cuda()
    for each, data in ((of_host, sequence), (of_device, sequence.cuda())):
        each(data)[0].pow(2).sum().backward()
    seen["recurrent"] += [
        torch.allclose(a.grad, b.grad.cpu(), atol=1e-5)
        for a, b in zip(of_host.parameters(), of_device.parameters())
    ]
torch.manual_seed(5)
drawn = torch.rand(3)
torch.manual_seed(5)
torch.rand(9, device="cuda")
nn.functional.dropout(x)
seen["draws"] = torch.equal(drawn, torch.rand(3))

from torch import distributed
distributed.init_process_group("nccl", store=distributed.HashStore(), rank=0, world_size=1)
sent = torch.ones(2, device="cuda")
distributed.broadcast(sent, 0, async_op=True).wait()
distributed.all_reduce(sent)
seen["reduced"] = [str(sent.device), sent.tolist()]
def in_parallel():
    wrapped = nn.parallel.DistributedDataParallel(nn.Linear(2, 1).cuda(), device_ids=[0])
    wrapped(sent[None]).sum().backward()
    seen["parallel"] = wrapped.module.weight.grad.tolist()
seen["parallel refused"] = refused(in_parallel)
distributed.destroy_process_group()

# 4. what a kernel takes
class Pointer:
    def __init__(self, tensor):
        self.tensor, self.dtype = tensor, tensor.dtype

    def data_ptr(self):
        return self.tensor.data_ptr()

pointed = torch.zeros(8, device="cuda")
add_one[(1,)](Pointer(pointed[2:]), 4, BLOCK=8)
seen["pointed"] = pointed.tolist()
seen["on the host"] = refused(lambda: add_one[(1,)](host, 3, BLOCK=4))
add_one[(1,)](pinned[0], 2, BLOCK=4)
"""


@pytest.fixture(scope="module")
@needs("process")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    ended = run(tmp_path_factory.mktemp("there"), PROGRAM, fresh=True, KVTRACE_DEVICE="cpu")
    assert ended.code == 0, ended.errors
    return ended


#: What the program found → what a GPU gives.
AS_ON_A_GPU = {
    "kept": True,
    "itself": [True] * 4,
    "leaf": [True, True],
    "gradient": ["cuda:0", True],
    "said": [True, False, "cuda:0", 0, 0, "torch.cuda.FloatTensor"],
    "printed": "tensor([0., 0.], device='cuda:0')",
    "alike": ["cuda:0"],
    "copied": ["cpu", 0.0, 1.0, True],
    "at once": ["cpu", [0, 1, 2, 3, 4, 5], True],
    "scalars": [0.0, 2.0, 4.0],
    "index": [1.0, 2.0],
    "loader": [True] * 3,
    "context": "cuda:0",
    "default": "cuda:0",
    "copy": ["cuda:0", "cuda:0"],
    "trained": True,
    "loaded": ["cuda:0", "cpu"],
    "pickled": "cuda:0",
    "attention": True,
    "out": ["cuda:0", True],
    "grown": ["cuda:0", [1.0, 1.0]],
    "shrunk": [[2.0, 2.0], [2.0, 2.0, 2.0]],
    "float8": "cuda:0",
    "conjugated": [True] * 5,
    "zeros": [0.0] * 6,
    "numbers": [[0, 1, 2, 3, 4, 5], 7, "torch.uint8"],
    "half to float": [True, "torch.float16", True],
    "wide product": [[5.0, 14.0], [14.0, 50.0]],
    "counted": [2, 2, 2],
    "functional": True,
    "recurrent": [True] * 12,
    "draws": True,
    "reduced": ["cuda:0", [1.0, 1.0]],
    "pointed": [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0],
}


@pytest.mark.parametrize("what", AS_ON_A_GPU)
def test_tensors_of_the_absent_gpu_behave_as_on_a_gpu(ended: Ended, what: str) -> None:
    assert ended.seen[what] == AS_ON_A_GPU[what]


def test_tensors_on_two_devices_are_refused(ended: Ended) -> None:
    for error in ended.seen["mixed"]:
        assert error.startswith("RuntimeError: Expected all tensors to be on the same device")
    assert ended.seen["numpy"].startswith("TypeError: can't convert cuda:0 device type tensor")


def test_a_build_for_cuda_refuses_modules_timed_by_cuda_events(ended: Ended) -> None:
    if torch._C._has_cuda:
        assert "times itself by CUDA events" in ended.seen["parallel refused"]
    else:
        assert ended.seen["parallel"] == [[1.0, 1.0]]


def test_tensors_computed_in_place_keep_their_size(ended: Ended) -> None:
    assert "Trying to resize storage that is not resizable" in ended.seen["resized in place"]


def test_shared_memory_cannot_be_resized(ended: Ended) -> None:
    assert "cannot be resized from 16 to 20 bytes while other tensors share" in ended.seen["shared"]


def test_pinned_tensors_are_ordinary_host_memory(ended: Ended) -> None:
    both, plain, of_device, itself = ended.seen["pinned"]
    assert (both, plain, itself) == ([True, True], False, True)
    assert "only dense CPU tensors can be pinned" in of_device


def test_a_kernel_refuses_host_tensors_as_on_a_gpu(ended: Ended) -> None:
    assert "cannot be accessed from Triton (cpu tensor?)" in ended.seen["on the host"]
