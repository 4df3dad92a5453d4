"""CUPTI's own cost: kernels, copies and fills are recorded, and each full buffer is thrown away.

`start(folder, how)` builds a few lines of C, with nothing of kvtrace's, and switches CUPTI's
records on for the process. `how` is a list of words with commas between them: `kernels` leaves
copies and fills out, `flush` has a thread call cuptiActivityFlushAll twice a second (MILLISECONDS
after `=`), `period` sets cuptiActivityFlushPeriod, `zeroed` hands out buffers that are filled with
zeros already, `shared` gives all threads one buffer, `size` sets a buffer's bytes, and `clock`
registers a clock. Numbers are those of cupti_activity.h, CUDA 13.0.
"""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

SOURCE: Final = r"""
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *spare[8];
static int spares;
size_t buffer_size = 4 << 20;
int keep_zeroed;

/* From the heap the first time; a buffer that was given back is used again. */
void request(uint8_t **data, size_t *size, size_t *records) {
  pthread_mutex_lock(&lock);
  void *found = spares ? spare[--spares] : NULL;
  pthread_mutex_unlock(&lock);
  *data = found ? found : keep_zeroed ? calloc(1, buffer_size) : malloc(buffer_size);
  *size = *data ? buffer_size : 0;
  *records = 0;
}

void complete(void *context, uint32_t stream, uint8_t *data, size_t size, size_t valid) {
  (void)context, (void)stream, (void)size;
  if (keep_zeroed && data) memset(data, 0, valid);
  pthread_mutex_lock(&lock);
  if (data && spares < 8) spare[spares++] = data, data = NULL;
  pthread_mutex_unlock(&lock);
  free(data);
}

uint64_t realtime(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int (*flush_all)(uint32_t);
static long flush_ms;

static void *flushing(void *nothing) {
  struct timespec pause = {flush_ms / 1000, flush_ms % 1000 * 1000000};
  while (!nanosleep(&pause, NULL)) flush_all(0);
  return nothing;
}

int flush_every(void *function, long milliseconds) {
  pthread_t thread;
  *(void **)&flush_all = function;
  flush_ms = milliseconds;
  return pthread_create(&thread, NULL, flushing, NULL);
}

/* Zeroed buffers, so that the program's thread does not touch their pages first. */
void prepare(int count) {
  while (spares < count) spare[spares++] = memset(malloc(buffer_size), 0, buffer_size);
}
"""

ZEROED, PER_THREAD = 5, 9  # of CUpti_ActivityAttribute
KERNEL, COPY, FILL = 10, 1, 2  # of CUpti_ActivityKind


def start(folder: Path, how: str) -> None:
    """Switch CUPTI's records on; full buffers are discarded.

    Raises:
        SystemExit: a library is missing, or CUPTI returned an error.

    """
    options = dict(option.partition("=")[::2] for option in how.split(",") if option)
    unknown = set(options) - {"kernels", "flush", "period", "zeroed", "shared", "size", "clock"}
    if unknown:
        raise SystemExit(f"EMPTY_CUPTI: unknown {', '.join(sorted(unknown))}")
    ours, cupti = _built(folder), ctypes.CDLL(_loaded_library())
    if options.get("size"):
        ctypes.c_size_t.in_dll(ours, "buffer_size").value = int(options["size"])

    def ask(name: str, *arguments: object) -> None:
        result = getattr(cupti, name)(*arguments)
        if result:
            raise SystemExit(f"CUPTI: {name} gives error {result}")

    def attribute(number: int, value: int) -> None:
        size = ctypes.c_size_t(1)
        content = ctypes.c_uint8(value)
        ask("cuptiActivitySetAttribute", number, ctypes.byref(size), ctypes.byref(content))

    if "shared" in options:
        attribute(PER_THREAD, 0)
    if "zeroed" in options:
        ctypes.c_int.in_dll(ours, "keep_zeroed").value = 1
        ours.prepare(6)
        attribute(ZEROED, 1)
    if "clock" in options:
        ask("cuptiActivityRegisterTimestampCallback", ours.realtime)
    ask("cuptiActivityRegisterCallbacks", ours.request, ours.complete)
    for kind in (KERNEL,) if "kernels" in options else (KERNEL, COPY, FILL):
        ask("cuptiActivityEnable", kind)
    if "period" in options:
        ask("cuptiActivityFlushPeriod", int(options["period"] or 500))
    if "flush" in options and ours.flush_every(
        ctypes.cast(cupti.cuptiActivityFlushAll, ctypes.c_void_p),
        ctypes.c_long(int(options["flush"] or 500)),
    ):
        raise SystemExit("no thread that flushes could be started")


def _built(folder: Path) -> ctypes.CDLL:
    name = f"empty_cupti_{os.getpid()}"  # ranks share the folder
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(SOURCE)
    compiler = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), "")
    if not compiler:
        raise SystemExit("a C compiler is needed to measure CUPTI alone")
    command = [compiler, "-O2", "-shared", "-fPIC", "-pthread", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


def _loaded_library() -> str:
    """Return the path of the CUPTI library that torch has loaded."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    paths = [line.split(maxsplit=5)[-1] for line in lines if "libcupti.so" in line]
    if not paths:
        raise SystemExit("torch has loaded no CUPTI in this process")
    return paths[0]
