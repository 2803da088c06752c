/* Writes the arrays and scalars of chosen nests to files, just before one call of each.
 *
 * perfembed_tables.h defines PE_NESTS, PE_WANTED (how many nests have a call to capture), PE_CAP (bytes
 * of one nest) and pe_nests[]. All allocations are recorded (-Wl,--wrap), so that the size of what a
 * pointer points to is known. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PE_UNKNOWN (~0ULL)
enum { ALIGN = 64 };

struct pe_box {
    long from[2], to[2], step[2];
};

struct pe_object {
    unsigned long long bytes; /* PE_UNKNOWN: as far as the allocation goes, in whole rows */
    unsigned long long row;
    unsigned long long sure; /* so many bytes are certainly used */
    int pointer;             /* the size of what it points to is looked up */
    int unread;              /* what it holds before does not matter */
    int levels, boxes;       /* it is reached through so many levels of tables of pointers, by these boxes of them */
    const struct pe_box *box;
    long first, end; /* bytes used of a row */
    long table[2];   /* how many pointers the tables have */
};

struct pe_nest {
    unsigned long long call; /* from 1; 0: never */
    int values, objects, after;
    const long long *wanted; /* the first call with these values instead; 0: any */
    const struct pe_object *object;
    const char *data, *outputs, *report;
};

#include "perfembed_tables.h"

/* ---- allocations: an open hash table of base and size, base 1 where one was removed ---- */

struct block {
    uintptr_t base;
    size_t size;
};

static struct block *blocks;
static size_t room, used;
static volatile int lock;

static void acquire(void)
{
    while (__sync_lock_test_and_set(&lock, 1)) {
    }
}

static void release(void) { __sync_lock_release(&lock); }

static struct block *slot_of(struct block *table, size_t size, uintptr_t base)
{
    size_t at = (size_t)((base >> 4) * 0x9E3779B97F4A7C15u) & (size - 1);
    while (table[at].base && table[at].base != base) at = (at + 1) & (size - 1);
    return &table[at];
}

static void grow(void)
{
    size_t kept = 0, bigger;
    for (size_t i = 0; i < room; i++) kept += blocks[i].base > 1;
    bigger = room < 1 << 16 ? 1 << 16 : kept > room / 4 ? room * 2 : room; /* else only removed ones fill it */
    struct block *table =
        mmap(NULL, bigger * sizeof *table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED) return;
    for (size_t i = 0; i < room; i++)
        if (blocks[i].base > 1) *slot_of(table, bigger, blocks[i].base) = blocks[i];
    if (blocks) munmap(blocks, room * sizeof *blocks);
    blocks = table;
    room = bigger;
    used = kept;
}

static void *record(void *base, size_t size)
{
    if (!base) return base;
    acquire();
    if (used >= room / 2) grow();
    if (used + 1 < room) {
        struct block *slot = slot_of(blocks, room, (uintptr_t)base);
        used += !slot->base;
        slot->base = (uintptr_t)base;
        slot->size = size;
    }
    release();
    return base;
}

/* The size it was recorded with, 0 if it was not. */
static size_t forget(void *base)
{
    size_t size = 0;
    if (!base) return 0;
    acquire();
    if (room) {
        struct block *slot = slot_of(blocks, room, (uintptr_t)base);
        if (slot->base) {
            size = slot->size;
            slot->base = 1;
        }
    }
    release();
    return size;
}

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__real_aligned_alloc(size_t, size_t);
void *__real_memalign(size_t, size_t);
int __real_posix_memalign(void **, size_t, size_t);
void __real_free(void *);

void *__wrap_malloc(size_t size) { return record(__real_malloc(size), size); }
void *__wrap_calloc(size_t n, size_t size) { return record(__real_calloc(n, size), n * size); }
void *__wrap_aligned_alloc(size_t to, size_t size) { return record(__real_aligned_alloc(to, size), size); }
void *__wrap_memalign(size_t to, size_t size) { return record(__real_memalign(to, size), size); }

