"""Tiny programs, and `perfembed populate` as a process of its own that measures without waiting for others."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from optdb.spool import parse_line, spool_directory

OPTIONS = ("--search=random", "--schedules=3", "--threads=1", "--cflags=-O1", "--seed=5")
COMMAND = (sys.executable, "-c", "from perfembed.cli.main import run; run()", "populate")


def write_programs(folder: Path) -> tuple[Path, Path, Path, Path]:
    """One with nothing to gain, one with much, one that does not compile, one without a nest."""
    folder.mkdir(exist_ok=True)
    texts = {
        "one.c": "double x[4096];\nvoid f(void) { for (int i = 1; i < 4096; i++) x[i] = x[i - 1] * 0.5 + x[i]; }\n",
        "two.c": "double a[64][48], b[64][48];\nvoid f(void) { for (int j = 0; j < 48; j++)\n"
        "for (int i = 0; i < 64; i++) b[i][j] = a[i][j] * 3 + 1.0; }\n",
        "bad.c": "int main(void) { return x; }\n",
        "none.c": "int main(void) { return 0; }\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    one, two, bad, none = (folder / name for name in texts)
    return one, two, bad, none


def environment(folder: Path) -> dict[str, str]:
    """This one's, with a lock of its own."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    return {**os.environ, "TMPDIR": str(temporary), "PERFEMBED_LOCK": str(temporary)}


def start(database: Path, *arguments: object) -> subprocess.Popen[str]:
    command = [*COMMAND, *OPTIONS, "--db", str(database), *map(str, arguments)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(database.parent),
        start_new_session=True,
        # a test run in the background of a shell ignores SIGINT, and its children would, too
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def run(database: Path, *arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    process = start(database, *arguments)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def spooled(database: Path) -> list[str]:
    """The kinds of the records that wait."""
    lines = [
        parse_line(text)
        for path in spool_directory(database).glob("*.spool")
        for text in path.read_bytes().split(b"\n")[:-1]
    ]
    return [line.kind for line in lines if line is not None]
