/* SPDX-License-Identifier: MIT
 * Implements views. Each copy has its own stream of random numbers (base/random.h), whose key depends on the seed and
 * the step and whose substream is the index of the copy in the step.
 */
#include "train/views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "encoder/arch.h"
#include "encoder/transformer.h"
#include "options/view_option.h"

int aoei_view_is_plain(const aoe_view *view) {
    return view->kind == AOE_VIEW_PLAIN;
}

static int check_view(const aoe_view *v, aoe_error *err) {
    if ((size_t)v->kind > AOE_VIEW_TOKEN_CUT)
        return aoei_fail(err, AOE_EARG, "options.views: view %d is unknown; use a value of aoe_view_kind",
                         (int)v->kind);
    if (aoei_view_has_rate(v) && !(v->rate > 0 && v->rate < 1))
        return aoei_fail(err, AOE_EARG, "options.views: the rate of %s is %g; give a number between 0 and 1",
                         aoei_view_names[v->kind], v->rate);
    return AOE_OK;
}

int aoei_views_check(const aoe_view *views, aoe_error *err) {
    int code = AOE_OK;
    for (size_t i = 0; i < AOE_VIEWS && !code; i++)
        code = check_view(&views[i], err);
    return code;
}

int aoei_views_check_model(const aoe_view *views, const aoei_encoder_config *c, const char *name, aoe_error *err) {
    const int has_positions = c->rope.theta > 0 || (c->positions && !c->alibi && !c->no_position_table);
    for (size_t i = 0; i < AOE_VIEWS; i++) {
        if (aoei_view_is_plain(&views[i]))
            continue;
        if (c->arch->encoder != &aoei_transformer_ops)
            return aoei_fail(
                err, AOE_EARG,
                "%s: a %s model has no embedding layer whose output %s could change; use a transformer, or set "
                "options.views to views that change nothing",
                name, c->arch->model_type, aoei_view_names[views[i].kind]);
        if (views[i].kind == AOE_VIEW_SHUFFLE && !has_positions)
            return aoei_fail(
                err, AOE_EARG,
                "%s: %s has neither position embeddings nor rotary positions, so shuffle changes nothing; choose "
                "another view in options.views",
                name, c->arch->model_type);
    }
    return AOE_OK;
}

int aoei_views_create(aoei_views *v, const aoei_encoder_config *c, size_t max_texts, size_t max_tokens, size_t longest,
                      aoe_error *err) {
    const size_t columns = aoei_embed_width(c), order = columns > longest ? columns : longest;
    size_t cells = 0;
    memset(v, 0, sizeof *v);
    v->columns = columns;
    v->capacity =
        aoei_mul_size(max_texts, columns, &cells) || cells > SIZE_MAX - max_tokens ? SIZE_MAX : cells + max_tokens;
    v->cutoffs = aoei_malloc_array(max_texts, sizeof *v->cutoffs);
    v->index = aoei_malloc_array(v->capacity, sizeof *v->index);
    v->order = aoei_malloc_array(order, sizeof *v->order);
    if (v->cutoffs && v->index && v->order)
        return AOE_OK;
    aoei_views_destroy(v);
    return aoei_fail_nomem(err, max_texts * columns * sizeof *v->index);
}

void aoei_views_destroy(aoei_views *v) {
    aoei_free(v->cutoffs);
    aoei_free(v->index);
    aoei_free(v->order);
    memset(v, 0, sizeof *v);
}

void aoei_views_begin_step(aoei_views *v, uint64_t seed, uint64_t step) {
    uint32_t key[2];
    aoei_dropout_key(key, seed, step);
    v->seed = (uint64_t)key[1] << 32 | key[0];
}

/* Draws m different numbers below n and stores them in `to`. */
static void draw(aoei_views *v, aoei_rng *rng, uint32_t *to, size_t m, size_t n) {
    for (size_t i = 0; i < n; i++)
        v->order[i] = i;
    for (size_t i = 0; i < m; i++) {
        const size_t k = i + aoei_rng_below(rng, (uint32_t)(n - i));
        to[i] = (uint32_t)v->order[k];
        v->order[k] = v->order[i];
    }
}

void aoei_views_apply(aoei_views *v, const aoe_view *view, aoei_batch_buffer *b) {
    const size_t text = b->batch.n_texts - 1, first = b->offsets[text], n = b->offsets[text + 1] - first;
    aoei_rng rng;
    if (text == 0)
        v->used = 0;
    v->cutoffs[text] = (aoei_cutoff){0};
    if (aoei_view_is_plain(view))
        return;
    aoei_rng_init(&rng, v->seed, AOEI_STREAM_VIEW, b->text_index[text]);
    if (view->kind == AOE_VIEW_SHUFFLE) {
        draw(v, &rng, b->positions + first, n, n);
        return;
    }
    const size_t of = view->kind == AOE_VIEW_TOKEN_CUT ? n : v->columns, count = (size_t)floor((double)of * view->rate);
    v->cutoffs[text] =
        (aoei_cutoff){.n = count, .tokens = view->kind == AOE_VIEW_TOKEN_CUT, .index = v->index + v->used};
    draw(v, &rng, v->index + v->used, count, of);
    v->used += count;
    b->batch.cutoffs = v->cutoffs;
}