void *__wrap_realloc(void *old, size_t size)
{
    size_t before = forget(old);
    void *moved = __real_realloc(old, size);
    if (!moved && size) record(old, before); /* it failed: the old block stays */
    return record(moved, size);
}

int __wrap_posix_memalign(void **out, size_t to, size_t size)
{
    int failed = __real_posix_memalign(out, to, size);
    if (!failed) record(*out, size);
    return failed;
}

void __wrap_free(void *base)
{
    forget(base);
    __real_free(base);
}

/* ---- objects of the program itself: its symbol table ---- */

static int first_base(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    *(uintptr_t *)out = info->dlpi_addr;
    return 1; /* the first entry is the program */
}

/* The end of the static object that holds the address; 0 where there is none. */
static uintptr_t static_end(uintptr_t address)
{
    uintptr_t base = 0, found = 0;
    struct stat status;
    dl_iterate_phdr(first_base, &base);
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    if (!fstat(file, &status)) {
        char *map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (map != MAP_FAILED) {
            const ElfW(Ehdr) *head = (const void *)map;
            const ElfW(Shdr) *sections = (const void *)(map + head->e_shoff);
            for (int s = 0; s < head->e_shnum; s++) {
                if (sections[s].sh_type != SHT_SYMTAB) continue;
                const ElfW(Sym) *symbols = (const void *)(map + sections[s].sh_offset);
                for (size_t i = 0; i < sections[s].sh_size / sizeof *symbols; i++) {
                    uintptr_t start = base + symbols[i].st_value, end = start + symbols[i].st_size;
                    if ((symbols[i].st_info & 15) == STT_OBJECT && start <= address && address < end) found = end;
                }
            }
            munmap(map, (size_t)status.st_size);
        }
    }
    close(file);
    return found;
}

/* Bytes from the address to the end of what it lies in; PE_UNKNOWN where nothing is known. */
static unsigned long long bytes_left(uintptr_t address)
{
    unsigned long long left = PE_UNKNOWN;
    acquire();
    for (size_t i = 0; i < room; i++)
        if (blocks[i].base > 1 && blocks[i].base <= address && address - blocks[i].base < blocks[i].size)
            left = blocks[i].base + blocks[i].size - address;
    release();
    if (left == PE_UNKNOWN) {
        uintptr_t end = static_end(address);
        if (end) left = end - address;
    }
    return left;
}

/* ---- writing ---- */

static __thread int is_main_thread;
static unsigned long long calls[PE_NESTS + 1];
static int done;

static struct snapshot {
    uintptr_t address;
    unsigned long long bytes, known;
    size_t rows; /* that are used */
    struct pe_row {
        uintptr_t address;
        long at; /* in the table */
        unsigned long long offset;
    } *row;
} *current[PE_NESTS + 1];

__attribute__((constructor)) static void start(void) { is_main_thread = 1; }

int perfembed_due(int k, const long long *values)
{
    const struct pe_nest *n = &pe_nests[k];
    if (!is_main_thread) return 0;
    if (!n->wanted) return ++calls[k] == n->call;
    if (calls[k] || memcmp(values, n->wanted, sizeof *values * (size_t)n->values)) return 0;
    calls[k] = n->call;
    return 1;
}

/* Straight from the program's memory: what is not mapped is an error of write, not a crash. Returns the
 * bytes written. */
static unsigned long long write_all(int file, uintptr_t from, unsigned long long bytes, unsigned long long at)
{
    unsigned long long written = 0;
    errno = 0;
    while (written < bytes) {
        unsigned long long left = bytes - written;
        ssize_t n = pwrite(file, (const void *)(from + written), left < 1 << 30 ? left : 1 << 30, (off_t)(at + written));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        written += (unsigned long long)n;
    }
    return written;
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = ((const struct pe_row *)a)->address, y = ((const struct pe_row *)b)->address;
    return (x > y) - (x < y);
}

static const char *follow(const void *table, long k)
{
    const char *row;
    memcpy(&row, (const char *)table + k * (long)sizeof row, sizeof row);
    return row;
}

