/* Says many times a second where the main thread is: the addresses of its stack, in a file that outlives any exit.
 *
 * perfembed_tables.h defines PE_RESULT (a path; the process's number is appended), PE_SAMPLES, PE_FRAMES, PE_MODULES and
 * PE_INTERVAL (nanoseconds). The clock is the thread's own: a call that sleeps is never interrupted. */
#define _GNU_SOURCE
#include "perfembed_tables.h"
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

typedef unsigned long long word;

static struct result {
    word count, interval, cpu, modules;
    struct module {
        word bias, begin, end;
        char path[1000];
    } module[PE_MODULES];
    struct sample {
        word depth, address[PE_FRAMES];
    } sample[PE_SAMPLES];
} *result;

static timer_t timer;
static pid_t process;

struct walk {
    struct sample *to;
    int below; /* the frames of the handler itself are passed */
};

static _Unwind_Reason_Code frame(struct _Unwind_Context *context, void *data)
{
    struct walk *walk = data;
    int exact = 0;
    word address = _Unwind_GetIPInfo(context, &exact);
    if (exact) walk->below = 1, walk->to->depth = 0;
    if (!walk->below) return _URC_NO_REASON;
    if (!address || walk->to->depth == PE_FRAMES) return _URC_END_OF_STACK;
    walk->to->address[walk->to->depth++] = exact ? address : address - 1; /* a return address is behind its call */
    return _URC_NO_REASON;
}

static void set(word interval)
{
    struct itimerspec every = {{interval / 1000000000, interval % 1000000000}, {interval / 1000000000, interval % 1000000000}};
    timer_settime(timer, 0, &every, NULL);
}

static void tick(int number)
{
    int saved = errno;
    struct timespec now;
    (void)number;
    if (getpid() == process) {
        if (result->count == PE_SAMPLES) { /* every second one is kept, and from now on half as many are taken */
            for (word i = 0; i < PE_SAMPLES / 2; i++) result->sample[i] = result->sample[2 * i];
            result->count = PE_SAMPLES / 2;
            result->interval *= 2;
            set(result->interval);
        }
        struct walk walk = {&result->sample[result->count], 0};
        walk.to->depth = 0;
        _Unwind_Backtrace(frame, &walk);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        result->cpu = (word)now.tv_sec * 1000000000 + (word)now.tv_nsec;
        result->count++;
    }
    errno = saved;
}

static int module(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size, (void)data;
    if (result->modules == PE_MODULES) return 1;
    struct module *m = &result->module[result->modules];
    m->bias = info->dlpi_addr;
    m->begin = ~0ULL;
    m->end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
        word begin = m->bias + info->dlpi_phdr[i].p_vaddr, end = begin + info->dlpi_phdr[i].p_memsz;
        if (begin < m->begin) m->begin = begin;
        if (end > m->end) m->end = end;
    }
    const char *path = info->dlpi_name;
    ssize_t length = -1;
    if (!result->modules) /* the program itself comes first */
        length = readlink("/proc/self/exe", m->path, sizeof m->path - 1);
    else if (path && strlen(path) < sizeof m->path)
        memcpy(m->path, path, (size_t)(length = (ssize_t)strlen(path)));
    if (length < 0) length = 0;
    m->path[length] = 0;
    result->modules++;
    return 0;
}

static void modules(void)
{
    if (getpid() != process) return;
    result->modules = 0;
    dl_iterate_phdr(module, NULL);
}

__attribute__((constructor)) static void start(void)
{
    char path[4096 + 32];
    process = getpid();
    snprintf(path, sizeof path, "%s.%ld", PE_RESULT, (long)process);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return;
    if (ftruncate(file, sizeof *result) == 0)
        result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (!result || result == MAP_FAILED) return;
    modules();
    struct sample warm;
    struct walk walk = {&warm, 0};
    warm.depth = 0;
    _Unwind_Backtrace(frame, &walk); /* what it loads, it loads now */
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = tick;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    int number = SIGRTMAX - 2;
    if (sigaction(number, &action, NULL)) return;
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = number;
    event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer)) return;
    result->interval = PE_INTERVAL;
    set(result->interval);
    atexit(modules); /* with those that were loaded since */
}
