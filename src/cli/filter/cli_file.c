/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Opening, locking and saving the filter of a command. Its name is that of a file, or the URI of a filter on
 * a server.
 *
 *     lock --> open --> change in memory --> save --> unlock          a file: the lock is held throughout
 *              open --> change on the server                          a URI: the server serialises changes
 *
 * - Without the lock, two commands that add to one file would each save a filter without the other's keys. A
 *   command waits for the lock of another one, says so after a second, and gives up after --lock-wait.
 * - A file system without locks is not an error. Then the library still refuses to overwrite a file that was
 *   replaced since it was opened (TAMIS_E_CHANGED), and the advice is to run again.
 * - "-" is refused: a filter is read in any order, and replaced by a rename.
 */
#include "cli/filter/cli_file.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cli_rows.h"
#include "cli/process/cli_progress.h"
#include "cli/process/cli_signal.h"
#include "cli/server/cli_server.h"

/* Refuses "-": filters are not read from standard input, nor written to standard output. */
static tamis_status check_name(const char *path, tamis_error *err) {
    if (strcmp(path, "-") != 0)
        return TAMIS_OK;
    return cli_fail(err,
                    "filter '-': is not read from standard input, nor written to standard output; name a "
                    "file, or give ./- for one of that name");
}

tamis_status cli_file_open(tamis_filter **filter, const cli_filter_file *file, tamis_compression *compression,
                           tamis_error *err) {
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;

    if (cli_server_is_uri(file->path)) {
        if (compression)
            *compression = TAMIS_COMPRESSION_NONE;
        return cli_server_open(filter, file->path, NULL, file->secret, err);
    }
    if (check_name(file->path, err) != TAMIS_OK)
        return err->status;
    cli_bus_begin();
    options.writable = file->access != CLI_QUERY;
    options.allow_over_capacity = file->access == CLI_OVER_CAPACITY;
    if (file->secret) {
        options.secret = file->secret->bytes;
        options.secret_size = file->secret->size;
    }
    return tamis_compressed_open(filter, compression, file->path, &options, err);
}

tamis_status cli_file_fetch(tamis_filter **filter, const char *path, tamis_error *err) {
    const tamis_status status = cli_file_open(filter, &(cli_filter_file){.path = path}, NULL, err);

    return status == TAMIS_OK ? cli_server_pull(filter, err) : status;
}

tamis_compression cli_file_compression(bool gzip) {
    return gzip ? TAMIS_COMPRESSION_GZIP : TAMIS_COMPRESSION_NONE;
}

cli_lock_wait cli_lock_wait_of(const cli_value *value) {
    return (cli_lock_wait){.seconds = value->given ? value->number : CLI_LOCK_WAIT_DEFAULT};
}

static void report_waiting(const cli_lock_wait *wait, const tamis_error *err) {
    const char *advice = strrchr(err->text, ';');
    char message[600];

    snprintf(message, sizeof message, "%.*s; waiting for at most %" PRIu64 " seconds (--lock-wait)",
             advice ? (int)(advice - err->text) : (int)strlen(err->text), err->text, wait->seconds);
    cli_report(message);
}

tamis_status cli_lock_again(cli_lock_wait *wait, tamis_error *err) {
    enum { PAUSE = 50 }; /* milliseconds */
    const double now = cli_progress_now();
    struct pollfd stop = {.fd = cli_signals_fd(), .events = POLLIN};

    if (wait->start <= 0)
        wait->start = now;
    if (err->sys_errno != 0) /* waiting does not help, see tamis/status.h */
        return err->status;
    if (now - wait->start >= (double)wait->seconds) {
        cli_remedy(err, "wait for that to end, or give a larger --lock-wait");
        return err->status;
    }
    if (!wait->reported && now - wait->start >= 1) {
        report_waiting(wait, err);
        wait->reported = true;
    }
    (void)poll(&stop, 1, PAUSE);
    return cli_signals_look(err);
}

