"""One measurement at a time on a machine, whoever measures.

What is locked (flock(2)) is a folder that every machine has and that only root can make, remove or replace: no file
is made, so none can be in the way, belong to another user or be planted, and whoever may read the folder may lock it.
The lock ends with its process at the latest. Any user can hold it for as long as a process of theirs lives, as they
could keep the processors busy; a process that waits says for whom.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

VARIABLE = "PERFEMBED_LOCK"
"""Of the environment: another folder to lock, such as one that the containers of a machine share."""

_FOLDERS = (Path("/dev/shm"), Path("/run/lock"), Path("/tmp"))
_LOOK_S = 2.0  # how often one that waits looks whether somebody else has the lock by now
_COMMAND_CHARS = 100


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has the lock. `started`: when the process did; `command`, `user`: empty where they cannot be seen."""

    pid: int
    command: str
    user: str
    started: datetime | None
    stopped: bool

    def __str__(self) -> str:
        words = [f"process {self.pid}"]
        if self.command:
            words.append(f"({self.command})")
        if self.user:
            words.append(f"of user {self.user}")
        if self.started is not None:
            words.append(f"since {self.started:%Y-%m-%d %H:%M:%S}")
        if self.stopped:
            words.append("(it is stopped: continue or end it)")
        return " ".join(words)


def lock_folder(environment: Mapping[str, str]) -> Path | None:
    """The folder that is locked: the same for all processes of a machine; None where there is none.

    Every user has to come to the same one: what counts is what everybody may read, not what this process may.
    """
    if named := environment.get(VARIABLE):
        return Path(named)
    for folder in _FOLDERS:
        with contextlib.suppress(OSError):
            mode = folder.stat().st_mode
            if stat.S_ISDIR(mode) and mode & stat.S_IROTH:
                return folder
    return None


@contextlib.contextmanager
def machine_lock(environment: Mapping[str, str], tell: Callable[[str], None]) -> Iterator[None]:
    """Waits until no other process of this machine is in here, and keeps them out.

    `tell` hears who is waited for, also from a thread while this one waits, and, where nothing can be locked, that
    and why it is done without.
    """
    folder = lock_folder(environment)
    descriptor = None
    try:
        try:
            if folder is None:
                raise FileNotFoundError(0, "no folder to lock")
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            _lock(descriptor, tell)
        except OSError as problem:
            where = f" {folder}" if folder is not None else ""
            tell(
                f"cannot lock{where} ({problem.strerror}): measuring all the same; "
                "other measurements at the same time would disturb this one"
            )
        yield
    finally:
        if descriptor is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing is not enough while a forked child has it open too
            os.close(descriptor)


def _lock(descriptor: int, tell: Callable[[str], None]) -> None:
    """Waits in the kernel: who polls would disturb what is measured, and never get a lock that is soon taken again."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    except BlockingIOError:
        pass
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(descriptor, tell, ended), daemon=True)
    watcher.start()
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    finally:
        ended.set()
        watcher.join()


def _watch(descriptor: int, tell: Callable[[str], None], ended: threading.Event) -> None:
    known: int | None = -1
    while not ended.is_set():
        found = holder(descriptor)
        if (found.pid if found else None) != known:
            known = found.pid if found else None
            who = found or "a process that cannot be seen from here"
            tell(f"waiting: another measurement is running on this machine, by {who}")
        ended.wait(_LOOK_S)


def holder(descriptor: int) -> Holder | None:
    """Who has locked an open file; None where nobody has, or it cannot be seen (another container, another system)."""
    status = os.fstat(descriptor)
    wanted = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    for line in lines:  # 1: FLOCK  ADVISORY  WRITE 19157 fe:00:2146562 0 EOF
        words = line.split()
        if len(words) == 8 and words[1] == "FLOCK" and words[5] == wanted and words[4].isdigit() and words[4] != "0":
            return _process(int(words[4]))
    return None


def _process(pid: int) -> Holder:
    folder = Path("/proc", str(pid))
    command, user, started, state = "", "", None, ""
    with contextlib.suppress(OSError):
        command = _shortened((folder / "cmdline").read_bytes())
    with contextlib.suppress(OSError):
        lines = (folder / "status").read_text(errors="replace").splitlines()
        user = _user(next((int(line.split()[1]) for line in lines if line.startswith("Uid:")), None))
    with contextlib.suppress(OSError, ValueError, IndexError):
        words = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        state = words[0]
        boot = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime"))
        started = datetime.fromtimestamp(int(boot.split()[1]) + int(words[19]) / os.sysconf("SC_CLK_TCK"))
    return Holder(pid, command, user, started, state in ("T", "t"))


def _user(number: int | None) -> str:
    if number is None:
        return ""
    import pwd  # here, not above: only who waits needs it

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _shortened(line: bytes) -> str:
    """A command line as one would type it: without the interpreter and folders; another user may have made it up."""
    words = [word.decode(errors="replace") for word in line.split(b"\0") if word]
    if len(words) > 1 and os.path.basename(words[0]).startswith("python") and not words[1].startswith("-"):
        words = words[1:]
    if words:
        words[0] = os.path.basename(words[0])
    text = "".join(c if c.isprintable() else " " for c in " ".join(words))
    return text if len(text) <= _COMMAND_CHARS else text[: _COMMAND_CHARS - 1] + "…"
