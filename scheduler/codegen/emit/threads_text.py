"""C functions that tell how many threads a region may have, and start them (`scheduler.codegen.emit.team_text`).

- *fork*: a process has threads where it loaded this code after an exec, or is the child of such a one that had a
  single thread at the fork (pthread_atfork(3)). What `_Fork`, `vfork` and `clone` make has another number, and none.
- *limits*: before a thread's first team, and before a larger one, as many threads are started as it takes, with
  room to spare for the program, and then the team's: nobody else of the program starts any in between.
- *files*: where a thread with a team ends, so do those of its team, by pthread_exit, for which glibc loads libgcc_s.
  That is loaded with the code: later a constructor may hold the loader's lock, and wait for the thread that asks.
- *stacks*: those of threads may be too small for a team (of the one that asks, pthread_attr_setstack(3), and of those
  that it takes, OMP_STACKSIZE), or the program's own (makecontext(3)).
- *dlclose*: the OpenMP runtime stays, as its threads run code of it.
"""

from __future__ import annotations

_SHARED = '__extension__ __attribute__((__weak__, __visibility__("hidden")))'
_ELSEWHERE = '__extension__ extern __attribute__((__visibility__("hidden")))'
_STATE = (
    ("int", "owner", "", "0"),
    ("__thread int", "tried", "", "1"),
    ("__thread int", "failed", "", "0"),
    ("__thread int", "quiet", "", "0"),
    ("long", "turn", "[8]", "{0}"),  # pthread_mutex_t
)


def _states() -> str:
    """Variables that a file defines once, also where it was tuned twice and knows them by two names.

    No name of a program's own has a dot.
    """
    defined = (f'{_SHARED} {c} pe_{n}{a} __asm__("perfembed.{n}.2") = {first};' for c, n, a, first in _STATE)
    declared = (f'{_ELSEWHERE} {c} pe_{n}{a} __asm__("perfembed.{n}.2");' for c, n, a, _ in _STATE)
    begin = "#ifndef perfembed_state_2\n#define perfembed_state_2"
    return "\n".join((begin, *defined, "#else", *declared, "#endif"))


_STATES = _states()

