/* SPDX-License-Identifier: BSD-2-Clause */

/* Runs over a state whose inputs or outputs change while they run. The run ends with an error, and its
 * last commit is right. After the files are restored, the run ends like an undisturbed one. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system.h"
#include "stream/durable/checkpoint.h"
#include "support/commits.h"
#include "support/scratch.h"

enum { INPUTS = 2 };

static commits_run run;
static char in[INPUTS][300], output[300], other[300], spare[300];
static const char *names[INPUTS + 1];
static size_t inputs;
static test_bytes expected;
static uint64_t commit_bytes, when;
static void (*harm)(void);

static const commits_make *const make = &commits_makes[COMMITS_EXACT];

static void harm_at(uint64_t batch) {
    if (batch == when)
        harm();
}

static void prepare(void) {
    commits_init(&run, make);
    run.options.inputs = names;
    run.options.input_count = inputs;
    run.options.output = output;
    run.commits.bytes = commit_bytes;
    run.before_batch = harm ? harm_at : NULL;
}

static void run_commits(uint64_t stop) {
    prepare();
    run.stop_before = stop;
    commits_go(&run);
}

/* Makes a run during which `what` is called before batch `batch`. */
static void go_harmed(uint64_t batch, void (*what)(void)) {
    when = batch;
    harm = what;
    run_commits(0);
    harm = NULL;
}

static void copy(const char *from, const char *to) {
    test_bytes text = {0};
    file_read(from, &text);
    file_write(to, text.data, text.size);
    bytes_clear(&text);
}

static void append(const char *path, const char *text) {
    FILE *file = fopen(path, "a");
    assert_true(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static bool is_wanted(void) {
    test_bytes got = {0};
    file_read(output, &got);
    const bool same = bytes_check("output", &got, &expected);
    bytes_clear(&got);
    return same;
}

static void forget(void) {
    commits_forget();
    unlink(output);
    unlink(other);
}

/* ---- inputs ---- */

static void replace_last(void) {
    assert_int_equal(rename(in[1], spare), 0);
    commits_write(in[1], 1200, 77);
}

static void rewrite_last(void) {
    copy(in[1], spare);
    commits_write(in[1], 1200, 77); /* the same inode */
}

static void remove_last(void) {
    assert_int_equal(rename(in[1], spare), 0);
}

/* The last input was read in part by a killed run. The next run does not open it before it has read an
 * earlier input, which has grown. */
static void an_input_that_waits_is_replaced(void **state) {
    (void)state;
    static const struct {
        void (*harm)(void);
        const char *says;
    } ways[] = {{replace_last, "bytes that were read are gone"},
                {rewrite_last, "bytes that were read are gone"},
                {remove_last, "no such file"}};
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        forget();
        commits_write(in[0], 600, 1);
        commits_write(in[1], 1000, 2);
        run_commits(18);
        assert_true(commits_came_to(&run, TAMIS_E_INTERRUPTED, ""));
        tamis_state_info info = run.info;
        for (int i = 0; i < 200; i++)
            append(in[0], i % 2 ? "more of it\n" : "more\n");
        go_harmed(1, ways[way].harm);
        assert_true(commits_came_to(&run, way == 2 ? TAMIS_E_IO : TAMIS_E_CHANGED, ways[way].says));
        assert_true(strstr(run.err.text, in[1]));
        assert_true(info.keys < 1500);
        run_commits(0); /* no commit has this file as the input */
        assert_int_not_equal(run.status, TAMIS_OK);
        assert_int_equal(rename(spare, in[1]), 0);
        run_commits(0);
        assert_true(commits_started(&run, TAMIS_STREAM_RESUMED));
        assert_int_equal(run.stats.records, 600 + 200 + 1000);
        run_commits(0);
        assert_true(commits_started(&run, TAMIS_STREAM_FINISHED));
    }
}

/* An input that was read to its end is not opened again, so the run continues. Another file that has its
 * name by then is new to the next run, which skips the renamed one. */
static void replace_first(void) {
    assert_int_equal(rename(in[0], spare), 0);
    commits_write(in[0], 600, 78);
}

static void a_skipped_input_is_replaced(void **state) {
    (void)state;
    commits_write(in[0], 600, 1);
    commits_write(in[1], 1000, 2);
    run_commits(18);
    assert_true(commits_came_to(&run, TAMIS_E_INTERRUPTED, ""));
    go_harmed(2, replace_first);
    assert_true(commits_started(&run, TAMIS_STREAM_RESUMED));
    const uint64_t keys = run.info.keys;
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
    assert_int_equal(run.stats.records, 600);
    assert_true(run.info.keys > keys);
    assert_int_equal(rename(spare, in[0]), 0);
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_FINISHED));
}

