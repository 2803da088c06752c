"""C functions of parallel regions (`scheduler.codegen.emit.heap`): what makes them right in every process.

What a program does with its processes and threads is known when it runs: it may have been forked since threads were
started (fork does not copy them; libgomp would wait for them for ever), may not be allowed to start any (limits,
cgroups, seccomp; libgomp would end it), or may have changed how it rounds (each thread has floating-point registers of
its own). Where threads cannot be had, a region has a team of one, which starts none and waits for none.

 - *threads*: whether they can be had is asked first (`scheduler.codegen.emit.threads_text`).
 - *floating point*: the team takes the control bits of the thread that asks for it, which gets their exception flags
   (Intel SDM vol. 1, 8.1.5 and 10.2.3; Arm ARM, FPCR and FPSR). Where exceptions trap, they must in that thread.
 - *cancellation*: a thread can be cancelled behind a region, not in it (pthread_setcancelstate(3)).
 - *signals*: those that are sent to the process are for the threads that the program knows (signal(7)).

Functions of the C library go by other names here, and system calls by their numbers: nothing depends on headers, on
feature macros, or on macros of the program's. One that has such functions itself has no threads
(`scheduler.frontend.clang.processes`).
"""

from __future__ import annotations

from scheduler.codegen.emit.threads_text import CONTAINED
from scheduler.codegen.emit.threads_text import DEFINITION as THREADS

FLOATS = """#ifdef __x86_64__
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


_TEAM = """struct pe_team {{
    struct pe_floats pe_floats;
    unsigned pe_flags;
    int pe_threads, pe_error, pe_type, pe_state;
}};
static inline __attribute__((__unused__)) struct pe_team pe_gather_team(void)
{{
    struct pe_team pe_t = {{pe_floats(), 0, 1, 0, 0, 0}};
    pe_cancel_type(0, &pe_t.pe_type); /* deferred, or restoring the state would forget that it was cancelled */
    pe_cancel_state(1, &pe_t.pe_state);
    pe_t.pe_threads = pe_threads();
    return pe_t;
}}
static inline __attribute__((__unused__)) struct pe_floats pe_enter_team(const struct pe_team *pe_t)
{{
    struct pe_floats pe_own = pe_t->pe_floats;
    if (pe_thread()) {{
        if (!pe_quiet)
            pe_be_quiet(0);
        pe_quiet = 1;
        pe_own = pe_floats();
        pe_set_floats(pe_t->pe_floats);{join}
    }}
    return pe_own;
}}
static inline __attribute__((__unused__)) void pe_leave_team(struct pe_team *pe_t, struct pe_floats pe_own)
{{
    if (pe_thread()) {{
        unsigned pe_flags = pe_raised();
        if (pe_flags & ~__atomic_load_n(&pe_t->pe_flags, __ATOMIC_RELAXED))
            __atomic_fetch_or(&pe_t->pe_flags, pe_flags, __ATOMIC_RELAXED);
        pe_set_floats(pe_own);{leave}
    }}
}}
static inline __attribute__((__unused__)) void pe_dismiss_team(struct pe_team *pe_t)
{{
    if (pe_t->pe_flags && pe_t->pe_flags & ~pe_raised())
        pe_raise(pe_t->pe_flags);{dismiss}
    pe_cancel_state(pe_t->pe_state, &pe_t->pe_state);
    pe_cancel_type(pe_t->pe_type, &pe_t->pe_type);
}}"""

_ALONE = """static inline __attribute__((__unused__)) int pe_threads(void) { return 1; }
static inline __attribute__((__unused__)) int pe_thread(void) { return 0; }
struct pe_floats {
    int pe_none;
};
struct pe_team {
    int pe_threads;
};
static inline __attribute__((__unused__)) struct pe_team pe_gather_team(void)
{
    struct pe_team pe_t = {1};
    return pe_t;
}
static inline __attribute__((__unused__)) struct pe_floats pe_enter_team(const struct pe_team *pe_t)
{
    struct pe_floats pe_own = {pe_t->pe_threads};
    return pe_own;
}
static inline __attribute__((__unused__)) void pe_leave_team(struct pe_team *pe_t, struct pe_floats pe_own)
{
    (void)pe_t, (void)pe_own;
}
static inline __attribute__((__unused__)) void pe_dismiss_team(struct pe_team *pe_t) { (void)pe_t; }"""

_ERRNO = (
    'extern int *pe_errno(void) __asm__("__errno_location");\n',
    "\n        *pe_errno() = 0;",
    "\n        if (*pe_errno())\n            __atomic_store_n(&pe_t->pe_error, *pe_errno(), __ATOMIC_RELAXED);",
    "\n    if (pe_t->pe_error)\n        *pe_errno() = pe_t->pe_error;",
)


def definition(errno: bool, contained: bool = False) -> str:
    """`errno`: the program looks at it, so that what a thread's mathematical functions set goes to the caller.

    `contained`: for a process of our own.
    """
    declared, join, leave, dismiss = _ERRNO if errno else ("",) * 4
    return f"""/* How many threads a parallel loop may have in this process, which one runs, and what they do. */
#if defined _OPENMP && defined __linux__ && defined __LP64__ && !defined __ANDROID__ && \\
    (defined __SSE__ || defined __aarch64__)
{FLOATS}
{CONTAINED if contained else THREADS}
{declared}{_TEAM.format(join=join, leave=leave, dismiss=dismiss)}
#else
{_ALONE}
#endif"""
