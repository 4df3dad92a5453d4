"""Compiled forward passes of a diffusers UNet, as a sampler makes them, one a step.

    python benchmarks/programs/diffusers_forward.py [--steps N] [--json FILE]

`UNet2DModel` at its default layout with narrower blocks, 64 by 64, bf16, random weights. It needs a
CUDA device and `diffusers`.
"""

import stepping
import torch
from diffusers import UNet2DModel


def main() -> None:
    options = stepping.parser(__doc__.splitlines()[0]).parse_args()
    torch.manual_seed(0)
    model = UNet2DModel(
        sample_size=64, block_out_channels=(64, 128, 256, 256), layers_per_block=2,
        down_block_types=("DownBlock2D", "DownBlock2D", "AttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    model = model.to("cuda", torch.bfloat16).eval()
    forward = torch.compile(model)
    noise = torch.randn(2, 3, 64, 64, device="cuda", dtype=torch.bfloat16)
    timestep = torch.tensor(500, device="cuda")

    def step() -> None:
        with torch.no_grad():
            forward(noise, timestep)
        torch.cuda.synchronize()

    stepping.run(step, options)


if __name__ == "__main__":
    main()
