/* Tables of kernels and calls, and the rows of launches. Included only by _hot.c.
 *
 * Owns a recorder's tables and rows, under Python's lock; chunks are linked under the spool's, too. Facts of
 * a thread are the thread's. */
#ifndef KVTRACE_HOT_TABLES_H
#define KVTRACE_HOT_TABLES_H

#include "_hot_key.h"

#include <time.h>

/* Per thread, since the thread's id costs a system call. A fork makes a new generation. */
static unsigned generation = 1;
static __thread struct {
  unsigned generation;
  int32_t phase;
  int64_t id;
  int64_t contents; /* number of the copies for the launch just made, or 0 */
  void *launching;  /* address of the owner of the launch in flight; NULL: none */
  struct key *making; /* key of the new call that Python is recording; NULL: none */
  int64_t theirs;   /* the program's own nanoseconds in the last recorded launch */
} thread_facts;

static int64_t clock_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int64_t now(void) { return clock_ns(CLOCK_REALTIME); }

SELDOM static void new_thread_facts(void) {
  thread_facts.generation = generation;
  thread_facts.phase = 0;
  thread_facts.contents = 0;
  thread_facts.making = NULL;
  thread_facts.id = (int64_t)PyThread_get_thread_native_id();
}

static void renew_thread_facts(void) {
  if (thread_facts.generation != generation) new_thread_facts();
}

static size_t kernel_slot(PyObject *object, size_t slots) {
  uint64_t mixed = ((uint64_t)(uintptr_t)object >> 4) * 0x9E3779B97F4A7C15ull;
  return (size_t)(mixed >> 32) & (slots - 1);
}

static struct kernel *kernel_find(recorder *self, PyObject *object) {
  if (!self->kernel_slots) return NULL;
  size_t slot = kernel_slot(object, self->kernel_slots);
  while (self->kernels[slot].object) {
    if (self->kernels[slot].object == object) return &self->kernels[slot];
    slot = (slot + 1) & (self->kernel_slots - 1);
  }
  return NULL;
}

static void kernel_put(recorder *self, struct kernel entry) {
  size_t slot = kernel_slot(entry.object, self->kernel_slots);
  while (self->kernels[slot].object) slot = (slot + 1) & (self->kernel_slots - 1);
  self->kernels[slot] = entry;
  self->kernel_used++;
}

/* Makes room for a kernel: in a fuller table where there is no memory for a larger one. */
SELDOM static int kernels_reserve(recorder *self) {
  if (self->kernel_slots && self->kernel_used * 2 < self->kernel_slots) return 0;
  size_t live = 0, before = self->kernel_slots;
  for (size_t i = 0; i < before; i++)
    live += self->kernels[i].object && self->kernels[i].object != GONE;
  size_t slots = 64;
  while (slots < live * 4) slots *= 2;
  struct kernel *old = self->kernels;
  void *old_block = self->kernel_block;
  char *block = PyMem_Calloc(slots + 1, sizeof *old);
  if (!block) {
    if (self->kernel_used + 1 < before) return 0; /* one stays free, for searches to end */
    PyErr_NoMemory();
    return -1;
  }
  self->kernel_block = block;
  block += CACHE_LINE - (uintptr_t)block % CACHE_LINE;
  self->kernels = (struct kernel *)block;
  self->kernel_slots = slots;
  self->kernel_used = 0;
  for (size_t i = 0; i < before; i++)
    if (old[i].object && old[i].object != GONE) kernel_put(self, old[i]);
  PyMem_Free(old_block);
  return 0;
}

static struct call *call_find(recorder *self, const struct key *key, uint64_t hash) {
  if (!self->call_slots) return NULL;
  size_t slot = (size_t)hash & (self->call_slots - 1);
  while (self->calls[slot].length) {
    struct call *call = &self->calls[slot];
    if (call->hash == hash && call->length == key->count &&
        !memcmp(self->arena + call->offset, key->words, key->count * 8))
      return call;
    slot = (slot + 1) & (self->call_slots - 1);
  }
  return NULL;
}

static void call_put(recorder *self, struct call entry) {
  size_t slot = (size_t)entry.hash & (self->call_slots - 1);
  while (self->calls[slot].length) slot = (slot + 1) & (self->call_slots - 1);
  self->calls[slot] = entry;
  self->call_count++;
}

SELDOM static void calls_clear(recorder *self) {
  for (size_t i = 0; i < self->kernel_slots; i++) self->kernels[i].last_length = 0;
  PyMem_Free(self->calls);
  PyMem_Free(self->arena);
  self->calls = NULL;
  self->arena = NULL;
  self->call_slots = self->call_count = self->arena_used = self->arena_size = 0;
}

/* Makes room for so many words; where there is no memory to double it, for these alone. */
SELDOM static int arena_reserve(recorder *self, size_t words) {
  size_t least = self->arena_used + words, size = least * 2 + 1024;
  if (least <= self->arena_size) return 0;
  uint64_t *arena = PyMem_Realloc(self->arena, size * 8);
  if (!arena) arena = PyMem_Realloc(self->arena, (size = least) * 8);
  if (!arena) return -1;
  self->arena = arena;
  self->arena_size = size;
  return 0;
}

/* As `kernels_reserve`, of calls. */
SELDOM static int slots_reserve(recorder *self) {
  if (self->call_slots && self->call_count * 2 < self->call_slots) return 0;
  size_t before = self->call_slots, slots = before ? before * 2 : 256;
  struct call *old = self->calls, *fresh = PyMem_Calloc(slots, sizeof *fresh);
  if (!fresh) return self->call_count + 1 < before ? 0 : -1;
  self->calls = fresh;
  self->call_slots = slots;
  self->call_count = 0;
  for (size_t i = 0; i < before; i++)
    if (old[i].length) call_put(self, old[i]);
  PyMem_Free(old);
  return 0;
}

