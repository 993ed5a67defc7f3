/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * What commands share that make, open or fill a filter.
 *
 *     options --> cli_filter_configure --> cli_filter_spec --> cli_filter_plan --> cli_filter_create
 *     name -----> cli_filter_open, or with a lock cli_filter_lock_and_open
 *
 * The messages about full and overfull filters are here too, since their remedy is an option of the command.
 */
#include "cli/filter/cli_filter.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tamis/compat/redisbloom_cuckoo.h>

#include "cli/core/cli_choice.h"
#include "cli/core/cli_rows.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_file.h"
#include "cli/server/cli_server.h"

static tamis_status check_kind(cli_filter_spec *filter, const cli_value *values, tamis_error *err) {
    const cli_value *kind = &values[CLI_OPT_KIND];
    const bool exact = values[CLI_OPT_EXACT].given;

    if (exact && kind->given && cli_kind_of(kind->number) != TAMIS_KIND_EXACT)
        return cli_fail(err, "--exact: contradicts --kind %s: it means --kind exact; leave one of them out",
                        kind->text);
    filter->plan_options.kind = exact ? TAMIS_KIND_EXACT : cli_kind_of(kind->number);
    return cli_plan_check_rate(kind, &values[CLI_OPT_FPR], err);
}

tamis_status cli_filter_check_secret(const char *secret_file, tamis_error *err) {
    if (!secret_file || strcmp(secret_file, "-") != 0)
        return TAMIS_OK;
    return cli_fail(err, "--secret-file '-': is not taken for standard input here; give /dev/stdin, or ./- "
                         "for a file of that name");
}

static tamis_status check_scheme(cli_filter_spec *filter, const cli_value *values, tamis_error *err) {
    const cli_value *scheme = &values[CLI_OPT_SCHEME];
    const bool secret = filter->secret_file;

    if (cli_filter_check_secret(filter->secret_file, err) != TAMIS_OK)
        return err->status;
    filter->plan_options.scheme = (tamis_scheme)scheme->number;
    if (filter->plan_options.scheme == TAMIS_SCHEME_AUTO && secret)
        filter->plan_options.scheme = TAMIS_SCHEME_SIP;
    if (filter->plan_options.scheme == TAMIS_SCHEME_SIP && !secret)
        return cli_fail(err, "--scheme 'sip': needs a secret; give --secret-file FILE of %d to %d bytes",
                        TAMIS_SECRET_MIN, TAMIS_SECRET_MAX);
    if (filter->plan_options.scheme != TAMIS_SCHEME_SIP && secret)
        return cli_fail(
            err, "--secret-file: contradicts --scheme %s, which takes no secret; leave one of them out",
            scheme->text);
    if (values[CLI_OPT_SEED].given && filter->plan_options.scheme > TAMIS_SCHEME_XXH3)
        return cli_fail(err, "--seed: contradicts scheme %s, which takes no seed; leave --seed out",
                        tamis_scheme_name(filter->plan_options.scheme));
    return TAMIS_OK;
}

tamis_status cli_filter_configure(cli_filter_spec *filter, const cli_value *values, double fpr,
                                  tamis_error *err) {
    filter->plan_options = (tamis_plan_options)TAMIS_PLAN_OPTIONS_INIT;
    filter->plan_options.expect = values[CLI_OPT_EXPECT].number;
    filter->plan_options.memory = values[CLI_OPT_MEMORY].number;
    filter->given = values;
    filter->seed = values[CLI_OPT_SEED].number;
    filter->secret_file = values[CLI_OPT_SECRET_FILE].text;
    if (check_kind(filter, values, err) != TAMIS_OK)
        return err->status;
    if (filter->plan_options.kind != TAMIS_KIND_EXACT)
        filter->plan_options.fpr = values[CLI_OPT_FPR].given ? values[CLI_OPT_FPR].rate : fpr;
    if (check_scheme(filter, values, err) != TAMIS_OK)
        return err->status;
    if (cli_filter_will_be_redisbloom(filter) && !values[CLI_OPT_FPR].given)
        filter->plan_options.fpr = 0; /* RedisBloom promises none */
    return TAMIS_OK;
}

