"""Programs of a kernel and its launch, with places for what a version changes."""

from typing import Final

HEAD: Final = "import torch, triton\nimport triton.language as tl\n\n"

TEMPLATES: Final = {
    "elements": """@triton.jit
def k(x, y, z, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    a = tl.load(x + i, mask=m, other=0)
    b = tl.load(y + i, mask=m, other=0)
    c = tl.load(z + i, mask=m, other=0)
%s
    tl.store(out + i, r, mask=m)

def run():
    torch.manual_seed(0)
    x, y, z = (%s for _ in range(3))
    out = torch.zeros(500, dtype=torch.%s)
    k[(4,)](x, y, z, out, 500, B=128)
""",
    "row": """@triton.jit
def k(x, out, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    m = i < n
%s

def run():
    torch.manual_seed(0)
    x = %s
    out = torch.zeros(%s)
    k[(6,)](x, out, %d, B=%d)
""",
    "grid": """@triton.jit
def k(x, out, n, B: tl.constexpr):
    p = tl.program_id(0)
%s
    i = p * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0.0) * 3.0, mask=i < n)

def run():
    torch.manual_seed(0)
    x = torch.randn(%d)
    out = torch.zeros(%d)
    k[(%s,)](x, out, %d, B=%d)
""",
    "product": """@triton.jit
def k(x, y, out, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    a = tl.load(x + at)
    b = tl.load(y + at)
    %s
    tl.store(out + at, r)

def run():
    torch.manual_seed(0)
    x, y = (%s for _ in range(2))
    out = torch.zeros(32, 32, dtype=torch.%s)
    k[(1,)](x, y, out, B=32)
""",
    "program": "%s",
}
