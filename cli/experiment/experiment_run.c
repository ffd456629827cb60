/* SPDX-License-Identifier: MIT
 * The life of a trial: in a child process aoe train and the scoring of its model, in
 * the parent its record, what is kept of it, and how far all of them are.
 */
#include "aoe_data.h"
#include "aoe_eval.h"
#include "cli/common/dispatch.h"
#include "cli/experiment/experiment_check.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/train/training_args.h"
#include "cli/experiment/scheduler.h"

extern const cli_command cli_train_command;

/* ---- names and scores */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

const char *cli_file_label(const cli_experiment *e, size_t file) {
    const char *name = base_name(e->file[file]);
    for (size_t i = 0; i < e->n_files; i++)
        if (i != file && strcmp(base_name(e->file[i]), name) == 0)
            return e->file[file];
    return name;
}

double cli_trial_score(const cli_trial *t, const cli_experiment *e, size_t file) {
    const json_t *scores = json_object_get(t->record, "scores");
    const json_t *score = scores ? json_object_get(scores, e->file[file]) : json_object_get(t->record, "score");
    return json_is_number(score) ? json_number_value(score) : NAN;
}

static char *pairs_path(const cli_experiment *e, const cli_trial *t, size_t file) {
    char *name = cli_format("scores-%zu.tsv", file + 1);
    char *path = cli_trial_path(e, t, name);
    free(name);
    return path;
}

int cli_trial_pairs(const cli_experiment *e, const cli_trial *t, size_t file, double **cosine, double **gold, size_t *n) {
    char *path = pairs_path(e, t, file), line[128];
    size_t capacity = 0;
    *cosine = *gold = NULL;
    *n = 0;
    FILE *f = fopen(path, "r");
    int bad = !f || !fgets(line, sizeof line, f);
    while (!bad && fgets(line, sizeof line, f)) {
        if (*n == capacity) {
            capacity = 2 * capacity + 1024;
            *cosine = cli_realloc(*cosine, capacity * sizeof **cosine);
            *gold = cli_realloc(*gold, capacity * sizeof **gold);
        }
        char *end = NULL;
        (*cosine)[*n] = strtod(line, &end);
        bad = *end != '\t';
        (*gold)[*n] = strtod(end, &end);
        bad = bad || *end != '\n';
        *n += 1;
    }
    if (f)
        fclose(f);
    const int code = bad ? cli_fail("%s cannot be read; remove the directory it is in, and the run is made again", path) : 0;
    free(path);
    return code;
}

/* ---- in the child */

static cli_words train_words(const cli_experiment *e, const cli_trial *t, int threads) {
    char *model = cli_trial_path(e, t, "model");
    cli_words w = {0};
    cli_words_append(&w, &t->args);
    cli_words_add(&w, "--seed=%llu", (unsigned long long)t->seed);
    cli_words_add(&w, "--output=%s", model);
    if (threads)
        cli_words_add(&w, "--threads=%d", threads);
    free(model);
    return w;
}

typedef struct scoring {
    const cli_experiment *e;
    const cli_trial *t;
    char *path; /* of the file being written, owned */
    int failed;
} scoring;

/* Of a folder its total. */
static void write_pairs(void *user, const aoe_sts_result *r) {
    scoring *s = user;
    cli_file f;
    if ((r->row != AOE_STS_FILE && r->row != AOE_STS_FOLDER) || s->failed || (s->failed = cli_file_open(&f, s->path)))
        return;
    fprintf(f.file, "cosine\tgold\n");
    for (size_t i = 0; i < r->pairs; i++)
        fprintf(f.file, "%.17g\t%.17g\n", r->cosine[i], r->gold[i]);
    s->failed = cli_file_commit(&f);
    if (s->failed)
        cli_file_abort(&f);
}

/* Scores the model in the trial's directory, or of an untrained one the start model, by every file. */
static int score(void *user, const cli_train_view *v) {
    scoring *s = user;
    cli_general g = *v->general;
    cli_model_options m = *v->model;
    cli_session session = {0};
    aoe_error err;
    char *model = cli_trial_path(s->e, s->t, "model");
    if (!s->t->untrained) { /* the rest is stored with it */
        aoe_model_options_defaults(&m.o);
        m.o.dtype = v->model->o.dtype;
        m.dir = model;
    }
    int code = cli_session_open(&session, &g, &m);
    for (size_t i = 0; !code && i < s->e->n_files; i++) {
        const aoe_sts_options sts = {.struct_size = sizeof(aoe_sts_options), .table = cli_score_table(v, s->e->file[i])};
        s->path = pairs_path(s->e, s->t, i);
        code = aoe_eval_sts(session.embedder, &s->e->file[i], 1, &sts, write_pairs, s, &err) ? cli_fail("%s", err.message)
                                                                                             : s->failed;
        free(s->path);
    }
    cli_session_close(&session);
    free(model);
    return code;
}

