/* Preloaded: counts and logs the allocations that the executable itself makes; PE_FAIL_AT makes one of them fail.

   PE_FAIL_AT: the number of the allocation (from 0), or "N+" for it and all behind it. PE_ALLOCATIONS: a file that
   the size of each is appended to, one a line. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static uintptr_t low, high;
static long fail_at = -1, count;
static int from_there, file = -1;

static int executable(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size, (void)data;
    low = UINTPTR_MAX;
    for (int k = 0; k < info->dlpi_phnum; k++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[k];
        if (h->p_type != PT_LOAD)
            continue;
        uintptr_t begin = info->dlpi_addr + h->p_vaddr, end = begin + h->p_memsz;
        low = begin < low ? begin : low;
        high = end > high ? end : high;
    }
    return 1; /* the first one is the executable */
}

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("PE_FAIL_AT"), *path = getenv("PE_ALLOCATIONS");
    if (at) {
        fail_at = atol(at);
        from_there = strchr(at, '+') != NULL;
    }
    if (path)
        file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dl_iterate_phdr(executable, NULL);
}

static int refused(void *caller, size_t bytes)
{
    if ((uintptr_t)caller < low || (uintptr_t)caller >= high)
        return 0;
    long number = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    if (file >= 0 && number < 10000) {
        char line[32];
        int length = snprintf(line, sizeof line, "%zu\n", bytes);
        if (write(file, line, length) != length)
            _exit(97);
    }
    if (fail_at < 0 || !(number == fail_at || (from_there && number > fail_at)))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes)
{
    return refused(__builtin_return_address(0), bytes) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes)
{
    return refused(__builtin_return_address(0), number * bytes) ? NULL : __libc_calloc(number, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return refused(__builtin_return_address(0), bytes) ? NULL : __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return refused(__builtin_return_address(0), bytes) ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **result, size_t alignment, size_t bytes)
{
    if (refused(__builtin_return_address(0), bytes))
        return ENOMEM;
    *result = __libc_memalign(alignment, bytes);
    return *result ? 0 : ENOMEM;
}
