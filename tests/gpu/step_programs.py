"""Ordinary programs that mark their steps, to see whether steps are found without the marks.

    KVTRACE=OUT KVTRACE_MODE=timeline python tests/gpu/step_programs.py NAME

runs one of `PROGRAMS` on a GPU. `tests/figures/record_step_programs.py` runs them without one.
`trainer`, `lightning` and `accelerate` need the packages of these names.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

Work = Callable[[], Any]


@dataclass(frozen=True)
class Machine:
    """The device of programs, marks of their steps, and graphs.

    Attributes:
        device: Where tensors are.
        mark: Called at the begin of each step.
        graph: Captures what a function launches, and returns what replays it.
    """

    device: str
    mark: Work
    graph: Callable[[Work], Work]


WIDTH, HEADS, LAYERS, WORDS = 64, 4, 2, 256


class Block(nn.Module):
    """A layer of a decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor, cache: list[Tensor] | None = None) -> Tensor:
        """Return the layer's output; keys and values are appended to the cache."""
        shape = (*x.shape[:2], HEADS, WIDTH // HEADS)
        q, k, v = (t.view(shape).transpose(1, 2) for t in self.qkv(self.norms[0](x)).chunk(3, -1))
        is_causal = x.shape[1] > 1
        if cache is not None:
            k, v = (
                (torch.cat([old, new], 2) for old, new in zip(cache, (k, v), strict=True))
                if cache
                else (k, v)
            )
            cache[:] = [k, v]
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
        x = x + self.out(seen.transpose(1, 2).reshape(x.shape))
        return x + self.down(functional.gelu(self.up(self.norms[1](x))))


class Decoder(nn.Module):
    """A small language model."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, words: Tensor, caches: list[list[Tensor]] | None = None) -> Tensor:
        """Return logits."""
        x = self.embed(words)
        for number, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[number])
        return self.head(self.norm(x))

    def loss(self, words: Tensor) -> Tensor:
        """Return the mean loss of the next words."""
        return functional.cross_entropy(self(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())


def batches(machine: Machine, number: int, length: int = 33) -> Iterator[Tensor]:
    """Yield batches from the host."""
    for _ in range(number):
        yield torch.randint(WORDS, (4, length)).to(machine.device)


def adam(model: nn.Module) -> torch.optim.Optimizer:
    """Return an optimizer as it is on a GPU."""
    return torch.optim.AdamW(model.parameters(), 1e-3, foreach=True)


def accumulation(machine: Machine) -> None:
    """Train with gradients of four batches; the loss is logged each fifth step."""
    model = Decoder().to(machine.device)
    optimizer = adam(model)
    for step in range(40):
        machine.mark()
        losses = []
        for batch in batches(machine, 4):
            losses.append(model.loss(batch) / 4)
            losses[-1].backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % 5 == 4:
            print(step, sum(loss.item() for loss in losses))


def slow_loader(machine: Machine) -> None:
    """Train on a DataLoader that takes 30 ms longer for each tenth batch."""

    class Words(torch.utils.data.IterableDataset[Tensor]):
        def __iter__(self) -> Iterator[Tensor]:
            for number in range(60):
                time.sleep(0.03 * (number % 10 == 9))
                yield torch.randint(WORDS, (4, 33))

    model = Decoder().to(machine.device)
    optimizer = adam(model)
    for batch in torch.utils.data.DataLoader(Words(), batch_size=None):
        machine.mark()
        optimizer.zero_grad()
        model.loss(batch.to(machine.device)).backward()
        optimizer.step()


def graph_by_hand(machine: Machine) -> None:
    """Train by one graph that has the whole step; the loss is logged each tenth step."""
    model = Decoder().to(machine.device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, foreach=True,
                                  capturable=machine.device == "cuda")  # fmt: skip
    words = torch.randint(WORDS, (4, 33)).to(machine.device)
    loss = torch.zeros((), device=machine.device)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        new = model.loss(words)
        new.backward()
        optimizer.step()
        loss.copy_(new.detach())

    replay = machine.graph(step)
    for number, batch in enumerate(batches(machine, 100)):
        machine.mark()
        words.copy_(batch)
        replay()
        if number % 10 == 9:
            print(number, loss.item())


def graphs_of_inductor(machine: Machine) -> None:
    """Train as with torch.compile(mode="reduce-overhead"): a graph for forward, one for backward.

    The optimizer is not compiled. Without a GPU, the graphs are those of `machine`.
    """
    model = Decoder().to(machine.device)
    optimizer = adam(model)
    loss_of: Callable[[Tensor], Tensor] = model.loss
    if machine.device == "cuda":
        loss_of = torch.compile(model.loss, mode="reduce-overhead")
    else:
        words = torch.randint(WORDS, (4, 33))
        forward = machine.graph(lambda: model.loss(words))
        backward = machine.graph(lambda: model.loss(words).backward())
        gradients = [weight.grad for weight in model.parameters()]

        class Compiled(torch.autograd.Function):
            @staticmethod
            def forward(_: Any, batch: Tensor, weight: Tensor) -> Tensor:
                words.copy_(batch)
                forward()
                return weight.sum()

            @staticmethod
            def backward(_: Any, gradient: Tensor) -> tuple[None, None]:
                gradient.clone()
                backward()
                for weight, of_weight in zip(model.parameters(), gradients, strict=True):
                    weight.grad = of_weight
                return None, None

        loss_of = lambda batch: Compiled.apply(batch, model.norm.weight)  # noqa: E731
    for number, batch in enumerate(batches(machine, 60)):
        machine.mark()
        loss = loss_of(batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if number % 20 == 19:
            print(number, loss.item())


@torch.no_grad()
def generation(machine: Machine) -> None:
    """Answer prompts of many lengths, one after another: a step is a prefill, or a token."""
    model = Decoder().to(machine.device)
    for prompt, tokens in ((40, 30), (17, 21), (64, 44), (25, 12), (33, 37), (48, 26)):
        caches: list[list[Tensor]] = [[] for _ in range(LAYERS)]
        words = torch.randint(WORDS, (1, prompt)).to(machine.device)
        for _ in range(tokens):
            machine.mark()
            logits = model(words, caches)[:, -1] / 0.8
            best, places = logits.topk(20)
            chosen = torch.multinomial(best.softmax(-1), 1)
            words = places.gather(1, chosen)
            words.item()


@torch.no_grad()
def serving(machine: Machine) -> None:
    """Serve requests that come and go; a step is the prefill of one, or a token of each."""
    model = Decoder().to(machine.device)
    arrivals = random.Random(3)
    left: list[int] = []
    for number in range(120):
        machine.mark()
        arrived = len(left) < 4 and arrivals.random() < 0.3
        if arrived or not left:
            left.append(8 + number % 9)
            words = torch.randint(WORDS, (1, 24))
        else:
            left = [tokens - 1 for tokens in left if tokens > 1]
            words = torch.randint(WORDS, (len(left) or 1, 1))
        logits = model(words.to(machine.device))[:, -1]
        if not arrived:  # the first token is the best one, and later ones are drawn
            logits = (logits / 0.7).softmax(-1)
        chosen = logits.argmax(-1) if arrived else torch.multinomial(logits, 1)
        chosen.sum().item()


class Denoiser(nn.Module):
    """A small network of convolutions with skips."""

    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, 32), nn.SiLU(), nn.Linear(32, 32))
        sizes = ((4, 32), (32, 32), (32, 32), (64, 32), (64, 32))
        self.layers = nn.ModuleList(nn.Conv2d(*size, 3, padding=1) for size in sizes)
        self.norms = nn.ModuleList(nn.GroupNorm(4, 32) for _ in sizes)
        self.out = nn.Conv2d(32, 4, 3, padding=1)

    def forward(self, x: Tensor, moment: Tensor) -> Tensor:
        """Return the noise in x."""
        at = self.time(moment)[:, :, None, None]
        kept: list[Tensor] = []
        for number, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            x = torch.cat([x, kept.pop()], 1) if number > 2 else x
            x = functional.silu(norm(layer(x)) + at)
            kept.append(x)
        return self.out(x)


@torch.no_grad()
def diffusion(machine: Machine) -> None:
    """Sample three images of 40 steps, with guidance, and decode each."""
    model = Denoiser().to(machine.device)
    decode = nn.Sequential(*(nn.Sequential(nn.ConvTranspose2d(4, 4, 2, 2), nn.SiLU())
                             for _ in range(3))).to(machine.device)  # fmt: skip
    for _ in range(3):
        x = torch.randn(1, 4, 16, 16).to(machine.device)
        for step in range(40):
            machine.mark()
            moment = torch.full((2, 1), step / 40, device=machine.device)
            plain, guided = model(torch.cat([x, x]), moment).chunk(2)
            noise = plain + 3 * (guided - plain)
            x = x - 0.02 * noise + 0.01 * torch.randn_like(x)
        decode(x).clamp(-1, 1).add(1).mul(127.5).to(torch.uint8).cpu()


def adversarial(machine: Machine) -> None:
    """Train a generator and a discriminator in turn, an optimizer each."""
    maker = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                          nn.Linear(64, 32), nn.Tanh()).to(machine.device)  # fmt: skip
    judge = nn.Sequential(nn.Linear(32, 64), nn.LeakyReLU(), nn.Linear(64, 1)).to(machine.device)
    optimizers = adam(maker), adam(judge)
    target = functional.binary_cross_entropy_with_logits
    for number in range(80):
        machine.mark()
        true = torch.randn(32, 32).to(machine.device)
        fake = maker(torch.randn(32, 16, device=machine.device))
        optimizers[1].zero_grad()
        right, wrong = judge(true), judge(fake.detach())
        (target(right, torch.ones_like(right)) + target(wrong, torch.zeros_like(wrong))).backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        fooled = judge(fake)
        loss = target(fooled, torch.ones_like(fooled))
        loss.backward()
        optimizers[0].step()
        if number % 20 == 0:
            print(number, loss.item())


def recurrent(machine: Machine) -> None:
    """Train a cell over sequences of many lengths: each step has another number of kernels."""
    cell, head = nn.GRUCell(32, 32).to(machine.device), nn.Linear(32, 1).to(machine.device)
    model = nn.ModuleList([cell, head])
    optimizer = torch.optim.SGD(model.parameters(), 1e-2, momentum=0.9, foreach=True)
    lengths = random.Random(5)
    for _ in range(50):
        machine.mark()
        length = lengths.randrange(4, 13)
        x = torch.randn(length, 8, 32).to(machine.device)
        state = torch.zeros(8, 32, device=machine.device)
        for row in x:
            state = cell(row, state)
        optimizer.zero_grad()
        head(state).square().mean().backward()
        optimizer.step()


class Rows(torch.utils.data.Dataset[dict[str, Tensor]]):
    """Random rows for the training of packages."""

    def __init__(self, number: int) -> None:
        self.words = torch.randint(WORDS, (number, 32))

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, row: int) -> dict[str, Tensor]:
        return {"input_ids": self.words[row], "labels": self.words[row]}


def llama() -> nn.Module:
    """Return transformers' Llama, small."""
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(
        vocab_size=WORDS, hidden_size=WIDTH, intermediate_size=2 * WIDTH, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
    ))  # fmt: skip


