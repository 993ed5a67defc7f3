/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * bench_stages FILE RECORDS: the lower bound for dedup: the least work with the lines of FILE, each step
 * as simple and fast as possible, on one thread. It knows the number of records, and its answers need not
 * be right. Each block of the file goes through these steps, in the second-level cache:
 *
 *     read   the bytes from the page cache
 *     split  find each newline; move the incomplete last line to the front of the next block
 *     hash   64 bits of each record
 *     touch  test and set two bits of one random cache line, 34 bits a record; lines are prefetched
 *     copy   copy records whose bits were not set, adjacent ones together, to a buffer; when it is full, write it
 *            to /dev/null
 *
 * Prints the seconds of the run and of each step, the number of records, the number copied, and the bytes
 * of the table.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    BLOCK = 256 << 10,
    BITS = 34,
    LINE = 64,
    WORDS = LINE / 8,
    PADDING = 64,
    AHEAD = 64,
    HUGE_PAGE = 2 << 20
};
enum { READ, SPLIT, HASH, TOUCH, COPY, STEPS };

__extension__ typedef unsigned __int128 wide;

static const char *const names[STEPS] = {"read", "split", "hash", "touch", "copy"};

typedef struct work {
    int in, out;
    char *text; /* BLOCK bytes: the rest of the block before, then new bytes */
    size_t left, filled;
    uint32_t *begins; /* offsets of the records in text, then the end of the last one */
    uint64_t *hashes;
    bool *absent;
    size_t count;
    uint64_t *table;
    uint64_t lines;
    char *copied;
    size_t used;
    uint64_t records, written;
    double seconds[STEPS];
} work;

static void need(bool good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "bench_stages: %s\n", what);
    exit(2);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool read_block(work *w) {
    ssize_t size = read(w->in, w->text + w->left, BLOCK - w->left);
    need(size >= 0, strerror(errno));
    w->filled = w->left + (size_t)size;
    return size > 0;
}

/* Bit i: byte i of 64 ends a line. */
static uint64_t newlines_in(const char *text) {
    uint64_t found = 0;
#ifdef __SSE2__
    const __m128i end = _mm_set1_epi8('\n');
    for (int i = 0; i < 4; i++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text + 16 * i));
        found |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, end)) << 16 * i;
    }
#else
    for (int i = 0; i < 64; i++)
        found |= (uint64_t)(text[i] == '\n') << i;
#endif
    return found;
}

static void split(work *w) {
    uint32_t *next = w->begins;
    *next++ = 0;
    memset(w->text + w->filled, 0, PADDING);
    for (size_t pos = 0; pos < w->filled; pos += 64)
        for (uint64_t found = newlines_in(w->text + pos); found != 0; found &= found - 1)
            *next++ = (uint32_t)pos + (uint32_t)__builtin_ctzll(found) + 1;
    w->count = (size_t)(next - w->begins) - 1;
    need(w->count > 0, "a line is longer than a block");
}

static uint64_t load(const char *pos) {
    uint64_t word;
    memcpy(&word, pos, sizeof word);
    return word;
}

static uint64_t fold(uint64_t a, uint64_t b) {
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Independent steps of 16 bytes. The last has no branch on the number of bytes. */
static uint64_t hash_of(const char *text, size_t size) {
    static const uint64_t kept[] = {0,          0xff,         0xffff,         0xffffff,
                                    0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff,
                                    UINT64_MAX}; /* the first bytes of eight */
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15), other = UINT64_C(0xbf58476d1ce4e5b9);
    uint64_t hash = factor * (size + 1);
    for (; size > 16; text += 16, size -= 16)
        hash += fold(load(text) ^ (factor + size), load(text + 8) ^ other);
    uint64_t low = load(text) & kept[size < 8 ? size : 8],
             high = load(text + 8) & kept[size < 8 ? 0 : size - 8];
    return fold(fold(low ^ hash, high ^ other), factor);
}

