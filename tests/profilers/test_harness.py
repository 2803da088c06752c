"""The harness: fills, guards, restoring, references, checks, cut-offs. Real compilers, real processes."""

import math
import os
import struct

import numpy as np
import pytest

from profilers.contained.child import Limits
from profilers.errors import HarnessError
from profilers.harness import check_workload, harness_environment, time_workload, write_reference
from profilers.outcome import Crashed, Stopped, Timed, TimedOut, Verified, WrongResult
from profilers.specification import OpenMP, TimingSettings, inputs_digest
from profilers.workload import ELEMENT_TYPES, Argument, CapturedFill, ConstantFill, RandomFill

SHORT = TimingSettings(min_samples=2, max_samples=5, target_seconds=0.01)
HEADER = 32  # bytes before the data of a reference file
STORAGE = {
    "float": np.float32, "double": np.float64, "_Bool": np.bool_, "char": np.int8, "signed char": np.int8,
    "unsigned char": np.uint8, "short": np.int16, "unsigned short": np.uint16, "int": np.int32,
    "unsigned int": np.uint32, "long": np.int64, "unsigned long": np.uint64, "long long": np.int64,
    "unsigned long long": np.uint64,
}  # fmt: skip


def output(name="x", ctype="double", shape=(64,), fill=None, **more) -> Argument:
    return Argument(name, ctype, shape, fill or RandomFill(1, -1.0, 1.0), True, **more)


def data(reference, dtype) -> np.ndarray:
    return np.frombuffer(reference.read_bytes()[HEADER:], dtype)