bool cli_filter_will_be_redisbloom(const cli_filter_spec *spec) {
    return spec->plan_options.kind == TAMIS_KIND_CUCKOO &&
           spec->plan_options.scheme == TAMIS_SCHEME_REDISBLOOM;
}

/* True also if the file cannot be read. */
static bool is_compressed(int fd, off_t offset) {
    char head[TAMIS_COMPRESSION_MAGIC_MAX];
    const ssize_t size = pread(fd, head, sizeof head, offset);

    return size <= 0 || tamis_compression_of_bytes(head, (size_t)size) != TAMIS_COMPRESSION_NONE;
}

/* Finds the bytes left to read of an input ("-": standard input). Returns false if it is not a regular
 * file or is compressed. */
static bool size_of_input(const char *input, uint64_t *bytes) {
    const bool is_standard = strcmp(input, "-") == 0;
    struct stat st;

    if ((is_standard ? fstat(STDIN_FILENO, &st) : stat(input, &st)) != 0 || !S_ISREG(st.st_mode))
        return false;
    const int fd = is_standard ? STDIN_FILENO : open(input, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const off_t offset = is_standard ? lseek(fd, 0, SEEK_CUR) : 0;
    *bytes = offset < 0 || offset >= st.st_size ? 0 : (uint64_t)(st.st_size - offset);
    const bool known = offset >= 0 && (*bytes == 0 || !is_compressed(fd, offset));
    if (!is_standard)
        close(fd);
    return known;
}

/* Finds the bytes of all inputs. Returns false if the size of one is unknown. */
static bool size_of_inputs(const cli_stream *stream, uint64_t *bytes) {
    uint64_t size;

    *bytes = 0;
    if (stream->input_count == 0)
        return size_of_input("-", bytes);
    for (size_t i = 0; i < stream->input_count; i++) {
        if (!size_of_input(stream->inputs[i], &size))
            return false;
        *bytes += size;
    }
    return true;
}

bool cli_filter_prefer_growth(cli_filter_spec *spec) {
    return spec->frozen || spec->server || tamis_plan_options_prefer_growth(&spec->plan_options);
}

bool cli_filter_grows_by_parts(const cli_filter_spec *spec) {
    return spec->plan_options.kind == TAMIS_KIND_CUCKOO && spec->plan_options.expect == 0 && !spec->frozen &&
           !cli_filter_will_be_redisbloom(spec);
}

uint64_t cli_filter_fit_inputs(cli_filter_spec *spec, const cli_stream *inputs, bool grows) {
    const uint64_t given = spec->plan_options.expect;
    /* distinct records of less than 3 bytes; any other takes 4 bytes or more with its terminator */
    const uint64_t few = 1 + 256 + 65536;
    uint64_t bytes, max_keys = grows ? 0 : UINT64_MAX;

    if (given == 0 || spec->frozen || spec->server || spec->layout.kind != TAMIS_KIND_AUTO)
        return given;
    const bool known = size_of_inputs(inputs, &bytes);
    if (known)
        max_keys = bytes / 4 + few;
    spec->start_small = !known && !grows;
    tamis_plan_options_limit(&spec->plan_options, max_keys);
    return given;
}

tamis_status cli_plan_check_rate(const cli_value *kind, const cli_value *fpr, tamis_error *err) {
    if (!kind->given || kind->number != TAMIS_KIND_EXACT || !fpr->given)
        return TAMIS_OK;
    return cli_fail(err, "--kind exact: contradicts --fpr: exact accepts no rate; leave one of them out");
}

void cli_plan_name_memory(const cli_value *memory, tamis_error *err) {
    if (memory->given && err->status == TAMIS_E_MEMORY_LIMIT)
        cli_subject(err, "--memory '%.60s'", memory->text);
}

/* Names --lateness in the error of a plan with too much of it. */
static void name_lateness(const tamis_plan_options *plan_options, tamis_error *err) {
    const uint64_t max = tamis_plan_options_max_lateness(plan_options);
    char lateness[CLI_TEXT_NUMBER];

    /* With a maximum of 0, window or step is the error. */
    if (err->status != TAMIS_E_RANGE || max == 0 || plan_options->lateness <= max)
        return;
    cli_subject(err, "--lateness %s", cli_text_time(lateness, sizeof lateness, plan_options->lateness));
    cli_remedy(err, "give a longer --step, or a shorter --lateness");
}

tamis_status cli_filter_plan(tamis_plan *plan, tamis_filter_options *options, const cli_filter_spec *spec,
                             const cli_secret *secret, tamis_error *err) {
    if (spec->layout.kind != TAMIS_KIND_AUTO) {
        *plan = spec->layout;
    } else if ((spec->server ? tamis_redis_plan_for(plan, &spec->plan_options, NULL, spec->server, err)
                             : tamis_plan_make(plan, &spec->plan_options, err)) != TAMIS_OK) {
        if (spec->given)
            cli_plan_name_memory(&spec->given[CLI_OPT_MEMORY], err);
        name_lateness(&spec->plan_options, err);
        return err->status;
    }
    if (spec->start_small)
        tamis_plan_start_small(plan);
    options->seed = spec->seed;
    options->frozen = spec->frozen && !tamis_kind_is_bloom(plan->kind) && plan->kind != TAMIS_KIND_CUCKOO;
    /* As other programs do with this layout. */
    options->allow_over_capacity = spec->server && plan->kind == TAMIS_KIND_CLASSIC;
    if (secret) {
        options->secret = secret->bytes;
        options->secret_size = secret->size;
    }
    return TAMIS_OK;
}

tamis_status cli_filter_create(tamis_filter **filter, const cli_filter_spec *spec, const cli_secret *secret,
                               tamis_error *err) {
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;

    if (cli_filter_plan(&plan, &options, spec, secret, err) != TAMIS_OK)
        return err->status;
    return tamis_filter_create(filter, &plan, &options, err);
}

tamis_status cli_filter_full(const tamis_filter *filter, const char *path, uint64_t record,
                             const char *remedy, tamis_error *err) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    char number[CLI_TEXT_NUMBER], size[CLI_TEXT_NUMBER], shown[CLI_SERVER_SHOWN];

    cli_text_count(number, sizeof number, record);
    if (cli_server_format(filter)) { /* the library has counted its bits for the message */
        cli_subject(err, "%.200s: record %s", cli_server_show(path, shown), number);
        cli_remedy(err, remedy);
        return err->status;
    }
    if (tamis_filter_info_get(filter, &info, NULL) != TAMIS_OK ||
        tamis_filter_metadata_get(filter, &metadata, NULL) != TAMIS_OK)
        return err->status; /* *err has the library's message */
    if (info.full == TAMIS_FULL_CAPACITY && !tamis_kind_is_bloom(info.kind) && info.kind != TAMIS_KIND_CUCKOO)
        return cli_fail(
            err,
            "%.200s: full at record %s: made for %s with --frozen; build it again without --frozen, "
            "or with --expect N",
            path, number, cli_text_records(size, sizeof size, info.capacity));
    if (info.full == TAMIS_FULL_CAPACITY && info.kind == TAMIS_KIND_CUCKOO)
        remedy = "build it again with a larger --expect, or without --expect and --frozen, and it grows";
    if (info.full == TAMIS_FULL_CAPACITY)
        return cli_fail(err, "%.200s: full at record %s: made for %s%s; %s", path, number,
                        metadata.format == TAMIS_FORMAT_GUAVA ? "at most " : "",
                        cli_text_records(size, sizeof size, info.capacity), remedy);
    if (info.full == TAMIS_FULL_MEMORY)
        return cli_fail(err, "%.200s: full at record %s: it would grow beyond its %s; %s", path, number,
                        cli_text_bytes(size, sizeof size, tamis_filter_plan(filter)->memory_limit), remedy);
    if (info.full != TAMIS_FULL_CROWDED || info.subfilters == 0) /* a larger one would be as crowded */
        cli_remedy(err, remedy);
    return err->status;
}

