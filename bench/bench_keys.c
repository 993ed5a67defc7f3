/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * bench_keys COUNT: writes COUNT lines of 16 hexadecimal digits, all different and in random order, to
 * standard output. It must be faster than the measured reader of the pipe: each line is a bijection of its
 * number, made eight digits at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY = 16, LINE = KEY + 1, LINES = 15000, PIPE = 1 << 20 };

static void need(int good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "bench_keys: %s\n", what);
    exit(2);
}

/* Every step is invertible, so all results differ. */
static uint64_t scatter(uint64_t x) {
    x = (x ^ x >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

/* The digits of 32 bits, the lowest first, one a byte. */
static uint64_t digits(uint64_t x) {
    x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
    x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x | x << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    uint64_t letters = (x + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
    return x + UINT64_C(0x3030303030303030) + letters * ('a' - '0' - 10);
}

static void write_all(const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        need(written > 0, strerror(errno));
        bytes += written;
        size -= (size_t)written;
    }
}

int main(int count, char **args) {
    static char buffer[LINES * LINE];
    char *end = NULL;
    uint64_t keys = count == 2 ? strtoull(args[1], &end, 10) : 0;
    need(end && end != args[1] && *end == '\0', "give how many");
    (void)fcntl(STDOUT_FILENO, F_SETPIPE_SZ,
                PIPE); /* fails without harm if the output is not a pipe, or the size is not allowed */
    for (uint64_t from = 0, batch; from < keys; from += batch) {
        batch = keys - from < LINES ? keys - from : LINES;
        char *pos = buffer;
        for (uint64_t i = from; i < from + batch; i++, pos += LINE) {
            uint64_t number = scatter(i), low = digits(number & 0xffffffff), high = digits(number >> 32);
            memcpy(pos, &low, sizeof low);
            memcpy(pos + sizeof low, &high, sizeof high);
            pos[KEY] = '\n';
        }
        write_all(buffer, (size_t)(pos - buffer));
    }
    return 0;
}
