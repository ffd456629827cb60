/* SPDX-License-Identifier: MIT
 * covers: eval/trec_run
 * Fuzzes the data of retrieval evaluations. The first byte of the input selects a file: one of a BEIR folder, a run
 * file of TREC, or a table of groups, and whether bad rows are skipped. The remaining bytes are its contents; the other
 * files are valid. If the data are accepted, every index must be valid and the gains of a query must be positive and in
 * descending order. A run file that is accepted must not change when it is written and read again.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "eval/retrieval_data.h"
#include "eval/trec_run.h"

static const struct {
    const char *name, *valid;
} files[] = {{"corpus.jsonl",
              "{\"_id\": \"d1\", \"title\": \"t\", \"text\": \"x\"}\n{\"_id\": \"d2\", \"text\": \"y\"}\n"
              "{\"_id\": \"q1\", \"text\": \"z\"}\n"},
             {"queries.jsonl", "{\"_id\": \"q1\", \"text\": \"x\"}\n{\"_id\": \"q2\", \"text\": \"y\"}\n"},
             {"qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t2\nq2\td2\t1\nq2\td9\t1\n"},
             {"run.trec", "q1 Q0 d1 1 0.5 a\nq1 Q0 d2 2 0.25 a\nq2 Q0 d1 1 3 a\n"},
             {"groups.tsv", "group\ttext\na\tx\na\ty\nb\tz\nb\tw\n"}};
enum { N_FILES = sizeof files / sizeof *files, RUN = 3, GROUPS = 4, TOP = 3 };
const size_t fuzz_mutations = 5000;

static char *dir;

static void require(int condition) {
    if (!condition)
        abort();
}

static void check_data(const aoei_retrieval_data *d) {
    require(d->n_queries > 0);
    for (size_t i = 0; i < d->n_queries; i++) {
        const aoei_query *q = &d->query[i];
        require(q->first <= d->n_relevant && q->n <= d->n_relevant - q->first);
        require(q->own == AOEI_NO_TEXT || q->own < d->texts.n);
        require(q->index < (d->grouped ? d->texts.n : d->queries.n));
        (void)aoei_retrieval_query(d, i);
        for (size_t k = 0; k < q->n; k++) {
            const aoei_relevant *r = &d->relevant[q->first + k];
            require((r->text < d->texts.n || r->text == AOEI_NO_TEXT) && isfinite(r->gain) && r->gain > 0);
            require(k == 0 || r[-1].gain >= r->gain);
        }
    }
}

/* Reads the run file `name`. Returns [n_queries, TOP] indices, or NULL if the file is invalid. */
static uint32_t *read_run(const aoei_retrieval_data *d, const char *name, int skip) {
    uint32_t *text = malloc(d->n_queries * TOP * sizeof *text);
    char *path = test_path(dir, name);
    size_t skipped = 0;
    aoe_error err = {0};
    require(text != NULL);
    const int rc = aoei_trec_run_read(text, d, TOP, path, skip, &skipped, &err);
    require(!rc || (err.code == rc && err.message[0]));
    free(path);
    for (size_t i = 0; !rc && i < d->n_queries * TOP; i++)
        require(text[i] < d->texts.n || text[i] == AOEI_NO_TEXT);
    if (rc) {
        free(text);
        return NULL;
    }
    return text;
}

/* Writes the run and reads it again. Ids with white space cannot be written. */
static void check_round_trip(const aoei_retrieval_data *d, const uint32_t *text) {
    aoei_buffer b = {0};
    int rc = 0;
    for (size_t i = 0; i < d->n_queries * TOP && !rc; i++)
        if (text[i] != AOEI_NO_TEXT)
            rc = aoei_trec_run_append(&b, d, i / TOP, text[i], i % TOP + 1, -(double)(i % TOP) / 3, NULL);
    if (!rc && b.len) {
        free(test_write(dir, "again.trec", b.data, b.len));
        uint32_t *again = read_run(d, "again.trec", 0);
        require(again && !memcmp(again, text, d->n_queries * TOP * sizeof *text));
        free(again);
    }
    aoei_buffer_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size)
        return 0;
    const size_t file = data[0] % N_FILES;
    aoe_retrieval_options o;
    aoei_retrieval_data d = {0};
    aoe_error err = {0};
    free(test_write(dir, files[file].name, data + 1, size - 1));
    aoe_retrieval_options_defaults(&o);
    o.table.skip_bad_rows = data[0] / N_FILES % 2;
    char *path = file == GROUPS ? test_path(dir, files[file].name) : strdup(dir);
    const int rc = aoei_retrieval_read(&d, (const char *const[]){path}, 1, 0, &o, &err);
    require(!rc || (err.code == rc && err.message[0]));
    if (!rc) {
        check_data(&d);
        uint32_t *run = d.grouped ? NULL : read_run(&d, files[RUN].name, o.table.skip_bad_rows);
        if (run)
            check_round_trip(&d, run);
        free(run);
    }
    aoei_retrieval_free(&d);
    free(test_write_text(dir, files[file].name, files[file].valid));
    free(path);
    return 0;
}

static void clean_up(void) {
    test_dir_remove(dir);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    test_use_memory();
    dir = test_dir_create();
    char *qrels = test_path(dir, "qrels");
    require(!mkdir(qrels, 0700));
    free(qrels);
    for (size_t i = 0; i < N_FILES; i++)
        free(test_write_text(dir, files[i].name, files[i].valid));
    atexit(clean_up);
    return 0;
}
