/* What a program may do with its processes and threads around a nest that has a team (test_team_text.py).
   Each case ends with 0, or with the line of what went wrong. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { N = 4096 };
extern double x[N], y[N];
extern long double z[N];
extern void nest(double scale);  /* x[i] = y[i] * scale; z[i] = x[i] / 3 */
extern void roots(double shift); /* x[i] = log(y[i] - shift) */
#define CHECK(what) do { if (!(what)) { fprintf(stderr, "line %d: %s\n", __LINE__, #what); _exit(1); } } while (0)

/* Whether the process has so many threads; those that end need a while. */
static int has(int threads)
{
    struct stat found;
    for (int k = 0; k < 2000; k++) {
        if (!stat("/proc/self/task", &found) && (int)found.st_nlink - 2 == threads)
            return 1;
        usleep(1000);
    }
    return 0;
}

/* The nest gives what one thread gives. */
static int right(double scale)
{
    volatile double s = scale;
    memset(x, 0, sizeof x);
    nest(s);
    for (int i = 0; i < N; i++) {
        volatile double expected = y[i] * s;
        volatile long double third = expected / 3.0L;
        if (expected != x[i] || third != z[i])
            return 0;
    }
    return 1;
}

static int ended_well(pid_t child)
{
    int status = -1;
    return child > 0 && waitpid(child, &status, __WALL) == child && status == 0;
}

static pid_t in_child(pid_t child, int wanted)
{
    if (child == 0) {
        CHECK(right(0.7));
        CHECK(has(wanted));
        _exit(0);
    }
    return child;
}

static void forked(void)
{
    CHECK(right(0.1) && has(4));
    for (int k = 0; k < 3; k++)
        CHECK(ended_well(in_child(fork(), 1)));
    pid_t child = fork();
    if (child == 0) { /* a child of a child, which never had threads */
        CHECK(ended_well(in_child(fork(), 1)));
        CHECK(right(0.3) && has(1));
        exit(0);
    }
    CHECK(ended_well(child));
    CHECK(right(0.2) && has(4));
}

static void forked_by_number(void)
{
    CHECK(right(0.1) && has(4));
    CHECK(ended_well(in_child((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), 1)));
    CHECK(ended_well(in_child(_Fork(), 1)));
    pid_t child = vfork();
    if (child == 0)
        _exit(!right(0.4));
    CHECK(ended_well(child));
    CHECK(right(0.2) && has(4));
}

/* A child of a process without threads has them, as daemons want it. */
static void daemons(void)
{
    pid_t child = fork();
    if (child == 0) {
        setsid();
        CHECK(ended_well(in_child(fork(), 4)));
        CHECK(right(0.1) && has(4));
        CHECK(ended_well(in_child(fork(), 1)));
        _exit(0);
    }
    CHECK(ended_well(child));
    CHECK(ended_well(in_child(_Fork(), 1))); /* nobody told it */
    CHECK(right(0.1) && has(4));
}

static void *sleeper(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

static void forked_beside_others(void)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t other;
    pthread_mutex_lock(&gate);
    CHECK(!pthread_create(&other, NULL, sleeper, &gate));
    CHECK(ended_well(in_child(fork(), 1)));
    pthread_mutex_unlock(&gate);
    pthread_join(other, NULL);
}

static void memory_limit(void)
{
    struct rlimit limit = {100 << 20, 100 << 20};
    CHECK(!setrlimit(RLIMIT_AS, &limit));
    CHECK(right(0.1) && right(0.2) && has(1));
    void *still = malloc(80 << 20); /* threads would have stood there */
    CHECK(still);
    free(still);
}

static void enough_memory(void)
{
    struct rlimit limit = {1 << 30, 1 << 30};
    CHECK(!setrlimit(RLIMIT_AS, &limit) && right(0.1) && has(4));
}

/* What is only looked at takes no memory: here every page that is mapped does. */
static void locked(void)
{
    char line[99];
    long most = 0; /* KiB */
    if (mlockall(MCL_CURRENT | MCL_FUTURE))
        return;
    CHECK(right(0.1) && has(4));
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status) && sscanf(line, "VmHWM: %ld", &most) < 1)
        ;
    CHECK(most > 0 && most < 90 << 10); /* three stacks, twice, and what there is besides */
}

static void process_limit(void)
{
    struct rlimit limit = {1, 1};
    CHECK(!setrlimit(RLIMIT_NPROC, &limit));
    CHECK(!setresuid(64321, 64321, 64321));
    CHECK(right(0.1) && right(0.2) && has(1));
}

static void filtered(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    CHECK(right(0.1) && right(0.2) && has(1));
}

