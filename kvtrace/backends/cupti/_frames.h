/* Python stacks of the calling thread, read as memory, without Python's lock.
 *
 * Waiting for that lock would delay the program, and could block it forever. The frames are those of the
 * calling thread, which waits meanwhile, and all objects that they refer to live as long as the frames.
 * Python finds and checks the offsets of fields (frames.py); no frame is read before.
 *
 * Each code object and each stack is copied when first seen, identified by its addresses and those of
 * its parts; a thread remembers the stacks of its call sites. read_stacks.py reads them.
 *
 * Owns the stacks of the C file that includes this, under that file's lock (`_lock.h`); of each thread its
 * call sites; and the offsets, which are written under Python's lock before `known` is set.
 */
#ifndef KVTRACE_FRAMES_H
#define KVTRACE_FRAMES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "_lock.h"

static __thread uint64_t own_number; /* 0: not asked for yet */

static uint64_t thread_number(void) {
  if (!own_number) own_number = (uint64_t)syscall(SYS_gettid);
  return own_number;
}

enum {
  DEPTH = 64,          /* frames of a stack that are read, the innermost ones */
  CHECKED = 2,         /* of these, frames whose code objects are read at each request */
  TEXT_LIMIT = 4096,   /* bytes of a name */
  TABLE_LIMIT = 1 << 20, /* bytes of a table of lines */
  STACKS = 1 << 16,    /* distinct stacks and codes; more have no number */
  SITES = 512,         /* stacks that a thread finds without the lock */
};

static struct frame_layout at; /* found by frames.py */
static const void *code_type;
static int known; /* the layout is known */

struct entry {
  uint64_t key;
  uint32_t number; /* from 1; 0: free */
};
static struct entry stacks[2 * STACKS], codes[2 * STACKS];
static uint32_t stacks_known, codes_known;
static __thread struct site {
  uint64_t key;
  uint32_t number, epoch;
} sites[SITES];
static uint32_t epoch = 1; /* sites of earlier ones are forgotten */

/* New codes and stacks since Python last took them, as bytes. */
struct text {
  char *data;
  size_t size, room;
};
static struct text news;
static long long stacks_lost; /* or parts of them, for lack of memory, since Python last took some */

