/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Every command that reads filters, on files of any bytes. command.h checks every run. Also checked:
 *
 * - A command that only reads does not change the file.
 * - Added records are in the filter: `check` prints all of them, and `dedup` none.
 * - A copy answers like the original, and a union has the keys of each of its filters.
 * - Each record is printed by either `check` or `check -v`. Lookups in an undamaged file succeed.
 *
 * Input: the command; options; the sort of files; then the file. For a native file, its parts as in
 * fuzz_native_file.c.
 */
#include <stdlib.h>
#include <string.h>

#include <tamis/tamis.h>

#include "command.h"
#include "forge_native.h"
#include "support/stored.h"

enum { INPUT_MAX = 1 << 16, PARTS = 3, OWN_KEYS = 64 };

enum { OPTION_SECRET = 1, OPTION_JSON = 2, OPTION_VARIANT = 4 };

static const char secret[] = "a secret of 25 characters"; /* the secret of the golden files */
static test_bytes keys;                                   /* lines */
static uint8_t options;

/* ---- the files ---- */

/* Makes file "a" of the input, another filter "b", and "keys" with lines for both. */
static void lay_out(uint8_t form, const uint8_t *data, size_t size) {
    static const char given[] = "0\n1\nabc\n\nhttp://example.org/\n\xc3\xa9\n";
    bool native = size >= NATIVE_HEADER && memcmp(data, native_magic, NATIVE_MAGIC) == 0;
    uint64_t whole = size;
    uint8_t *forged = NULL;
    if (form & 1 && size >= NATIVE_HEADER && !native) {
        forged = forge_file(data, size, &whole);
    } else if (form & 1 && native) {
        forged = forge_pages(size);
        memcpy(forged, data, size);
        forge_checksums(forged, size);
    }
    command_start();
    file_write(scratch("a"), forged ? forged : data, (size_t)whole);
    if ((form >> 1) % 4 == 0)
        file_write(scratch("b"), forged ? forged : data, (size_t)whole);
    free(forged);
    if ((form >> 1) % 4 == 1 || (form >> 1) % 4 == 2) {
        tamis_kind kind = (form >> 1) % 4 == 1 ? TAMIS_KIND_CLASSIC : TAMIS_KIND_FINGERPRINT;
        tamis_filter *filter = stored_make(kind, 0, 20);
        command_check(tamis_filter_save(filter, scratch("b"), NULL) == TAMIS_OK, "no second filter");
        tamis_filter_free(filter);
    }
    file_write(scratch("secret"), secret, sizeof secret - 1);
    bytes_clear(&keys);
    bytes_add(&keys, given, sizeof given - 1);
    bytes_add(&keys, data, size < OWN_KEYS ? size : OWN_KEYS);
    bytes_add(&keys, "\n", 1);
    file_write(scratch("keys"), keys.data, keys.size);
}

/* ---- lookups ---- */

static const char *json_or(const char *other) {
    return options & OPTION_JSON ? "--json" : other;
}

/* The words of a command that looks up keys, with the secret if the input says so. */
static int queries(const char *verb, const char *option, const char *path, const char *records) {
    if (options & OPTION_SECRET)
        return COMMAND(verb, option, "--secret-file", "secret", "--", path, records);
    return COMMAND(verb, option, "--", path, records);
}

static int check(const char *option, const char *path, test_bytes *out) {
    int code = queries("check", option, path, "keys");
    bytes_clear(out);
    bytes_add(out, command_out.data, command_out.size);
    return code;
}

static size_t next_line(const test_bytes *text, size_t begin) {
    const unsigned char *end = memchr(text->data + begin, '\n', text->size - begin);
    return end ? (size_t)(end - text->data) + 1 - begin : text->size - begin;
}

/* True if the lines of `part` are among the lines of `whole`, in the same order. */
static bool is_part(const test_bytes *part, const test_bytes *whole) {
    size_t pos = 0, size;
    for (size_t i = 0; i < whole->size && pos < part->size; i += size) {
        size_t expected = next_line(part, pos);
        size = next_line(whole, i);
        if (size == expected && memcmp(whole->data + i, part->data + pos, size) == 0)
            pos += expected;
    }
    return pos == part->size;
}

/* ---- commands ---- */

static void read_only(const char *verb) {
    uint64_t before = command_files();
    if (strcmp(verb, "diff") == 0)
        COMMAND(verb, json_or("--"), "a", "b");
    else if (strcmp(verb, "audit") == 0)
        queries(verb, options & OPTION_VARIANT ? "--queries=300" : "--queries=3", "a", "keys");
    else
        COMMAND(verb, json_or("--"), "a");
    command_check(command_files() == before, "a file has changed that is only read");
}

