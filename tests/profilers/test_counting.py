"""The harness's counting mode: warm-up, orders to the counting process, one process a repetition, failures."""

import json
import os
import stat

import pytest

from profilers.contained.child import Limits, memory_file
from profilers.counting import ACK_FD, CONTROL_FD, Counted, Counting, count_workload, warmups
from profilers.errors import HarnessError
from profilers.machine import Cache, describe_machine
from profilers.outcome import TimedOut, WrongResult
from profilers.workload import Argument, ConstantFill, Workload

CELL = Argument("x", "double", (1,), ConstantFill(0.0), True)
# A counting process that does as it is told and writes what it was told, and the calls the kernel had made by then.
TOOL = f"""#!/usr/bin/env python3
import json, os, signal, sys
signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
log, counter, pid = int(sys.argv[1]), sys.argv[2], sys.argv[3]
def calls():
    try:
        return os.path.getsize(counter)
    except OSError:
        return 0
while order := os.read({CONTROL_FD}, 100):
    os.write(log, (json.dumps([order.decode().strip(), calls(), int(pid) == os.getppid()]) + "\\n").encode())
    os.write({ACK_FD}, b"ack\\n")
"""


@pytest.fixture
def tool(tmp_path):
    path = tmp_path / "tool"
    path.write_text(TOOL)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def growing(path) -> str:
    """A kernel that makes a file one byte longer."""
    return (
        "#include <stdio.h>\nvoid pe_kernel(void *const *args)\n{\n"
        f'    FILE *f = fopen("{path}", "a"); fputc(65, f); fclose(f); *(double *)args[0] += 1;\n}}\n'
    )


def test_only_the_kernels_call_lies_between_enable_and_disable(build, tmp_path, tool):
    built = build(growing(tmp_path / "calls"), (CELL,))
    with memory_file("log") as log:
        command = (tool, str(log.fileno()), str(tmp_path / "calls"), "PID")
        counting = Counting(4, 3, (command, command))
        ran = count_workload(built, counting, pass_fds=(log.fileno(),))
        log.seek(0)
        said = [json.loads(line) for line in log.read().splitlines()]
    assert isinstance(ran, Counted) and ran.failed is None
    assert [len(samples) for samples in ran.samples_s] == [3, 3] and min(map(min, ran.samples_s)) > 0
    expected = [order for call in range(4, 10) for order in (["enable", call, True], ["disable", call + 1, True])]
    assert said == expected and ran.finished.survivors == 0


def test_without_commands_only_the_regions_are_told(build, tmp_path):
    hook = """
#include <stdio.h>
void pe_region(int repetition, int begins) { fprintf(stderr, "%d%c ", repetition, begins ? '+' : '-'); }
void pe_kernel(void *const *args) { fputs("call ", stderr); *(double *)args[0] += 1; }
"""
    ran = count_workload(build(hook, (CELL,)), Counting(2, 2))
    assert isinstance(ran, Counted) and len(ran.samples_s) == 1
    assert ran.finished.stderr.split() == b"call call -1+ 0+ call 0- 1+ call 1- -1-".split()


@pytest.mark.parametrize("argv", [("/nonexistent/tool",), ("false",), ("sh", "-c", "exec 101>&-; sleep 5")])
def test_a_counting_process_that_does_not_count_is_named(build, argv):
    ran = count_workload(build("(void)args;", (CELL,)), Counting(0, 2, (argv,)))
    assert isinstance(ran, Counted) and ran.failed == 0 and ran.finished.survivors == 0


def test_a_counting_process_that_never_answers_runs_into_the_limit(build, marked):
    counting = Counting(0, 1, (("sleep", "60"),))
    limits = Limits(wall_s=0.5)
    ran = count_workload(build("(void)args;", (CELL,)), counting, limits=limits, environment=marked.env)
    assert ran == TimedOut(0.5)


def test_the_wrappers_refusal_is_handed_on(build):
    ran = count_workload(build("(void)args;", (CELL,)), Counting(0, 1, (), ("sh", "-c", "echo no >&2; exit 3")))
    assert not isinstance(ran, Counted | TimedOut | WrongResult)
    assert (ran.returncode, ran.stderr) == (3, b"no\n")


def test_a_write_outside_an_array_is_found_while_counting(build):
    ran = count_workload(build("((double *)args[0])[1] = 2;", (CELL,)), Counting(1, 1))
    assert isinstance(ran, WrongResult) and ran.argument == "x"


def test_arguments_are_restored_between_repetitions(build):
    ran = count_workload(
        build("if (*(double *)args[0] != 0) __builtin_trap(); *(double *)args[0] = 1;", (CELL,)), Counting(2, 3)
    )
    assert isinstance(ran, Counted)


def test_warm_up_moves_twice_the_second_level_cache():
    machine = describe_machine()
    l2 = machine.cache(2)
    assert isinstance(l2, Cache)

    def of(elements: int) -> int:
        argument = Argument("x", "double", (elements,), ConstantFill(0.0), True)
        return warmups(Workload("w", "", (argument,), 1), machine)

    assert of(l2.size_bytes // 8) == 2 and of(l2.size_bytes) == 1
    assert of(l2.size_bytes // 8 - 1) == 3 and of(1) == 1000
    assert warmups(Workload("w", "", (), 1), machine) == 1000


@pytest.mark.parametrize(("repetitions", "word"), [(0, "perf"), (1, "."), (1, ""), (1, "a\nb")])
def test_what_the_harness_could_not_read_is_refused(repetitions, word):
    with pytest.raises(HarnessError):
        Counting(0, repetitions, ((word,),))


def test_descriptors_leave_room_for_those_in_use():
    assert min(CONTROL_FD, ACK_FD) > 64 and CONTROL_FD != ACK_FD and os.sysconf("SC_OPEN_MAX") > ACK_FD
