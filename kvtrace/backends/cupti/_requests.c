/* Requests of the host to the driver, with times and Python stacks: CUPTI's callbacks.
 *
 * CUPTI calls `callback` in the requesting thread, which may or may not hold Python's lock, and is not
 * made to wait for it: `_frames.h` reads the thread's stack without.
 *
 * Owns the requests that wait for Python, under its lock (`_lock.h`), and those that Python is being given,
 * under Python's. What callbacks are for, and autograd's functions, are written under Python's lock and
 * read without: CUPTI is told of callbacks afterwards, and `running` is written last.
 */
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include "_frames.h"

enum {
  IDS = 1024,     /* ids of callbacks that are distinguished */
  ROOM = 1 << 18, /* requests that wait to be taken; more are counted and lost */
};

/* Kinds of callbacks. A launch is identified by its correlation id; the others are events. */
enum { NOTHING, LAUNCH, SYNCHRONIZE, ALLOCATE, ALLOCATE_HOST, FREE, BEGIN_CAPTURE, END_CAPTURE };
enum { DRIVER = 1, RUNTIME = 2, DOMAINS };

struct request {
  uint64_t begin, end; /* in ns since 1970; of a launch only the begin */
  uint64_t bytes, thread;
  uint32_t correlation, kind;
  uint64_t stack; /* number of the stack from 1; 0: the thread runs no Python */
  /* Of autograd: the number of the thread's next node, that of the running node, and torch's numbers
   * of this thread and of the thread that made the running node. */
  uint64_t next, node;
  uint32_t here, maker;
};

/* In place of the number of the running node; nodes that accumulate gradients have it, too. */
#define NO_NODE UINT64_MAX

/* Functions and offsets of autograd; see node_stacks.py. */
static struct {
  uint64_t (*next)(void), (*thread)(void);
  void (*running)(void **owning); /* C++ returns an owning pointer where its caller says */
  Py_ssize_t number, maker;
  int shared; /* the owning pointer is a shared pointer, else an intrusive one */
} autograd;

static unsigned char kinds[DOMAINS][IDS];
static struct request *requests, *spare;
static uint32_t waiting;
static long long lost;
static int captures; /* CUDA graphs that are being captured */

/* What Python gets at once. Where no memory is left to give it, it stays for the next time. */
static struct {
  struct request *requests;
  struct text seen;
  uint32_t count;
  long long lost;
  int is_left;
} taken;

/* Reads autograd's numbers. The engine owns the running node, too, so it outlives our ownership. */
static void read_autograd(struct request *request) {
  request->node = NO_NODE;
#ifdef __GNUC__
  if (!autograd.running) return;
  request->next = autograd.next();
  request->here = (uint32_t)autograd.thread();
  void *owning[2] = {NULL, NULL};
  autograd.running(owning);
  const char *node = owning[0];
  if (!node) return;
  uint64_t maker;
  memcpy(&request->node, node + autograd.number, sizeof request->node);
  memcpy(&maker, node + autograd.maker, sizeof maker);
  request->maker = (uint32_t)maker;
  if (autograd.shared) {
    __atomic_sub_fetch((int32_t *)owning[1] + SHARED_OWNERS, 1, __ATOMIC_ACQ_REL);
  } else {
    __atomic_sub_fetch((uint64_t *)owning[0] + INTRUSIVE_OWNERS, 1, __ATOMIC_ACQ_REL);
  }
#endif
}

static void keep(const struct request *request) {
  LOCK();
  if (!requests) requests = malloc(ROOM * sizeof *requests);
  if (requests && waiting < ROOM) {
    requests[waiting++] = *request;
  } else {
    lost++;
  }
  UNLOCK();
}

static void count_capture(int kind, const struct cupti_callback_data *asked) {
  LOCK();
  if (kind == BEGIN_CAPTURE && !asked->site) {
    captures++;
  } else if (asked->site && captures && (kind == END_CAPTURE || *(const int *)asked->result)) {
    captures--; /* ended, or not begun */
  }
  UNLOCK();
}

static void callback(void *user, int domain, uint32_t id, const struct cupti_callback_data *asked) {
  (void)user;
  if (domain < DRIVER || domain >= DOMAINS || id >= IDS) return;
  int kind = kinds[domain][id];
  if (kind == NOTHING) return;
  if (kind >= BEGIN_CAPTURE) {
    count_capture(kind, asked);
    return;
  }
  if (asked->site == 0) {
    *asked->own = now();
    if (kind != LAUNCH) return;
  } else if (kind == LAUNCH) {
    return;
  }
  struct request request = {
      .begin = *asked->own,
      .end = asked->site ? now() : 0,
      .thread = thread_number(),
      .correlation = asked->correlation,
      .kind = (uint32_t)kind,
      .stack = stack_number(DEPTH),
  };
  if (kind == LAUNCH) read_autograd(&request);
  if ((kind == ALLOCATE || kind == ALLOCATE_HOST) && asked->parameters) {
    /* Size of cuMemAlloc_v2, cuMemCreate and cuMemHostAlloc: the second argument. */
    memcpy(&request.bytes, (const char *)asked->parameters + sizeof(void *), sizeof request.bytes);
  }
  keep(&request);
}

