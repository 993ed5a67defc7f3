/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis bitmap get and set: single bits of a plain bitmap.
 *
 *     operands, or lines of standard input --> OFFSET or OFFSET=0|1 --> batches --> old bits, in order
 *
 * The lines are read by this file and not by the stream: a batch is answered as soon as the input pauses.
 */
#include "cli/cmd/bitmap/bitmap.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- lines of standard input ---- */

/*
 * Lines of standard input, of any bytes and any length. The buffer grows to the longest line.
 *
 *     | returned lines | incomplete line, no newline | bytes not searched yet | free |
 *     0                start                         scan                     end    allocated
 *
 * Initialise with zeros.
 */
typedef struct bitmap_lines {
    char *buffer; /* malloc */
    size_t allocated;
    size_t start; /* offset of the first line not returned yet */
    size_t scan;  /* offset where the search for a newline continues */
    size_t end;   /* offset after the bytes read */
    bool ended;   /* read() reached the end of the input */
} bitmap_lines;

enum { CAPACITY_MIN = 1 << 16 };

/* Moves the remaining bytes to the front. If they begin there and fill the buffer, doubles the buffer. */
static tamis_status reserve_space(bitmap_lines *lines, tamis_error *err) {
    const size_t allocated = lines->allocated > 0 ? 2 * lines->allocated : CAPACITY_MIN;

    if (lines->start > 0) {
        memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
        lines->scan -= lines->start;
        lines->end -= lines->start;
        lines->start = 0;
        return TAMIS_OK;
    }
    if (lines->end < lines->allocated)
        return TAMIS_OK;
    char *grown = realloc(lines->buffer, allocated);
    if (!grown)
        return cli_fail(err,
                        "standard input: no memory for a line of more than %zu bytes; free some, or check "
                        "what ends the lines",
                        lines->allocated);
    lines->buffer = grown;
    lines->allocated = allocated;
    return TAMIS_OK;
}

static tamis_status read_more(bitmap_lines *lines, tamis_error *err) {
    char why[80];

    for (;;) {
        const ssize_t got = read(STDIN_FILENO, lines->buffer + lines->end, lines->allocated - lines->end);
        if (got >= 0) {
            lines->end += (size_t)got;
            lines->ended = got == 0;
            return TAMIS_OK;
        }
        if (errno == EAGAIN) {
            struct pollfd wait = {STDIN_FILENO, POLLIN, 0};
            poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            return cli_fail(err, "standard input: %s; give keys as operands, or another input",
                            cli_errno_text(why, sizeof why, errno));
        }
    }
}

/* Removes whole lines from the front. At the end of the input the rest is a line too. Returns their
 * number. */
static size_t remove_lines(bitmap_lines *lines, tamis_key *keys, size_t capacity) {
    size_t count = 0;

    while (count < capacity && lines->scan < lines->end) {
        char *line = lines->buffer + lines->start;
        char *newline = memchr(lines->buffer + lines->scan, '\n', lines->end - lines->scan);
        if (!newline) {
            lines->scan = lines->end;
            break;
        }
        keys[count++] = (tamis_key){line, (size_t)(newline - line)};
        lines->start = lines->scan = (size_t)(newline - lines->buffer) + 1;
    }
    if (count == 0 && lines->ended && lines->start < lines->end) {
        keys[count++] = (tamis_key){lines->buffer + lines->start, lines->end - lines->start};
        lines->start = lines->end;
    }
    return count;
}

/*
 * Returns the next lines without their newlines, at most `capacity`. One call returns no more lines than one
 * read() brought, so a line that arrives alone is answered at once. *count is 0 at the end of the input. The
 * caller may change the bytes; they are valid until the next call.
 */
static tamis_status next_lines(bitmap_lines *lines, tamis_key *keys, size_t capacity, size_t *count,
                               tamis_error *err) {
    while ((*count = remove_lines(lines, keys, capacity)) == 0 && !lines->ended)
        if (reserve_space(lines, err) != TAMIS_OK || read_more(lines, err) != TAMIS_OK)
            return err->status;
    return TAMIS_OK;
}

/* ---- a run ---- */

enum { BATCH = 4096 };

typedef struct bits_run {
    tamis_redis_bitmap *bitmap;
    bool sets;
    bool quiet;
    uint64_t done;                      /* bits set or read so far */
    uint64_t lines;                     /* lines of input before the current ones */
    size_t count;                       /* bits in the batch */
    uint64_t offsets[BATCH];            /* batch: offsets of the bits */
    uint8_t values[BATCH], bits[BATCH]; /* batch: new values, and the bits read or replaced */
    char rows[2 * BATCH];               /* output lines of a batch */
    bitmap_lines input;
} bits_run;

/* ---- operands ---- */

/* A bit of a bitmap. */
typedef struct bit {
    uint64_t offset;
    uint8_t value; /* new value */
} bit;

