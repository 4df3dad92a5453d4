"""To be run by hand on a machine with NVIDIA GPUs: planted causes of lateness in data parallelism.

    KVTRACE=OUT KVTRACE_MODE=timeline torchrun --nproc-per-node 4 tests/gpu/late_ranks.py TRUTH \
        [--scenarios null,slow_rank] [--repeats 3] [--profile FOLDER]

Runs scenarios of `STEPS` steps each, one after another in one process group, and writes to the
folder TRUTH what was planted, with times that the program measured itself. Hosts are pinned and the
collector is frozen. A mark "step" has the number of the step; after the steps of a repetition one
more, in which nothing is planted, keeps what lies between repetitions apart. check_late_ranks.py
compares what kvtrace says of each with the truth.
"""

import argparse
import gc
import json
import os
import pickle
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import llama
import torch
import torch.distributed as dist
from rank_training import SquaredRelu, squared_relu
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import kvtrace
from kvtrace.capture.api import current

STEPS, LATE_STEPS, SLEEP = 12, (4, 7, 10), 0.05
CONTEXT, BATCH, SMALL_BATCH = 512, 32, 2
SCENARIOS = (
    "null", "slow_rank", "null_host", "slow_rank_host", "late_host", "busy_core", "imbalance",
    "collection", "collection_launch", "collection_recording", "small_buckets", "no_overlap",
)  # fmt: skip


