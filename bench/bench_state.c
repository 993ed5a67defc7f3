/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The comparisons of bench/state.py with `tamis dedup --state`:
 *
 *     bench_state disk DIR OUTPUT LOG  writes two new files of so many bytes in parallel, and syncs both after
 *                                      each 64 MiB of the first: the time of the disk for an output and
 *                                      its log
 *     bench_state log STATE KEYS       makes a growing state of rate 1e-9 with so many distinct keys, and ends like
 *                                      SIGKILL after its only commit: all keys are in the log, without a
 *                                      snapshot
 *     bench_state open STATE           seconds of opening a state, keys read from its log, all keys, and the bytes
 *                                      of log and snapshot
 *     bench_state sqlite|lmdb DIR IN   writes the unique lines of IN to DIR/out, with the set of lines in a
 *                                      database there
 *     bench_state databases            prints which of the two databases it was built with
 *
 * The databases give the guarantee of --state. Each commit, after 64 MiB of records or one second, first
 * syncs the output. One transaction then stores the new lines and the offsets in input and output. The
 * next start continues from there and cuts the output back. Keys are whole lines. The input is mapped,
 * which is cheaper than reading.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef TAMIS_HAVE_SQLITE
#include <sqlite3.h>
#endif
#ifdef TAMIS_HAVE_LMDB
#include <lmdb.h>
#endif

#include <tamis/experimental/state.h>
#include <tamis/hash.h>
#include <tamis/plan.h>

enum { COMMIT_BYTES = 64 << 20, BUFFER = 1 << 20, RECORDS_A_LOOK = 1024, BATCH = 1024, PATH = 4096 };

static const double commit_seconds = 1.0;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "bench_state: %s: %s\n", what, why);
    exit(2);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void path_in(char path[PATH], const char *directory, const char *name) {
    if (snprintf(path, PATH, "%s/%s", directory, name) >= PATH)
        fail(directory, "the path is too long");
}

static void write_all(int fd, const char *path, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            fail(path, strerror(errno));
        bytes += written;
        size -= (size_t)written;
    }
}

static void sync_file(int fd, const char *path) {
    if (fsync(fd) != 0)
        fail(path, strerror(errno));
}

/* ---- the disk ---- */

typedef struct written {
    int fd;
    char path[PATH];
    uint64_t size, done;
} written;

static uint64_t number(const char *text, const char *what) {
    char *end;
    const uint64_t value = strtoull(text, &end, 10);
    if (end == text || *end != '\0')
        fail(text, what);
    return value;
}

static void begin_file(written *file, const char *directory, const char *name, const char *size) {
    file->size = number(size, "expected a number of bytes");
    file->done = 0;
    path_in(file->path, directory, name);
    file->fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file->fd < 0)
        fail(file->path, strerror(errno));
}

/* Writes up to so many bytes, in pieces of the buffer's size. */
static void write_up_to(written *file, const char *buffer, uint64_t end) {
    while (file->done < end) {
        size_t piece = end - file->done < BUFFER ? (size_t)(end - file->done) : BUFFER;
        write_all(file->fd, file->path, buffer, piece);
        file->done += piece;
    }
}

static void time_disk(const char *directory, const char *output_size, const char *log_size) {
    static char buffer[BUFFER];
    written output, log;
    begin_file(&output, directory, "disk-output", output_size);
    begin_file(&log, directory, "disk-log", log_size);
    uint64_t noise = 1; /* random bytes: a disk may compress zeros */
    for (size_t i = 0; i < sizeof buffer; i++) {
        noise = noise * UINT64_C(6364136223846793005) + 1;
        buffer[i] = (char)(noise >> 56);
    }
    const uint64_t pieces = output.size / COMMIT_BYTES + (output.size % COMMIT_BYTES > 0 || output.size == 0);
    for (uint64_t i = 1; i <= pieces; i++) {
        write_up_to(&output, buffer, i < pieces ? i * COMMIT_BYTES : output.size);
        write_up_to(&log, buffer, i < pieces ? log.size / pieces * i : log.size);
        sync_file(output.fd, output.path);
        sync_file(log.fd, log.path);
    }
    close(output.fd);
    close(log.fd);
}

