/* Open files of the recording's own, in a process that may close any of them. Included only by _hot.c.
 *
 * Owns nothing: whoever opened a file keeps its number and its identity. */
#ifndef KVTRACE_HOT_FILES_H
#define KVTRACE_HOT_FILES_H

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* By which an open file is known: a program may close all descriptors, as daemons do, and then have
 * another file with the number. */
struct identity {
  dev_t device;
  ino_t inode;
};

static struct identity identity_of(int file) {
  struct stat facts;
  if (fstat(file, &facts)) return (struct identity){0, 0};
  return (struct identity){facts.st_dev, facts.st_ino};
}

static int is_own(int file, struct identity own) {
  struct identity found = identity_of(file);
  return file >= 0 && found.inode && found.device == own.device && found.inode == own.inode;
}

static void close_own(int file, struct identity own) {
  if (is_own(file, own)) close(file);
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

#endif
