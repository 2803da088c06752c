/* Runs one program and leaves nothing behind: no survivor, no process beyond its limits.
 *
 *   supervisor CONTROL WALL_MS MEMORY CPU_S FILE STACK PROCESSES FOLDERS [FOLDER...] PROGRAM [ARGUMENT...]
 *
 * FOLDERS is how many folders follow outside of which it can change no file (Landlock, where the kernel has it);
 * -1: it may change everything.
 *
 * The supervisor is the subreaper of everything the program starts, so that a daemonized grandchild
 * comes back to it and is killed too. It stops at the wall limit, when the tree of processes holds
 * more memory or more processes than allowed, and when its parent closes the CONTROL socket.
 * At the end it sends one line on CONTROL:
 *   STATUS WALL_NS USER_US SYSTEM_US MAX_RSS_KIB REASON SURVIVORS EXEC_ERRNO
 * A limit of 0 means none. Reasons: see the enumeration. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ENDED, WALL, MEMORY, PROCESSES, CANCELLED };
enum { TICK_MS = 100 };

static pid_t *queue;
static size_t queued, room;

static void enqueue(pid_t pid)
{
    for (size_t i = 0; i < queued && queued < 4096; i++)
        if (queue[i] == pid) return;
    if (queued == room) {
        size_t wanted = room ? 2 * room : 256;
        pid_t *bigger = realloc(queue, wanted * sizeof *queue);
        if (!bigger) return; /* the next pass finds the rest */
        queue = bigger;
        room = wanted;
    }
    queue[queued++] = pid;
}

/* For kernels without /proc/PID/task/TID/children: look at the parent of every process. */
static void enqueue_children_by_scan(pid_t parent)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    while (proc && (entry = readdir(proc))) {
        char path[300], line[512], *end;
        int pid = atoi(entry->d_name), ppid;
        if (pid <= 0) continue;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        FILE *stat = fopen(path, "re");
        if (!stat) continue;
        if (fgets(line, sizeof line, stat) && (end = strrchr(line, ')')) && sscanf(end + 1, " %*c %d", &ppid) == 1 &&
            ppid == parent)
            enqueue(pid);
        fclose(stat);
    }
    if (proc) closedir(proc);
}

static void enqueue_children(pid_t parent)
{
    static int have_children_files = -1;
    char path[300];
    if (have_children_files < 0) have_children_files = access("/proc/thread-self/children", R_OK) == 0;
    if (!have_children_files) {
        enqueue_children_by_scan(parent);
        return;
    }
    snprintf(path, sizeof path, "/proc/%d/task", parent);
    DIR *tasks = opendir(path);
    struct dirent *entry;
    while (tasks && (entry = readdir(tasks))) {
        int pid;
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", parent, entry->d_name);
        FILE *children = fopen(path, "re");
        if (!children) continue;
        while (fscanf(children, "%d", &pid) == 1) enqueue(pid);
        fclose(children);
    }
    if (tasks) closedir(tasks);
}

/* Every descendant once, parents first; each one gets the signal as soon as it is found. */
static void list_descendants(int signal_each)
{
    queued = 0;
    enqueue_children(getpid());
    for (size_t i = 0; i < queued; i++) {
        enqueue_children(queue[i]);
        if (signal_each) kill(queue[i], signal_each);
    }
}

static long long resident_bytes(void)
{
    long long pages = 0, resident;
    for (size_t i = 0; i < queued; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/statm", queue[i]);
        FILE *statm = fopen(path, "re");
        if (!statm) continue;
        if (fscanf(statm, "%*d %lld", &resident) == 1) pages += resident;
        fclose(statm);
    }
    return pages * sysconf(_SC_PAGESIZE);
}

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Never more than this process may use itself; but a stack may grow as far as it is allowed to. */
static void limit(int what, long long soft, long long hard)
{
    struct rlimit old, new = {(rlim_t)soft, (rlim_t)hard};
    if (getrlimit(what, &old)) return;
    if (what != RLIMIT_STACK && old.rlim_cur != RLIM_INFINITY && new.rlim_cur > old.rlim_cur) new.rlim_cur = old.rlim_cur;
    if (old.rlim_max != RLIM_INFINITY && new.rlim_max > old.rlim_max) new.rlim_max = old.rlim_max;
    if (new.rlim_cur > new.rlim_max) new.rlim_cur = new.rlim_max;
    setrlimit(what, &new);
}

static void close_other_files(int keep1, int keep2, int keep3)
{
    int files[4096], n = 0;
    DIR *open_files = opendir("/proc/self/fd");
    struct dirent *entry;
    while (open_files && (entry = readdir(open_files)) && n < 4096)
        if (entry->d_name[0] != '.') files[n++] = atoi(entry->d_name);
    if (open_files) closedir(open_files);
    for (int i = 0; i < n; i++)
        if (files[i] != keep1 && files[i] != keep2 && files[i] != keep3) close(files[i]);
}

/* Landlock without its header, which older systems lack; the numbers are those of every architecture. */
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, BENEATH = 1 };
#define WRITE_FILE (1ULL << 1)
#define CHANGES 0x1ff0ULL /* make and remove files, folders, links, pipes, sockets, devices */
#define REFER (1ULL << 13) /* move between folders; of version 2 */
#define TRUNCATE (1ULL << 14) /* of version 3 */

