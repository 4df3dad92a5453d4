/* Recording of a launch that has happened; new kernels and calls go to the adapter. Included only by
 * _hot.c.
 *
 * Owns nothing; writes a recorder's tables under Python's lock, which callbacks may give to others. */
#ifndef KVTRACE_HOT_RECORD_H
#define KVTRACE_HOT_RECORD_H

#include "_hot_addresses.h"
#include "_hot_collector.h"
#include "_hot_look.h"

enum { WORDS_AHEAD = 64 };

static PyObject *name_new_kernel, *name_new_call; /* interned */

SELDOM static int kernel_new(recorder *self, PyObject *adapter, PyObject *owner, PyObject *object,
                             struct kernel *out) {
  int64_t begin = now();
  uncounted_begin();
  PyObject *facts = PyObject_CallMethodObjArgs(adapter, name_new_kernel, owner, object, NULL);
  uncounted_end();
  self->new_ns += now() - begin;
  if (!facts) return -1;
  long long id;
  int kind, device;
  PyObject *how = NULL;
  if (!PyArg_ParseTuple(facts, "Lii|O", &id, &kind, &device, &how)) {
    Py_DECREF(facts);
    return -1;
  }
  *out = (struct kernel){.object = object,
                         .id = id,
                         .device_kind = (int16_t)kind,
                         .device = device,
                         .apart = how == Py_True};
  PyObject *look = how && (how == Py_None || Py_TYPE(how) == look_type) ? how : NULL;
  Py_XINCREF(look);
  Py_DECREF(facts);
  if (kernel_find(self, object)) { /* another thread was quicker */
    Py_XDECREF(look);
    return 0;
  }
  PyObject *unlist = PyObject_GetAttrString((PyObject *)self, "_kernel_died");
  if (!unlist) {
    Py_XDECREF(look);
    return -1;
  }
  out->reference = PyWeakref_NewRef(object, unlist);
  Py_DECREF(unlist);
  if (!out->reference) { /* kept alive, or another object could get the address */
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
      Py_XDECREF(look);
      return -1;
    }
    PyErr_Clear();
    Py_INCREF(object);
    out->reference = object;
  }
  if (kernels_reserve(self)) {
    Py_DECREF(out->reference);
    Py_XDECREF(look);
    return -1;
  }
  out->look = look;
  kernel_put(self, *out);
  return 0;
}

/* Returns the entry by value: any callback may change the table. */
static int kernel_known(recorder *self, PyObject *adapter, PyObject *owner, PyObject *object,
                        struct kernel *out) {
  struct kernel *found = kernel_find(self, object);
  if (!found) return kernel_new(self, adapter, owner, object, out);
  *out = *found;
  return 0;
}

SELDOM static int call_new(recorder *self, PyObject *adapter, PyObject *owner, PyObject *object,
                           struct key *key, uint64_t hash, PyObject *args, Py_ssize_t first,
                           PyObject *kwargs, int64_t *out) {
  PyObject *id = PyLong_FromLongLong((int64_t)key->words[0]);
  PyObject *grid = Py_BuildValue("(LLL)", (long long)key->words[1], (long long)key->words[2],
                                 (long long)key->words[3]);
  PyObject *given = kwargs ? kwargs : PyDict_New();
  PyObject *values = PyTuple_GetSlice(args, first, PyTuple_Size(args));
  PyObject *made = NULL;
  int64_t begin = now();
  if (kwargs) Py_INCREF(kwargs);
  struct key *outer = thread_facts.making;
  thread_facts.making = key;
  uncounted_begin();
  int ready = id && grid && given && values;
  PyObject *guard = ready ? unseen_begin() : NULL;
  if (ready)
    made = PyObject_CallMethodObjArgs(adapter, name_new_call, owner, object, id, grid, values,
                                      given, NULL);
  unseen_end(guard);
  uncounted_end();
  thread_facts.making = outer;
  self->new_ns += now() - begin;
  Py_XDECREF(id);
  Py_XDECREF(grid);
  Py_XDECREF(given);
  Py_XDECREF(values);
  if (!made) return -1;
  *out = PyLong_AsLongLong(made);
  Py_DECREF(made);
  if (*out == -1 && PyErr_Occurred()) return -1;
  if (call_find(self, key, hash)) return 0; /* another thread was quicker */
  return call_remember(self, key, hash, *out);
}

