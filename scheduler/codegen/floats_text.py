"""C functions for the floating-point registers of a thread: how it rounds, and which exceptions were raised.

Sources: Intel SDM vol. 1, 8.1.5 (x87 control word) and 10.2.3 (MXCSR); Arm ARM, FPCR and FPSR; syscall(2) for the
numbers of system calls.
"""

from __future__ import annotations

DEFINITION = """#ifdef __x86_64__
struct pe_floats { /* MXCSR, and the control word of the x87 registers, whose exceptions go to MXCSR, too */
    unsigned pe_sse;
    unsigned short pe_x87;
};
static inline __attribute__((__unused__)) struct pe_floats pe_floats(void)
{
    struct pe_floats pe_f;
    __asm__ __volatile__("stmxcsr %0; fnstcw %1" : "=m"(pe_f.pe_sse), "=m"(pe_f.pe_x87) : : "memory");
    return pe_f;
}
static inline __attribute__((__unused__)) void pe_set_floats(struct pe_floats pe_f)
{
    __asm__ __volatile__("fnclex; ldmxcsr %0; fldcw %1" : : "m"(pe_f.pe_sse), "m"(pe_f.pe_x87) : "memory");
}
static inline __attribute__((__unused__)) unsigned pe_raised(void)
{
    unsigned short pe_x87;
    __asm__ __volatile__("fnstsw %0" : "=m"(pe_x87) : : "memory");
    return (pe_floats().pe_sse | pe_x87) & 0x3f;
}
static inline __attribute__((__unused__)) void pe_raise(unsigned pe_flags)
{
    unsigned pe_sse = pe_floats().pe_sse | pe_flags;
    __asm__ __volatile__("ldmxcsr %0" : : "m"(pe_sse) : "memory");
}
static inline __attribute__((__unused__)) int pe_traps(void)
{
    struct pe_floats pe_f = pe_floats();
    return (~pe_f.pe_sse & 0x1f80) || (~pe_f.pe_x87 & 0x3f);
}
enum {
    pe_sys_openat = 257, pe_sys_read = 0, pe_sys_close = 3, pe_sys_mmap = 9,
    pe_sys_munmap = 11, pe_sys_mincore = 27, pe_sys_futex = 202, pe_sys_sigmask = 14
};
#else
struct pe_floats { /* FPCR and FPSR */
    unsigned long pe_control, pe_status;
};
static inline __attribute__((__unused__)) struct pe_floats pe_floats(void)
{
    struct pe_floats pe_f;
    __asm__ __volatile__("mrs %0, fpcr; mrs %1, fpsr" : "=r"(pe_f.pe_control), "=r"(pe_f.pe_status) : : "memory");
    return pe_f;
}
static inline __attribute__((__unused__)) void pe_set_floats(struct pe_floats pe_f)
{
    __asm__ __volatile__("msr fpcr, %0; msr fpsr, %1" : : "r"(pe_f.pe_control), "r"(pe_f.pe_status) : "memory");
}
static inline __attribute__((__unused__)) unsigned pe_raised(void) { return pe_floats().pe_status & 0x9f; }
static inline __attribute__((__unused__)) void pe_raise(unsigned pe_flags)
{
    struct pe_floats pe_f = pe_floats();
    pe_f.pe_status |= pe_flags;
    pe_set_floats(pe_f);
}
static inline __attribute__((__unused__)) int pe_traps(void) { return (pe_floats().pe_control & 0x9f00) != 0; }
enum {
    pe_sys_openat = 56, pe_sys_read = 63, pe_sys_close = 57, pe_sys_mmap = 222,
    pe_sys_munmap = 215, pe_sys_mincore = 232, pe_sys_futex = 98, pe_sys_sigmask = 135
};
#endif"""
