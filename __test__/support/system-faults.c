/* Errors of the system for a process into which this is loaded (LD_PRELOAD): the n-th call of a kind that concerns a file below FAULT_ROOT
   ends with an error, or is done in part. FAULTS has them: `write:3:5 fsync:1:5`, call, visit and errno; 0 is a short write. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { WRITE, FSYNC, FDATASYNC, OPEN, CLOSE, RENAME, MKDIR, FTRUNCATE, KINDS };
static const char *const names[KINDS] = {"write", "fsync", "fdatasync", "open", "close", "rename", "mkdir", "ftruncate"};
static int visits[KINDS];

static int is_below(const char *path) {
  const char *root = getenv("FAULT_ROOT");
  return root && path && strncmp(path, root, strlen(root)) == 0;
}

static int is_open_below(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_below(path);
}

/* The errno that this visit ends with, 0 for a part, -1 for none. */
static int fault(int kind) {
  int visit = __atomic_add_fetch(&visits[kind], 1, __ATOMIC_SEQ_CST);
  const char *at = getenv("FAULTS");
  while (at && *at) {
    char name[16];
    int number, error, length;
    if (sscanf(at, " %15[a-z]:%d:%d%n", name, &number, &error, &length) < 3) break;
    if (strcmp(name, names[kind]) == 0 && number == visit) return error;
    at += length;
  }
  return -1;
}

#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)
#define FAIL(condition, kind) if (condition) { int error = fault(kind); if (error > 0) { errno = error; return -1; } }

ssize_t write(int fd, const void *bytes, size_t count) {
  REAL(ssize_t, write, int, const void *, size_t);
  int saved = errno;
  if (is_open_below(fd)) {
    int error = fault(WRITE);
    if (error > 0) { errno = error; return -1; }
    if (error == 0) return real(fd, bytes, (count + 1) / 2);
  }
  errno = saved;
  return real(fd, bytes, count);
}

int fsync(int fd) { REAL(int, fsync, int); FAIL(is_open_below(fd), FSYNC) return real(fd); }
int fdatasync(int fd) { REAL(int, fdatasync, int); FAIL(is_open_below(fd), FDATASYNC) return real(fd); }
int ftruncate64(int fd, off64_t size) { REAL(int, ftruncate64, int, off64_t); FAIL(is_open_below(fd), FTRUNCATE) return real(fd, size); }
int rename(const char *from, const char *to) { REAL(int, rename, const char *, const char *); FAIL(is_below(to), RENAME) return real(from, to); }
int mkdir(const char *path, mode_t mode) { REAL(int, mkdir, const char *, mode_t); FAIL(is_below(path), MKDIR) return real(path, mode); }

/* What is closed is closed, whatever the call says. */
int close(int fd) {
  REAL(int, close, int);
  int error = is_open_below(fd) ? fault(CLOSE) : -1;
  int closed = real(fd);
  if (error > 0) { errno = error; return -1; }
  return closed;
}

int open64(const char *path, int flags, ...) {
  REAL(int, open64, const char *, int, ...);
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  FAIL(is_below(path), OPEN)
  return real(path, flags, mode);
}

int open(const char *path, int flags, ...) {
  REAL(int, open, const char *, int, ...);
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  FAIL(is_below(path), OPEN)
  return real(path, flags, mode);
}
