"""What single instructions do, in the spellings of gcc and of clang."""

import pytest

from profilers.simulated.assembly import Work, read_instruction, total, work_of


def work(line: str) -> Work:
    one = read_instruction(line)
    assert one is not None
    return work_of(one)


@pytest.mark.parametrize(
    ("line", "loads", "stores"),
    [
        ("\tmovq\t%rax, %rbx", 0, 0),
        ("\tmovq\t(%rax), %rbx", 1, 0),
        ("\tmovq\t%rbx, 8(%rax,%rcx,4)", 0, 1),
        ("\tmovq\tA(%rip), %rbx", 1, 0),
        ("\tmovl\tA, %ebx", 1, 0),
        ("\tmovl\t$A, %ebx", 0, 0),
        ("\tmovq\t%fs:40, %rax", 1, 0),
        ("\tleaq\t8(%rax,%rcx,4), %rbx", 0, 0),
        ("\tnopw\t0(%rax,%rax)", 0, 0),
        ("\tprefetcht0\t(%rax)", 0, 0),
        ("\taddq\t%rbx, (%rax)", 1, 1),
        ("\taddq\t(%rax), %rbx", 1, 0),
        ("\tincl\t(%rax)", 1, 1),
        ("\tshrl\t%cl, (%rax)", 1, 1),
        ("\tsetg\t(%rax)", 0, 1),
        ("\tidivl\t(%rax)", 1, 0),
        ("\timull\t$3, (%rax), %ebx", 1, 0),
        ("\tcmpl\t$3, (%rax)", 1, 0),
        ("\ttestb\t$1, 4(%rax)", 1, 0),
        ("\tlock cmpxchgq\t%rcx, (%rdx)", 1, 1),
        ("\tvucomisd\t(%rax), %xmm0", 1, 0),
        ("\tpushq\t%rbx", 0, 1),
        ("\tpushq\t(%rbx)", 1, 1),
        ("\tpopq\t%rbx", 1, 0),
        ("\tpopcntq\t%rax, %rbx", 0, 0),
        ("\tcall\tf", 0, 1),
        ("\tcall\t*8(%rax)", 1, 1),
        ("\tcallq\t*%rax", 0, 1),
        ("\tjmp\t*.L4(,%rax,8)", 1, 0),
        ("\tjne\t.L3", 0, 0),
        ("\tretq", 1, 0),
        ("\tleave", 1, 0),
        ("\tvmovupd\t%ymm1, (%rsi,%rax)", 0, 1),
        ("\tvmovupd\t(%rsi,%rax), %zmm1 {%k1} {z}", 1, 0),
        ("\tvmovupd\t%zmm1, (%rsi,%rax){%k1}", 0, 1),
        ("\tvfmadd213pd\t(%rcx,%rax){1to8}, %zmm0, %zmm1", 1, 0),
        ("\tvextractf128\t$1, %ymm0, (%rax)", 0, 1),
        ("\tvinsertf128\t$1, (%rax), %ymm0, %ymm0", 1, 0),
        ("\tvpgatherqq\t(%rdi,%zmm1,8), %zmm2{%k1}", 1, 0),
        ("\tvscatterqpd\t%zmm2, (%rdi,%zmm1,8){%k1}", 0, 1),
        ("\tvmaskmovpd\t%ymm0, %ymm1, (%rax)", 0, 1),
        ("\tvcvtusi2sdq\t%rax, {rn-sae}, %xmm1, %xmm1", 0, 0),
        ("\tmovsd\t(%rax), %xmm0", 1, 0),
        ("\tmovsd\t%xmm0, (%rax)", 0, 1),
        ("\tmovslq\t(%rax), %rbx", 1, 0),
        ("\tfldt\t(%rax)", 1, 0),
        ("\tfstpt\t(%rax)", 0, 1),
        ("\tfaddl\t(%rax)", 1, 0),
        ("\tstmxcsr\t(%rax)", 0, 1),
        ("\tldmxcsr\t(%rax)", 1, 0),
        ("\tmovsq", 1, 1),
        ("\tstosq\t%rax, %es:(%rdi)", 0, 1),
        ("\trep;movsq (%rsi), %es:(%rdi)", 1, 1),
    ],
)
def test_accesses(line: str, loads: int, stores: int) -> None:
    found = work(line)
    assert (found.loads, found.stores, found.instructions) == (loads, stores, 1)


@pytest.mark.parametrize(
    ("line", "flops", "operations"),
    [
        ("\tvmulsd\t(%rdx), %xmm1, %xmm0", {(64, 0): 1}, (0, 1)),
        ("\tmulps\t%xmm1, %xmm0", {(32, 128): 1}, (4, 0)),
        ("\taddpd\t(%rax), %xmm0", {(64, 128): 1}, (0, 2)),
        ("\tvfmadd231pd\t%ymm1, %ymm2, %ymm3", {(64, 256): 2}, (0, 8)),
        ("\tvfnmsub132ss\t%xmm1, %xmm2, %xmm3", {(32, 0): 2}, (2, 0)),
        ("\tvmaxps\t%zmm1, %zmm2, %zmm3{%k1}", {(32, 512): 1}, (16, 0)),
        ("\tvhaddpd\t%xmm1, %xmm1, %xmm1", {(64, 128): 1}, (0, 2)),
        ("\tvpaddd\t%ymm1, %ymm2, %ymm3", {}, (0, 0)),
        ("\tvcvtss2sd\t%xmm1, %xmm1, %xmm1", {}, (0, 0)),
        ("\tvxorps\t%xmm1, %xmm1, %xmm1", {}, (0, 0)),
        ("\tsubl\t$1, %eax", {}, (0, 0)),
    ],
)
def test_arithmetic(line: str, flops: dict[tuple[int, int], float], operations: tuple[int, int]) -> None:
    found = work(line)
    assert found.flops == flops
    assert (found.operations(32), found.operations(64)) == operations


def test_branches() -> None:
    assert [work(x).branches for x in ("\tjne .L2", "\tjmp .L2", "\tcallq f", "\tret", "\taddl $1, %eax")] == [
        1,
        1,
        1,
        1,
        0,
    ]


def test_what_is_no_instruction() -> None:
    for line in ("", ".L2:", "pe_nest:  # @pe_nest", "\t.p2align 4", "# %bb.0:", '\t.string "addl"'):
        assert read_instruction(line) is None


def test_total() -> None:
    both = total([(3, work("\tvaddpd (%rax), %ymm0, %ymm1")), (2, work("\tvaddsd %xmm1, %xmm0, %xmm1"))])
    assert both == Work(5, 0, 3, 0, {(64, 256): 3, (64, 0): 2})
