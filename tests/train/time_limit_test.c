/* SPDX-License-Identifier: MIT
 * covers: train/schedule
 * Tests training runs with a time limit (max_minutes): when they end, the learning rate as a function of the elapsed
 * time, and resuming. The duration of a step is unknown, so every assertion must hold on a machine of any speed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_train.h"

#define MINUTES 0.01
#define SECONDS (60 * MINUTES)
#define PEAK    1e-3

/* Values from the events of a run since it was started or resumed. Times are in seconds since this start. */
typedef struct observer {
    double before[2];  /* lower and upper bound of the time that the run took before it was resumed */
    double earlier;    /* time of the second to last step event */
    double newer;      /* time of the last step event */
    double stop;       /* the run is cancelled at the first step event after this time */
    double first_rate; /* learning rate of the first step event; negative before that event */
    size_t step;       /* step of the last event */
    size_t steps;      /* total number of steps that the last event reported */
    double seconds;    /* time of the last event */
    int done;          /* 1 after the event AOE_TRAIN_DONE */
} observer;

/* Returns the learning rate `seconds` after the start of the run. It rises linearly during the first tenth of the time
 * limit and then falls to 0. */
static double schedule(double seconds) {
    const double fraction = fmin(seconds / SECONDS, 1);
    return PEAK * (fraction < 0.1 ? fraction / 0.1 : (1 - fraction) / 0.9);
}

/* Asserts that `rate`, the learning rate of the current step, is the scheduled rate at a time between the two previous
 * step events. */
static void check_rate(const observer *w, double rate) {
    const double from = w->before[0] + w->earlier, to = w->before[1] + w->newer;
    const int peak = from <= 0.1 * SECONDS && to >= 0.1 * SECONDS;
    assert_true(rate >= fmin(schedule(from), schedule(to)) - 1e-12);
    assert_true(rate <= (peak ? PEAK : fmax(schedule(from), schedule(to))) + 1e-12);
}

static int on_event(void *user, const aoe_train_event *e) {
    observer *w = user;
    w->step = e->step;
    w->steps = e->steps;
    w->seconds = e->seconds;
    w->done |= e->kind == AOE_TRAIN_DONE;
    if (e->kind != AOE_TRAIN_STEP)
        return 0;
    assert_true(e->steps >= e->step);
    assert_true((e->steps == e->step) == (e->seconds_left == 0));
    check_rate(w, e->lr);
    if (w->first_rate < 0)
        w->first_rate = e->lr;
    w->earlier = w->newer;
    w->newer = e->seconds;
    return e->seconds > w->stop;
}

static void create_with_time_limit(train_run *r, observer *w) {
    train_run_create(r);
    r->o.args.max_minutes = MINUTES;
    r->o.args.lr = PEAK;
    r->o.args.epochs = 1; /* has no effect, because a time limit is set */
    r->o.args.save_every = r->o.args.eval_every = 1 << 30;
    r->o.args.event = on_event;
    r->o.args.event_user = w;
    *w = (observer){.stop = INFINITY, .first_rate = -1};
}

static void test_end(void **state) {
    (void)state;
    train_run r;
    observer w;
    create_with_time_limit(&r, &w);
    train_run_ok(&r, 1);
    assert_true(w.done);
    assert_true(w.seconds >= SECONDS);
    assert_int_equal(w.step, w.steps);
    assert_int_equal(r.evaluations, 2); /* before the first step and after the last step */
    assert_true(w.first_rate == 0);
    char *settings = train_run_read(&r, "aoe.json", NULL);
    assert_non_null(strstr(settings, "\"max_minutes\": 0.01"));
    free(settings);
    train_run_destroy(&r);
}

static void test_resume(void **state) {
    (void)state;
    train_run r;
    observer w;
    create_with_time_limit(&r, &w);
    w.stop = 0.2 * SECONDS;
    const int code = train_run_go(&r, 1, NULL);
    if (code == AOE_OK) { /* the run finished before it could be stopped, because a single step exceeded the time
                             limit */
        train_run_destroy(&r);
        return;
    }
    assert_int_equal(code, AOE_ECANCELLED);
    const size_t step = w.step;
    const double before = w.seconds; /* time of the checkpoint event, which is later than the time that the checkpoint
                                        stores */
    w = (observer){.before = {w.newer, before}, .stop = INFINITY, .first_rate = -1};
    r.o.args.resume = 1;
    r.o.args.max_minutes = 2 * MINUTES;
    aoe_error err = {0};
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.max_minutes was 0.01"));
    r.o.args.max_minutes = MINUTES;
    train_run_ok(&r, 1);
    assert_true(w.done && w.step > step && w.step == w.steps);
    assert_true(before + w.seconds >= SECONDS);
    assert_true(w.first_rate > 0 && w.first_rate <= schedule(0.2 * SECONDS));
    train_run_destroy(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_end), cmocka_unit_test(test_resume)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
