/* SPDX-License-Identifier: BSD-2-Clause */
#include "outage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/system.h"
#include "support/scratch.h"

typedef enum change_kind {
    MADE,
    DIRECTORY_MADE,
    RENAMED,
    REMOVED,
    WRITTEN,
    CUT,
    SYNCED,
    SYNC_FAILED,
    DIRECTORY_SYNCED,
    MARKED
} change_kind;

typedef struct change {
    change_kind kind;
    int file;                  /* number of the file; MARKED: the mark */
    char name[120], from[120]; /* path below the root; DIRECTORY_SYNCED: of the directory, "" for the root */
    uint64_t offset, size;     /* offset and size in the file */
    size_t bytes;              /* WRITTEN: offset of its bytes in `written` */
    size_t sure_after;         /* change whose sync covers this one; SIZE_MAX: none */
} change;

enum { CHANGES = 4000, FILES = 500, DESCRIPTORS = 1024, NAMES = 200, ITEMS = 60 };

typedef enum missing_way { END, ZEROS, HALF, OLDER } missing_way;

static struct tamis__system real;
static bool recording, stopped;
static char root[300];
static outage_model model;
static change changes[CHANGES];
static size_t change_count, first_change; /* changes before first_change made the files of outage_begin */
static uint64_t change_calls, stop_at;
static const char *failing_sync; /* NULL: none */
static uint64_t syncs_to_failure;
static bool stops_at_failure;
static test_bytes written;
static int file_count;
static struct {
    int file;       /* number of the file; 0: not recorded */
    bool directory; /* true if `name` is a directory */
    bool appends;   /* O_APPEND: writes go to the end of the file */
    char name[120];
    uint64_t offset;
} open_files[DESCRIPTORS];
static struct {
    char name[120];
    int file;
} names[NAMES];
static int name_count;

static void give_up(const char *what) {
    fprintf(stderr, "outage: %s\n", what);
    abort();
}

/* ---- recording ---- */

/* Returns the path below the root, or NULL. */
static const char *below(const char *path) {
    const size_t size = strlen(root);
    if (strncmp(path, root, size) != 0 || (path[size] != '/' && path[size] != '\0'))
        return NULL;
    path += size;
    while (*path == '/')
        path++;
    return path;
}