static void rounding(void)
{
    CHECK(right(0.1) && has(4));
    for (int k = 0; k < 4; k++) {
        int mode = (int[]){FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}[k];
        CHECK(!fesetround(mode) && right(0.1) && right(1 / 3.0) && fegetround() == mode);
    }
    fenv_t before;
    fegetenv(&before);
#ifdef __SSE__
    for (unsigned bits = 0; bits < 4; bits++) { /* flush to zero, denormals are zero */
        unsigned mode = (__builtin_ia32_stmxcsr() & ~0x8040u) | (bits & 1 ? 0x8000u : 0) | (bits & 2 ? 0x40u : 0);
        __builtin_ia32_ldmxcsr(mode);
        CHECK(right(1e-310) && right(1e-10));
        CHECK((__builtin_ia32_stmxcsr() & ~0x3fu) == (mode & ~0x3fu));
    }
    unsigned short precision, single;
    __asm__ volatile("fnstcw %0" : "=m"(precision));
    single = precision & (unsigned short)~0x300;
    __asm__ volatile("fldcw %0" : : "m"(single));
    CHECK(right(0.1));
    __asm__ volatile("fldcw %0" : : "m"(precision));
#endif
    fesetenv(&before);
    CHECK(right(0.1) && has(4));
}

static void exceptions(void)
{
    double last = y[N - 1];
    feclearexcept(FE_ALL_EXCEPT);
    y[N - 1] = 1e300;
    nest(1e300); /* in the last thread */
    CHECK(has(4) && fetestexcept(FE_OVERFLOW) && !fetestexcept(FE_DIVBYZERO));
    y[N - 1] = 0;
    roots(0);
    CHECK(fetestexcept(FE_DIVBYZERO));
    feclearexcept(FE_ALL_EXCEPT);
    y[N - 1] = 1;
    nest(0);
    CHECK(!fetestexcept(FE_ALL_EXCEPT)); /* nothing is left of what threads raised before */
    y[N - 1] = last;
}

static volatile pid_t trapped;
static void on_trap(int number)
{
    trapped = (pid_t)syscall(SYS_gettid);
    _exit(number == SIGFPE && trapped == getpid() ? 0 : 1);
}

static void traps(void)
{
    CHECK(right(0.1) && has(4));
    signal(SIGFPE, on_trap);
    y[N - 1] = 1e300;
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_OVERFLOW);
    nest(1e300);
    CHECK(!"an exception traps");
}

static void error_number(void)
{
    y[N - 1] = -1;
    errno = 0;
    roots(0);
    CHECK(has(4) && errno == EDOM);
    y[N - 1] = 1;
    errno = 0;
    roots(0);
    CHECK(errno == 0);
}

static void signals(void)
{
    CHECK(right(0.1) && has(4));
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGTERM);
    sigaddset(&some, SIGUSR1);
    CHECK(!sigprocmask(SIG_BLOCK, &some, NULL)); /* threads that are there already must not take them */
    for (int k = 0; k < 2; k++) {
        struct timespec soon = {2, 0};
        kill(getpid(), k ? SIGTERM : SIGUSR1);
        usleep(20000);
        CHECK(sigtimedwait(&some, NULL, &soon) == (k ? SIGTERM : SIGUSR1));
    }
    CHECK(!sigprocmask(SIG_UNBLOCK, &some, NULL));
    sigset_t now;
    CHECK(right(0.1) && !sigprocmask(SIG_BLOCK, NULL, &now) && !sigismember(&now, SIGUSR1));
    CHECK(!setresgid(64321, 64321, 64321)); /* the C library asks all threads, by a signal */
    CHECK(right(0.2));
}

static void *cancelled(void *done)
{
    CHECK(!pthread_cancel(pthread_self())); /* at the next cancellation point, of which a nest has none */
    CHECK(right(0.1));
    *(int *)done = 1;
    pthread_testcancel();
    return NULL;
}

static void cancellation(void)
{
    pthread_t other;
    void *how = NULL;
    int done = 0;
    CHECK(right(0.2)); /* LLVM's runtime can be cancelled while it begins */
    CHECK(!pthread_create(&other, NULL, cancelled, &done) && !pthread_join(other, &how));
    CHECK(done && how == PTHREAD_CANCELED);
}

static void *endless(void *unused)
{
    int type;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    for (double scale = 1;; scale += 0.1)
        nest(scale);
    return unused;
}

static void asynchronous(void)
{
    for (int k = 0; k < 20; k++) {
        pthread_t other;
        void *how = NULL;
        CHECK(!pthread_create(&other, NULL, endless, NULL));
        usleep(3000);
        CHECK(!pthread_cancel(other) && !pthread_join(other, &how) && how == PTHREAD_CANCELED);
    }
    CHECK(right(0.1) && has(4));
}

