/* Copies of tensors' contents at launches, for the journal's thread, within a time budget; same
 * behavior as copied_contents.py. Included only by _hot.c.
 *
 * Owns a session's copies that wait for the journal, and its budget of time, under Python's lock. */
#ifndef KVTRACE_HOT_LOOKS_H
#define KVTRACE_HOT_LOOKS_H

#include "_hot_copies.h"

enum { TARGETS_LIMIT = 512, AUTOTUNE_PHASE = 1 };

/* The copies of one session that wait for the journal's thread, and the time budget. */
typedef struct {
  OWNER_HEAD
  PyTypeObject *tensor_type;
  PyObject *capsule, *numbers, *waiting; /* numbers of copies, a list of tuples */
  PyObject *pinned;    /* `device_copies.pinned_memory` */
  PyObject *tensor_of; /* `arguments.tensor_of`; NULL: only tensors are copied */
  dl_exchange *exchange;
  int64_t begin, spent, allowance;
  double fraction;
  long long limit; /* bytes of the largest tensor */
  long long most_waiting, most_bytes, held, held_bytes;
  long long copy_ns, arena_bytes;
  double byte_ns;
  int64_t refused; /* launches without contents for lack of time */
  long long most_early, in_a_row, step, farthest, most_refused, in_trials;
  struct driver driver;
  int failed; /* the driver's error, -1 without a driver: no more device copies */
  char lost;  /* the error was read */
  int host_kind; /* DLPack's kind of devices whose memory is the host's, besides the CPU; or 0 */
} looks;

static PyTypeObject *looks_type;
static int64_t elapsed(void) { return clock_ns(CLOCK_MONOTONIC); }

static int has_time(const looks *self) {
  return self->spent <
         (double)self->allowance + self->fraction * (double)(elapsed() - self->begin);
}

/* ---- what to copy of a tensor ----------------------------------------------------------------- */

/* The range of a storage that a tensor's view covers; 0 if it is empty, or leaves the storage. */
static int view_span(const dl_tensor *tensor, char *start, int64_t size, struct span *out) {
  int64_t before, after;
  tensor_reach(tensor, &before, &after);
  if (!after) return 0;
  out->address = (char *)tensor->data + tensor->byte_offset - before;
  out->size = (size_t)(before + after);
  out->offset = out->address - start;
  return out->offset >= 0 && out->offset + (int64_t)out->size <= size;
}

/* The tensor itself, or the tensor wrapped by one of Triton's own objects: a new reference. NULL
 * without an exception if there is none. */
static PyObject *tensor_of(const looks *self, PyObject *value) {
  PyObject *tensor = value;
  if (PyType_IsSubtype(Py_TYPE(value), self->tensor_type)) {
    Py_INCREF(tensor);
    return tensor;
  }
  tensor = self->tensor_of ? PyObject_CallFunctionObjArgs(self->tensor_of, value, NULL) : NULL;
  if (!tensor) drop_exception();
  if (tensor && !PyType_IsSubtype(Py_TYPE(tensor), self->tensor_type)) Py_CLEAR(tensor);
  return tensor;
}

/* 1 if a kernel gets the tensor's own pointer: a subclass may have another `data_ptr`. -1 with an
 * exception. */
static int is_given(const looks *self, PyObject *tensor, const char *pointer) {
  if (Py_TYPE(tensor) == self->tensor_type) return 1;
  int64_t given = number_by(tensor, name_data_ptr);
  return PyErr_Occurred() ? -1 : given == (int64_t)(intptr_t)pointer;
}

/* As `span_of`, of a tensor. */
static int tensor_span(looks *self, PyObject *tensor, struct span *out, int *device, PyObject *held) {
  dl_tensor seen;
  if (self->exchange->view(tensor, &seen)) return drop_exception(); /* a layout that DLPack lacks */
  char *pointer = seen.data ? (char *)seen.data + seen.byte_offset : NULL, *start;
  *device = seen.device.type == self->host_kind ? DL_CPU : seen.device.type;
  if (!pointer) return 0; /* no elements */
  int64_t size;
  int given = is_given(self, tensor, pointer);
  if (given <= 0) return given;
  PyObject *storage = storage_of(tensor, &start, &size);
  int failed = !storage || PyList_Append(held, storage);
  Py_XDECREF(storage);
  if (failed) return -1;
  if (!start || pointer < start || pointer >= start + size) return 0; /* not the tensor's memory */
  int found = 1;
  if (size <= self->limit)
    *out = (struct span){.address = start, .size = (size_t)size};
  else
    found = view_span(&seen, start, size, out) && out->size <= (size_t)self->limit;
  out->view = pointer - start;
  return found;
}

