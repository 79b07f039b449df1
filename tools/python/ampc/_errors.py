"""Exceptions. Each carries one sentence: where, what was found, what was needed."""

from __future__ import annotations


class Error(Exception):
    """Anything that ampc refuses or fails at. `exit_code` is what the command would end with."""

    exit_code = 5


class UsageError(Error, ValueError):
    """A wrong argument: an option, a missing feed, a wrong dtype or shape."""

    exit_code = 2


class BadInput(Error, ValueError):
    """A file is absent or malformed."""

    exit_code = 3


class Unsupported(Error, NotImplementedError):
    """Well formed, but an operator, a device or a format is not supported."""

    exit_code = 4


class Cancelled(Error):
    """The progress callback returned False."""


_BY_CODE = {2: UsageError, 3: BadInput, 4: Unsupported, 6: Cancelled}


def raise_for(code: int, text: str) -> None:
    """Raises what belongs to a code of the C interface; its functions' names are not a Python user's."""
    function, colon, sentence = text.partition(": ")
    raise _BY_CODE.get(code, Error)(sentence if colon and function.startswith("ampc_") else text)
