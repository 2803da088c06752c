/* Runs nests on values that the program does not have: at the first calls of the function around a nest, copies of the
 * process (fork) get other arguments and other contents of arrays, and run the nest once as it was and once as it is
 * written. What both leave is compared, where the sanitizers say nothing of the original and it ends soon.
 *
 * PERFEMBED_FUZZ names a file of what there is (`tables`, made by perfembed/fuzzing/tables.py); without it the program
 * runs as it is, with the nests that PERFEMBED_WRITTEN lists ("1 3") as they are written. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

enum { VALUES = 24, ARRAYS = 64, DRAWS = 96, KINDS = 7, TEXT = 240, CALLS = 3, LATE = 2, EXTREMES = 16 };
enum { KEEP, NUMBERS, INDICES };                      /* what may be drawn for an array */
enum { SAME, WRONG, REPORTED, ENDLESS, DROPPED };     /* what came of a draw */
#define ORIGINAL_S 0.2                                /* of processor time; what takes longer is dropped */
#define FAR_S 0.05                                    /* with values that nobody may come to the end of */
#define WRITTEN_S 4.0
#define WALL_S 30.0
#define FILLED (4l << 20)                             /* bytes of an array that are drawn at most */

struct array {
    int floating, bytes, rows, written, fill, scalar; /* floating: not bits, but numbers are compared */
    unsigned long known;                              /* its size; 0: asked for */
};

struct nest {
    int function, arrays, finished, calls;
    struct array array[ARRAYS];
};

struct function {
    int values, pairs, pair[8][2]; /* pairs: pointers that may be equal */
};

struct draw {
    uint64_t value[VALUES];
    int contents, pair; /* contents: 0: those of the program */
    int far, kind;
};

struct outcome {
    volatile int reached, ended, fell_back, unseen;
    uint64_t hash[ARRAYS];
    double sum[ARRAYS], magnitude[ARRAYS];
    char text[TEXT];
};

extern const char *__asan_locate_address(void *, char *, size_t, void **, size_t *) __attribute__((weak));
extern void __asan_set_error_report_callback(void (*)(const char *)) __attribute__((weak));
extern void omp_set_num_threads(int) __attribute__((weak));

static struct nest *nests;
static struct function *functions;
static int nest_count, function_count, thread_count;
static double cpu_s, wall_s, tolerance;
static uint64_t state = 88172645463325252ull;
static int extreme_count;
static long long extents[EXTREMES];
static FILE *report;
static const char *listed;
static int fuzzing, child, target = -1, side;
static struct draw drawn;
static struct outcome *outcomes; /* of both sides, shared with the children */
static const void *addresses[ARRAYS];
static int paint_with, was_late;
static double cpu_until, wall_until;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Processor time of the children that ended. */
static double used(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static uint64_t pick(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return below ? (state >> 11) % below : 0;
}

/* ---- what there is ---- */

__attribute__((constructor)) static void begin(void)
{
    const char *tables = getenv("PERFEMBED_FUZZ");
    listed = getenv("PERFEMBED_WRITTEN");
    FILE *in = tables ? fopen(tables, "r") : NULL;
    if (!in)
        return;
    char path[4096];
    unsigned long seed = 0;
    if (fscanf(in, "%4095[^\n] %lu %lf %lf %lf %d %d %d %d", path, &seed, &cpu_s, &wall_s, &tolerance, &thread_count,
               &function_count, &nest_count, &extreme_count) != 9)
        return;
    state += seed * 2654435761u;
    for (int k = 0; k < extreme_count; k++)
        if (fscanf(in, "%lld", &extents[k]) != 1)
            return;
    functions = calloc(function_count + 1, sizeof *functions);
    nests = calloc(nest_count + 1, sizeof *nests);
    for (int f = 0; f < function_count; f++) {
        if (fscanf(in, "%d %d", &functions[f].values, &functions[f].pairs) != 2)
            return;
        for (int p = 0; p < functions[f].pairs; p++)
            if (fscanf(in, "%d %d", &functions[f].pair[p][0], &functions[f].pair[p][1]) != 2)
                return;
    }
    for (int k = 0; k < nest_count; k++) {
        if (fscanf(in, "%d %d", &nests[k].function, &nests[k].arrays) != 2)
            return;
        for (int a = 0; a < nests[k].arrays; a++) {
            struct array *it = &nests[k].array[a];
            if (fscanf(in, "%d %d %d %d %d %d %lu", &it->floating, &it->bytes, &it->rows, &it->written, &it->fill, &it->scalar,
                       &it->known) != 7)
                return;
        }
    }
    fclose(in);
    report = fopen(path, "a");
    outcomes = mmap(NULL, 2 * sizeof *outcomes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    wall_until = now() + wall_s;
    fuzzing = report != NULL && outcomes != MAP_FAILED;
}

static int several_threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks && (entry = readdir(tasks));)
        count += entry->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return count > 1;
}