/* The rows of an object, and where they lie in the block they are written to: as they do, with large gaps cut. */
static int find_rows(const struct pe_object *o, struct snapshot *s, const void *table)
{
    size_t count = 0;
    unsigned long long width = (unsigned long long)(o->end - o->first), offset = 0;
    for (int b = 0; b < o->boxes; b++) {
        size_t n = 1;
        for (int l = 0; l < o->levels; l++) n *= (size_t)((o->box[b].to[l] - o->box[b].from[l]) / o->box[b].step[l] + 1);
        count += n;
    }
    s->row = malloc(count * sizeof *s->row);
    if (!s->row) return 0;
    for (int b = 0; b < o->boxes; b++)
        for (long i = o->box[b].from[0]; i <= o->box[b].to[0]; i += o->box[b].step[0]) {
            const char *next = follow(table, i);
            if (o->levels == 1) {
                s->row[s->rows++] = (struct pe_row){(uintptr_t)next + (uintptr_t)o->first, i, 0};
                continue;
            }
            for (long j = o->box[b].from[1]; j <= o->box[b].to[1]; j += o->box[b].step[1])
                s->row[s->rows++] =
                    (struct pe_row){(uintptr_t)follow(next, j) + (uintptr_t)o->first, i * o->table[1] + j, 0};
        }
    qsort(s->row, s->rows, sizeof *s->row, by_address);
    for (size_t r = 1; r < s->rows; r++) {
        unsigned long long apart = s->row[r].address - s->row[r - 1].address;
        if (apart > width + 8192) apart = width + (apart - width) % 4096;
        offset += apart;
        s->row[r].offset = offset;
        if (apart % o->row) return 0;
    }
    s->address = s->row[0].address;
    s->bytes = s->known = offset + width;
    return 1;
}

/* The table of an object with rows, for perfembed/capture/rows.py, and behind it the addresses of the rows. */
static int write_places(
    int file, int i, const struct pe_object *o, const struct snapshot *s, unsigned long long *at, FILE *report)
{
    size_t places = (size_t)o->levels;
    for (int l = 0, n = 1; l < o->levels; l++) places = (size_t)o->levels + (n *= (int)o->table[l]);
    long *out = calloc(places + s->rows, sizeof *out);
    if (!out) return 0;
    for (int l = 0; l < o->levels; l++) out[l] = o->table[l];
    for (size_t r = 0; r < s->rows; r++) {
        out[(size_t)o->levels + (size_t)s->row[r].at] = (long)s->row[r].offset - o->first;
        out[places + r] = (long)s->row[r].address;
    }
    unsigned long long bytes = (places + s->rows) * sizeof *out;
    int good = write_all(file, (uintptr_t)out, bytes, *at) == bytes;
    free(out);
    fprintf(report, "rows %d %zu %zu %ld %llu\n", i, places, s->rows, o->end - o->first, *at);
    *at += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return good;
}

