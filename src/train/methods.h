/* SPDX-License-Identifier: MIT
 * Implements the fine-tuning methods (aoe_method). The method of the run and the kind of examples in a file determine
 * three things: how the file is read, which objective its batches minimize, and which layer is trained after the
 * pooling. The objectives are in src/loss. docs/objectives.md contains a table of the methods.
 */
#pragma once

#include "train/method.h"

/* Sets *m to a method. Errors: AOE_EARG if there is no such method. */
int aoei_method_find(const aoei_method **m, aoe_method number, aoe_error *err);
/* Returns the number of times that a text of this kind of examples is encoded in a step. */
size_t aoei_method_copies(const aoei_method *m, aoe_example_kind kind);
/* Returns the number of texts that a step encodes per example, without the random pairs that are added. arity: number
 * of texts in an example of other kinds than plain texts. The two texts of a joined pair (cross-encoders) count as one
 * text. */
size_t aoei_method_texts(const aoei_method *m, size_t arity);
/* Returns the number of pairs that an example becomes in a batch: itself and the random pairs that are added to it. */
size_t aoei_method_pairs(const aoei_method *m, const aoe_train_options *o);
/* Returns 1 if the teacher embeddings are needed: the options contain a teacher, and the weight of the distillation
 * loss is above 0, or the method requires a teacher. */
int aoei_method_has_teacher(const aoei_method *m, const aoe_train_options *o);
/* Checks the options of methods and objectives. Errors: AOE_EARG. */
int aoei_method_check(const aoei_method *m, const aoe_train_options *o, aoe_error *err);
/* Returns the number of scores of a pair of the cross-encoder that the method trains, or 0 if it trains an embedding
 * model. */
size_t aoei_method_scores(const aoei_method *m, const aoe_train_options *o);
/* Returns 1 if the labels of the training data are classes. */
int aoei_method_has_classes(const aoei_method *m, const aoe_train_options *o);
/* Reads the examples of the file o->data[number] as the method requires, and checks labels that are classes. If the
 * method uses only positive pairs, other pairs are dropped and file_loss->threshold is set. The caller frees *e, even
 * if this function fails. */
int aoei_method_load(const aoei_method *m, aoei_examples *e, aoei_file_loss *file_loss, const aoe_train_options *o,
                     size_t number, aoe_error *err);
/* Sets the fields of *file_loss for the file o->data[number]. aoei_method_load must have initialized *file_loss. d:
 * examples of the file. Errors:
 * - AOE_EARG if the method does not support this kind of examples, no objective for it has a positive weight, no label
 *   reaches the threshold of positive pairs, or a label is above options.label_max
 * - AOE_EFORMAT if the labels are unusable, for example if all labels are equal. Classes may be equal; they are checked
 *   over all files (train/class_counts.h) */
int aoei_method_loss(const aoei_method *m, aoei_file_loss *file_loss, const aoe_train_options *o, size_t number,
                     const aoei_dataset *d, aoe_error *err);
