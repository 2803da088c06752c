"""What flags mean: the table, the last of several, flags handed on, attributes and pragmas."""

from __future__ import annotations

import re
import subprocess

import pytest

from scheduler.frontend.clang.dialect import FLAGS, Dialect, dialect_of, flags_in


@pytest.mark.parametrize(
    ("flags", "wraps", "traps", "untyped"),
    [
        ("-fwrapv", True, False, False),
        ("-fwrapv -fno-wrapv", False, False, False),
        ("-fno-wrapv -fwrapv", True, False, False),
        ("-fno-strict-overflow", True, False, False),
        ("-fno-strict-overflow -fstrict-overflow", False, False, False),
        ("-Xclang -fwrapv", True, False, False),
        ("-ftrapv", True, True, False),
        ("-ftrapv -fno-trapv", False, False, False),
        ("-fsanitize=address,undefined", True, True, False),
        ("-fsanitize=undefined -fno-sanitize=undefined", False, False, False),
        ("-fsanitize=undefined -fno-sanitize=all", False, False, False),
        ("-fsanitize=signed-integer-overflow", True, True, False),
        ("-fsanitize=thread", False, False, False),
        ("-fno-strict-aliasing", False, False, True),
        ("-fstrict-aliasing -O3 -march=native", False, False, False),
        ("-o -fwrapv -DN=3", False, False, False),
    ],
)
def test_what_flags_change(flags: str, wraps: bool, traps: bool, untyped: bool) -> None:
    found = dialect_of(flags.split())
    assert (found.wraps, found.traps, found.untyped, found.refusal) == (wraps, traps, untyped, "")


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ("-m32", "64-bit"),
        ("-mx32", "64-bit"),
        ("-mfpmath=387", "precision"),
        ("-mfpmath=sse,387", "precision"),
        ("-mfpmath=sse -mfpmath=both", "precision"),
        ("-mno-sse2", "precision"),
        ("-std=c89", "1999"),
        ("-std=c99 -ansi", "1999"),
        ("--std=gnu90", "1999"),
        ("-std=iso9899:199409", "1999"),
        ("-fnon-call-exceptions", "leave"),
        ("-fsso-struct=big-endian", "order of bytes"),
        ("-fexec-charset=EBCDIC-US", "characters"),
        ("-funsigned-bitfields", "signed"),
        ("-fno-signed-bitfields", "signed"),
        ("-fsanitize=unsigned-integer-overflow", "reports"),
        ("-fsanitize=address,implicit-conversion", "reports"),
        ("--target=aarch64-linux-gnu", "machine"),
        ("-target i686-linux-gnu", "machine"),
        ("-fplugin=x.so", "not known"),
        ("-fmystery", "not known"),
        ("-mmystery=3", "not known"),
    ],
)
def test_what_is_refused(flags: str, reason: str) -> None:
    assert reason in dialect_of(flags.split()).refusal


@pytest.mark.parametrize(
    "flags",
    [
        "-m32 -m64",
        "-mfpmath=387 -mfpmath=sse",
        "-mno-sse2 -msse2",
        "-std=c89 -std=gnu11",
        "-fnon-call-exceptions -fno-non-call-exceptions",
        "-fsso-struct=little-endian",
        "-fexec-charset=utf-8",
        "-fsigned-bitfields",
        "-fno-unsigned-bitfields",
        "-ftrivial-auto-var-init=zero -ftrivial-auto-var-init=uninitialized",
        "-target x86_64-pc-linux-gnu",
        "-Wall -g3 -pthread -pipe --param max-unroll-times=3 -mllvm -polly -lm",
    ],
)
def test_what_is_not(flags: str) -> None:
    assert not dialect_of(flags.split()).refusal


def test_what_the_parser_is_given() -> None:
    flags = (
        "-O3 -Wp,-DA=1,-UB -Xpreprocessor -DC --define-macro D=2 --include x.h -fopenmp=libgomp -mavx2 -fwrapv -Wall"
    )
    given = "-O3 -DA=1 -UB -DC -D D=2 -include x.h -mavx2 -D_OPENMP=201511"
    assert " ".join(dialect_of(flags.split()).parser) == given
    assert dialect_of(("-fopenmp", "-fno-openmp", "-fopenmp-simd")).parser == ()
    assert dialect_of(("-fno-hosted", "-fno-freestanding")).parser == ("-ffreestanding", "-fhosted")


def test_functions_of_the_programs_own() -> None:
    assert {"sqrt", "fabsf"} <= dialect_of(("-fno-builtin",)).foreign
    assert dialect_of(("-fno-builtin-sqrt", "-fno-builtin-printf")).foreign & {"sqrt", "sin"} == {"sqrt"}
    assert not dialect_of(("-ffreestanding", "-fhosted")).foreign
    assert "sin" not in dialect_of(("-fno-builtin", "-fbuiltin-sin")).foreign


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ('__attribute__((optimize("wrapv"))) int f(void);', ("-fwrapv",)),
        ('__attribute__((noinline, __optimize__("O2", "-ftrapv"))) int f(void);', ("-ftrapv",)),
        ('[[gnu::optimize("no-strict-overflow,O3")]] int f(void);', ("-fno-strict-overflow",)),
        ("#pragma GCC optimize (3)\n", ()),
        ('#pragma GCC optimize "wrapv"\n', ("-fwrapv",)),
        ('#  pragma GCC optimize ("Ofast", "no-trapping-math")\n', ("-fno-trapping-math",)),
        ('_Pragma("GCC optimize (\\"wrapv\\")")', ("-fwrapv",)),
        ('#define W __attribute__((optimize("wrapv")))\n', ("-fwrapv",)),
        ('#pragma GCC target ("avx2,fpmath=387", "arch=haswell")\n', ("-mavx2", "-mfpmath=387")),
        ("typedef float any __attribute__((may_alias));", ("-fno-strict-aliasing",)),
        ('x = optimize("wrapv");', ()),
        ("#pragma omp target map(x)\n", ()),
    ],
)
def test_attributes_and_pragmas(text: str, flags: tuple[str, ...]) -> None:
    assert flags_in((text.encode(),)) == flags


def test_flags_of_some_functions_count_for_all() -> None:
    assert dialect_of(("-fno-wrapv",)).joined(("-fwrapv",)).wraps
    assert dialect_of(("-fwrapv",)).joined(("-fno-wrapv",)).wraps
    assert Dialect().joined(("-mfpmath=387",)).refusal
    assert Dialect().joined(()) == Dialect()


@pytest.mark.gcc
def test_every_optimization_of_gcc_is_known() -> None:
    """Those that it lists itself, on and off; what is refused is refused on purpose."""
    listed = subprocess.run(["gcc", "-Q", "--help=optimizers"], capture_output=True, text=True, check=True).stdout
    flags = [f for f in re.findall(r"^\s+(-f[\w-]+)\s+\[", listed, re.MULTILINE) if not f.startswith("-fno-")]
    assert len(flags) > 150
    unknown = [f for f in flags if "not known" in dialect_of((f, f.replace("-f", "-fno-", 1))).refusal]
    assert not unknown


def test_patterns_of_the_table_are_not_covered_by_others() -> None:
    """The first flag that each entry shows is an example of it, and of none before it."""
    for entry in FLAGS:
        example = re.sub(r"\[.*?\]|…", "", entry.shown.split()[0])
        for candidate in (example, f"{example}x", f"{example}387", f"{example}unknown", f"{example}64"):
            first = next((other for other in FLAGS if re.fullmatch(other.pattern, candidate)), None)
            if first is entry:
                break
        else:
            raise AssertionError(f"{entry.shown}: {first}")
