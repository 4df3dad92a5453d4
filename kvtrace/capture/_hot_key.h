/* The identity of a launch as 64-bit words: kernel, grid, and each argument's metadata.
 * Included only by _hot.c.
 *
 * Owns the key under way, which is the launching thread's, and of a recorder the known names, kinds and
 * constants, under Python's lock. */
#ifndef KVTRACE_HOT_KEY_H
#define KVTRACE_HOT_KEY_H

#include "_hot_state.h"

#include <stdlib.h>
#include <string.h>

static PyObject *name_grid, *name_warmup, *name_storage, *name_data_ptr, *name_nbytes; /* interned */
static PyObject *name_torch_core, *name_guard, *name_enter, *name_exit; /* interned */

/* Values within values within … : as `arguments.MOST_NESTED`. */
enum { WORDS_AT_HAND = 256, POINTERS_AT_HAND = 32, MOST_NESTED = 128 };

/* A data pointer of a launch, and the bytes that its tensors span. Up to POINTERS_AT_HAND pointers are
 * distinct; of more, each tensor has its own. */
struct pointer {
  char *address, *begin, *end;
  size_t joined; /* see key_overlaps */
};

struct key {
  uint64_t *words;
  size_t count, size;
  struct pointer *pointers;
  size_t pointer_count, pointer_size;
  int shares; /* spans of some pointers may overlap */
  uint64_t *places; /* see _hot_addresses.h; NULL: not known */
  uint64_t words_at_hand[WORDS_AT_HAND];
  struct pointer pointers_at_hand[POINTERS_AT_HAND];
};

/* Tags in the lowest byte of an entry's first word, which distinguish kinds of entries. */
enum {
  TENSOR = 1,
  UNSTRIDED,
  INTEGER,
  TRUE_VALUE,
  FALSE_VALUE,
  NONE,
  REAL,
  TEXT,
  NAME,
  NAME_TEXT,
  DESCRIBED,
  KIND,
  ITEMS,
  OVERLAP
};

static void key_begin(struct key *key) {
  key->words = key->words_at_hand;
  key->size = WORDS_AT_HAND;
  key->pointers = key->pointers_at_hand;
  key->pointer_size = POINTERS_AT_HAND;
  key->count = key->pointer_count = 0;
  key->shares = 0;
  key->places = NULL;
}

static void key_end(struct key *key) {
  if (key->words != key->words_at_hand) PyMem_Free(key->words);
  if (key->pointers != key->pointers_at_hand) PyMem_Free(key->pointers);
  PyMem_Free(key->places);
}

/* Doubles a buffer, whose first memory is inside the key. */
SELDOM static void *grown(void *buffer, const void *at_hand, size_t used, size_t size) {
  void *larger = PyMem_Malloc(size);
  if (!larger) {
    PyErr_NoMemory();
    return NULL;
  }
  memcpy(larger, buffer, used);
  if (buffer != at_hand) PyMem_Free(buffer);
  return larger;
}

static int key_reserve(struct key *key, size_t words) {
  if (key->count + words <= key->size) return 0;
  size_t size = (key->count + words) * 2;
  uint64_t *larger = grown(key->words, key->words_at_hand, key->count * 8, size * 8);
  if (!larger) return -1;
  key->words = larger;
  key->size = size;
  return 0;
}

static int key_bytes(struct key *key, int tag, const char *bytes, size_t length) {
  size_t words = (length + 7) / 8;
  if (key_reserve(key, words + 1)) return -1;
  key->words[key->count] = (uint64_t)tag | ((uint64_t)length << 8);
  if (words) key->words[key->count + words] = 0;
  memcpy(key->words + key->count + 1, bytes, length);
  key->count += words + 1;
  return 0;
}

static int by_begin(const void *one, const void *other) {
  const struct pointer *a = *(struct pointer *const *)one, *b = *(struct pointer *const *)other;
  if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
  return (a->end > b->end) - (a->end < b->end);
}

/* Joins the pointers whose spans overlap, one by one: each gets the lowest index of its group. Spans in
 * the order of their begins are a group up to the first that begins where no earlier one reaches. */