static void hash(work *w) {
    for (size_t i = 0; i < w->count; i++)
        w->hashes[i] = hash_of(w->text + w->begins[i], w->begins[i + 1] - w->begins[i] - 1);
}

static uint64_t *line_of(const work *w, uint64_t hashed) {
    return w->table + ((hashed >> 32) * w->lines >> 32) * WORDS;
}

static void touch(work *w) {
    for (size_t i = 0; i < AHEAD && i < w->count; i++)
        __builtin_prefetch(line_of(w, w->hashes[i]), 0, 2);
    for (size_t i = 0; i < w->count; i++) {
        uint64_t hashed = w->hashes[i];
        if (i + AHEAD < w->count)
            __builtin_prefetch(line_of(w, w->hashes[i + AHEAD]), 0, 2);
        uint64_t *word = line_of(w, hashed) + (hashed & 7);
        uint64_t bits = UINT64_C(1) << (hashed >> 3 & 63) | UINT64_C(1) << (hashed >> 9 & 63);
        w->absent[i] = (*word & bits) != bits;
        *word |= bits;
    }
}

static void write_copied(work *w) {
    need(write(w->out, w->copied, w->used) == (ssize_t)w->used, strerror(errno));
    w->used = 0;
}

static void copy(work *w) {
    for (size_t i = 0, end; i < w->count; i = end) {
        for (end = i; end < w->count && w->absent[end]; end++)
            ;
        size_t size = w->begins[end] - w->begins[i];
        if (w->used + size > BLOCK)
            write_copied(w);
        memcpy(w->copied + w->used, w->text + w->begins[i], size);
        w->used += size;
        w->written += end - i;
        for (; end < w->count && !w->absent[end]; end++)
            ;
    }
    w->records += w->count;
}

static void keep_rest(work *w) {
    size_t done = w->begins[w->count];
    w->left = w->filled - done;
    memmove(w->text, w->text + done, w->left);
}

/* Adds the time since *from to a step. */
static void lap(work *w, int step, double *from) {
    double then = *from;
    *from = now();
    w->seconds[step] += *from - then;
}

static void *make(size_t size) {
    void *memory = aligned_alloc(HUGE_PAGE, (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    need(memory != NULL, "out of memory");
    (void)madvise(memory, size, MADV_HUGEPAGE);
    return memory;
}

int main(int count, char **args) {
    work w = {0};
    need(count == 3, "give a file and how many records it has");
    double start = now(), from = start;
    w.in = open(args[1], O_RDONLY | O_CLOEXEC);
    w.out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    need(w.in >= 0 && w.out >= 0, strerror(errno));
    w.lines = strtoull(args[2], NULL, 10) * BITS / 8 / LINE + 1;
    need(w.lines < UINT64_C(1) << 32, "too many records");
    w.text = make(BLOCK + PADDING);
    w.copied = make(BLOCK);
    w.begins = make((BLOCK + 1) * sizeof *w.begins);
    w.hashes = make(BLOCK * sizeof *w.hashes);
    w.absent = make(BLOCK * sizeof *w.absent);
    w.table = make(w.lines * LINE);
    memset(w.table, 0, w.lines * LINE);
    lap(&w, TOUCH, &from); /* its page faults are part of the cost of a table */
    for (;;) {
        bool more = read_block(&w);
        lap(&w, READ, &from);
        if (!more)
            break;
        split(&w);
        lap(&w, SPLIT, &from);
        hash(&w);
        lap(&w, HASH, &from);
        touch(&w);
        lap(&w, TOUCH, &from);
        copy(&w);
        lap(&w, COPY, &from);
        keep_rest(&w);
        lap(&w, SPLIT, &from);
    }
    need(w.left == 0, "the last line has no end");
    write_copied(&w);
    printf("all %.9f\n", now() - start);
    for (int step = 0; step < STEPS; step++)
        printf("%s %.9f\n", names[step], w.seconds[step]);
    printf("records %" PRIu64 "\ncopied %" PRIu64 "\nbytes %" PRIu64 "\n", w.records, w.written,
           w.lines * LINE);
    return 0;
}
