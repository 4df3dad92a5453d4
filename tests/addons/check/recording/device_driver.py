"""A driver in place of CUDA's that runs our own kernels' text, on the CPU's memory."""

import ctypes

from kvtrace.addons.check.recording import device_kernels
from tests.addons.check.recording.ptx_machine import Launch, ProcessMemory


class Driver:
    """CUDA's driver on the CPU: runs kernels at once, or when told to, or as nodes of a graph."""

    def __init__(self):
        self.capturing, self.failing, self.lost, self.slow = False, False, False, False
        self.waiting, self.nodes, self.held = [], [], []
        self.text, self.functions = "", []
        self.calls = []

    def __getattr__(self, name):
        """All others do nothing, and are noted."""

        def call(*_):
            self.calls.append(name)
            return 0

        return call

    def cuCtxGetCurrent(self, context):
        context._obj.value = id(self)
        return 0

    def cuDeviceGetAttribute(self, found, _attribute, _device):
        found._obj.value = 1
        return 0

    def cuModuleLoadData(self, _module, text):
        self.text = text.value.decode()
        return 0

    def cuModuleGetFunction(self, function, _module, name):
        self.functions.append((self.text, name.decode()))
        function._obj.value = len(self.functions)
        return 0

    def allocate(self, found, size, *_):
        self.held.append(ctypes.create_string_buffer(size.value + 256))
        found._obj.value = -(-ctypes.addressof(self.held[-1]) // 256) * 256
        return 0

    cuMemHostAlloc = cuMemAlloc_v2 = allocate

    def cuStreamIsCapturing(self, _stream, status):
        status._obj.value = self.capturing
        return 0

    def cuStreamQuery(self, _stream):
        return 700 if self.lost else 600

    def cuMemsetD32Async(self, place, word, count, _stream):
        ctypes.memmove(place.value, word.value.to_bytes(4, "little") * count.value, 4 * count.value)
        return 0

    def cuMemcpyDtoDAsync_v2(self, target, source, size, _stream):
        self.enqueue(lambda: ctypes.memmove(target.value, source.value, size.value), True)
        return 0

    def cuLaunchKernel(self, function, x, y, z, threads, _y, _z, shared, stream, pointers, extra):
        if self.failing:
            return 719
        parameter = bytes(device_kernels._parameter.from_address(pointers[0]))
        kernel = self.functions[function.value - 1]
        launch = Launch(*kernel, ProcessMemory(), (x, y), threads, parameter)
        self.enqueue(launch.run, False)
        return 0

    def enqueue(self, work, now):
        if self.capturing:
            self.nodes.append(work)
        elif self.slow and not now:
            self.waiting.append(work)
        else:
            work()

    def cuMemcpyAsync(self, target, source, size, _stream):
        ctypes.memmove(target.value, source.value, size.value)
        return 0

    def cuStreamWriteValue32_v2(self, _stream, place, number, _flags):
        ctypes.c_uint32.from_address(place.value).value = number.value
        return 0

    def replay(self):
        for node in self.nodes:
            node()

    def arrive(self):
        while self.waiting:
            self.waiting.pop(0)()
