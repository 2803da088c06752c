"""Containment: whatever a child does, it ends in time and nothing of it survives."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from profilers.contained.child import Command, Finished, Limits, memory_file
from profilers.contained.errors import ContainmentError, NotExecutable
from profilers.run import DEFAULT_ENVIRONMENT, contained_seconds, run_contained, run_many

ROOT = Path(__file__).parents[2]
TIMES = int(os.environ.get("PERFEMBED_ATTACK_TIMES", "2"))  # how often each attack is made
WALL_S = 0.4
LATE_S = 30  # on a busy machine

HEAD = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
static volatile int zero;
static int deep(int n) { volatile char big[4096]; big[0] = (char)n; return zero ? 0 : deep(n + 1) + big[0]; }
static void daemonize(void) {
    if (fork()) return;
    setsid();
    if (fork()) _exit(0);
    for (;;) pause();
}
int main(void) {
"""
# name -> (C statements, the limits that may end it or None for "ends by itself", signal or None)
ATTACKS: dict[str, tuple[str, set[str | None], int | None]] = {
    "segfault": ("*(volatile int *)8 = 1;", {None}, signal.SIGSEGV),
    "hang": ("for (;;) pause();", {"wall"}, signal.SIGKILL),
    "spin": ("while (!zero) ;", {"wall"}, signal.SIGKILL),
    "ignored SIGTERM": (
        "for (int s = 1; s < 65; s++) signal(s, SIG_IGN); for (;;) pause();",
        {"wall"},
        signal.SIGKILL,
    ),
    "blocked signals": (
        "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0); while (!zero) ;",
        {"wall"},
        signal.SIGKILL,
    ),
    "stopped": ("raise(SIGSTOP);", {"wall"}, signal.SIGKILL),
    "memory hog": (
        "for (;;) { char *p = malloc(1 << 22); if (!p) abort(); memset(p, 1, 1 << 16); }",
        {None},
        signal.SIGABRT,
    ),
    "memory hogs": (
        "for (int i = 0; i < 4; i++) if (!fork()) break; memset(malloc(150 << 20), 1, 150 << 20); for (;;) pause();",
        {"memory", "wall"},
        signal.SIGKILL,
    ),
    "output flood": ('for (;;) fputs("flood flood flood\\n", stdout);', {"wall"}, signal.SIGKILL),
    "fork bomb": ("for (int i = 0; i < 10; i++) fork(); for (;;) pause();", {"processes", "wall"}, signal.SIGKILL),
    "fork bomb of sessions": (
        "for (int i = 0; i < 9; i++) { fork(); setsid(); } for (;;) pause();",
        {"processes", "wall"},
        signal.SIGKILL,
    ),
    "daemons": ("for (int i = 0; i < 5; i++) daemonize();", {None}, None),
    "daemons that flood": (
        "if (fork()) { usleep(20000); _exit(0); } setsid(); signal(SIGPIPE, SIG_IGN);"
        ' for (;;) if (write(1, "x", 1) < 0) continue;',
        {None},
        None,
    ),
    "daemon of a hanging child": ("daemonize(); for (;;) pause();", {"wall"}, signal.SIGKILL),
    "respawning daemon": (
        "if (fork()) { usleep(20000); return 0; } setsid(); for (;;) { if (fork()) _exit(0); usleep(1000); }",
        {None},
        None,
    ),
    "without death signal": (
        "prctl(PR_SET_PDEATHSIG, 0); if (fork()) return 0; setsid(); for (;;) pause();",
        {None},
        None,
    ),
    "deep stack": ("return deep(0);", {None}, signal.SIGSEGV),
    "closed files": ("for (int i = 0; i < 64; i++) close(i); daemonize(); for (;;) pause();", {"wall"}, signal.SIGKILL),
}


@pytest.fixture(scope="session")
def attackers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("attackers")
    commands, binaries = [], {}
    for number, (name, (body, _, _)) in enumerate(ATTACKS.items()):
        source = directory / f"{number}.c"
        source.write_text(HEAD + body + "\nreturn 0; }\n")
        binaries[name] = directory / f"attack-{number}"
        argv = ("gcc", "-O0", "-o", str(binaries[name]), str(source))
        commands.append(Command(argv, Limits(), DEFAULT_ENVIRONMENT, directory))
    for finished in run_many(commands, jobs=2):
        assert finished.ok, finished.stderr.decode()
    return binaries


