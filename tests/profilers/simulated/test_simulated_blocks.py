"""Counters in assembly text: where they stand, and that the code around them computes what it did."""

import json
import subprocess
from pathlib import Path

import pytest

from profilers.simulated.blocks import instrument
from profilers.simulated.executed import counted_source
from tests.compilers import usable

# Counts down from %rdi. The flags of the comparison are read in the next block, %rax is live throughout, and a value
# lies below the stack pointer.
HAND_WRITTEN = """
\t.file\t"k.c"
\t.text
pe_nest:
\tmovq\t%rdi, -16(%rsp)
\txorl\t%eax, %eax
\tcmpq\t$3, %rdi
.L2:
\tmovq\t-16(%rsp), %rdx
\tjle\t.L4
.L3:
\taddq\t%rdx, %rax
\tsubq\t$1, -16(%rsp)
\tcmpq\t$3, -16(%rsp)
\tjmp\t.L2
.L4:
\tret
\t.globl\tpe_counted_kernel
pe_counted_kernel:
\tmovq\t(%rdi), %rdi
\tcall\tpe_nest
\tmovq\t%rax, pe_result(%rip)
\tret
\t.comm\tpe_result,8,8
\t.ident\t"by hand"
"""
MAIN = """
extern long pe_result;
int main(void) { long n = 10; void *args[] = {(void *)n}; pe_kernel(args); printf("%ld\\n", pe_result); return 0; }
"""


def run(source: str, folder: Path, cc: str = "gcc") -> str:
    (folder / "k.c").write_text(source)
    subprocess.run([cc, "-O2", "-fopenmp", "k.c", "-o", "k", "-lm"], cwd=folder, check=True)
    return subprocess.run([folder / "k"], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_registers_flags_and_stack_stay(tmp_path: Path, cc: str) -> None:
    cc = usable(cc, "-fopenmp")
    found = instrument(HAND_WRITTEN)
    source = counted_source(found, 1, "r.json") + MAIN
    assert run(source, tmp_path, cc).strip() == str(sum(range(4, 11)))
    (counts,) = json.loads((tmp_path / "r.json").read_text())
    by_block = [(site.work.instructions, n) for site, n in zip(found.sites, counts, strict=True)]
    assert by_block == [(3, 1), (2, 8), (4, 7), (1, 1)]
    assert {site.function for site in found.sites} == {"pe_nest"}


def test_flags_that_are_wanted_get_the_long_counter() -> None:
    text = instrument(HAND_WRITTEN).text
    assert text.count("incq %fs:") == 3  # the first block, .L3 and .L4; that of .L2 hands its flags on
    assert text.count("leaq 1(%rax), %rax") == 1
    assert ".file" not in text and ".ident" not in text
    assert ".Lpe_2:" in text and "jle\t.Lpe_4" in text and " .L" not in text


def test_library_calls() -> None:
    body = ("movl $64, %edx", "call memcpy@PLT", "call expf@PLT", "call mine", "jmp memset@PLT")
    text = "\n\t".join(("pe_nest:", *body)) + "\nmine:\n\tret\n"
    found = instrument(text)
    assert [site.function for site in found.sites] == ["pe_nest", "pe_nest", "pe_nest", "mine"]
    whole, copied, filled, _ = found.sites
    assert "(%rax,%rdx), %rax" in found.text
    assert (copied.work.loads * 64, copied.work.stores * 64) == (2, 2)
    assert (filled.work.loads, filled.work.stores * 64) == (0, 2)
    plain = instrument(text.replace("expf@PLT", "mine")).sites[0].work
    assert whole.work.loads > plain.loads + 5 and whole.work.instructions > plain.instructions + 20


def test_nothing_to_count() -> None:
    assert instrument("").sites == ()
    assert instrument("pe_storage:\n\tret\npe_counted_kernel:\n\tret\n").sites == ()


@pytest.mark.parametrize(
    ("cc", "flags"),
    [("gcc", ("-O3", "-march=native")), ("gcc", ("-O1",)), ("gcc", ("-O0",)), ("clang", ("-O3", "-march=native"))],
)
def test_results_are_those_of_the_plain_program(tmp_path: Path, cc: str, flags: tuple[str, ...]) -> None:
    """Data-dependent branches, conditional moves, a jump table, carries, calls, vectors."""
    cc = usable(cc, "-fopenmp")
    kernel = """
    #include <math.h>
    #include <string.h>
    static double x[500], y[500];
    static unsigned char hits[16];
    __attribute__((noinline)) static double pe_nest(unsigned n)
    {
        double sum = 0; unsigned s = 12345; unsigned __int128 wide = 1;
        for (unsigned i = 0; i < n; i++) { s = s * 1103515245u + 12345u; x[i] = s / 4294967296.0; }
        memcpy(y, x, n * sizeof *x);
        for (unsigned i = 1; i < n; i++) {
            wide = wide * 3 + i;
            switch ((int)(x[i] * 9)) {
                case 0: sum += exp(x[i]); break;
                case 1: sum -= y[i - 1]; break;
                case 2: sum *= 0.5; break;
                case 3: hits[i % 16]++; break;
                case 4: sum += x[i] > x[i - 1] ? 1.0 : y[i]; break;
                case 5: for (unsigned j = 0; j < i; j++) sum += x[j] * y[i - j]; break;
                default: sum += i;
            }
        }
        for (unsigned i = 0; i < n; i++) y[i] = y[i] * 2.0 + x[i];
        for (unsigned i = 0; i < n; i++) sum += y[i] + hits[i % 16];
        return sum + (double)(wide >> 64);
    }
    double pe_result;
    void pe_kernel(void *const *args) { pe_result = pe_nest((unsigned)(long)args[0]); }
    """
    start = (
        '\nint main(void) { void *args[] = {(void *)500L}; pe_kernel(args); printf("%a\\n", pe_result); return 0; }\n'
    )
    (tmp_path / "n.c").write_text("#define pe_kernel pe_counted_kernel\n" + kernel)
    command = [cc, *flags, "-w", "-g0", "-S", "-o", "-", "n.c"]
    text = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    (tmp_path / "n.s").write_text(text)
    frame = "#include <stdio.h>\nextern double pe_result;\nvoid pe_counted_kernel(void *const *);\n"
    (tmp_path / "m.c").write_text(frame + start.replace("pe_kernel", "pe_counted_kernel"))
    subprocess.run([cc, "m.c", "n.s", "-o", "m", "-lm"], cwd=tmp_path, check=True)
    plain = subprocess.run([tmp_path / "m"], check=True, capture_output=True, text=True).stdout
    counting = instrument(text)
    assert run(counted_source(counting, 1, "r.json") + "extern double pe_result;" + start, tmp_path, cc) == plain
    (counts,) = json.loads((tmp_path / "r.json").read_text())
    assert max(counts) > 1000
