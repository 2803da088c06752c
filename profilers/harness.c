/* Times or checks one kernel: harness SPECIFICATION_FD RESULT_FD
 *
 * The specification is text, one item a line, written by harness.py; the result is one line of JSON.
 * The kernel defines pe_kernel and may define pe_storage (see workload.py). */
#define _GNU_SOURCE
#include "harness_data.h"
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

extern void pe_kernel(void *const *args);
extern void *pe_storage(int i);
__attribute__((weak)) void *pe_storage(int i)
{
    (void)i;
    return NULL;
}

/* Begins and ends the counting of one repetition; -1 is the whole run, without the warm-up. See likwid_marker.c. */
extern void pe_region(int repetition, int begins);
__attribute__((weak)) void pe_region(int repetition, int begins)
{
    (void)repetition, (void)begins;
}

static int n_args, result_fd;
static struct arg *args;
static void **pointers;
static FILE *result;
static char mode[16], inputs[17], *reference_path;
static long min_samples, max_samples;
static double target_s, stop_s, batch_s, rel_tolerance = -1, abs_tolerance;

static _Noreturn void finish(void)
{
    fputs("}\n", result);
    fflush(result);
    _exit(ferror(result) ? 3 : 0); /* no exit handler of the kernel's can change the verdict now */
}

static _Noreturn void fail(const char *format, ...)
{
    char text[1024];
    va_list rest;
    va_start(rest, format);
    vsnprintf(text, sizeof text, format, rest);
    va_end(rest);
    for (char *c = text; *c; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ' || (unsigned char)*c > '~') *c = '?';
    fprintf(result, "{\"error\":\"%s\"", text);
    finish();
}

/* ---- the specification ---- */

static char *next_line(FILE *f)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length = getline(&line, &room, f);
    if (length <= 0) fail("specification: ends early");
    if (line[length - 1] == '\n') line[length - 1] = 0;
    return line;
}

/* Elements behind what is filled in which a result that does not belong there is found. */
static const size_t BEHIND = 1 << 16;

static void read_argument(struct arg *a, const char *line)
{
    char type[32], kind[16];
    int used = 0;
    if (sscanf(line, "%31s %d %d %zu %zu %zu %15s %n", type, &a->written, &a->compared, &a->offset, &a->count, &a->filled,
               kind, &used) < 7 ||
        a->filled > a->count)
        fail("specification: argument line");
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        if (!strcmp(type, types[t].name)) a->type = &types[t];
    if (!a->type) fail("specification: type %s", type);
    a->bytes = a->count * a->type->size;
    a->looked = (a->count - a->filled > BEHIND ? a->filled + BEHIND : a->count) * a->type->size;
    const char *rest = line + used;
    if (!strcmp(kind, "random")) {
        unsigned long long seed;
        a->fill = FILL_RANDOM;
        if (sscanf(rest, "%llu %la %la", &seed, &a->low, &a->high) != 3) fail("specification: random fill");
        a->seed = seed;
    } else if (!strcmp(kind, "constant")) {
        a->fill = FILL_CONSTANT;
        snprintf(a->constant, sizeof a->constant, "%s", rest);
    } else {
        a->fill = FILL_CAPTURED;
        if (sscanf(rest, "%lld %n", &a->capture_offset, &used) < 1) fail("specification: captured fill");
        a->capture_path = strdup(rest + used);
    }
}

static void read_counting(FILE *f);

static void read_specification(int fd)
{
    FILE *f = fdopen(fd, "r");
    if (!f) fail("specification: cannot be read");
    if (strcmp(next_line(f), "perfembed-harness 1")) fail("specification: version");
    if (sscanf(next_line(f), "mode %15s inputs %16s", mode, inputs) != 2) fail("specification: mode");
    if (sscanf(next_line(f), "samples %ld %ld %la %la %la", &min_samples, &max_samples, &target_s, &stop_s, &batch_s) != 5)
        fail("specification: samples");
    if (sscanf(next_line(f), "tolerance %la %la", &rel_tolerance, &abs_tolerance) != 2) fail("specification: tolerance");
    reference_path = next_line(f);
    if (!strcmp(mode, "count")) read_counting(f);
    if (sscanf(next_line(f), "arguments %d", &n_args) != 1 || n_args < 0) fail("specification: arguments");
    args = calloc((size_t)n_args + 1, sizeof *args);
    pointers = calloc((size_t)n_args + 1, sizeof *pointers);
    if (!args || !pointers) fail("memory: cannot allocate the argument table");
    for (int i = 0; i < n_args; i++) read_argument(&args[i], next_line(f));
    fclose(f);
}