@pytest.mark.parametrize("name", ATTACKS)
def test_misbehaving_children_end_in_time_and_leave_nothing(name, attackers, marked, tmp_path):
    _, reasons, number = ATTACKS[name]
    wall_s = 5.0 if reasons == {None} else WALL_S  # what ends by itself may take its time on a crowded machine
    limits = Limits(wall_s=wall_s, memory_bytes=256 << 20, processes=64, output_bytes=4096)
    for _ in range(TIMES):
        start = time.monotonic()
        finished = run_contained((str(attackers[name]),), limits=limits, env=marked.env, cwd=tmp_path)
        assert time.monotonic() - start < wall_s + LATE_S
        assert marked.survivors() == []
        assert finished.limit in reasons
        assert finished.signal == number
        assert finished.timed_out == (finished.limit == "wall")
        assert len(finished.stdout) <= 4096
        assert not list(tmp_path.iterdir())  # no core file


def run(script: str, **changes) -> Finished:
    limits = changes.pop("limits", Limits(wall_s=10))
    return run_contained(("sh", "-c", script), limits=limits, env=DEFAULT_ENVIRONMENT, cwd="/", **changes)


def test_result_of_an_ordinary_program():
    finished = run("cat; echo oops >&2; exit 3", stdin=b"in" * 100_000)
    assert (finished.returncode, finished.signal, finished.limit) == (3, None, None)
    assert (finished.stdout, finished.stderr) == (b"in" * 100_000, b"oops\n")
    assert not finished.ok and not finished.output_truncated and not finished.timed_out
    assert run("read x").returncode == 1  # stdin is empty


def test_output_beyond_the_cap_is_dropped_and_said():
    finished = run("yes | head -c 300000; echo end >&2", limits=Limits(wall_s=10, output_bytes=1000))
    assert finished.ok and finished.output_truncated
    assert len(finished.stdout) == 1000 and finished.stderr == b"end\n"
    exact = run("printf 0123456789", limits=Limits(wall_s=10, output_bytes=10))
    assert exact.stdout == b"0123456789" and not exact.output_truncated


def test_environment_directory_and_files_are_the_given_ones(tmp_path):
    with memory_file("given", b"hello") as file:
        number = file.fileno()
        finished = run_contained(
            ("sh", "-c", f"cat /proc/self/fd/{number}; pwd; env | sort | tr '\\n' ' '; ls /proc/self/fd | wc -l"),
            limits=Limits(), env={"PATH": "/usr/bin:/bin", "A": "b c"}, cwd=tmp_path, pass_fds=(number,),
        )  # fmt: skip
    text = finished.stdout.decode()
    assert text.startswith(f"hello{tmp_path}\nA=b c ")
    assert "HOME=" not in text
    assert int(text.split()[-1]) == 5  # 0, 1, 2, ours, and the folder ls reads


def test_measures_time_and_memory():
    began = time.monotonic()
    finished = run("sleep 0.2")
    assert 0.2 <= finished.wall_s < time.monotonic() - began and finished.cpu_s < 0.1
    script = "x = bytearray(100 << 20)\nwhile __import__('time').process_time() < 0.3: pass"
    finished = run_contained((sys.executable, "-IS", "-c", script), limits=Limits(), env={}, cwd="/")
    assert finished.cpu_s >= 0.3 and finished.max_rss_bytes > 100 << 20


def test_processor_time_is_limited():
    finished = run("while :; do :; done", limits=Limits(wall_s=120, cpu_s=1))
    assert finished.timed_out and finished.limit == "cpu" and 0.8 < finished.cpu_s < 3


def test_memory_and_processes_are_limited_over_the_whole_tree(attackers, marked, tmp_path):
    limits = Limits(wall_s=60, memory_bytes=256 << 20, processes=64)
    for name, limit in (("memory hogs", "memory"), ("fork bomb", "processes"), ("fork bomb of sessions", "processes")):
        finished = run_contained((str(attackers[name]),), limits=limits, env=marked.env, cwd=tmp_path)
        assert finished.limit == limit and not finished.timed_out
        assert marked.survivors() == []


