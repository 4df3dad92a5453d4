/* The spool: two files, which outlive the process, of records that the journal has not written.
 * Included only by _hot.c.
 *
 * A thread without Python writes the files every TICK_NS, or BUSY_TICK_NS while launches are made: so
 * they are on disk soon after, also while another thread holds the interpreter's lock, and a slow disk
 * delays no other thread by more than TICK_NS, at a kernel's first launch. The program's threads pass
 * bytes; launches are read from the recorder's chunks. A round of the journal begins by switching to
 * the other file, and empties the former file once the journal has all of its records. See
 * kvtrace/schema/spool.py for the files' layout.
 */
#ifndef KVTRACE_HOT_SPOOL_H
#define KVTRACE_HOT_SPOOL_H

#include "_hot_signal.h"
#include "_hot_tables.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { TICK_NS = 20000000, BUSY_TICK_NS = 2000000, SPOOL_WAITS = 250, SPOOL_MOST = 256 << 20 };
/* Launches of another layout are another kind, as LAUNCHES_FRAME of schema/spool.py says. */
enum { FRAME_MAGIC = 0x70534b8b, FRAME_JSON = 1, FRAME_LAUNCHES = 2 + ((sizeof(struct row) - 56) << 8) };

struct frame {
  uint32_t magic, kind;
  uint64_t bytes, sum; /* of the payload, which is padded to 64-bit words with zeros */
};

struct spool {
  pthread_mutex_t lock; /* for all below, and for the recorder's chunks */
  pthread_cond_t turn;
  recorder *owner; /* NULL: the recorder has released the spool */
  pid_t process;   /* that has the thread, unlike a forked child */
  struct {
    char *bytes; /* waiting to be written */
    size_t used, size;
    int empty; /* truncate the file before writing */
  } files[2];
  int current;
  int64_t launches; /* number of launches taken from the recorder */
  int64_t wanted, written; /* requests to write at once, and how many of them are fulfilled */
  char ending, ended, failed, holders;
  char folder[];
};

/* Returns the spool of this process; NULL in a forked child, where the lock may be held forever. */
static struct spool *own_spool(recorder *self) {
  if (self->spool && self->spool->process != getpid()) self->spool = NULL;
  return self->spool;
}

static void spool_lock(recorder *self) {
  if (own_spool(self)) pthread_mutex_lock(&self->spool->lock);
}

static void spool_unlock(recorder *self) {
  if (self->spool) pthread_mutex_unlock(&self->spool->lock);
}

static uint64_t frame_sum(const char *bytes, size_t count) {
  uint64_t sum = 0, word;
  for (size_t i = 0; i < count; i += sizeof word) {
    memcpy(&word, bytes + i, sizeof word);
    sum = (sum ^ word) * 0x9E3779B97F4A7C15ull;
    sum ^= sum >> 32;
  }
  return sum;
}

/* Makes room for a frame in the current file; NULL: the spool accepts no more. Holds the lock. */
static char *spool_room(struct spool *spool, size_t bytes) {
  size_t whole = sizeof(struct frame) + (bytes + 7) / 8 * 8;
  size_t used = spool->files[spool->current].used, size = spool->files[spool->current].size;
  char *room = spool->files[spool->current].bytes;
  if (spool->failed) return NULL;
  if (used + whole > SPOOL_MOST) goto full; /* the disk does not answer */
  if (used + whole > size) {
    size = (used + whole) * 2;
    room = realloc(room, size);
    if (!room) goto full;
    spool->files[spool->current].bytes = room;
    spool->files[spool->current].size = size;
  }
  memset(room + used + whole - 8, 0, 8);
  spool->files[spool->current].used = used + whole;
  return room + used + sizeof(struct frame);
full:
  spool->failed = 1; /* later records may refer to the missing one */
  return NULL;
}

static void frame_end(char *content, uint32_t kind, size_t bytes) {
  struct frame head = {FRAME_MAGIC, kind, bytes, frame_sum(content, (bytes + 7) / 8 * 8)};
  memcpy(content - sizeof head, &head, sizeof head);
}

