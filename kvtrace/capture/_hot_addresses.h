/* Addresses of launches' tensors, in the order of their calls' arguments. Included only by _hot.c.
 *
 * A launch's key has its distinct data pointers, in the order in which arguments were passed. Python
 * says once for each key which of them each recorded argument has (its place); equal keys have equal
 * places. So a launch costs a copy of its pointers, and nothing where addresses are not kept.
 *
 * Owns the addresses of a recorder's waiting rows, under Python's lock. */
#ifndef KVTRACE_HOT_ADDRESSES_H
#define KVTRACE_HOT_ADDRESSES_H

#include "_hot_tables.h"

enum { NOT_KEPT = -1 };

SELDOM static int addresses_reserve(struct addresses *self, size_t values) {
  if (self->rows == self->row_room) {
    size_t room = self->row_room ? 2 * self->row_room : 4096;
    int32_t *larger = PyMem_Realloc(self->counts, room * sizeof *larger);
    if (!larger) return -1;
    self->counts = larger;
    self->row_room = room;
  }
  if (self->used + values > self->room) {
    size_t room = 2 * (self->used + values) + 4096;
    int64_t *larger = PyMem_Realloc(self->values, room * sizeof *larger);
    if (!larger) return -1;
    self->values = larger;
    self->room = room;
  }
  return 0;
}

static int has_room(const struct addresses *self, size_t values) {
  return self->rows < self->row_room && self->used + values <= self->room;
}

/* Puts the addresses of the launch that is recorded next behind those of the rows. `places`: their
 * number, as a word, and the places; NULL: not known. */
static void note_addresses(recorder *self, const struct key *key, const uint64_t *places) {
  struct addresses *to = &self->addresses;
  to->noted = NOT_KEPT;
  if (!places || places[0] == (uint64_t)NOT_KEPT) return;
  size_t count = (size_t)places[0];
  if (!has_room(to, count) && addresses_reserve(to, count)) return;
  for (size_t i = 0; i < count; i++) {
    size_t place = (size_t)places[1 + i];
    if (place >= key->pointer_count) return;
    to->values[to->used + i] = (int64_t)(intptr_t)key->pointers[place].address;
  }
  to->noted = (int32_t)count;
}

/* Gives the noted addresses to the row that was just appended. */
static void keep_addresses(recorder *self) {
  struct addresses *to = &self->addresses;
  int32_t count = to->noted;
  to->noted = NOT_KEPT;
  if (!has_room(to, 0) && addresses_reserve(to, 0)) {
    to->lacking++; /* the rows from here on have none until all are drained */
    return;
  }
  if (to->lacking) return;
  to->counts[to->rows++] = count;
  if (count > 0) to->used += (size_t)count;
}

static void addresses_clear(struct addresses *self) {
  self->rows = self->used = self->lacking = 0;
  self->noted = NOT_KEPT;
}

/* For the key of the call that the thread is making: the place of each argument's data pointer. */
static PyObject *recorder_place(PyObject *object, PyObject *addresses) {
  struct key *key = ((recorder *)object)->keeps_addresses ? thread_facts.making : NULL;
  if (!key) Py_RETURN_NONE;
  Py_ssize_t count = PyTuple_Size(addresses);
  if (count < 0) return NULL;
  uint64_t *places = PyMem_Realloc(key->places, (size_t)(count + 1) * 8);
  if (!places) return PyErr_NoMemory();
  key->places = places;
  key->places[0] = (uint64_t)count;
  size_t place = 0, pointers = key->pointer_count; /* arguments come in about the pointers' order */
  for (Py_ssize_t i = 0; i < count; i++) {
    char *pointer = PyLong_AsVoidPtr(PyTuple_GetItem(addresses, i));
    if (!pointer && PyErr_Occurred()) return NULL;
    size_t tried = 0;
    while (tried < pointers && key->pointers[place].address != pointer) {
      place = (place + 1) % pointers;
      tried++;
    }
    if (tried == pointers) {
      key->places[0] = (uint64_t)NOT_KEPT;
      break;
    }
    key->places[1 + i] = place;
  }
  Py_RETURN_NONE;
}

/* Removes the addresses of the first launches; those of later ones move to the front. */
static PyObject *recorder_drain_addresses(PyObject *object, PyObject *wanted) {
  struct addresses *from = &((recorder *)object)->addresses;
  Py_ssize_t rows = PyLong_AsSsize_t(wanted);
  if (rows < 0) return PyErr_Occurred() ? NULL : PyLong_FromLong(0);
  size_t count = (size_t)rows, known = from->rows < count ? from->rows : count, used = 0;
  PyObject *offsets = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((count + 1) * sizeof(int32_t)));
  PyObject *kept = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)count);
  if (!offsets || !kept) {
    Py_XDECREF(offsets);
    Py_XDECREF(kept);
    return NULL;
  }
  int32_t *offset = (int32_t *)(void *)PyBytes_AsString(offsets);
  char *flags = PyBytes_AsString(kept);
  for (size_t i = 0; i < count; i++) {
    int32_t number = i < known ? from->counts[i] : NOT_KEPT;
    offset[i] = (int32_t)used;
    flags[i] = number != NOT_KEPT;
    if (number > 0) used += (size_t)number;
  }
  offset[count] = (int32_t)used;
  PyObject *result = Py_BuildValue("(Ny#N)", offsets, used ? (char *)from->values : "",
                                   (Py_ssize_t)(used * sizeof *from->values), kept);
  if (from->lacking) {
    addresses_clear(from);
    return result;
  }
  from->rows -= known;
  from->used -= used;
  memmove(from->counts, from->counts + known, from->rows * sizeof *from->counts);
  memmove(from->values, from->values + used, from->used * sizeof *from->values);
  return result;
}

static PyObject *get_keeps_addresses(PyObject *self, void *unused) {
  (void)unused;
  return PyBool_FromLong(((recorder *)self)->keeps_addresses);
}

/* Calls that are known have no places: they are forgotten. */
static int set_keeps_addresses(PyObject *object, PyObject *value, void *unused) {
  (void)unused;
  recorder *self = (recorder *)object;
  int keeps = value ? PyObject_IsTrue(value) : 0;
  if (keeps < 0) return -1;
  if (keeps != self->keeps_addresses) calls_clear(self);
  self->keeps_addresses = (char)keeps;
  addresses_clear(&self->addresses);
  return 0;
}

#endif
