/* SPDX-License-Identifier: MIT
 * Three errors of losses over gathered vectors that other libraries had. Each of them shows as a loss or a gradient
 * that depends on the number of ranks:
 * - The vectors are in the order of the ranks (query, positive and negative of rank 0, then of rank 1), but the labels
 *   expect all positives first: sentence-transformers issue 3453.
 * - The guide takes the text of another rank for the own positive, because the index of the example lacks the offset of
 *   the rank: sentence-transformers issue 3817.
 * - The loss, and with it the gradient, is multiplied by the number of ranks: sentence-transformers commit 8c4331ec.
 * The first step of training with one process is compared with that of several ranks.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "../support/comm_fork.h"
#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_train.h"

enum { SHARDS = 8, EXAMPLES = 9 };

/* What the log says about the first step. */
typedef struct first_step {
    double loss, norm, left_out; /* left_out: share of the negatives that the guide leaves out */
} first_step;

static int train(aoe_comm *comm, void *user, aoe_error *err) {
    train_run *r = user;
    r->o.args.comm = comm;
    r->o.args.comm_timeout = 60;
    return train_run_go(r, 1, err);
}

/* Trains with this number of ranks, 0: without communication, and returns the first step. */
static first_step run(train_run *r, int ranks) {
    char name[32];
    aoe_error err = {0};
    first_step s = {.loss = (double)NAN};
    snprintf(name, sizeof name, "ranks-%d", ranks);
    train_run_output(r, name);
    if (ranks ? comm_test_fork(ranks, train, r) : train_run_go(r, 1, &err))
        fail_msg("%d ranks: %s", ranks, err.message);
    char *log = train_run_read(r, "train-log.jsonl", NULL);
    assert_non_null(log);
    for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *o = json_loads(line, 0, NULL);
        assert_non_null(o);
        if (strcmp(json_string_value(json_object_get(o, "event")), "step") == 0)
            s = (first_step){.loss = json_number_value(json_object_get(o, "loss")),
                             .norm = json_number_value(json_object_get(o, "grad_norm")),
                             .left_out = json_number_value(json_object_get(o, "left_out"))};
        json_decref(o);
    }
    free(log);
    assert_true(isfinite(s.loss) && s.norm > 0);
    return s;
}

static void begin(train_run *r, aoe_method method) {
    train_run_create(r);
    const aoe_train_options plain = r->o;
    aoe_train_method_defaults(&r->o, method);
    r->o.method = method;
    r->o.batch_size = EXAMPLES;
    r->o.args.lr = plain.args.lr;
    r->o.args.max_steps = 1;
    r->o.args.shards = SHARDS;
    r->o.evaluate = NULL;
    train_run_use_triplets(r);
    if (method == AOE_METHOD_GIST)
        r->o.teachers[0] = r->o.args.model;
}

/* Compares the first step of 2 to 8 ranks with that of one process. Returns the latter. */
static first_step compare(train_run *r) {
    static const int ranks[] = {2, 3, 4, 8};
    const first_step want = run(r, 0);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        const first_step got = run(r, ranks[i]);
        if (memcmp(&got, &want, sizeof got) != 0)
            fail_msg("%d ranks: loss %.9g, gradient norm %.9g, left out %g; one process: %.9g, %.9g, %g", ranks[i],
                     got.loss, got.norm, got.left_out, want.loss, want.norm, want.left_out);
    }
    return want;
}

static void positives_and_negatives_keep_their_order(void **state) {
    (void)state;
    train_run r;
    begin(&r, AOE_METHOD_CONTRASTIVE);
    const first_step s = compare(&r);
    /* the loss depends on which of the texts is the positive */
    free(r.data);
    r.data = test_write_text(r.dir, "swapped.tsv",
                             "query\tpositive\tnegative\nthe cat a\ta a house dog\tthe a cat\nthe cat b\ta b house "
                             "dog\tthe b cat\nthe cat c\ta c house dog\tthe c cat\n");
    r.source.path = r.data;
    assert_true(fabs(run(&r, 1).loss - s.loss) > 1e-3);
    train_run_destroy(&r);
}

static void the_guide_protects_the_own_positive(void **state) {
    (void)state;
    train_run r;
    begin(&r, AOE_METHOD_GIST);
    const first_step s = compare(&r);
    assert_true(s.left_out > 0 && s.left_out < 1);
    train_run_destroy(&r);
}

static void ranks_do_not_scale_the_gradient(void **state) {
    (void)state;
    train_run r;
    begin(&r, AOE_METHOD_SYMMETRIC);
    compare(&r);
    train_run_destroy(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positives_and_negatives_keep_their_order),
        cmocka_unit_test(the_guide_protects_the_own_positive),
        cmocka_unit_test(ranks_do_not_scale_the_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
