"""`cached_property` without a lock: works a value out once for each instance."""

import threading

from kvtrace.schema.cached_property import cached_property


class Counted:
    def __init__(self):
        self.times = 0

    @cached_property
    def value(self):
        """Say what it is."""
        self.times += 1
        return [self.times]


def test_cached_property_is_computed_once_per_instance():
    first, second = Counted(), Counted()
    assert first.value is first.value
    assert first.times == 1
    assert second.value == [1]
    assert second.value is not first.value
    assert Counted.value.__doc__ == "Say what it is."


def test_threads_that_read_a_cached_property_at_once_get_one_value():
    class Slow:
        @cached_property
        def value(self):
            both.wait()
            return object()

    both, slow, found = threading.Barrier(2), Slow(), []
    threads = [threading.Thread(target=lambda: found.append(slow.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1]
