/* SPDX-License-Identifier: MIT
 * A fine-tuning method: the data it reads, the loss its batches minimize, and the layer it trains after the pooling. A
 * method is a constant aoei_method in a file method_NAME.c, which methods.def lists. The losses are in src/loss.
 * docs/methods.md explains how to add a method, and docs/objectives.md contains the formulas.
 */
#pragma once

#include <jansson.h>

#include "aoe_objective.h"
#include "aoe_train.h"
#include "table/examples.h"
#include "train/batch_plan.h"
#include "train/pair_step.h"

enum { AOEI_MAX_LABELS = 10000 /* maximum number of classes of a classifier */ };

/* Bit of a kind of examples in aoei_method.kinds, for example AOEI_KIND(PAIRS). */
#define AOEI_KIND(kind) (1u << AOE_EXAMPLES_##kind)

/* The loss that the batches of one file minimize. */
typedef struct aoei_file_loss {
    int has_labels;     /* 1: the examples are labeled pairs, and the loss uses their labels */
    size_t copies;      /* number of times that a text is encoded in a step (aoei_method_copies) */
    double label_scale; /* divisor of the labels, positive. For regression, it is the label that represents a cosine of
                           1; otherwise, it is 1 */
    double threshold;   /* threshold of positive pairs; NaN if the method needs none */
    aoe_objective_options objective; /* weights and temperatures of the objectives for this file */
} aoei_file_loss;

/* Group of methods in the help, by the data that they usually read. */
typedef enum aoei_method_group {
    AOEI_METHODS_LABELS,    /* labeled pairs */
    AOEI_METHODS_CLASSES,   /* labeled pairs whose labels are classes */
    AOEI_METHODS_POSITIVES, /* positives and triplets */
    AOEI_METHODS_TEXTS      /* plain texts */
} aoei_method_group;

/* A run, as the functions of the state of its method see it. All pointers are borrowed, except `state`. */
typedef struct aoei_method_run {
    const aoe_train_options *o;
    const aoe_model *model;      /* model to train, with the layers of the method */
    const aoei_source *sources;  /* [o->n_data] examples of each file */
    const aoei_batches *batches; /* batches of the current epoch */
    size_t arity;                /* maximum number of texts in an example */
    size_t pairs;                /* number of pairs that an example becomes in a batch (aoei_method.pairs) */
    size_t longest;              /* maximum number of tokens in a text */
    aoei_pair_step *step;        /* step whose buffer contains the batch */
    double *labels;              /* [maximum number of pairs in a batch] labels of the batch */
    void *state;                 /* state of the method, which `destroy` frees; NULL: none */
} aoei_method_run;

/* Functions of the state that a method has in a run, such as a model that is not trained. They are called in this
 * order; each of them may be NULL, except `destroy`. */
typedef struct aoei_method_state {
    /* Creates r->state. The memory plan of a run also calls this function, without files; r->longest is set. */
    int (*create)(aoei_method_run *r, aoe_error *err);
    /* Opens other models and checks the texts of all files. */
    int (*load)(aoei_method_run *r, aoe_error *err);
    /* Adds what affects the trained model to the training record. Returns a nonzero value if out of memory. */
    int (*describe)(const aoei_method_run *r, json_t *record);
    /* Changes the sizes of the step, which are those of the texts of the files. */
    void (*measure)(const aoei_method_run *r, aoei_pair_step_options *sizes);
    /* Allocates memory for batches of these sizes. */
    int (*lay_out)(aoei_method_run *r, const aoei_pair_step_options *sizes, aoe_error *err);
    /* Begins a step. The state may depend only on the options and on the number of the step. */
    void (*begin_step)(aoei_method_run *r, uint64_t step);
    /* Fills the buffer of the step with a batch, and sets its labels. text: number of the first text of this batch in
     * the step. Returns the number of the first text of the next batch. NULL: the buffer contains the texts of the
     * examples, each as often as aoei_file_loss.copies says. */
    size_t (*fill)(aoei_method_run *r, const aoei_planned_batch *batch, uint64_t step, size_t text);
    /* Changes the text that was added to the buffer last. copy: index of the text among its copies; not called if the
     * state has `fill`. */
    void (*change_text)(aoei_method_run *r, size_t copy);
    void (*destroy)(void *state);
} aoei_method_state;

/* Options of all methods that a method does not support: the reason, which follows the name of the method in the
 * message. NULL: the method supports the option. */
typedef struct aoei_unsupported_options {
    const char *distillation; /* options.teachers, if options.w_teacher is above 0 */
    const char *matryoshka;   /* options.matryoshka */
    const char *layers;       /* options.layers.adaptive and options.layers.ese */
    const char *lora;         /* options.lora.r */
} aoei_unsupported_options;

