"""A Triton driver that compiles for real and launches nothing: for what the hot path costs."""

from types import SimpleNamespace


def use(capability: int = 90) -> None:
    """Make Triton use it. Device 0, stream 0, launches that return at once."""
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase
    from triton.runtime import driver

    class Launcher:
        def __init__(self, source, metadata):
            pass

        def __call__(self, *args):
            pass

    class Driver(DriverBase):
        def __init__(self):
            self.launcher_cls = Launcher
            self.utils = SimpleNamespace(
                get_device_properties=lambda _device: {"max_shared_mem": 232448},
                load_binary=lambda *_: (None, 0, 32, 0, 1024),
                unload_module=lambda _: None,
            )

        @classmethod
        def is_active(cls):
            return True

        def map_python_to_cpp_type(self, ty):
            return ty

        def get_current_target(self):
            return GPUTarget("cuda", capability, 32)

        def get_active_torch_device(self):
            import torch

            return torch.device("cpu")

        def get_current_device(self):
            return 0

        def get_current_stream(self, device=None):
            return 0

        def get_benchmarker(self):
            def bench(call, quantiles):
                call()
                return [1.0, 1.0, 1.0]

            return bench

    driver.set_active(Driver())
