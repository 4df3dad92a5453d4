/* CUPTI's buffers: requested and returned in threads of the program and of CUPTI.
 *
 * CUPTI calls these functions in the middle of a launch, with CUPTI's locks held, from threads that
 * may not hold Python's lock. A callback in Python would wait for Python's lock, while the thread that
 * has it may wait for CUPTI's locks: so the functions are in C, and touch no Python objects.
 *
 * Callback types: CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc and
 * CUpti_TimestampCallbackFunc of cupti_activity.h (CUDA 12 and 13).
 *
 * Owns the filled and the spare buffers, under its lock (`_lock.h`); a buffer that CUPTI fills is CUPTI's.
 */
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "_lock.h"

/* A buffer holds some 10,000 to 20,000 kernels. At most LIMIT buffers exist at once: beyond, CUPTI
 * gets no buffer, drops records, and counts them. Each thread of the program fills its own buffer;
 * SPARE more wait, zeroed here: CUPTI would zero a buffer in the program's thread, where untouched
 * memory is slow, too. */
enum { SIZE = 4 << 20, LIMIT = 64, SPARE = 4 };

struct buffer {
  struct buffer *next;
  size_t valid;
  uint64_t data[SIZE / 8]; /* CUPTI wants addresses that are multiples of 8 */
};

static struct buffer *filled, **filled_end = &filled, *spare;
static int existing, spares;

static void request(uint8_t **data, size_t *size, size_t *records) {
  *data = NULL;
  *size = 0;
  *records = 0; /* as many as fit */
  LOCK();
  struct buffer *buffer = spare;
  if (buffer) {
    spare = buffer->next;
    spares--;
  } else if (existing < LIMIT && (buffer = calloc(1, sizeof *buffer))) {
    existing++;
  }
  UNLOCK();
  if (!buffer) return;
  *data = (uint8_t *)buffer->data;
  *size = SIZE;
}

/* Keeps a zeroed buffer as spare, or frees it. Holds the lock. */
static void put_back(struct buffer *buffer) {
  if (spares < SPARE) {
    buffer->next = spare;
    spare = buffer;
    spares++;
  } else {
    free(buffer);
    existing--;
  }
}

/* Zeroes a buffer and puts it back; never called in the program's threads. */
static void put_back_zeroed(struct buffer *buffer) {
  memset(buffer->data, 0, sizeof buffer->data);
  LOCK();
  put_back(buffer);
  UNLOCK();
}

static void make_spares(void) {
  for (;;) {
    LOCK();
    int enough = spares >= SPARE || existing >= LIMIT;
    existing += !enough;
    UNLOCK();
    if (enough) return;
    struct buffer *buffer = malloc(sizeof *buffer);
    if (buffer) {
      put_back_zeroed(buffer);
      continue;
    }
    LOCK();
    existing--;
    UNLOCK();
    return;
  }
}

static void complete(void *context, uint32_t stream, uint8_t *data, size_t size, size_t valid) {
  (void)context, (void)stream, (void)size;
  if (!data) return;
  struct buffer *buffer = (struct buffer *)(data - offsetof(struct buffer, data));
  buffer->valid = valid <= SIZE ? valid : 0;
  buffer->next = NULL;
  LOCK();
  *filled_end = buffer;
  filled_end = &buffer->next;
  UNLOCK();
}