static void rewrite_first(void) {
    copy(in[0], spare);
    commits_write(in[0], 1200, 77);
}

/* Before the first commit, and after some. */
static void an_input_is_rewritten_during_the_run(void **state) {
    (void)state;
    inputs = 1;
    for (int early = 0; early < 2; early++) {
        forget();
        commits_write(in[0], 1000, 1);
        commit_bytes = 1000;
        run_commits(0);
        assert_true(commits_started(&run, TAMIS_STREAM_NEW));
        bytes_clear(&expected);
        file_read(output, &expected);
        forget();
        commit_bytes = early ? 6000 : 1000;
        go_harmed(early ? 5 : 12, rewrite_first);
        assert_true(commits_came_to(&run, TAMIS_E_CHANGED, "bytes that were read are gone"));
        copy(spare, in[0]);
        run_commits(0);
        assert_true(commits_started(&run, TAMIS_STREAM_RESUMED));
        assert_true(is_wanted());
    }
}

/* ---- outputs ---- */

static void keep_output(void) {
    copy(output, spare);
}

static void truncate_output(void) {
    keep_output();
    assert_int_equal(truncate(output, 0), 0);
}

static void truncate_output_in_part(void) {
    keep_output();
    struct stat st;
    assert_int_equal(stat(output, &st), 0);
    assert_int_equal(truncate(output, st.st_size / 2), 0);
}

static void add_to_output(void) {
    FILE *file = fopen(output, "a");
    char text[30000];
    keep_output();
    memset(text, 'x', sizeof text);
    assert_true(file && fwrite(text, sizeof text, 1, file) == 1 && fclose(file) == 0);
}

static void rewrite_output(void) {
    keep_output();
    FILE *file = fopen(output, "r+");
    assert_true(file && fputs("mine", file) >= 0 && fclose(file) == 0);
}

static void replace_output(void) {
    assert_int_equal(rename(output, spare), 0);
    commits_write(output, 300, 5);
}

static void an_output_changes(void **state) {
    (void)state;
    static const struct {
        void (*harm)(void);
        const char *says;
    } ways[] = {{truncate_output, "is shorter than"},
                {truncate_output_in_part, "is shorter than"},
                {rewrite_output, "was changed since"},
                {add_to_output, "another program wrote 30000 bytes"},
                {replace_output, "was replaced or removed"}};
    inputs = 1;
    commits_write(in[0], 1000, 1);
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
    file_read(output, &expected);
    for (int early = 0; early < 2; early++)
        for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
            forget();
            commit_bytes = early ? 6000 : 1000;
            go_harmed(early ? 6 : 12, ways[way].harm);
            assert_true(commits_came_to(&run, TAMIS_E_CHANGED, ways[way].says));
            assert_true(strstr(run.err.text, output));
            assert_int_equal(rename(spare, output), 0);
            run_commits(0);
            assert_true(commits_started(&run, TAMIS_STREAM_RESUMED));
            assert_true(is_wanted());
        }
}

/* ---- other runs in between ---- */

/* A log is rotated while the run over it is stopped, and there was another run since. */
static void an_unfinished_run_is_not_abandoned_silently(void **state) {
    (void)state;
    inputs = 1;
    commits_write(in[0], 1000, 1);
    run_commits(9);
    assert_true(commits_came_to(&run, TAMIS_E_INTERRUPTED, ""));
    char first[300];
    snprintf(first, sizeof first, "%s", output);
    commits_write(in[1], 400, 9);
    names[0] = in[1];
    snprintf(output, sizeof output, "%s", other);
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
    names[0] = in[0];
    snprintf(output, sizeof output, "%s", first);
    assert_int_equal(rename(in[0], spare), 0);
    commits_write(in[0], 1000, 10);
    for (int i = 0; i < 2; i++) {
        prepare();
        run.commits.reread = i == 1;
        commits_go(&run);
        assert_true(commits_came_to(&run, TAMIS_E_INVALID, "its last run did not finish"));
        assert_true(strstr(run.err.text, spare)); /* its present name */
    }
    for (int i = 0; i < 2; i++) { /* a rest that was given up is not asked for again */
        prepare();
        run.commits.abandon = i == 0;
        commits_go(&run);
        assert_true(commits_started(&run, i == 0 ? TAMIS_STREAM_NEW : TAMIS_STREAM_FINISHED));
    }
    names[0] = in[1];
    snprintf(output, sizeof output, "%s", other);
    append(in[1], "one more\n");
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_GROWN));
    names[0] = in[0];
    snprintf(output, sizeof output, "%s", first);
    assert_int_equal(rename(in[0], spare), 0); /* the next rotation, after a run that had ended */
    commits_write(in[0], 900, 12);
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
}