static void join_pointers(struct pointer *pointers, struct pointer **order, size_t count) {
  for (size_t i = 0; i < count; i++) order[i] = &pointers[i];
  qsort(order, count, sizeof *order, by_begin);
  for (size_t first = 0, next; first < count; first = next) {
    size_t lowest = (size_t)(order[first] - pointers);
    const char *reach = order[first]->end;
    for (next = first + 1; next < count; next++) {
      const struct pointer *pointer = order[next];
      if (pointer->begin >= reach && pointer->begin != order[next - 1]->begin) break;
      if (pointer->end > reach) reach = pointer->end;
      if ((size_t)(pointer - pointers) < lowest) lowest = (size_t)(pointer - pointers);
    }
    for (size_t i = first; i < next; i++) order[i]->joined = lowest;
  }
}

/* Adds the distances of pointers whose spans overlap: such tensors share memory, and where they meet
 * decides races. One distance suffices for each pointer of a group that is joined by overlaps. Tensors
 * of one storage that do not overlap may move apart. */
SELDOM static int key_overlaps(struct key *key) {
  struct pointer *pointers = key->pointers, *at_hand[POINTERS_AT_HAND], **order = at_hand;
  size_t count = key->pointer_count;
  if (count > POINTERS_AT_HAND) order = PyMem_Malloc(count * sizeof(struct pointer *));
  if (!order) {
    PyErr_NoMemory();
    return -1;
  }
  join_pointers(pointers, order, count);
  if (order != at_hand) PyMem_Free(order);
  for (size_t i = 0; i < count; i++) {
    size_t joined = pointers[i].joined;
    if (joined == i) continue;
    if (key_reserve(key, 2)) return -1;
    key->words[key->count++] = OVERLAP | (uint64_t)joined << 8 | (uint64_t)i << 32;
    key->words[key->count++] = (uint64_t)(pointers[i].address - pointers[joined].address);
  }
  return 0;
}

SELDOM static int pointers_reserve(struct key *key) {
  size_t used = key->pointer_count * sizeof *key->pointers;
  struct pointer *larger = grown(key->pointers, key->pointers_at_hand, used, used * 2);
  if (!larger) return -1;
  key->pointers = larger;
  key->pointer_size *= 2;
  return 0;
}

/* The same as `alias_of` behind the first POINTERS_AT_HAND: `key_overlaps` finds the equal ones. */
SELDOM static int64_t alias_of_many(struct key *key, char *address, char *begin, char *end) {
  if (key->pointer_count == key->pointer_size && pointers_reserve(key)) return -1;
  key->shares = 1;
  key->pointers[key->pointer_count] = (struct pointer){.address = address, .begin = begin, .end = end};
  return (int64_t)key->pointer_count++;
}

/* The same as `alias_of` for a tensor that shares bytes with another, or has none. */
SELDOM static int64_t alias_in_common(struct key *key, char *address, char *begin, char *end) {
  struct pointer *pointers = key->pointers;
  size_t index = 0;
  while (index < key->pointer_count && pointers[index].address != address) index++;
  struct pointer *own = &pointers[index];
  if (index == key->pointer_count) {
    *own = (struct pointer){.address = address, .begin = begin, .end = end};
    key->pointer_count++;
    key->shares = 1;
    return (int64_t)index;
  }
  key->shares |= begin < own->begin || end > own->end;
  if (begin < own->begin) own->begin = begin;
  if (end > own->end) own->end = end;
  return (int64_t)index;
}

/* The index of the first equal pointer of the call, to which the tensor's span, [begin, end), is added;
 * -1 with an exception without memory. */
static int64_t alias_of(struct key *key, char *address, char *begin, char *end) {
  struct pointer *pointers = key->pointers;
  size_t count = key->pointer_count;
  if (count >= POINTERS_AT_HAND) return alias_of_many(key, address, begin, end);
  int shares = begin == end;
  for (size_t i = 0; i < count; i++)
    shares |= (begin < pointers[i].end) & (pointers[i].begin < end);
  if (shares) return alias_in_common(key, address, begin, end);
  pointers[count] = (struct pointer){.address = address, .begin = begin, .end = end};
  key->pointer_count++;
  return (int64_t)count;
}