static void confine(int count, char **folders)
{
    long version = syscall(CREATE_RULESET, NULL, 0, 1);
    if (version < 1) return;
    unsigned long long handled = WRITE_FILE | CHANGES;
    if (version >= 2) handled |= REFER;
    if (version >= 3) handled |= TRUNCATE;
    int rules = (int)syscall(CREATE_RULESET, &handled, sizeof handled, 0);
    if (rules < 0) return;
    for (int i = 0; i < count; i++) {
        struct __attribute__((packed)) {
            unsigned long long allowed;
            int folder;
        } rule = {handled, open(folders[i], O_PATH | O_CLOEXEC)};
        if (rule.folder < 0) continue;
        if (syscall(ADD_RULE, rules, BENEATH, &rule, 0)) { /* a file has no files in it to make or remove */
            rule.allowed &= WRITE_FILE | TRUNCATE;
            syscall(ADD_RULE, rules, BENEATH, &rule, 0);
        }
        close(rule.folder);
    }
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(RESTRICT_SELF, rules, 0)) _exit(127);
    close(rules);
}

int main(int argc, char **argv)
{
    if (argc < 10) return 2;
    int control = atoi(argv[1]), failure[2], exec_errno = 0, reason = ENDED, status = 0, child_done = 0;
    long long wall_ms = atoll(argv[2]), memory = atoll(argv[3]), cpu_s = atoll(argv[4]), file = atoll(argv[5]);
    long long stack = atoll(argv[6]), processes = atoll(argv[7]), survivors = 0;
    int folders = atoi(argv[8]);
    char **program = argv + 9 + (folders > 0 ? folders : 0);
    struct rusage usage = {0}, one;
    sigset_t handled, before;

    fcntl(control, F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigemptyset(&handled);
    sigaddset(&handled, SIGCHLD);
    sigaddset(&handled, SIGTERM);
    sigaddset(&handled, SIGINT);
    sigaddset(&handled, SIGHUP);
    sigprocmask(SIG_BLOCK, &handled, &before);
    int signals = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0 || pipe2(failure, O_CLOEXEC)) return 2;

    pid_t self = getpid();
    long long start = now_ns(), end = start, deadline = wall_ms ? start + wall_ms * 1000000 : 0;
    pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) {
        setsid();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != self) _exit(127);
        limit(RLIMIT_CORE, 0, 0);
        if (stack) limit(RLIMIT_STACK, stack, stack);
        if (cpu_s) limit(RLIMIT_CPU, cpu_s, cpu_s + 1);
        if (file) limit(RLIMIT_FSIZE, file, file);
        if (memory) limit(RLIMIT_AS, memory, memory);
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (folders >= 0) confine(folders, argv + 9);
        execvp(program[0], program);
        exec_errno = errno;
        if (write(failure[1], &exec_errno, sizeof exec_errno) < 0) _exit(126);
        _exit(127);
    }
    close(failure[1]);
    setpriority(PRIO_PROCESS, 0, -10); /* where that is allowed: stay ahead of a crowd of children */
    close_other_files(control, signals, failure[0]);
    if (read(failure[0], &exec_errno, sizeof exec_errno) != sizeof exec_errno) exec_errno = 0;
    close(failure[0]);

    long long next_tick = start + TICK_MS * 1000000LL;
    while (!child_done && reason == ENDED) {
        long long wake = deadline && deadline < next_tick ? deadline : next_tick, now = now_ns();
        struct pollfd watched[2] = {{signals, POLLIN, 0}, {control, POLLIN, 0}};
        poll(watched, 2, wake > now ? (int)((wake - now + 999999) / 1000000) : 0);
        struct signalfd_siginfo info;
        while (read(signals, &info, sizeof info) == sizeof info)
            if (info.ssi_signo != SIGCHLD) reason = CANCELLED;
        if (watched[1].revents) reason = CANCELLED;
        pid_t pid;
        int code;
        while ((pid = wait4(-1, &code, WNOHANG, &one)) > 0)
            if (pid == child) {
                end = now_ns();
                child_done = 1;
                status = code;
                usage = one;
            }
        now = now_ns();
        if (child_done || reason != ENDED) break;
        if (deadline && now >= deadline) reason = WALL;
        else if (now >= next_tick) {
            next_tick = now + TICK_MS * 1000000LL;
            list_descendants(0);
            if (processes && (long long)queued > processes) reason = PROCESSES;
            else if (memory && resident_bytes() > memory) reason = MEMORY;
        }
    }
    if (!child_done) {
        end = now_ns();
        kill(-child, SIGKILL); /* its whole group at once: a fork bomb cannot outrun this */
        kill(child, SIGKILL);
    }
    for (;;) { /* until nothing is left to wait for, that is, until every descendant is dead */
        int code;
        pid_t pid = wait4(-1, &code, WNOHANG, &one);
        if (pid < 0 && errno == ECHILD) break;
        if (pid > 0) {
            if (pid == child) {
                status = code;
                usage = one;
            } else
                survivors++;
            continue;
        }
        list_descendants(SIGKILL);
        struct pollfd sleeping = {signals, POLLIN, 0};
        struct signalfd_siginfo info;
        poll(&sleeping, 1, 1);
        while (read(signals, &info, sizeof info) == sizeof info) continue;
    }
    char line[256];
    int length = snprintf(line, sizeof line, "%d %lld %lld %lld %ld %d %lld %d\n", status, end - start,
                          usage.ru_utime.tv_sec * 1000000LL + usage.ru_utime.tv_usec,
                          usage.ru_stime.tv_sec * 1000000LL + usage.ru_stime.tv_usec, usage.ru_maxrss, reason,
                          survivors, exec_errno);
    return send(control, line, (size_t)length, MSG_NOSIGNAL) == length ? 0 : 2;
}