tamis_status cli_filter_unkeyed(const char *path, tamis_error *err) {
    return cli_fail(err, "%.300s: was made without a secret; leave --secret-file out", path);
}

tamis_status cli_filter_check_change(const tamis_filter *filter, const char *path, tamis_error *err) {
    const bool is_redisbloom = cli_filter_is_redisbloom(filter);
    char shown[CLI_SERVER_SHOWN];

    if (tamis_filter_can(filter, TAMIS_CAN_ADD))
        return TAMIS_OK;
    return cli_fail(err,
                    "%.300s: a filter of %s, which is only looked up and copied here; change it on its "
                    "server, by BF or %s commands",
                    cli_server_show(path, shown), is_redisbloom ? "RedisBloom" : "the Redis module",
                    is_redisbloom ? "CF" : "TW");
}

static tamis_status open_filter(tamis_filter **filter, const cli_filter_file *file, bool *keyed,
                                tamis_compression *compression, tamis_error *err) {
    const char *path = file->path;
    tamis_filter *opened = NULL;
    const bool on_server = cli_server_is_uri(path);

    /* Open the file without a secret first: its header says if it is keyed, and the library refuses a
     * secret otherwise. On a server a missing filter is created. */
    if ((on_server && file->access != CLI_QUERY
             ? cli_server_open(&opened, path, &file->form, file->secret, err)
             : cli_file_open(&opened, &(cli_filter_file){.path = path}, compression, err)) != TAMIS_OK)
        return err->status;
    const bool sip = tamis_hasher_scheme(tamis_filter_hasher(opened)) == TAMIS_SCHEME_SIP;
    if (sip && !file->secret) {
        tamis_filter_free(opened);
        return cli_fail(err, "%.300s: was made with a secret; give it by --secret-file", path);
    }
    /* A compressed filter is in memory already, so it can be changed without opening it again. */
    const bool is_ready = on_server || file->access == CLI_QUERY ||
                          (file->access == CLI_CHANGE && *compression != TAMIS_COMPRESSION_NONE);
    if (sip || !is_ready) {
        tamis_filter_free(opened);
        cli_filter_file again = *file;
        again.secret = sip ? file->secret : NULL;
        if (cli_file_open(&opened, &again, compression, err) != TAMIS_OK) {
            if (err->status == TAMIS_E_SECRET)
                cli_remedy(err, "give that one by --secret-file");
            if (err->status == TAMIS_E_UNSUPPORTED && file->access == CLI_OVER_CAPACITY)
                cli_remedy(err, "leave --allow-over-capacity out");
            return err->status;
        }
    }
    if (file->access != CLI_QUERY && cli_filter_check_change(opened, path, err) != TAMIS_OK) {
        tamis_filter_free(opened);
        return err->status;
    }
    if (keyed)
        *keyed = sip;
    *filter = opened;
    return TAMIS_OK;
}