/* ---- states ---- */

static void need(tamis_status status, const tamis_error *err) {
    if (status != TAMIS_OK)
        fail("state", err->text);
}

static tamis_state *make_state(const char *directory) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_state *state;
    plan_options.kind = TAMIS_KIND_FINGERPRINT;
    plan_options.fpr = 1e-9;
    options.plan = &plan;
    need(tamis_plan_make(&plan, &plan_options, &err), &err);
    need(tamis_state_open(&state, directory, &options, &err), &err);
    return state;
}

/* About one key in 1e9 is a false positive; like a duplicate it is not in the log. */
static void log_some(tamis_state *state, uint64_t from, size_t count) {
    uint64_t numbers[BATCH];
    tamis_key keys[BATCH];
    tamis_hash hashes[BATCH];
    tamis_answer answers[BATCH];
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter = tamis_state_filter(state);
    size_t absent = 0;
    for (size_t i = 0; i < count; i++) {
        numbers[i] = from + i;
        keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
    }
    need(tamis_hash_many(tamis_filter_hasher(filter), keys, count, hashes, &err), &err);
    need(tamis_filter_add_hashes(filter, hashes, count, answers, NULL, &err), &err);
    for (size_t i = 0; i < count; i++)
        if (answers[i] == TAMIS_ABSENT)
            hashes[absent++] = hashes[i];
    need(tamis_state_log(state, hashes, absent, &err), &err);
}

static void log_keys(const char *directory, uint64_t count) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_state *state = make_state(directory);
    for (uint64_t from = 0; from < count; from += BATCH)
        log_some(state, from, count - from < BATCH ? (size_t)(count - from) : BATCH);
    need(tamis_state_commit(state, "", 0, &err), &err);
    _exit(0); /* before a snapshot is complete */
}

static void time_open(const char *directory) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_state_info info = TAMIS_STATE_INFO_INIT;
    tamis_state *state;
    options.read_only = true;
    const double start = now();
    need(tamis_state_open(&state, directory, &options, &err), &err);
    const double seconds = now() - start;
    tamis_state_info_get(state, &info);
    printf("%.6f %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", seconds, info.replayed, info.keys,
           info.log_bytes, info.snapshot_bytes);
    tamis_state_close(state);
}

/* ---- databases ---- */

/* Progress of a run: offsets in input and output. */
typedef struct progress {
    uint64_t input, output;
} progress;

typedef struct database {
    const char *name;
    progress (*open)(const char *directory);   /* reads the last commit and begins a transaction */
    bool (*add)(const char *key, size_t size); /* true: the line is new */
    void (*commit)(progress reached);          /* commits, and begins the next transaction */
    void (*close)(void);
} database;

#ifdef TAMIS_HAVE_SQLITE
static struct {
    sqlite3 *base;
    sqlite3_stmt *add, *keep;
} sqlite;

static void sqlite_need(bool good) {
    if (!good)
        fail("sqlite", sqlite3_errmsg(sqlite.base));
}

static void sqlite_run(const char *statement) {
    sqlite_need(sqlite3_exec(sqlite.base, statement, NULL, NULL, NULL) == SQLITE_OK);
}

static sqlite3_stmt *sqlite_prepare(const char *text) {
    sqlite3_stmt *statement;
    sqlite_need(sqlite3_prepare_v3(sqlite.base, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) ==
                SQLITE_OK);
    return statement;
}

/* The cache holds all pages, so that only commits wait for the disk. */
static progress sqlite_begin(const char *directory) {
    char path[PATH];
    path_in(path, directory, "seen.sqlite");
    sqlite_need(sqlite3_open(path, &sqlite.base) == SQLITE_OK);
    sqlite_run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -1048576;"
               "CREATE TABLE IF NOT EXISTS seen (record BLOB PRIMARY KEY) WITHOUT ROWID;"
               "CREATE TABLE IF NOT EXISTS progress (run INTEGER PRIMARY KEY, input INTEGER, output INTEGER);"
               "BEGIN");
    sqlite.add = sqlite_prepare("INSERT OR IGNORE INTO seen VALUES (?)");
    sqlite.keep = sqlite_prepare("INSERT OR REPLACE INTO progress VALUES (1, ?, ?)");
    sqlite3_stmt *last = sqlite_prepare("SELECT input, output FROM progress WHERE run = 1");
    progress reached = {0, 0};
    if (sqlite3_step(last) == SQLITE_ROW)
        reached =
            (progress){(uint64_t)sqlite3_column_int64(last, 0), (uint64_t)sqlite3_column_int64(last, 1)};
    sqlite3_finalize(last);
    return reached;
}