/* Copies the recorder's launches that the spool does not have yet. Holds the lock. */
static void spool_take(recorder *self) {
  struct spool *spool = self->spool;
  struct row *end = __atomic_load_n(&self->row, __ATOMIC_ACQUIRE);
  int64_t waiting = self->pending + (self->last ? end - self->last->rows : 0);
  int64_t fresh = self->drained + waiting - spool->launches, skip = waiting - fresh;
  if (fresh <= 0 || spool->failed) return;
  size_t bytes = sizeof spool->launches + (size_t)fresh * sizeof *end;
  char *content = spool_room(spool, bytes);
  if (!content) return;
  memcpy(content, &spool->launches, sizeof spool->launches);
  char *to = content + sizeof spool->launches;
  for (struct chunk *chunk = self->first; chunk; chunk = chunk->next) {
    int64_t rows = chunk == self->last ? end - chunk->rows : ROWS_IN_CHUNK;
    int64_t known = skip < rows ? skip : rows;
    memcpy(to, chunk->rows + known, (size_t)(rows - known) * sizeof *end);
    to += (rows - known) * (int64_t)sizeof *end;
    skip -= known;
  }
  frame_end(content, FRAME_LAUNCHES, bytes);
  spool->launches += fresh;
}

/* Unlocks the spool; frees it if both owner and thread are gone. */
static void spool_release(struct spool *spool) {
  int holders = --spool->holders;
  pthread_mutex_unlock(&spool->lock);
  if (!holders) free(spool);
}

/* ---- its thread ------------------------------------------------------------------------------- */

static int make_folders(char *path) {
  for (char *end = path + 1; *end; end++) {
    if (*end != '/') continue;
    *end = 0;
    int failed = mkdir(path, 0777) && errno != EEXIST && errno != EROFS && errno != EACCES;
    *end = '/';
    if (failed) return -1;
  }
  struct stat facts;
  char *last = strrchr(path, '/');
  *last = 0;
  int is_link = lstat(path, &facts) || S_ISLNK(facts.st_mode); /* never write through a link */
  *last = '/';
  return is_link ? -1 : mkdir(path, 0777);
}

static int open_file(const char *folder, int number) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/%d", folder, number) >= (int)sizeof path) return -1;
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
}

static int write_whole(int file, const char *bytes, size_t count) {
  while (count) {
    ssize_t done = write(file, bytes, count);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return -1;
    bytes += done;
    count -= (size_t)done;
  }
  return 0;
}

/* Waits for a time, or until woken. Holds the lock. */
static void spool_wait(struct spool *spool, long nanoseconds) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_nsec += nanoseconds;
  end.tv_sec += end.tv_nsec / 1000000000;
  end.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&spool->turn, &spool->lock, &end);
}

static void *spool_work(void *given) {
  struct spool *spool = given;
  int files[2] = {-1, -1}, failed = make_folders(spool->folder);
  for (int i = 0; i < 2 && !failed; i++)
    failed = (files[i] = open_file(spool->folder, i)) < 0;
  pthread_mutex_lock(&spool->lock);
  for (;;) {
    char *bytes[2];
    size_t used[2];
    int empty[2], older = !spool->current, ending = spool->ending;
    int64_t launches = spool->launches, wanted = spool->wanted;
    spool->failed |= failed != 0;
    if (spool->owner) spool_take(spool->owner);
    int is_busy = spool->launches != launches;
    for (int i = 0; i < 2; i++) {
      bytes[i] = spool->files[i].bytes;
      used[i] = spool->files[i].used;
      empty[i] = spool->files[i].empty;
      memset(&spool->files[i], 0, sizeof spool->files[i]);
    }
    pthread_mutex_unlock(&spool->lock);
    for (int i = 0; i < 2; i++) {
      int file = i ? !older : older;
      if (!failed && empty[file]) failed = ftruncate(files[file], 0);
      if (!failed && used[file]) failed = write_whole(files[file], bytes[file], used[file]);
      free(bytes[file]);
    }
    pthread_mutex_lock(&spool->lock);
    if (ending) break;
    if (spool->written != wanted) {
      spool->written = wanted;
      pthread_cond_broadcast(&spool->turn);
    }
    if (!spool->ending && spool->wanted == wanted) spool_wait(spool, is_busy ? BUSY_TICK_NS : TICK_NS);
  }
  pthread_mutex_unlock(&spool->lock);
  for (int i = 0; i < 2; i++)
    if (files[i] >= 0) close(files[i]);
  pthread_mutex_lock(&spool->lock);
  spool->ended = 1;
  pthread_cond_broadcast(&spool->turn);
  spool_release(spool);
  return NULL;
}

/* ---- the recorder's part ---------------------------------------------------------------------- */