/* The clock of all times in a trace: CUPTI converts the device's times to it. */
static uint64_t realtime(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct sorting {
  Py_ssize_t kernel, copy, fill; /* lengths of records */
  char *kernels, *others;        /* destinations; NULL: records are only counted */
  Py_ssize_t kernels_size, others_size;
};

/* Returns the number of bytes read: all, or those before a record of another kind. */
static Py_ssize_t sort_out(const char *from, Py_ssize_t valid, struct sorting *to) {
  Py_ssize_t at = 0;
  to->kernels_size = to->others_size = 0;
  while (valid - at >= COMMON) {
    uint32_t kind;
    memcpy(&kind, from + at, sizeof kind);
    Py_ssize_t length = kind == KERNEL ? to->kernel : kind == COPY ? to->copy : to->fill;
    if ((kind != KERNEL && kind != COPY && kind != FILL) || length > valid - at) break;
    if (kind == KERNEL) {
      if (to->kernels) memcpy(to->kernels + to->kernels_size, from + at, (size_t)length);
      to->kernels_size += length;
    } else {
      if (to->others) memcpy(to->others + to->others_size, from + at, COMMON);
      to->others_size += COMMON;
    }
    at += length;
  }
  return at;
}

static PyObject *sorted_out(const struct buffer *buffer, struct sorting *to) {
  const char *from = (const char *)buffer->data;
  Py_ssize_t valid = (Py_ssize_t)buffer->valid, read;
  to->kernels = to->others = NULL;
  Py_BEGIN_ALLOW_THREADS;
  read = sort_out(from, valid, to);
  Py_END_ALLOW_THREADS;
  PyObject *kernels = PyBytes_FromStringAndSize(NULL, to->kernels_size);
  PyObject *others = PyBytes_FromStringAndSize(NULL, to->others_size);
  PyObject *both = NULL;
  if (kernels && others) {
    to->kernels = PyBytes_AsString(kernels);
    to->others = PyBytes_AsString(others);
    Py_BEGIN_ALLOW_THREADS; /* no other thread has these two yet */
    sort_out(from, read, to);
    Py_END_ALLOW_THREADS;
    both = Py_BuildValue("(OOn)", kernels, others, valid - read);
  }
  Py_XDECREF(kernels);
  Py_XDECREF(others);
  return both;
}

/* Ends a `take` at a buffer that finds no memory: it stays, the first for the next time. What was taken
 * before is returned; with nothing before, the exception stays. Steals `taken`. */
static PyObject *taken_before(PyObject *taken, struct buffer *buffer) {
  LOCK();
  buffer->next = filled;
  filled = buffer;
  if (!buffer->next) filled_end = &buffer->next;
  UNLOCK();
  if (PyList_Size(taken) && PyErr_ExceptionMatches(PyExc_MemoryError)) {
    PyErr_Clear();
    return taken;
  }
  Py_DECREF(taken);
  return NULL;
}

static PyObject *take(PyObject *module, PyObject *lengths) {
  (void)module;
  struct sorting to = {0};
  if (!PyArg_ParseTuple(lengths, "nnn", &to.kernel, &to.copy, &to.fill)) return NULL;
  if (to.kernel < COMMON || to.copy < COMMON || to.fill < COMMON) {
    PyErr_SetString(PyExc_ValueError, "a record is shorter than its fields");
    return NULL;
  }
  PyObject *taken = PyList_New(0);
  if (!taken) return NULL;
  for (;;) {
    LOCK();
    struct buffer *buffer = filled;
    if (buffer) {
      filled = buffer->next;
      if (!filled) filled_end = &filled;
    }
    UNLOCK();
    if (!buffer) break;
    PyObject *content = buffer->valid ? sorted_out(buffer, &to) : NULL;
    int failed = buffer->valid && (!content || PyList_Append(taken, content));
    Py_XDECREF(content);
    if (failed) return taken_before(taken, buffer);
    Py_BEGIN_ALLOW_THREADS;
    put_back_zeroed(buffer);
    Py_END_ALLOW_THREADS;
  }
  Py_BEGIN_ALLOW_THREADS;
  make_spares();
  Py_END_ALLOW_THREADS;
  return taken;
}

static PyMethodDef functions[] = {
    {"take", take, METH_VARARGS,
     "take(kernel, copy, fill) -> list[(bytes, bytes, int)]: the buffers that CUPTI has filled.\n\n"
     "The arguments are lengths of records. Of each buffer: records of kernels, the first 80 bytes\n"
     "of each record of a copy or a fill, and how many bytes at its end are neither."},
    {NULL, NULL, 0, NULL},
};

static void after_fork_in_child(void) { UNLOCK(); }

static int fill(PyObject *module) {
  return begin_module_once(after_fork_in_child) ||
         PyModule_AddObject(module, "REQUEST", PyLong_FromVoidPtr((void *)(intptr_t)request)) ||
         PyModule_AddObject(module, "COMPLETE", PyLong_FromVoidPtr((void *)(intptr_t)complete)) ||
         PyModule_AddObject(module, "REALTIME", PyLong_FromVoidPtr((void *)(intptr_t)realtime));
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)(intptr_t)fill}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_buffers", "Buffers of CUPTI's activity records.",
    0, functions, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__buffers(void) { return PyModuleDef_Init(&definition); }