/* ---- data ---- */

/* Whether the kernel runs more than once, on restored arguments. */
static int repeats(void) { return !strcmp(mode, "time") || !strcmp(mode, "count"); }

/* From here on a copy costs more time and memory than the data once more from where they came from. */
static const size_t COPIED_BYTES = 64 << 20;

static int filled_again(const struct arg *a) { return a->fill != FILL_RANDOM && a->bytes >= COPIED_BYTES; }

static void prepare(void)
{
    for (int i = 0; i < n_args; i++) {
        struct arg *a = &args[i];
        a->data = pe_storage(i);
        a->owned = a->data != NULL;
        if (!a->owned) allocate(a);
        fill(a, 0);
        if (a->written && repeats() && !filled_again(a)) {
            a->pristine = malloc(a->bytes);
            if (!a->pristine) fail("memory: cannot allocate a copy of %zu bytes", a->bytes);
            memcpy(a->pristine, a->data, a->bytes);
        }
        if (!a->written && !repeats()) a->hash = hash_bytes(a->data, a->looked);
    }
}

static void restore(void)
{
    for (int i = 0; i < n_args; i++)
        if (args[i].pristine)
            memcpy(args[i].data, args[i].pristine, args[i].bytes);
        else if (args[i].written)
            fill(&args[i], 1);
}

static void check_guards(void)
{
    long long where;
    for (int i = 0; i < n_args; i++)
        if (!args[i].owned && guard_broken(&args[i], &where)) {
            fprintf(result, "{\"guard\":%d,\"byte\":%lld", i, where);
            finish();
        }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Nanoseconds of one kernel call, the clock's own cost included. */
static double call(void)
{
    struct timespec t0, t1;
    for (int i = 0; i < n_args; i++) pointers[i] = args[i].data;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    pe_kernel(pointers);
    clock_gettime(CLOCK_MONOTONIC, &t1);
    return 1e9 * (double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec);
}

/* ---- timing ---- */

static char stopped_text[64];

static void on_alarm(int number)
{
    (void)number;
    ssize_t ignored = pwrite(result_fd, stopped_text, strlen(stopped_text), 0);
    (void)ignored;
    _exit(0);
}

/* Ends the process with "stopped" when the next call takes longer than the given seconds; 0 disarms. */
static void stop_after(double seconds)
{
    struct itimerval timer = {{0, 0}, {0, 0}};
    if (seconds > 0) {
        snprintf(stopped_text, sizeof stopped_text, "{\"stopped\":%.9e}\n", seconds);
        timer.it_value.tv_sec = (time_t)seconds;
        timer.it_value.tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6) + 1;
        signal(SIGALRM, on_alarm);
    }
    setitimer(ITIMER_REAL, &timer, NULL);
}

static double clock_cost_ns(void)
{
    double best = 1e9;
    for (int i = 0; i < 200; i++) {
        struct timespec t0, t1;
        clock_gettime(CLOCK_MONOTONIC, &t0);
        clock_gettime(CLOCK_MONOTONIC, &t1);
        best = fmin(best, 1e9 * (double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec));
    }
    return best;
}

/* Short kernels get slack in their first, cold call: threads start in it, and one may wait for a core. */
static double first_call_limit(void) { return fmax(stop_s, fmin(4 * stop_s + 0.05, 0.2)); }

/* From here on a cold first call takes little longer than another: with a second one there are two; and as good as. */
static const double ENOUGH_S = 0.02, LONG_S = 0.1;