/* Adds what Python described; `pointers` are triples (address, begin, end), or None. */
SELDOM static int key_described(struct key *key, PyObject *identity, PyObject *pointers) {
  char *bytes;
  Py_ssize_t length;
  if (PyBytes_AsStringAndSize(identity, &bytes, &length)) return -1;
  if (key_bytes(key, DESCRIBED, bytes, (size_t)length)) return -1;
  Py_ssize_t count = pointers == Py_None ? 0 : PyTuple_Size(pointers);
  if (count < 0 || key_reserve(key, 1)) return -1;
  key->words[key->count++] = (uint64_t)count;
  for (Py_ssize_t i = 0; i < count; i++) {
    unsigned long long address, begin, end;
    if (!PyArg_ParseTuple(PyTuple_GetItem(pointers, i), "KKK", &address, &begin, &end)) return -1;
    int64_t alias = alias_of(key, (char *)(uintptr_t)address, (char *)(uintptr_t)begin,
                             (char *)(uintptr_t)end);
    if (alias < 0 || key_reserve(key, 1)) return -1;
    key->words[key->count++] = (uint64_t)alias;
  }
  return 0;
}

static int64_t kind_number(recorder *self, PyTypeObject *type, PyObject *fields);
static int key_uncommon(recorder *self, struct key *key, PyObject *value);

/* Begins as `arguments.unseen`: returns what ends it; NULL without an exception if there is no torch. */
SELDOM static PyObject *unseen_begin(void) {
  PyObject *core = PyImport_GetModule(name_torch_core);
  PyObject *guard = core ? PyObject_CallMethodObjArgs(core, name_guard, NULL) : NULL;
  PyObject *entered = guard ? PyObject_CallMethodObjArgs(guard, name_enter, NULL) : NULL;
  if (!entered) {
    PyErr_Clear();
    Py_CLEAR(guard);
  }
  Py_XDECREF(core);
  Py_XDECREF(entered);
  return guard;
}

/* Steals `guard`; an exception that is set stays set. */
SELDOM static void unseen_end(PyObject *guard) {
  if (!guard) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *left = PyObject_CallMethodObjArgs(guard, name_exit, Py_None, Py_None, Py_None, NULL);
  if (!left) PyErr_Clear();
  Py_XDECREF(left);
  Py_DECREF(guard);
  PyErr_Restore(type, value, trace);
}

/* As `key_by_python`, of a value that is held and not known. */
SELDOM static int key_asked(recorder *self, struct key *key, PyObject *value) {
  PyObject *guard = unseen_begin();
  PyObject *found = PyObject_CallFunctionObjArgs(self->describe, value, NULL);
  unseen_end(guard);
  if (!found) return -1;
  PyObject *identity = PyTuple_GetItem(found, 0);
  PyObject *pointers = identity ? PyTuple_GetItem(found, 1) : NULL;
  PyObject *fields = pointers && Py_SIZE(found) == 3 ? PyTuple_GetItem(found, 2) : NULL;
  if (fields && kind_number(self, Py_TYPE(value), fields) > 0) {
    Py_DECREF(found);
    return key_uncommon(self, key, value);
  }
  int failed = pointers ? key_described(key, identity, pointers) : -1;
  if (!failed && pointers == Py_None && self->constant_count < CONSTANTS / 2) {
    size_t slot = ((uintptr_t)value >> 4) % CONSTANTS;
    while (self->constants[slot].object && self->constants[slot].object != value)
      slot = (slot + 1) % CONSTANTS;
    if (!self->constants[slot].object) {
      Py_INCREF(value);
      Py_INCREF(identity);
      self->constants[slot].object = value;
      self->constants[slot].identity = identity;
      self->constant_count++;
    }
  }
  Py_DECREF(found);
  return failed;
}

/* Adds an argument that only Python can describe. Objects that never change, like dtypes, are
 * described once; for types that are distinguished by fields, the fields' names are stored. */
SELDOM static int key_by_python(recorder *self, struct key *key, PyObject *value) {
  size_t slot = ((uintptr_t)value >> 4) % CONSTANTS;
  while (self->constants[slot].object) {
    if (self->constants[slot].object == value)
      return key_described(key, self->constants[slot].identity, Py_None);
    slot = (slot + 1) % CONSTANTS;
  }
  Py_INCREF(value); /* Python may change what has it */
  int failed = key_asked(self, key, value);
  Py_DECREF(value);
  return failed;
}