class Recording:
    """A listener of kvtrace's journal that collects garbage in kvtrace's thread, round by round."""

    def __init__(self) -> None:
        self.is_asked = False
        self.times: list[tuple[int, int]] = []

    def row(self, table: str, row: object) -> None: ...
    def launches(self, columns: object, copied: object) -> None: ...
    def finish(self, journal: object) -> None: ...

    def round(self, journal: object) -> None:
        if self.is_asked:
            begin = time.time_ns()
            gc.collect()
            self.times.append((begin, time.time_ns()))


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(llama.WIDTH, 4 * llama.WIDTH, bias=False)
        self.down = nn.Linear(4 * llama.WIDTH, llama.WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(SquaredRelu.apply(self.up(x)))


def network() -> nn.Module:
    llama.LAYERS = 4
    llama.FeedForward = FeedForward
    return llama.Llama().to("cuda", torch.bfloat16)


class Rank:
    def __init__(self, profile: Path | None) -> None:
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.profile = profile
        self.bare = network()
        self.model = DistributedDataParallel(self.bare, device_ids=[self.rank])
        self.small = DistributedDataParallel(network(), device_ids=[self.rank], bucket_cap_mb=0.25)
        self.optimizers = {
            id(model): torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
            for model in (self.model, self.small)
        }
        sizes = (SMALL_BATCH, SMALL_BATCH * 3 // 2, BATCH, BATCH * 3 // 2)
        self.words = {
            size: torch.randint(llama.WORDS, (size, CONTEXT + 1), device="cuda") for size in sizes
        }
        self.flat = torch.cat([p.detach().reshape(-1) for p in self.bare.parameters()])
        self.heap: list[Any] = []
        self.recording = Recording()
        session = current()
        if session is not None:
            session.listen(self.recording)

    def batch(self, scenario: str, step: int) -> torch.Tensor:
        small = (scenario.endswith("_host") and scenario != "late_host") or scenario == "busy_core"
        size = SMALL_BATCH if small else BATCH
        more = (scenario.startswith("slow_rank") and self.rank == 2) or (
            scenario == "imbalance" and step % self.world == self.rank
        )
        return self.words[size * 3 // 2 if more else size]

    def step(self, scenario: str, step: int) -> dict[str, float]:
        model = self.small if scenario == "small_buckets" else self.model
        begin = time.perf_counter()
        if scenario == "late_host" and self.rank == 1 and step in LATE_STEPS:
            time.sleep(SLEEP)
        if scenario == "collection" and self.rank == 0 and step in LATE_STEPS:
            gc.collect()
        if scenario == "collection_launch" and self.rank == 0 and step in LATE_STEPS:
            self.collect_in_launch()
        words = self.batch(scenario, step)
        called = time.perf_counter()
        if scenario == "no_overlap":
            with model.no_sync():
                loss = model(words[:, :-1], words[:, 1:])
                launched = time.perf_counter()
                loss.backward()
            flat = torch.cat([p.grad.view(-1) for p in model.parameters()])
            dist.all_reduce(flat)
        else:
            loss = model(words[:, :-1], words[:, 1:])
            launched = time.perf_counter()
            loss.backward()
        optimizer = self.optimizers[id(model)]
        optimizer.step()
        optimizer.zero_grad()
        queued = time.perf_counter()
        loss.item()
        return {
            "before": called - begin, "forward": launched - called,
            "rest": queued - launched, "step": time.perf_counter() - begin,
        }  # fmt: skip

    def collect_in_launch(self) -> None:
        def grid(_meta: object) -> tuple[int]:
            gc.collect()
            return (1,)

        x = self.flat[:1024]
        squared_relu[grid](x, torch.empty_like(x), 1024, BLOCK=1024)

    def bandwidth(self) -> dict[str, float]:
        """Return bytes and median ms of an AllReduce of all gradients, which all begin together."""
        times = []
        for _ in range(9):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            dist.barrier()
            torch.cuda._sleep(2_000_000)
            begin.record()
            dist.all_reduce(self.flat)
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end))
        size = self.flat.numel() * self.flat.element_size()
        return {"bytes": size, "ms": sorted(times)[len(times) // 2]}

    def alone(self, size: int) -> float:
        """Return the median device time, in ms, of a step without collectives."""
        words, times = self.words[size], []
        for _ in range(7):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda.synchronize()
            torch.cuda._sleep(60_000_000)  # launches come before the device begins
            begin.record()
            with self.model.no_sync():
                self.model(words[:, :-1], words[:, 1:]).backward()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end))
        self.model.zero_grad()
        return sorted(times)[len(times) // 2]

    def run(self, scenario: str) -> dict[str, Any]:
        spinner, cores = None, os.sched_getaffinity(0)
        if scenario == "busy_core" and self.rank == 3:
            core = {min(cores)}
            bare = {name: text for name, text in os.environ.items() if name != "KVTRACE"}
            spinner = subprocess.Popen([sys.executable, "-c", "while True: pass"], env=bare)
            os.sched_setaffinity(spinner.pid, core)
            pin(core)
        if scenario.startswith("collection") and self.rank == 0:
            self.heap = [[i] for i in range(1_500_000)]
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        steps, number = [], STEPS
        if scenario == "collection_recording":  # a round of the journal takes 0.5 s
            number, self.recording.is_asked, self.recording.times = 4 * STEPS, self.rank == 0, []
        for step in range(number):
            with kvtrace.mark("step", number=step, scenario=scenario):
                steps.append({"began": time.time_ns(), **self.step(scenario, step)})
        self.recording.is_asked = False
        with kvtrace.mark("step", number=number, scenario="between"):
            self.step("null", number)
            torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        if spinner is not None:
            spinner.kill()
            pin(cores)
        self.heap = []
        time.sleep(0.2)
        return {"scenario": scenario, "steps": steps, "collections": self.recording.times}


def pin(cores: set[int]) -> None:
    for task in Path("/proc/self/task").iterdir():
        with suppress(ProcessLookupError):
            os.sched_setaffinity(int(task.name), cores)


def profiled(rank: Rank, folder: Path, scenario: str) -> None:
    from torch.profiler import ProfilerActivity, profile

    folder.mkdir(parents=True, exist_ok=True)
    dist.barrier()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        for step in range(6):
            rank.step(scenario, step)
            seen.step()
        torch.cuda.synchronize()
    seen.export_chrome_trace(str(folder / f"{scenario}_rank{rank.rank}.pt.trace.json.gz"))


def flight_record(file: Path) -> None:
    dump = pickle.loads(torch._C._distributed_c10d._dump_nccl_trace(True, False, False))
    file.write_text(json.dumps(dump, default=str))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("truth", type=Path)
    parser.add_argument("--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--profile", type=Path)
    options = parser.parse_args()
    options.truth.mkdir(parents=True, exist_ok=True)
    local, world = int(os.environ["LOCAL_RANK"]), int(os.environ["WORLD_SIZE"])
    cores = sorted(os.sched_getaffinity(0))
    share = len(cores) // world
    pin(set(cores[local * share : (local + 1) * share]))
    torch.cuda.set_device(local)
    torch.manual_seed(0)
    dist.init_process_group("nccl")
    rank = Rank(options.profile)
    scenarios = options.scenarios.split(",")
    for scenario in ("null", "slow_rank", "slow_rank_host", "small_buckets", "no_overlap"):
        for step in range(4):  # warm-up
            rank.step(scenario, step)
    gc.collect()
    gc.freeze()
    gc.disable()
    truth: dict[str, Any] = {"rank": local, "runs": []}
    truth["alone_ms"] = {size: rank.alone(size) for size in rank.words}
    truth["all_reduce"] = rank.bandwidth()
    truth["buckets"] = {
        name: model._get_ddp_logging_data().get("rebuilt_bucket_sizes", "")
        for name, model in (("null", rank.model), ("small_buckets", rank.small))
    }
    dist.barrier()
    for scenario in scenarios:
        for repeat in range(options.repeats):
            if options.profile:
                profiled(rank, options.profile, scenario)
            else:
                truth["runs"].append({"repeat": repeat, **rank.run(scenario)})
    (options.truth / f"rank{local}.json").write_text(json.dumps(truth, default=str))
    try:
        flight_record(options.truth / f"flight{local}.json")
    except Exception as error:  # not in every torch
        print("flight recorder:", error)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