def trainer(machine: Machine) -> None:
    """Run transformers' Trainer: logs each 10 steps, evaluates each 25, and saves each 30."""
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Marks(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            machine.mark()

    arguments = TrainingArguments(
        tempfile.mkdtemp(), max_steps=60, per_device_train_batch_size=4, logging_steps=10,
        eval_strategy="steps", eval_steps=25, save_steps=30, report_to=[], disable_tqdm=True,
        use_cpu=machine.device == "cpu", optim="adamw_torch_fused",
    )  # fmt: skip
    Trainer(llama(), arguments, train_dataset=Rows(256), eval_dataset=Rows(16),
            callbacks=[Marks()]).train()  # fmt: skip


def lightning(machine: Machine) -> None:
    """Run Lightning's Trainer: logs each 10 steps, validates each 30."""
    from lightning import LightningModule, Trainer

    class Module(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = Decoder()

        def training_step(self, batch: dict[str, Tensor], _: int) -> Tensor:
            loss = self.model.loss(batch["input_ids"])
            self.log("loss", loss)
            return loss

        def validation_step(self, batch: dict[str, Tensor], _: int) -> None:
            self.log("valid", self.model.loss(batch["input_ids"]))

        def on_train_batch_start(self, *_: Any) -> None:
            machine.mark()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return adam(self)

    train, valid = (torch.utils.data.DataLoader(Rows(n), batch_size=4) for n in (240, 16))
    Trainer(
        max_epochs=1, log_every_n_steps=10, val_check_interval=30, gradient_clip_val=1.0,
        accelerator=machine.device.replace("cuda", "gpu"), enable_progress_bar=False, logger=False,
        enable_checkpointing=False, enable_model_summary=False,
    ).fit(Module(), train, valid)  # fmt: skip


def accelerate(machine: Machine) -> None:
    """Train by accelerate, with a schedule, gathered losses and clipped gradients."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=machine.device == "cpu")
    model = llama()
    optimizer = torch.optim.SGD(model.parameters(), 1e-2, momentum=0.9, foreach=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 60)
    loader = torch.utils.data.DataLoader(Rows(240), batch_size=4, shuffle=True)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    for number, batch in enumerate(loader):
        machine.mark()
        loss = model(**batch).loss
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if number % 15 == 14:
            print(number, accelerator.gather(loss).mean().item())


PROGRAMS: dict[str, Callable[[Machine], None]] = {
    program.__name__: program
    for program in (
        trainer, lightning, accelerate, accumulation, graphs_of_inductor, graph_by_hand,
        generation, slow_loader, diffusion, serving, adversarial, recurrent,
    )
}  # fmt: skip


def graph_of_gpu(work: Work) -> Work:
    """Capture a CUDA graph after three runs on a side stream."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def main() -> None:
    import kvtrace

    torch.manual_seed(0)
    PROGRAMS[sys.argv[1]](Machine("cuda", lambda: kvtrace.mark("step"), graph_of_gpu))
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