static int call_known(recorder *self, PyObject *adapter, PyObject *owner, PyObject *object,
                      struct key *key, PyObject *args, Py_ssize_t first, PyObject *kwargs,
                      int64_t *out) {
  struct kernel *kernel = kernel_find(self, object);
  if (kernel && kernel->last_length == key->count &&
      !memcmp(self->arena + kernel->last_offset, key->words, key->count * 8)) {
    *out = kernel->last_call;
    if (self->keeps_addresses)
      note_addresses(self, key, self->arena + kernel->last_offset + kernel->last_length);
    return 0;
  }
  uint64_t hash = key_hash(key);
  struct call *found = call_find(self, key, hash);
  if (!found) {
    if (call_new(self, adapter, owner, object, key, hash, args, first, kwargs, out)) return -1;
    if (self->keeps_addresses) note_addresses(self, key, key->places);
    return 0;
  }
  *out = found->id;
  if (self->keeps_addresses) note_addresses(self, key, self->arena + found->offset + found->length);
  if (kernel) {
    kernel->last_call = found->id;
    kernel->last_offset = found->offset;
    kernel->last_length = found->length > UINT32_MAX ? 0 : (uint32_t)found->length;
  }
  return 0;
}

/* 1 and the stream's handle if the program passed a number, else 0. */
static int given_stream(PyObject *given, void **stream) {
  int overflow = 0;
  if (!given || Py_TYPE(given) != &PyLong_Type) return 0;
  long long handle = PyLong_AsLongLongAndOverflow(given, &overflow);
  if (overflow) return 0;
  *stream = (void *)(intptr_t)handle;
  return 1;
}

static int record_known(recorder *self, PyObject *adapter, PyObject *owner, PyObject *object,
                        PyObject *grid, PyObject *args, Py_ssize_t first, PyObject *kwargs,
                        PyObject *stream_given, int64_t enter, int64_t leave) {
  struct kernel kernel;
  if (kernel_known(self, adapter, owner, object, &kernel)) return -1;
  if (kernel.id < 0) return 0;
  if (kernel.last_length) { /* what is read and written last is on its way while the key is made */
    const uint64_t *words = self->arena + kernel.last_offset;
    size_t ahead = kernel.last_length < WORDS_AHEAD ? kernel.last_length : WORDS_AHEAD;
    for (size_t i = 0; i < ahead; i += CACHE_LINE / sizeof *words) PREFETCH(words + i);
  }
  PREFETCH(self->row);
  struct key key;
  int64_t call;
  key_begin(&key);
  key.words[key.count++] = (uint64_t)kernel.id;
  int failed = key_grid(&key, grid) || key_arguments(self, &key, args, first, kwargs) ||
               (key.shares && key_overlaps(&key)) ||
               call_known(self, adapter, owner, object, &key, args, first, kwargs, &call);
  key_end(&key);
  if (failed) return -1;
  if (call < 0) {
    self->addresses.noted = NOT_KEPT;
    return 0;
  }
  void *stream = NULL;
  if (kernel.device_kind && !given_stream(stream_given, &stream) &&
      (kernel.device_kind == DL_CUDA || kernel.device_kind == DL_ROCM) && self->exchange &&
      self->exchange->current_stream(kernel.device_kind, kernel.device, &stream)) {
    if (drop_exception()) return -1;
    stream = NULL;
  }
  append_row(self, call, enter, leave, kernel.device_kind ? kernel.device : -1, stream,
             thread_facts.contents);
  return 0;
}

/* `stream_given` is the stream that the program launched on, or NULL: then torch is asked. Contents
 * copied for the launch are dropped if the launch is not recorded. */
static int record(recorder *self, PyObject *adapter, PyObject *owner, PyObject *object,
                  PyObject *grid, PyObject *args, Py_ssize_t first, PyObject *kwargs,
                  PyObject *stream_given, int64_t enter, int64_t leave) {
  int failed = record_known(self, adapter, owner, object, grid, args, first, kwargs, stream_given,
                            enter, leave);
  thread_facts.contents = 0;
  return failed;
}

/* Passes kvtrace's own exception to `problem`. A BaseException such as Ctrl-C's stays set for the
 * program: -1 then. */
SELDOM static int report(recorder *self) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace && value) PyException_SetTraceback(value, trace);
  PyObject *done = value ? PyObject_CallFunctionObjArgs(self->problem, value, NULL) : NULL;
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  Py_XDECREF(done);
  return drop_exception();
}

/* Returns what records launches in place of an object of the program's, which is released; the
 * object itself if nothing could be made: its launches are dropped then. Steals both. */
static PyObject *instead(recorder *self, PyObject *made, PyObject *object) {
  if (!made) {
    self->dropped++;
    if (!report(self)) return object;
  }
  Py_DECREF(object);
  return made;
}

#endif