/* Tensors have few dimensions, for which a call of memcpy costs more than the copy. */
static uint64_t *copied(uint64_t *to, const int64_t *from, size_t count) {
  switch (count) {
  case 4:
    to[3] = (uint64_t)from[3]; /* fall through */
  case 3:
    to[2] = (uint64_t)from[2]; /* fall through */
  case 2:
    to[1] = (uint64_t)from[1]; /* fall through */
  case 1:
    to[0] = (uint64_t)from[0]; /* fall through */
  case 0:
    break;
  default:
    memcpy(to, from, count * 8);
  }
  return to + count;
}

/* The bytes that a tensor spans, from its data pointer on and before it; (0, 0): it is empty. */
static void tensor_reach(const dl_tensor *tensor, int64_t *before, int64_t *after) {
  int64_t item = (tensor->dtype.bits * tensor->dtype.lanes + 7) / 8;
  int64_t below = 0, above = 0, contiguous = 1;
  for (int32_t i = tensor->dimensions - 1; i >= 0; i--) {
    int64_t size = tensor->shape[i], step = tensor->strides ? tensor->strides[i] : contiguous;
    if (size == 0) {
      *before = *after = 0;
      return;
    }
    if (step < 0)
      below -= (size - 1) * step;
    else
      above += (size - 1) * step;
    if (!tensor->strides) contiguous *= size;
  }
  *before = below * item;
  *after = (above + 1) * item;
}

static int key_tensor(recorder *self, struct key *key, PyObject *value) {
  dl_tensor tensor;
  if (self->exchange->view(value, &tensor)) {
    if (drop_exception()) return -1; /* else a type or layout that DLPack does not know */
    return key_by_python(self, key, value);
  }
  size_t dimensions = (size_t)tensor.dimensions;
  if (dimensions > 255) return key_by_python(self, key, value);
  char *pointer = (char *)tensor.data + tensor.byte_offset;
  int64_t before, after;
  tensor_reach(&tensor, &before, &after);
  int64_t alias = alias_of(key, pointer, pointer - before, pointer + after);
  if (alias < 0 || key_reserve(key, 2 + 2 * dimensions)) return -1;
  uint64_t *word = key->words + key->count;
  *word++ = (uint64_t)(tensor.strides ? TENSOR : UNSTRIDED) | (uint64_t)dimensions << 8 |
            (uint64_t)tensor.dtype.code << 16 | (uint64_t)tensor.dtype.bits << 24 |
            (uint64_t)tensor.dtype.lanes << 32 | (uint64_t)(uint8_t)tensor.device.type << 48 |
            (uint64_t)((uintptr_t)pointer & 15) << 56;
  *word++ = (uint64_t)(uint32_t)tensor.device.index | (uint64_t)alias << 32;
  word = copied(word, tensor.shape, dimensions);
  if (tensor.strides) word = copied(word, tensor.strides, dimensions);
  key->count = (size_t)(word - key->words);
  return 0;
}

static PyObject *read_names[5]; /* attributes with a tensor's metadata: interned */

/* 1 if a type's attributes with metadata are torch's own; -1 with an exception. */
SELDOM static int reads_as_tensor(recorder *self, PyTypeObject *type) {
  if (!self->fast_types[0] || !PyType_IsSubtype(type, self->fast_types[0])) return 0;
  for (size_t i = 0; i < sizeof read_names / sizeof *read_names; i++) {
    PyObject *its = PyObject_GetAttr((PyObject *)type, read_names[i]);
    PyObject *torchs = PyObject_GetAttr((PyObject *)self->fast_types[0], read_names[i]);
    int same = its && its == torchs;
    Py_XDECREF(its);
    Py_XDECREF(torchs);
    if (!same) return PyErr_Occurred() ? -1 : 0;
  }
  return 1;
}

/* Adds a type of arguments; returns its number, 0 if Python has to describe the arguments, or -1 with
 * an exception. `fields` are NULL, or names from Python. */
SELDOM static int64_t kind_number(recorder *self, PyTypeObject *type, PyObject *fields) {
  for (size_t i = 0; i < self->kind_count; i++)
    if (self->kinds[i].type == type) return (int64_t)i + 1;
  if (self->kind_count == KINDS) return 0;
  int reads = 0, is_sequence = 0;
  if (!fields) {
    is_sequence = PyType_IsSubtype(type, &PyTuple_Type) || PyType_IsSubtype(type, &PyList_Type);
    reads = is_sequence ? 0 : reads_as_tensor(self, type);
    if (!is_sequence && reads <= 0) return reads;
  }
  Py_INCREF((PyObject *)type);
  Py_XINCREF(fields);
  self->kinds[self->kind_count++] = (struct kind){type, fields, (char)is_sequence};
  return (int64_t)self->kind_count;
}