/* The memory to copy for a tensor: its storage, or its view if the storage is large. 1: found; 0:
 * empty, or above the limit. `device` is DLPack's kind, 0 if the value is no tensor. The memory lives
 * at least as long as what is added to the list `held`. */
static int span_of(looks *self, PyObject *value, struct span *out, int *device, PyObject *held) {
  *device = 0;
  PyObject *tensor = tensor_of(self, value);
  if (!tensor) return PyErr_Occurred() ? -1 : 0;
  int found = PyList_Append(held, tensor) ? -1 : tensor_span(self, tensor, out, device, held);
  Py_DECREF(tensor);
  return found;
}

/* ---- copies ----------------------------------------------------------------------------------- */

/* The parts as bytes, copied from the host's memory. */
static PyObject *host_copies(const struct span *spans, size_t count) {
  PyObject *parts = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; parts && i < count; i++) {
    PyObject *part = PyBytes_FromStringAndSize(spans[i].address, (Py_ssize_t)spans[i].size);
    if (!part) Py_CLEAR(parts);
    else PyTuple_SetItem(parts, (Py_ssize_t)i, part);
  }
  return parts;
}

/* The fields of a `device_copies.Copy`; None if no copy is possible now. */
static PyObject *device_copies(looks *self, const struct span *spans, size_t count, void *stream) {
  struct copy copy;
  char *place = NULL;
  int made = self->failed ? -1
                          : device_copy(&self->driver, self->pinned, (size_t)self->arena_bytes, self,
                                        spans, count, stream, &copy, &place, &self->failed);
  if (PyErr_Occurred()) return NULL;
  if (made < 0) self->lost = 1;
  if (made <= 0) Py_RETURN_NONE;
  PyObject *parts = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; parts && i < count; i++) {
    PyObject *part = Py_BuildValue("(Kn)", (unsigned long long)(uintptr_t)place,
                                   (Py_ssize_t)spans[i].size);
    if (!part) Py_CLEAR(parts);
    else PyTuple_SetItem(parts, (Py_ssize_t)i, part);
    place += aligned(spans[i].size);
  }
  if (!parts) return NULL;
  return Py_BuildValue("(NKIKK)", parts, (unsigned long long)(uintptr_t)copy.flag, copy.number,
                       (unsigned long long)(uintptr_t)stream, (unsigned long long)copy.end);
}

/* Queues a copy for the journal's thread; returns its number. Steals `copied` and `arguments`. */
static int64_t leave_copy(looks *self, PyObject *copied, PyObject *arguments, long long size,
                          PyObject *watch, int64_t number) {
  PyObject *next = number ? NULL : PyIter_Next(self->numbers);
  if (next) number = PyLong_AsLongLong(next);
  Py_XDECREF(next);
  PyObject *taken = number <= 0 ? NULL
                                : Py_BuildValue("(LLOOO)", (long long)number, size, copied,
                                                arguments, watch);
  Py_DECREF(copied);
  Py_DECREF(arguments);
  int failed = !taken || PyList_Append(self->waiting, taken);
  Py_XDECREF(taken);
  if (failed) return -1;
  self->held++;
  self->held_bytes += size;
  return number;
}

/* Copies the contents of tensors at this point of their stream; returns the number of the copy, 0 if
 * nothing was copied, -1 with an exception. `number` is the number of the launch's earlier copies, or
 * 0.
 *
 * The tensors are held until they are copied; on a device until the copy is on the launch's stream, as
 * the launch itself is: what frees the memory there comes after both. To hold them longer would keep
 * the program's memory from it, and free it in another thread than the program's. */
static int64_t take_unseen(looks *self, PyObject *const *values, const int *places, size_t count,
                           void *stream, PyObject *watch, int64_t number) {
  struct span spans[TARGETS_LIMIT];
  size_t span_count = 0;
  long long size = 0;
  int device = 0;
  PyObject *arguments = PyList_New(0), *held = PyList_New(0), *copied;
  if (!arguments || !held) goto failed;
  for (size_t i = 0; i < count; i++) {
    struct span span;
    int on, found = span_of(self, values[i], &span, &on, held);
    if (found < 0) goto failed;
    if (!found) continue;
    if (!device) device = on;
    size_t part = 0;
    while (part < span_count &&
           (spans[part].address != span.address || spans[part].size != span.size))
      part++;
    if (part == span_count) {
      spans[span_count++] = span;
      size += (long long)span.size;
    }
    PyObject *argument = Py_BuildValue("(inLL)", places[i], (Py_ssize_t)part, (long long)span.offset,
                                       (long long)span.view);
    int appended = argument ? PyList_Append(arguments, argument) : -1;
    Py_XDECREF(argument);
    if (appended) goto failed;
  }
  int on_host = device == DL_CPU;
  if (!span_count || (!on_host && device != DL_CUDA && device != DL_ROCM)) {
    Py_DECREF(arguments);
    Py_DECREF(held);
    return 0;
  }
  if (!on_host)
    self->spent += self->copy_ns * (long long)span_count + (int64_t)(self->byte_ns * (double)size);
  copied = on_host ? host_copies(spans, span_count) : device_copies(self, spans, span_count, stream);
  if (!copied) goto failed;
  Py_DECREF(held);
  if (copied == Py_None) {
    Py_DECREF(copied);
    Py_DECREF(arguments);
    return 0;
  }
  return leave_copy(self, copied, arguments, size, watch, number);
failed:
  Py_XDECREF(arguments);
  Py_XDECREF(held);
  return -1;
}

