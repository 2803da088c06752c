"""What is read out of a disassembly: recorded text, and a kernel compiled here."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from profilers.simulated.assembly import hot_loops, parse

RECORDED = """
kernel.exe:     file format elf64-x86-64

0000000000001200 <pe_nest>:
pe_nest():
/tmp/k.c:10
    1200:\ttest   %rdi,%rdi
    1203:\tje     1240 <pe_nest+0x40>
/tmp/k.c:12
    1210:\tvmovupd (%rdx,%rax,1),%ymm1
    1215:\tvfmadd213pd (%rcx,%rax,1),%ymm0,%ymm1
    121b:\tvmovupd %ymm1,(%rsi,%rax,1)
    1220:\tadd    $0x20,%rax
    1224:\tcmp    %r8,%rax
    1227:\tjne    1210 <pe_nest+0x10>
    1229:\tvmovsd (%rdx,%rax,1),%xmm1
    122e:\tvfmadd213sd (%rcx,%rax,1),%xmm0,%xmm1
    1234:\tvmovsd %xmm1,(%rsi,%rax,1)
    1239:\tadd    $0x8,%rax
    123c:\tcmp    %r9,%rax
    123e:\tjne    1229 <pe_nest+0x29>
    1240:\tret
0000000000001300 <other>:
/tmp/k.c:30
    1300:\tvaddps %zmm0,%zmm1,%zmm1
    1306:\tjmp    1300 <other>
"""


def test_the_vectorized_loop_counts() -> None:
    (loop,) = parse(RECORDED)
    assert (loop.line, loop.instructions, loop.branches) == (12, 6, 1)
    assert (loop.loads, loop.stores) == (2, 1)
    assert loop.flops == {(64, 256): 2}
    assert loop.operations(64) == 8 and loop.operations(32) == 0


def test_other_functions() -> None:
    (loop,) = parse(RECORDED, "other")
    assert loop.flops == {(32, 512): 1}
    assert parse(RECORDED, "missing") == ()
    assert parse("nonsense") == ()


@pytest.mark.skipif(shutil.which("objdump") is None, reason="there is no disassembler")
def test_compiled_here(tmp_path: Path) -> None:
    source = tmp_path / "k.c"
    source.write_text(
        "__attribute__((noinline)) void pe_nest(float *restrict a, const float *b, long n)\n"
        "{\n    for (long i = 0; i < n; i++)\n        a[i] = b[i] * 2.5f + 1.0f;\n}\n"
        "float a[100], b[100];\nint main(void) { pe_nest(a, b, 100); return (int)a[7]; }\n".replace("\\\n", "\n")
    )
    subprocess.run(["gcc", "-O3", "-msse2", "-g1", str(source), "-o", str(tmp_path / "k")], check=True)
    loops = hot_loops(tmp_path / "k", dict(os.environ))
    best = max(loops, key=lambda loop: loop.widest)
    assert best.widest >= 128 and best.operations(32) >= 8 and best.operations(64) == 0
    assert best.loads >= 1 and best.stores >= 1 and best.branches >= 1
    assert hot_loops(tmp_path / "missing", dict(os.environ)) == ()
    assert hot_loops(tmp_path / "k", {"PATH": "/nowhere"}) == ()