#include "fuzz_draws.h"
#include "fuzz_memory.h"

/* ---- the parent ---- */

static void sanitized(const char *text)
{
    if (!child)
        return;
    const char *line = strstr(text, "AddressSanitizer: ");
    line = line ? line : text;
    snprintf(outcomes[side].text, TEXT, "%.*s", (int)strcspn(line, "\n"), line);
    _exit(99);
}

/* Fills the stack that the function around the nest is going to have. */
static __attribute__((noinline, noipa)) void paint(int with)
{
    volatile char below[1 << 16];
    for (size_t k = 0; k < sizeof below; k++)
        below[k] = with;
}

static int become(int which, int k, const struct draw *draw, const struct perfembed_value *values, int said, int with)
{
    const struct function *function = nests[k].function >= 0 ? &functions[nests[k].function] : NULL;
    const double most = which ? WRITTEN_S : draw->far ? FAR_S : ORIGINAL_S;
    struct itimerval timer = {{0, 0}, {(long)most, (long)((most - (long)most) * 1e6)}};
    int nothing = open("/dev/null", O_WRONLY);
    child = 1, target = k, side = which, drawn = *draw;
    dup2(nothing, 1);
    dup2(said, 2);
    setitimer(ITIMER_PROF, &timer, NULL);
    signal(SIGPROF, SIG_DFL);
    paint_with = with;
    if (__asan_set_error_report_callback)
        __asan_set_error_report_callback(sanitized);
    if (omp_set_num_threads && thread_count > 1)
        omp_set_num_threads(thread_count);
    for (int v = 0; function && v < function->values; v++)
        if (values[v].kind && values[v].at)
            memcpy(values[v].at, &draw->value[v], values[v].bytes);
    if (function && draw->pair) {
        const int *pair = function->pair[draw->pair - 1];
        memcpy(values[pair[1]].at, values[pair[0]].at, sizeof(void *));
    }
    return 1;
}

/* What a sanitizer said first, or nothing. */
static void read_said(int file, struct outcome *outcome)
{
    char said[8192];
    ssize_t size = pread(file, said, sizeof said - 1, 0);
    said[size > 0 ? size : 0] = 0;
    if (outcome->text[0])
        return;
    const char *line = strstr(said, "runtime error:");
    line = line ? line : strstr(said, "AddressSanitizer: ");
    if (line)
        snprintf(outcome->text, TEXT, "%.*s", (int)strcspn(line, "\n"), line);
}

/* Whether it ended by itself: not where it takes too long, or goes on behind what a sanitizer said to `file`. */
static int wait_for(pid_t pid, double until_s, int *status, int file)
{
    struct timespec pause = {0, 100000};
    for (;;) {
        if (waitpid(pid, status, WNOHANG) == pid)
            return 1;
        struct stat said;
        if (now() > until_s || (pause.tv_nsec > 400000 && !fstat(file, &said) && said.st_size > 0))
            break;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 2000000)
            pause.tv_nsec += pause.tv_nsec / 4;
    }
    kill(pid, SIGKILL);
    waitpid(pid, status, 0);
    return 0;
}

/* The first array that differs; -1: none. */
static int differs(const struct nest *nest, const struct outcome *first, const struct outcome *other)
{
    for (int a = 0; a < nest->arrays; a++) {
        double most = first->magnitude[a] > other->magnitude[a] ? first->magnitude[a] : other->magnitude[a];
        if (first->hash[a] == other->hash[a])
            continue;
        if (!nest->array[a].floating || !(__builtin_fabs(first->sum[a] - other->sum[a]) <= tolerance * most) || tolerance == 0)
            return a;
    }
    return -1;
}

/* Whether the original does the same again where other things lie on its stack; -1 in a child. */
static int repeats(int k, const struct draw *draw, const struct perfembed_value *values)
{
    const struct outcome before = outcomes[0];
    int status = 0, said = memfd_create("said", 0);
    memset(&outcomes[0], 0, sizeof *outcomes);
    pid_t pid = fork();
    if (pid == 0)
        return become(0, k, draw, values, said, 0xa5), -1;
    int ended = pid > 0 && wait_for(pid, now() + WALL_S, &status, said);
    close(said);
    return ended && status == 0 && outcomes[0].ended && differs(&nests[k], &before, &outcomes[0]) < 0;
}