static int64_t take(looks *self, PyObject *const *values, const int *places, size_t count,
                    void *stream, PyObject *watch, int64_t number) {
  if (self->held >= self->most_waiting || self->held_bytes > self->most_bytes) return 0;
  PyObject *guard = unseen_begin();
  number = take_unseen(self, values, places, count, stream, watch, number);
  unseen_end(guard);
  return number;
}

/* ---- looks, for Python ------------------------------------------------------------------------ */

static void looks_renew_facts(looks *self) {
  self->begin = elapsed();
  self->spent = self->held = self->held_bytes = self->refused = 0;
}

static PyObject *looks_take(PyObject *object, PyObject *args) {
  looks *self = (looks *)object;
  PyObject *listed, *watch;
  long long stream, number;
  if (!PyArg_ParseTuple(args, "OLOL:take", &listed, &stream, &watch, &number)) return NULL;
  PyObject *held = PySequence_Tuple(listed);
  if (!held) return NULL;
  PyObject *values[TARGETS_LIMIT];
  int places[TARGETS_LIMIT];
  size_t count = 0;
  int64_t taken = -1;
  for (Py_ssize_t i = 0; i < Py_SIZE(held) && count < TARGETS_LIMIT; i++, count++)
    if (!PyArg_ParseTuple(PyTuple_GetItem(held, i), "iO", &places[count], &values[count])) goto end;
  taken = take(self, values, places, count, (void *)(intptr_t)stream, watch, number);
end:
  Py_DECREF(held);
  return taken < 0 ? NULL : PyLong_FromLongLong(taken);
}

/* Returns the queued copies, as (number, bytes, parts or the fields of a Copy, arguments, watch). The
 * parameters are the number of copies that wait in Python, and their bytes. */
static PyObject *looks_drain(PyObject *object, PyObject *args) {
  looks *self = (looks *)object;
  long long held, bytes;
  if (!PyArg_ParseTuple(args, "LL:drain", &held, &bytes)) return NULL;
  PyObject *fresh = PyList_New(0), *taken = self->waiting;
  if (!fresh) return NULL;
  self->waiting = fresh;
  self->held = held + Py_SIZE(taken);
  self->held_bytes = bytes;
  for (Py_ssize_t i = 0; i < Py_SIZE(taken); i++)
    self->held_bytes += PyLong_AsLongLong(PyTuple_GetItem(PyList_GetItem(taken, i), 1));
  return taken;
}

static PyObject *looks_allows(PyObject *object, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(has_time((looks *)object));
}

static PyObject *looks_spend(PyObject *object, PyObject *nanoseconds) {
  long long spent = PyLong_AsLongLong(nanoseconds);
  if (spent == -1 && PyErr_Occurred()) return NULL;
  ((looks *)object)->spent += spent;
  Py_RETURN_NONE;
}

/* Forgets all copies: another run begins, perhaps in a forked process. */
static PyObject *looks_renew(PyObject *object, PyObject *numbers) {
  looks *self = (looks *)object;
  PyObject *fresh = PyList_New(0), *before = self->waiting, *numbers_before = self->numbers;
  if (!fresh) return NULL;
  Py_INCREF(numbers);
  self->waiting = fresh;
  self->numbers = numbers;
  Py_DECREF(before);
  Py_DECREF(numbers_before);
  looks_renew_facts(self);
  Py_RETURN_NONE;
}

static PyObject *looks_release(PyObject *object, PyObject *end) {
  (void)object;
  unsigned long long name = PyLong_AsUnsignedLongLong(end);
  if (PyErr_Occurred()) return NULL;
  copy_release(name);
  Py_RETURN_NONE;
}

/* The driver's status of a stream, without disturbing another thread's capture. */
static PyObject *looks_query(PyObject *object, PyObject *stream) {
  looks *self = (looks *)object;
  unsigned long long handle = PyLong_AsUnsignedLongLong(stream);
  if (PyErr_Occurred()) return NULL;
  int mode = RELAXED, found;
  Py_BEGIN_ALLOW_THREADS
  self->driver.exchange_capture_mode(&mode);
  found = self->driver.query((void *)(uintptr_t)handle);
  self->driver.exchange_capture_mode(&mode);
  Py_END_ALLOW_THREADS
  return PyLong_FromLong(found);
}