def random_units(seed: int, count: int) -> np.ndarray:
    """The harness's generator, written a second time."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
        z = z + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def test_every_element_type_makes_the_round_trip(build, tmp_path):
    arguments, raw, expected = [], b"", []
    for i, ctype in enumerate(ELEMENT_TYPES):
        dtype = STORAGE[ctype]
        low, high = (0, 2) if ctype == "_Bool" else (0.25 if i < 2 else 3, 100)
        values = low + np.floor(random_units(i, 77) * (high - low)) if i >= 2 else None
        if values is None:
            units = random_units(i, 77)
            values = low * (1 - units) + high * units
        arguments.append(output(f"r{i}", ctype, (7, 11), RandomFill(i, low, high)))
        expected.append(values.astype(dtype))
        top = Argument("top", ctype, (), ConstantFill(0), True).limits
        for value in top:
            constant = float(np.float32(value)) if ctype == "float" else value
            arguments.append(output(f"c{i}", ctype, (3,), ConstantFill(constant)))
            expected.append(np.full(3, constant, dtype))
        captured = np.frombuffer(os.urandom(5 * dtype().itemsize), dtype)
        if ctype == "_Bool":
            captured = np.array([0, 1, 1, 0, 1], np.bool_)
        arguments.append(output(f"f{i}", ctype, (5,), CapturedFill(str(tmp_path / "a file"), len(raw))))
        raw += captured.tobytes()
        expected.append(captured)
    (tmp_path / "a file").write_bytes(raw)
    built = build("(void)args;", tuple(arguments))
    assert isinstance(write_reference(built, tmp_path / "ref"), Timed)
    assert (tmp_path / "ref").read_bytes()[HEADER:] == b"".join(values.tobytes() for values in expected)
    assert check_workload(built, tmp_path / "ref") == Verified()
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("offset", [0, 8, 16, 64, 2048, 4088])
def test_addresses_are_the_wanted_ones_modulo_a_page(build, tmp_path, offset):
    arguments = (output(alignment_offset=offset), output("a", "unsigned long", (), ConstantFill(0)))
    built = build("*(unsigned long *)args[1] = (unsigned long)args[0] % 4096;", arguments)
    write_reference(built, tmp_path / "ref")
    assert data(tmp_path / "ref", np.uint64)[-1] == offset


@pytest.mark.parametrize(
    ("index", "inside"), [(-1, False), (-500, False), (0, True), (63, True), (64, False), (300, False)]
)
def test_writes_outside_an_array_are_found(build, tmp_path, index, inside):
    built = build(f"((volatile double *)args[0])[{index}] = 3;", (output(), output("y")))
    assert isinstance(write_reference(built, tmp_path / "ref"), Timed) == inside
    timed = time_workload(built, settings=SHORT)
    if inside:
        assert isinstance(timed, Timed)
        return
    assert isinstance(timed, WrongResult)
    assert timed.argument == "x" and timed.first_index == index and timed.max_error == math.inf
    assert not (tmp_path / "ref").exists()


def test_writes_far_outside_crash(build):
    built = build("((volatile double *)args[0])[1 << 20] = 3;", (output(),))
    crashed = time_workload(built, settings=SHORT)
    assert isinstance(crashed, Crashed) and crashed.signal_or_code == "SIGSEGV"


def test_a_write_to_a_read_only_argument_is_found(build, tmp_path):
    read_only = Argument("r", "int", (10,), ConstantFill(4), False)
    built = build("((int *)args[1])[9]++;", (output(), read_only))
    result = write_reference(built, tmp_path / "ref")
    assert isinstance(result, WrongResult) and result.argument == "r"


IN_PLACE = """
#include <stdio.h>
#include <stdlib.h>
static double mine[64];
void *pe_storage(int i) { return i == STORED ? mine : 0; }
void pe_kernel(void *const *args) {
    double *x = args[0];
    static long calls;
    calls++;
    for (int i = 0; i < 64; i++) {
        if (x[i] != 0.5) { fprintf(stderr, "call %ld found %g", calls, x[i]); abort(); }
        x[i] *= 2;
    }
}
"""


@pytest.mark.parametrize("stored", [-1, 0])
@pytest.mark.parametrize("batch", [0.0, 1e-4])
def test_written_arguments_are_restored_before_every_call(build, stored, batch):
    built = build(IN_PLACE.replace("STORED", str(stored)), (output(fill=ConstantFill(0.5)),))
    settings = TimingSettings(min_samples=4, max_samples=6, target_seconds=0.01, batch_seconds=batch)
    timed = time_workload(built, settings=settings)
    assert isinstance(timed, Timed) and 4 <= len(timed.samples_s) <= 6


@pytest.mark.parametrize("captured", [False, True])
def test_large_arguments_are_restored_from_where_they_came_from(build, tmp_path, captured):
    count = (64 << 20) // 8
    path = tmp_path / "capture"
    np.full(count, 0.5).tofile(path)
    fill = CapturedFill(str(path), 0) if captured else ConstantFill(0.5)
    built = build(IN_PLACE.replace("STORED", "-1").replace("64", str(count)), (output(shape=(count,), fill=fill),))
    timed = time_workload(built, settings=TimingSettings(min_samples=3, max_samples=3, target_seconds=0.01))
    assert isinstance(timed, Timed) and len(timed.samples_s) == 3


def test_what_is_not_filled_is_zero_and_compared_only_near_what_is(build, tmp_path):
    count, filled = 1 << 18, 100
    text = "void pe_kernel(void *const *args) { double *x = args[0]; x[7] = x[%d] + x[filled]; %s }"
    text = f"enum {{ filled = {filled} }};" + text
    arguments = (output(shape=(count,), fill=ConstantFill(0.5), filled=filled),)
    good = build(text % (filled - 1, ""), arguments)
    assert isinstance(write_reference(good, tmp_path / "ref"), Timed)
    written = data(tmp_path / "ref", np.float64)
    assert len(written) == filled + (1 << 16)
    assert (written[:filled] == 0.5).all() and (written[filled:] == 0).all()
    near, far = (build(text % (0, f"x[{at}] = 1;"), arguments) for at in (filled + 1, count - 1))
    result = check_workload(near, tmp_path / "ref")
    assert isinstance(result, WrongResult) and result.first_index == filled + 1
    assert check_workload(far, tmp_path / "ref") == Verified()


def test_storage_of_the_kernel_is_filled_and_compared(build, tmp_path):
    fill = RandomFill(9, 0.0, 1.0)
    text = (
        "static float a[4][8]; void *pe_storage(int i) { return i == 1 ? a : 0; }\n"
        "void pe_kernel(void *const *args) { if (args[1] == (void *)a) for (int i = 0; i < 8; i++) a[3][i] = %s; }"
    )
    arguments = (output(), output("a", "float", (4, 8), fill))
    good, bad = build(text % "i", arguments), build(text % "i == 6 ? 0 : i", arguments)
    assert isinstance(write_reference(good, tmp_path / "ref"), Timed)
    written = data(tmp_path / "ref", np.float32)[-8:]
    assert list(written) == list(range(8))
    assert check_workload(good, tmp_path / "ref") == Verified()
    result = check_workload(bad, tmp_path / "ref")
    assert isinstance(result, WrongResult) and (result.argument, result.first_index) == ("a", 30)


def check_pair(build, tmp_path, reference: str, candidate: str, arguments, tolerance=None, **more):
    assert isinstance(write_reference(build(reference, arguments), tmp_path / "ref"), Timed)
    return check_workload(build(candidate, arguments), tmp_path / "ref", tolerance, **more)


@pytest.mark.parametrize("ctype", ELEMENT_TYPES)
def test_one_flipped_bit_is_found(build, tmp_path, ctype):
    argument = output(ctype=ctype, shape=(5000,), fill=ConstantFill(1))
    flip = "((unsigned char *)args[0])[4097 * sizeof(T)] ^= 1;".replace("T", ctype)
    result = check_pair(build, tmp_path, "(void)args;", flip, (argument,))
    assert isinstance(result, WrongResult)
    (difference,) = result.differences
    assert (difference.count, difference.first_index, difference.expected) == (1, 4097, 1)
    assert 0 < result.max_error <= 1 and difference.actual != 1
    assert difference.max_rel_error == pytest.approx(result.max_error / max(1, float(difference.actual)))


def test_differences_of_several_arguments_are_all_reported(build, tmp_path):
    arguments = (output("x", fill=ConstantFill(1.0)), output("y", "long", (9,), ConstantFill(-(2**62))), output("z"))
    change = "((double *)args[0])[3] = 1.5; ((double *)args[0])[5] = 4; ((long *)args[1])[8] += 3;"
    result = check_pair(build, tmp_path, "(void)args;", change, arguments)
    assert isinstance(result, WrongResult)
    x, y = result.differences
    assert (x.argument, x.count, x.first_index, x.expected, x.actual) == ("x", 2, 3, 1.0, 1.5)
    assert (x.max_abs_error, x.max_rel_error) == (3.0, 0.75)
    assert (y.argument, y.expected, y.actual) == ("y", -(2**62), -(2**62) + 3)
    assert "x[3]" in result.message and "y[8]" in result.message


def test_uncompared_arguments_may_differ(build, tmp_path):
    arguments = (output("x"), output("scratch", compared=False))
    assert check_pair(build, tmp_path, "(void)args;", "*(double *)args[1] = 7;", arguments) == Verified()


SET = "((volatile double *)args[0])[2] = {};"
NAN = "({union{unsigned long long u; double d;} v; v.u = 0x7ff8000000000%03dULL; v.d;})"


@pytest.mark.parametrize(
    ("expected", "actual", "tolerance", "absolute", "equal"),
    [
        ("0.0", "-0.0", None, 0.0, False),
        ("0.0", "-0.0", 0.0, 0.0, True),
        (NAN % 1, NAN % 2, None, 0.0, False),
        (NAN % 1, NAN % 1, None, 0.0, True),
        (NAN % 1, NAN % 2, 1e-9, 0.0, True),
        ("1.0", NAN % 1, 1e9, 1e9, False),
        ("1.0/0", "1.0/0", 1e-9, 0.0, True),
        ("1.0/0", "-1.0/0", 1e9, 1e9, False),
        ("1.0/0", "1e308", 1e9, 1e9, False),
        ("1.0", "1.0 + 1e-10", None, 0.0, False),
        ("1.0", "1.0 + 1e-10", 1e-9, 0.0, True),
        ("1.0", "1.0 + 1e-8", 1e-9, 0.0, False),
        ("1e-20", "0.0", 1e-9, 0.0, False),
        ("1e-20", "0.0", 1e-9, 1e-15, True),
        ("-1e300", "-1.1e300", 0.1, 0.0, True),
        ("-1e300", "1e300", 1.5, 0.0, False),
    ],
)
def test_when_floats_count_as_equal(build, tmp_path, expected, actual, tolerance, absolute, equal):
    result = check_pair(
        build, tmp_path, SET.format(expected), SET.format(actual), (output(),), tolerance, absolute=absolute
    )
    assert (result == Verified()) == equal
    if not equal:
        assert isinstance(result, WrongResult) and result.first_index == 2
        if "nan" in repr(result) or "/0" in expected:
            assert result.max_error == math.inf
        if (expected, actual) == ("0.0", "-0.0"):
            assert result.max_error == 0 and "different bits" in result.message


def test_integers_are_exact_in_tolerance_mode(build, tmp_path):
    arguments = (output(ctype="long", fill=ConstantFill(2**60)),)
    assert isinstance(check_pair(build, tmp_path, "(void)args;", "++*(long *)args[0];", arguments, 0.5), WrongResult)


def test_fast_math_in_the_kernel_does_not_reach_the_comparison(build, tmp_path):
    from profilers.build import CompilerConfig

    fast = CompilerConfig("gcc", ("-Ofast",))
    arguments = (output(fill=ConstantFill(5e-324)), output("y", fill=ConstantFill(math.nan)))
    built = build("(void)args;", arguments, config=fast)
    assert isinstance(write_reference(built, tmp_path / "ref"), Timed)
    assert data(tmp_path / "ref", np.float64)[0] == 5e-324
    other = build("((double *)args[1])[0] = 1;", arguments, config=fast)
    assert isinstance(check_workload(other, tmp_path / "ref", 1e-3), WrongResult)


def test_foreign_and_broken_references_are_errors(build, tmp_path):
    one, two = build("(void)args;", (output(),)), build("(void)args;", (output(fill=RandomFill(2, -1, 1)),))
    write_reference(one, tmp_path / "ref")
    with pytest.raises(HarnessError, match="other inputs"):
        check_workload(two, tmp_path / "ref")
    (tmp_path / "ref").write_bytes((tmp_path / "ref").read_bytes()[:-1])
    with pytest.raises(HarnessError, match="size"):
        check_workload(one, tmp_path / "ref")
    with pytest.raises(HarnessError, match="cannot open"):
        check_workload(one, tmp_path / "none")
    with pytest.raises(HarnessError, match="tolerances"):
        check_workload(one, tmp_path / "ref", math.nan)
    captured = build("(void)args;", (output(fill=CapturedFill(str(tmp_path / "ref"), 100)),))
    with pytest.raises(HarnessError, match="ends before"):
        time_workload(captured, settings=SHORT)


def test_a_reference_does_not_depend_on_names_placement_or_number_notation():
    first = (output("x", fill=RandomFill(1, 0, 1), alignment_offset=0),)
    second = (output("y", fill=RandomFill(1, 0.0, 1.0), shape=(8, 8)),)
    assert inputs_digest(first) == inputs_digest(second)
    assert inputs_digest(first) != inputs_digest((output(fill=RandomFill(2, 0, 1)),))


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("*(volatile int *)8 = 1;", "SIGSEGV"),
        ("extern void abort(void); abort();", "SIGABRT"),
        ("extern void exit(int); exit(0);", 0),
        ("extern void _exit(int); _exit(7);", 7),
        ("volatile int zero = 0; *(int *)args[1] = 12345 / zero;", "SIGFPE"),
    ],
)
def test_crashes_are_outcomes(build, tmp_path, body, verdict):
    built = build(body, (output(), output("i", "int")))
    for result in (time_workload(built, settings=SHORT), write_reference(built, tmp_path / "ref")):
        assert isinstance(result, Crashed) and result.signal_or_code == verdict and result.message


def test_endless_kernels_and_large_ones_are_outcomes(build):
    endless = build("volatile int go = 1; while (go) ;", (output(),))
    assert time_workload(endless, settings=SHORT, limits=Limits(wall_s=0.3)) == TimedOut(0.3)
    large = build("(void)args;", (output(shape=(1 << 28,)),))
    result = time_workload(large, settings=SHORT, limits=Limits(wall_s=60, memory_bytes=1 << 30))
    assert isinstance(result, Crashed) and result.signal_or_code == "memory"


SLEEP = """
#include <time.h>
void pe_kernel(void *const *args) {
    long wanted = *(long *)args[0];
    struct timespec t = {wanted / 1000000000, wanted % 1000000000};
    nanosleep(&t, 0);
}
"""


def sleeper(build, nanoseconds):
    return build(
        "#define _POSIX_C_SOURCE 199309L\n" + SLEEP, (Argument("t", "long", (), ConstantFill(nanoseconds), False),)
    )


def test_slow_candidates_are_stopped_in_the_middle(build):
    stopped = time_workload(sleeper(build, 60_000_000_000), settings=TimingSettings(stop_above_s=0.3))
    assert isinstance(stopped, Stopped) and 0.3 <= stopped.after_s < 30


def test_slightly_slow_candidates_are_stopped_after_two_samples(build):
    stopped = time_workload(sleeper(build, 20_000_000), settings=TimingSettings(stop_above_s=0.01))
    assert isinstance(stopped, Stopped) and stopped.after_s >= 0.02
    timed = time_workload(sleeper(build, 2_000_000), settings=TimingSettings(stop_above_s=5.0))
    assert isinstance(timed, Timed) and timed.min >= 0.002


def test_a_short_kernel_is_not_given_up_for_its_first_call(build):
    slow_start = (
        SLEEP.replace("wanted = *(long *)args[0]", "wanted = first ? 50000000 : *(long *)args[0]")
        .replace("void pe_kernel", "static int first = 1;\nvoid pe_kernel")
        .replace("nanosleep(&t, 0);", "nanosleep(&t, 0);\n    first = 0;")
    )
    built = build(
        "#define _POSIX_C_SOURCE 199309L\n" + slow_start, (Argument("t", "long", (), ConstantFill(200_000), False),)
    )
    timed = time_workload(built, settings=TimingSettings(stop_above_s=0.04))  # a first call may take 0.2 s
    assert isinstance(timed, Timed) and timed.min < 0.04


def test_number_of_samples_follows_the_length(build):
    settings = TimingSettings(min_samples=2, max_samples=9, target_seconds=0.05)
    quick, long = time_workload(sleeper(build, 100), settings=settings), sleeper(build, 300_000_000)
    assert isinstance(quick, Timed) and len(quick.samples_s) == 9
    timed = time_workload(long, settings=settings)
    assert isinstance(timed, Timed) and len(timed.samples_s) == 2
    once = time_workload(long, settings=TimingSettings(min_samples=1, target_seconds=0.05))
    assert isinstance(once, Timed) and len(once.samples_s) == 1  # the warm-up


def test_a_clearly_slow_kernel_is_called_twice(build):
    """The third call would end the process."""
    body = SLEEP.replace(
        "nanosleep(&t, 0);", "static int calls;\n    if (++calls > 2) __builtin_trap();\n    nanosleep(&t, 0);"
    )
    arguments = (Argument("t", "long", (), ConstantFill(60_000_000), False),)
    built = build("#define _POSIX_C_SOURCE 199309L\n" + body, arguments)
    stopped = time_workload(built, settings=TimingSettings(stop_above_s=0.03))
    assert isinstance(stopped, Stopped) and stopped.after_s >= 0.06


def test_a_long_warm_up_counts(build, tmp_path):
    calls = tmp_path / "calls"
    counted = SLEEP.replace("#include <time.h>", "#include <stdio.h>\n#include <time.h>").replace(
        "nanosleep(&t, 0);", f'nanosleep(&t, 0);\n    FILE *f = fopen("{calls}", "a"); fputc(1, f); fclose(f);'
    )
    slow = build(
        "#define _POSIX_C_SOURCE 199309L\n" + counted, (Argument("t", "long", (), ConstantFill(300_000_000), False),)
    )
    timed = time_workload(slow, settings=TimingSettings(min_samples=2, max_samples=9, target_seconds=0.05))
    assert isinstance(timed, Timed) and calls.stat().st_size == len(timed.samples_s) == 2


def test_short_kernels_are_timed_without_the_clock_and_the_restoring(build):
    body = "volatile double *x = args[0]; for (int i = 0; i < 10; i++) x[i] += 1;"
    timed = time_workload(build(body, (output(shape=(100_000,)),)), settings=SHORT)
    assert isinstance(timed, Timed) and timed.min < 2e-6
    nothing = time_workload(build("(void)args;", (output(),)), settings=SHORT)
    assert isinstance(nothing, Timed) and 0 < nothing.min < 1e-7


def test_threads_and_runtime_settings_reach_the_kernel(build, tmp_path):
    text = (
        "extern int omp_get_max_threads(void); extern int omp_get_proc_bind(void);\n"
        "void pe_kernel(void *const *args)\n"
        "{ int *x = args[0]; x[0] = omp_get_max_threads(); x[1] = omp_get_proc_bind(); }"
    )
    environment = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "7", "OMP_PROC_BIND": "true", "A": "1"}
    for threads, openmp, bound in ((1, OpenMP(), 0), (3, OpenMP(proc_bind="close", wait_policy="passive"), 3)):
        built = build(text, (output(ctype="int", shape=(2,), fill=ConstantFill(0)),), threads)
        write_reference(built, tmp_path / "ref", environment=environment, openmp=openmp)
        assert list(data(tmp_path / "ref", np.int32)) == [threads, bound]
    given = harness_environment(environment, 2, OpenMP(spin_count=5))
    assert given["OMP_NUM_THREADS"] == "2" and given["GOMP_SPINCOUNT"] == "5" and given["A"] == "1"
    assert "OMP_PROC_BIND" not in given


def test_samples_are_per_call_and_captures_need_not_be_aligned(build, tmp_path):
    (tmp_path / "capture").write_bytes(b"abc" + struct.pack("<2d", 1.5, 2.5))
    built = build("(void)args;", (output(shape=(2,), fill=CapturedFill(str(tmp_path / "capture"), 3)),))
    write_reference(built, tmp_path / "ref")
    assert list(data(tmp_path / "ref", np.float64)) == [1.5, 2.5]


def test_impossible_settings_are_refused():
    for change in ({"min_samples": 0}, {"min_samples": 9, "max_samples": 3}, {"target_seconds": math.nan}):
        with pytest.raises(HarnessError):
            TimingSettings(**change)