static int key_value(recorder *self, struct key *key, PyObject *value);

SELDOM static int key_items(recorder *self, struct key *key, PyObject *value) {
  int is_list = PyList_Check(value);
  Py_ssize_t count = Py_SIZE(value);
  if (key_reserve(key, 1)) return -1;
  key->words[key->count++] = ITEMS | (uint64_t)count << 8;
  int failed = 0;
  for (Py_ssize_t i = 0; i < count && !failed; i++) {
    PyObject *item = is_list ? PyList_GetItem(value, i) : PyTuple_GetItem(value, i);
    Py_XINCREF(item); /* a callback may change the list */
    failed = !item || key_value(self, key, item);
    Py_XDECREF(item);
  }
  return failed ? -1 : 0;
}

enum { EXTENTS_LIMIT = 8 };

/* Reads a sequence of at most EXTENTS_LIMIT integers; returns their number, or -1. */
SELDOM static int extents_of(PyObject *sequence, int64_t *out) {
  Py_ssize_t count = PySequence_Length(sequence);
  if (count < 0 || count > EXTENTS_LIMIT) return -1;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *item = PySequence_GetItem(sequence, i);
    int overflow = 0;
    out[i] = item && PyLong_Check(item) ? PyLong_AsLongLongAndOverflow(item, &overflow) : -1;
    Py_XDECREF(item);
    if (out[i] < 0 || overflow) return -1;
  }
  return (int)count;
}

SELDOM static int64_t number_by(PyObject *object, PyObject *method) {
  PyObject *found = PyObject_CallMethodObjArgs(object, method, NULL);
  if (!found) return -1;
  int64_t number = (int64_t)PyLong_AsUnsignedLongLong(found);
  Py_DECREF(found);
  return number;
}

/* Reads the address and the bytes of a tensor's storage, and returns the storage, without which its
 * memory may be gone; NULL with an exception. */
SELDOM static PyObject *storage_of(PyObject *tensor, char **start, int64_t *size) {
  PyObject *storage = PyObject_CallMethodObjArgs(tensor, name_storage, NULL);
  if (!storage) return NULL;
  *start = (char *)(intptr_t)number_by(storage, name_data_ptr);
  *size = PyErr_Occurred() ? 0 : number_by(storage, name_nbytes);
  if (PyErr_Occurred()) Py_CLEAR(storage);
  return storage;
}

/* Adds the place of a tensor's data pointer in its storage, and the storage's bytes. */
SELDOM static int key_storage(struct key *key, PyObject *tensor, const char *pointer) {
  char *start;
  int64_t size;
  PyObject *guard = unseen_begin();
  PyObject *storage = storage_of(tensor, &start, &size);
  unseen_end(guard);
  Py_XDECREF(storage); /* only numbers are used */
  if (!storage || key_reserve(key, 2)) return -1;
  key->words[key->count++] = (uint64_t)(pointer - start);
  key->words[key->count++] = (uint64_t)size;
  return 0;
}

/* Adds what the bytes that a descriptor addresses overlap, and their room, if they are more than its
 * tensor's. */
SELDOM static int key_descriptor(recorder *self, struct key *key, PyObject *const *fields) {
  dl_tensor tensor;
  int64_t shape[EXTENTS_LIMIT], strides[EXTENTS_LIMIT], own_before, own_after, before, after;
  int dimensions = extents_of(fields[1], shape);
  if (!PyType_IsSubtype(Py_TYPE(fields[0]), self->fast_types[0]) || dimensions < 0 ||
      extents_of(fields[2], strides) != dimensions || self->exchange->view(fields[0], &tensor)) {
    return drop_exception();
  }
  tensor_reach(&tensor, &own_before, &own_after);
  tensor.dimensions = dimensions;
  tensor.shape = shape;
  tensor.strides = strides;
  tensor_reach(&tensor, &before, &after);
  if (before <= own_before && after <= own_after) return 0;
  char *pointer = (char *)tensor.data + tensor.byte_offset;
  if (alias_of(key, pointer, pointer - before, pointer + after) < 0) return -1;
  return key_storage(key, fields[0], pointer);
}

