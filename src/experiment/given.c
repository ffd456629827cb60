/* SPDX-License-Identifier: MIT
 * Copies the options of an experiment.
 */
#include "experiment/given.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"

AOEI_DEFAULTS(aoe_evaluation_file) {
    *o = (aoe_evaluation_file){.struct_size = sizeof *o};
    aoe_table_options_defaults(&o->table);
}

AOEI_DEFAULTS(aoe_configuration) {
    *o = (aoe_configuration){.struct_size = sizeof *o};
    aoe_train_options_defaults(&o->train);
}

/* Replaces the training files of *o by a copy and stores it in *memory. */
static int read_data(void **memory, aoe_train_options *o, const char *function, aoe_error *err) {
    aoe_train_data file;
    aoe_train_data_defaults(&file, NULL);
    const int code = aoei_options_array(memory, o->data, o->n_data, &file, &aoei_layout_aoe_train_data, function, err);
    o->data = *memory;
    return code;
}

int aoei_given_read(aoei_given *g, const aoe_experiment_options *o, const char *function, aoe_error *err) {
    const size_t n = o->configurations ? o->n_configurations : 0;
    aoe_configuration configuration;
    aoe_evaluation_file file;
    aoe_configuration_defaults(&configuration);
    aoe_evaluation_file_defaults(&file);
    *g = (aoei_given){.o = *o, .data = aoei_calloc(n + 1, sizeof *g->data)};
    int code = g->data ? 0 : aoei_fail_nomem(err, n * sizeof *g->data);
    if (!code)
        code = aoei_options_array(&g->configurations, o->configurations, n, &configuration,
                                  &aoei_layout_aoe_configuration, function, err);
    if (!code)
        code = aoei_options_array(&g->shared, o->shared, o->shared != NULL, &configuration.train,
                                  &aoei_layout_aoe_train_options, function, err);
    if (!code)
        code =
            aoei_options_array(&g->dev, o->dev, o->dev != NULL, &file, &aoei_layout_aoe_evaluation_file, function, err);
    if (!code)
        code =
            aoei_options_array(&g->files, o->files, o->n_files, &file, &aoei_layout_aoe_evaluation_file, function, err);
    for (size_t i = 0; i < n && !code; i++)
        code = read_data(&g->data[i], &((aoe_configuration *)g->configurations)[i].train, function, err);
    if (!code && g->shared)
        code = read_data(&g->data[n], g->shared, function, err);
    g->o.configurations = g->configurations;
    g->o.n_configurations = n;
    g->o.shared = g->shared;
    g->o.dev = g->dev;
    g->o.files = g->files;
    return code;
}

void aoei_given_free(aoei_given *g) {
    for (size_t i = 0; g->data && i <= g->o.n_configurations; i++)
        aoei_free(g->data[i]);
    aoei_free(g->data);
    aoei_free(g->configurations);
    aoei_free(g->shared);
    aoei_free(g->dev);
    aoei_free(g->files);
}