static PyObject *expect(PyObject *module, PyObject *arguments) {
  (void)module;
  int domain, id, kind;
  if (!PyArg_ParseTuple(arguments, "iii", &domain, &id, &kind)) return NULL;
  if (domain < DRIVER || domain >= DOMAINS || id < 0 || id >= IDS || kind < 0 || kind > END_CAPTURE) {
    PyErr_SetString(PyExc_ValueError, "there is no such callback");
    return NULL;
  }
  kinds[domain][id] = (unsigned char)kind;
  Py_RETURN_NONE;
}

static PyObject *forget(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  LOCK();
  autograd.running = NULL;
  waiting = 0;
  lost = captures = 0;
  forget_stacks();
  taken.seen.size = taken.count = 0;
  taken.lost = 0;
  UNLOCK();
  Py_RETURN_NONE;
}

static PyObject *count_captures(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  return PyLong_FromLong(captures);
}

static PyObject *follow_autograd(PyObject *module, PyObject *arguments) {
  (void)module;
  unsigned long long next, thread, running;
  if (!PyArg_ParseTuple(arguments, "KKKnni", &next, &thread, &running, &autograd.number,
                        &autograd.maker, &autograd.shared))
    return NULL;
  autograd.next = (uint64_t(*)(void))(uintptr_t)next;
  autograd.thread = (uint64_t(*)(void))(uintptr_t)thread;
  __atomic_store_n(&autograd.running, (void (*)(void **))(uintptr_t)running, __ATOMIC_RELEASE);
  Py_RETURN_NONE;
}

static PyObject *take(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  int was_left = taken.is_left;
  if (!was_left) {
    LOCK();
    taken.requests = requests;
    taken.seen = news;
    taken.count = waiting;
    taken.lost = lost + stacks_lost;
    taken.is_left = 1;
    requests = spare;
    spare = NULL;
    waiting = 0;
    lost = stacks_lost = 0;
    news = (struct text){0};
    UNLOCK();
  }
  PyObject *found = Py_BuildValue(
      "(y#y#LO)", taken.requests ? (char *)taken.requests : "",
      (Py_ssize_t)(taken.count * sizeof *taken.requests), taken.seen.data ? taken.seen.data : "",
      (Py_ssize_t)taken.seen.size, taken.lost, was_left ? Py_True : Py_False);
  if (!found) return NULL;
  free(taken.seen.data);
  LOCK();
  if (!spare) {
    spare = taken.requests;
    taken.requests = NULL;
  }
  UNLOCK();
  free(taken.requests);
  taken.requests = NULL;
  taken.is_left = 0;
  return found;
}

static PyMethodDef functions[] = {
    {"expect", expect, METH_VARARGS,
     "expect(domain, id, kind): what a callback of CUPTI is for; 0: nothing."},
    {"forget", forget, METH_NOARGS, "forget(): begin again, with nothing seen and no layout."},
    FRAME_FUNCTIONS,
    {"captures", count_captures, METH_NOARGS, "captures() -> int: CUDA graphs being captured."},
    {"follow_autograd", follow_autograd, METH_VARARGS,
     "follow_autograd(next, thread, running, number, maker, shared): torch's functions, and where\n"
     "fields of a node lie; see node_stacks.py."},
    {"take", take, METH_NOARGS,
     "take() -> (bytes, bytes, int, bool): requests since this was last called, the stacks that are\n"
     "new with the code objects that are new, how many requests or stacks were lost, and whether this\n"
     "was left over from a call that failed: then there may be more."},
    {NULL, NULL, 0, NULL},
};

static void after_fork_in_child(void) {
  UNLOCK();
  own_number = 0;
}

static int fill(PyObject *module) {
  return begin_module_once(after_fork_in_child) ||
         PyModule_AddObject(module, "CALLBACK", PyLong_FromVoidPtr((void *)(intptr_t)callback));
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)(intptr_t)fill}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_requests", "What the host asks of CUDA's driver.",
    0, functions, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__requests(void) { return PyModuleDef_Init(&definition); }
