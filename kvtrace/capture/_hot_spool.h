/* The spool: two files, which outlive the process, of records that the journal has not written.
 * Included only by _hot.c.
 *
 * What is not in the files yet lies in memory that the kernel keeps after a kill: a file of /dev/shm,
 * mapped, with the newest launches (`struct newest`) and with frames that wait for each file. So a launch
 * that has returned is not lost, and nothing waits for a disk. Where there is no such memory, private
 * memory is used, and a kernel's first launch waits up to TICK_NS for its record to be written.
 *
 * A thread without Python writes the files every TICK_NS, or BUSY_TICK_NS while launches are made. The
 * program's threads pass bytes; launches are read from the recorder's chunks. A round of the journal
 * begins by switching to the other file, and empties the former file once the journal has all of its
 * records. See kvtrace/schema/spool.py for the layout of files and memory.
 *
 * Owns the files, the memory and the thread, under a lock of the spool's own. The thread has no Python, so it
 * reads a recorder's chunks under that lock, too, and the end of the last one as it was released.
 */
#ifndef KVTRACE_HOT_SPOOL_H
#define KVTRACE_HOT_SPOOL_H

#include "_hot_files.h"
#include "_hot_signal.h"
#include "_hot_tables.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { TICK_NS = 20000000, BUSY_TICK_NS = 2000000 };
#define SPOOL_END_NS 5000000000
/* Layout of the memory, as schema/spool.py has it: the newest launches, and two areas of frames. Areas
 * are reserved by RESERVE_BYTES: without, a full /dev/shm would kill the process. */
enum { NEWEST_BYTES = 1 << 20, AREA_BYTES = 64 << 20, RESERVE_BYTES = 256 << 10 };
/* Launches of one frame. */
enum { MOST_TAKEN = 1 << 18 };
enum { MEMORY_BYTES = NEWEST_BYTES + 2 * AREA_BYTES, PLACE_BYTES = 4096 };
_Static_assert(sizeof(struct newest) + PLACE_BYTES <= NEWEST_BYTES,
               "longer rows need a larger NEWEST_BYTES, here and in schema/spool.py");
/* Launches of another layout are another kind, as LAUNCHES_FRAME of schema/spool.py says. */
enum { FRAME_MAGIC = 0x70534b8b, FRAME_JSON = 1, FRAME_LAUNCHES = 2 + ((sizeof(struct row) - 56) << 8) };

struct frame {
  uint32_t magic, kind;
  uint64_t bytes, sum; /* of the payload, which is padded to 64-bit words with zeros */
};

struct spool {
  struct spool *next; /* of the process; in `spools` while a recorder has it */
  pthread_mutex_t lock; /* for all below, and for the recorder's chunks */
  pthread_cond_t turn;
  recorder *owner; /* NULL: the recorder has released the spool */
  pid_t process;   /* that has the thread, unlike a forked child */
  char *memory;
  int shared; /* its file; -1: the memory is private */
  struct area {
    char *bytes;
    size_t written, used; /* what lies in between waits to be written */
    size_t reserved;
    unsigned emptied; /* how often: what the thread was writing then does not count */
    int empty;        /* truncate the file before writing */
  } files[2];
  int current;
  int64_t launches; /* number of launches taken from the recorder */
  int64_t wanted, written; /* requests to write at once, and how many of them are fulfilled */
  char opened, ending, ended, failed, holders;
  int opened_files[2]; /* of the thread; -1: not open */
  struct identity identities[2], shared_identity;
  char *shared_path; /* after the folder */
  char folder[];
};

