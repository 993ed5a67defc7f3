/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Every command that reads records, on records of any bytes. command.h checks every run. Also checked:
 *
 * - `dedup --exact` prints the first of equal records, and writes the others to --duplicates, byte for
 *   byte like a set. It refuses records longer than --max-record, and no others.
 * - `check` prints every record that `build` or `add` added, as text or in hexadecimal; `audit` misses none.
 * - `hash` prints a line for each line.
 *
 * Input: the command; the form of the inputs; the filter; then the records, in one input or in two halves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "stream/codec/decompressor.h"

enum { PARTS = 3, BYTES_MAX = 2048, LONGEST = 16 };

enum { FORM_ZERO = 1, FORM_TWO = 2, FORM_STDIN = 4, FORM_SHORT = 8, FORM_EXPECT = 16, FORM_PIPE = 32 };

typedef struct record {
    const uint8_t *data;
    size_t size;
    bool ended; /* its terminator follows */
} record;

static record records[BYTES_MAX];
static size_t record_count;
static bool too_long; /* a record is longer than LONGEST */
static uint8_t form, terminator;
static test_bytes stream; /* all inputs, if they are standard input */

/* ---- records ---- */

static void split(const uint8_t *data, size_t size) {
    for (size_t begin = 0; begin < size;) {
        const uint8_t *end = memchr(data + begin, terminator, size - begin);
        record *item = &records[record_count++];
        *item = (record){data + begin, end ? (size_t)(end - data) - begin : size - begin, end != NULL};
        too_long |= item->size > LONGEST;
        begin += item->size + item->ended;
    }
}

/* Appends a record like the command: a record without terminator gets one if another record follows. */
static void put_record(test_bytes *to, const record *item, bool *open) {
    if (*open)
        bytes_add(to, &terminator, 1);
    bytes_add(to, item->data, item->size);
    if (item->ended)
        bytes_add(to, &terminator, 1);
    *open = !item->ended;
}

static bool is_first(size_t i) {
    for (size_t j = 0; j < i; j++)
        if (records[j].size == records[i].size &&
            (records[i].size == 0 || memcmp(records[j].data, records[i].data, records[i].size) == 0))
            return false;
    return true;
}

static void lay_out(const uint8_t *data, size_t size) {
    size_t half = form & FORM_TWO ? size / 2 : size;
    command_start();
    record_count = 0;
    too_long = false;
    terminator = form & FORM_ZERO ? '\0' : '\n';
    split(data, half);
    split(data + half, size - half);
    file_write(scratch("one"), data, half);
    file_write(scratch("two"), data + half, size - half);
    bytes_clear(&stream);
    bytes_add(&stream, data, half);
}

/* ---- words ---- */

static const char *words[COMMAND_WORDS];
static size_t word_count;

static void word(const char *text) {
    words[word_count++] = text;
    words[word_count] = NULL;
}

static void begin_command(const char *verb) {
    word_count = 0;
    word(verb);
    if (form & FORM_ZERO)
        word("--zero-terminated");
}

/* The names of the inputs, which are the last words: both, or one. */
static int run_on(bool first, bool second) {
    if (first)
        word(form & FORM_STDIN ? "-" : "one");
    if (second)
        word("two");
    return command_run(stream.data, stream.size, words);
}

/* All records as one text. */
static void put_all(test_bytes *to) {
    bool open = false;
    for (size_t i = 0; i < record_count; i++)
        put_record(to, &records[i], &open);
}

/* ---- commands ---- */

static void dedup(void) {
    test_bytes absent = {0}, present = {0}, file = {0};
    bool absent_open = false, present_open = false;
    begin_command("dedup");
    word("--exact");
    word("--duplicates");
    word("seen");
    if (form & FORM_EXPECT)
        word("--expect=2048");
    if (form & FORM_SHORT)
        word("--max-record=16");
    int code = run_on(true, true);
    command_check((code == 2) == (form & FORM_SHORT && too_long), "a record is refused, or is not");
    if (code == 0) {
        for (size_t i = 0; i < record_count; i++)
            if (is_first(i))
                put_record(&absent, &records[i], &absent_open);
            else
                put_record(&present, &records[i], &present_open);
        file_read(scratch("seen"), &file);
        command_check(bytes_equal(&command_out, &absent), "the first ones are not what they are");
        command_check(bytes_equal(&file, &present), "the duplicates are not what they are");
    }
    bytes_clear(&absent);
    bytes_clear(&present);
    bytes_clear(&file);
}

