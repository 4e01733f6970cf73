"""Holds a lease on each of the files that it is given, as a file server does, and gives it up a while after another process wants the file.

Prints "held" when it has the leases, and "asked" when the system has asked for one of them back.
"""

import fcntl
import os
import signal
import sys
import time

kind = {"read": fcntl.F_RDLCK, "write": fcntl.F_WRLCK}[sys.argv[1]]
files = [os.open(path, os.O_RDONLY if kind == fcntl.F_RDLCK else os.O_RDWR) for path in sys.argv[2:]]


def give_up(*_):
    print("asked", flush=True)
    time.sleep(0.3)
    for file in files:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    sys.exit(0)


signal.signal(signal.SIGIO, give_up)
for file in files:
    fcntl.fcntl(file, fcntl.F_SETLEASE, kind)
print("held", flush=True)
time.sleep(60)
