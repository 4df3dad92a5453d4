"""Several clients in one pass: samples, failures, threads and shared observers."""

import threading

import pytest

from kvtrace.cli import main
from kvtrace.clients import Client, on
from kvtrace.clients.running import ClientPass
from kvtrace.evaluate import Observer


class Programs(Client):
    """Asks for the programs `chosen`; records whose accesses it receives."""

    def __init__(self, name, chosen=None):
        self.name = name
        self.chosen = chosen
        self.heard = {}

    def programs(self, extents):
        return self.chosen

    def access(self, access):
        programs = access.parts.programs.tolist()
        self.heard.setdefault(self.call.call_id, set()).update(programs)


def test_only_the_sampling_client_is_limited_to_its_sample(over):
    sampling, whole = Programs("sampling", [3, 1]), Programs("whole")

    outcome, _ = over(sampling, whole)

    assert sampling.heard == {0: {1, 3}, 1: {1, 3}}
    assert whole.heard == {0: {*range(4)}, 1: {*range(6)}}
    assert outcome.notes == ("sampling is based on a sample: 4 of 10 programs of 2 calls",)


def test_a_sampling_clients_files_are_marked_as_a_sample(over):
    from kvtrace.clients.profiler import Profiler

    class Sampled(Profiler):
        name = "sampled"

        def programs(self, extents):
            return range(2)

    _, trace = over(Sampled())

    run_id = trace.run_ids[0]
    assert trace.passes(run_id)["sampled"]["sampled"] == {"calls": 2, "programs": 4, "of": 10}
    executions = {r["executions"] for r in trace.table("ops").to_pylist() if r["kind"] == "store"}
    assert executions == {2}


def test_a_client_that_selects_no_programs_has_no_sample(over):
    """The client wants no evaluation, so its empty tables are not a sample of anything."""
    from kvtrace.clients.profiler import Profiler

    class Idle(Profiler):
        name = "idle"

        def programs(self, extents):
            return ()

    outcome, trace = over(Idle(), Programs("whole"))

    assert outcome.notes == ()
    assert "sampled" not in trace.passes(trace.run_ids[0])["idle"]
    assert trace.table("ops").num_rows == 0


def test_the_sanitizers_files_are_not_marked_as_a_sample(over):
    from kvtrace.clients.sanitizer import Sanitizer

    outcome, trace = over(Sanitizer())

    assert outcome.notes == ()
    (facts,) = trace.passes(trace.run_ids[0]).values()
    assert "sampled" not in facts


def test_a_selection_of_all_programs_is_no_sample(over):
    outcome, _ = over(Programs("whole", [*range(4)]))
    assert "of 6 programs of 1 call" in outcome.notes[0]


@pytest.mark.parametrize("chosen", [[4], [-1], ["x"], [[0, 1], [2]]])
def test_selecting_programs_outside_of_the_grid_fails_the_client(over, chosen):
    outcome, _ = over(Programs("lost", chosen))
    assert "the client lost failed" in str(outcome.errors[0])


def test_every_sample_begins_with_the_recorded_tensors(over):
    """An evaluation writes to tensors; the next one must begin with the recorded contents."""

    class Loaded(Programs):
        def __init__(self, name, chosen=None):
            super().__init__(name, chosen)
            self.sums = []

        @on("tt.load")
        def load(self, event):
            if self.call.call_id == 0:
                self.sums.append(float(event.results[0].sum()))

    first, second, third = Loaded("a"), Loaded("b", [0, 1]), Loaded("c", [2, 3])

    over(first, second, third)

    assert first.sums[0] == pytest.approx(second.sums[0] + third.sums[0])


class Faulty(Client):
    name = "faulty"

    def access(self, access):
        raise ZeroDivisionError("on purpose")