/* Adds a frame of JSON. Holds the lock, or no other thread has the spool yet. */
static void spool_put(struct spool *spool, const char *bytes, size_t count) {
  char *room = spool_room(spool, count);
  if (!room) return;
  memcpy(room, bytes, count);
  frame_end(room, FRAME_JSON, count);
}

static PyObject *recorder_spool_begin(PyObject *object, PyObject *args) {
  recorder *self = (recorder *)object;
  const char *folder, *first; /* the first write has the first frame, which names the run */
  Py_ssize_t length, count;
  if (!PyArg_ParseTuple(args, "y#y#:spool_begin", &folder, &length, &first, &count)) return NULL;
  if (own_spool(self) || memchr(folder, 0, (size_t)length)) Py_RETURN_FALSE;
  struct spool *spool = calloc(1, sizeof *spool + (size_t)length + 1);
  if (!spool) return PyErr_NoMemory();
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&spool->lock, NULL);
  pthread_cond_init(&spool->turn, &monotonic);
  pthread_condattr_destroy(&monotonic);
  memcpy(spool->folder, folder, (size_t)length);
  spool->owner = self;
  spool->process = getpid();
  spool->holders = 2;
  spool_put(spool, first, (size_t)count);
  self->drained = 0;
  self->spool = spool;
  if (start_thread(spool_work, spool)) {
    self->spool = NULL;
    free(spool->files[0].bytes);
    free(spool);
    Py_RETURN_FALSE;
  }
  Py_RETURN_TRUE;
}

static PyObject *recorder_spool_add(PyObject *object, PyObject *content) {
  recorder *self = (recorder *)object;
  char *bytes;
  Py_ssize_t count;
  if (PyBytes_AsStringAndSize(content, &bytes, &count)) return NULL;
  if (!own_spool(self)) Py_RETURN_NONE;
  pthread_mutex_lock(&self->spool->lock);
  spool_put(self->spool, bytes, (size_t)count);
  pthread_mutex_unlock(&self->spool->lock);
  Py_RETURN_NONE;
}

/* Returns once all that was added is written, or after TICK_NS on a slow disk; without the GIL. */
static PyObject *recorder_spool_write(PyObject *object, PyObject *unused) {
  (void)unused;
  struct spool *spool = own_spool((recorder *)object);
  if (!spool) Py_RETURN_NONE;
  pthread_mutex_lock(&spool->lock);
  int64_t wanted = ++spool->wanted;
  spool->holders++;
  pthread_cond_broadcast(&spool->turn);
  PyThreadState *state = PyEval_SaveThread();
  for (int i = 0; i < 4 && spool->written < wanted && !spool->ended && !spool->failed; i++)
    spool_wait(spool, TICK_NS / 4);
  spool_release(spool);
  PyEval_RestoreThread(state);
  Py_RETURN_NONE;
}

static PyObject *recorder_spool_switch(PyObject *object, PyObject *unused) {
  (void)unused;
  recorder *self = (recorder *)object;
  if (!own_spool(self)) Py_RETURN_NONE;
  pthread_mutex_lock(&self->spool->lock);
  spool_take(self);
  self->spool->current = !self->spool->current;
  pthread_mutex_unlock(&self->spool->lock);
  Py_RETURN_NONE;
}

static PyObject *recorder_spool_empty(PyObject *object, PyObject *unused) {
  (void)unused;
  recorder *self = (recorder *)object;
  if (!own_spool(self)) Py_RETURN_NONE;
  pthread_mutex_lock(&self->spool->lock);
  int former = !self->spool->current;
  self->spool->files[former].used = 0;
  self->spool->files[former].empty = 1;
  pthread_mutex_unlock(&self->spool->lock);
  Py_RETURN_NONE;
}

/* Releases the spool; `wait`: until all is written, for a limited time, without the GIL. */
static void spool_end(recorder *self, int wait) {
  struct spool *spool = own_spool(self);
  if (!spool) return;
  pthread_mutex_lock(&spool->lock);
  spool_take(self);
  spool->ending = 1;
  spool->owner = NULL;
  self->spool = NULL;
  pthread_cond_broadcast(&spool->turn);
  PyThreadState *state = wait ? PyEval_SaveThread() : NULL;
  for (int i = 0; wait && !spool->ended && i < SPOOL_WAITS; i++) spool_wait(spool, TICK_NS);
  spool_release(spool);
  if (state) PyEval_RestoreThread(state);
}

static PyObject *recorder_spool_end(PyObject *object, PyObject *unused) {
  (void)unused;
  spool_end((recorder *)object, 1);
  Py_RETURN_NONE;
}

#endif
