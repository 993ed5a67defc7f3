/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Keys of records through the public interface, for scripts that compare them with other programs.
 *
 *     extract_ops [-i] [-t] [-H] [-d BYTE] PART...
 *     extract_ops --assigned
 *
 * Reads a record a line, in hexadecimal. Prints its key in the same way, "-" if it has none, or "! BYTE
 * WHY" if it is malformed. -i ignores case, -t trims, -H: the first record is a header, -d has the number
 * of the delimiter. --assigned prints the version of Unicode for case folding, and the first and last code
 * point of each range that it assigns.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include <tamis/experimental/extract.h>

enum { BATCH = 200 };

static void die(const char *what, const char *why) {
    fprintf(stderr, "extract_ops: %s: %s\n", what, why);
    exit(2);
}

static void print_assigned(void) {
    puts(utf8proc_unicode_version());
    utf8proc_int32_t first = -1;
    for (utf8proc_int32_t c = 0; c <= 0x110000; c++) {
        const bool is_assigned = c < 0x110000 && utf8proc_category(c) != UTF8PROC_CATEGORY_CN;
        if (is_assigned && first < 0)
            first = c;
        if (!is_assigned && first >= 0) {
            printf("%d %d\n", first, c - 1);
            first = -1;
        }
    }
}

static unsigned char nibble(char digit) {
    static const char digits[] = "0123456789abcdef";
    const char *pos = digit ? strchr(digits, digit) : NULL;
    if (!pos)
        die("standard input", "a line is not hexadecimal");
    return (unsigned char)(pos - digits);
}

/* The next record, the caller's to free; false at the end. */
static bool read_record(tamis_key *record) {
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size = getline(&line, &capacity, stdin);
    if (size < 0) {
        free(line);
        return false;
    }
    size -= size > 0 && line[size - 1] == '\n';
    unsigned char *bytes = malloc((size_t)size / 2 + 1);
    if (!bytes || size % 2)
        die("standard input", size % 2 ? "a line is not hexadecimal" : strerror(ENOMEM));
    for (ssize_t i = 0; i < size / 2; i++)
        bytes[i] = (unsigned char)(nibble(line[2 * i]) << 4 | nibble(line[2 * i + 1]));
    free(line);
    *record = (tamis_key){bytes, (size_t)size / 2};
    return true;
}

static void free_record(tamis_key record) {
    free((void *)(uintptr_t)record.data);
}

static void print_found(const tamis_extraction *found) {
    const unsigned char *bytes = found->key.data;
    if (found->outcome == TAMIS_KEY_MALFORMED)
        printf("! %zu %s", found->pos, found->why);
    else if (found->outcome == TAMIS_KEY_MISSING)
        putchar('-');
    else
        for (size_t i = 0; i < found->key.size; i++)
            printf("%02x", bytes[i]);
    putchar('\n');
}

static void extract_all(tamis_extractor *extractor) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_key records[BATCH];
    tamis_extraction found[BATCH];
    size_t count;
    do {
        for (count = 0; count < BATCH && read_record(&records[count]);)
            count++;
        if (tamis_extractor_extract(extractor, records, count, found, &err) != TAMIS_OK)
            die("refused", err.text);
        for (size_t i = 0; i < count; i++) {
            print_found(&found[i]);
            free_record(records[i]);
        }
    } while (count == BATCH);
}

int main(int argc, char **argv) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    tamis_extractor *extractor = NULL;
    bool has_header = false;
    int i = 1;
    if (argc > 1 && strcmp(argv[1], "--assigned") == 0) {
        print_assigned();
        return 0;
    }
    for (; i < argc && argv[i][0] == '-'; i++) {
        options.ignore_case = options.ignore_case || strcmp(argv[i], "-i") == 0;
        options.trim = options.trim || strcmp(argv[i], "-t") == 0;
        has_header = has_header || strcmp(argv[i], "-H") == 0;
        if (strcmp(argv[i], "-d") == 0 && i + 1 < argc)
            options.delimiter = (int)strtol(argv[++i], NULL, 10);
    }
    options.parts = (const char *const *)argv + i;
    options.part_count = (size_t)(argc - i);
    if (tamis_extractor_create(&extractor, &options, &err) != TAMIS_OK)
        die("refused", err.text);
    tamis_key header = {NULL, 0};
    if (has_header && !read_record(&header))
        die("standard input", "no header");
    if (has_header && tamis_extractor_header(extractor, header, &err) != TAMIS_OK)
        die("refused", err.text);
    free_record(header);
    extract_all(extractor);
    tamis_extractor_free(extractor);
    return 0;
}