/* Returns the spool of this process; NULL in a forked child, where the lock may be held forever. */
static struct spool *own_spool(recorder *self) {
  if (self->spool && self->spool->process != getpid()) {
    self->spool = NULL;
    self->newest = NULL;
  }
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

/* Returns the memory's file, opened again if the program has closed it; -1: it cannot be. Holds the lock. */
static int shared_file(struct spool *spool) {
  if (is_own(spool->shared, spool->shared_identity)) return spool->shared;
  int file = open(spool->shared_path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0 || !is_own(file, spool->shared_identity)) {
    if (file >= 0) close(file);
    return -1;
  }
  flock(file, LOCK_SH);
  return spool->shared = file;
}

/* Lets an area hold so many bytes; -1: it cannot. Holds the lock. */
static int reserve(struct spool *spool, struct area *area, size_t bytes) {
  if (bytes <= area->reserved) return 0;
  if (bytes > AREA_BYTES) return -1;
  size_t whole = (bytes + RESERVE_BYTES - 1) / RESERVE_BYTES * RESERVE_BYTES;
  off_t begin = area->bytes - spool->memory + (off_t)area->reserved;
  if (spool->shared >= 0 &&
      posix_fallocate(shared_file(spool), begin, (off_t)(whole - area->reserved)))
    return -1;
  area->reserved = whole;
  return 0;
}

/* Makes an area empty, all of which is written or no longer needed. Holds the lock. */
static void area_clear(struct spool *spool, struct area *area) {
  if (area->used) memset(area->bytes, 0, sizeof(struct frame)); /* readers stop there */
  area->written = area->used = 0;
  if (spool->shared < 0 || area->reserved <= RESERVE_BYTES) return;
  off_t begin = area->bytes - spool->memory + RESERVE_BYTES;
  if (!fallocate(shared_file(spool), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin,
                 (off_t)(area->reserved - RESERVE_BYTES)))
    area->reserved = RESERVE_BYTES;
}

/* Makes room for a frame in the current file. NULL: there is none, since the frame is too large, memory
 * is lacking, or the disk does not answer: then it is left to the journal, and readers leave out what
 * refers to it. Holds the lock. */
static char *spool_room(struct spool *spool, size_t bytes) {
  size_t whole = sizeof(struct frame) + (bytes + 7) / 8 * 8;
  struct area *area = &spool->files[spool->current];
  if (spool->failed || reserve(spool, area, area->used + whole)) return NULL;
  char *room = area->bytes + area->used;
  memset(room + whole - 8, 0, 8);
  area->used += whole;
  return room + sizeof(struct frame);
}

static void frame_end(char *content, uint32_t kind, size_t bytes) {
  struct frame head = {FRAME_MAGIC, kind, bytes, frame_sum(content, (bytes + 7) / 8 * 8)};
  memcpy(content - sizeof head, &head, sizeof head);
}

/* Copies launches that the spool does not have yet; returns whether there may be more. Holds the lock. */
static int spool_take_some(recorder *self) {
  struct spool *spool = self->spool;
  if (spool->launches < self->drained) spool->launches = self->drained; /* there was no room for them */
  struct row *end = __atomic_load_n(&self->row, __ATOMIC_ACQUIRE);
  int64_t waiting = self->pending + (self->last ? end - self->last->rows : 0);
  int64_t fresh = self->drained + waiting - spool->launches, skip = waiting - fresh;
  if (fresh > MOST_TAKEN) fresh = MOST_TAKEN;
  if (fresh <= 0) return 0;
  size_t bytes = sizeof spool->launches + (size_t)fresh * sizeof *end;
  char *content = spool_room(spool, bytes);
  if (!content) return 0;
  memcpy(content, &spool->launches, sizeof spool->launches);
  char *to = content + sizeof spool->launches;
  int64_t left = fresh;
  for (struct chunk *chunk = self->first; chunk && left; chunk = chunk->next) {
    int64_t rows = chunk == self->last ? end - chunk->rows : ROWS_IN_CHUNK;
    int64_t known = skip < rows ? skip : rows, taken = rows - known;
    if (taken > left) taken = left;
    memcpy(to, chunk->rows + known, (size_t)taken * sizeof *end);
    to += taken * (int64_t)sizeof *end;
    skip -= known;
    left -= taken;
  }
  frame_end(content, FRAME_LAUNCHES, bytes);
  spool->launches += fresh;
  return fresh == MOST_TAKEN;
}

static void spool_take(recorder *self) {
  while (spool_take_some(self)) {
  }
}

static void spool_free(struct spool *spool) {
  if (spool->memory) munmap(spool->memory, MEMORY_BYTES);
  close_own(spool->shared, spool->shared_identity);
  free(spool);
}

/* Unlocks the spool; frees it if both owner and thread are gone. */
static void spool_release(struct spool *spool) {
  int holders = --spool->holders;
  pthread_mutex_unlock(&spool->lock);
  if (!holders) spool_free(spool);
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

/* Opens a file of the thread; returns -1 on failure. `flags`: to create it, or 0. */
static int open_file(struct spool *spool, int number, int flags) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/%d", spool->folder, number) >= (int)sizeof path) return -1;
  int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666);
  if (file < 0) return -1;
  spool->identities[number] = identity_of(file);
  spool->opened_files[number] = file;
  return 0;
}

