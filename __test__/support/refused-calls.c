/* Makes system calls fail in a process that preloads this library (LD_PRELOAD), as on a file system without them, or within a sandbox.
   REFUSED_CALLS lists them with the errno, such as `link:1 flock:38`. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void refuse(unsigned number, unsigned error) {
  struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) abort();
}

__attribute__((constructor)) static void refuse_calls(void) {
  char *calls = getenv("REFUSED_CALLS");
  if (!calls) return;
  char copy[256];
  strncpy(copy, calls, sizeof copy - 1);
  copy[sizeof copy - 1] = 0;
  for (char *call = strtok(copy, " "); call; call = strtok(NULL, " ")) {
    char *colon = strchr(call, ':');
    if (!colon) abort();
    unsigned error = (unsigned)atoi(colon + 1);
    *colon = 0;
    if (!strcmp(call, "link")) {
#ifdef SYS_link
      refuse(SYS_link, error);
#endif
      refuse(SYS_linkat, error);
    } else if (!strcmp(call, "flock")) refuse(SYS_flock, error);
    else if (!strcmp(call, "fsync")) refuse(SYS_fsync, error);
    else if (!strcmp(call, "renameat2")) refuse(SYS_renameat2, error);
    else abort();
  }
}
