/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"
#include "cli/cmd/copy/copy_bitmap.h"
#include "cli/core/cli_rows.h"
#include "cli/filter/cli_file.h"
#include "cli/filter/cli_metadata.h"
#include "cli/process/cli_signal.h"

enum { OPT_OUTPUT, OPT_FORMAT, OPT_GZIP, OPT_LABEL, OPT_VERSION, OPT_LOCK_WAIT, OPT_QUIET, OPT_COUNT };

static const cli_option options[OPT_COUNT] = {
    [OPT_OUTPUT] = CLI_ROW_WRITE_OUTPUT,
    [OPT_FORMAT] =
        {.name = "format",
         .type = CLI_CHOICE,
         .value = "FORMAT",
         .fallback = "auto",
         .choices = cli_copy_formats,
         .help = "Write it as tamis, guava or dcso; auto: as the FILTER is. bitmap: raw bits.",
         .more = "bitmap is between a file and a filter on a server, one of which FILTER is and the "
                 "other --output: the bytes as the server has them, without what says what they are, so "
                 "that the URI has to."},
    [OPT_GZIP] = CLI_ROW_GZIP,
    [OPT_LABEL] = CLI_ROW_LABEL,
    [OPT_VERSION] = CLI_ROW_DATA_VERSION,
    [OPT_LOCK_WAIT] = CLI_ROW_LOCK_WAIT,
    [OPT_QUIET] = CLI_ROW_WRITE_QUIET,
};

/* Applies the given labels and version. Without them the metadata stays as it is, with its time of
 * creation. */
static tamis_status describe(const cli_args *args, tamis_filter *filter, tamis_error *err) {
    tamis_format format = cli_metadata_format(filter, (tamis_format)args->values[OPT_FORMAT].number);
    cli_metadata metadata;
    tamis_status status = cli_metadata_read(&metadata, args->values + OPT_LABEL, err);

    if (status == TAMIS_OK)
        status = cli_metadata_check(&metadata, format, err);
    if (status == TAMIS_OK)
        status = cli_metadata_apply(&metadata, filter, err);
    cli_metadata_release(&metadata);
    return status;
}

static tamis_status copy(const cli_args *args, const char *output, tamis_error *err) {
    tamis_format format = (tamis_format)args->values[OPT_FORMAT].number;
    tamis_filter *filter = NULL;
    tamis_status status = cli_file_fetch(&filter, args->operands[0], err);

    if (status == TAMIS_OK)
        status = describe(args, filter, err);
    if (status == TAMIS_OK)
        status = cli_file_write(filter, output, format, cli_file_compression(args->values[OPT_GZIP].given),
                                cli_lock_wait_of(&args->values[OPT_LOCK_WAIT]), err);
    if (status == TAMIS_OK && !args->values[OPT_QUIET].given)
        cli_metadata_report_lost(filter, output, format);
    tamis_filter_free(filter);
    return status;
}

/* Copies raw bits, which have no place for compression, labels or a version. */
static tamis_status copy_bits(const cli_args *args, const char *output, tamis_error *err) {
    static const int others[] = {OPT_GZIP, OPT_LABEL, OPT_VERSION};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (args->values[others[i]].given)
            return cli_fail(err, "--format bitmap: contradicts --%s: it is bits alone; leave one of them out",
                            options[others[i]].name);
    return copy_bitmap(args->operands[0], output, cli_lock_wait_of(&args->values[OPT_LOCK_WAIT]), err);
}

static tamis_status run_copy(const cli_args *args, bool *negative, tamis_error *err) {
    const char *output = args->values[OPT_OUTPUT].text;
    tamis_lock *lock = NULL;
    tamis_status status;
    int stop_fd;

    (void)negative;
    if (output == NULL)
        return cli_fail(err, "copy: --output is missing; name the file to write as -o FILE");
    if (args->operand_count != 1)
        return cli_fail(err, "copy: takes one filter, and %zu are named; give its file", args->operand_count);
    status = cli_signals_begin(&stop_fd, err);
    if (status == TAMIS_OK)
        status = cli_file_lock(&lock, output, cli_lock_wait_of(&args->values[OPT_LOCK_WAIT]), err);
    if (status == TAMIS_OK)
        status = args->values[OPT_FORMAT].number == CLI_COPY_BITMAP ? copy_bits(args, output, err)
                                                                    : copy(args, output, err);
    tamis_file_unlock(lock);
    return status;
}

static const char *const description[] = {
    "Write FILTER, whole and verified, to another file; with --format as another program has it.",
    "guava is what BloomFilter.readFrom of Guava reads: kind classic with scheme guava64 or guava32. dcso is "
    "what the bloom program of DCSO reads: kind classic with scheme fnv-dcso, of the size that it gives "
    "itself. tamis takes every filter. What a format cannot hold is refused, since keys cannot be hashed "
    "anew: "
    "a filter for Guava is built with --scheme guava64.",
    "Labels, version, time and how keys are made (--type, --ignore-case and --trim) are of format tamis "
    "alone: "
    "a remark says what the copy is without, and --label "
    "or "
    "--data-version is refused for another. From Guava "
    "nothing is lost, and in tamis the file has checksums. A copy in the same format has the same bytes, but "
    "for what --gzip, --label and --data-version change.",
    "FILTER may be compressed with gzip, zstd, lz4, xz or bzip2. The copy is, with gzip, where --gzip is "
    "given: without, a compressed filter is "
    "unpacked, "
    "and can then be mapped.",
    "FILTER and FILE may be on a server, named by a URI: see tamis help redis. What was there is replaced at "
    "once, in "
    "use or not, and what others add to it until then is lost with it.",
    "A damaged filter is not copied. No secret is needed.",
    NULL};

static const char *const exits[] = {
    "0",
    "The copy is written.",
    "2",
    "Error: FILTER cannot be read, is no filter, is damaged or not for that format, or FILE cannot be "
    "written. FILE stays as it was.",
    "130",
    "Ended by SIGINT (143 by SIGTERM, 129 by SIGHUP): FILE stays as it was, and nothing lies beside it.",
    "141",
    "The reader of standard output has gone: ended by SIGPIPE, without a word.",
    NULL};

static const cli_example examples[] = {
    {"tamis build -o ids.tamis --kind classic --scheme guava64 a.log && tamis copy -o ids.guava --format "
     "guava "
     "ids.tamis",
     "A filter that a Java program reads with BloomFilter.readFrom."},
    {"tamis build -o seen.tamis a.log && tamis copy -o shipped.tamis seen.tamis", "A copy that is verified."},
    {"tamis build -o bad.bloom --format dcso a.log && tamis copy --gzip -o bad.bloom.gz bad.bloom",
     "One that is shipped, with a checksum; bloom --gzip of DCSO reads it, and tamis check does."},
    {"tamis build -o seen.tamis a.log && tamis copy -o next.tamis --data-version 2 --label state=checked "
     "seen.tamis",
     "A copy that says more of itself."},
    {NULL, NULL}};

const cli_command cmd_copy = {
    .name = "copy",
    .summary = "write a filter to another file, or in another format",
    .operands = "FILTER",
    .description = description,
    .options = options,
    .option_count = OPT_COUNT,
    .exits = exits,
    .examples = examples,
    .files = cli_file_files,
    .run = run_copy,
};