/* Opens a file again if the program has closed it; returns -1 on failure. */
static int keep_open(struct spool *spool, int number) {
  if (is_own(spool->opened_files[number], spool->identities[number])) return 0;
  return open_file(spool, number, 0);
}

static void close_files(struct spool *spool) {
  for (int i = 0; i < 2; i++) {
    int file = spool->opened_files[i];
    spool->opened_files[i] = -1; /* first: a child that is forked in between must not close another's */
    close_own(file, spool->identities[i]);
  }
}

static struct timespec time_in(long nanoseconds) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_nsec += nanoseconds;
  end.tv_sec += end.tv_nsec / 1000000000;
  end.tv_nsec %= 1000000000;
  return end;
}

/* Waits until woken, perhaps for another thread; returns whether the time has not come yet. Holds the
 * lock. */
static int spool_wait(struct spool *spool, const struct timespec *end) {
  return !pthread_cond_timedwait(&spool->turn, &spool->lock, end);
}

static void *spool_work(void *given) {
  struct spool *spool = given;
  int *files = spool->opened_files, failed = make_folders(spool->folder);
  for (int i = 0; i < 2 && !failed; i++)
    failed = open_file(spool, i, O_CREAT | O_EXCL);
  pthread_mutex_lock(&spool->lock);
  for (;;) {
    struct area areas[2];
    int older = !spool->current, ending = spool->ending;
    int64_t launches = spool->launches, wanted = spool->wanted;
    spool->failed |= failed != 0;
    if (spool->owner) spool_take(spool->owner);
    int is_busy = spool->launches != launches;
    for (int i = 0; i < 2; i++) {
      areas[i] = spool->files[i];
      spool->files[i].empty = 0;
    }
    pthread_mutex_unlock(&spool->lock);
    for (int i = 0; i < 2; i++) {
      int file = i ? !older : older;
      struct area *area = &areas[file];
      size_t waiting = area->used - area->written;
      if (!failed && (area->empty || waiting)) failed = keep_open(spool, file);
      if (!failed && area->empty) failed = ftruncate(files[file], 0);
      if (!failed && waiting)
        failed = write_whole(files[file], area->bytes + area->written, waiting);
    }
    pthread_mutex_lock(&spool->lock);
    for (int i = 0; i < 2 && !failed; i++) {
      struct area *area = &spool->files[i];
      if (area->emptied != areas[i].emptied) continue;
      area->written = areas[i].used;
      if (area->written == area->used) area_clear(spool, area);
    }
    spool->opened = !failed;
    if (ending) break;
    if (spool->written != wanted) {
      spool->written = wanted;
      pthread_cond_broadcast(&spool->turn);
    }
    struct timespec next = time_in(is_busy ? BUSY_TICK_NS : TICK_NS);
    if (!spool->ending && spool->wanted == wanted) spool_wait(spool, &next);
  }
  pthread_mutex_unlock(&spool->lock);
  close_files(spool);
  pthread_mutex_lock(&spool->lock);
  spool->ended = 1;
  if (spool->shared >= 0) unlink(spool->shared_path);
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

static struct spool *spools; /* that recorders have; protected by Python's lock */

static void spools_remove(const struct spool *spool) {
  struct spool **place = &spools;
  while (*place && *place != spool) place = &(*place)->next;
  if (*place) *place = spool->next;
}

/* In a forked child: what it launches, from the first launch on, is no launch of the parent. */
static void spools_leave(void) {
  for (struct spool *spool = spools; spool; spool = spool->next) {
    spool->owner->newest = NULL;
    spool->owner->spool = NULL;
    munmap(spool->memory, MEMORY_BYTES);
    close_own(spool->shared, spool->shared_identity);
    close_files(spool);
  }
  spools = NULL;
}

/* Makes the memory, private if none is shared; -1: there is no memory. */
static int memory_make(struct spool *spool) {
  int sharing = MAP_SHARED, flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  spool->shared = open(spool->shared_path, flags, 0600);
  spool->shared_identity = identity_of(spool->shared);
  if (spool->shared >= 0) flock(spool->shared, LOCK_SH); /* for as long as this process lives */
  if (spool->shared >= 0 && (ftruncate(spool->shared, MEMORY_BYTES) ||
                             posix_fallocate(spool->shared, 0, NEWEST_BYTES))) {
    unlink(spool->shared_path);
    close(spool->shared);
    spool->shared = -1;
  }
  if (spool->shared < 0) sharing = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, sharing, spool->shared, 0);
  if (memory == MAP_FAILED) {
    if (spool->shared >= 0) unlink(spool->shared_path);
    return -1;
  }
  spool->memory = memory;
  for (int i = 0; i < 2; i++) spool->files[i].bytes = spool->memory + NEWEST_BYTES + i * AREA_BYTES;
  return 0;
}

