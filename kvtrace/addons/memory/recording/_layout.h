/* torch's objects as memory: tensors, storages, boxed values and operators under way.
 *
 * Python finds and checks all offsets before anything is read by them (layouts.py).
 *
 * Owns the offsets, which are written under Python's lock before calls are recorded, and the search for
 * them, which only the thread that searches reads and writes. */
#ifndef KVTRACE_MEMORY_LAYOUT_H
#define KVTRACE_MEMORY_LAYOUT_H

#include <stdint.h>
#include <string.h>

static struct torch_layout torch_at; /* found by layouts.py */
static unsigned char item_bytes[256]; /* of an element, by torch's number of the element type */

static int64_t word(const char *object, Py_ssize_t offset) {
  int64_t found;
  memcpy(&found, object + offset, sizeof found);
  return found;
}

/* A tensor's metadata; `data` NULL: it has no memory, or no elements. */
struct tensor {
  const char *storage;
  char *data;
  const int64_t *sizes; /* and strides behind them */
  int64_t dimensions, numel, offset_bytes, storage_bytes;
  unsigned int dtype;
};

/* 0: it has no storage, as sparse tensors, or a layout that is not read; `numel` is read then, too. */
static int read_tensor(const char *impl, struct tensor *out) {
  out->numel = impl ? word(impl, torch_at.numel) : 0;
  if (!impl) return 0;
  out->storage = pointer(impl, torch_at.storage);
  out->dimensions = word(impl, torch_at.dimensions);
  if (!out->storage || out->dimensions < 0 || out->dimensions > MOST_DIMENSIONS) return 0;
  const char *sizes = impl + torch_at.dimensions + sizeof(int64_t);
  if (out->dimensions > INLINE_DIMENSIONS) sizes = pointer(sizes, 0);
  out->sizes = (const int64_t *)sizes;
  out->dtype = (unsigned char)impl[torch_at.dtype];
  out->offset_bytes = word(impl, torch_at.offset) * item_bytes[out->dtype];
  out->storage_bytes = word(out->storage, torch_at.bytes);
  char *begin;
  memcpy(&begin, out->storage + torch_at.data, sizeof begin);
  out->data = begin ? begin + out->offset_bytes : NULL;
  return 1;
}

/* The strides: inline ones lie behind room for INLINE_DIMENSIONS sizes. */
static const int64_t *strides_of(const struct tensor *tensor) {
  int64_t room = tensor->dimensions > INLINE_DIMENSIONS ? tensor->dimensions : INLINE_DIMENSIONS;
  return tensor->sizes + room;
}

/* The index of the device with a storage; -1: the host. */
static int64_t device_of(const char *storage) {
  return storage[torch_at.device] ? storage[torch_at.device + 1] : -1;
}

/* A C++ string, as libstdc++ lays it out: pointer and length. */
struct text_view {
  const char *letters;
  size_t length;
};

static struct text_view text_at(const char *object) {
  struct text_view found = {pointer(object, 0), (size_t)word(object, sizeof(void *))};
  return found;
}

/* ---- finding the offsets of a RecordFunction -------------------------------------------------- */

enum { SEARCHED = 1024, POINTER_BYTES = sizeof(void *), LIST_BYTES = 6 * POINTER_BYTES };

/* What the operator that is searched for is given, and where that was found: -1 nowhere, -2 at more
 * than one place. */
static struct {
  uint64_t thread; /* 0: nothing is searched for */
  int pipe[2];     /* reading is tried by the system call `write`, which fails where memory is missing */
  const char *first, *second, *result; /* TensorImpls: two arguments and the result */
  const char *name;                    /* of the operator */
  int64_t arguments;
  Py_ssize_t list_in; /* where arguments lie, to look for the tensors in a list; -1: in arguments */
  Py_ssize_t inputs, outputs, schema, items;
  unsigned int tag; /* of the tensor, or of the list */
  int starts, ends;
} search;

/* By the system call itself: the C library's function is checked by sanitizers, which see where what may
 * be read belongs to other objects. */
static int readable(const char *address, size_t bytes) {
  char scratch[256];
  if (!address || bytes > sizeof scratch) return 0;
  if (syscall(SYS_write, search.pipe[1], address, bytes) != (long)bytes) return 0;
  return read(search.pipe[0], scratch, bytes) == (ssize_t)bytes;
}

static void found_at(Py_ssize_t *place, Py_ssize_t offset) { *place = *place == -1 ? offset : -2; }

static int is_schema(const char *candidate) {
  if (!readable(candidate, 2 * CXX_STRING)) return 0;
  struct text_view name = text_at(candidate);
  size_t length = strlen(search.name);
  return name.length == length && readable(name.letters, length) &&
         !memcmp(name.letters, search.name, length);
}

static unsigned int tag_of(const char *value) {
  unsigned int tag;
  memcpy(&tag, value + TAG_OFFSET, sizeof tag);
  return tag;
}

static int has_both(const char *values) {
  return !((uintptr_t)values % sizeof(void *)) && readable(values, 2 * VALUE_BYTES) &&
         pointer(values, 0) == search.first && pointer(values, VALUE_BYTES) == search.second;
}

/* Looks for the tensors in the list that is the first argument. */
static void search_list(const char *function) {
  const char *value = pointer(function, search.list_in), *list = pointer(value, 0);
  search.tag = tag_of(value);
  if (!readable(list, LIST_BYTES)) return;
  for (Py_ssize_t at = 0; at + 2 * (Py_ssize_t)sizeof(void *) <= LIST_BYTES; at += POINTER_BYTES) {
    const char *begin = pointer(list, at), *end = pointer(list, at + (Py_ssize_t)sizeof(void *));
    if (end - begin == 2 * VALUE_BYTES && has_both(begin)) found_at(&search.items, at);
  }
}

static void search_start(const char *function) {
  search.starts++;
  if (search.list_in >= 0) {
    search_list(function);
    return;
  }
  for (Py_ssize_t at = 0; at < SEARCHED; at += POINTER_BYTES) {
    const char *candidate = pointer(function, at);
    if (word(function, at + (Py_ssize_t)sizeof(void *)) == search.arguments && has_both(candidate)) {
      found_at(&search.inputs, at);
      search.tag = tag_of(candidate);
    }
    if (function[at + CXX_STRING] == 1 && is_schema(candidate)) found_at(&search.schema, at);
  }
}

static void search_end(const char *function) {
  search.ends++;
  for (Py_ssize_t at = 0; at < SEARCHED; at += POINTER_BYTES) {
    const char *begin = pointer(function, at);
    const char *end = pointer(function, at + (Py_ssize_t)sizeof(void *));
    if ((uintptr_t)begin % sizeof(void *) || end - begin != VALUE_BYTES) continue;
    if (readable(begin, VALUE_BYTES) && pointer(begin, 0) == search.result)
      found_at(&search.outputs, at);
  }
}

#endif
