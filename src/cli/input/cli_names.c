/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists of names. No name contains a zero byte. So if the list has one, its names end with zero bytes,
 * like the output of find -print0, else with newlines. Names with newlines therefore need no option.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/input/cli_stream.h"

enum { CAPACITY_MIN = 1 << 16 };

/* Reads the whole file and adds a zero byte. */
static tamis_status read_file(cli_names_list *list, FILE *file, const char *path, size_t *size,
                              tamis_error *err) {
    size_t capacity = 0, got;
    char why[80];

    *size = 0;
    do {
        if (capacity - *size < 2) {
            capacity = capacity > 0 ? 2 * capacity : CAPACITY_MIN;
            char *grown = realloc(list->bytes, capacity);
            if (!grown)
                return cli_fail_nomem("--files-from", err);
            list->bytes = grown;
        }
        got = fread(list->bytes + *size, 1, capacity - *size - 1, file);
        *size += got;
    } while (got > 0);
    list->bytes[*size] = '\0';
    if (ferror(file) || fstat(fileno(file), &list->st) != 0)
        return cli_fail(err, "--files-from '%.300s': %s; give a file with names of files", path,
                        cli_errno_text(why, sizeof why, errno));
    return TAMIS_OK;
}

static tamis_status read_list(cli_names_list *list, const char *path, size_t *size, tamis_error *err) {
    char why[80];

    if (strcmp(path, "-") == 0)
        return read_file(list, stdin, path, size, err);
    FILE *file = fopen(path, "re");
    if (!file)
        return cli_fail(err, "--files-from '%.300s': %s; give a file with names of files", path,
                        cli_errno_text(why, sizeof why, errno));
    const tamis_status status = read_file(list, file, path, size, err);
    fclose(file);
    return status;
}

/* Refuses a compressed list. Else its bytes would be taken for names, and errors would say that these files
 * do not exist. */
static tamis_status check_plain(const cli_names_list *list, size_t size, const char *path, tamis_error *err) {
    static const struct {
        const char *head;
        size_t size;
        const char *name;
    } compressions[] = {{"\x1F\x8B", 2, "gzip"},
                        {"\x28\xB5\x2F\xFD", 4, "zstd"},
                        {"\x04\x22\x4D\x18", 4, "lz4"},
                        {"\xFD\x37zXZ\0", 6, "xz"},
                        {"BZh91AY&SY", 10, "bzip2"}};

    for (size_t i = 0; i < sizeof compressions / sizeof *compressions; i++)
        if (size >= compressions[i].size &&
            memcmp(list->bytes, compressions[i].head, compressions[i].size) == 0)
            return cli_fail(err,
                            "--files-from '%.300s': is compressed with %s, and names are read as they are; "
                            "unpack it into --files-from -",
                            path, compressions[i].name);
    return TAMIS_OK;
}

static tamis_status check_name(const char *name, const char *list, tamis_error *err) {
    if (strcmp(list, "-") == 0 && strcmp(name, "-") == 0)
        return cli_fail(
            err, "--files-from '-': standard input has the names, and is an input too; give the names in a "
                 "file");
    return TAMIS_OK;
}

static tamis_status add_name(cli_names *names, const char *name, const char *list, tamis_error *err) {
    const char **grown = names->paths;

    if (check_name(name, list, err) != TAMIS_OK)
        return err->status;
    /* Capacity doubles at powers of two. */
    if ((names->count & (names->count - 1)) == 0)
        grown = realloc(names->paths, (names->count > 0 ? 2 * names->count : 1) * sizeof *grown);
    if (!grown)
        return cli_fail_nomem("--files-from", err);
    names->paths = grown;
    names->paths[names->count++] = name;
    return TAMIS_OK;
}

/* Splits the list into names and appends them. */
static tamis_status split_list(cli_names *names, char *bytes, size_t size, const char *list,
                               tamis_error *err) {
    const char end = memchr(bytes, '\0', size) ? '\0' : '\n';
    const size_t before = names->count;

    for (char *name = bytes, *last = bytes + size; name < last;) {
        char *stop = memchr(name, end, (size_t)(last - name));
        if (!stop)
            stop = last;
        *stop = '\0';
        if (*name != '\0' && add_name(names, name, list, err) != TAMIS_OK)
            return err->status;
        name = stop + 1;
    }
    return names->count > before
               ? TAMIS_OK
               : cli_fail(err, "--files-from '%.300s': has no names; give some, or leave it out", list);
}

tamis_status cli_names_read(cli_names *names, const cli_value *files_from, char **operands, size_t count,
                            tamis_error *err) {
    const size_t list_count = files_from->count;

    *names = (cli_names){.lists = calloc(list_count, sizeof *names->lists), .list_count = list_count};
    if (!names->lists)
        return cli_fail_nomem("--files-from", err);
    for (size_t i = 0; i < count; i++)
        if (add_name(names, operands[i], "", err) != TAMIS_OK)
            return err->status;
    for (size_t n = 0; n < list_count; n++) {
        const char *path = files_from->list[n];
        cli_names_list *list = &names->lists[n];
        size_t size;
        for (size_t i = 0; i < count; i++)
            if (check_name(operands[i], path, err) != TAMIS_OK)
                return err->status;
        if (read_list(list, path, &size, err) != TAMIS_OK || check_plain(list, size, path, err) != TAMIS_OK ||
            split_list(names, list->bytes, size, path, err) != TAMIS_OK)
            return err->status;
    }
    return TAMIS_OK;
}

void cli_names_release(cli_names *names) {
    for (size_t i = 0; i < names->list_count && names->lists; i++)
        free(names->lists[i].bytes);
    free(names->lists);
    free(names->paths);
    *names = (cli_names){.paths = NULL};
}

bool cli_names_are_in(const cli_names *names, const char *path) {
    struct stat file;

    if (names->list_count == 0 ||
        (strcmp(path, "-") == 0 ? fstat(STDOUT_FILENO, &file) : stat(path, &file)) != 0)
        return false; /* the file does not exist yet */
    for (size_t i = 0; i < names->list_count; i++) {
        const struct stat *st = &names->lists[i].st;
        if (S_ISREG(st->st_mode) && file.st_dev == st->st_dev && file.st_ino == st->st_ino)
            return true;
    }
    return false;
}