tamis_status cli_filter_open(tamis_filter **filter, const char *path, const cli_secret *secret, bool *keyed,
                             tamis_error *err) {
    tamis_compression compression;

    return open_filter(filter, &(cli_filter_file){.path = path, .secret = secret, .access = CLI_QUERY}, keyed,
                       &compression, err);
}

tamis_status cli_filter_lock_and_open(tamis_lock **lock, tamis_filter **filter, const cli_filter_file *file,
                                      tamis_compression *compression, tamis_error *err) {
    /* If the file does not exist, only opening it gives a helpful error; locking would not. */
    if (!cli_server_is_uri(file->path) && access(file->path, F_OK) != 0) {
        if (cli_filter_open_locked(filter, file, compression, err) != TAMIS_OK)
            return err->status;
        tamis_filter_free(*filter); /* the file was created meanwhile: open it again, with the lock */
        *filter = NULL;
    }
    const tamis_status status = cli_file_lock(lock, file->path, file->lock_wait, err);
    if (status != TAMIS_OK)
        return status;
    return cli_filter_open_locked(filter, file, compression, err);
}

tamis_status cli_filter_open_locked(tamis_filter **filter, const cli_filter_file *file,
                                    tamis_compression *compression, tamis_error *err) {
    bool keyed = false;

    if (open_filter(filter, file, &keyed, compression, err) != TAMIS_OK)
        return err->status;
    return !file->secret || keyed ? TAMIS_OK : cli_filter_unkeyed(file->path, err);
}