/* One file with all objects one after the other; 1 where it worked. */
static int write_objects(const char *path, const struct pe_nest *n, struct snapshot *s, int before, FILE *report)
{
    unsigned long long at = 0;
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) {
        fprintf(report, "failed write 0 %d\n", errno);
        return 0;
    }
    for (int i = 0; i < n->objects; i++) {
        if (before && n->object[i].unread) {
            fprintf(report, "object %llu %llu %llu %llu\n", (unsigned long long)s[i].address, s[i].bytes, s[i].known, at);
            continue;
        }
        if (n->object[i].levels) {
            unsigned long long width = (unsigned long long)(n->object[i].end - n->object[i].first);
            for (size_t r = 0; r < s[i].rows; r++)
                if (write_all(file, s[i].row[r].address, width, at + s[i].row[r].offset) < width) {
                    fprintf(report, "failed %s %d %d\n", errno == EFAULT ? "unmapped" : "write", i, errno);
                    close(file);
                    return 0;
                }
            fprintf(report, "object %llu %llu %llu %llu\n", (unsigned long long)s[i].address, s[i].bytes, s[i].known, at);
            at += (s[i].bytes + ALIGN - 1) / ALIGN * ALIGN;
            continue;
        }
        unsigned long long written = write_all(file, s[i].address, s[i].known, at);
        if (written < s[i].known && (errno != EFAULT || written < n->object[i].sure)) {
            fprintf(report, "failed %s %d %d\n", errno == EFAULT ? "unmapped" : "write", i, errno);
            close(file);
            return 0;
        }
        s[i].known = written;
        fprintf(report, "object %llu %llu %llu %llu\n", (unsigned long long)s[i].address, s[i].bytes, s[i].known, at);
        at += (s[i].bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    for (int i = 0; before && i < n->objects; i++)
        if (n->object[i].levels && !write_places(file, i, &n->object[i], &s[i], &at, report)) {
            fprintf(report, "failed write %d %d\n", i, errno);
            close(file);
            return 0;
        }
    int good = !ftruncate(file, (off_t)at);
    if (!good) fprintf(report, "failed write 0 %d\n", errno);
    close(file);
    return good;
}

static int measure(int k, const void *const *addresses, FILE *report)
{
    const struct pe_nest *n = &pe_nests[k];
    unsigned long long total = 0;
    for (int i = 0; i < n->objects; i++) {
        const struct pe_object *o = &n->object[i];
        struct snapshot *s = &current[k][i];
        if (o->levels) {
            if (!find_rows(o, s, addresses[i])) {
                fprintf(report, "failed rows %d 0\n", i);
                return 0;
            }
            total += s->bytes;
            continue;
        }
        s->address = (uintptr_t)addresses[i];
        unsigned long long left = o->pointer ? s->address ? bytes_left(s->address) : 0 : PE_UNKNOWN;
        s->bytes = o->bytes == PE_UNKNOWN && left != PE_UNKNOWN ? left / o->row * o->row : o->bytes;
        s->known = left < s->bytes ? left : s->bytes;
        if (s->bytes == PE_UNKNOWN || s->bytes == 0) {
            fprintf(report, "failed %s %d 0\n", s->address ? "unknown" : "null", i);
            return 0;
        }
        if (left < o->sure) {
            fprintf(report, "failed outside %d %llu\n", i, left);
            return 0;
        }
        total += s->bytes;
    }
    if (total > PE_CAP) fprintf(report, "failed large 0 %llu\n", total);
    return total <= PE_CAP;
}

static void finish(FILE *report)
{
    fputs("end\n", report);
    fclose(report);
    if (++done == PE_WANTED) _exit(0);
}

void perfembed_before(int k, const long long *values, const void *const *addresses)
{
    const struct pe_nest *n = &pe_nests[k];
    FILE *report = fopen(n->report, "w");
    if (!report) _exit(121);
    fputs("values", report);
    for (int i = 0; i < n->values; i++) fprintf(report, " %lld", values[i]);
    fputc('\n', report);
    current[k] = calloc((size_t)n->objects + 1, sizeof **current);
    int good = current[k] && measure(k, addresses, report) && write_objects(n->data, n, current[k], 1, report);
    if (n->after && good) {
        fclose(report);
        return;
    }
    for (int i = 0; current[k] && i < n->objects; i++) free(current[k][i].row);
    free(current[k]);
    current[k] = NULL;
    finish(report);
}

void perfembed_after(int k)
{
    const struct pe_nest *n = &pe_nests[k];
    if (!n->after || !is_main_thread || calls[k] != n->call || !current[k]) return;
    FILE *report = fopen(n->report, "a");
    if (!report) _exit(121);
    fputs("after\n", report);
    write_objects(n->outputs, n, current[k], 0, report);
    for (int i = 0; current[k] && i < n->objects; i++) free(current[k][i].row);
    free(current[k]);
    current[k] = NULL;
    finish(report);
}

void perfembed_leave(const int *nest) { perfembed_after(*nest); }