static PyObject *recorder_spool_begin(PyObject *object, PyObject *args) {
  recorder *self = (recorder *)object;
  /* The first write has the first frame, which names the run; `place` names the spool's folder. */
  const char *folder, *shared, *place, *first;
  Py_ssize_t length, shared_length, place_length, count;
  if (!PyArg_ParseTuple(args, "y#y#y#y#:spool_begin", &folder, &length, &shared, &shared_length,
                        &place, &place_length, &first, &count))
    return NULL;
  if (own_spool(self) || memchr(folder, 0, (size_t)length) || place_length > PLACE_BYTES)
    Py_RETURN_FALSE;
  struct spool *spool = calloc(1, sizeof *spool + (size_t)(length + shared_length) + 2);
  if (!spool) return PyErr_NoMemory();
  spool->shared_path = spool->folder + length + 1;
  memcpy(spool->shared_path, shared, (size_t)shared_length);
  if (memory_make(spool)) {
    spool_free(spool);
    Py_RETURN_FALSE;
  }
  memcpy(spool->memory + NEWEST_BYTES - PLACE_BYTES, place, (size_t)place_length);
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
  spool->opened_files[0] = spool->opened_files[1] = -1;
  spool_put(spool, first, (size_t)count);
  self->drained = 0;
  self->spool = spool;
  if (start_thread(spool_work, spool)) {
    self->spool = NULL;
    if (spool->shared >= 0) unlink(spool->shared_path);
    spool_free(spool);
    Py_RETURN_FALSE;
  }
  spool->next = spools;
  spools = spool;
  if (spool->shared >= 0) {
    self->newest = (struct newest *)spool->memory;
    self->newest->first = self->newest->end =
        self->pending + (self->last ? self->row - self->last->rows : 0);
    self->newest->kind = FRAME_LAUNCHES;
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

/* Returns once all that was added outlives the process, or after TICK_NS on a slow disk; without the GIL. */
static PyObject *recorder_spool_write(PyObject *object, PyObject *unused) {
  (void)unused;
  struct spool *spool = own_spool((recorder *)object);
  if (!spool) Py_RETURN_NONE;
  pthread_mutex_lock(&spool->lock);
  if (spool->shared >= 0 && spool->opened) { /* and readers find the run */
    pthread_mutex_unlock(&spool->lock);
    Py_RETURN_NONE;
  }
  int64_t wanted = ++spool->wanted;
  struct timespec end = time_in(TICK_NS);
  spool->holders++;
  pthread_cond_broadcast(&spool->turn);
  PyThreadState *state = PyEval_SaveThread();
  while (spool->written < wanted && !spool->ended && !spool->failed && spool_wait(spool, &end)) {
  }
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
  area_clear(self->spool, &self->spool->files[former]);
  self->spool->files[former].emptied++;
  self->spool->files[former].empty = 1;
  pthread_mutex_unlock(&self->spool->lock);
  Py_RETURN_NONE;
}

/* Releases the spool; `wait`: until all is written, for a limited time, without the GIL. */
static void spool_end(recorder *self, int wait) {
  struct spool *spool = own_spool(self);
  if (!spool) return;
  spools_remove(spool);
  pthread_mutex_lock(&spool->lock);
  spool_take(self);
  spool->ending = 1;
  spool->owner = NULL;
  self->spool = NULL;
  self->newest = NULL;
  pthread_cond_broadcast(&spool->turn);
  struct timespec end = time_in(SPOOL_END_NS);
  PyThreadState *state = wait ? PyEval_SaveThread() : NULL;
  while (wait && !spool->ended && spool_wait(spool, &end)) {
  }
  spool_release(spool);
  if (state) PyEval_RestoreThread(state);
}

static PyObject *recorder_spool_end(PyObject *object, PyObject *unused) {
  (void)unused;
  spool_end((recorder *)object, 1);
  Py_RETURN_NONE;
}

#endif
