"""A small model with attention between projections, as training programs have it."""

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS = 32, 4


class Attention(nn.Module):
    """Self-attention; its four projections are modules of their own."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(WIDTH, WIDTH, bias=False))

    def forward(self, x: torch.Tensor) -> Any:
        """Return a tensor of x's shape (batch, tokens, width)."""
        projections = (self.q_proj, self.k_proj, self.v_proj)
        q, k, v = (p(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for p in projections)
        merged = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        return self.o_proj(merged.reshape(x.shape))


class Block(nn.Module):
    """A transformer block."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.self_attn = nn.LayerNorm(WIDTH), Attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 64), nn.SiLU(), nn.Linear(64, WIDTH))

    def forward(self, x: torch.Tensor) -> Any:
        """Return a tensor of x's shape (batch, tokens, width)."""
        x = x + self.self_attn(self.norm(x))
        return x + self.mlp(x)


class Model(nn.Module):
    """Two blocks and a loss."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Block(), Block()])

    def forward(self, x: torch.Tensor) -> Any:
        """Return the loss of a batch (batch, tokens, width)."""
        for layer in self.layers:
            x = layer(x)
        return x.square().mean()