static unsigned losses;

static void count_loss(void *context, const char *message, bool loss) {
    (void)context;
    losses += loss && strstr(message, in[1]);
}

static void run_after_rotation(bool abandon) {
    losses = 0;
    prepare();
    run.commits.abandon = abandon;
    run.commits.remark = count_loss;
    commits_go(&run);
}

/* The last input is renamed before an unfinished run has read a byte of it, and another file has its name. */
static void reg_22_an_unread_input_is_renamed(void **state) {
    (void)state;
    enum { FINISHED, IN_THE_LIST, GIVEN_UP, GONE, WAYS };
    for (int way = 0; way < WAYS; way++) {
        forget();
        inputs = 2;
        names[1] = in[1];
        commits_write(in[0], 1000, 1);
        commits_write(in[1], 1000, 2);
        run_commits(9);
        assert_true(commits_came_to(&run, TAMIS_E_INTERRUPTED, ""));
        replace_last();
        if (way == GONE)
            assert_int_equal(unlink(spare), 0);
        else
            run_after_rotation(false);
        if (way != GONE)
            assert_true(commits_came_to(&run, TAMIS_E_INVALID, "its last run did not finish"));
        names[2] = spare;
        inputs = way == IN_THE_LIST ? 3 : 2;
        names[1] = way == FINISHED ? spare : in[1];
        run_after_rotation(way == GIVEN_UP);
        assert_true(
            commits_started(&run, way == FINISHED || way == GONE ? TAMIS_STREAM_RESUMED : TAMIS_STREAM_NEW));
        assert_int_equal(losses, way == GONE);
        names[1] = in[1];
        inputs = 2;
        run_after_rotation(false);
        assert_true(commits_started(&run, way == FINISHED ? TAMIS_STREAM_NEW : TAMIS_STREAM_FINISHED));
        assert_int_equal(losses, 0);
    }
}

/* ---- cost of a start ---- */

static struct tamis__system unharmed;
static uint64_t opens;

static int counted_open(const char *path, int flags, mode_t mode) {
    opens++;
    return unharmed.open(path, flags, mode);
}

/* Runs a day's inputs, with new names or with those of the day before. Returns the number of opens. */
static uint64_t opens_of_day(int day, bool rotated) {
    enum { MANY = 12 };
    static char paths[MANY][300];
    static const char *many[MANY];
    for (int i = 0; i < MANY; i++) {
        char name[40];
        snprintf(name, sizeof name, "log-%d-%d", rotated ? 0 : day, i);
        snprintf(paths[i], sizeof paths[i], "%s", scratch(name));
        commits_write(spare, 500, (uint64_t)(day * MANY + i) + 100);
        assert_int_equal(rename(spare, paths[i]), 0);
        many[i] = paths[i];
    }
    unharmed = tamis__sys;
    tamis__sys.open = counted_open;
    opens = 0;
    prepare();
    run.options.inputs = many;
    run.options.input_count = MANY;
    run.commits.bytes = 1 << 30;
    commits_go(&run);
    tamis__sys = unharmed;
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
    return opens;
}

static void opens_do_not_grow_with_checkpoints(void **state) {
    (void)state;
    for (int rotated = 0; rotated < 2; rotated++) {
        forget();
        const uint64_t first = opens_of_day(0, rotated);
        uint64_t last = 0;
        for (int day = 1; day < 15; day++)
            last = opens_of_day(day, rotated);
        printf("%" PRIu64 " opens, then %" PRIu64 "\n", first, last);
        assert_true(last <= first + 40); /* the state has more files */
    }
}

/* ---- file systems and signals ---- */

static int no_lock(int fd, int operation) {
    char link[60], path[300];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(link, path, sizeof path - 1);
    path[size > 0 ? size : 0] = '\0';
    if (!strstr(path, ".output.tamis-lock"))
        return unharmed.lock(fd, operation);
    errno = EOPNOTSUPP;
    return -1;
}

