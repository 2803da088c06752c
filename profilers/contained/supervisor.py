"""The compiled supervisor every contained child runs under: built once per process, removed at its end."""

import atexit
import contextlib
import os
import shutil
import subprocess
import threading
from pathlib import Path

from profilers.contained.errors import CompilerMissing, ContainmentError, ProfilersError
from profilers.contained.limits import check_file_size, limit_hit
from profilers.contained.scratch import claim_folder, remove_folder

_SOURCE = Path(__file__).with_name("supervisor.c")
_lock = threading.Lock()
_built: Path | None = None


def _remove(directory: Path, descriptor: int, owner: int) -> None:
    if os.getpid() == owner:  # a forked child must not take the binary from its parent
        remove_folder(directory, descriptor)


def prepare_supervisor(search_path: str) -> None:
    """Begins to build it while the caller does something else; whoever needs it first is told of problems."""

    def build() -> None:
        with contextlib.suppress(ProfilersError, OSError):
            supervisor_binary(search_path)

    threading.Thread(target=build).start()  # no daemon: it ends before what it made is removed


def supervisor_binary(search_path: str) -> Path:
    """The supervisor's executable, compiled on first use by a C compiler found on `search_path`.

    Raises CompilerMissing where there is none, ContainmentError where it cannot be built or executed.
    """
    global _built
    with _lock:
        if _built is not None and _built.exists():
            return _built
        compiler = next(
            (found for name in ("cc", "gcc", "clang") if (found := shutil.which(name, path=search_path))), None
        )
        if compiler is None:
            raise CompilerMissing(f"no C compiler (cc, gcc or clang) on {search_path}")
        directory, descriptor = claim_folder()
        atexit.register(_remove, directory, descriptor, os.getpid())
        binary = directory / "supervisor"
        command = [compiler, "-O1", "-o", str(binary), str(_SOURCE)]
        environment = {"PATH": search_path, "LC_ALL": "C", "TMPDIR": str(directory)}
        try:
            done = subprocess.run(
                command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=600, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise ContainmentError(f"cannot compile the supervisor with {compiler}: {problem}") from problem
        if done.returncode != 0:
            if limit_hit(done.returncode, done.stderr) == "file":
                check_file_size(compiler)
            raise ContainmentError(
                f"{compiler} cannot compile the supervisor: {done.stderr.decode(errors='replace')[:2000]}"
            )
        _built = binary
        return binary
