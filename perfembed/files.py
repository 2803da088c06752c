"""Reading the user's files and writing what is made of them, so that nothing is lost on failure."""

from __future__ import annotations

import contextlib
import os
import stat

from perfembed.errors import NoTunableNest, SourceRejected, UsageError
from profilers.contained.scratch import unfinished_file

_MAX_BYTES = 64 << 20


def read_input(path: str) -> bytes:
    """The content of a C file. Raises UsageError, NoTunableNest (empty) or SourceRejected (not text)."""
    content = _content(path, "a C file")
    if not content.strip():
        raise NoTunableNest(f"{path}: the file is empty")
    if len(content) > _MAX_BYTES:
        raise SourceRejected(f"{path}: larger than {_MAX_BYTES >> 20} MiB")
    if b"\0" in content:
        raise SourceRejected(f"{path}: a binary file, not C text")
    return content


def read_document(path: str) -> str:
    """The text of a JSON document. Raises UsageError."""
    content = _content(path, "a JSON document")
    if len(content) > _MAX_BYTES:
        raise UsageError(f"{path}: larger than {_MAX_BYTES >> 20} MiB")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8, so no JSON document") from None


def _content(path: str, expected: str) -> bytes:
    """At most one byte more than what is accepted. Raises UsageError."""
    try:
        with open(path, "rb", opener=_open) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UsageError(f"{path}: not a regular file")
            return file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise UsageError(f"{path}: is a directory, {expected} is expected") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path!r}: cannot be read: {_reason(error)}") from None


def _open(path: str, flags: int) -> int:
    """Without waiting for whoever might one day write into a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def check_output(source: str, output: str | None, in_place: bool) -> None:
    """Refuses, before any work is done, an output that could not or should not be written. Raises UsageError."""
    if in_place and output is not None:
        raise UsageError("-o and --in-place exclude each other")
    target = os.path.realpath(source) if in_place else output
    if target is None:
        return
    if not in_place and os.path.exists(target) and os.path.samefile(source, target):
        raise UsageError(f"{target}: the output is the input file", "use --in-place to rewrite the file itself")
    if os.path.isdir(target):
        raise UsageError(f"{target}: is a directory, a file name is expected")
    if os.path.exists(target) and not os.path.isfile(target):
        raise UsageError(f"{target}: not a regular file")
    folder = os.path.dirname(os.path.realpath(target))
    if not os.path.isdir(folder):
        raise UsageError(f"{target}: the folder {folder} does not exist")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{target}: the folder {folder} is not writable")


def write_output(path: str, content: bytes) -> None:
    """Writes all or nothing (a new file is renamed over the old one); an existing file keeps its mode and links.

    Raises UsageError when it cannot be written.
    """
    target = os.path.realpath(path)
    try:
        old = os.stat(target) if os.path.exists(target) else None
        with unfinished_file(os.path.dirname(target)) as unfinished:
            with open(unfinished, "wb") as file:
                file.write(content)
                file.flush()
                if old is not None:
                    with contextlib.suppress(OSError):  # only root may give files away
                        os.fchown(file.fileno(), old.st_uid, old.st_gid)
                os.fchmod(file.fileno(), _default_mode() if old is None else stat.S_IMODE(old.st_mode))
                os.fsync(file.fileno())
            os.replace(unfinished, target)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {_reason(error)}") from None


def _default_mode() -> int:
    """What a plain `open` would have given; the mask of this process can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