/* Adds fields; of a descriptor the first are its tensor, its shape and its strides. */
SELDOM static int key_fields(recorder *self, struct key *key, PyObject *value, PyObject *fields) {
  int failed = 0;
  PyObject *first[3] = {NULL, NULL, NULL};
  for (Py_ssize_t i = 0; i < Py_SIZE(fields) && !failed; i++) {
    PyObject *item = PyObject_GetAttr(value, PyTuple_GetItem(fields, i));
    failed = !item || key_value(self, key, item);
    if (i < 3)
      first[i] = item;
    else
      Py_XDECREF(item);
  }
  if (!failed && first[2]) failed = key_descriptor(self, key, first);
  for (int i = 0; i < 3; i++) Py_XDECREF(first[i]);
  return failed ? -1 : 0;
}

/* Of the value that the thread is adding, in lists, tuples and fields. */
static __thread int depth;

/* Adds an argument of uncommon type: of a stored type, or described by Python. */
SELDOM static int key_uncommon(recorder *self, struct key *key, PyObject *value) {
  int64_t number = kind_number(self, Py_TYPE(value), NULL);
  if (!number) return key_by_python(self, key, value);
  if (number < 0 || key_reserve(key, 1)) return -1;
  if (depth == MOST_NESTED) {
    PyErr_Format(PyExc_RecursionError, "an argument is nested more than %d deep", MOST_NESTED);
    return -1;
  }
  struct kind kind = self->kinds[number - 1];
  key->words[key->count++] = KIND | (uint64_t)number << 8;
  depth++;
  Py_INCREF(value); /* Python may change what has it */
  int failed = kind.fields        ? key_fields(self, key, value, kind.fields)
               : kind.is_sequence ? key_items(self, key, value)
                                  : key_tensor(self, key, value);
  Py_DECREF(value);
  depth--;
  return failed;
}

static int key_text(struct key *key, int tag, PyObject *text) {
  Py_ssize_t length;
  const char *bytes = PyUnicode_AsUTF8AndSize(text, &length);
  return bytes ? key_bytes(key, tag, bytes, (size_t)length) : -1;
}

static int key_value(recorder *self, struct key *key, PyObject *value) {
  PyTypeObject *type = Py_TYPE(value);
  if (type == self->fast_types[0] || type == self->fast_types[1])
    return key_tensor(self, key, value);
  if (key_reserve(key, 2)) return -1;
  if (type == &PyLong_Type) {
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) return key_uncommon(self, key, value);
    key->words[key->count++] = INTEGER;
    key->words[key->count++] = (uint64_t)number;
    return 0;
  }
  if (type == &PyBool_Type) {
    key->words[key->count++] = value == Py_True ? TRUE_VALUE : FALSE_VALUE;
    return 0;
  }
  if (type == &PyFloat_Type) {
    double number = PyFloat_AsDouble(value);
    key->words[key->count++] = REAL;
    memcpy(key->words + key->count++, &number, 8);
    return 0;
  }
  if (value == Py_None) {
    key->words[key->count++] = NONE;
    return 0;
  }
  if (type == &PyUnicode_Type) {
    if (key_text(key, TEXT, value) == 0) return 0;
    if (drop_exception()) return -1; /* lone surrogates have no UTF-8 */
  }
  return key_uncommon(self, key, value);
}

static int grid_number(PyObject *grid, Py_ssize_t index, Py_ssize_t count, int64_t *out) {
  *out = 1;
  if (index >= count) return 0;
  PyObject *item = PySequence_GetItem(grid, index);
  if (!item) return -1;
  PyObject *number = PyNumber_Index(item);
  Py_DECREF(item);
  if (!number) return -1;
  *out = PyLong_AsLongLong(number);
  Py_DECREF(number);
  return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

/* Nearly every grid is a tuple of one to three ints. It is read with functions that arguments need,
 * too, since each further function would load more code into the caches. */
static int key_plain_grid(struct key *key, PyObject *grid) {
  if (Py_TYPE(grid) != &PyTuple_Type) return 0;
  Py_ssize_t count = Py_SIZE(grid);
  if (count < 1 || count > 3) return 0;
  uint64_t *word = key->words + key->count;
  word[1] = word[2] = 1;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *item = PyTuple_GetItem(grid, i);
    int overflow = 0;
    if (Py_TYPE(item) != &PyLong_Type) return 0;
    word[i] = (uint64_t)PyLong_AsLongLongAndOverflow(item, &overflow);
    if (overflow) return 0;
  }
  key->count += 3;
  return 1;
}

