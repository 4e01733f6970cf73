"""The errors of this package."""


class CommitFailed(OSError):
    """A table could not be written because other writers have changed the same rows again and again. Nothing of the batch is listed as written.

    >>> issubclass(CommitFailed, OSError)
    True
    """
