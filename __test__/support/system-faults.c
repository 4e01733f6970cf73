/* Injects system errors into a process that preloads this library (LD_PRELOAD): the n-th call of a kind on a file below FAULT_ROOT fails, or is
   done in part. FAULTS lists the faults as call, visit and errno, such as `write:3:5 fsync:1:5`; errno 0 is a short write. Counting restarts
   whenever FAULTS changes. With FAULT_PLACING every renameat2, which the product calls without the C library, fails with that errno. With FAULT_HOLES no file system knows its holes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { WRITE, FSYNC, FDATASYNC, OPEN, CLOSE, RENAME, MKDIR, FTRUNCATE, PWRITE, LINK, UNLINK, KINDS };
static const char *const names[KINDS] = {"write", "fsync", "fdatasync", "open", "close", "rename", "mkdir", "ftruncate", "pwrite", "link", "unlink"};
static int visits[KINDS];
static char counted[256];
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void fail_placing(void) {
  const char *error = getenv("FAULT_PLACING");
  if (!error) return;
  struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(error)),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) abort();
}

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

/* The errno of this visit, 0 for a short write, -1 for no fault. */
static int fault(int kind) {
  const char *at = getenv("FAULTS");
  pthread_mutex_lock(&counting);
  if (at && strncmp(at, counted, sizeof counted - 1) != 0) {
    strncpy(counted, at, sizeof counted - 1);
    memset(visits, 0, sizeof visits);
  }
  int visit = ++visits[kind];
  pthread_mutex_unlock(&counting);
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

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
  REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
  if (is_open_below(fd)) {
    int error = fault(PWRITE);
    if (error > 0) { errno = error; return -1; }
    if (error == 0) return real(fd, bytes, (count + 1) / 2, offset);
  }
  return real(fd, bytes, count, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) { return pwrite64(fd, bytes, count, offset); }

/* With FAULT_HOLES no file system can tell holes from data. */
off64_t lseek64(int fd, off64_t offset, int whence) {
  REAL(off64_t, lseek64, int, off64_t, int);
  if ((whence == SEEK_DATA || whence == SEEK_HOLE) && getenv("FAULT_HOLES")) { errno = EINVAL; return -1; }
  return real(fd, offset, whence);
}

int fsync(int fd) { REAL(int, fsync, int); FAIL(is_open_below(fd), FSYNC) return real(fd); }
int fdatasync(int fd) { REAL(int, fdatasync, int); FAIL(is_open_below(fd), FDATASYNC) return real(fd); }
int ftruncate64(int fd, off64_t size) { REAL(int, ftruncate64, int, off64_t); FAIL(is_open_below(fd), FTRUNCATE) return real(fd, size); }
int rename(const char *from, const char *to) { REAL(int, rename, const char *, const char *); FAIL(is_below(to), RENAME) return real(from, to); }
int link(const char *from, const char *to) { REAL(int, link, const char *, const char *); FAIL(is_below(to), LINK) return real(from, to); }
int unlink(const char *path) { REAL(int, unlink, const char *); FAIL(is_below(path), UNLINK) return real(path); }
int mkdir(const char *path, mode_t mode) { REAL(int, mkdir, const char *, mode_t); FAIL(is_below(path), MKDIR) return real(path, mode); }

/* The descriptor is closed even if the call fails. */
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