/* Without a grid, three zeros: the grid follows from the kernel and the arguments. */
static int key_grid(struct key *key, PyObject *grid) {
  if (!grid) {
    for (int i = 0; i < 3; i++) key->words[key->count++] = 0;
    return 0;
  }
  if (key_plain_grid(key, grid)) return 0;
  Py_ssize_t count = PyObject_Length(grid);
  if (count < 0) return -1;
  if (count == 0) {
    PyErr_SetString(PyExc_IndexError, "the grid is empty");
    return -1;
  }
  for (Py_ssize_t i = 0; i < 3; i++) {
    int64_t number;
    if (grid_number(grid, i, count, &number)) return -1;
    key->words[key->count++] = (uint64_t)number;
  }
  return 0;
}

enum { NO_ARGUMENT = 0, WITHOUT_NUMBER = -1, NAME_FAILED = -2 };

static int is_name(PyObject *key, PyObject *name) {
  return key == name || PyUnicode_Compare(key, name) == 0;
}

SELDOM static int64_t number_of_text(recorder *self, PyObject *name) {
  if (is_name(name, name_grid) || is_name(name, name_warmup)) return NO_ARGUMENT;
  if (!PyUnicode_CheckExact(name)) return WITHOUT_NUMBER;
  PyObject *known = PyDict_GetItemWithError(self->names, name);
  if (known) return PyLong_AsLongLong(known);
  if (PyErr_Occurred()) return NAME_FAILED;
  int64_t number = PyDict_Size(self->names) + 1;
  if (number > NAMES_LIMIT) return WITHOUT_NUMBER;
  PyObject *made = PyLong_FromLongLong(number);
  int failed = !made || PyDict_SetItem(self->names, name, made);
  Py_XDECREF(made);
  return failed ? NAME_FAILED : number;
}

/* The number of a keyword's name. Names are few and mostly interned, so the address suffices to find
 * the number. Keywords that are not arguments of the kernel (grid, warmup) have number 0. Runs no
 * Python. */
static int64_t name_number(recorder *self, PyObject *name) {
  size_t slot = ((uintptr_t)name >> 4) % NAME_SLOTS;
  for (; self->name_slots[slot].object; slot = (slot + 1) % NAME_SLOTS)
    if (self->name_slots[slot].object == name) return self->name_slots[slot].number;
  int64_t number = number_of_text(self, name);
  if (number >= 0 && self->name_count < NAME_SLOTS / 2) {
    Py_INCREF(name);
    self->name_slots[slot] = (struct name){name, number};
    self->name_count++;
  }
  return number;
}

/* Arguments from `first` on; kwargs may hold grid and warmup. */
static int key_arguments(recorder *self, struct key *key, PyObject *args, Py_ssize_t first,
                         PyObject *kwargs) {
  Py_ssize_t count = Py_SIZE(args);
  for (Py_ssize_t i = first; i < count; i++)
    if (key_value(self, key, PyTuple_GetItem(args, i))) return -1;
  if (!kwargs) return 0;
  PyObject *name, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(kwargs, &position, &name, &value)) {
    if (name == name_grid || name == name_warmup) continue;
    int64_t number = name_number(self, name);
    if (number == NO_ARGUMENT) continue;
    if (number == NAME_FAILED || key_reserve(key, 1)) return -1;
    if (number > 0)
      key->words[key->count++] = NAME | (uint64_t)number << 8;
    else if (key_text(key, NAME_TEXT, name))
      return -1;
    if (key_value(self, key, value)) return -1;
  }
  return 0;
}

static uint64_t mixed(uint64_t state, uint64_t word) {
  state = (state ^ word) * 0x9E3779B97F4A7C15ull;
  return state ^ state >> 29;
}

/* Hashes words at even and odd positions separately, since each step waits for the previous one. */
static uint64_t key_hash(const struct key *key) {
  uint64_t even = key->count, odd = key->count;
  size_t i = 0;
  for (; i + 1 < key->count; i += 2) {
    even = mixed(even, key->words[i]);
    odd = mixed(odd, key->words[i + 1]);
  }
  if (i < key->count) even = mixed(even, key->words[i]);
  return mixed(even, odd);
}

#endif
