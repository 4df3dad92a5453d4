/* Loaded before the C library (LD_PRELOAD): a disk that takes 0.7 s to make a folder. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

int mkdir(const char *path, mode_t mode) {
  int (*plain)(const char *, mode_t) = (int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir");
  usleep(700000);
  return plain(path, mode);
}