static void time_kernel(void)
{
    double cost = clock_cost_ns(), *samples = malloc(sizeof(double) * (size_t)max_samples), best;
    if (!samples) fail("memory: cannot allocate the samples");
    long n = 0, calls = 1;
    if (stop_s > 0) stop_after(first_call_limit());
    double warmup = fmax(call() - cost, 0) * 1e-9;
    if (stop_s > 0) stop_after(0);
    check_guards();
    best = warmup;
    double spent = 0;
    if (warmup >= target_s && warmup >= LONG_S) { /* long enough to count */
        samples[n++] = warmup;
        spent = warmup;
    }
    if (warmup < batch_s) {
        double restoring = now();
        restore();
        restoring = now() - restoring;
        double estimate = fmax(call() - cost, 1) * 1e-9;
        calls = (long)fmin(ceil(batch_s / estimate), 10000);
        long affordable = (long)(0.02 / (estimate + restoring)); /* restoring may not take over */
        if (calls > affordable) calls = affordable > 1 ? affordable : 1;
    }
    double start = now() - spent;
    while (n < max_samples && (n < min_samples || now() - start < target_s)) {
        double total = 0;
        for (long i = 0; i < calls; i++) {
            restore(); /* not after the last one */
            total += call() - cost;
        }
        samples[n] = fmax(total / (double)calls, 0.1) * 1e-9;
        best = fmin(best, samples[n++]);
        if (stop_s > 0 && best > stop_s && n >= (stop_s < ENOUGH_S ? 2 : 1)) {
            fprintf(result, "{\"stopped\":%.9e", best);
            finish();
        }
    }
    check_guards();
    fprintf(result, "{\"warmup\":%.9e,\"calls\":%ld,\"samples\":[", warmup, calls);
    for (long i = 0; i < n; i++) fprintf(result, "%s%.9e", i ? "," : "", samples[i]);
    fputs("]", result);
    finish();
}

/* ---- counting: "count WARMUPS REPETITIONS COMMANDS", then the words of each command, one a line, and "." ---- */

enum { CONTROL_FD = 100, ACK_FD = 101, MAX_WORDS = 64, MAX_COMMANDS = 32 };
static long warmups, repetitions;
static int n_commands, control_fd, ack_fd;
static char *commands[MAX_COMMANDS][MAX_WORDS + 1];

static void read_counting(FILE *f)
{
    if (sscanf(next_line(f), "count %ld %ld %d", &warmups, &repetitions, &n_commands) != 3 || repetitions < 1 ||
        n_commands > MAX_COMMANDS)
        fail("specification: count");
    for (int c = 0; c < n_commands; c++)
        for (int w = 0; strcmp(commands[c][w] = next_line(f), "."); w++) {
            if (w == MAX_WORDS) fail("specification: a counting command is too long");
            if (!strcmp(commands[c][w], "PID")) snprintf(commands[c][w] = malloc(16), 16, "%d", (int)getpid());
        }
}

/* One order to the counting process, answered by "ack"; whether it was. */
static int order(const char *text)
{
    char answer[8] = "";
    return write(control_fd, text, strlen(text)) == (ssize_t)strlen(text) && read(ack_fd, answer, sizeof answer) > 0 &&
           !strncmp(answer, "ack", 3);
}

/* Starts a process that counts for this one and its threads, between the orders "enable" and "disable". */
static pid_t start_counting(char **words)
{
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC)) fail("memory: no pipe");
    pid_t child = fork();
    if (child < 0) fail("memory: no process");
    if (!child) {
        dup2(to[0], CONTROL_FD);
        dup2(from[1], ACK_FD);
        for (char **w = words; *w; w++)
            if (!strcmp(*w, ".")) *w = NULL;
        execvp(words[0], words);
        _exit(127);
    }
    close(to[0]), close(from[1]);
    control_fd = to[1], ack_fd = from[0];
    return child;
}

static int stop_counting(pid_t child)
{
    int status;
    kill(child, SIGINT); /* perf writes its counts, then ends by that signal: it knows no order for it */
    pid_t ended = waitpid(child, &status, 0);
    close(control_fd), close(ack_fd);
    return ended == child && (WIFEXITED(status) ? !WEXITSTATUS(status) : WTERMSIG(status) == SIGINT);
}

/* One list of seconds a command (or one list without any); a counting process that fails ends it. Nothing may stay in
 * the buffer of the result meanwhile: LIKWID starts processes of its own, which would write it once more. */
