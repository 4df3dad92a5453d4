"""vLLM's worker: what is prepared for a step, and what is done with what was sampled.

A batch of four requests of a server that knows of eight: two in prefill, two decoding with two
draft tokens each. What has no reference here is compared with Triton's interpreter.
"""

import torch

from tests.public.case import Outcome, case

REQUESTS, VOCABULARY = 8, 5000
MAPPING = torch.tensor([3, 0, 6, 5], dtype=torch.int32)
QUERY = torch.tensor([0, 40, 57, 60, 63], dtype=torch.int32)
LOGITS = torch.tensor([0, 1, 2, 5, 8], dtype=torch.int32)
EXPANDED = torch.tensor([3, 0, 6, 6, 6, 5, 5, 5], dtype=torch.int32)
LOCAL = torch.tensor([0, 0, 0, 1, 2, 0, 1, 2], dtype=torch.int32)


def computed() -> torch.Tensor:
    done = torch.zeros(REQUESTS, dtype=torch.int32)
    done[torch.tensor([3, 0, 6, 5])] = torch.tensor([0, 30, 70, 90], dtype=torch.int32)
    return done


def prefill() -> torch.Tensor:
    wanted = torch.zeros(REQUESTS, dtype=torch.int32)
    wanted[torch.tensor([3, 0, 6, 5])] = torch.tensor([60, 47, 64, 80], dtype=torch.int32)
    return wanted


def all_tokens() -> torch.Tensor:
    return torch.randint(0, VOCABULARY, (REQUESTS, 128), dtype=torch.int32)