typedef struct running {
    cli_experiment *e;
    cli_job *job;   /* [n] */
    char **path;    /* [2 n] owned; of the jobs */
    int threads;    /* of a job */
    int write_fail; /* a record could not be written */
    size_t failed;
} running;

/* 1: a training that was stopped can go on. Of one that left a part of its model alone nothing can be used. */
static int has_checkpoint(const cli_experiment *e, const cli_trial *t) {
    char *path = cli_trial_path(e, t, "model/checkpoints");
    DIR *d = opendir(path);
    int found = 0;
    for (const struct dirent *entry = d ? readdir(d) : NULL; entry && !found; entry = readdir(d))
        found = strncmp(entry->d_name, "step-", 5) == 0;
    if (d)
        closedir(d);
    free(path);
    return found;
}

static int run_trial(void *user, size_t i) {
    const running *r = user;
    const cli_trial *t = &r->e->trial[i];
    cli_words w = train_words(r->e, t, r->threads);
    scoring s = {.e = r->e, .t = t};
    int code = 0;
    if (!t->untrained) {
        cli_words train = {0};
        cli_words_append(&train, &w);
        cli_words_add(&train, has_checkpoint(r->e, t) ? "--resume" : "--force");
        cli_words_add(&train, "--quiet");
        cli_words_add(&train, "--json");
        code = cli_train_command.run((int)train.n, train.word);
        cli_words_free(&train);
    }
    if (!code && cli_interrupted())
        code = 128 + cli_interrupted();
    signal(SIGTERM, SIG_DFL); /* what has no checkpoint may end anywhere */
    signal(SIGINT, SIG_DFL);
    if (!code && r->e->n_files)
        code = cli_train_parse((int)w.n, w.word, score, &s);
    cli_words_free(&w);
    return code;
}

/* ---- in the parent: what came of a trial */

/* The last line of a file that begins with a text, without its line end; NULL: none. free() it. */
static char *last_line(const char *path, const char *begin) {
    char *line = NULL, *found = NULL;
    size_t capacity = 0;
    ssize_t n;
    FILE *f = fopen(path, "r");
    while (f && (n = getline(&line, &capacity, f)) > 0) {
        if (strncmp(line, begin, strlen(begin)) != 0 || strncmp(line, "aoe: warning: ", 14) == 0)
            continue;
        if (line[n - 1] == '\n')
            line[n - 1] = 0;
        free(found);
        found = cli_strdup(line);
    }
    if (f)
        fclose(f);
    free(line);
    return found;
}

static json_t *done_event(const cli_experiment *e, const cli_trial *t) {
    char *path = cli_trial_path(e, t, "train.jsonl"), *line = last_line(path, "{\"event\":\"done\"");
    json_t *event = line ? json_loads(line, 0, NULL) : NULL;
    free(line);
    free(path);
    return event;
}

/* Where a Spearman correlation is undefined, null. */
static json_t *score_by_file(const cli_experiment *e, const cli_trial *t, size_t file) {
    double *cosine, *gold;
    size_t n;
    json_t *value = NULL;
    if (!cli_trial_pairs(e, t, file, &cosine, &gold, &n))
        value = cli_json_real(aoe_spearman(cosine, gold, n));
    free(cosine);
    free(gold);
    return value;
}

static json_t *make_record(const cli_experiment *e, const cli_trial *t, double seconds) {
    json_t *record = json_deep_copy(t->key);
    int failed = 0;
    if (json_object_get(e->settings, "arms")) {
        json_t *scores = json_object();
        for (size_t i = 0; i < e->n_files; i++)
            failed |= json_object_set_new(scores, e->file[i], score_by_file(e, t, i));
        json_object_set_new(record, "scores", scores);
    } else if (e->n_files) {
        failed = json_object_set_new(record, "score", score_by_file(e, t, 0));
    } else {
        json_t *event = done_event(e, t);
        failed = json_object_set(record, "score", json_object_get(event, "dev_spearman"));
        json_decref(event);
    }
    json_object_set_new(record, "seconds", json_real(seconds));
    json_object_set(record, "files", t->files);
    if (!failed)
        return record;
    json_decref(record);
    return NULL;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *place) {
    (void)st;
    (void)type;
    (void)place;
    return remove(path);
}