static void count_kernel(void)
{
    int lists = n_commands ? n_commands : 1, failed = -1;
    double *seconds = calloc((size_t)(lists * repetitions), sizeof *seconds);
    if (!seconds) fail("memory: cannot allocate the samples");
    signal(SIGPIPE, SIG_IGN);
    for (long i = 0; i < warmups; i++) {
        call();
        restore();
    }
    check_guards();
    pe_region(-1, 1);
    for (int c = 0; c < lists && failed < 0; c++)
        for (int i = 0; i < repetitions && failed < 0; i++) {
            pid_t child = n_commands ? start_counting(commands[c]) : 0;
            int counting = !child || order("enable\n");
            pe_region(i, 1);
            if (counting) seconds[c * repetitions + i] = fmax(call(), 0.1) * 1e-9;
            pe_region(i, 0);
            counting = counting && (!child || order("disable\n"));
            if (child && !(stop_counting(child) && counting)) failed = c;
            restore();
        }
    pe_region(-1, 0);
    check_guards();
    fprintf(result, "{\"failed\":%d,\"counted\":[", failed);
    for (long i = 0; i < lists * repetitions; i++)
        fprintf(result, "%s%.9e%s", i % repetitions ? "," : i ? ",[" : "[", seconds[i], (i + 1) % repetitions ? "" : "]");
    fputs("]", result);
    finish();
}

/* ---- checking ---- */

static const char magic[16] = "perfembed-ref 1";

static int is_output(const struct arg *a) { return a->written && a->compared; }

static void write_reference(double seconds)
{
    FILE *f = fopen(reference_path, "we");
    if (!f) fail("reference: cannot write: %s", strerror(errno));
    fwrite(magic, sizeof magic, 1, f);
    fwrite(inputs, 16, 1, f);
    for (int i = 0; i < n_args; i++)
        if (is_output(&args[i])) fwrite(args[i].data, 1, args[i].looked, f);
    if (ferror(f) | fclose(f)) fail("reference: cannot write: %s", strerror(errno));
    fprintf(result, "{\"samples\":[%.9e]", seconds);
    finish();
}

static void compare_with_reference(double seconds)
{
    size_t wanted = sizeof magic + 16, at = wanted;
    for (int i = 0; i < n_args; i++) wanted += is_output(&args[i]) ? args[i].looked : 0;
    struct stat status;
    int file = open(reference_path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status)) fail("reference: cannot open: %s", strerror(errno));
    if ((size_t)status.st_size != wanted) fail("reference: has another size than these arguments");
    const char *map = mmap(NULL, wanted, PROT_READ, MAP_PRIVATE, file, 0);
    if (map == MAP_FAILED) fail("memory: cannot map the reference");
    if (memcmp(map, magic, sizeof magic) || memcmp(map + sizeof magic, inputs, 16))
        fail("reference: is of other inputs");
    fputs("{\"differences\":[", result);
    int listed = 0;
    for (int i = 0; i < n_args; i++) {
        if (!is_output(&args[i])) continue;
        struct difference d = compare(&args[i], map + at, rel_tolerance, abs_tolerance);
        if (d.count) {
            char expected[64], actual[64];
            size_t byte = d.first * args[i].type->size;
            args[i].type->print(expected, map + at + byte);
            args[i].type->print(actual, args[i].data + byte);
            fprintf(result, "%s{\"arg\":%d,\"count\":%zu,\"first\":%zu,\"expected\":\"%s\",\"actual\":\"%s\",", listed++ ? "," : "",
                    i, d.count, d.first, expected, actual);
            fprintf(result, "\"absolute\":\"%a\",\"relative\":\"%a\"}", d.absolute, d.relative);
        }
        at += args[i].looked;
    }
    fprintf(result, "],\"samples\":[%.9e]", seconds);
    finish();
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    result_fd = atoi(argv[2]);
    result = fdopen(result_fd, "w");
    if (!result) return 2;
    read_specification(atoi(argv[1]));
    prepare();
    if (!strcmp(mode, "time")) time_kernel();
    if (!strcmp(mode, "count")) count_kernel();
    double seconds = fmax(call(), 0.1) * 1e-9;
    check_guards();
    for (int i = 0; i < n_args; i++)
        if (!args[i].written && args[i].hash != hash_bytes(args[i].data, args[i].looked)) {
            fprintf(result, "{\"modified\":%d", i);
            finish();
        }
    if (!strcmp(mode, "reference")) write_reference(seconds);
    compare_with_reference(seconds);
}