bool cli_filter_promises(const tamis_plan *plan) {
    return plan->fpr < 1;
}

void cli_filter_report_rate(const tamis_filter *filter) {
    const tamis_plan *plan = tamis_filter_plan(filter);
    char message[400], now[CLI_TEXT_NUMBER], requested[CLI_TEXT_NUMBER];

    if (plan->caution == TAMIS_CAUTION_NONE)
        return;
    snprintf(message, sizeof message, "scheme %s: %s", tamis_scheme_name(plan->scheme),
             tamis_plan_caution_text(plan->caution));
    /* No formula gives the rate of poor hashes. */
    if (plan->caution != TAMIS_CAUTION_POOR_HASHES) {
        const size_t used = strlen(message);
        snprintf(message + used, sizeof message - used, ": %s, not %s; give scheme xxh3, or accept that",
                 cli_text_real(now, sizeof now, plan->fpr_predicted),
                 cli_text_real(requested, sizeof requested, plan->fpr));
    }
    cli_report(message);
}

void cli_filter_report_overfull(const tamis_filter *filter, const char *path, const char *remedy) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    char message[500], holds[CLI_TEXT_NUMBER], made[CLI_TEXT_NUMBER], now[CLI_TEXT_NUMBER],
        promised[CLI_TEXT_NUMBER];

    if (tamis_filter_info_get(filter, &info, NULL) != TAMIS_OK || !info.saturated ||
        tamis_filter_metadata_get(filter, &metadata, NULL) != TAMIS_OK)
        return;
    cli_text_real(now, sizeof now, info.fpr_live);
    cli_text_real(promised, sizeof promised, tamis_filter_plan(filter)->fpr);
    if (strcmp(now, promised) == 0)
        return; /* the difference is too small to be shown */
    snprintf(message, sizeof message,
             "%.200s: holds %s%s keys and was made for %s%s, so its rate is now about %s and not %s; %s",
             path, isfinite(info.cardinality) ? "about " : "",
             isfinite(info.cardinality) ? cli_text_expected(holds, sizeof holds, info.cardinality)
                                        : "an unknown number of",
             metadata.format == TAMIS_FORMAT_GUAVA ? "at most " : "",
             cli_text_count(made, sizeof made, info.capacity), now, promised, remedy);
    cli_report(message);
}

void cli_filter_report_kept(const char *path) {
    char message[400], shown[CLI_SERVER_SHOWN];

    if (cli_server_is_uri(path))
        snprintf(message, sizeof message, "%.300s: what was added until then is in it",
                 cli_server_show(path, shown));
    else
        snprintf(message, sizeof message, "%.300s: %s, nothing was saved", path,
                 access(path, F_OK) == 0 ? "stays as it was" : "was not made");
    cli_report(message);
}

bool cli_filter_is_redisbloom(const tamis_filter *filter) {
    return tamis_redisbloom_of(filter) || tamis_redisbloom_cuckoo_of(filter);
}

bool cli_filter_accepts_hashes(const tamis_filter *filter) {
    return !cli_server_format(filter) && !cli_filter_is_redisbloom(filter) &&
           tamis_scheme_digest_bits(tamis_hasher_scheme(tamis_filter_hasher(filter))) > 0;
}

static tamis_status add_batch(void *filter, const tamis_stream_batch *b, size_t *done, tamis_error *err) {
    return b->hashes ? tamis_filter_add_hashes(filter, b->hashes, b->count, b->answers, done, err)
                     : tamis_filter_add_many(filter, b->keys, b->count, b->answers, done, err);
}

void cli_filter_set_service(tamis_stream_service *service, tamis_filter *filter) {
    service->context = filter;
    service->query = add_batch;
    service->hasher = cli_filter_accepts_hashes(filter) ? tamis_filter_hasher(filter) : NULL;
}
