/* Allocations and frees of torch's caching allocators, by the hook that they call for torch's CSAN.
 *
 * The hook is an object of C++ (c10::impl::GPUTrace::gpuTraceState, a PyInterpreter), whose virtual
 * functions for allocations and frees are those below, and all others do nothing. Which places of its
 * table they have is counted in torch's header (following.py).
 *
 * An allocation becomes a row when it is freed, or at the end. The hook is not given its size:
 * that comes from a tensor that an operator or generated code made there. Included only by
 * _operators.c.
 *
 * Owns the allocations that are not freed, under the lock of _operators.c, and the hook, which is
 * written under Python's lock before torch gets it.
 */
#ifndef KVTRACE_MEMORY_ALLOCATOR_H
#define KVTRACE_MEMORY_ALLOCATOR_H

/* An allocation that is not freed. `is_leaving`: its operator freed it, and has not returned. */
struct alive {
  struct allocation allocation;
  int is_leaving;
};

static struct alive *alive; /* by address; a free place has the address 0 */
static size_t alive_places, alive_count;

static size_t place_of(int64_t address) {
  return (size_t)((uint64_t)address * 0x9e3779b97f4a7c15u >> 20) & (alive_places - 1);
}

/* The place of an allocation, or the free place where it belongs. Holds the lock. */
static struct alive *alive_at(int64_t address) {
  size_t place = place_of(address);
  while (alive[place].allocation.address && alive[place].allocation.address != address)
    place = (place + 1) & (alive_places - 1);
  return &alive[place];
}

static int alive_grows(void) {
  if (2 * alive_count < alive_places) return 1;
  struct alive *before = alive;
  size_t places = alive_places;
  struct alive *larger = calloc(places ? 2 * places : 4096, sizeof *larger);
  if (!larger) return alive_count + 1 < places; /* one place stays free, for searches to end */
  alive = larger;
  alive_places = places ? 2 * places : 4096;
  for (size_t i = 0; i < places; i++)
    if (before[i].allocation.address) *alive_at(before[i].allocation.address) = before[i];
  free(before);
  return 1;
}

/* The allocation at an address that is not freed; NULL: none is known. Holds the lock. */
static struct alive *alive_known(int64_t address) {
  if (!alive_count || !address) return NULL;
  struct alive *found = alive_at(address);
  return found->allocation.address ? found : NULL;
}

/* Makes an allocation a row, which ended then; -1: it did not end. Holds the lock. */
static void close_allocation(struct alive *closed, int64_t end) {
  closed->allocation.end = end;
  add_allocation_row(&closed->allocation);
  size_t free_place = (size_t)(closed - alive), place = free_place;
  for (;;) { /* what lies behind moves up, if it is found from there */
    place = (place + 1) & (alive_places - 1);
    if (!alive[place].allocation.address) break;
    size_t wanted = place_of(alive[place].allocation.address);
    if (((place - wanted) & (alive_places - 1)) >= ((place - free_place) & (alive_places - 1))) {
      alive[free_place] = alive[place];
      free_place = place;
    }
  }
  alive[free_place].allocation.address = 0;
  alive_count--;
}

/* c10::cuda::GetDevice: sets the current device, and returns 0. */
static int (*current_device)(int8_t *device);

static void memory_allocated(const void *self, int device_type, uint64_t address) {
  (void)self, (void)device_type;
  if (!recording || !address) return;
  struct thread *thread = this_thread();
  int8_t device = 0;
  if (!thread) lose();
  if (!thread || current_device(&device)) return;
  LOCK();
  if (alive_grows()) {
    struct alive *place = alive_at((int64_t)address);
    int64_t time = (int64_t)now();
    if (place->allocation.address) {
      close_allocation(place, time);
      place = alive_at((int64_t)address);
    }
    *place = (struct alive){.allocation = {.address = (int64_t)address, .bytes = -1, .begin = time, .end = -1,
                                           .thread = thread->id, .device = device}};
    alive_count++;
  } else {
    lost_calls++;
  }
  UNLOCK();
}

