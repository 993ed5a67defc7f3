/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No name holds a zero byte, so one in the list says that names end with it, as find -print0 has them: a name with a
 * newline needs no option to be read.
 */
#include "cli/cli_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM_MIN = 1 << 16 };

/* The whole of the file, with a zero byte behind it. */
static int read_file(cli_names *names, FILE *file, const char *list, size_t *size, tamis_error *err) {
    size_t room = 0, got;
    char why[80];

    *size = 0;
    do {
        if (room - *size < 2) {
            char *grown = realloc(names->bytes, room = room > 0 ? 2 * room : ROOM_MIN);
            if (grown == NULL)
                return cli_fail_nomem("--files-from", err);
            names->bytes = grown;
        }
        got = fread(names->bytes + *size, 1, room - *size - 1, file);
        *size += got;
    } while (got > 0);
    names->bytes[*size] = '\0';
    if (ferror(file) || fstat(fileno(file), &names->about) != 0)
        return cli_fail(err, "--files-from '%.300s': %s; give a file with names of files", list,
                        cli_errno_text(why, sizeof why, errno));
    return CLI_DONE;
}

static int read_list(cli_names *names, const char *list, size_t *size, tamis_error *err) {
    FILE *file;
    char why[80];
    int code;

    if (strcmp(list, "-") == 0)
        return read_file(names, stdin, list, size, err);
    file = fopen(list, "re");
    if (file == NULL)
        return cli_fail(err, "--files-from '%.300s': %s; give a file with names of files", list,
                        cli_errno_text(why, sizeof why, errno));
    code = read_file(names, file, list, size, err);
    fclose(file);
    return code;
}

/* Names do not begin so, and their bytes would be told as names that are not there. */
static int check_plain(const cli_names *names, size_t size, const char *list, tamis_error *err) {
    static const struct {
        const char *head;
        size_t size;
        const char *name;
    } packings[] = {{"\x1F\x8B", 2, "gzip"},
                    {"\x28\xB5\x2F\xFD", 4, "zstd"},
                    {"\x04\x22\x4D\x18", 4, "lz4"},
                    {"\xFD\x37zXZ\0", 6, "xz"},
                    {"BZh91AY&SY", 10, "bzip2"}};

    for (size_t i = 0; i < sizeof packings / sizeof *packings; i++)
        if (size >= packings[i].size && memcmp(names->bytes, packings[i].head, packings[i].size) == 0)
            return cli_fail(err,
                            "--files-from '%.300s': is compressed with %s, and names are read as they are; "
                            "unpack it into --files-from -",
                            list, packings[i].name);
    return CLI_DONE;
}

static size_t count_names(const char *bytes, size_t size, char end) {
    size_t count = size > 0 && bytes[size - 1] != end;

    for (size_t i = 0; i < size; i++)
        count += bytes[i] == end;
    return count;
}

static int check_name(const char *name, size_t number, const char *list, tamis_error *err) {
    if (*name == '\0')
        return cli_fail(
            err, "--files-from '%.300s': name %zu is empty; give names of files, and nothing between them",
            list, number);
    if (strcmp(list, "-") == 0 && strcmp(name, "-") == 0)
        return cli_fail(
            err, "--files-from '-': standard input has the names, and is an input too; give the names in a "
                 "file");
    return CLI_DONE;
}

/* Cuts the list into names, behind the operands. */
static int cut(cli_names *names, const char *list, size_t size, char end, tamis_error *err) {
    char *at = names->bytes, *last = at + size;

    for (size_t number = 1; at < last; number++) {
        char *stop = memchr(at, end, (size_t)(last - at));
        if (stop == NULL)
            stop = last;
        *stop = '\0';
        if (check_name(at, number, list, err) != CLI_DONE)
            return CLI_FAILED;
        names->all[names->count++] = at;
        at = stop + 1;
    }
    return CLI_DONE;
}

int cli_names_read(cli_names *names, const char *list, char **operands, size_t count, tamis_error *err) {
    size_t size, found;
    char end;

    *names = (cli_names){.all = NULL};
    if (read_list(names, list, &size, err) != CLI_DONE || check_plain(names, size, list, err) != CLI_DONE)
        return CLI_FAILED;
    end = memchr(names->bytes, '\0', size) != NULL ? '\0' : '\n';
    found = count_names(names->bytes, size, end);
    if (found == 0)
        return cli_fail(err, "--files-from '%.300s': has no names; give some, or leave it out", list);
    names->all = malloc((count + found) * sizeof *names->all);
    if (names->all == NULL)
        return cli_fail_nomem("--files-from", err);
    for (size_t i = 0; i < count; i++) {
        if (check_name(operands[i], i + 1, list, err) != CLI_DONE)
            return CLI_FAILED;
        names->all[names->count++] = operands[i];
    }
    return cut(names, list, size, end, err);
}

void cli_names_release(cli_names *names) {
    free(names->all);
    free(names->bytes);
    *names = (cli_names){.all = NULL};
}

bool cli_names_are_in(const cli_names *names, const char *path) {
    struct stat file;

    if (!S_ISREG(names->about.st_mode))
        return false;
    if ((strcmp(path, "-") == 0 ? fstat(STDOUT_FILENO, &file) : stat(path, &file)) != 0)
        return false; /* not there yet */
    return file.st_dev == names->about.st_dev && file.st_ino == names->about.st_ino;
}