static void remove_tree(char *path) { /* and frees its name */
    if (access(path, F_OK) == 0 && nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS))
        cli_warn("cannot remove %s: %s", path, strerror(errno));
    free(path);
}

static int is_better(const cli_experiment *e, size_t a, size_t b) {
    const double x = cli_trial_score(&e->trial[a], e, 0), y = cli_trial_score(&e->trial[b], e, 0);
    return x > y || (!(x < y) && a < b);
}

/* Whether trial i has a score that is higher than that of the best trial so far. A score that is undefined is never the best.
 */
static int is_best(const cli_experiment *e, size_t i) {
    return !isnan(cli_trial_score(&e->trial[i], e, 0)) && (e->best == e->n || is_better(e, i, e->best));
}

/* Removes the checkpoints of a finished trial, and the models that are not kept. */
static void clean_up(cli_experiment *e, size_t i) {
    cli_trial *t = &e->trial[i];
    size_t loser = i;
    remove_tree(cli_trial_path(e, t, "model/checkpoints"));
    if (t->untrained)
        return;
    if (e->o.keep != CLI_KEEP_NONE && is_best(e, i)) {
        loser = e->best;
        e->best = i;
    }
    if (e->o.keep != CLI_KEEP_ALL && loser < e->n)
        remove_tree(cli_trial_path(e, &e->trial[loser], "model"));
}

static void find_best(cli_experiment *e) {
    e->best = e->n;
    for (size_t i = 0; i < e->n; i++) {
        char *model = cli_trial_path(e, &e->trial[i], "model");
        if (e->trial[i].record && access(model, F_OK) == 0 && is_best(e, i))
            e->best = i;
        free(model);
    }
}

static void write_result(FILE *f, const json_t *record) {
    json_t *line = json_copy((json_t *)record); /* shallow */
    json_object_del(line, "files");
    if (cli_put_json(f, line) == 0)
        fputc('\n', f);
    json_decref(line);
}

int cli_experiment_results(const cli_experiment *e) {
    char *path = cli_format("%s/results.jsonl", e->o.output);
    cli_file f;
    int code = cli_file_open(&f, path);
    if (!code) {
        for (size_t i = 0; i < e->n; i++)
            if (e->trial[i].record)
                write_result(f.file, e->trial[i].record);
        code = cli_file_commit(&f);
        if (code)
            cli_file_abort(&f);
    }
    free(path);
    return code;
}

static void note_end(const cli_experiment *e, const cli_trial *t, double seconds) {
    char time[32], scores[256] = "";
    size_t at = 0;
    cli_format_seconds(time, seconds);
    for (size_t i = 0; i < (e->n_files ? e->n_files : 1) && at < sizeof scores; i++) {
        const double score = cli_trial_score(t, e, i);
        char text[32] = "undefined";
        if (!isnan(score))
            snprintf(text, sizeof text, "%.2f", 100 * score);
        at += (size_t)snprintf(scores + at, sizeof scores - at, " %s", text);
    }
    cli_note("%s:%s (%s)", t->label, scores, time);
}

static char *why_failed(const char *errors, int status) {
    char *line = last_line(errors, "aoe: ");
    if (line && WIFEXITED(status)) {
        memmove(line, line + 5, strlen(line + 5) + 1);
        return line;
    }
    free(line);
    if (WIFSIGNALED(status))
        return cli_format("the process was ended by signal %d (%s)%s", WTERMSIG(status), strsignal(WTERMSIG(status)),
                          WTERMSIG(status) == SIGKILL ? "; if memory ran out, give fewer --jobs or less --memory" : "");
    return cli_format("it ended with exit code %d and no message; see %s", WEXITSTATUS(status), errors);
}

static int trial_ended(void *user, size_t i, int status, double seconds) {
    running *r = user;
    cli_experiment *e = r->e;
    cli_trial *t = &e->trial[i];
    if (status != 0) {
        if (cli_interrupted())
            return 0;
        t->error = why_failed(r->job[i].errors, status);
        r->failed++;
        cli_fail("%s: %s failed: %s", e->command, t->label, t->error);
        return 0;
    }
    char *path = cli_trial_path(e, t, "record.json");
    json_t *record = make_record(e, t, seconds);
    if (!record || cli_write_json(path, record)) {
        t->error = cli_strdup("its scores could not be recorded");
        r->failed++;
        json_decref(record);
    } else {
        t->record = record;
        e->finished++;
        clean_up(e, i);
        r->write_fail |= cli_experiment_results(e);
        note_end(e, t, seconds);
    }
    free(path);
    return 0;
}

/* ---- progress */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The number behind "key": in text; -1: there is none. */
static double number_behind(const char *text, const char *key) {
    const char *at = strstr(text, key);
    return at ? strtod(at + strlen(key), NULL) : -1;
}

