"""Training steps of four ranks with Liger's RMS norm, SwiGLU and cross entropy, without a GPU.

    KVTRACE=out KVTRACE_DEVICE=cpu KVTRACE_TENSORS=int \
        python -m torch.distributed.run --nproc-per-node 4 benchmarks/programs/loss_ranks.py

A tenth of each step's 1,024 targets is ignored (-100), of 16,384 classes; in each of 35 steps they
differ. Gradients are summed over the ranks by gloo, not by DistributedDataParallel, whose timer
needs a device. It needs the PyPI package `liger-kernel`.
"""

import torch
import torch.distributed as dist
from liger_kernel.transformers import LigerCrossEntropyLoss, LigerRMSNorm
from liger_kernel.transformers.functional import liger_swiglu
from torch import Tensor, nn

ROWS, CLASSES, STEPS, WIDTH = 1024, 16384, 35, 64


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = LigerRMSNorm(WIDTH)
        self.gate, self.up = (nn.Linear(WIDTH, WIDTH) for _ in range(2))
        self.head = nn.Linear(WIDTH, CLASSES, bias=False)
        self.loss = LigerCrossEntropyLoss()

    def forward(self, x: Tensor, targets: Tensor) -> Tensor:
        y = self.norm(x)
        return self.loss(self.head(liger_swiglu(self.gate(y), self.up(y))), targets)


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = Model().to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    torch.manual_seed(dist.get_rank())
    x = torch.randn(ROWS, WIDTH, device="cuda")
    for _ in range(STEPS):
        targets = torch.randint(0, CLASSES, (ROWS,), device="cuda")
        targets[torch.randperm(ROWS)[: ROWS // 10]] = -100
        model(x, targets).backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
