/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis copy: a filter to a file or a server, in another format or with other labels.
 *
 *     a filter            load, describe and save it: kind and bits stay, format and compression may change
 *     --format bitmap     raw bits, between a file and a filter on a server
 *
 * Raw bits know neither scheme nor number of keys, so they have no labels, no version and no compression.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tamis/experimental/redis.h>

#include "cli/cli.h"
#include "cli/core/cli_option.h"
#include "cli/core/cli_rows.h"
#include "cli/filter/cli_file.h"
#include "cli/filter/cli_filter.h"
#include "cli/filter/cli_metadata.h"
#include "cli/process/cli_save.h"
#include "cli/process/cli_signal.h"
#include "cli/server/cli_server.h"

static const cli_option options[] = {
    CLI_ROW_WRITE_OUTPUT,
    {.id = CLI_OPT_FORMAT,
     .name = "format",
     .type = CLI_CHOICE,
     .value = "FORMAT",
     .fallback = "auto",
     .choices = cli_copy_formats,
     .help = "Format of FILE: tamis, guava, dcso or redisbloom; auto: that of the FILTER. bitmap: raw bits.",
     .more = "bitmap copies between a file and a filter on a server. The file has the bytes of the "
             "bitmap as the server has them, without its parameters, so the URI must give these."},
    CLI_ROW_GZIP,
    CLI_ROW_LABEL,
    CLI_ROW_DATA_VERSION,
    CLI_ROW_LOCK_WAIT,
    CLI_ROW_WRITE_QUIET,
    {.name = NULL},
};

/* ---- raw bits ---- */

enum { PIECE = 1 << 20 };

typedef struct bitmap {
    char *bytes; /* malloc */
    size_t size, capacity;
} bitmap;

/* Makes space for `size` more bytes. The system enlarges a large block without copying it. */
static tamis_status reserve_space(bitmap *content, size_t size, tamis_error *err) {
    if (content->capacity - content->size >= size)
        return TAMIS_OK;
    char *more = realloc(content->bytes, content->size + size);
    if (!more)
        return cli_fail_nomem("copy", err);
    content->bytes = more;
    content->capacity = content->size + size;
    return TAMIS_OK;
}

/* ---- from a server ---- */

static tamis_status append_bytes(void *context, const void *bytes, size_t size, tamis_error *err) {
    bitmap *content = context;

    if (reserve_space(content, size, err) != TAMIS_OK)
        return err->status;
    memcpy(content->bytes + content->size, bytes, size);
    content->size += size;
    return TAMIS_OK;
}

static tamis_status fetch_to_file(const char *from, const char *to, tamis_error *err) {
    tamis_filter *filter = NULL;
    bitmap content = {NULL, 0, 0};
    tamis_status status = cli_server_open(&filter, from, NULL, NULL, err);

    if (status == TAMIS_OK)
        status = tamis_redis_pull_bitmap(filter, append_bytes, &content, err);
    if (status == TAMIS_OK)
        status = cli_save(to, content.bytes, content.size, true, err);
    free(content.bytes);
    tamis_filter_free(filter);
    return status;
}

/* ---- to a server ---- */

static tamis_status refuse(const char *name, int number, tamis_error *err) {
    char why[80];

    return cli_fail(err, "%.180s: %s; check the name and its directory", name,
                    cli_errno_text(why, sizeof why, number));
}

static tamis_status read_all(bitmap *content, int fd, const char *name, tamis_error *err) {
    for (;;) {
        if (content->size == content->capacity && reserve_space(content, PIECE, err) != TAMIS_OK)
            return err->status;
        const ssize_t got = read(fd, content->bytes + content->size, content->capacity - content->size);
        if (got < 0 && errno != EINTR)
            return refuse(name, errno, err);
        if (got == 0)
            return TAMIS_OK;
        content->size += got > 0 ? (size_t)got : 0;
    }
}

/* Reads a file. For a regular file it reserves the size and one byte more, which is needed to see the end. */
static tamis_status load(bitmap *content, const char *name, tamis_error *err) {
    const int fd = open(name, O_RDONLY | O_CLOEXEC);
    tamis_status status = TAMIS_OK;
    struct stat st;

    if (fd < 0)
        return refuse(name, errno, err);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        status = reserve_space(content, (size_t)st.st_size + 1, err);
    if (status == TAMIS_OK)
        status = read_all(content, fd, name, err);
    close(fd);
    return status;
}

static tamis_status send(const char *from, const char *to, cli_lock_wait wait, tamis_error *err) {
    tamis_filter *target = NULL, *made = NULL;
    bitmap content = {NULL, 0, 0};
    tamis_status status = cli_server_open(&target, to, NULL, NULL, err);

    if (status == TAMIS_OK)
        status = load(&content, from, err);
    if (status == TAMIS_OK)
        status = tamis_redis_from_bitmap(&made, target, content.bytes, content.size, err);
    if (status == TAMIS_E_MISMATCH)
        cli_subject(err, "%.150s", from);
    free(content.bytes);
    if (status == TAMIS_OK)
        status = cli_server_push(made, to, wait, err);
    tamis_filter_free(made);
    tamis_filter_free(target);
    return status;
}