static void an_output_without_locks_is_reported(void **state) {
    (void)state;
    inputs = 1;
    commits_write(in[0], 100, 1);
    unharmed = tamis__sys;
    tamis__sys.lock = no_lock;
    run_commits(0);
    tamis__sys = unharmed;
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
    assert_non_null(run.result.unlocked);
    assert_string_equal(run.result.unlocked, output);
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_FINISHED));
    assert_null(run.result.unlocked);
}

static uint64_t preads;

static int cut_open(const char *path, int flags, mode_t mode) {
    static bool cut;
    cut = !cut && flags & O_DIRECTORY && !strstr(path, "state");
    if (!cut)
        return unharmed.open(path, flags, mode);
    opens++;
    errno = EINTR;
    return -1;
}

static ssize_t cut_pread(int fd, void *bytes, size_t size, off_t offset) {
    if (++preads % 2)
        return unharmed.pread(fd, bytes, size, offset);
    errno = EINTR;
    return -1;
}

static void signals_end_no_run(void **state) {
    (void)state;
    inputs = 1;
    commits_write(in[0], 500, 1);
    append(in[0], "no end");
    for (int i = 0; i < 2; i++) {
        unharmed = tamis__sys;
        tamis__sys.open = cut_open;
        tamis__sys.pread = cut_pread;
        opens = preads = (uint64_t)i; /* each call is cut short in one of both */
        run_commits(0);
        tamis__sys = unharmed;
        assert_true(commits_started(&run, i ? TAMIS_STREAM_GROWN : TAMIS_STREAM_NEW));
        assert_true(opens > 0 && preads > 5);
        append(in[0], "\n");
    }
    assert_int_equal(run.stats.records, 501);
}

/* A FIFO may get the name of an input between stat and open. No open may wait for a writer. */
static bool may_wait;

static int watched_open(const char *path, int flags, mode_t mode) {
    may_wait = may_wait || (strcmp(path, in[0]) == 0 && !(flags & O_NONBLOCK));
    return unharmed.open(path, flags, mode);
}

static void reg_22_no_open_waits(void **state) {
    (void)state;
    inputs = 1;
    commits_write(in[0], 500, 1);
    may_wait = false;
    unharmed = tamis__sys;
    tamis__sys.open = watched_open;
    run_commits(4);
    run_commits(0);
    tamis__sys = unharmed;
    assert_true(commits_started(&run, TAMIS_STREAM_RESUMED));
    assert_false(may_wait);
}

/* ---- checkpoints ---- */

/* A checkpoint whose current input is beyond the last one is invalid: a reader of it would access that
 * input. */
static void a_checkpoint_without_its_input_is_refused(void **state) {
    (void)state;
    enum { INPUT_AT = 8 + 8 + 8 * 8 + TAMIS__FORMS * 8 };
    tamis_state *opened;
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_stream_checkpoint *checkpoint;
    const void *bytes;
    size_t size;
    commits_write(in[0], 100, 1);
    commits_write(in[1], 100, 2);
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
    assert_int_equal(tamis_state_open(&opened, scratch("state"), &options, &run.err), TAMIS_OK);
    tamis_state_committed(opened, &bytes, &size);
    unsigned char *crafted = malloc(size);
    assert_non_null(crafted);
    memcpy(crafted, bytes, size);
    tamis_state_close(opened);
    assert_int_equal(crafted[INPUT_AT], 1);
    assert_int_equal(crafted[INPUT_AT + 8], INPUTS);
    assert_int_equal(tamis_stream_checkpoint_decode(&checkpoint, crafted, size, &run.err), TAMIS_OK);
    tamis_stream_checkpoint_free(checkpoint);
    crafted[INPUT_AT] = INPUTS;
    assert_int_equal(tamis_stream_checkpoint_decode(&checkpoint, crafted, size, &run.err), TAMIS_E_FORMAT);
    free(crafted);
}

/* Returns the checkpoint of the last commit; the caller frees it. */
static tamis_stream_checkpoint *last_checkpoint(void) {
    tamis_state *opened;
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_stream_checkpoint *checkpoint;
    const void *bytes;
    size_t size;
    assert_int_equal(tamis_state_open(&opened, scratch("state"), &options, &run.err), TAMIS_OK);
    tamis_state_committed(opened, &bytes, &size);
    assert_int_equal(tamis_stream_checkpoint_decode(&checkpoint, bytes, size, &run.err), TAMIS_OK);
    tamis_state_close(opened);
    return checkpoint;
}