/* Both sides on one draw; -1 in a child, which goes on with the program. `where`: the array that differs. */
static int tried(int k, const struct draw *draw, const struct perfembed_value *values, int *where)
{
    pid_t pids[2];
    int said[2], status[2] = {0, 0};
    memset(outcomes, 0, 2 * sizeof *outcomes);
    for (int which = 0; which < 2; which++) {
        said[which] = memfd_create("said", 0);
        pids[which] = fork();
        if (pids[which] == 0)
            return become(which, k, draw, values, said[which], 0), -1;
    }
    int ended = pids[0] > 0 && wait_for(pids[0], now() + WALL_S, &status[0], said[0]);
    read_said(said[0], &outcomes[0]);
    const struct outcome *original = &outcomes[0], *written = &outcomes[1];
    int usable = ended && pids[1] > 0 && status[0] == 0 && original->ended && !original->text[0] && !original->unseen;
    was_late = !ended || (WIFSIGNALED(status[0]) && WTERMSIG(status[0]) == SIGPROF);
    if (!usable && pids[1] > 0)
        kill(pids[1], SIGKILL);
    ended = pids[1] > 0 && wait_for(pids[1], now() + WALL_S, &status[1], said[1]);
    read_said(said[1], &outcomes[1]);
    close(said[0]), close(said[1]);
    if (usable && written->text[0])
        return REPORTED;
    if (!usable || !ended)
        return DROPPED;
    if (WIFSIGNALED(status[1]) && WTERMSIG(status[1]) == SIGPROF)
        return ENDLESS;
    if (status[1] != 0 || !written->ended) {
        snprintf(outcomes[1].text, TEXT, "ends by signal %d", WIFSIGNALED(status[1]) ? WTERMSIG(status[1]) : 0);
        return REPORTED;
    }
    if ((*where = differs(&nests[k], original, written)) < 0)
        return SAME;
    const int again = repeats(k, draw, values);
    return again < 0 ? -1 : again ? WRONG : DROPPED;
}

/* Tries a nest; returns 1 in a child. */
static int fuzz(int k, const struct perfembed_value *values)
{
    static struct draw draws[DRAWS];
    struct nest *nest = &nests[k];
    const int count = nest->function >= 0 ? functions[nest->function].values : 0;
    int same = 0, tuned = 0, dropped = 0, late[KINDS] = {0};
    if (!cpu_until)
        cpu_until = used() + cpu_s;
    if (several_threads()) {
        fprintf(report, "threads %d\n", k);
        nest->finished = 1;
        return 0;
    }
    int n = planned(k, draws, values);
    /* Every nest gets its part of the time that is left. */
    int left = 0;
    for (int other = 0; other < nest_count; other++)
        left += !nests[other].finished;
    const double wall_end = now() + (wall_until - now()) / left, cpu_end = used() + (cpu_until - used()) / left;
    for (int d = 0; d < n && now() < wall_end && used() < cpu_end; d++) {
        int where = -1;
        if (late[draws[d].kind] == LATE)
            continue; /* others of the kind are likely to run as long */
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        int found = tried(k, &draws[d], values, &where);
        if (found < 0)
            return 1;
        dropped += found == DROPPED;
        late[draws[d].kind] += found == DROPPED && was_late;
        same += found == SAME;
        tuned += found == SAME && !outcomes[1].fell_back;
        if (found == SAME || found == DROPPED)
            continue;
        fprintf(report, "wrong %d %d %d %d", k, found, where, draws[d].contents);
        for (int v = 0; v < count; v++)
            if (values[v].kind == 1)
                fprintf(report, " %llu", (unsigned long long)draws[d].value[v]);
            else
                fprintf(report, " %lld", (long long)(values[v].kind ? draws[d].value[v] : 0));
        fprintf(report, " :%s\n", outcomes[1].text);
        nest->finished = 1;
        break;
    }
    nest->calls++;
    if (same || nest->calls == CALLS || now() >= wall_until || used() >= cpu_until) {
        if (!nest->finished)
            fprintf(report, "nest %d %d %d %d\n", k, same, tuned, dropped);
        nest->finished = 1;
    }
    fflush(report);
    return 0;
}

static void leave_if_finished(void)
{
    for (int k = 0; k < nest_count; k++)
        if (!nests[k].finished)
            return;
    fprintf(report, "end\n");
    fflush(report);
    _exit(0);
}

void perfembed_enter(int function, const struct perfembed_value *values)
{
    if (!fuzzing || child)
        return;
    for (int k = 0; k < nest_count; k++)
        if (nests[k].function == function && !nests[k].finished && fuzz(k, values)) {
            paint(paint_with);
            return;
        }
    leave_if_finished();
}

int perfembed_way(int k)
{
    if (!fuzzing) {
        const char *at = listed;
        char *end;
        while (at && *at) {
            long number = strtol(at, &end, 10);
            if (end == at)
                return 0;
            if (number == k)
                return 1;
            at = end;
        }
        return 0;
    }
    if (!child && nests[k].function < 0 && !nests[k].finished && !fuzz(k, NULL))
        leave_if_finished();
    return child && k == target ? 2 | side : 0;
}
