"""Results of suites, written by hand."""

from kvtrace.addons.suite.results import VERSION, Measured, Result, Trial, summary_of, times_of


def call(name, *rounds, launches=10, share=0.5, recorded=100.0, **fields):
    """A call with these medians of rounds, ns; each round has three launches."""
    measured = Measured(
        name, name.partition("-")[2] or name, f"{name}(x)", launches, share, recorded,
        None if recorded is None else round(recorded * launches), status="timed", clock="device",
    )  # fmt: skip
    measured.time = times_of([[median - 1, median, median + 1] for median in rounds])
    for field, value in fields.items():
        setattr(measured, field, value)
    return measured


def trial(verdict="right", *rounds, **fields):
    times = times_of([[median] for median in rounds])
    return Trial("mine.py:rows", verdict, time=times, **fields)


def result(*calls, weighed_by="device time", device_ns=4000, seed=0):
    suite = {
        "source": {"command": "python train.py <b>"},
        "weighed_by": weighed_by,
        "device_ns": device_ns,
    }
    settings = {"rounds": 5, "seed": seed, "clock": "device", "warm": False}
    gpus = [{"name": "NVIDIA H200", "before": {"clocks.sm": "1980 MHz"}, "after": None}]
    return Result(VERSION, suite, settings, gpus, list(calls), summary_of(suite, calls))