static void query(void) {
    test_bytes present = {0}, absent = {0};
    uint64_t before = command_files();
    bool whole = COMMAND("verify", "a") == 0;
    int code = check("-q", "a", &present);
    command_check(present.size == 0, "-q prints");
    code = check("--no-progress", "a", &present);
    /* A keyed filter needs its secret; another filter refuses one. */
    command_check(code != 2 || !whole || command_said("secret"), "a whole file is not answered from");
    bool answered = code != 2;
    code = check("-v", "a", &absent);
    command_check((code != 2) == answered, "check -v fails where check does not, or the other way");
    if (answered) {
        command_check(is_part(&present, &keys) && is_part(&absent, &keys), "a record that was not asked");
        command_check(present.size + absent.size == keys.size, "a record is in neither part, or in both");
    }
    command_check(command_files() == before, "a file has changed that is only read");
    bytes_clear(&present);
    bytes_clear(&absent);
}

static void query_both(void) {
    COMMAND("check", options & OPTION_JSON ? "-c" : "--stats", "-f", "a", "-f", "b", "keys");
}

static void check_all_there(void) {
    test_bytes present = {0};
    command_check(check("--no-progress", "a", &present) == 0, "what was added cannot be asked");
    command_check(bytes_equal(&present, &keys), "a record that was added is absent");
    bytes_clear(&present);
    command_check(COMMAND("verify", "a") == 0, "what was saved is damaged");
}

static void add(void) {
    if (queries("add", json_or("--print=fresh"), "a", "keys") == 0)
        check_all_there();
}

static int dedup(void) {
    if (options & OPTION_SECRET)
        return COMMAND("dedup", "--filter", "a", "--secret-file", "secret", "keys");
    return COMMAND("dedup", "--filter", "a", json_or("--stats"), "keys");
}

static void dedup_twice(void) {
    if (dedup() != 0)
        return;
    command_check(is_part(&command_out, &keys), "a record that was not read");
    command_check(dedup() == 0 && command_out.size == 0, "a record is printed again");
    check_all_there();
}

/* The secret may be the wrong one for a keyed filter: then the original and the copy are refused. */
static void copy(void) {
    static const char *const formats[] = {"auto", "tamis", "guava", "dcso"};
    test_bytes expected = {0}, got = {0};
    const char *format = formats[options / OPTION_VARIANT % 4];
    if (COMMAND("copy", "-o", "c", "--format", format, "--", "a") == 0) {
        command_check(COMMAND("verify", "c") == 0, "the copy is damaged");
        int code = check("--no-progress", "a", &expected);
        command_check(check("--no-progress", "c", &got) == code, "the copy is not answered from");
        command_check(bytes_equal(&expected, &got), "the copy answers otherwise");
    }
    bytes_clear(&expected);
    bytes_clear(&got);
}

static void merge(void) {
    static const char *const parts[] = {"a", "b"};
    test_bytes part = {0}, merged = {0};
    if (COMMAND("merge", "-o", "c", options & OPTION_VARIANT ? "--quiet" : "--format=auto", "a", "b") == 0) {
        command_check(COMMAND("verify", "c") == 0, "the union is damaged");
        int code = check("--no-progress", "c", &merged);
        for (int i = 0; i < 2 && code != 2; i++) {
            check("--no-progress", parts[i], &part);
            command_check(is_part(&part, &merged), "the union has lost a key");
        }
    }
    bytes_clear(&part);
    bytes_clear(&merged);
}

static void clear(void) {
    test_bytes present = {0};
    if (COMMAND("clear", "a") == 0) {
        command_check(COMMAND("verify", "a") == 0, "what was cleared is damaged");
        command_check(check("--no-progress", "a", &present) == 1 || command_said("secret"),
                      "what was cleared has keys");
    }
    bytes_clear(&present);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < PARTS || size > INPUT_MAX)
        return 0;
    options = data[1];
    lay_out(data[2], data + PARTS, size - PARTS);
    switch (data[0] % 12) {
    case 0:
        read_only("info");
        break;
    case 1:
        read_only("verify");
        break;
    case 2:
        read_only("diff");
        break;
    case 3:
        read_only("audit");
        break;
    case 4:
        query_both();
        break;
    case 5:
        add();
        break;
    case 6:
        dedup_twice();
        break;
    case 7:
        copy();
        break;
    case 8:
        merge();
        break;
    case 9:
        clear();
        break;
    default:
        query();
        break;
    }
    command_check(!command_is_expensive, "more memory than such a file can need");
    return 0;
}