def logits(rows: int = 8, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(rows, VOCABULARY).to(dtype)


def lengths() -> torch.Tensor:
    return torch.tensor([40, 47, 73, 93], dtype=torch.int32)


@case("vllm")
def prepare_prefill_inputs() -> Outcome:
    from vllm.v1.worker.gpu.input_batch import prepare_prefill_inputs as function

    ids = torch.zeros(63, dtype=torch.int32)
    following = torch.zeros(1, REQUESTS, dtype=torch.int32)
    tokens, done = all_tokens(), computed()
    function(ids, following, MAPPING, QUERY, tokens, prefill(), done)
    wanted = torch.zeros(63, dtype=torch.int32)
    wanted[:40], wanted[40:57] = tokens[3, :40], tokens[0, 30:47]
    expected = torch.zeros(REQUESTS, dtype=torch.int32)
    expected[3] = tokens[3, 40]
    return Outcome((ids, following[0]), (wanted, expected))


@case("vllm")
def prepare_pos_seq_lens() -> Outcome:
    from vllm.v1.worker.gpu.input_batch import prepare_pos_seq_lens as function

    positions = torch.zeros(63, dtype=torch.int64)
    ends = torch.ones(REQUESTS, dtype=torch.int32)
    function(MAPPING, QUERY, computed(), positions, ends)
    parts = [torch.arange(40), torch.arange(30, 47), torch.arange(70, 73), torch.arange(90, 93)]
    wanted = torch.tensor([40, 47, 73, 93, 0, 0, 0, 0], dtype=torch.int32)
    return Outcome((positions, ends), (torch.cat(parts), wanted))


@case("vllm")
def combine_sampled_and_draft_tokens() -> Outcome:
    from vllm.v1.worker.gpu.input_batch import combine_sampled_and_draft_tokens as function

    ids = torch.zeros(63, dtype=torch.int32)
    last = torch.randint(0, VOCABULARY, (REQUESTS, 1))
    drafts = torch.randint(0, VOCABULARY, (REQUESTS, 2))
    indices = function(ids, MAPPING, last, QUERY, lengths(), prefill(), drafts, LOGITS, 8)
    wanted = torch.zeros(63, dtype=torch.int32)
    wanted[57], wanted[58:60] = last[6, 0], drafts[6]
    wanted[60], wanted[61:63] = last[5, 0], drafts[5]
    return Outcome((ids, indices), (wanted, torch.tensor([39, 56, 57, 58, 59, 60, 61, 62])))


@case("vllm")
def get_num_sampled_and_rejected() -> Outcome:
    from vllm.v1.worker.gpu.input_batch import get_num_sampled_and_rejected as function

    sampled = torch.tensor([1, 1, 2, 3], dtype=torch.int32)
    got = function(sampled, lengths(), LOGITS, MAPPING, prefill())
    wanted = torch.tensor([0, 1, 2, 3], dtype=torch.int32)
    return Outcome(got, (wanted, torch.tensor([0, 0, 1, 0], dtype=torch.int32)))


@case("vllm")
def post_update() -> Outcome:
    from vllm.v1.worker.gpu.input_batch import post_update as function

    last = torch.zeros(REQUESTS, 1, dtype=torch.int64)
    counts = torch.zeros(REQUESTS, VOCABULARY, dtype=torch.int32)
    tokens, total, done = all_tokens(), prefill(), computed()
    sampled = torch.randint(0, VOCABULARY, (4, 3))
    number = torch.tensor([0, 1, 2, 3], dtype=torch.int32)
    rejected = torch.tensor([0, 0, 1, 0], dtype=torch.int32)
    function(MAPPING, done, last, counts, sampled, number, rejected, QUERY, tokens, total)
    return Outcome((done, last, counts, tokens, total))


@case("vllm")
def post_update_num_computed_tokens() -> Outcome:
    from vllm.v1.worker.gpu.input_batch import post_update_num_computed_tokens as function

    done = computed()
    wanted = done.clone()
    wanted[MAPPING.long()] += QUERY.diff()
    function(MAPPING, done, QUERY)
    return Outcome((done,), (wanted,))


@case("vllm")
def expand_idx_mapping() -> Outcome:
    from vllm.v1.worker.gpu.input_batch import expand_idx_mapping as function

    return Outcome(function(MAPPING, 8, LOGITS, 3), (EXPANDED, LOCAL))


@case("vllm")
def prepare_dcp_local_seq_lens() -> Outcome:
    from vllm.v1.worker.gpu.cp_utils import prepare_dcp_local_seq_lens as function

    local = torch.ones(REQUESTS, dtype=torch.int32)
    function(local, lengths(), 4, 4, 1, 2)
    wanted = [sum(t // 2 % 4 == 1 for t in range(n)) for n in lengths().tolist()]
    return Outcome((local,), (torch.tensor([*wanted, 0, 0, 0, 0], dtype=torch.int32),))


@case("vllm")
def get_num_nans() -> Outcome:
    from vllm.v1.worker.gpu.metrics.logits import get_num_nans as function

    given = logits()
    given[2, 17] = given[2, 4999] = given[7, 0] = float("nan")
    return Outcome((function(given),), (given.isnan().sum(1).int(),))


@case("vllm")
def apply_temperature() -> Outcome:
    from vllm.v1.worker.gpu.sample.gumbel import apply_temperature as function

    given, temperature = logits(), torch.rand(REQUESTS) + 0.5
    temperature[6] = 0
    divisor = temperature.where(temperature > 0, torch.ones(()))[EXPANDED.long(), None]
    wanted = given / divisor
    function(given, EXPANDED, temperature)
    return Outcome((given,), (wanted,))


@case("vllm")
def gumbel_sample() -> Outcome:
    from vllm.v1.worker.gpu.sample.gumbel import gumbel_sample as function

    temperature = torch.rand(REQUESTS)
    seeds = torch.randint(0, 1 << 40, (REQUESTS,))
    return Outcome((function(logits(), EXPANDED, temperature, seeds, torch.arange(8), True),))


@case("vllm")
def gumbel_sample_greedy() -> Outcome:
    from vllm.v1.worker.gpu.sample.gumbel import gumbel_sample as function

    given = logits()
    seeds = torch.randint(0, 1 << 40, (REQUESTS,))
    got = function(given, EXPANDED, torch.zeros(REQUESTS), seeds, torch.arange(8), False)
    return Outcome((got,), (given.argmax(1),))


@case("vllm")
def apply_min_p() -> Outcome:
    from vllm.v1.worker.gpu.sample.min_p import apply_min_p as function

    given, share = logits(), torch.rand(REQUESTS) * 0.1
    share[3] = 0
    chosen = share[EXPANDED.long(), None]
    wanted = given.masked_fill(given < given.amax(1, True) + chosen.log(), float("-inf"))
    function(given, EXPANDED, share)
    return Outcome((given,), (wanted,))


@case("vllm")
def apply_penalties() -> Outcome:
    from vllm.v1.worker.gpu.sample.penalties import apply_penalties as function

    given = logits()
    repetition, frequency, presence = (torch.rand(REQUESTS) + 0.5 for _ in range(3))
    mask = torch.randint(-(1 << 31), 1 << 31, (REQUESTS, 157)).int()
    counts = torch.randint(0, 3, (REQUESTS, VOCABULARY)).int()
    tokens = torch.randint(0, VOCABULARY, (8,))
    function(given, EXPANDED, tokens, LOCAL, repetition, frequency, presence, mask, counts)
    return Outcome((given,))


@case("vllm")
def bincount() -> Outcome:
    from vllm.v1.worker.gpu.sample.penalties import bincount as function

    tokens, filled = all_tokens(), prefill()
    prompt = (filled - 5).clamp(min=0)
    mask = torch.zeros(REQUESTS, 157, dtype=torch.int32)
    counts = torch.zeros(REQUESTS, VOCABULARY, dtype=torch.int32)
    function(MAPPING, tokens, prompt, filled, mask, counts, 80)
    wanted = torch.zeros_like(counts)
    for row in MAPPING.tolist():
        part = tokens[row, prompt[row] : filled[row]].long()
        wanted[row] = torch.bincount(part, minlength=VOCABULARY)
    seen = [bin(word & 0xFFFFFFFF).count("1") for word in mask[3].tolist()]
    distinct = len(set(tokens[3, : prompt[3]].tolist()))
    return Outcome((counts, torch.tensor(sum(seen))), (wanted, torch.tensor(distinct)))


@case("vllm")
def apply_logit_bias() -> Outcome:
    from vllm.v1.worker.gpu.sample.logit_bias import apply_logit_bias as function

    given = logits()
    allowed = torch.randint(0, VOCABULARY, (REQUESTS, 16)).int()
    biased = torch.stack([torch.randperm(VOCABULARY)[:8] for _ in range(REQUESTS)]).int()
    stops = torch.randint(0, VOCABULARY, (REQUESTS, 4)).int()
    counts = (torch.tensor([0, 5, 16, 0, 0, 7, 0, 1]), torch.tensor([8, 0, 3, 1, 0, 0, 8, 2]))
    function(
        given, EXPANDED, torch.arange(8), counts[0].int(), allowed, counts[1].int(), biased,
        torch.randn(REQUESTS, 8), torch.full((REQUESTS,), 4).int(),
        torch.full((REQUESTS,), 3).int(), stops,
    )  # fmt: skip
    return Outcome((given,))


@case("vllm")
def compute_token_logprobs() -> Outcome:
    from vllm.v1.worker.gpu.sample.logprob import compute_token_logprobs as function

    given, tokens = logits(), torch.randint(0, VOCABULARY, (8, 5))
    return Outcome((function(given, tokens),), (given.log_softmax(1).gather(1, tokens),))


@case("vllm")
def ranks_of_tokens() -> Outcome:
    from vllm.v1.worker.gpu.sample.logprob import _ranks_kernel

    given, tokens = logits(), torch.randint(0, VOCABULARY, (8,))
    ranks = torch.empty(8, dtype=torch.int64)
    _ranks_kernel[(8,)](ranks, given, given.stride(0), tokens, VOCABULARY, BLOCK_SIZE=8192)
    return Outcome((ranks,), ((given >= given.gather(1, tokens[:, None])).sum(1),))


@case("vllm")
def apply_bad_words() -> Outcome:
    from vllm.v1.worker.gpu.sample.bad_words import apply_bad_words as function

    given, tokens = logits(), all_tokens()
    words = torch.randint(0, VOCABULARY, (REQUESTS, 12)).int()
    offsets = torch.tensor([0, 2, 5, 6]).repeat(REQUESTS, 1).int()
    total = (prefill() + 1).clamp(min=8)
    words[6, :2] = torch.stack([tokens[6, total[6] - 1], words[6, 1]])
    function(
        given, EXPANDED, words, offsets, torch.full((REQUESTS,), 3).int(), tokens, prefill(),
        total.int(), torch.randint(0, VOCABULARY, (8,)).int(), LOCAL, 3,
    )  # fmt: skip
    return Outcome((given,))


@case("vllm")
def get_prompt_logprobs_token_ids() -> Outcome:
    from vllm.v1.worker.gpu.sample.prompt_logprob import get_prompt_logprobs_token_ids as function

    tokens = all_tokens()
    got = function(63, QUERY, MAPPING, computed(), tokens)
    rows = zip(MAPPING.tolist(), computed()[MAPPING.long()].tolist(), QUERY.diff().tolist(),
               strict=True)  # fmt: skip
    wanted = torch.cat([tokens[row, done + 1 : done + 1 + n] for row, done, n in rows])
    return Outcome((got,), (wanted.long(),))


@case("vllm")
def prepare_rope_positions() -> Outcome:
    from vllm.v1.worker.gpu.mm.rope import _prepare_rope_positions_kernel as kernel

    positions = torch.zeros(3, 64, dtype=torch.int64)
    filled = torch.randint(0, 200, (REQUESTS * 3, 128)).int()
    delta = torch.randint(-5, 5, (REQUESTS,)).int()
    kernel[(4,)](
        positions, positions.stride(0), filled, 3 * 128, 128, delta, MAPPING, QUERY, prefill(),
        computed(), BLOCK_SIZE=1024, NUM_DIMS=3,
    )  # fmt: skip
    return Outcome((positions,))


@case("vllm")
def apply_grammar_bitmask() -> Outcome:
    from vllm.v1.worker.gpu.structured_outputs import _apply_grammar_bitmask_kernel as kernel

    given = logits()
    mask = torch.randint(-(1 << 31), 1 << 31, (2, 157)).int()
    rows = torch.tensor([1, 5]).int()
    wanted = given.clone()
    for number, row in enumerate(rows.tolist()):
        bits = (mask[number, :, None] >> torch.arange(32)) & 1
        wanted[row] = wanted[row].masked_fill(bits.reshape(-1)[:VOCABULARY] == 0, float("-inf"))
    kernel[(2, 1)](given, given.stride(0), rows, mask, mask.stride(0), VOCABULARY, BLOCK_SIZE=8192)
    return Outcome((given,), (wanted,))


@case("vllm")
def gather_block_tables() -> Outcome:
    from vllm.v1.worker.gpu.block_table import _gather_block_tables_kernel as kernel

    tables = [torch.randint(0, 999, (REQUESTS, 20)).int() for _ in range(2)]
    copies = [torch.zeros(REQUESTS, 20).int() for _ in range(2)]
    counts = torch.randint(1, 20, (2, REQUESTS)).int()
    addresses = [torch.tensor([t.data_ptr() for t in ts], dtype=torch.uint64)
                 for ts in (tables, copies)]  # fmt: skip
    kernel[(2, REQUESTS)](
        MAPPING, addresses[0], addresses[1], torch.tensor([20, 20]), counts, counts.stride(0), 4,
        BLOCK_SIZE=1024,
    )  # fmt: skip
    wanted = []
    for table, count in zip(tables, counts.tolist(), strict=True):
        wanted.append(torch.zeros(REQUESTS, 20).int())
        for row, request in enumerate(MAPPING.tolist()):
            wanted[-1][row, : count[request]] = table[request, : count[request]]
    return Outcome(tuple(copies), tuple(wanted))


@case("vllm")
def compute_slot_mapping() -> Outcome:
    from vllm.v1.worker.block_table import _compute_slot_mapping_kernel as kernel

    positions = torch.cat([torch.arange(40), torch.arange(30, 47), torch.arange(70, 73),
                           torch.arange(90, 93)])  # fmt: skip
    table = torch.randint(0, 999, (4, 8)).int()
    slots = torch.zeros(80, dtype=torch.int64)
    kernel[(5,)](
        63, 80, QUERY, positions, table, table.stride(0), 16, slots, TOTAL_CP_WORLD_SIZE=1,
        TOTAL_CP_RANK=0, CP_KV_CACHE_INTERLEAVE_SIZE=1, PAD_ID=-1, BLOCK_SIZE=1024,
    )  # fmt: skip
    row = torch.repeat_interleave(torch.arange(4), QUERY.diff())
    wanted = torch.full((80,), -1)
    wanted[:63] = table[row, positions // 16] * 16 + positions % 16
    return Outcome((slots,), (wanted,))