/* True if a filter "f" was built. Impossible combinations of kind, scheme and format are refused. */
static bool build(uint8_t what, bool second) {
    static const char *const kinds[] = {"auto", "classic", "blocked", "fingerprint", "exact"};
    static const char *const schemes[] = {"auto",   "xxh3",   "guava64",    "guava32",
                                          "bkdr31", "bkdr63", "redisbloom", "fnv-dcso"};
    static const char *const formats[] = {"auto", "tamis", "guava", "dcso"};
    begin_command("build");
    word("--output=f");
    word("--kind");
    word(kinds[what % 5]);
    word("--scheme");
    word(schemes[what / 5 % 8]);
    word("--format");
    word(formats[what / 40 % 4]);
    if (form & FORM_EXPECT)
        word("--expect=4096");
    int code = run_on(true, second);
    command_check(code == 0 || (code == 2 && !file_exists(scratch("f"))), "build has failed halfway");
    return code == 0;
}

static void check_there(void) {
    test_bytes expected = {0};
    begin_command("check");
    word("f");
    int code = run_on(true, true);
    put_all(&expected);
    command_check(code == (record_count > 0 ? 0 : 1), "check does not find what was added");
    command_check(bytes_equal(&command_out, &expected), "a record that was added is absent");
    bytes_clear(&expected);
}

/* Records of pairs of hexadecimal digits, which stand for bytes. */
static void check_hex(void) {
    test_bytes digits = {0};
    begin_command("check");
    word("--hex");
    word("f");
    for (size_t i = 0; i < record_count; i++) {
        for (size_t j = 0; j < records[i].size; j++) {
            char two[3];
            snprintf(two, sizeof two, j % 2 ? "%02x" : "%02X", records[i].data[j]);
            bytes_add(&digits, two, 2);
        }
        bytes_add(&digits, &terminator, 1);
    }
    int code = command_run(digits.data, digits.size, words);
    command_check(code == (record_count > 0 ? 0 : 1), "check --hex does not find what was added");
    command_check(bytes_equal(&command_out, &digits), "a record that was added is absent in hexadecimal");
    bytes_clear(&digits);
}

static void check_fuzzed_hex(void) {
    begin_command("check");
    word("--hex");
    word("--invert-match");
    if (form & FORM_SHORT)
        word("--max-record=16");
    word("f");
    run_on(true, true);
}

static void add(void) {
    begin_command("add");
    word("--print=seen");
    if (form & FORM_SHORT)
        word("--max-record=16");
    word("f");
    int code = run_on(false, true);
    command_check(code != 2 || (form & FORM_SHORT && too_long) || command_said("full"), "add is refused");
    if (code == 0)
        check_there();
}

static void audit(void) {
    begin_command("audit");
    word("--queries=20");
    word("--json");
    word("f");
    int code = run_on(true, false);
    command_check(code != 2, "audit fails");
    command_check(memmem(command_out.data, command_out.size, "\"missing\": 0,", 13) != NULL,
                  "audit misses what was added");
}

static void hash(uint8_t what) {
    static const char *const types[] = {"bytes", "utf8", "utf16", "int32", "int64"};
    static const char *const schemes[] = {"xxh3", "guava64", "guava32", "redisbloom", "fnv-dcso", "bkdr63"};
    word_count = 0;
    word("hash");
    word("--scheme");
    word(schemes[what % 6]);
    word("--type");
    word(types[what / 6 % 5]);
    if (form & FORM_ZERO)
        word("--hex");
    word("--probes=3");
    word("--bits=1000");
    terminator = '\n';
    record_count = 0;
    split(stream.data, stream.size);
    int code = command_run(stream.data, stream.size, words);
    size_t lines = 0;
    for (size_t i = 0; i < command_out.size; i++)
        lines += command_out.data[i] == '\n';
    command_check(lines <= record_count && (code != 0 || lines == record_count), "hash skips a line");
    command_check(code == 0 || form & FORM_ZERO || what / 6 % 5 != 0, "hash refuses bytes");
}

/* Records that begin like a compressed file are decompressed: another fuzzer tests that. */
static bool is_compressed(const uint8_t *data, size_t size) {
    bool undecided;
    return tamis__compression_detect(data, size, &undecided) != TAMIS_COMPRESSION_NONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < PARTS || size - PARTS > BYTES_MAX)
        return 0;
    form = data[1];
    command_is_piped = form & FORM_PIPE;
    lay_out(data + PARTS, size - PARTS);
    const size_t half = form & FORM_TWO ? (size - PARTS) / 2 : size - PARTS;
    if (is_compressed(data + PARTS, half) || is_compressed(data + PARTS + half, size - PARTS - half))
        return 0;
    switch (data[0] % 6) {
    case 0:
        dedup();
        break;
    case 1:
        if (build(data[2], true))
            check_there();
        break;
    case 2:
        if (build(data[2], false))
            add();
        break;
    case 3:
        if (build(data[2], true))
            check_hex();
        if (file_exists(scratch("f")))
            check_fuzzed_hex();
        break;
    case 4:
        if (build(data[2], false))
            audit();
        break;
    default:
        hash(data[2]);
        break;
    }
    command_check(!command_is_expensive, "more memory than such records can need");
    return 0;
}
