/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Filters on the disk, and batches of commands.
 *
 *     DIRECTORY/NAME     a state, named by tamis__filter_name_encode
 *
 *     batch:  add, add, look up, ...   -->  filter and log of each state, in order
 *             commit of each state that was changed
 *             results
 *
 * 1. A result is valid after the commit. If that of a filter failed, all commands of the batch that used it get
 *    an error: they may have seen keys that are gone. The state is closed. The next use opens it at its last
 *    commit.
 * 2. A filter exists from its first commit on. What a crash leaves before that is made again at the next use.
 * 3. A filter that cannot be opened is not absent: its commands get an error.
 * 4. A filter that grows is a table without a number of keys, which grows in small steps. The memory limit is
 *    checked before each add, and exceeded by one step at most. A filter that does not grow takes all of its
 *    memory at once, and is refused if that exceeds the limit.
 * 5. The directory is locked: another process would make filters that this one does not know.
 * 6. Each filter has a random seed, so that nobody can choose keys that crowd it.
 */
#include "server/filter_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include <tamis/dedup.h>
#include <tamis/experimental/state.h>
#include <tamis/filter.h>
#include <tamis/plan.h>

#include "base/memory.h"
#include "base/system.h"

#define RETRY_NS  ((uint64_t)1000000000) /* between two attempts to open a state that failed */
#define RATE_MAX  0.25                   /* as RedisBloom */
#define HINT_FROM 1000                   /* capacity from which a size hint is worth its record */

struct named_filter {
    char *file;           /* its directory */
    tamis_state *state;   /* NULL: not open */
    tamis_dedup *session; /* over `state` */
    bool is_absent;       /* there is no such filter; only its name was used */
    bool is_dirty;        /* has adds that are not committed */
    bool has_failed;      /* the last commit or opening failed */
    bool is_lost;         /* the commit of this batch failed */
    uint64_t retry_at;    /* tamis__now_ns */
    tamis_error why;      /* of has_failed */
    uint64_t capacity;    /* as reserved */
    uint32_t expansion;
    uint64_t memory, keys;
    size_t size;
    char name[];
};

struct filter_store {
    tamis_allocator memory;
    server_filters settings;
    char *directory;
    int lock_fd; /* the directory, locked; -1: not open */
    void (*log)(void *context, const char *line);
    void *context;
    named_filter **filters; /* sorted by name */
    size_t count, capacity;
    filter_stats stats; /* filters, keys and memory: of those that exist */
};

static void log_filter(const filter_store *store, const named_filter *filter, const char *what) {
    char line[700];

    if (!store->log)
        return;
    snprintf(line, sizeof line, "filter '%.*s': %s", (int)(filter->size < 64 ? filter->size : 64),
             filter->name, what);
    store->log(store->context, line);
}

/* ---- errors ---- */

static void set_error(filter_command *command, const char *error) {
    tamis__filter_command_release(command);
    command->error = error;
    command->is_whole = true;
}

static void set_failure(filter_command *command, tamis_status status, const tamis_error *why) {
    const char *word = status == TAMIS_E_IO ? "IOERR" : status == TAMIS_E_BUSY ? "BUSY" : "ERR";
    const size_t size = strlen(word) + strlen(why->text) + 2;

    set_error(command, "ERR out of memory");
    command->message = malloc(size);
    if (!command->message)
        return;
    snprintf(command->message, size, "%s %s", word, why->text);
    command->error = command->message;
}

void tamis__filter_command_release(filter_command *command) {
    free(command->message);
    command->message = NULL;
    command->error = NULL;
}

/* ---- names ---- */

static int compare_names(tamis_key a, const named_filter *b) {
    const size_t common = a.size < b->size ? a.size : b->size;
    const int order = common > 0 ? memcmp(a.data, b->name, common) : 0;

    return order != 0 ? order : (a.size > b->size) - (a.size < b->size);
}