/* What an operator frees of its arguments counts as freed when it returns, for it has used them. */
static void memory_freed(const void *self, int device_type, uint64_t address) {
  (void)self, (void)device_type;
  if (!recording) return;
  struct thread *thread = own_thread;
  LOCK();
  struct alive *freed = alive_known((int64_t)address);
  int64_t *later = freed && thread && thread->hidden ? more(&thread->freed, 1) : NULL;
  if (later) {
    *later = (int64_t)address;
    freed->is_leaving = 1;
  } else if (freed) {
    close_allocation(freed, (int64_t)now());
  }
  UNLOCK();
}

/* Ends what the operators that have now returned have freed. */
static void end_freed(struct thread *thread, int64_t end) {
  LOCK();
  for (size_t i = 0; i < thread->freed.count; i++) {
    struct alive *freed = alive_known(thread->freed.data[i]);
    if (freed && freed->is_leaving) close_allocation(freed, end);
  }
  UNLOCK();
  thread->freed.count = 0;
}

/* Notes the size of the storages that an operator made; its tensors' words are given. Holds the lock. */
static void name_made(const int64_t *words, size_t count, const int64_t *pointers) {
  if (!alive_count) return;
  for (size_t at = 0, tensor = 0; at < count; tensor++) {
    const int64_t *head = words + at;
    if (head[0] & RESULT && !head[2]) {
      struct alive *made = alive_known(pointers[2 * tensor] - head[3]);
      if (made && made->allocation.bytes < 0) made->allocation.bytes = head[4];
    }
    at += HEAD_WORDS + 2 * (size_t)((head[1] & 0xffffffff) >> 8);
  }
}

static void close_alive(void) {
  for (size_t i = 0; i < alive_places; i++)
    if (alive[i].allocation.address) add_allocation_row(&alive[i].allocation);
  memset(alive, 0, alive_places * sizeof *alive);
  alive_count = 0;
}

static void do_nothing(void) {}

static void (*hook_functions[MOST_FUNCTIONS])(void);
static void *hook_table = hook_functions;
static void *hook = &hook_table;

static PyObject *install_hook(PyObject *module, PyObject *arguments) {
  (void)module;
  unsigned long long state, flag, device;
  int allocated, freed;
  if (!PyArg_ParseTuple(arguments, "KKKii", &state, &flag, &device, &allocated, &freed)) return NULL;
  if (allocated < 0 || allocated >= MOST_FUNCTIONS || freed < 0 || freed >= MOST_FUNCTIONS) {
    PyErr_SetString(PyExc_ValueError, "the table of the allocator's hook is too large");
    return NULL;
  }
  volatile char *has_hook = (volatile char *)(uintptr_t)flag;
  if (*has_hook) Py_RETURN_FALSE;
  for (int i = 0; i < MOST_FUNCTIONS; i++) hook_functions[i] = do_nothing;
  hook_functions[allocated] = (void (*)(void))memory_allocated;
  hook_functions[freed] = (void (*)(void))memory_freed;
  current_device = (int (*)(int8_t *))(uintptr_t)device;
  __atomic_store_n((void **)(uintptr_t)state, (void *)&hook, __ATOMIC_RELEASE);
  *has_hook = 1;
  Py_RETURN_TRUE;
}

static PyObject *uninstall_hook(PyObject *module, PyObject *arguments) {
  (void)module;
  unsigned long long state, flag;
  if (!PyArg_ParseTuple(arguments, "KK", &state, &flag)) return NULL;
  int is_ours = __atomic_load_n((void **)(uintptr_t)state, __ATOMIC_ACQUIRE) == (void *)&hook;
  if (is_ours) *(volatile char *)(uintptr_t)flag = 0;
  return PyBool_FromLong(is_ours);
}

#endif
