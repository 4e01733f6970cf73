/* Shuts a file system down, so that it writes nothing more, as when the power is cut: `file-system-shutdown DIRECTORY FLAG`. With flag 1 its journal is
   written first, with 2 it is not. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(int count, char **arguments) {
  if (count != 3) return 2;
  uint32_t flag = (uint32_t)atoi(arguments[2]);
  int directory = open(arguments[1], O_RDONLY | O_DIRECTORY);
  return directory < 0 || ioctl(directory, 0x8004587d, &flag) != 0;
}
