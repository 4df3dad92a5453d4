/* Asynchronous copies of device memory: on the launch's stream, into pinned memory. Same behavior as
 * device_copies.py, which describes the ring of pinned memory. That memory belongs to the process and
 * is never freed. Included only by _hot.c.
 *
 * Owns the ring, of the process, under Python's lock; the driver writes what was enqueued without. */
#ifndef KVTRACE_HOT_COPIES_H
#define KVTRACE_HOT_COPIES_H

#include "_hot_tables.h"

struct span {
  char *address;
  size_t size;
  int64_t offset; /* in the storage */
  int64_t view;   /* offset of the tensor's data pointer in the storage */
};

/* The driver's functions, in the order of `device_copies.driver_addresses`. */
struct driver {
  int (*current_context)(void **context);
  int (*is_capturing)(void *stream, int *status);
  int (*copy)(uint64_t target, uint64_t source, size_t size, void *stream);
  int (*write_value)(void *stream, uint64_t address, uint32_t value, unsigned flags);
  int (*exchange_capture_mode)(int *mode);
  int (*query)(void *stream);
};

enum { COPIES_LIMIT = 1024, COPY_ALIGNMENT = 64, RELAXED = 2 };

/* A copy with allocated memory; `owner` is its reader, NULL once the reader is freed. */
struct copy {
  void *owner;
  uint64_t end; /* head of the memory after the copy; identifies the copy */
  volatile uint32_t *flag;
  uint32_t number; /* written by the stream after the copy */
  char released;
};

/* Head and tail count all bytes since the start, so the head is never below the tail. */
static struct {
  char *base;
  size_t size;
  uint64_t head, tail;
  uint32_t number;
  struct copy copies[COPIES_LIMIT]; /* in order: from `first`, `count` of them */
  size_t first, count;
} arena;

/* `pinned` is `device_copies.pinned_memory`. Returns the driver's error, -1 without a driver, or 0; with
 * an exception that is the program's, too, nothing is decided. */
SELDOM static int arena_make(PyObject *pinned, size_t size) {
  PyObject *result = PyObject_CallFunction(pinned, "n", (Py_ssize_t)size);
  long long address = result ? PyLong_AsLongLong(result) : 0;
  Py_XDECREF(result);
  if (drop_exception()) return -1;
  if (arena.base) return 0; /* made by another thread in the meantime */
  if (address <= 0) return address ? (int)-address : -1;
  arena.base = (char *)(uintptr_t)address;
  arena.size = size;
  return 0;
}

/* Frees copies that have been read, or have arrived for a freed reader. */
static void arena_reclaim(void) {
  while (arena.count) {
    struct copy *oldest = &arena.copies[arena.first];
    if (!oldest->released && (oldest->owner || *oldest->flag != oldest->number)) return;
    arena.tail = oldest->end;
    arena.first = (arena.first + 1) % COPIES_LIMIT;
    arena.count--;
  }
}

static struct copy *copy_named(uint64_t end) {
  for (size_t i = 0; i < arena.count; i++) {
    struct copy *copy = &arena.copies[(arena.first + i) % COPIES_LIMIT];
    if (copy->end == end) return copy;
  }
  return NULL;
}

static void copy_release(uint64_t end) {
  struct copy *copy = copy_named(end);
  if (copy) copy->released = 1;
  arena_reclaim();
}

static void copies_orphan(void *owner) {
  for (size_t i = 0; i < arena.count; i++) {
    struct copy *copy = &arena.copies[(arena.first + i) % COPIES_LIMIT];
    if (copy->owner == owner) copy->owner = NULL;
  }
}

static size_t aligned(size_t size) {
  return (size + COPY_ALIGNMENT - 1) / COPY_ALIGNMENT * COPY_ALIGNMENT;
}

/* Allocates contiguous memory for spans and the number after them; NULL if the ring is full. */
static char *arena_place(void *owner, const struct span *spans, size_t count, struct copy *out) {
  size_t whole = COPY_ALIGNMENT;
  for (size_t i = 0; i < count; i++) whole += aligned(spans[i].size);
  arena_reclaim();
  uint64_t begin = arena.head;
  size_t used = (size_t)(begin % arena.size);
  if (used + whole > arena.size) begin += arena.size - used;
  if (!arena.count) arena.tail = begin;
  if (whole > arena.size || begin + whole - arena.tail > arena.size ||
      arena.count == COPIES_LIMIT)
    return NULL;
  char *place = arena.base + begin % arena.size;
  if (++arena.number == 0) arena.number = 1;
  *out = (struct copy){.owner = owner,
                       .end = begin + whole,
                       .flag = (volatile uint32_t *)(place + whole - COPY_ALIGNMENT),
                       .number = arena.number};
  *out->flag = 0;
  arena.head = out->end;
  arena.copies[(arena.first + arena.count++) % COPIES_LIMIT] = *out;
  return place;
}

/* 1 if copies are possible now: the thread has a context, and the stream is not being captured. */
static int may_copy(const struct driver *driver, void *stream) {
  void *context = NULL;
  int capturing = 0;
  return !driver->current_context(&context) && context &&
         !driver->is_capturing(stream, &capturing) && !capturing;
}

/* Enqueues a copy. 1: enqueued; 0: not possible now; -1: the driver's error is in `failed`, or an
 * exception is set. Waits for
 * the driver, if at all, without the interpreter's lock. */
static int device_copy(const struct driver *driver, PyObject *pinned, size_t arena_bytes,
                       void *owner, const struct span *spans, size_t count, void *stream,
                       struct copy *out, char **place, int *failed) {
  if (!may_copy(driver, stream)) return 0;
  int refused = arena.base ? 0 : arena_make(pinned, arena_bytes);
  if (refused) {
    if (!PyErr_Occurred()) *failed = refused;
    return -1;
  }
  *place = arena_place(owner, spans, count, out);
  if (!*place) return 0;
  char *target = *place;
  int error = 0;
  Py_BEGIN_ALLOW_THREADS
  for (size_t i = 0; i < count && !error; i++) {
    error = driver->copy((uint64_t)(uintptr_t)target, (uint64_t)(uintptr_t)spans[i].address,
                         spans[i].size, stream);
    target += aligned(spans[i].size);
  }
  if (!error)
    error = driver->write_value(stream, (uint64_t)(uintptr_t)out->flag, out->number, 0);
  Py_END_ALLOW_THREADS
  if (!error) return 1;
  copy_release(out->end); /* no further copies, so the memory is not reused */
  *failed = error;
  return -1;
}

#endif
