"""Interrupts work by a signal whose handler raises, as Ctrl-C does."""

import signal
from contextlib import contextmanager

import pytest


class Interrupted(Exception):
    pass


@contextmanager
def interrupted(every=0.03):
    """A handler that raises at its second call. Work that does not check for signals runs it only once, after its end."""
    seen = []

    def handle(*_):
        seen.append(1)
        if len(seen) == 2:
            raise Interrupted

    before = signal.signal(signal.SIGALRM, handle)
    try:
        with pytest.raises(Interrupted):
            signal.setitimer(signal.ITIMER_REAL, every, every)
            yield
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