/* Makes room for a call of so many words; where there is no memory, in place of the stored calls. */
SELDOM static int calls_reserve(recorder *self, size_t words) {
  if (!arena_reserve(self, words) && !slots_reserve(self)) return 0;
  calls_clear(self);
  self->overflows++;
  if (!arena_reserve(self, words) && !slots_reserve(self)) return 0;
  PyErr_NoMemory();
  return -1;
}

SELDOM static int call_remember(recorder *self, const struct key *key, uint64_t hash, int64_t id) {
  if ((int64_t)self->call_count >= self->max_calls) {
    calls_clear(self);
    self->overflows++;
  }
  size_t places = 0; /* words behind those of the key */
  if (self->keeps_addresses)
    places = key->places && key->places[0] != UINT64_MAX ? 1 + (size_t)key->places[0] : 1;
  if (calls_reserve(self, key->count + places)) return -1;
  struct call entry = {hash, id, self->arena_used, key->count};
  memcpy(self->arena + self->arena_used, key->words, key->count * 8);
  self->arena_used += key->count;
  if (places == 1) self->arena[self->arena_used] = UINT64_MAX;
  if (places > 1) memcpy(self->arena + self->arena_used, key->places, places * 8);
  self->arena_used += places;
  call_put(self, entry);
  return 0;
}

static size_t rows_in(const recorder *self, const struct chunk *chunk) {
  return chunk == self->last ? (size_t)(self->row - chunk->rows) : ROWS_IN_CHUNK;
}

/* Of the spool, whose thread reads the chunks; see _hot_spool.h. */
static void spool_lock(recorder *self);
static void spool_unlock(recorder *self);

/* Forgets all rows; keeps a chunk for later rows. */
static void rows_clear(recorder *self) {
  while (self->first) {
    struct chunk *next = self->first->next;
    PyMem_Free(self->spare);
    self->spare = self->first;
    self->first = next;
  }
  self->last = NULL;
  self->row = self->row_end = NULL;
  self->pending = 0;
}

SELDOM static struct row *next_chunk(recorder *self) {
  int64_t pending = self->pending + (self->last ? ROWS_IN_CHUNK : 0);
  struct chunk *chunk = self->spare;
  self->spare = NULL;
  if (!chunk && pending < ROWS_LIMIT) chunk = PyMem_Malloc(sizeof *chunk);
  if (!chunk) return NULL;
  chunk->next = NULL;
  spool_lock(self);
  if (self->last)
    self->last->next = chunk;
  else
    self->first = chunk;
  self->last = chunk;
  self->pending = pending;
  self->row = chunk->rows;
  self->row_end = chunk->rows + ROWS_IN_CHUNK;
  spool_unlock(self);
  return chunk->rows;
}

static void keep_addresses(recorder *self);

static void append_row(recorder *self, int64_t call, int64_t enter, int64_t leave, int32_t device,
                       void *stream, int64_t contents) {
  struct row *row = self->row;
  if (row == self->row_end) row = next_chunk(self);
  if (!row) {
    self->dropped++;
    return;
  }
  renew_thread_facts();
  int32_t phase = thread_facts.phase;
  int capturing = 0; /* the default stream, 0, cannot be captured */
  uint64_t graph = 0;
  if (stream && self->capture_info &&
      self->capture_info(stream, &capturing, &graph, NULL, NULL, NULL) == 0 && capturing)
    phase = GRAPH_CAPTURE | (int32_t)((graph & 0x7fffff) << 8);
  *row = (struct row){.enter = enter,
                      .exit = leave,
                      .call_id = call,
                      .stream = (int64_t)(intptr_t)stream,
                      .thread = thread_facts.id,
                      .contents = contents,
                      .device = device,
                      .phase = phase};
  __atomic_store_n(&self->row, row + 1, __ATOMIC_RELEASE); /* for the spool's thread */
  struct newest *newest = self->newest;
  if (newest) {
    int64_t number = newest->end;
    if (number - newest->first >= NEWEST_ROWS) { /* the oldest is no row while this one is written */
      newest->first = number - NEWEST_ROWS + 1;
      __atomic_signal_fence(__ATOMIC_RELEASE); /* a kill comes between instructions, in their order */
    }
    newest->rows[number & (NEWEST_ROWS - 1)] = *row;
    __atomic_store_n(&newest->end, number + 1, __ATOMIC_RELEASE);
  }
  if (self->keeps_addresses) keep_addresses(self);
  thread_facts.theirs = leave - enter;
}

/* Begins to time what recording adds to a launch; 0 if the launch is not timed. */
static int64_t begin_timing(recorder *self) {
  if (self->until_timed-- > 0) return 0;
  self->until_timed = TIMED_EACH - 1;
  thread_facts.theirs = -1;
  return now();
}

/* Counts a timed launch, except with new kernels or calls (counted separately), if not recorded, or
 * if it took a millisecond: then the thread was interrupted, as it would be without kvtrace. */
static void end_timing(recorder *self, int64_t begin, int64_t new_ns) {
  int64_t took = now() - begin - thread_facts.theirs;
  if (thread_facts.theirs < 0 || took < 0 || took > INTERRUPTED || self->new_ns != new_ns) return;
  if (took < self->quickest_ns || !self->timed) self->quickest_ns = took;
  self->timed++;
  self->timed_ns += took;
}

#endif
