/* SPDX-License-Identifier: BSD-2-Clause */

#include "cli/cli.h"
#include "cli/filter/cli_file.h"
#include "cli/server/cli_server.h"

enum { OPT_QUIET, OPT_JSON, OPT_COUNT };

static const cli_option options[OPT_COUNT] = {
    [OPT_QUIET] = {.name = "quiet",
                   .letter = 'q',
                   .type = CLI_FLAG,
                   .help = "Print nothing; answer by the exit status alone."},
    [OPT_JSON] = {.name = "json", .type = CLI_FLAG, .help = "Print each answer as a JSON object on a line."},
};

static const cli_conflict conflicts[] = {{OPT_QUIET, OPT_JSON, "one prints and the other does not"}};

/* Format of a file that was opened. */
typedef struct found {
    tamis_format format; /* TAMIS_FORMAT_AUTO: the file could not be opened */
    tamis_compression compression;
} found;

/* True if the file has checksums of its whole content. In zstd and lz4 they are optional, so these do not
 * count. */
static bool has_checksums(const found *file) {
    return file->format == TAMIS_FORMAT_TAMIS || file->compression == TAMIS_COMPRESSION_GZIP ||
           file->compression == TAMIS_COMPRESSION_XZ || file->compression == TAMIS_COMPRESSION_BZIP2;
}

/* Prints the result. `damage` is a message that names the file, or NULL. */
static void print_text(const char *path, const found *file, const char *damage) {
    if (damage != NULL) {
        cli_file_print(stdout, damage);
    } else {
        cli_file_print(stdout, path);
        if (has_checksums(file))
            fputs(": whole", stdout);
        else
            printf(": consistent, but a %s file has no checksums: a changed bit cannot be detected",
                   tamis_format_name(file->format));
    }
    fputc('\n', stdout);
}

static void put_text(json_t *object, const char *name, const char *text) {
    if (text == NULL)
        cli_json_null(object, name);
    else
        cli_file_json_text(object, name, text);
}

/* damage, error: messages, or NULL. A file with an error was not verified. */
static tamis_status print_json(const char *path, const found *file, const char *damage, const char *error,
                               tamis_error *err) {
    json_t *object = json_object();

    cli_file_json_text(object, "file", path);
    if (error != NULL)
        cli_json_null(object, "whole");
    else
        cli_json_bool(object, "whole", damage == NULL);
    if (file->format == TAMIS_FORMAT_AUTO)
        cli_json_null(object, "checksums");
    else
        cli_json_bool(object, "checksums", has_checksums(file));
    put_text(object, "damage", damage);
    put_text(object, "error", error);
    if (cli_json_write(object, 5, stdout, 0))
        return TAMIS_OK;
    return cli_fail_nomem("verify", err);
}

/* Prints the result as the options say. `damage` is a message, or NULL. */
static tamis_status answer(const cli_args *args, const char *path, const found *file, const char *damage,
                           tamis_error *err) {
    tamis_status status = TAMIS_OK;

    if (args->values[OPT_JSON].given)
        status = print_json(path, file, damage, NULL, err);
    else if (!args->values[OPT_QUIET].given)
        print_text(path, file, damage);
    return status;
}

static tamis_status each(const cli_args *args, const char *path, bool *negative, tamis_error *err) {
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    found file = {TAMIS_FORMAT_AUTO, TAMIS_COMPRESSION_NONE};
    tamis_filter *filter = NULL;
    tamis_status status =
        cli_server_refuse(path, "filter", "copy it to a file first: tamis copy -o FILE URI", err);

    if (status == TAMIS_OK)
        status = cli_file_open(&filter, path, CLI_QUERY, NULL, &file.compression, err);
    if (status == TAMIS_OK)
        status = tamis_filter_metadata_get(filter, &metadata, err);
    file.format = metadata.format;
    if (status == TAMIS_OK)
        status = tamis_filter_verify(filter, err);
    tamis_filter_free(filter);
    if (status == TAMIS_E_DAMAGED) {
        tamis_error damage = *err;
        *negative = true;
        return answer(args, path, &file, damage.text, err);
    }
    if (status != TAMIS_OK && args->values[OPT_JSON].given) {
        const tamis_error failed = *err;
        (void)print_json(path, &file, NULL, failed.text, err);
        *err = failed;
    }
    return status == TAMIS_OK ? answer(args, path, &file, NULL, err) : status;
}

static tamis_status run_verify(const cli_args *args, bool *negative, tamis_error *err) {
    return cli_file_each(args, each, negative, err);
}

static const char *const description[] = {
    "Read every block of each FILTER and say whether it is whole: all that it answers from is as it was "
    "written.",
    "A file of tamis has checksums, of the header and of each block of 64 KiB; the first damaged block, its "
    "bytes and how many are damaged are named. The commands that ask a filter verify a block before they "
    "first use it, so damage is an error there and never an answer. The zeros between header and first block "
    "mean nothing, and only verify and commands that read the whole file look at them.",
    "A file of Guava or of DCSO's bloom has none: what can be checked there is that its parts agree, and "
    "a changed bit is not seen. Compressed with gzip, xz or bzip2 it has one of the whole.",
    "No secret is needed.", NULL};

static const char *const exits[] = {
    "0",   "All are whole.",
    "1",   "Damage was found.",
    "2",   "Error: a file that cannot be read, or is no filter. The others are verified.",
    "130", "Ended by SIGINT (143 by SIGTERM, 129 by SIGHUP).",
    "141", "The reader of standard output has gone: ended by SIGPIPE, without a word.",
    NULL};

static const cli_entry json[] = {
    {"file", "The name, as given; what is not UTF-8 in it is shown as ?."},
    {"whole", "false: damage was found; null = the file was not verified, see error."},
    {"checksums", "false: the format has none, so only its parts were checked against each other; null = it "
                  "could not even be opened."},
    {"damage", "What is damaged, in words; null = nothing."},
    {"error",
     "Why the file could not be verified: it cannot be read, or is no filter; null = it was. Standard error "
     "has the same sentence."},
    {NULL, NULL}};

static const cli_example examples[] = {
    {"tamis build -o seen.tamis a.log && tamis verify seen.tamis", "Whether a file is undamaged."},
    {"tamis build -o seen.tamis a.log && tamis verify -q seen.tamis && cp seen.tamis shipped.tamis",
     "Nothing damaged is shipped."},
    {NULL, NULL}};

const cli_command cmd_verify = {
    .name = "verify",
    .summary = "whether the file of a filter is whole",
    .operands = "FILTER...",
    .description = description,
    .options = options,
    .option_count = OPT_COUNT,
    .conflicts = conflicts,
    .conflict_count = sizeof conflicts / sizeof conflicts[0],
    .exits = exits,
    .examples = examples,
    .json = json,
    .json_intro = "Each filter is an object on a line of its own:",
    .run = run_verify,
};