/* Returns the position of a name, or where it belongs. */
static size_t find_position(const filter_store *store, tamis_key name, bool *is_found) {
    size_t low = 0, high = store->count;

    *is_found = false;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare_names(name, store->filters[middle]);
        if (order == 0) {
            *is_found = true;
            return middle;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void free_name(filter_store *store, named_filter *filter) {
    if (filter->file)
        tamis__free(&store->memory, filter->file, strlen(filter->file) + 1);
    tamis__free(&store->memory, filter, sizeof *filter + filter->size);
}

/* Makes the entry of a name, at its position. Returns NULL if memory is short. */
static named_filter *insert_name(filter_store *store, size_t position, tamis_key name, const char *file) {
    named_filter *made = tamis__alloc(&store->memory, sizeof *made + name.size, _Alignof(named_filter));
    const size_t length = strlen(store->directory) + 1 + strlen(file) + 1;

    if (!made)
        return NULL;
    made->size = name.size;
    made->file = tamis__alloc(&store->memory, length, 1);
    if (made->file && store->count == store->capacity) {
        const size_t capacity = store->capacity ? 2 * store->capacity : 16;
        named_filter **grown =
            tamis__alloc(&store->memory, capacity * sizeof *grown, _Alignof(named_filter *));
        if (grown && store->count > 0)
            memcpy(grown, store->filters, store->count * sizeof *grown);
        if (grown) {
            tamis__free(&store->memory, store->filters, store->capacity * sizeof *grown);
            store->filters = grown;
            store->capacity = capacity;
        }
    }
    if (!made->file || store->count == store->capacity) {
        if (made->file)
            tamis__free(&store->memory, made->file, length);
        tamis__free(&store->memory, made, sizeof *made + name.size);
        return NULL;
    }
    snprintf(made->file, length, "%s/%s", store->directory, file);
    if (name.size > 0)
        memcpy(made->name, name.data, name.size);
    made->why = (tamis_error)TAMIS_ERROR_INIT;
    memmove(store->filters + position + 1, store->filters + position,
            (store->count - position) * sizeof *store->filters);
    store->filters[position] = made;
    store->count++;
    return made;
}

/* Forgets a name that has nothing on the disk, so that failed commands do not fill the memory. */
static void forget_name(filter_store *store, named_filter *filter) {
    bool is_found;
    const size_t position = find_position(store, (tamis_key){filter->name, filter->size}, &is_found);
    struct stat st;

    if (tamis__sys.stat(filter->file, &st) == 0 || errno != ENOENT)
        return;
    store->count--;
    memmove(store->filters + position, store->filters + position + 1,
            (store->count - position) * sizeof *store->filters);
    free_name(store, filter);
}

/* ---- states ---- */

/* Brings the numbers of a filter up to date. */
static void count_filter(filter_store *store, named_filter *filter) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;

    store->stats.memory -= filter->memory;
    store->stats.keys -= filter->keys;
    filter->memory = filter->keys = 0;
    if (filter->state && tamis_filter_info_get(tamis_state_filter(filter->state), &info, NULL) == TAMIS_OK) {
        filter->memory = info.memory;
        filter->keys = info.added;
    }
    store->stats.memory += filter->memory;
    store->stats.keys += filter->keys;
}

static void close_filter(filter_store *store, named_filter *filter) {
    store->stats.filters -= filter->state != NULL;
    tamis_dedup_close(filter->session);
    tamis_state_close(filter->state);
    filter->session = NULL;
    filter->state = NULL;
    filter->is_dirty = false;
    count_filter(store, filter);
}

/* Plans a filter. Sets *options to those of its filter. */
static tamis_status plan_filter(const filter_creation *creation, tamis_plan *plan,
                                tamis_filter_options *options, tamis_error *err) {
    tamis_plan_options wanted = TAMIS_PLAN_OPTIONS_INIT;
    const tamis_status status = tamis__random(&options->seed, sizeof options->seed, "seed of a filter", err);

    wanted.kind = TAMIS_KIND_FINGERPRINT;
    wanted.expect = creation->expansion ? 0 : creation->capacity;
    wanted.fpr = creation->rate < RATE_MAX ? creation->rate : RATE_MAX;
    options->frozen = !creation->expansion;
    return status == TAMIS_OK ? tamis_plan_make(plan, &wanted, err) : status;
}

/* Opens a session over the state. */
static tamis_status open_session(filter_store *store, named_filter *filter, tamis_error *err) {
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    unsigned long long capacity = 0;
    unsigned expansion = 0;

    options.state = filter->state;
    options.allocator = &store->memory;
    const tamis_status status = tamis_dedup_open(&filter->session, NULL, &options, err);
    if (status != TAMIS_OK) {
        tamis_state_close(filter->state);
        filter->state = NULL;
        return status;
    }
    if (sscanf(tamis_state_metadata(filter->state), "BF.RESERVE capacity %llu expansion %u", &capacity,
               &expansion) == 2) {
        filter->capacity = capacity;
        filter->expansion = expansion;
    } else { /* a state that another program made */
        filter->capacity = tamis_filter_plan(tamis_state_filter(filter->state))->capacity;
        filter->expansion = 2;
    }
    filter->is_absent = false;
    store->stats.filters++;
    count_filter(store, filter);
    return TAMIS_OK;
}

/* Opens or makes the state with these properties. */
static tamis_status make_state(filter_store *store, named_filter *filter, const filter_creation *creation,
                               tamis_error *err) {
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_filter_options filter_options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    char metadata[80];
    const tamis_status status = plan_filter(creation, &plan, &filter_options, err);

    if (status != TAMIS_OK)
        return status;
    if (!creation->expansion && store->stats.memory + plan.memory > store->settings.memory)
        return tamis__fail(err, TAMIS_E_MEMORY_LIMIT, 0, "filters: memory: exceeded");
    snprintf(metadata, sizeof metadata, "BF.RESERVE capacity %" PRIu64 " expansion %" PRIu32,
             creation->capacity, creation->expansion);
    options.plan = &plan;
    options.filter = &filter_options;
    options.metadata = metadata;
    options.allocator = &store->memory;
    return tamis_state_open(&filter->state, filter->file, &options, err);
}

/* Opens the state on the disk. A state without commits counts as absent, and so does an empty directory. */
static tamis_status open_state(filter_store *store, named_filter *filter, tamis_error *err) {
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_state_info info = TAMIS_STATE_INFO_INIT;
    struct stat st;

    filter->is_absent = tamis__sys.stat(filter->file, &st) != 0 && errno == ENOENT;
    if (filter->is_absent)
        return TAMIS_OK;
    options.allocator = &store->memory;
    tamis_status status = tamis_state_open(&filter->state, filter->file, &options, err);
    if (status == TAMIS_E_FORMAT) { /* may be the rest of an interrupted creation, which this repeats */
        const filter_creation creation = {store->settings.fpr, store->settings.capacity, 2};
        status = make_state(store, filter, &creation, err);
    }
    if (status != TAMIS_OK)
        return status;
    tamis_state_info_get(filter->state, &info);
    if (info.commits > 0)
        return open_session(store, filter, err);
    tamis_state_close(filter->state);
    filter->state = NULL;
    filter->is_absent = true;
    return TAMIS_OK;
}

/* Makes sure that the filter is open, or known to be absent. */
static tamis_status ensure_open(filter_store *store, named_filter *filter, tamis_error *err) {
    const uint64_t now = tamis__now_ns();

    if (filter->state || filter->is_absent)
        return TAMIS_OK;
    if (filter->has_failed && now < filter->retry_at)
        return tamis__fail(err, filter->why.status, filter->why.sys_errno, "%s", filter->why.text);
    tamis_error why = TAMIS_ERROR_INIT;
    const tamis_status status = open_state(store, filter, &why);
    if (status == TAMIS_OK)
        return TAMIS_OK;
    if (!filter->has_failed)
        log_filter(store, filter, why.text);
    filter->has_failed = true;
    filter->why = why;
    filter->retry_at = now + RETRY_NS;
    return tamis__fail(err, status, why.sys_errno, "%s", why.text);
}

/* ---- commands ---- */

/* Finds the filter of a command. Returns it if it is open. Otherwise the command has an error, or there is no
 * such filter. */
static named_filter *find_filter(filter_store *store, filter_command *command) {
    bool is_found;
    const size_t position = find_position(store, command->name, &is_found);
    tamis_error err = TAMIS_ERROR_INIT;

    if (!is_found)
        return NULL;
    named_filter *filter = store->filters[position];
    const tamis_status status = ensure_open(store, filter, &err);
    if (status != TAMIS_OK)
        set_failure(command, status, &err);
    if (!filter->state)
        return NULL;
    command->filter = filter;
    return filter;
}

/* Returns the entry for a new filter, or NULL and the command has an error. */
static named_filter *name_filter(filter_store *store, filter_command *command) {
    char file[FILTER_FILE_MAX + 1];
    bool is_found;
    const size_t position = find_position(store, command->name, &is_found);
    named_filter *filter = is_found ? store->filters[position] : NULL;

    if (!tamis__filter_name_encode(file, command->name)) {
        set_error(command,
                  "ERR the name of the filter is longer than 255 bytes as a file name; use a shorter key");
        return NULL;
    }
    if (store->stats.filters >= store->settings.max) {
        set_error(command,
                  "ERR no more filters: their number is at filters: max of the configuration; raise it");
        return NULL;
    }
    if (!filter)
        filter = insert_name(store, position, command->name, file);
    if (!filter)
        set_error(command, "ERR Insufficient memory to create filter");
    return filter;
}

/* Makes a filter. Returns NULL and the command has an error, if it cannot be made. */
static named_filter *make_filter(filter_store *store, filter_command *command,
                                 const filter_creation *creation) {
    tamis_error err = TAMIS_ERROR_INIT;
    named_filter *filter = name_filter(store, command);

    if (!filter)
        return NULL;
    tamis_status status = make_state(store, filter, creation, &err);
    if (status == TAMIS_OK)
        status = open_session(store, filter, &err);
    if (status == TAMIS_OK && creation->expansion && creation->capacity >= HINT_FROM)
        status = tamis_state_expect(filter->state, creation->capacity, &err);
    if (status == TAMIS_OK) {
        filter->is_dirty = true;
        command->filter = filter;
        return filter;
    }
    if (filter->state)
        close_filter(store, filter);
    filter->is_absent = false; /* a part may be on the disk */
    forget_name(store, filter);
    if (status == TAMIS_E_NOMEM || status == TAMIS_E_MEMORY_LIMIT)
        set_error(command, "ERR Insufficient memory to create filter");
    else if (status == TAMIS_E_RANGE || status == TAMIS_E_INVALID)
        set_error(command, "ERR could not create filter");
    else
        set_failure(command, status, &err);
    return NULL;
}

static void run_reserve(filter_store *store, filter_command *command) {
    if (find_filter(store, command)) {
        set_error(command, "ERR item exists");
        command->filter = NULL;
    } else if (!command->error) {
        make_filter(store, command, &command->creation);
    }
}

/* Sets the error of the item at `done`. */
static void set_item_error(filter_command *command, const char *error) {
    set_error(command, error);
    command->is_whole = false;
}

static void run_add(filter_store *store, filter_command *command) {
    const filter_creation creation = {store->settings.fpr, store->settings.capacity, 2};
    named_filter *filter = find_filter(store, command);

    if (!filter && !command->error)
        filter = make_filter(store, command, &creation);
    if (!filter)
        return;
    if (store->stats.memory >= store->settings.memory) {
        set_error(command, "OOM the filters have all of filters: memory of the configuration; raise it");
        return;
    }
    const tamis_status status = tamis_dedup_add_many(filter->session, command->items, command->count,
                                                     command->answers, &command->done, NULL);
    uint64_t absent = 0;
    for (size_t i = 0; i < command->done; i++)
        absent += command->answers[i] == TAMIS_ABSENT;
    store->stats.added += absent;
    store->stats.present += command->done - absent;
    /* After another failure than a full filter, the commit says whether the state still works. */
    filter->is_dirty |= absent > 0 || (status != TAMIS_OK && status != TAMIS_E_FULL);
    if (status == TAMIS_E_FULL && !filter->expansion)
        set_item_error(command, "ERR non scaling filter is full");
    else if (status != TAMIS_OK)
        set_item_error(command, "ERR problem inserting into filter");
    if (absent > 0)
        count_filter(store, filter);
}

/* Looks up items. A filter that is not there has none of them. */
static void run_exists(filter_store *store, filter_command *command) {
    named_filter *filter = find_filter(store, command);
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_status status = TAMIS_OK;

    if (command->error)
        return;
    if (filter)
        status = tamis_filter_contains_many(tamis_state_filter(filter->state), command->items, command->count,
                                            command->answers, NULL, &err);
    else
        memset(command->answers, TAMIS_ABSENT, command->count * sizeof *command->answers);
    if (status != TAMIS_OK)
        set_failure(command, status, &err);
    command->done = command->count;
    store->stats.lookups += command->count;
}

/* A filter that grows has the capacity that was reserved, doubled as often as its keys exceed it. */
static void run_info(filter_store *store, filter_command *command) {
    const named_filter *filter = find_filter(store, command);
    filter_numbers *numbers = &command->numbers;

    if (!filter)
        return;
    command->is_found = true;
    *numbers = (filter_numbers){filter->capacity, filter->memory, filter->keys, filter->expansion};
    while (filter->expansion && numbers->capacity > 0 && numbers->capacity < numbers->keys)
        numbers->capacity *= 2;
}

static void run_command(filter_store *store, filter_command *command) {
    switch (command->verb) {
    case FILTER_RESERVE:
        run_reserve(store, command);
        break;
    case FILTER_ADD:
        run_add(store, command);
        break;
    case FILTER_EXISTS:
        run_exists(store, command);
        break;
    default:
        run_info(store, command);
        break;
    }
}

/* ---- commits ---- */

static void count_commit(filter_stats *stats, uint64_t nanoseconds) {
    const uint64_t us = nanoseconds / 1000;
    int step = 0;

    while (step < FILTER_LATENCY_STEPS - 1 && us > (uint64_t)100 << step)
        step++;
    stats->commits++;
    stats->commit_us += us;
    stats->commit_steps[step]++;
}

/* Commits a filter. On failure its adds since the last commit are lost, and its state is closed. */
static void commit_filter(filter_store *store, named_filter *filter) {
    const uint64_t started = tamis__now_ns();
    tamis_error why = TAMIS_ERROR_INIT;
    const tamis_status status = tamis_dedup_commit(filter->session, NULL, 0, &why);

    filter->is_dirty = false;
    if (status == TAMIS_OK) {
        count_commit(&store->stats, tamis__now_ns() - started);
        if (filter->has_failed)
            log_filter(store, filter, "works again");
        filter->has_failed = false;
        return;
    }
    store->stats.failed_commits++;
    if (!filter->has_failed)
        log_filter(store, filter, why.text);
    filter->has_failed = filter->is_lost = true;
    filter->why = why;
    filter->retry_at = 0;
    close_filter(store, filter);
}

void tamis__filter_store_run(filter_store *store, filter_command *first) {
    bool has_lost = false;

    for (filter_command *command = first; command; command = command->next)
        run_command(store, command);
    for (filter_command *command = first; command; command = command->next) {
        if (command->filter && command->filter->is_dirty)
            commit_filter(store, command->filter);
        has_lost |= command->filter && command->filter->is_lost;
    }
    if (!has_lost)
        return;
    for (filter_command *command = first; command; command = command->next)
        if (command->filter && command->filter->is_lost)
            set_failure(command, command->filter->why.status, &command->filter->why);
    for (filter_command *command = first; command; command = command->next)
        if (command->filter)
            command->filter->is_lost = false;
}

/* ---- begin and end ---- */

typedef struct listing {
    filter_store *store;
    bool has_failed; /* memory was short */
} listing;

static bool add_file(void *context, const char *file) {
    listing *list = context;
    char name[FILTER_FILE_MAX];
    size_t size;
    bool is_found;

    if (!tamis__filter_name_decode(name, &size, file))
        return true;
    const size_t position = find_position(list->store, (tamis_key){name, size}, &is_found);
    if (!is_found && !insert_name(list->store, position, (tamis_key){name, size}, file))
        list->has_failed = true;
    return !list->has_failed;
}

static tamis_status read_directory(filter_store *store, tamis_error *err) {
    listing list = {store, false};
    const bool is_made = tamis__sys.mkdir(store->directory, 0777) == 0 || errno == EEXIST;

    store->lock_fd = is_made ? tamis__open(store->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) : -1;
    if (store->lock_fd >= 0 && tamis__sys.lock(store->lock_fd, LOCK_EX | LOCK_NB) != 0 &&
        errno == EWOULDBLOCK)
        return tamis__fail(err, TAMIS_E_BUSY, 0,
                           "%s: another server has its filters open; give another directory",
                           store->directory);
    if (store->lock_fd < 0 || tamis__sys.list(store->directory, add_file, &list) != 0)
        return tamis__fail(err, TAMIS_E_IO, errno, "%s: %s; give a directory that can be written",
                           store->directory, strerror(errno));
    return list.has_failed ? tamis__fail_nomem(err, store->directory, sizeof(named_filter)) : TAMIS_OK;
}

tamis_status tamis__filter_store_open(filter_store **store, const server_filters *settings,
                                      const tamis_allocator *memory,
                                      void (*log)(void *context, const char *line), void *context,
                                      tamis_error *err) {
    filter_store *made = tamis__alloc(memory, sizeof *made, _Alignof(filter_store));

    if (!made)
        return tamis__fail_nomem(err, settings->directory, sizeof *made);
    made->memory = *memory;
    made->settings = *settings;
    made->log = log;
    made->context = context;
    made->lock_fd = -1;
    made->directory = strdup(settings->directory);
    const tamis_status status = made->directory ? read_directory(made, err)
                                                : tamis__fail_nomem(err, settings->directory, sizeof *made);
    if (status == TAMIS_OK)
        *store = made;
    else
        tamis__filter_store_close(made);
    return status;
}

void tamis__filter_store_load(filter_store *store) {
    for (size_t i = 0; i < store->count; i++)
        (void)ensure_open(store, store->filters[i], NULL);
}

void tamis__filter_store_stats(const filter_store *store, filter_stats *stats) {
    *stats = store->stats;
}

void tamis__filter_store_close(filter_store *store) {
    if (!store)
        return;
    const tamis_allocator memory = store->memory;
    for (size_t i = 0; i < store->count; i++) {
        named_filter *filter = store->filters[i];
        tamis_error err = TAMIS_ERROR_INIT;
        if (filter->state && tamis_state_snapshot(filter->state, UINT64_MAX, &err) != TAMIS_OK)
            log_filter(store, filter, err.text);
        close_filter(store, filter);
        free_name(store, filter);
    }
    if (store->lock_fd >= 0)
        tamis__sys.close(store->lock_fd);
    tamis__free(&memory, store->filters, store->capacity * sizeof *store->filters);
    free(store->directory);
    tamis__free(&memory, store, sizeof *store);
}