DEFINITION = f"""/* Not every compiler comes with omp.h. */
extern int pe_max_threads(void) __asm__("omp_get_max_threads");
extern int pe_thread_limit(void) __asm__("omp_get_thread_limit");
extern int pe_thread(void) __asm__("omp_get_thread_num");
extern int pe_levels(void) __asm__("omp_get_active_level");
extern int pe_max_levels(void) __asm__("omp_get_max_active_levels");
extern int pe_process(void) __asm__("getpid");
extern long pe_system(long, ...) __asm__("syscall");
extern char *pe_variable(const char *) __asm__("getenv");
extern int pe_at_fork(void (*)(void), void (*)(void), void (*)(void)) __asm__("pthread_atfork");
extern int pe_start(unsigned long *, const void *, void *(*)(void *), void *) __asm__("pthread_create");
extern int pe_wait(unsigned long, void **) __asm__("pthread_join");
extern int pe_lock(void *) __asm__("pthread_mutex_lock");
extern int pe_unlock(void *) __asm__("pthread_mutex_unlock");
extern unsigned long pe_asking(void) __asm__("pthread_self");
extern int pe_attributes(unsigned long, void *) __asm__("pthread_getattr_np");
extern int pe_stack_in(const void *, void *, unsigned long *) __asm__("pthread_attr_getstack");
extern int pe_set_up(void *) __asm__("pthread_attr_init");
extern int pe_set_size(void *, unsigned long) __asm__("pthread_attr_setstacksize");
extern int pe_forget(void *) __asm__("pthread_attr_destroy");
extern void *pe_dlopen(const char *, int) __asm__("dlopen") __attribute__((__weak__));
extern const char *pe_glibc(void) __asm__("gnu_get_libc_version") __attribute__((__weak__));
extern unsigned long pe_given(unsigned long) __asm__("getauxval");
extern int pe_cancel_state(int, int *) __asm__("pthread_setcancelstate");
extern int pe_cancel_type(int, int *) __asm__("pthread_setcanceltype");
/* Of all such files: the process that has threads; of a thread: how many it could start, and could not; no signals;
   one thread at a time starts others. */
{_STATES}
static int pe_single;

/* A number in /proc/self/stat (proc(5): 9 flags, 20 threads), -1 where it cannot be read. */
static __attribute__((__unused__)) long pe_stat(int pe_field)
{{
    char pe_text[1024];
    long pe_file = pe_system(pe_sys_openat, -100L, "/proc/self/stat", 02000000L, 0L), pe_number = 0;
    long pe_n = pe_file < 0 ? 0 : pe_system(pe_sys_read, pe_file, pe_text, sizeof pe_text - 1), pe_k;
    if (pe_file >= 0)
        pe_system(pe_sys_close, pe_file);
    for (pe_k = pe_n - 1; pe_k > 0 && pe_text[pe_k] != ')'; pe_k--)
        ;
    if (pe_k <= 0)
        return -1;
    for (int pe_at = 2; pe_k < pe_n && pe_at < pe_field; pe_k++)
        pe_at += pe_text[pe_k] == ' ';
    if (pe_k >= pe_n || pe_text[pe_k] < '0' || pe_text[pe_k] > '9')
        return -1;
    for (; pe_k < pe_n && pe_text[pe_k] >= '0' && pe_text[pe_k] <= '9'; pe_k++)
        pe_number = pe_number * 10 + (pe_text[pe_k] - '0');
    return pe_number;
}}
static __attribute__((__unused__)) void pe_before_fork(void)
{{
    pe_single = pe_owner == pe_process() && pe_stat(20) == 1;
}}
static __attribute__((__unused__)) void pe_in_child(void)
{{
    pe_owner = pe_single ? pe_process() : -1;
    pe_tried = 1;
    pe_failed = 0;
}}
#if defined __PIC__ && !defined __PIE__
extern int pe_dladdr(const void *, void *) __asm__("dladdr") __attribute__((__weak__));
static __attribute__((__unused__)) void pe_keep_runtime(void)
{{
    struct {{
        const char *pe_file;
        void *pe_rest[7];
    }} pe_found = {{0}};
    if (pe_dlopen && pe_dladdr && pe_dladdr(__extension__(const void *)pe_thread, &pe_found) && pe_found.pe_file)
        pe_dlopen(pe_found.pe_file, 5); /* RTLD_LAZY | RTLD_NOLOAD */
}}
#else
static __attribute__((__unused__)) void pe_keep_runtime(void) {{ }}
#endif
/* Whether threads can end: the GNU C library loads a file then, for which there may be no descriptor, or chroot(2). */
static __attribute__((__unused__)) int pe_ends(void)
{{
    return !pe_glibc || !pe_dlopen || !pe_given(7) || pe_dlopen("libgcc_s.so.1", 2); /* AT_BASE, RTLD_NOW */
}}
static __attribute__((__constructor__, __unused__)) void pe_at_load(void)
{{
    if (pe_owner)
        return;
    pe_owner = -1;
#if defined __PIC__ && !defined __PIE__
    if (pe_stat(9) & 0x40) /* loaded by a process that was forked, when it had whatever threads */
        return;
#endif
    if (!pe_ends() || pe_at_fork(pe_before_fork, 0, pe_in_child))
        return;
    pe_keep_runtime();
    pe_owner = pe_process();
}}
/* The bytes of a stack that the OpenMP runtime is told to take, 0 where it is not. */
static __attribute__((__unused__)) unsigned long pe_told(void)
{{
    const char *pe_text = pe_variable("OMP_STACKSIZE");
    unsigned long pe_size = 0, pe_unit = 10;
    if (!pe_text)
        pe_text = pe_variable("GOMP_STACKSIZE");
    for (; pe_text && *pe_text && pe_size < 1ul << 40; pe_text++)
        if (*pe_text >= '0' && *pe_text <= '9')
            pe_size = pe_size * 10 + (unsigned long)(*pe_text - '0');
        else if (*pe_text != ' ')
            pe_unit = (*pe_text | 32) == 'b' ? 0 : (*pe_text | 32) == 'm' ? 20 : (*pe_text | 32) == 'g' ? 30 : 10;
    return pe_size < 1ul << 40 >> pe_unit ? pe_size << pe_unit : 1ul << 40;
}}
/* The bytes of a thread's stack, and where it begins; 0 where it cannot be asked. */
static __attribute__((__unused__)) unsigned long pe_stack(unsigned long pe_of, char **pe_low)
{{
    unsigned long pe_attr[16] = {{0}}, pe_size = 0;
    if (pe_attributes(pe_of, pe_attr))
        return 0;
    pe_stack_in(pe_attr, pe_low, &pe_size);
    pe_forget(pe_attr);
    return pe_size;
}}
/* Whether a team of so many can be made on this stack: it may be small, or none of the C library's (makecontext(3)). */
static __attribute__((__unused__)) int pe_deep(int pe_n)
{{
    char *pe_low = 0, *pe_here = __builtin_frame_address(0);
    unsigned long pe_size = pe_stack(pe_asking(), &pe_low), pe_left = (unsigned long)(pe_here - pe_low);
    return !pe_size || (pe_here > pe_low && pe_left < pe_size && pe_left > (16ul << 10) + 256ul * (unsigned long)pe_n);
}}
static __attribute__((__unused__)) void *pe_idle(void *pe_go)
{{
    while (!__atomic_load_n((int *)pe_go, __ATOMIC_ACQUIRE))
        pe_system(pe_sys_futex, pe_go, 128L, 0L, (void *)0); /* FUTEX_WAIT_PRIVATE */
    return 0;
}}
/* Signals but for those of faults, and those of the C library's threads, are not for this thread. */
static __attribute__((__unused__)) void pe_be_quiet(unsigned long *pe_old)
{{
    unsigned long pe_signals = ~0x3c00004f8ul;
    pe_system(pe_sys_sigmask, 0L, &pe_signals, pe_old, 8L);
}}
/* Whether so many threads can be started, which they are. */
static __attribute__((__noinline__, __unused__)) int pe_try(int pe_n)
{{
    unsigned long pe_attr[16] = {{0}}, pe_old = 0, pe_size = pe_told(), pe_others = (unsigned long)(pe_n - 1);
    unsigned long pe_bytes = pe_others * (pe_size > 8ul << 20 ? pe_size : 8ul << 20) * 4;
    unsigned long pe_all = pe_others * sizeof pe_old, *pe_threads;
    int pe_go = 0, pe_k = 0, pe_state = 0, pe_started = 0;
    long pe_at = -1, pe_ids = -1;
    char *pe_low, pe_used = 0;
    if (pe_failed && pe_n >= pe_failed)
        return 0;
    pe_cancel_state(1, &pe_state);
    pe_lock(pe_turn);
    if (pe_deep(pe_n)) {{
        pe_ids = pe_system(pe_sys_mmap, (void *)0, pe_all, 3L, 0x22L, -1L, 0L); /* PROT_READ | PROT_WRITE */
        pe_system(pe_sys_mincore, pe_ids, 1L, &pe_used); /* it is at once, where memory is locked (mlockall(2)) */
        pe_at = pe_system(pe_sys_mmap, (void *)0, pe_bytes, pe_used & 1 ? 0L : 3L, 0x4022L, -1L, 0L);
    }}
    if (pe_at != -1 && pe_ids != -1) {{
        pe_threads = (unsigned long *)pe_ids;
        pe_set_up(pe_attr);
        if (pe_size)
            pe_set_size(pe_attr, pe_size);
        pe_be_quiet(&pe_old);
        while (pe_k < pe_n - 1 && !pe_start(&pe_threads[pe_k], pe_attr, pe_idle, &pe_go))
            pe_k++;
        pe_started = pe_k == pe_n - 1 && pe_stack(pe_threads[0], &pe_low) >= 96ul << 10;
        __atomic_store_n(&pe_go, 1, __ATOMIC_RELEASE);
        pe_system(pe_sys_futex, &pe_go, 129L, 0x7fffffffL); /* FUTEX_WAKE_PRIVATE */
        for (int pe_l = 0; pe_l < pe_k; pe_l++)
            pe_wait(pe_threads[pe_l], 0);
        pe_forget(pe_attr);
        pe_system(pe_sys_munmap, pe_at, pe_bytes);
        pe_at = -1;
        if (pe_started) {{
            _Pragma("omp parallel num_threads(pe_n)")
            __asm__ __volatile__("" : : : "memory");
        }}
        pe_system(pe_sys_sigmask, 2L, &pe_old, (void *)0, 8L);
    }}
    if (pe_started)
        pe_tried = pe_n;
    else
        pe_failed = pe_n;
    if (pe_at != -1)
        pe_system(pe_sys_munmap, pe_at, pe_bytes);
    if (pe_ids != -1)
        pe_system(pe_sys_munmap, pe_ids, pe_all);
    pe_unlock(pe_turn);
    pe_cancel_state(pe_state, &pe_state);
    return pe_started;
}}
static inline __attribute__((__unused__)) int pe_threads(void)
{{
    int pe_n = pe_max_threads();
    if (pe_n < 2 || pe_thread_limit() < 2 || pe_levels() >= pe_max_levels() || pe_traps() || pe_owner != pe_process())
        return 1;
    return pe_n <= pe_tried || pe_try(pe_n) ? pe_n : 1;
}}"""

CONTAINED = """extern int pe_max_threads(void) __asm__("omp_get_max_threads");
extern int pe_thread(void) __asm__("omp_get_thread_num");
extern int pe_cancel_state(int, int *) __asm__("pthread_setcancelstate");
extern int pe_cancel_type(int, int *) __asm__("pthread_setcanceltype");
static __thread int pe_quiet;
static inline __attribute__((__unused__)) void pe_be_quiet(unsigned long *pe_old) { (void)pe_old; }
static inline __attribute__((__unused__)) int pe_threads(void) { return pe_max_threads(); }"""
"""The same names in a process that only measures a nest, where nothing of that happens: compilers take long for it."""