static bool sqlite_add(const char *key, size_t size) {
    sqlite_need(sqlite3_bind_blob64(sqlite.add, 1, key, size, SQLITE_STATIC) == SQLITE_OK);
    sqlite_need(sqlite3_step(sqlite.add) == SQLITE_DONE);
    sqlite3_reset(sqlite.add);
    return sqlite3_changes(sqlite.base) > 0;
}

static void sqlite_commit(progress reached) {
    sqlite3_bind_int64(sqlite.keep, 1, (int64_t)reached.input);
    sqlite3_bind_int64(sqlite.keep, 2, (int64_t)reached.output);
    sqlite_need(sqlite3_step(sqlite.keep) == SQLITE_DONE);
    sqlite3_reset(sqlite.keep);
    sqlite_run("COMMIT; BEGIN");
}

static void sqlite_end(void) {
    sqlite3_finalize(sqlite.add);
    sqlite3_finalize(sqlite.keep);
    sqlite_need(sqlite3_close(sqlite.base) == SQLITE_OK);
}
#endif

#ifdef TAMIS_HAVE_LMDB
enum { LMDB_MAP_LOG2 = 36 }; /* address space only: the file is as long as its content */

static struct {
    MDB_env *base;
    MDB_txn *transaction;
    MDB_dbi present, progress;
} lmdb;

static void lmdb_need(int code) {
    if (code != 0)
        fail("lmdb", mdb_strerror(code));
}

static MDB_val lmdb_progress_key(void) {
    static char name[] = "progress";
    return (MDB_val){sizeof name, name};
}

static progress lmdb_begin(const char *directory) {
    progress reached = {0, 0};
    MDB_val key = lmdb_progress_key(), last;
    lmdb_need(mdb_env_create(&lmdb.base));
    lmdb_need(mdb_env_set_mapsize(lmdb.base, (size_t)1 << LMDB_MAP_LOG2));
    lmdb_need(mdb_env_set_maxdbs(lmdb.base, 2));
    lmdb_need(mdb_env_open(lmdb.base, directory, 0, 0666));
    lmdb_need(mdb_txn_begin(lmdb.base, NULL, 0, &lmdb.transaction));
    lmdb_need(mdb_dbi_open(lmdb.transaction, "seen", MDB_CREATE, &lmdb.present));
    lmdb_need(mdb_dbi_open(lmdb.transaction, "progress", MDB_CREATE, &lmdb.progress));
    const int found = mdb_get(lmdb.transaction, lmdb.progress, &key, &last);
    if (found != MDB_NOTFOUND) {
        lmdb_need(found);
        memcpy(&reached, last.mv_data, sizeof reached);
    }
    return reached;
}

static bool lmdb_add(const char *key, size_t size) {
    MDB_val record = {size, (void *)(uintptr_t)key}, nothing = {0, NULL};
    const int code = mdb_put(lmdb.transaction, lmdb.present, &record, &nothing, MDB_NOOVERWRITE);
    if (code != MDB_KEYEXIST)
        lmdb_need(code);
    return code == 0;
}

static void lmdb_commit(progress reached) {
    MDB_val key = lmdb_progress_key(), value = {sizeof reached, &reached};
    lmdb_need(mdb_put(lmdb.transaction, lmdb.progress, &key, &value, 0));
    lmdb_need(mdb_txn_commit(lmdb.transaction));
    lmdb_need(mdb_txn_begin(lmdb.base, NULL, 0, &lmdb.transaction));
}

static void lmdb_end(void) {
    mdb_txn_abort(lmdb.transaction);
    mdb_env_close(lmdb.base);
}
#endif