static void affinity(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    CHECK(!sched_setaffinity(0, sizeof one, &one));
    CHECK(right(0.1) && !sched_getaffinity(0, sizeof one, &one) && CPU_COUNT(&one) == 1);
}

static void *alone(void *unused)
{
    CHECK(right(0.1));
    return unused;
}

static void own_threads(void)
{
    for (int k = 0; k < 5; k++) {
        pthread_t other;
        CHECK(!pthread_create(&other, NULL, alone, NULL) && !pthread_join(other, NULL));
    }
    CHECK(right(0.1) && has(4));
}

/* Threads with a team end where no file can be opened, which glibc does then if it has not. */
static void no_files(void)
{
    struct rlimit limit = {0, 0};
    CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
    own_threads();
}

static void *beside(void *gate)
{
    double scale = 1;
    pthread_barrier_wait(gate);
    nest(scale);
    pthread_barrier_wait(gate);
    return NULL;
}

/* Several threads at once ask whether others can be started: they cannot for all of them. */
static void together(void)
{
    enum { ASKING = 6 };
    struct rlimit limit = {14, 14}; /* these, the main thread with three, and four more */
    CHECK(!setrlimit(RLIMIT_NPROC, &limit) && !setresuid(64322, 64322, 64322) && right(0.1));
    for (int k = 0; k < 30; k++) {
        pthread_barrier_t gate;
        pthread_t others[ASKING];
        pthread_barrier_init(&gate, NULL, ASKING);
        for (int i = 0; i < ASKING; i++)
            while (pthread_create(&others[i], NULL, beside, &gate))
                usleep(1000);
        for (int i = 0; i < ASKING; i++)
            pthread_join(others[i], NULL);
    }
}

static void *on_small_stack(void *unused)
{
    CHECK(right(0.1) && has(2)); /* libgomp needs 144 bytes of it for each thread that it starts */
    return unused;
}

static void small_stack(void)
{
    pthread_t other;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    CHECK(!pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN));
    CHECK(!pthread_create(&other, &attributes, on_small_stack, NULL) && !pthread_join(other, NULL));
    CHECK(right(0.1) && has(4));
}

static void routine(void)
{
    CHECK(right(0.1) && has(1));
}

static void own_stack(void)
{
    static char stack[1 << 16];
    ucontext_t here, there;
    CHECK(!getcontext(&there));
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    there.uc_link = &here;
    makecontext(&there, routine, 0);
    CHECK(!swapcontext(&here, &there));
}

static void one_thread(void)
{
    CHECK(right(0.1) && right(0.2) && has(1));
}

#ifdef LOADS /* the nests are in a library */
static void (*loaded)(double);
static void load(void **library)
{
    *library = dlopen(LOADS, RTLD_NOW);
    CHECK(*library);
    loaded = (void (*)(double))dlsym(*library, "nest");
}

static void closed(void)
{
    void *library;
    for (int k = 0; k < 3; k++) {
        load(&library);
        loaded(0.5);
        CHECK(has(4) && !dlclose(library));
        CHECK(ended_well(fork() ? : (_exit(0), 0))); /* the handlers went with it */
        usleep(50000);
    }
}

static void loaded_in_child(void)
{
    void *library, *again = dlopen(LOADS "2", RTLD_NOW);
    CHECK(again);
    ((void (*)(double))dlsym(again, "nest"))(0.5);
    CHECK(has(4));
    pid_t child = fork();
    if (child == 0) {
        load(&library);
        loaded(0.5);
        CHECK(has(1));
        _exit(0);
    }
    CHECK(ended_well(child));
}
#endif

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
#define CASE(name) {#name, name}
#ifdef LOADS
        CASE(closed), CASE(loaded_in_child),
#else
        CASE(forked), CASE(forked_by_number), CASE(daemons), CASE(forked_beside_others), CASE(memory_limit), CASE(enough_memory),
        CASE(process_limit), CASE(filtered), CASE(rounding), CASE(exceptions), CASE(traps), CASE(error_number),
        CASE(signals), CASE(cancellation), CASE(asynchronous), CASE(affinity), CASE(own_threads),
        CASE(locked), CASE(no_files), CASE(together), CASE(small_stack), CASE(own_stack), CASE(one_thread),
#endif
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        if (argc > 1 && !strcmp(cases[k].name, argv[1])) {
            alarm(50);
#ifndef LOADS
            for (int i = 0; i < N; i++)
                y[i] = 1 + i * 0.37;
#endif
            cases[k].run();
            return 0;
        }
    return 2;
}
