"""Drift of step times is found whatever its shape, and not in noise of any kind."""

import numpy as np
import pytest

from kvtrace.figures.gaps import drift_of

DRAWS = 1_000


def normal(random, number):
    return random.normal(30e6, 5e6, number)


def heavy_tail(random, number):
    return 30e6 * (1 + random.pareto(1.5, number))


def spikes(random, number):
    return np.where(random.random(number) < 0.1, 90e6, random.normal(30e6, 1e6, number))


def alternating(random, number):
    return np.where(np.arange(number) % 3 == 0, 700e6, 1e6) * random.lognormal(0, 0.1, number)


def like_neighbors(random, number):
    """Steps on a machine that others use for a while: neighbors have a correlation of one half."""
    noise = random.normal(0, 1, number)
    for place in range(1, number):
        noise[place] = 0.5 * noise[place - 1] + np.sqrt(0.75) * noise[place]
    return 30e6 * np.exp(0.2 * noise)


NOISES = (normal, heavy_tail, spikes, alternating, like_neighbors)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("number", [10, 30, 100])
def test_noise_drifts_in_less_than_one_of_a_hundred_runs(noise, number):
    random = np.random.default_rng(number)
    runs = (noise(random, number).astype(np.int64).tolist() for _ in range(DRAWS))
    assert sum(drift_of(run) is not None for run in runs) < 0.01 * DRAWS


SHAPES = {
    "evenly": lambda share: 38e6 - 13e6 * share,
    "early": lambda share: 25e6 + 13e6 * np.exp(-share / 0.15),
    "at once": lambda share: np.where(share < 0.5, 38e6, 25e6),
}


@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("slower", [False, True])
def test_a_drift_has_the_medians_of_the_first_and_last_fifth(shape, slower):
    random = np.random.default_rng(0)
    durations = SHAPES[shape](np.linspace(0, 1, 60)) * random.lognormal(0, 0.02, 60)
    durations[[7, 30, 55]] *= 4  # slow steps do not count
    durations = durations.astype(np.int64)[:: 1 if not slower else -1].tolist()

    drift = drift_of(durations)

    assert drift.steps == 12
    assert drift.start_ns == np.median(durations[:12])
    assert drift.end_ns == np.median(durations[-12:])
    assert (drift.end_ns > drift.start_ns) is slower


def test_a_small_drift_few_steps_and_equal_steps_are_no_drift():
    assert drift_of([1000 + step for step in range(60)]) is None
    assert drift_of([1000 + 100 * step for step in range(9)]) is None
    assert drift_of([1000] * 60) is None
    assert drift_of([]) is None


def test_long_runs_drift_like_short_ones():
    assert drift_of([1000 + step for step in range(5_000)]).end_ns > 5_000