static uint64_t now(void) {
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static const char *pointer(const char *object, Py_ssize_t offset) {
  const char *found;
  memcpy(&found, object + offset, sizeof found);
  return found;
}

#define MIXER 0x9E3779B97F4A7C15u

static uint64_t mixed(uint64_t key, uint64_t value) {
  key = (key ^ value) * MIXER;
  return key ^ key >> 29;
}

/* The entry of a key, or the free entry for it. Holds the lock. */
static struct entry *entry_of(struct entry *table, uint64_t key) {
  uint64_t place = key % (2 * STACKS);
  while (table[place].number && table[place].key != key) place = (place + 1) % (2 * STACKS);
  return &table[place];
}

static int add(struct text *to, const void *data, size_t size) {
  if (to->room - to->size < size) {
    size_t room = 2 * (to->size + size) + 4096;
    char *grown = realloc(to->data, room);
    if (!grown) return 0;
    to->data = grown;
    to->room = room;
  }
  memcpy(to->data + to->size, data, size);
  to->size += size;
  return 1;
}

static int add_number(struct text *to, uint32_t number) { return add(to, &number, sizeof number); }

static int add_sized(struct text *to, const char *data, size_t size) {
  return add_number(to, (uint32_t)size) && add(to, data, size);
}

/* A name of ASCII letters; any other is left empty. */
static int add_name(struct text *to, const char *name) {
  Py_ssize_t length;
  uint32_t state;
  memcpy(&length, name + at.length, sizeof length);
  memcpy(&state, name + at.state, sizeof state);
  int plain = (state & (uint32_t)at.ascii) && length >= 0 && length <= TEXT_LIMIT;
  return add_sized(to, name + at.text, plain ? (size_t)length : 0);
}

struct place {
  const char *code;
  uint32_t instruction; /* in bytes from the first */
};

static uint64_t key_of(const char *code) {
  uint64_t key = mixed((uint64_t)(uintptr_t)code, (uint64_t)(uintptr_t)pointer(code, at.file));
  key = mixed(key, (uint64_t)(uintptr_t)pointer(code, at.table));
  return mixed(key, (uint64_t)(uintptr_t)pointer(code, at.function));
}

/* The calling thread's innermost frame; NULL where it runs no Python. */
static const char *innermost(void) {
  const char *state = (const char *)PyGILState_GetThisThreadState();
  const char *frame = state ? pointer(state, at.frame) : NULL;
  return frame && at.indirect >= 0 ? pointer(frame, at.indirect) : frame;
}

/* The code object of a frame; NULL for a frame of the interpreter itself. */
static const char *code_of(const char *frame) {
  const char *code = pointer(frame, at.code);
  code -= (uintptr_t)code & TAGS; /* of references, from Python 3.14 on */
  return code && pointer(code, TYPE_OFFSET) == code_type ? code : NULL;
}

/* Identity of a stack, read at each request: a cache line for each frame, and the parts of the innermost
 * code objects, whose addresses other objects may have later. */
static uint64_t key_of_stack(const char *frame, int depth) {
  uint64_t key = 1;
  for (int count = 0; frame && count < depth; count++, frame = pointer(frame, at.previous)) {
    const char *code = count < CHECKED ? code_of(frame) : NULL;
    uint64_t own = code ? key_of(code) : (uint64_t)(uintptr_t)pointer(frame, at.code);
    key = mixed(key, own * MIXER + (uint64_t)(uintptr_t)pointer(frame, at.instruction));
  }
  return key;
}

/* Reads frames from the given one outward. */
static int read_frames(const char *frame, struct place *places) {
  int count = 0;
  for (; frame && count < DEPTH; frame = pointer(frame, at.previous)) {
    const char *code = code_of(frame);
    if (!code) continue;
    const char *instruction = pointer(frame, at.instruction);
    places[count].code = code;
    places[count].instruction =
        (uint32_t)(instruction - (code + at.instructions) + at.correction);
    count++;
  }
  return count;
}

/* The number of a code object, which is copied if new. Holds the lock. */
static uint32_t code_number(const char *code) {
  uint64_t key = key_of(code);
  struct entry *entry = entry_of(codes, key);
  if (entry->number) return entry->number;
  if (codes_known >= STACKS) return 0;
  const char *table = pointer(code, at.table);
  Py_ssize_t size;
  uint32_t line;
  memcpy(&size, table + at.length, sizeof size); /* of bytes as of text: the third word */
  memcpy(&line, code + at.first_line, sizeof line);
  size_t before = news.size;
  if (size < 0 || size > TABLE_LIMIT) size = 0;
  if (!add_number(&news, 0) || !add_number(&news, line) ||
      !add_name(&news, pointer(code, at.file)) || !add_name(&news, pointer(code, at.function)) ||
      !add_sized(&news, table + at.bytes, (size_t)size)) {
    news.size = before;
    stacks_lost++;
    return 0;
  }
  entry->key = key;
  return entry->number = ++codes_known;
}

/* The number of the calling thread's stack; 0 if it runs no Python, or with too many stacks. Stacks that
 * differ only in frames outside of the innermost `depth` have the number of the first. */
static uint32_t stack_number(int depth) {
  const char *frame = known ? innermost() : NULL;
  if (!frame) return 0;
  uint64_t key = key_of_stack(frame, depth);
  struct site *site = &sites[key % SITES];
  if (site->key == key && site->epoch == epoch) return site->number;
  LOCK();
  struct entry *entry = entry_of(stacks, key);
  uint32_t found = entry->number;
  if (!found && stacks_known < STACKS) {
    struct place places[DEPTH];
    uint32_t numbers[2 * DEPTH];
    int count = read_frames(frame, places);
    for (int i = 0; i < count; i++) {
      numbers[2 * i] = code_number(places[i].code);
      numbers[2 * i + 1] = places[i].instruction;
    }
    size_t before = news.size;
    if (count && add_number(&news, (uint32_t)count) &&
        add(&news, numbers, 2 * sizeof(uint32_t) * (size_t)count)) {
      entry->key = key;
      found = entry->number = ++stacks_known;
    } else {
      news.size = before;
      stacks_lost += count > 0;
    }
  }
  if (found) *site = (struct site){key, found, epoch};
  UNLOCK();
  return found;
}

/* Forgets the layout and all stacks. Holds the lock. */
static void forget_stacks(void) {
  known = 0;
  epoch++;
  stacks_known = codes_known = 0;
  memset(stacks, 0, sizeof stacks);
  memset(codes, 0, sizeof codes);
  news.size = 0;
  stacks_lost = 0;
}

static PyObject *lay_out(PyObject *module, PyObject *arguments) {
  (void)module;
  unsigned long long type;
  if (!PyArg_ParseTuple(arguments, "Knnnnnnnnnnnnnnnn", &type, &at.frame, &at.indirect, &at.code,
                        &at.previous, &at.instruction, &at.correction, &at.file, &at.function,
                        &at.table, &at.first_line, &at.instructions, &at.text, &at.length,
                        &at.state, &at.ascii, &at.bytes))
    return NULL;
  code_type = (const void *)(uintptr_t)type;
  Py_RETURN_NONE;
}

static PyObject *frames(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  struct place places[DEPTH];
  int count = code_type ? read_frames(innermost(), places) : 0;
  PyObject *found = PyList_New(0);
  for (int i = 0; found && i < count; i++) {
    PyObject *one = Py_BuildValue("(KI)", (unsigned long long)(uintptr_t)places[i].code,
                                  places[i].instruction);
    if (!one || PyList_Append(found, one)) Py_CLEAR(found);
    Py_XDECREF(one);
  }
  return found;
}

static PyObject *trust(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  known = 1;
  Py_RETURN_NONE;
}

#define FRAME_FUNCTIONS                                                                              \
  {"lay_out", lay_out, METH_VARARGS, "lay_out(type, ...): where fields lie; see frames.py."},        \
  {"frames", frames, METH_NOARGS,                                                                    \
   "frames() -> list[(int, int)]: the caller's frames as they are read: address of the code, and\n"   \
   "offset of the instruction in bytes; the innermost first."},                                      \
  {"trust", trust, METH_NOARGS, "trust(): from now on there are stacks."}

#endif