/* Returns the part of the path behind the last slash. */
static const char *last_part(const char *name) {
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* False for lock files: they mean nothing after a loss of power. */
static bool counts(const char *name) {
    return name && *name && !strstr(name, "tamis-lock") && strcmp(last_part(name), "lock") != 0;
}

static int *named(const char *name) {
    for (int i = 0; i < name_count; i++)
        if (strcmp(names[i].name, name) == 0)
            return &names[i].file;
    if (name_count == NAMES || strlen(name) >= sizeof names->name)
        give_up("too many names");
    snprintf(names[name_count].name, sizeof names->name, "%s", name);
    names[name_count].file = 0;
    return &names[name_count++].file;
}

static change *record(change_kind kind, int file, const char *name) {
    if (change_count == CHANGES)
        give_up("too many changes");
    change *c = &changes[change_count++];
    *c = (change){.kind = kind, .file = file, .sure_after = SIZE_MAX};
    snprintf(c->name, sizeof c->name, "%s", name);
    return c;
}

/* Counts a change. True, with errno set, if it must fail. */
static bool fails(void) {
    if (++change_calls == stop_at)
        stopped = true;
    if (stopped)
        errno = EIO;
    return stopped;
}

static int make_file(const char *name) {
    if (++file_count == FILES)
        give_up("too many files");
    record(MADE, file_count, name);
    return *named(name) = file_count;
}

static void record_write(int file, const char *name, uint64_t offset, const void *bytes, size_t size) {
    change *c = record(WRITTEN, file, name);
    c->offset = offset;
    c->size = size;
    c->bytes = written.size;
    bytes_add(&written, bytes, size);
}

static int outage_open(const char *path, int flags, mode_t mode) {
    const char *name = below(path);
    const bool is_new = counts(name) && flags & O_CREAT && access(path, F_OK) < 0;
    if (is_new && fails())
        return -1;
    const int fd = real.open(path, flags, mode);
    if (fd < 0)
        return fd;
    if (fd >= DESCRIPTORS || flags & O_TRUNC)
        give_up("an open that it does not know");
    open_files[fd].file = 0;
    open_files[fd].offset = 0;
    open_files[fd].appends = flags & O_APPEND;
    open_files[fd].directory = name && flags & O_DIRECTORY;
    const size_t size = name ? strlen(name) : 0;
    snprintf(open_files[fd].name, sizeof open_files[fd].name, "%.*s",
             (int)(size - (size > 0 && name[size - 1] == '/')), name ? name : "");
    if (is_new)
        make_file(name);
    if (counts(name) && !(flags & O_DIRECTORY))
        open_files[fd].file = *named(name);
    return fd;
}

static int outage_close(int fd) {
    open_files[fd].file = 0;
    open_files[fd].directory = false;
    return real.close(fd);
}

static ssize_t outage_write(int fd, const void *bytes, size_t size) {
    struct stat st;
    if (open_files[fd].file > 0 && fails())
        return -1;
    if (open_files[fd].appends && real.fstat(fd, &st) == 0)
        open_files[fd].offset = (uint64_t)st.st_size;
    const ssize_t wrote = real.write(fd, bytes, size);
    if (wrote <= 0 || open_files[fd].file <= 0)
        return wrote;
    record_write(open_files[fd].file, open_files[fd].name, open_files[fd].offset, bytes, (size_t)wrote);
    open_files[fd].offset += (uint64_t)wrote;
    return wrote;
}

static ssize_t outage_pwrite(int fd, const void *bytes, size_t size, off_t offset) {
    if (open_files[fd].file > 0)
        give_up("a pwrite");
    return real.pwrite(fd, bytes, size, offset);
}

static off_t outage_seek(int fd, off_t offset, int from) {
    const off_t result = real.seek(fd, offset, from);
    if (result >= 0)
        open_files[fd].offset = (uint64_t)result;
    return result;
}

static int outage_truncate(int fd, off_t size) {
    if (open_files[fd].file > 0 && fails())
        return -1;
    const int result = real.truncate(fd, size);
    if (result == 0 && open_files[fd].file > 0)
        record(CUT, open_files[fd].file, open_files[fd].name)->size = (uint64_t)size;
    return result;
}

/* True if a frame with keys begins here. */
static bool has_keys(const unsigned char *frame) {
    return memcmp(frame, "KEYS", 4) == 0 || memcmp(frame, "WKEY", 4) == 0;
}

static bool ends_in_commit(int file) {
    for (size_t i = change_count; i-- > 0;)
        if (changes[i].kind == WRITTEN && changes[i].file == file)
            return changes[i].size < 4 || !has_keys(written.data + changes[i].bytes);
    return true;
}

static bool is_left_out(int fd) {
    if (model.only && !strstr(open_files[fd].name, model.only))
        return false;
    if (open_files[fd].directory)
        return model.left_out == OUTAGE_DIRECTORY_SYNCS;
    return model.left_out == OUTAGE_FILE_SYNCS ||
           (model.left_out == OUTAGE_BODY_SYNCS && !ends_in_commit(open_files[fd].file));
}

/* Counts a sync down. True if it must fail. */
static bool sync_fails(int fd) {
    if (!failing_sync || (open_files[fd].directory && *failing_sync) ||
        !strstr(open_files[fd].name, failing_sync) || --syncs_to_failure > 0)
        return false;
    failing_sync = NULL;
    stopped = stops_at_failure;
    return true;
}

static int outage_sync(int fd) {
    const int file = open_files[fd].file;
    const bool is_directory = open_files[fd].directory;
    if (!is_directory && file <= 0)
        return 0;
    if (fails())
        return -1;
    if (sync_fails(fd)) {
        if (!is_directory)
            record(SYNC_FAILED, file, open_files[fd].name);
        errno = EIO;
        return -1;
    }
    if (!is_left_out(fd))
        record(is_directory ? DIRECTORY_SYNCED : SYNCED, file, open_files[fd].name);
    return 0;
}

static int outage_rename(const char *from, const char *to) {
    const bool ours = counts(below(to));
    if (ours && fails())
        return -1;
    const int result = real.rename(from, to);
    if (result < 0 || !ours)
        return result;
    change *c = record(RENAMED, *named(below(from)), below(to));
    snprintf(c->from, sizeof c->from, "%s", below(from));
    *named(below(from)) = 0;
    *named(below(to)) = c->file;
    return result;
}

static int outage_rename_new(const char *from, const char *to) {
    (void)from;
    (void)to;
    errno = ENOSYS;
    return -1;
}

static int outage_unlink(const char *path) {
    const char *name = below(path);
    if (!counts(name))
        return real.unlink(path);
    if (*named(name) && fails())
        return -1;
    const int result = real.unlink(path);
    if (result == 0) {
        record(REMOVED, *named(name), name);
        *named(name) = 0;
    }
    return result;
}

static int outage_mkdir(const char *path, mode_t mode) {
    if (fails())
        return -1;
    const int result = real.mkdir(path, mode);
    if (result == 0 && counts(below(path)))
        record(DIRECTORY_MADE, 0, below(path));
    return result;
}

static int outage_reserve(int fd, off_t size) {
    (void)fd;
    (void)size;
    errno = EOPNOTSUPP;
    return -1;
}

static void install(void) {
    real = tamis__sys;
    tamis__sys.open = outage_open;
    tamis__sys.close = outage_close;
    tamis__sys.write = outage_write;
    tamis__sys.pwrite = outage_pwrite;
    tamis__sys.seek = outage_seek;
    tamis__sys.truncate = outage_truncate;
    tamis__sys.sync = outage_sync;
    tamis__sys.rename = outage_rename;
    tamis__sys.rename_new = outage_rename_new;
    tamis__sys.unlink = outage_unlink;
    tamis__sys.mkdir = outage_mkdir;
    tamis__sys.reserve = outage_reserve;
    recording = true;
}

/* Records a file of the root as synced. */
static bool add_file(void *context, const char *name) {
    (void)context;
    char path[sizeof root + sizeof names->name + 1];
    test_bytes bytes = {0};
    snprintf(path, sizeof path, "%s/%.119s", root, name);
    if (!counts(name))
        return true;
    const int file = make_file(name);
    file_read(path, &bytes);
    record_write(file, name, 0, bytes.data, bytes.size);
    record(SYNCED, file, name);
    bytes_clear(&bytes);
    return true;
}

void outage_begin(const char *path, outage_model chosen) {
    outage_end();
    snprintf(root, sizeof root, "%s", path);
    for (size_t size = strlen(root); size > 1 && root[size - 1] == '/'; size--)
        root[size - 1] = '\0';
    model = chosen;
    if (model.whole && tamis__sys.list(root, add_file, NULL) < 0)
        give_up("the directory cannot be read");
    if (model.whole)
        record(DIRECTORY_SYNCED, 0, "");
    first_change = change_count;
    install();
}

void outage_stop_at(uint64_t n) {
    stop_at = n;
    change_calls = 0;
}

void outage_fail_sync(const char *name, uint64_t n, bool onwards) {
    failing_sync = name;
    syncs_to_failure = n;
    stops_at_failure = onwards;
}

bool outage_sync_failed(void) {
    const bool failed = !failing_sync;
    failing_sync = NULL;
    return failed;
}

void outage_go_on(void) {
    stopped = false;
    stop_at = 0;
}

void outage_pause(void) {
    if (recording)
        tamis__sys = real;
    recording = false;
}

void outage_end(void) {
    outage_pause();
    outage_go_on();
    bytes_clear(&written);
    change_count = 0;
    file_count = name_count = 0;
    memset(open_files, 0, sizeof open_files);
}

void outage_mark(int mark) {
    if (recording)
        record(MARKED, mark, "");
}

size_t outage_changes(void) {
    return change_count;
}

/* ---- what a loss may leave ---- */

/* True if the name is directly in the directory `in`. */
static bool is_in(const char *name, const char *in) {
    const char *slash = strrchr(name, '/');
    const size_t size = slash ? (size_t)(slash - name) : 0;
    return size == strlen(in) && strncmp(name, in, size) == 0;
}

static bool is_name(const change *c) {
    return c->kind == MADE || c->kind == DIRECTORY_MADE || c->kind == RENAMED || c->kind == REMOVED;
}

static bool is_content(const change *c) {
    return c->kind == WRITTEN || c->kind == CUT;
}

static bool is_dropped(size_t number, size_t by) {
    for (size_t i = number + 1; i < by; i++)
        if (changes[i].kind == SYNC_FAILED && changes[i].file == changes[number].file)
            return true;
    return false;
}

static void find_sure(void) {
    for (size_t i = 0; i < change_count; i++)
        for (size_t j = 0; j < i; j++) {
            const change *by = &changes[i];
            change *c = &changes[j];
            if (c->sure_after != SIZE_MAX)
                continue;
            if ((by->kind == DIRECTORY_SYNCED && is_name(c) && is_in(c->name, by->name)) ||
                (by->kind == SYNCED && is_content(c) && c->file == by->file && !is_dropped(j, i)))
                c->sure_after = i;
        }
}

static struct {
    size_t moments;
    size_t items[ITEMS]; /* changes that no sync covers */
    size_t item_count;
    uint64_t missing; /* one bit for each item */
    missing_way way;
} now;

static bool is_missing(size_t number) {
    for (size_t i = 0; i < now.item_count; i++)
        if (now.items[i] == number)
            return now.missing >> i & 1;
    return false;
}

static void write_at(test_bytes *to, uint64_t offset, const unsigned char *bytes, uint64_t size) {
    static const unsigned char zeros[4096];
    while (to->size < offset + size) {
        const uint64_t more = offset + size - to->size;
        bytes_add(to, zeros, more < sizeof zeros ? (size_t)more : sizeof zeros);
    }
    if (size > 0 && bytes)
        memcpy(to->data + offset, bytes, (size_t)size);
    else if (size > 0)
        memset(to->data + offset, 0, (size_t)size);
}

static const char *first_name(int file) {
    for (size_t i = 0; i < change_count; i++)
        if (changes[i].kind == MADE && changes[i].file == file)
            return last_part(changes[i].name);
    return "";
}

/* Collects all bytes written to an older file whose name begins alike: they may be at the same place of the
 * disk. */
static void find_older(int file, test_bytes *to) {
    int older = file - 1;
    while (older > 0 && strncmp(first_name(older), first_name(file), 4) != 0)
        older--;
    for (size_t i = 0; i < change_count && older > 0; i++)
        if (changes[i].kind == WRITTEN && changes[i].file == older)
            write_at(to, changes[i].offset, written.data + changes[i].bytes, changes[i].size);
}

/* Puts what is there instead of the bytes of a missing write. */
static void write_missing(test_bytes *to, const change *c) {
    test_bytes older = {0};
    if (now.way == HALF)
        write_at(to, c->offset, written.data + c->bytes, c->size / 2);
    if (now.way == ZEROS || now.way == OLDER)
        write_at(to, c->offset, NULL, c->size);
    if (now.way == OLDER)
        find_older(c->file, &older);
    if (older.size > c->offset)
        write_at(to, c->offset, older.data + c->offset,
                 older.size - c->offset < c->size ? older.size - c->offset : c->size);
    bytes_clear(&older);
}

static void find_content(int file, test_bytes *to) {
    bytes_clear(to);
    for (size_t i = 0; i < now.moments; i++) {
        const change *c = &changes[i];
        if (c->file != file || !is_content(c))
            continue;
        const bool missing = is_missing(i);
        if (c->kind == WRITTEN && missing)
            write_missing(to, c);
        else if (c->kind == WRITTEN)
            write_at(to, c->offset, written.data + c->bytes, c->size);
        else if (!missing && c->size < to->size)
            to->size = (size_t)c->size;
    }
}

static bool has_directory(const char *name) {
    const char *slash = strrchr(name, '/');
    if (!slash)
        return true;
    for (size_t i = 0; i < now.moments; i++)
        if (changes[i].kind == DIRECTORY_MADE &&
            strncmp(changes[i].name, name, (size_t)(slash - name)) == 0 && !is_missing(i))
            return true;
    return false;
}

/* Applies the changes of names that are not missing. */
static void find_names(void) {
    for (int i = 0; i < name_count; i++)
        names[i].file = 0;
    for (size_t i = 0; i < now.moments; i++) {
        const change *c = &changes[i];
        if (!is_name(c) || is_missing(i))
            continue;
        if (c->kind == RENAMED)
            *named(c->from) = 0;
        if (c->kind == MADE || c->kind == RENAMED)
            *named(c->name) = c->file;
        if (c->kind == REMOVED && *named(c->name) == c->file)
            *named(c->name) = 0;
    }
}

/* ---- the tree of a state, in memory: a list of directories and files ---- */

/* Without padding, since it is hashed. */
typedef struct tree_entry {
    char name[127];
    bool directory;
    uint64_t size; /* of the bytes of the file, which follow the entry */
} tree_entry;

_Static_assert(sizeof(tree_entry) == 136, "padding");

static void add_entry(test_bytes *tree, const char *name, bool directory, const test_bytes *content) {
    tree_entry entry = {.directory = directory, .size = content->size};
    memcpy(entry.name, name, strlen(name));
    bytes_add(tree, &entry, sizeof entry);
    if (content->size > 0)
        bytes_add(tree, content->data, content->size);
}

static void find_tree(test_bytes *tree) {
    test_bytes content = {0};
    bytes_clear(tree);
    find_names();
    for (size_t i = 0; i < now.moments; i++)
        if (changes[i].kind == DIRECTORY_MADE && !is_missing(i))
            add_entry(tree, changes[i].name, true, &content);
    for (int i = 0; i < name_count; i++) {
        if (!names[i].file || !has_directory(names[i].name))
            continue;
        find_content(names[i].file, &content);
        add_entry(tree, names[i].name, false, &content);
    }
    bytes_clear(&content);
}

static void write_tree(const test_bytes *tree) {
    char path[sizeof root + sizeof names->name + 2];
    tree_entry entry;
    if (model.whole)
        scratch_clear();
    for (size_t pos = 0; pos < tree->size; pos += sizeof entry + entry.size) {
        memcpy(&entry, tree->data + pos, sizeof entry);
        snprintf(path, sizeof path, "%s/%.119s", root, entry.name);
        if (!entry.directory)
            file_write(path, tree->data + pos + sizeof entry, entry.size);
        else if (mkdir(path, 0777) < 0 && errno != EEXIST)
            give_up(path);
    }
}

/* ---- states that were checked ---- */

/* Different sets of missing items often leave the same tree. The check would have the same result. */
static struct {
    XXH128_hash_t *hashes; /* hash table; all zeros: free */
    size_t capacity, count;
} checked;

static void forget_checked(void) {
    free(checked.hashes);
    memset(&checked, 0, sizeof checked);
}

static XXH128_hash_t *checked_slot(XXH128_hash_t hash) {
    size_t i = (size_t)hash.low64 & (checked.capacity - 1);
    while ((checked.hashes[i].low64 | checked.hashes[i].high64) && !XXH128_isEqual(checked.hashes[i], hash))
        i = (i + 1) & (checked.capacity - 1);
    return &checked.hashes[i];
}

static void grow_checked(void) {
    XXH128_hash_t *old = checked.hashes;
    const size_t slots = checked.capacity;
    checked.capacity = slots ? 2 * slots : 1024;
    checked.hashes = calloc(checked.capacity, sizeof *old);
    if (!checked.hashes)
        give_up("no memory");
    for (size_t i = 0; i < slots; i++)
        if (old[i].low64 | old[i].high64)
            *checked_slot(old[i]) = old[i];
    free(old);
}

/* True if this tree was not yet checked with this mark. */
static bool is_unchecked(const test_bytes *tree, int mark) {
    if (2 * checked.count >= checked.capacity)
        grow_checked();
    const XXH128_hash_t hash = XXH3_128bits_withSeed(tree->data, tree->size, (XXH64_hash_t)mark + 1);
    XXH128_hash_t *slot = checked_slot(hash);
    if (XXH128_isEqual(*slot, hash))
        return false;
    *slot = hash;
    checked.count++;
    return true;
}

static void find_items(size_t moments) {
    now.moments = moments;
    now.item_count = 0;
    now.missing = 0;
    now.way = END;
    for (size_t i = 0; i < moments; i++) {
        if ((!is_name(&changes[i]) && !is_content(&changes[i])) || changes[i].sure_after < moments)
            continue;
        if (now.item_count == ITEMS)
            give_up("too many items");
        now.items[now.item_count++] = i;
    }
}

static bool loses_bytes(void) {
    for (size_t i = 0; i < now.item_count; i++)
        if (now.missing >> i & 1 && changes[now.items[i]].kind == WRITTEN)
            return true;
    return false;
}

/* Advances to the next set of missing items, of at most `max` items or all of them. False after the last
 * set. */
static bool next_set(unsigned max) {
    const uint64_t full_set = (UINT64_C(1) << now.item_count) - 1;
    if (now.missing == full_set)
        return false;
    do {
        now.missing++;
        if ((unsigned)__builtin_popcountll(now.missing) >
            max) /* too many: skip the sets that contain these items too */
            now.missing |= (now.missing & -now.missing) - 1;
        else
            return true;
    } while (now.missing < full_set);
    now.missing = full_set;
    return true;
}

static int mark_at(size_t moments) {
    while (moments > 0 && changes[moments - 1].kind != MARKED)
        moments--;
    return moments > 0 ? changes[moments - 1].file : 0;
}

uint64_t outage_each(size_t from, uint64_t step, unsigned max, bool (*check)(void *context, int mark),
                     void *context) {
    bool going_on = true;
    test_bytes tree = {0};
    outage_pause();
    forget_checked(); /* those of a check that failed */
    find_sure();
    for (size_t moments = from > first_change ? from : first_change; going_on && moments <= change_count;
         moments += (size_t)step) {
        if (moments < change_count &&
            (changes[moments].kind == MARKED || changes[moments].kind == SYNC_FAILED))
            continue; /* nothing changes on the disk */
        const int mark = mark_at(moments);
        find_items(moments);
        do {
            const int ways = !loses_bytes() ? 1 : model.older ? OLDER + 1 : OLDER;
            for (int way = 0; way < ways && going_on; way++) {
                now.way = (missing_way)way;
                find_tree(&tree);
                if (!is_unchecked(&tree, mark))
                    continue;
                write_tree(&tree);
                going_on = check(context, mark);
            }
        } while (going_on && next_set(max));
    }
    const uint64_t states = checked.count;
    forget_checked();
    bytes_clear(&tree);
    return states;
}

const char *outage_describe(void) {
    static char text[1500];
    static const char *const kinds[] = {"make", "make directory", "rename", "remove", "write", "cut"};
    static const char *const ways[] = {"its end", "zeros", "half", "older"};
    int size = snprintf(text, sizeof text, "after %zu of %zu changes, missing (%s):", now.moments,
                        change_count, ways[now.way]);
    for (size_t i = 0; i < now.item_count && size < 1300; i++) {
        const change *c = &changes[now.items[i]];
        if (now.missing >> i & 1)
            size += snprintf(text + size, sizeof text - (size_t)size, " %s %s %llu+%llu;", kinds[c->kind],
                             c->name, (unsigned long long)c->offset, (unsigned long long)c->size);
    }
    return text;
}