static const database databases[] = {
#ifdef TAMIS_HAVE_SQLITE
    {"sqlite", sqlite_begin, sqlite_add, sqlite_commit, sqlite_end},
#endif
#ifdef TAMIS_HAVE_LMDB
    {"lmdb", lmdb_begin, lmdb_add, lmdb_commit, lmdb_end},
#endif
    {NULL, NULL, NULL, NULL, NULL}};

/* ---- dedup by a database ---- */

typedef struct answers {
    int fd;
    char path[PATH];
    size_t used;
    uint64_t size;
    char buffer[BUFFER];
} answers;

static void flush(answers *out) {
    write_all(out->fd, out->path, out->buffer, out->used);
    out->used = 0;
}

static void put_answer(answers *out, const char *record, size_t size) {
    if (size > BUFFER - out->used)
        flush(out);
    if (size > BUFFER)
        write_all(out->fd, out->path, record, size);
    else
        memcpy(out->buffer + out->used, record, size);
    out->used += size > BUFFER ? 0 : size;
    out->size += size;
}

static void commit(const database *base, answers *out, uint64_t input) {
    flush(out);
    sync_file(out->fd, out->path);
    base->commit((progress){input, out->size});
}

/* Cuts the output back to the last commit. Its name is synced before the first write. */
static void begin_output(answers *out, const char *directory, uint64_t size) {
    path_in(out->path, directory, "out");
    const int directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    out->fd = open(out->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (out->fd < 0 || ftruncate(out->fd, (off_t)size) != 0 || lseek(out->fd, 0, SEEK_END) < 0)
        fail(out->path, strerror(errno));
    sync_file(out->fd, out->path);
    if (directory_fd < 0)
        fail(directory, strerror(errno));
    sync_file(directory_fd, directory);
    close(directory_fd);
    out->size = size;
}

static const char *map_input(const char *path, uint64_t *size) {
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        fail(path, strerror(errno));
    *size = (uint64_t)st.st_size;
    const char *text = *size > 0 ? mmap(NULL, (size_t)*size, PROT_READ, MAP_PRIVATE, fd, 0) : "";
    if (text == MAP_FAILED)
        fail(path, strerror(errno));
    close(fd);
    return text;
}

static void dedup(const database *base, const char *directory, const char *in) {
    static answers out;
    uint64_t size, records = 0;
    const char *text = map_input(in, &size);
    uint64_t pos = 0, committed;
    const progress last = base->open(directory);
    begin_output(&out, directory, last.output);
    if (last.input > size)
        fail(in, "is shorter than what was read of it");
    pos = committed = last.input;
    double start = now();
    while (pos < size) {
        const char *record = text + pos, *newline = memchr(record, '\n', (size_t)(size - pos));
        const size_t key = newline ? (size_t)(newline - record) : (size_t)(size - pos);
        const size_t whole = key + (newline != NULL);
        if (base->add(record, key))
            put_answer(&out, record, whole);
        pos += whole;
        const bool checks_time = ++records % RECORDS_A_LOOK == 0;
        if (pos - committed >= COMMIT_BYTES || (checks_time && now() - start >= commit_seconds)) {
            commit(base, &out, pos);
            committed = pos;
            start = now();
        }
    }
    commit(base, &out, pos);
    base->close();
    close(out.fd);
}

static void list(void) {
    for (const database *base = databases; base->name; base++)
        puts(base->name);
}

int main(int count, char **args) {
    const char *verb = count > 1 ? args[1] : "";
    const database *base = databases;
    while (base->name && strcmp(verb, base->name) != 0)
        base++;
    if (strcmp(verb, "disk") == 0 && count == 5)
        time_disk(args[2], args[3], args[4]);
    else if (strcmp(verb, "log") == 0 && count == 4)
        log_keys(args[2], number(args[3], "expected a number of keys"));
    else if (strcmp(verb, "open") == 0 && count == 3)
        time_open(args[2]);
    else if (strcmp(verb, "databases") == 0 && count == 2)
        list();
    else if (base->name && count == 4)
        dedup(base, args[2], args[3]);
    else
        fail(verb, "give disk FOLDER OUTPUT LOG, log STATE KEYS, open STATE, sqlite FOLDER IN, lmdb FOLDER "
                   "IN, or databases");
    return 0;
}