/* Returns what became of a run, and the number of commits; closes the run before, if `closing`. */
static tamis_stream_run_status status_of_run(size_t number, bool closing, uint64_t *commits) {
    tamis_state *opened;
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_state_info info = TAMIS_STATE_INFO_INIT;
    tamis_stream_checkpoint *checkpoint;
    tamis_stream_run_status run_status;
    assert_int_equal(tamis_state_open(&opened, scratch("state"), &options, &run.err), TAMIS_OK);
    if (closing)
        assert_int_equal(tamis_stream_run_close(opened, number, &run.err), TAMIS_OK);
    assert_int_equal(tamis_stream_run_at(&checkpoint, &run_status, opened, number, &run.err), TAMIS_OK);
    tamis_stream_checkpoint_free(checkpoint);
    assert_int_equal(tamis_stream_run_at(&checkpoint, &run_status, opened, 9, NULL), TAMIS_E_NOT_FOUND);
    assert_int_equal(tamis_stream_run_close(opened, 9, NULL), TAMIS_E_NOT_FOUND);
    assert_int_equal(tamis_stream_run_at(&checkpoint, &run_status, opened, number, &run.err), TAMIS_OK);
    tamis_stream_checkpoint_free(checkpoint);
    tamis_state_info_get(opened, &info);
    *commits = info.commits;
    tamis_state_close(opened);
    return run_status;
}

/* A run is open until it ends or is closed. Given again, it goes on in both cases. */
static void an_open_run_is_closed(void **state) {
    (void)state;
    uint64_t commits, before;
    commits_write(in[0], 3000, 1);
    commits_write(in[1], 100, 2);
    run_commits(20);
    assert_int_equal(status_of_run(0, false, &before), TAMIS_STREAM_RUN_OPEN);
    assert_int_equal(status_of_run(0, true, &commits), TAMIS_STREAM_RUN_CLOSED);
    assert_int_equal(commits, before + 1);
    assert_int_equal(status_of_run(0, true, &commits), TAMIS_STREAM_RUN_CLOSED);
    assert_int_equal(commits, before + 1); /* nothing the second time */
    run_commits(0);
    assert_true(commits_started(&run, TAMIS_STREAM_RESUMED));
    assert_int_equal(status_of_run(0, true, &commits), TAMIS_STREAM_RUN_ENDED);
}

static void inputs_of_a_checkpoint(void **state) {
    (void)state;
    commits_write(in[0], 3000, 1);
    commits_write(in[1], 100, 2);
    run_commits(0);
    tamis_stream_checkpoint *checkpoint = last_checkpoint();
    copy(in[0], spare);
    assert_true(tamis_stream_checkpoint_is_input(checkpoint, 0, spare)); /* a copy is the input too */
    commits_write(in[0], 4000, 3);
    assert_false(tamis_stream_checkpoint_is_input(checkpoint, 0, in[0]));
    assert_false(tamis_stream_checkpoint_is_input(checkpoint, 0, other)); /* no such file */
    assert_false(tamis_stream_checkpoint_is_input(checkpoint, INPUTS, spare));
    tamis_stream_checkpoint_free(checkpoint);
}

/* ---- set-up and tear-down ---- */

static int set_up(void **state) {
    (void)state;
    scratch_make();
    for (int i = 0; i < INPUTS; i++) {
        snprintf(in[i], sizeof in[i], "%s", scratch(i ? "in1" : "in0"));
        names[i] = in[i];
    }
    snprintf(output, sizeof output, "%s", scratch("output"));
    snprintf(other, sizeof other, "%s", scratch("other"));
    snprintf(spare, sizeof spare, "%s", scratch("spare"));
    inputs = INPUTS;
    commit_bytes = 1000;
    harm = NULL;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    bytes_clear(&expected);
    commits_forget();
    scratch_remove();
    return 0;
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(an_input_that_waits_is_replaced),
        CASE(a_skipped_input_is_replaced),
        CASE(an_input_is_rewritten_during_the_run),
        CASE(an_output_changes),
        CASE(an_unfinished_run_is_not_abandoned_silently),
        CASE(reg_22_an_unread_input_is_renamed),
        CASE(opens_do_not_grow_with_checkpoints),
        CASE(an_output_without_locks_is_reported),
        CASE(signals_end_no_run),
        CASE(reg_22_no_open_waits),
        CASE(a_checkpoint_without_its_input_is_refused),
        CASE(an_open_run_is_closed),
        CASE(inputs_of_a_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