def test_a_client_that_raises_is_reported_and_others_continue(over):
    whole = Programs("whole")

    outcome, trace = over(Faulty(), whole)

    (error,) = outcome.errors
    assert str(error).startswith("the client faulty failed on ZeroDivisionError: on purpose (test_")
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert whole.heard == {0: {*range(4)}, 1: {*range(6)}}
    assert "faulty" not in trace.passes(trace.run_ids[0])


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ({"client_seen": []}, "rows of client_seen, which it does not declare"),
        (None, "failed on TypeError"),
    ],
)
def test_undeclared_rows_fail_the_client(over, rows, text):
    class Undeclared(Client):
        name = "undeclared"

        def finalize(self):
            return rows

    outcome, _ = over(Undeclared())

    assert text in str(outcome.errors[0])


class Total(Observer):
    instances = 0

    def __init__(self):
        type(self).instances += 1
        self.accesses = 0

    def access(self, access):
        self.accesses += 1


class Sharing(Client):
    observers = (Total,)

    def __init__(self, name):
        self.name = name
        self.counts = []

    def post_run(self, call):
        self.counts.append(self.observer(Total).accesses)


def test_observers_are_shared_by_the_clients_of_an_evaluation(over):
    Total.instances = 0
    first, second = Sharing("first"), Sharing("second")

    over(first, second)

    assert Total.instances == 2  # one for each call
    assert first.counts == second.counts
    assert min(first.counts) > 0


def test_failed_is_called_with_the_reason_if_a_call_cannot_be_evaluated():
    class Log(Client):
        def __init__(self):
            self.lines = []

        def failed(self, call, reason):
            self.lines.append((call.kernel, reason))

        def post_run(self, call):
            self.lines.append("post_run")

        def access(self, access):
            self.lines.append("access")

    import torch

    from kvtrace.ir import parse
    from kvtrace.recorded_calls.recorded import Call, UnreadyCall
    from tests.clients import kernels
    from tests.kernels.launching import bind
    from tests.support.compile_ttir import compile_generic

    types = {"source": "*fp32", "result": "*fp32", "size": "i32", "factor": "fp32"}
    text = compile_generic(kernels.scale, types | {"BLOCK": "constexpr"}, {"BLOCK": 16})
    module = parse(text.replace('"math.exp"', '"test.unheard_of"'))
    values = {"source": torch.ones(16), "result": torch.ones(16), "size": 16, "factor": 1.0}
    call = Call(0, "scale", (1, 1, 1), module, tuple(bind(kernels.scale, values)), ())
    log = Log()
    client_pass = ClientPass([log])

    reason = client_pass.run(call)
    client_pass.unready(UnreadyCall(1, "other", "it was recorded without its IR"))

    assert "test.unheard_of" in reason
    assert log.lines == [
        "access",
        ("scale", reason),
        "post_run",
        ("other", "it was recorded without its IR"),
    ]


def test_a_client_that_is_not_thread_safe_is_called_one_at_a_time():
    from kvtrace.clients.running import Member

    class Busy(Client):
        inside = most = 0

        def access(self, access):
            self.inside += 1
            self.most = max(self.most, self.inside)
            threading.Event().wait(0.02)
            self.inside -= 1

    class Free(Busy):
        thread_safe = True

    for kind, most in ((Busy, 1), (Free, 4)):
        client = kind()
        member = Member(client)
        gate = threading.Barrier(4)

        def work(member=member, gate=gate):
            gate.wait()
            member.forwarder.access(None)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert client.most == most


def test_clients_are_selected_by_name(recorded, capsys):
    from kvtrace.schema.trace import open_trace

    assert main(["replay", str(recorded), "--client", "profiler", "--client", "sanitizer"]) == 0
    trace = open_trace(recorded)
    assert set(trace.passes(trace.run_ids[0])) >= {"profiler", "sanitizer"}
    assert "2 of 2 unique calls" in capsys.readouterr().out


def test_an_unknown_client_is_one_sentence_with_all_names(recorded, capsys):
    assert main(["replay", str(recorded), "--client", "painter"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("kvtrace: there is no client 'painter'")
    assert "; clients are tracer, profiler," in message
    assert message.count("\n") == 1