/* How much of a training is done, by its log: the first line says how many steps there are, the last which is done. */
static double fraction_done(const cli_experiment *e, const cli_trial *t) {
    char *path = cli_trial_path(e, t, "model/train-log.jsonl"), first[512], last[1024];
    FILE *f = fopen(path, "r");
    double steps = -1, step = -1;
    free(path);
    if (!f)
        return 0;
    if (fgets(first, sizeof first, f))
        steps = number_behind(first, "\"steps\":");
    const long back = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : 0;
    if (back > 0 && fseek(f, back > (long)sizeof last - 1 ? back - ((long)sizeof last - 1) : 0, SEEK_SET) == 0) {
        const size_t n = fread(last, 1, sizeof last - 1, f);
        last[n] = 0;
        for (const char *at = strstr(last, "\"step\":"); at; at = strstr(at + 1, "\"step\":"))
            step = number_behind(at, "\"step\":");
    }
    fclose(f);
    return steps > 0 && step > 0 && step <= steps ? step / steps : 0;
}

static void show_progress(void *user, const size_t *job, size_t n) {
    const running *r = user;
    cli_experiment *e = r->e;
    double done = (double)(e->finished + r->failed);
    char extra[160];
    if (!e->progress.active)
        return;
    for (size_t k = 0; k < n; k++)
        done += fraction_done(e, &e->trial[job[k]]);
    const double spent = now() - e->start, made = done - e->done_before;
    const double left = made > 0 ? spent * ((double)e->n - done) / made : 0;
    snprintf(extra, sizeof extra, "%zu at work", n);
    cli_progress_update(&e->progress, e->finished + r->failed, e->n, extra, left, NULL);
}

/* ---- all of them */

static int make_run_directories(const cli_experiment *e) {
    int code = 0;
    for (size_t i = 0; !code && i < e->n; i++) {
        char *path = cli_trial_path(e, &e->trial[i], NULL);
        if (mkdir(path, 0777) && errno != EEXIST)
            code = cli_fail("cannot make the directory %s: %s; make room or choose another -o", path, strerror(errno));
        free(path);
    }
    return code;
}

static int run_jobs(running *r) {
    cli_experiment *e = r->e;
    aoe_context *ctx = NULL;
    cli_general g = {.threads = e->o.threads};
    if (!g.threads && !cli_open_context(&ctx, &g))
        g.threads = aoe_context_threads(ctx);
    aoe_context_destroy(ctx);
    r->threads = g.threads > e->o.jobs ? (int)(g.threads / e->o.jobs) : 1;
    cli_note("%zu run%s, %zu done; %zu at once, with %d thread%s each", e->n, cli_plural(e->n), e->finished, e->o.jobs,
             r->threads, cli_plural((size_t)r->threads));
    const cli_schedule s = {.job = r->job,
                            .n = e->n,
                            .at_once = e->o.jobs,
                            .memory = e->o.memory,
                            .run = run_trial,
                            .ended = trial_ended,
                            .tick = show_progress,
                            .user = r};
    e->start = now();
    e->done_before = (double)e->finished;
    cli_progress_begin(&e->progress, e->command, "runs", e->finished);
    const int code = cli_schedule_run(&s);
    cli_progress_end(&e->progress);
    return code;
}

int cli_experiment_run(cli_experiment *e) {
    running r = {.e = e};
    if (make_run_directories(e))
        return 1;
    r.job = cli_realloc(NULL, e->n * sizeof *r.job);
    r.path = cli_realloc(NULL, 2 * e->n * sizeof *r.path);
    for (size_t i = 0; i < e->n; i++) {
        const cli_trial *t = &e->trial[i];
        r.path[2 * i] = cli_trial_path(e, t, "train.jsonl");
        r.path[2 * i + 1] = cli_trial_path(e, t, "errors.txt");
        r.job[i] = (cli_job){t->memory, r.path[2 * i], r.path[2 * i + 1], t->record != NULL};
    }
    find_best(e);
    int code = run_jobs(&r);
    if (code > 128)
        cli_message("aoe: stopped with %zu of %zu runs done; the same command goes on from there", e->finished, e->n);
    else if (r.failed)
        code = cli_fail("%s: %zu of %zu runs failed; the same command tries them again", e->command, r.failed, e->n);
    else if (r.write_fail)
        code = 1;
    if (!code)
        code = cli_experiment_results(e);
    for (size_t i = 0; i < 2 * e->n; i++)
        free(r.path[i]);
    free(r.path);
    free(r.job);
    return code;
}
