/* SPDX-License-Identifier: BSD-2-Clause */
/* The first program of a user, against what `install` put there: exit status 0 if it does what it should. */
#include <stdio.h>
#include <string.h>

#include <tamis/tamis.h>

int main(void) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_want want = TAMIS_WANT_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *seen = NULL;
    tamis_key keys[3] = {{"red", 3}, {"green", 5}, {"red", 3}};
    tamis_answer answers[3];
    char version[32];

    snprintf(version, sizeof version, "%d.%d.%d", TAMIS_VERSION_MAJOR, TAMIS_VERSION_MINOR,
             TAMIS_VERSION_PATCH);
    if (strcmp(version, tamis_version()) != 0) {
        fprintf(stderr, "header %s, library %s\n", version, tamis_version());
        return 1;
    }
    want.expect = 1000;
    want.fpr = 1e-6;
    if (tamis_plan_make(&plan, &want, &err) != TAMIS_OK ||
        tamis_filter_create(&seen, &plan, NULL, &err) != TAMIS_OK ||
        tamis_filter_add_many(seen, keys, 3, answers, NULL, &err) != TAMIS_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    tamis_filter_free(seen);
    if (answers[0] != TAMIS_FRESH || answers[1] != TAMIS_FRESH || answers[2] != TAMIS_SEEN) {
        fprintf(stderr, "answers %d %d %d\n", answers[0], answers[1], answers[2]);
        return 1;
    }
    printf("tamis %s, kernels %s\n", tamis_version(), tamis_kernel_name());
    return 0;
}
