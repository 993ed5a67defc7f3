/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis verify: is the file of a filter as it was written? Each operand gets one line of three sorts:
 *
 *     whole         all bytes are covered by checksums, and these are right
 *     consistent    the format has no checksums: the parts agree, but a changed bit cannot be seen
 *     damaged       the message says what; the exit status is 1
 *
 * Damage is an answer and not an error: it goes to standard output, and the other operands are verified. A
 * file that cannot be read, or is not a filter, is an error and has no answer.
 *
 * A compression counts as a checksum of the content only if its format always has one. zstd and lz4 leave it
 * to the writer.
 */
#include "cli/cli.h"
#include "cli/core/cli_json.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_file.h"
#include "cli/server/cli_server.h"

static const cli_option options[] = {
    {.id = CLI_OPT_QUIET,
     .name = "quiet",
     .letter = 'q',
     .type = CLI_FLAG,
     .help = "Print nothing; answer by the exit status alone."},
    {.id = CLI_OPT_JSON,
     .name = "json",
     .type = CLI_FLAG,
     .help = "Print each answer as a JSON object on a line."},
    {.name = NULL},
};

static const cli_conflict conflicts[] = {
    {CLI_OPT_QUIET, CLI_OPT_JSON, "one prints and the other does not"},
    {.why = NULL},
};

static const struct {
    cli_field file, whole, checksums, damage, error;
} fields = {
    .file = {"file", NULL, CLI_STRING, "The name, as given; bytes that are not UTF-8 are shown as ?."},
    .whole = {"whole", NULL, CLI_BOOLEAN | CLI_NULL,
              "false: damage was found; null = the file was not verified, see error."},
    .checksums = {"checksums", NULL, CLI_BOOLEAN | CLI_NULL,
                  "false: the format has none, so its parts were only checked against each other; null = the "
                  "file could not be opened."},
    .damage = {"damage", NULL, CLI_STRING | CLI_NULL, "What is damaged, in words; null = nothing."},
    .error = {"error", NULL, CLI_STRING | CLI_NULL,
              "Why the file could not be verified: it cannot be read, or is not a filter; null = it was "
              "verified. Standard error has the same message."},
};

/* Format of a file that was opened. */
typedef struct found {
    tamis_format format; /* TAMIS_FORMAT_AUTO: the file could not be opened */
    tamis_compression compression;
} found;

/* True if the file has checksums of its whole content. In zstd and lz4 they are optional, so these do not
 * count. */
static bool has_checksums(const found *file) {
    return file->format == TAMIS_FORMAT_TAMIS || file->format == TAMIS_FORMAT_REDISBLOOM ||
           file->compression == TAMIS_COMPRESSION_GZIP || file->compression == TAMIS_COMPRESSION_XZ ||
           file->compression == TAMIS_COMPRESSION_BZIP2;
}

/* Prints the result. `damage` is a message that names the file, or NULL. */
static void print_text(const char *path, const found *file, const char *damage) {
    if (damage) {
        cli_text_print(stdout, damage);
    } else {
        cli_text_print(stdout, path);
        if (has_checksums(file))
            fputs(": whole", stdout);
        else
            printf(": consistent, but a %s file has no checksums: a changed bit cannot be detected",
                   tamis_format_name(file->format));
    }
    fputc('\n', stdout);
}

/* damage, error: messages, or NULL. A file with an error was not verified. */
static tamis_status print_json(const char *path, const found *file, const char *damage, const char *error,
                               tamis_error *err) {
    json_t *object = json_object();

    cli_json_string(object, &fields.file, path);
    cli_json_boolean_or_null(object, &fields.whole, !error, !damage);
    cli_json_boolean_or_null(object, &fields.checksums, file->format != TAMIS_FORMAT_AUTO,
                             has_checksums(file));
    cli_json_string(object, &fields.damage, damage);
    cli_json_string(object, &fields.error, error);
    return cli_json_write(object, stdout, 0, "verify", err);
}

/* Prints the result as the options say. `damage` is a message, or NULL. */
static tamis_status print_result(const cli_args *args, const char *path, const found *file,
                                 const char *damage, tamis_error *err) {
    tamis_status status = TAMIS_OK;

    if (args->values[CLI_OPT_JSON].given)
        status = print_json(path, file, damage, NULL, err);
    else if (!args->values[CLI_OPT_QUIET].given)
        print_text(path, file, damage);
    return status;
}

static tamis_status verify_operand(const cli_args *args, const char *path, bool *negative, tamis_error *err) {
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    found file = {TAMIS_FORMAT_AUTO, TAMIS_COMPRESSION_NONE};
    tamis_filter *filter = NULL;
    tamis_status status =
        cli_server_refuse(path, "filter", "copy it to a file first: tamis copy -o FILE URI", err);

    if (status == TAMIS_OK)
        status = cli_file_open(&filter, &(cli_filter_file){.path = path}, &file.compression, err);
    if (status == TAMIS_OK)
        status = tamis_filter_metadata_get(filter, &metadata, err);
    file.format = metadata.format;
    if (status == TAMIS_OK)
        status = tamis_filter_verify(filter, err);
    tamis_filter_free(filter);
    if (status == TAMIS_E_DAMAGED) {
        const tamis_error damage = *err;
        *negative = true;
        return print_result(args, path, &file, damage.text, err);
    }
    if (status != TAMIS_OK && args->values[CLI_OPT_JSON].given) {
        const tamis_error failed = *err;
        (void)print_json(path, &file, NULL, failed.text, err);
        *err = failed;
    }
    return status == TAMIS_OK ? print_result(args, path, &file, NULL, err) : status;
}

static tamis_status run_verify(const cli_args *args, bool *negative, tamis_error *err) {
    return cli_file_each(args, verify_operand, negative, err);
}

const cli_command cmd_verify = {
    .name = "verify",
    .summary = "whether the file of a filter is undamaged",
    .operands = "FILTER...",
    .manual = &cli_manual_verify,
    .options = options,
    .conflicts = conflicts,
    .fields = CLI_FIELDS(fields),
    .run = run_verify,
};