tamis_status cli_file_lock(tamis_lock **lock, const char *path, cli_lock_wait wait, tamis_error *err) {
    tamis_status status;

    *lock = NULL;
    if (cli_server_is_uri(path)) /* a server serialises changes itself */
        return TAMIS_OK;
    if (check_name(path, err) != TAMIS_OK)
        return err->status;
    for (tamis_status code; (status = tamis_file_lock(lock, path, err)) == TAMIS_E_BUSY;) {
        *lock = NULL;
        code = cli_lock_again(&wait, err);
        if (code != TAMIS_OK)
            return code;
    }
    if (status != TAMIS_E_UNSUPPORTED)
        return status;
    *lock = NULL;
    return TAMIS_OK;
}

/* The file was replaced while this process changed its filter. If the new file is not a filter, running again
 * does not help. */
static tamis_status fail_changed(const char *path, tamis_error *err) {
    tamis_filter *now = NULL;
    tamis_error why = TAMIS_ERROR_INIT;

    if (cli_file_open(&now, &(cli_filter_file){.path = path}, NULL, &why) == TAMIS_OK)
        cli_remedy(err, "run again");
    else
        cli_remedy(err, "it is not a filter: put a whole one there, and run again");
    tamis_filter_free(now);
    return err->status;
}

/* A signal that makes `stop_fd` readable ends the save; -1: none does. */
static tamis_status save(tamis_filter *filter, const cli_file_target *target, int stop_fd, tamis_error *err) {
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    tamis_status status = tamis_filter_metadata_get(filter, &metadata, err);

    signal(SIGXFSZ, SIG_IGN); /* exceeding the limit of file sizes becomes an error of write() */
    if (status == TAMIS_OK)
        status = tamis_compressed_save_until(
            filter, target->path, target->format == TAMIS_FORMAT_AUTO ? metadata.format : target->format,
            target->compression, stop_fd, err);
    if (status == TAMIS_E_CHANGED)
        return fail_changed(target->path, err);
    return status;
}

tamis_status cli_file_save(tamis_filter *filter, const char *path, tamis_format format,
                           tamis_compression compression, tamis_error *err) {
    return cli_server_is_uri(path) ? TAMIS_OK
                                   : save(filter, &(cli_file_target){path, format, compression}, -1, err);
}

tamis_status cli_file_save_until_signal(tamis_filter *filter, const cli_file_target *target,
                                        cli_lock_wait wait, tamis_error *err) {
    if (cli_signals_look(err) != TAMIS_OK)
        return err->status;
    if (!cli_server_is_uri(target->path))
        return save(filter, target, cli_signals_fd(), err);
    return cli_server_format(filter) ? TAMIS_OK : cli_server_push(filter, target->path, wait, err);
}

tamis_status cli_file_save_new(tamis_filter *filter, const char *path, tamis_error *err) {
    signal(SIGXFSZ, SIG_IGN); /* as in save() */
    const tamis_status status = tamis_filter_save_new(filter, path, TAMIS_FORMAT_TAMIS, err);
    if (status == TAMIS_E_CHANGED)
        cli_remedy(err, "run again");
    return status;
}

tamis_status cli_file_each(const cli_args *args, cli_file_function *each, bool *negative, tamis_error *err) {
    tamis_status status = TAMIS_OK;

    if (args->operand_count == 0)
        return cli_fail(err, "filter: none is named; give its file");
    for (size_t i = 0; i < args->operand_count; i++) {
        tamis_error failed = TAMIS_ERROR_INIT;
        if (each(args, args->operands[i], negative, &failed) == TAMIS_OK)
            continue;
        if (status != TAMIS_OK)
            cli_report(err->text); /* cli_run reports the last error */
        status = failed.status;
        *err = failed;
        if (failed.status == TAMIS_E_INTERRUPTED)
            break;
    }
    return status;
}