/* Copies the raw bits of a filter on a server to a file, or from a file to the server. Exactly one of `from`
 * and `to` must be a URI. TAMIS_E_INTERRUPTED: a signal ended the wait. */
static tamis_status copy_bitmap(const char *from, const char *to, cli_lock_wait wait, tamis_error *err) {
    if (cli_server_is_uri(from) && !cli_server_is_uri(to))
        return fetch_to_file(from, to, err);
    if (!cli_server_is_uri(from) && cli_server_is_uri(to))
        return send(from, to, wait, err);
    return cli_fail(
        err, "--format bitmap: is for a filter on a server and a file; name a URI and a file, or leave "
             "--format out");
}

/* ---- filters ---- */

/* Applies the given labels and version. Without them the metadata stays as it is, with its time of
 * creation. */
static tamis_status describe(const cli_args *args, tamis_filter *filter, tamis_error *err) {
    const tamis_format format =
        cli_metadata_format(filter, (tamis_format)args->values[CLI_OPT_FORMAT].number);
    cli_metadata metadata;
    tamis_status status = cli_metadata_read(&metadata, args->values, err);

    if (status == TAMIS_OK)
        status = cli_metadata_check(&metadata, format, err);
    if (status == TAMIS_OK)
        status = cli_metadata_apply(&metadata, filter, err);
    cli_metadata_release(&metadata);
    return status;
}

/* A filter of RedisBloom is copied as it is, and to a file. */
static tamis_status check_redisbloom(const char *output, tamis_format format, tamis_error *err) {
    if (cli_server_is_uri(output))
        return cli_fail(err,
                        "--output: a filter of RedisBloom is not sent to a server here; write it to FILE, "
                        "and run redis-cli -x RESTORE KEY 0 < FILE");
    if (format == TAMIS_FORMAT_AUTO || format == TAMIS_FORMAT_REDISBLOOM)
        return TAMIS_OK;
    return cli_fail(err,
                    "--format %s: cannot keep a filter of RedisBloom, whose sub-filters are a chain; leave "
                    "--format out",
                    tamis_format_name(format));
}

static tamis_status copy(const cli_args *args, const char *output, tamis_error *err) {
    const cli_file_target target = {.path = output,
                                    .format = (tamis_format)args->values[CLI_OPT_FORMAT].number,
                                    .compression = cli_file_compression(args->values[CLI_OPT_GZIP].given)};
    tamis_filter *filter = NULL;
    tamis_status status = cli_file_fetch(&filter, args->operands[0], err);

    if (status == TAMIS_OK && cli_filter_is_redisbloom(filter))
        status = check_redisbloom(output, target.format, err);
    if (status == TAMIS_OK)
        status = describe(args, filter, err);
    if (status == TAMIS_OK)
        status = cli_file_save_until_signal(filter, &target,
                                            cli_lock_wait_of(&args->values[CLI_OPT_LOCK_WAIT]), err);
    if (status == TAMIS_OK && !args->values[CLI_OPT_QUIET].given)
        cli_metadata_report_lost(filter, output, target.format);
    tamis_filter_free(filter);
    return status;
}

/* Copies raw bits, which cannot store compression, labels or a version. */
static tamis_status copy_bits(const cli_args *args, const char *output, tamis_error *err) {
    static const int others[] = {CLI_OPT_GZIP, CLI_OPT_LABEL, CLI_OPT_DATA_VERSION};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (args->values[others[i]].given)
            return cli_fail(err, "--format bitmap: contradicts --%s: it is bits alone; leave one of them out",
                            cli_option_of(options, others[i])->name);
    return copy_bitmap(args->operands[0], output, cli_lock_wait_of(&args->values[CLI_OPT_LOCK_WAIT]), err);
}

static tamis_status run_copy(const cli_args *args, bool *negative, tamis_error *err) {
    const char *output = args->values[CLI_OPT_OUTPUT].text;
    tamis_lock *lock = NULL;
    int stop_fd;

    (void)negative;
    if (!output)
        return cli_fail(err, "copy: --output is missing; name the file to write as -o FILE");
    if (args->operand_count != 1)
        return cli_fail(err, "copy: takes one filter, and %zu are named; give its file", args->operand_count);
    tamis_status status = cli_signals_begin(&stop_fd, err);
    if (status == TAMIS_OK)
        status = cli_file_lock(&lock, output, cli_lock_wait_of(&args->values[CLI_OPT_LOCK_WAIT]), err);
    if (status == TAMIS_OK)
        status = args->values[CLI_OPT_FORMAT].number == CLI_COPY_BITMAP ? copy_bits(args, output, err)
                                                                        : copy(args, output, err);
    tamis_file_unlock(lock);
    return status;
}

const cli_command cmd_copy = {
    .name = "copy",
    .summary = "write a filter to another file, or in another format",
    .operands = "FILTER",
    .manual = &cli_manual_copy,
    .options = options,
    .run = run_copy,
};
