"""Compiled forward passes of torchvision's EfficientNet-B0, one small batch a step.

    python benchmarks/programs/torchvision_forward.py [--steps N] [--json FILE]

Convolutions are cuDNN's; norms, activations and the gates between them are Inductor's Triton
kernels. It needs a CUDA device and `torchvision`; the weights are random.
"""

import stepping
import torch
import torchvision


def main() -> None:
    options = stepping.parser(__doc__.splitlines()[0]).parse_args()
    torch.manual_seed(0)
    model = torchvision.models.efficientnet_b0().to("cuda", torch.bfloat16).eval()
    forward = torch.compile(model)
    images = torch.randn(4, 3, 224, 224, device="cuda", dtype=torch.bfloat16)

    def step() -> None:
        with torch.no_grad():
            forward(images)
        torch.cuda.synchronize()

    stepping.run(step, options)


if __name__ == "__main__":
    main()