static PyObject *get_failed(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLong(((looks *)self)->lost ? ((looks *)self)->failed : 0);
}

static void looks_free(PyObject *object) {
  PyObject_GC_UnTrack(object);
  copies_orphan(object);
  owner_free(object);
}

/* `Recorder.looks(numbers, budget, room, schedule, driver, pinned, host_kind, tensor_of=None)`; None
 * without torch. */
SELDOM static PyObject *recorder_looks(PyObject *object, PyObject *args) {
  recorder *by = (recorder *)object;
  PyObject *numbers, *pinned, *tensor_of = NULL;
  long long allowance, copy_ns, limit, waiting, bytes, arena_bytes, early, row, step, farthest;
  long long refused, in_trials;
  int host_kind;
  double fraction, byte_ns;
  unsigned long long f[6];
  if (!PyArg_ParseTuple(args, "O(LdLd)(LLLL)(LLLLLL)(KKKKKK)Oi|O:looks", &numbers, &allowance, &fraction,
                        &copy_ns, &byte_ns, &limit, &waiting, &bytes, &arena_bytes, &early, &row,
                        &step, &farthest, &refused, &in_trials, &f[0], &f[1], &f[2], &f[3], &f[4], &f[5],
                        &pinned, &host_kind, &tensor_of))
    return NULL;
  if (step < 1) {
    PyErr_SetString(PyExc_ValueError, "launches are inspected ever less often, step by step");
    return NULL;
  }
  if (!by->exchange) Py_RETURN_NONE;
  PyObject *queue = PyList_New(0);
  if (!queue) return NULL;
  PyObject *type = PyTuple_GetItem(by->tensor_types, 0);
  PyObject *references[] = {type, by->capsule, numbers, queue, pinned, tensor_of};
  looks *self = owner_new(looks_type, sizeof *self, 6, references);
  Py_DECREF(queue);
  if (!self) return NULL;
  self->exchange = by->exchange;
  self->allowance = allowance;
  self->fraction = fraction;
  self->copy_ns = copy_ns;
  self->byte_ns = byte_ns;
  self->limit = limit;
  self->most_waiting = waiting;
  self->most_bytes = bytes;
  self->arena_bytes = arena_bytes;
  self->most_early = early;
  self->in_a_row = row;
  self->step = step;
  self->farthest = farthest;
  self->most_refused = refused;
  self->in_trials = in_trials;
  self->host_kind = host_kind;
  *(void **)&self->driver.current_context = (void *)(uintptr_t)f[0];
  *(void **)&self->driver.is_capturing = (void *)(uintptr_t)f[1];
  *(void **)&self->driver.copy = (void *)(uintptr_t)f[2];
  *(void **)&self->driver.write_value = (void *)(uintptr_t)f[3];
  *(void **)&self->driver.exchange_capture_mode = (void *)(uintptr_t)f[4];
  *(void **)&self->driver.query = (void *)(uintptr_t)f[5];
  self->failed = f[0] ? 0 : -1;
  looks_renew_facts(self);
  return (PyObject *)self;
}

static PyMethodDef looks_methods[] = {
    {"take", looks_take, METH_VARARGS,
     "Copy contents of tensors; see copied_contents.Contents.take."},
    {"drain", looks_drain, METH_VARARGS, "Return and remove the queued copies."},
    {"allows", looks_allows, METH_NOARGS, "Return whether the time budget allows a copy now."},
    {"spend", looks_spend, METH_O, "Subtract nanoseconds from the time budget."},
    {"renew", looks_renew, METH_O,
     "Forget all copies; number those of the next run by this iterator."},
    {"release", looks_release, METH_O, "Free the pinned memory of the device copy with this end."},
    {"query", looks_query, METH_O, "Return the driver's status of a stream."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef looks_attributes[] = {
    {"failed", get_failed, NULL, "the driver's error that cost a copy, -1: there is no driver; or 0", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef looks_members[] = {
    {"refused", T_LONGLONG, offsetof(looks, refused), READONLY, "launches left out for want of time"},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot looks_slots[] = {{Py_tp_dealloc, looks_free},
                                    {Py_tp_traverse, owner_traverse},
                                    {Py_tp_methods, looks_methods},
                                    {Py_tp_getset, looks_attributes},
                                    {Py_tp_members, looks_members},
                                    {Py_tp_doc, "Copies that a session's launches leave to it."},
                                    {0, NULL}};

#endif