/* Parses OFFSET, OFFSET=0 or OFFSET=1. `where` begins the error message: "line 7: ", or "" for an operand. */
static tamis_status read_bit(const bits_run *run, const char *where, tamis_key text, bit *to,
                             tamis_error *err) {
    const char *pos = text.data, *end = pos + text.size;
    char shown[64];

    snprintf(shown, sizeof shown, "%.*s", (int)(text.size < 40 ? text.size : 40), pos);
    *to = (bit){.value = 1};
    if (run->sets && text.size > 2 && end[-2] == '=' && (end[-1] == '0' || end[-1] == '1')) {
        to->value = end[-1] == '1';
        end -= 2;
    }
    for (; pos < end && *pos >= '0' && *pos <= '9'; pos++)
        if (to->offset < TAMIS_REDIS_BITMAP_BITS_MAX)
            to->offset = to->offset * 10 + (uint64_t)(*pos - '0');
    if (pos < end || text.size == 0)
        return cli_fail(err, "bitmap: %s'%s' is not an offset; give a whole number from 0 to 4294967295%s",
                        where, shown, run->sets ? "; =0 or =1 may follow it" : "");
    if (to->offset >= TAMIS_REDIS_BITMAP_BITS_MAX)
        return cli_fail(err,
                        "bitmap: %soffset '%s' is past 4294967295, the last bit (of 2^32) that a Redis keeps "
                        "under a key; split the bitmap over several keys",
                        where, shown);
    return TAMIS_OK;
}

static tamis_status check_operands(const bits_run *run, char *const *operands, size_t count,
                                   tamis_error *err) {
    bit ignored;

    for (size_t i = 0; i < count; i++)
        if (strcmp(operands[i], "-") != 0 &&
            read_bit(run, "", (tamis_key){operands[i], strlen(operands[i])}, &ignored, err) != TAMIS_OK)
            return err->status;
    return TAMIS_OK;
}

/* ---- batches ---- */

/* Adds to the error of a failed run how many bits were set. */
static void report_done(const bits_run *run, tamis_error *err) {
    const size_t used = strlen(err->text);

    if (run->sets && run->done > 0)
        snprintf(err->text + used, sizeof err->text - used, " (the first %" PRIu64 " were set)", run->done);
}

/* Sends the batch and prints the bits. */
static tamis_status answer_batch(bits_run *run, tamis_error *err) {
    size_t done = 0;
    tamis_status status =
        run->sets
            ? tamis_redis_bitmap_set(run->bitmap, &(tamis_redis_bits){run->offsets, run->values, run->count},
                                     run->bits, &done, err)
            : tamis_redis_bitmap_get(run->bitmap, run->offsets, run->count, run->bits, &done, err);
    tamis_status code = TAMIS_OK;

    run->done += done;
    run->count = 0;
    for (size_t i = 0; i < done; i++) {
        run->rows[2 * i] = run->bits[i] == TAMIS_REDIS_BIT_UNKNOWN ? '?' : (char)('0' + run->bits[i]);
        run->rows[2 * i + 1] = '\n';
    }
    if (!run->quiet)
        code = cli_output_write(run->rows, 2 * done, err);
    return status == TAMIS_OK || code != TAMIS_OK ? code : err->status;
}

static tamis_status buffer_bit(bits_run *run, const char *where, tamis_key text, tamis_error *err) {
    bit added;

    if (read_bit(run, where, text, &added, err) != TAMIS_OK)
        return err->status;
    run->offsets[run->count] = added.offset;
    run->values[run->count++] = added.value;
    return run->count == BATCH ? answer_batch(run, err) : TAMIS_OK;
}

/* Processes the lines of standard input. Sends a batch when it is full or when no further line has arrived,
 * so each line that arrives alone is answered at once. */
static tamis_status answer_lines(bits_run *run, tamis_error *err) {
    tamis_key lines[BATCH];
    size_t count;
    tamis_status status;

    do {
        status = next_lines(&run->input, lines, BATCH, &count, err);
        if (status != TAMIS_OK)
            cli_remedy(err, "give offsets as operands, or another input");
        for (size_t i = 0; i < count && status == TAMIS_OK; i++) {
            char where[40];
            snprintf(where, sizeof where, "line %" PRIu64 ": ", run->lines + i + 1);
            status = buffer_bit(run, where, lines[i], err);
        }
        run->lines += count;
        if (run->count > 0) {
            tamis_error other = TAMIS_ERROR_INIT;
            const tamis_status answered = answer_batch(run, status == TAMIS_OK ? err : &other);
            if (answered != TAMIS_OK && status != TAMIS_OK)
                *err = other;
            status = answered != TAMIS_OK ? answered : status;
        }
    } while (status == TAMIS_OK && count > 0);
    return status;
}

static tamis_status answer_all(bits_run *run, char *const *operands, size_t count, tamis_error *err) {
    tamis_status status = check_operands(run, operands, count, err);

    if (count == 0)
        return answer_lines(run, err);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++)
        if (strcmp(operands[i], "-") != 0)
            status = buffer_bit(run, "", (tamis_key){operands[i], strlen(operands[i])}, err);
        else if ((status = answer_batch(run, err)) == TAMIS_OK)
            status = answer_lines(run, err);
    return status == TAMIS_OK ? answer_batch(run, err) : status;
}

tamis_status bitmap_bits(tamis_redis_bitmap *bitmap, bitmap_action action, char *const *operands,
                         size_t count, tamis_error *err) {
    const bool quiet = action == BITMAP_SET_QUIETLY;

    if (!quiet && cli_output_check(err) != TAMIS_OK)
        return err->status;
    bits_run *run = calloc(1, sizeof *run);
    if (!run)
        return cli_fail_nomem("bitmap", err);
    run->bitmap = bitmap;
    run->sets = action != BITMAP_GET;
    run->quiet = quiet;
    const tamis_status status = answer_all(run, operands, count, err);
    if (status != TAMIS_OK && status != TAMIS_E_PIPE)
        report_done(run, err);
    free(run->input.buffer);
    free(run);
    return status;
}