typedef struct aoei_method {
    const char *name;                /* name of the method in options and messages */
    aoei_method_group group;         /* group of the method in the help */
    const char *about;               /* short description with the source, at most 72 characters, for the help */
    unsigned kinds;                  /* kinds of examples that the method supports, a combination of AOEI_KIND bits */
    int positives_only;              /* 1: in labeled data, only positive pairs are used */
    const char *supported;           /* description of the supported data for messages */
    const aoei_step_loss *step_loss; /* loss that the batches minimize */
    size_t copies;    /* number of times that a text is encoded in a step; 0: 2 for plain texts, 1 for other examples */
    const char *head; /* name of the training head in the training record; NULL: "classifier" */
    const char *second_encoder; /* name of the second encoder in the training record; NULL: there is none */
    const char *dropped;        /* name of another part that the saved model does not contain; NULL: none */
    const char *kept;           /* name of another part that the saved model contains; NULL: none */
    int cross_encoder;          /* 1: the method trains a cross-encoder, whose examples are joined text pairs */
    int subtracts_empty_prompt; /* 1: the method trains models that subtract the embedding of their empty prompt */
    aoe_pooling words; /* AOE_POOLING_AUTO: the whole model is trained; otherwise, only its word embeddings are used,
                          with this pooling (model/word_table.h) */
    int maps_vectors; /* 1: a linear map of the embeddings is trained if the options require it (train/teacher_map.h) */
    const char *needs_teacher; /* model that the method requires in options.teachers, for messages: "a guide that ...";
                                  NULL: the method requires no teacher */
    aoei_unsupported_options unsupported; /* options that the method does not support */
    int scales_labels;                    /* 1: the loss uses labels divided by aoei_file_loss.label_scale */
    /* Sets the options whose defaults differ from those of aoe_train_options_defaults. NULL: there are none. */
    void (*defaults)(aoe_train_options *o);
    /* Checks the options. NULL: there is nothing to check. Errors: AOE_EARG. */
    int (*check)(const aoe_train_options *o, aoe_error *err);
    /* Checks the options against the model, before the memory for training is allocated. has_dropout: 1 if a dropout
     * probability is above 0. NULL: there is nothing to check. Errors: AOE_EARG. */
    int (*check_model)(const aoe_train_options *o, const aoe_model *m, int has_dropout, aoe_error *err);
    /* Reads the examples of a file. table: options of the table, without empty texts. NULL: aoei_examples_load. The
     * caller frees *e, even if this function fails. */
    int (*load)(aoei_examples *e, const aoe_train_options *o, const aoe_train_data *file,
                const aoe_table_options *table, aoe_error *err);
    /* Sets the weights of the objectives for a kind of examples. j: initially the weights of the options. NULL: the
     * weights of the options are used. */
    void (*weights)(aoe_objective_options *j, aoe_example_kind kind);
    /* Sets the fields of *file_loss for a file and checks its labels. d: examples of the file. Errors: AOE_EARG,
     * AOE_EFORMAT. NULL: there is nothing to set. */
    int (*file_loss)(aoei_file_loss *file_loss, const aoe_train_options *o, const aoe_train_data *file,
                     const aoei_dataset *d, aoe_error *err);
    /* Returns the number of pairs that an example becomes in a batch: itself and the random pairs that are added to it.
     * NULL: 1. */
    size_t (*pairs)(const aoe_train_options *o);
    /* Adds a layer to the model. highest: highest label of all training files. NULL: no layer is added. */
    int (*layer)(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err);
    const aoei_method_state *state; /* functions of the state of a run; NULL: the method has no state */
} aoei_method;

/* Returns the name of a kind of examples in messages, such as "labeled pairs". */
const char *aoei_kind_name(aoe_example_kind kind);
/* Returns 1 if the options contain a teacher, and the weight of the distillation loss is above 0. */
int aoei_has_distillation(const aoe_train_options *o);
/* Returns 1 if a dropout probability of the run is above 0. c: model configuration. */
int aoei_has_dropout(const aoe_training_args *o, const aoei_encoder_config *c);
/* Checks that no file has a kind of examples or a label map, because the method reads the texts of any file. */
int aoei_check_plain_texts(const aoe_train_options *o, aoe_error *err);
/* Reads all texts of a file. Corresponds to aoei_method.load. */
int aoei_load_texts(aoei_examples *e, const aoe_train_options *o, const aoe_train_data *file,
                    const aoe_table_options *table, aoe_error *err);
/* Reads labeled pairs whose labels are classes. The label "neutral" becomes class 2, unless the label map assigns
 * another value to it. Corresponds to aoei_method.load. */
int aoei_load_classes(aoei_examples *e, const aoe_train_options *o, const aoe_train_data *file,
                      const aoe_table_options *table, aoe_error *err);
/* Keeps the positive pairs of labeled pairs: those whose label is at least the threshold of the file. *threshold
 * receives the threshold. Errors: AOE_EARG if no label reaches it. */
int aoei_keep_positives(aoei_examples *e, double *threshold, const aoe_objective_options *j, const aoe_train_data *file,
                        aoe_error *err);
/* Sets the weights of the contrastive loss alone: 1 for in-batch negatives, and for triplets also the negatives of the
 * triplets. Corresponds to aoei_method.weights. */
void aoei_contrastive_weights(aoe_objective_options *j, aoe_example_kind kind);
/* Sets the objective of labels, the loss of most methods: checks that an objective for the examples has a positive
 * weight, and sets the threshold of positive pairs. Corresponds to aoei_method.file_loss. */
int aoei_label_loss(aoei_file_loss *file_loss, const aoe_train_options *o, const aoe_train_data *file,
                    const aoei_dataset *d, aoe_error *err);
/* Checks options.features, the features of a classifier. Errors: AOE_EARG. */
int aoei_check_features(const aoe_train_options *o, aoe_error *err);
/* Returns the number of classes: options.classes, or the number of classes up to the label `highest`. */
size_t aoei_class_count(const aoe_train_options *o, double highest);
/* Adds a classifier of the features options.features. Corresponds to aoei_method.layer. */
int aoei_add_classifier(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err);
/* Checks the options of a method that uses only word embeddings, with this pooling. name: name of the method. Errors:
 * AOE_EARG.
 */
int aoei_check_words(const aoe_train_options *o, const char *name, aoe_pooling pooling, aoe_error *err);
/* Adds a classifier of three linear layers of the features options.features (train/linear_classifier.h), with 512
 * outputs of the first two layers, as in InferSent. Arguments: see aoei_method.layer. */
int aoei_add_layered_classifier(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err);

#define AOEI_METHOD(id, name) extern const aoei_method aoei_method_##name;
#include "train/methods.def"
#undef AOEI_METHOD