def test_files_are_limited(tmp_path):
    finished = run(f"yes > {tmp_path}/big", limits=Limits(wall_s=10, file_bytes=100_000))
    assert not finished.ok and (tmp_path / "big").stat().st_size == 100_000


def test_missing_program_and_folder_are_errors():
    with pytest.raises(NotExecutable, match="No such file"):
        run_contained(("/nonexistent/program",), limits=Limits(), env=DEFAULT_ENVIRONMENT, cwd="/")
    with pytest.raises(ContainmentError, match="/nonexistent"):
        run_contained(("true",), limits=Limits(), env=DEFAULT_ENVIRONMENT, cwd="/nonexistent")
    with pytest.raises(NotExecutable):
        run_contained(("a\0b",), limits=Limits(), env=DEFAULT_ENVIRONMENT, cwd="/")
    with pytest.raises(ContainmentError):
        run_contained(("true",), limits=Limits(wall_s=0), env=DEFAULT_ENVIRONMENT, cwd="/")


def test_many_keep_their_order_and_run_side_by_side(tmp_path):
    # Each waits for the one behind it.
    wait = "while [ ! -e {} ]; do sleep 0.01; done; "
    commands = [
        Command(
            ("sh", "-c", f"{wait.format(tmp_path / str(i + 1)) if i < 3 else ''}: > {tmp_path / str(i)}; echo {i}"),
            Limits(wall_s=60),
            DEFAULT_ENVIRONMENT,
            "/",
        )
        for i in range(4)
    ]
    finished = run_many(commands, jobs=4)
    assert [one.stdout for one in finished] == [b"0\n", b"1\n", b"2\n", b"3\n"]


def test_commands_are_made_while_earlier_ones_run(tmp_path):
    def commands():
        yield Command(("sh", "-c", "echo > started; sleep 1; echo > ended"), Limits(), DEFAULT_ENVIRONMENT, tmp_path)
        while not (tmp_path / "started").exists():
            time.sleep(0.01)
        assert not (tmp_path / "ended").exists()
        yield Command(("sh", "-c", "sleep 1"), Limits(), DEFAULT_ENVIRONMENT, tmp_path)

    before_s = contained_seconds()
    first, second = run_many(commands(), jobs=2)
    together_s = contained_seconds() - before_s
    assert max(first.wall_s, second.wall_s) - 1e-6 < together_s < first.wall_s + second.wall_s


def test_what_fails_to_make_a_command_kills_the_earlier_ones(marked):
    def commands():
        yield Command(("sleep", "60"), Limits(wall_s=60), marked.env, "/")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_many(commands(), jobs=2)
    assert marked.survivors() == []


def test_one_missing_program_among_many_kills_the_others(marked):
    sleeping = Command(("sleep", "60"), Limits(wall_s=60), marked.env, "/")
    missing = Command(("/nonexistent",), Limits(), marked.env, "/")
    with pytest.raises(NotExecutable):
        run_many((sleeping, missing), jobs=2)


def test_overhead_is_small():
    """Against a shell that starts the same program, in turns: more of them where others disturb."""
    fastest = [60.0, 60.0]
    for turn in range(300):
        if turn >= 20 and fastest[0] < 10 * fastest[1]:
            break
        for number, run in enumerate(
            (
                lambda: run_contained(("/bin/true",), limits=Limits(), env=DEFAULT_ENVIRONMENT, cwd="/"),
                lambda: subprocess.run(("sh", "-c", "/bin/true; /bin/true"), check=True),
            )
        ):
            start = time.monotonic()
            run()
            fastest[number] = min(fastest[number], time.monotonic() - start)
    assert fastest[0] < 10 * fastest[1], fastest


PARENT = """
import signal, sys
from profilers.run import run_contained
from profilers.contained.child import Limits
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
env = dict(item.split("=", 1) for item in sys.argv[1:])
command = ("sh", "-c", "setsid sleep 60 & sleep 60")
try:
    run_contained(command, limits=Limits(wall_s=60), env=env, cwd="/")
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_or_killed_parent_takes_the_tree_along(number, marked, tmp_path):
    env = [f"{name}={value}" for name, value in marked.env.items()]
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, *env], stdout=subprocess.PIPE, cwd=ROOT, env={"TMPDIR": str(tmp_path)}
    )
    for _ in range(1200):
        if len(marked_sleepers := _sleepers(marked)) >= 2:
            break
        time.sleep(0.05)
    assert len(marked_sleepers) >= 2
    start = time.monotonic()
    parent.send_signal(number)
    out, _ = parent.communicate(timeout=40)
    assert time.monotonic() - start < 20  # and does not wait for the end of those that sleep
    assert out == (b"interrupted\n" if number == signal.SIGINT else b"")
    assert marked.survivors() == []


STOPPED = """
import sys
from profilers.run import DEFAULT_ENVIRONMENT, run_contained
from profilers.contained.child import Limits
command = ("sh", "-c", "echo > begun; sleep 0.3; echo > ended")
finished = run_contained(command, limits=Limits(wall_s=3), env=DEFAULT_ENVIRONMENT, cwd=sys.argv[1])
print(finished.returncode, finished.timed_out)
"""


def test_a_parent_that_was_stopped_still_hears_how_it_ended(tmp_path):
    """As by Ctrl-Z: the child goes on, and its time is over when the parent comes back."""
    parent = subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )
    for _ in range(6000):
        if (tmp_path / "begun").exists():
            break
        time.sleep(0.01)
    parent.send_signal(signal.SIGSTOP)
    time.sleep(3.8)
    assert (tmp_path / "ended").exists()
    parent.send_signal(signal.SIGCONT)
    out, err = parent.communicate(timeout=20)
    assert (out, err) == (b"0 False\n", b"")


def _sleepers(marked) -> list[int]:
    return [pid for pid in marked.processes() if "sleep" in _name(pid)]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


def test_work_has_its_processor_time_however_long_it_waits(tmp_path):
    finished = run("sleep 0.5; exit 3", limits=Limits.of_work(0.2))
    assert finished.returncode == 3 and finished.wall_s >= 0.5
    finished = run("while :; do :; done", limits=Limits.of_work(1.0))
    assert finished.limit == "cpu" and finished.timed_out


def test_limits_of_the_user_are_kept_and_named(tmp_path):
    """In a process of its own, which cannot raise them again. A soft limit is one, too; only stacks may grow."""
    program = """import resource, sys
from profilers.contained.child import Limits
from profilers.contained.errors import FileSizeLimited
from profilers.run import DEFAULT_ENVIRONMENT, run_contained
def run(script):
    where = dict(limits=Limits(wall_s=1e5), env=DEFAULT_ENVIRONMENT, cwd=sys.argv[1])
    return run_contained(("/bin/sh", "-c", script), **where)
for what, value in ((resource.RLIMIT_CPU, 7000), (resource.RLIMIT_FSIZE, 1 << 20)):
    resource.setrlimit(what, (value, resource.RLIM_INFINITY))
print(run("ulimit -St; ulimit -Sf").stdout.split())
try:
    run("exec head -c 2000000 /dev/zero > big")
except FileSizeLimited as problem:
    print(problem)
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "[b'7000', b'2048']",
        "/bin/sh cannot write a file of more than 1024 KiB: raise the limit (ulimit -f)",
    ], done.stderr


def test_a_compiler_that_may_not_write_is_not_taken_for_a_broken_one(tmp_path):
    program = """import resource, sys
from pathlib import Path
from profilers.build import CompilerConfig, compile_workloads
from profilers.workload import Workload
from profilers.contained.supervisor import supervisor_binary
supervisor_binary("/usr/local/bin:/usr/bin:/bin")
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
work = Workload("k", "void pe_kernel(void *const *args) {}", (), 1)
compile_workloads([work], CompilerConfig("gcc", ()), Path(sys.argv[1]), 1)
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)
    assert "FileSizeLimited" in done.stderr and "internal compiler error" not in done.stderr
    assert "gcc cannot write a file of more than 1 KiB: raise the limit (ulimit -f)" in done.stderr
