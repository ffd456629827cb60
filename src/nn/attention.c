/* SPDX-License-Identifier: MIT
 * Scaled dot-product attention (Vaswani et al. 2017) of packed texts. A task computes one text (in the forward pass, up
 * to CHUNK queries of the text) and one key-value head, with all query heads that share this key-value head. It
 * processes a block of ROWS queries at a time. The scratch memory of a task therefore contains the probabilities of
 * ROWS queries only. The backward pass recomputes the probabilities. In bf16, the operands of matmuls are bf16. Scores,
 * probabilities and their gradients are float32; they are rounded to bf16 when they become operands of a matmul. dk and
 * dv are summed in float32. Every element of dk and dv is a sum over query heads and queries. The terms are added in
 * ascending order of the query heads and, for each head, in ascending order of the queries. The result of a text does
 * not depend on other texts. With a causal mask or a window, the softmax of a query reads only the keys that the query
 * attends to. Keys to which no query of a block attends are skipped in groups of EDGE keys.
 */
#include "nn/attention.h"

#include <assert.h>
#include <string.h>

#include "kernels/kernel_table.h"
#include "nn/score_bias.h"

enum {
    ROWS = 64,   /* number of queries that a task processes at a time (a block) */
    CHUNK = 512, /* queries per forward task; longer texts are split into several tasks */
    /* The index of the first key that a block of queries reads is rounded down to a multiple of EDGE, because panels of
     * packed keys, and groups of 64 dropout masks, start at multiples of EDGE. */
    EDGE = 64
};

_Static_assert(EDGE % AOEI_GEMM_PANEL == 0 && EDGE % 64 == 0,
               "EDGE must be a multiple of the panel width and of the mask group");

typedef struct attention_job {
    const aoe_context *ctx;
    const aoei_attention *a;
    const aoei_batch *batch; /* packed texts; a token attends only to tokens of its own text. NULL: the job computes
                                `spans` */
    const aoei_attention_span *spans;      /* [n_spans] spans to compute if batch is NULL */
    size_t n_spans, max_queries, max_keys; /* number of spans; maximum number of queries in a span; maximum number of
                                              keys in a span. For a batch, both maxima are batch->longest */
    aoei_dtype type;                       /* type of all tensors */
    /* [tokens, columns] inputs and output; in the backward pass, out is dout, the gradient of the output */
    aoei_tensor q, k, v, out;
    aoei_tensor dq, dk, dv; /* gradients of q, k and v; used in the backward pass only */
    unsigned char *scratch; /* [threads, worker_scratch] bytes */
    size_t chunks; /* number of forward tasks per key-value head and text, computed from the maximum sequence length */
} attention_job;

/* State of a task: the rows of the span and the columns of the head that the task computes, and the scratch memory of
 * the worker that runs the task. */
typedef struct head_work {
    const attention_job *job;
    size_t first, T;         /* the queries of the span are rows [first, first + T) of q and out */
    size_t k_first, keys;    /* the keys of the span are rows [k_first, k_first + keys) of k and v */
    uint32_t position;       /* position in the text of the first query of the span, which selects dropout masks */
    size_t q_col, k_col;     /* first column of the query head in q and out; first column of the key-value head in k and
                                v */
    aoei_dropout_row drop;   /* dropout parameters of the current query; counter[1] is the position of the query */
    float *p, *dropped, *ds; /* [ROWS, ld] each: probabilities; probabilities after dropout; gradients of the scores */
    size_t ld;               /* row stride of p, dropped, ds and operand: the number of keys, rounded up to 32 */
    float *diagonals;  /* [2 keys - 1] sums of ds for each distance of key and query; used if there are gradients of
                          biases */
    const float *bias; /* bias of the current query head for distance 0; the biases of other distances are at their
                          distance from this element; NULL: there are no biases */
    size_t row, n_rows, row_ld; /* relative positions of the text: first row; number of rows; n_rows rounded up to 16 */
    /* c2p [ROWS, row_ld]: products of queries and the keys of the rows; p2c [n_rows, ld]: products of the queries of
     * the rows and keys; dc2p and dp2c: their gradients */
    float *c2p, *p2c, *dc2p, *dp2c;
    float *dq;                 /* [ROWS, d] gradients of queries, used with relative positions */
    aoei_bf16 *row_operand;    /* [n_rows, ld] or [ROWS, row_ld] gradients, rounded to bf16 for a matmul */
    aoei_bf16 *operand;        /* [ROWS, ld] copy of p, dropped or ds, rounded to bf16 for a matmul */
    float *dk, *dv;            /* [keys, d] each: float32 sums of dk and dv, used if the tensors dk and dv are bf16 */
    void *packed_k, *packed_v; /* packed right-hand sides of matmuls: k^T [d, keys]; v [keys, d] in the forward pass and
                                  v^T [d, keys] in the backward pass */
    float *gemm_scratch;       /* scratch memory of matmul kernels */
} head_work;

/* Sizes in bytes of the buffers that one worker thread uses. */
typedef struct scratch_sizes {
    /* Sizes of each buffer. block: p, dropped and ds. operand: operand. sums: dk and dv. packed: packed_k and packed_v.
     * diagonals: diagonals. */
    size_t block, operand, sums, packed, diagonals;
    size_t c2p, p2c, dq, row_operand; /* c2p and dc2p; p2c and dp2c; dq; row_operand */
    size_t total;                     /* size of all buffers together */
} scratch_sizes;

static size_t round16(size_t n) {
    return (n + 15) / 16 * 16;
}

static size_t round32(size_t n) {
    return (n + 31) / 32 * 32;
}

static size_t round64(size_t n) {
    return (n + 63) / 64 * 64;
}

/* Returns the size of packed_k and of packed_v, each of which contains keys or values packed as [d, T] or as [T, d]. */
static size_t packed_bytes(aoei_gemm_packed_size_fn *size, size_t d, size_t T) {
    const size_t transposed = size(d, T), direct = size(T, d);
    return round64(transposed > direct ? transposed : direct);
}

static scratch_sizes sizes_of(const aoe_context *ctx, const aoei_attention *a, aoei_dtype type, size_t queries,
                              size_t T) {
    /* a padded operand of a matmul has whole groups of 16 rows (aoei_gemm_args.a_padded) */
    const size_t cells = (queries < ROWS ? round16(queries) : ROWS) * round32(T);
    const aoei_kernels *k = aoei_kernels_of(ctx);
    scratch_sizes s = {.block = cells * sizeof(float)};
    if (type == AOEI_BF16) {
        s.operand = round64(cells * sizeof(aoei_bf16));
        s.sums = round64(T * a->head_dim * sizeof(float));
        s.packed = packed_bytes(k->gemm_bf16_packed_size, a->head_dim, T);
    } else {
        s.packed = packed_bytes(k->gemm_f32_packed_size, a->head_dim, T);
    }
    s.diagonals = a->bias.values.rows ? round64(2 * T * sizeof(float)) : 0;
    if (a->relative.span) {
        const size_t most = 2 * a->relative.span; /* adjacent distances may have rows that are not adjacent */
        s.c2p = round64((queries < ROWS ? queries : ROWS) * round16(most) * sizeof(float));
        s.p2c = round64(most * round32(T) * sizeof(float));
        s.dq = round64(ROWS * a->head_dim * sizeof(float));
        s.row_operand = type == AOEI_BF16 ? (s.c2p > s.p2c ? s.c2p : s.p2c) : 0;
    }
    s.total = 3 * s.block + s.operand + 2 * s.sums + 2 * s.packed + s.diagonals + 2 * s.c2p + 2 * s.p2c + s.dq +
              s.row_operand;
    return s;
}

size_t aoei_attention_spans_scratch(const aoe_context *ctx, const aoei_attention *a, aoei_dtype type, size_t queries,
                                    size_t keys) {
    return aoei_pool_threads(ctx->pool) * sizes_of(ctx, a, type, queries, keys).total;
}

size_t aoei_attention_scratch(const aoe_context *ctx, const aoei_attention *a, aoei_dtype type, size_t longest) {
    return aoei_attention_spans_scratch(ctx, a, type, longest, longest);
}

/* Returns span i of the job. If the job has a batch, returns text i of the batch as a span. */
static aoei_attention_span span_at(const attention_job *j, size_t i) {
    if (j->spans)
        return j->spans[i];
    const aoei_batch *b = j->batch;
    const uint32_t first = b->offsets[i], T = b->offsets[i + 1] - first;
    return (aoei_attention_span){first, T, first, T, b->text_index ? b->text_index[i] : (uint32_t)i, 0};
}

/* Makes the job compute the attention within each text of a batch. */
static void take_batch(attention_job *j, const aoei_batch *b) {
    j->batch = b;
    j->n_spans = b->n_texts;
    j->max_queries = j->max_keys = b->longest;
}

/* Makes the job compute spans[n]. */
static void take_spans(attention_job *j, const aoei_attention_span *spans, size_t n) {
    j->spans = spans;
    j->n_spans = n;
    for (size_t i = 0; i < n; i++) {
        j->max_queries = spans[i].q_rows > j->max_queries ? spans[i].q_rows : j->max_queries;
        j->max_keys = spans[i].k_rows > j->max_keys ? spans[i].k_rows : j->max_keys;
    }
}

static void multiply(const head_work *w, aoei_gemm_args g) {
    const aoei_kernels *k = aoei_kernels_of(w->job->ctx);
    (w->job->type == AOEI_BF16 ? k->gemm_bf16 : k->gemm_f32)(&g, w->gemm_scratch);
}

/* Sets the members of *w for relative positions. memory: their buffers. */
static void start_relative(head_work *w, const scratch_sizes *size, unsigned char *memory) {
    const aoei_disentangled *rel = &w->job->a->relative;
    w->row = rel->rows[rel->longest - w->T];
    w->n_rows = rel->rows[rel->longest + w->T - 2] - w->row + 1;
    w->row_ld = round16(w->n_rows);
    w->c2p = (void *)memory;
    w->dc2p = (void *)(memory + size->c2p);
    memory += 2 * size->c2p;
    w->p2c = (void *)memory;
    w->dp2c = (void *)(memory + size->p2c);
    memory += 2 * size->p2c;
    w->dq = (void *)memory;
    w->row_operand = (void *)(memory + size->dq);
}

/* Initializes *w for span `text` of the job, which is text `text` of the batch if the job has a batch. Sets the rows of
 * the span, its dropout parameters and the buffers of worker `worker`. */
static void start_text(head_work *w, const attention_job *j, size_t text, size_t worker) {
    const aoei_attention_span span = span_at(j, text);
    memset(w, 0, sizeof *w);
    w->job = j;
    w->first = span.q_first;
    w->T = span.q_rows;
    w->k_first = span.k_first;
    w->keys = span.k_rows;
    w->position = span.position;
    w->ld = round32(w->keys);
    w->drop = (aoei_dropout_row){
        .key = {j->a->drop.key[0], j->a->drop.key[1]},
        .counter = {0, 0, span.text, 0},
        .threshold = (uint32_t)(j->a->drop.p * 4294967296.0),
        .scale = (float)(1.0 / (1.0 - j->a->drop.p)),
    };
    const scratch_sizes size = sizes_of(j->ctx, j->a, j->type, j->max_queries, j->max_keys);
    unsigned char *s = j->scratch + worker * size.total;
    w->p = (void *)s;
    w->dropped = (void *)(s + size.block);
    w->ds = (void *)(s + 2 * size.block);
    s += 3 * size.block;
    w->operand = (void *)s;
    s += size.operand;
    w->dk = (void *)s;
    w->dv = (void *)(s + size.sums);
    s += 2 * size.sums;
    w->packed_k = s;
    w->packed_v = s + size.packed;
    w->diagonals = (void *)(s + 2 * size.packed);
    if (j->a->relative.span)
        start_relative(w, &size, s + 2 * size.packed + size.diagonals);
    w->gemm_scratch = aoei_worker_scratch(j->ctx, worker);
}

static void start_head(head_work *w, size_t head) {
    w->q_col = head * w->job->a->head_dim;
    w->drop.counter[3] = w->job->a->drop.site << 16 | (uint32_t)head;
    const aoei_score_bias *bias = &w->job->a->bias;
    w->bias = bias->values.rows ? aoei_tensor_at(bias->values, head, bias->values.cols / 2) : NULL;
}

/* Packs x^T [d, keys] for the keys of the span and the columns of the key-value head. */
static void pack_transposed(const head_work *w, void *packed, aoei_tensor x) {
    const aoei_kernels *k = aoei_kernels_of(w->job->ctx);
    (x.type == AOEI_BF16 ? k->gemm_bf16_pack : k->gemm_f32_pack)(packed, aoei_tensor_at(x, w->k_first, w->k_col),
                                                                 x.type, 1, x.ld, w->job->a->head_dim, 0, w->keys);
}

/* Packs v [keys, d] for the keys of the span and the columns of the key-value head, and returns the packed form. If
 * there is only one block of queries, or if blocks of queries attend to different keys, returns NULL: the matmul of
 * each block then packs the values that it needs. */
static const void *pack_values(const head_work *w, size_t queries) {
    const attention_job *j = w->job;
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    if (queries <= ROWS || j->a->causal || j->a->window)
        return NULL;
    (j->type == AOEI_BF16 ? k->gemm_bf16_pack : k->gemm_f32_pack)(
        w->packed_v, aoei_tensor_at(j->v, w->k_first, w->k_col), j->type, j->v.ld, 1, w->keys, 0, j->a->head_dim);
    return w->packed_v;
}

/* A range of keys, [begin, end). Keys are numbered from the first key of the span. */
typedef struct key_range {
    size_t begin, end; /* first key of the range; key after the last key of the range */
} key_range;

/* Returns the range of the keys that a query attends to. */
static key_range row_keys(const head_work *w, size_t query) {
    const size_t window = w->job->a->window;
    key_range k = {0, w->job->a->causal ? query + 1 : w->keys};
    if (window && window < k.end - query)
        k.end = query + window;
    if (window && window <= query)
        k.begin = query - window + 1;
    return k;
}

/* Returns the range of the keys to which any of the queries [q0, q0 + rows) attends. The start of the range is rounded
 * down to a multiple of EDGE. */
static key_range block_keys(const head_work *w, size_t q0, size_t rows) {
    return (key_range){row_keys(w, q0).begin / EDGE * EDGE, row_keys(w, q0 + rows - 1).end};
}

/* Returns columns [keys.begin, keys.end) of x [rows, ld] as an operand of a matmul. If the tensors are float32, the
 * result is a pointer into x. If they are bf16, the function rounds the columns into w->operand, sets the following
 * elements of a group of 32 to 0, and returns a pointer to the columns, which are then padded as
 * aoei_gemm_args.a_padded describes. */
static const void *operand(const head_work *w, const float *x, size_t rows, key_range keys) {
    if (w->job->type == AOEI_F32)
        return x + keys.begin;
    for (size_t r = 0; r < rows; r++) {
        const size_t first = r * w->ld + keys.begin, n = keys.end - keys.begin;
        aoei_kernels_of(w->job->ctx)->to_bf16(w->operand + first, x + first, n);
        memset(w->operand + first + n, 0, (round32(n) - n) * sizeof *w->operand);
    }
    return w->operand + keys.begin;
}

/* packed is the packed form of all keys of the span. Returns a pointer to the part of it that starts at key `first`, a
 * multiple of EDGE. */
static const void *packed_from(const head_work *w, const void *packed, size_t first) {
    const aoei_kernels *k = aoei_kernels_of(w->job->ctx);
    const size_t bytes =
        (w->job->type == AOEI_BF16 ? k->gemm_bf16_packed_size : k->gemm_f32_packed_size)(w->job->a->head_dim, first);
    return (const unsigned char *)packed + bytes;
}

/* Computes y = dropout(x) for the rows of queries [q0, q0 + rows). In each row, dropout is applied to the columns from
 * keys.begin up to the last key that the query attends to. keys.begin must be a multiple of EDGE. y may be x. */
static void drop_block(head_work *w, float *y, const float *x, size_t q0, size_t rows, key_range keys) {
    w->drop.counter[0] = (uint32_t)(keys.begin / 64 * 16);
    for (size_t r = 0; r < rows; r++) {
        const size_t first = r * w->ld + keys.begin;
        w->drop.counter[1] = w->position + (uint32_t)(q0 + r);
        aoei_kernels_of(w->job->ctx)
            ->dropout_f32(y + first, x + first, NULL, &w->drop, row_keys(w, q0 + r).end - keys.begin);
    }
}

/* Sets each element of x to 0 if the query of its row does not attend to the key of its column. */
static void clear_masked(const head_work *w, float *x, size_t q0, size_t rows, key_range keys) {
    for (size_t r = 0; r < rows; r++) {
        const key_range attended = row_keys(w, q0 + r);
        float *row = x + r * w->ld;
        memset(row + keys.begin, 0, (attended.begin - keys.begin) * sizeof *row);
        memset(row + attended.end, 0, (keys.end - attended.end) * sizeof *row);
    }
}

/* Returns the biases of a query for the keys from `key` on. */
static const float *bias_from(const head_work *w, size_t query, size_t key) {
    return w->bias + ((ptrdiff_t)key - (ptrdiff_t)query);
}

/* Computes w->p2c for the current head. */
static void relative_queries(const head_work *w) {
    const aoei_attention *a = w->job->a;
    if (a->relative.queries.rows)
        multiply(w, (aoei_gemm_args){.M = w->n_rows,
                                     .N = w->keys,
                                     .K = a->head_dim,
                                     .a = aoei_tensor_at(a->relative.queries, w->row, w->q_col),
                                     .a_row = a->relative.queries.ld,
                                     .a_col = 1,
                                     .packed = w->packed_k,
                                     .c = w->p2c,
                                     .c_row = w->ld,
                                     .scale = (float)a->scale});
}

/* Returns the rows of the distances of a query, as a pointer to the row of key 0. The row of key j is at distance
 * -j. */
static const uint32_t *rows_of(const head_work *w, size_t query) {
    const aoei_disentangled *rel = &w->job->a->relative;
    return rel->rows + rel->longest - 1 + query;
}

/* Adds the products of relative positions to the scores w->p of queries [q0, q0 + rows). */
static void add_relative(const head_work *w, size_t q0, size_t rows) {
    const attention_job *j = w->job;
    const aoei_disentangled *rel = &j->a->relative;
    if (rel->keys.rows)
        multiply(w, (aoei_gemm_args){.M = rows,
                                     .N = w->n_rows,
                                     .K = j->a->head_dim,
                                     .a = aoei_tensor_at(j->q, w->first + q0, w->q_col),
                                     .a_row = j->q.ld,
                                     .a_col = 1,
                                     .b = aoei_tensor_at(rel->keys, w->row, w->k_col),
                                     .b_row = 1,
                                     .b_col = rel->keys.ld,
                                     .c = w->c2p,
                                     .c_row = w->row_ld,
                                     .scale = (float)j->a->scale});
    for (size_t r = 0; r < rows; r++) {
        const key_range attended = row_keys(w, q0 + r);
        const uint32_t *from = rows_of(w, q0 + r);
        float *p = w->p + r * w->ld, *c2p = w->c2p + r * w->row_ld;
        for (size_t k = attended.begin; k < attended.end && rel->keys.rows; k++)
            p[k] += c2p[*(from - k) - w->row];
        for (size_t k = attended.begin; k < attended.end && rel->queries.rows; k++)
            p[k] += w->p2c[(*(from - k) - w->row) * w->ld + k];
    }
}

/* Computes the scores w->p[rows, keys] = scale q k^T + bias for queries [q0, q0 + rows). */
static void scores(const head_work *w, size_t q0, size_t rows, key_range keys) {
    const attention_job *j = w->job;
    multiply(w, (aoei_gemm_args){.M = rows,
                                 .N = keys.end - keys.begin,
                                 .K = j->a->head_dim,
                                 .a = aoei_tensor_at(j->q, w->first + q0, w->q_col),
                                 .a_row = j->q.ld,
                                 .a_col = 1,
                                 .packed = packed_from(w, w->packed_k, keys.begin),
                                 .c = w->p + keys.begin,
                                 .c_row = w->ld,
                                 .scale = (float)j->a->scale});
    if (j->a->relative.span)
        add_relative(w, q0, rows);
    for (size_t r = 0; r < rows && w->bias; r++) {
        const key_range attended = row_keys(w, q0 + r);
        float *p = w->p + r * w->ld + attended.begin;
        aoei_kernels_of(j->ctx)->add_f32(p, p, bias_from(w, q0 + r, attended.begin), attended.end - attended.begin);
    }
}

/* Computes w->p[rows, keys] = softmax(scale q k^T + bias) for queries [q0, q0 + rows). */
static void probabilities(const head_work *w, size_t q0, size_t rows, key_range keys) {
    scores(w, q0, rows, keys);
    for (size_t r = 0; r < rows; r++) {
        const key_range attended = row_keys(w, q0 + r);
        float *p = w->p + r * w->ld + attended.begin;
        aoei_kernels_of(w->job->ctx)->softmax_f32(p, p, attended.end - attended.begin);
    }
    clear_masked(w, w->p, q0, rows, keys);
}

/* Does the same as `probabilities`, followed by `operand`, and returns the result of `operand`; probabilities less than
 * 2^-126 may be 0. The tensors must be bf16. The contents of w->p are undefined afterwards. */
static const void *rounded_probabilities(const head_work *w, size_t q0, size_t rows, key_range keys) {
    scores(w, q0, rows, keys);
    for (size_t r = 0; r < rows; r++) {
        const key_range attended = row_keys(w, q0 + r);
        const size_t padded = keys.begin + round32(keys.end - keys.begin);
        aoei_bf16 *to = w->operand + r * w->ld;
        memset(to + keys.begin, 0, (attended.begin - keys.begin) * sizeof *to);
        aoei_kernels_of(w->job->ctx)
            ->softmax_bf16(to + attended.begin, w->p + r * w->ld + attended.begin, attended.end - attended.begin);
        memset(to + attended.end, 0, (padded - attended.end) * sizeof *to);
    }
    return w->operand + keys.begin;
}

/* Computes the probabilities of queries [q0, q0 + rows), with dropout if there is any, and returns them as an operand
 * of a matmul, as `operand` does. */
static const void *attention_operand(head_work *w, size_t q0, size_t rows, key_range keys) {
    const int dropout = w->job->a->drop.p > 0;
    if (w->job->type == AOEI_BF16 && !dropout)
        return rounded_probabilities(w, q0, rows, keys);
    probabilities(w, q0, rows, keys);
    if (dropout)
        drop_block(w, w->p, w->p, q0, rows, keys);
    return operand(w, w->p, rows, keys);
}

/* Computes the outputs of up to CHUNK queries of a text, for the query heads that share one key-value head. */
static void forward_task(void *arg, size_t task, size_t worker) {
    const attention_job *j = arg;
    const aoei_attention *a = j->a;
    const size_t group = a->heads / a->kv_heads, kv_head = task / j->chunks % a->kv_heads;
    const size_t begin = task % j->chunks * CHUNK;
    head_work w;
    start_text(&w, j, task / j->chunks / a->kv_heads, worker);
    if (begin >= w.T)
        return;
    const size_t end = begin + CHUNK < w.T ? begin + CHUNK : w.T;
    w.k_col = kv_head * a->head_dim;
    pack_transposed(&w, w.packed_k, j->k);
    const void *values = pack_values(&w, end - begin);
    for (size_t head = kv_head * group; head < (kv_head + 1) * group; head++) {
        start_head(&w, head);
        relative_queries(&w);
        for (size_t q0 = begin; q0 < end; q0 += ROWS) {
            const size_t rows = end - q0 < ROWS ? end - q0 : ROWS;
            const key_range keys = block_keys(&w, q0, rows);
            const void *p = attention_operand(&w, q0, rows, keys);
            multiply(&w, (aoei_gemm_args){.M = rows,
                                          .N = a->head_dim,
                                          .K = keys.end - keys.begin,
                                          .a = p,
                                          .a_row = w.ld,
                                          .a_col = 1,
                                          .a_padded = j->type == AOEI_BF16,
                                          .packed = values,
                                          .b = aoei_tensor_at(j->v, w.k_first + keys.begin, w.k_col),
                                          .b_row = j->v.ld,
                                          .b_col = 1,
                                          .c = aoei_tensor_at(j->out, w.first + q0, w.q_col),
                                          .c_row = j->out.ld,
                                          .c_type = j->type,
                                          .scale = 1});
        }
    }
}

static void run_forward(attention_job *j) {
    j->chunks = (j->max_queries + CHUNK - 1) / CHUNK;
    aoei_parallel_for(j->ctx->pool, j->n_spans * j->a->kv_heads * j->chunks, forward_task, j);
}

void aoei_attention_forward(const aoe_context *ctx, aoei_tensor out, aoei_tensor q, aoei_tensor k, aoei_tensor v,
                            const aoei_batch *batch, const aoei_attention *a, aoei_tensor scratch) {
    attention_job j = {.ctx = ctx, .a = a, .type = q.type, .q = q, .k = k, .v = v, .out = out, .scratch = scratch.data};
    take_batch(&j, batch);
    run_forward(&j);
}

void aoei_attention_spans_forward(const aoe_context *ctx, aoei_tensor out, aoei_tensor q, aoei_tensor k, aoei_tensor v,
                                  const aoei_attention_span *spans, size_t n, const aoei_attention *a,
                                  aoei_tensor scratch) {
    attention_job j = {.ctx = ctx, .a = a, .type = q.type, .q = q, .k = k, .v = v, .out = out, .scratch = scratch.data};
    assert(!a->causal && !a->window && !a->bias.values.rows && !a->relative.span);
    take_spans(&j, spans, n);
    run_forward(&j);
}

/* The float32 sums [keys, d] of dk or dv for one span and one key-value head. If the tensor dk or dv is float32, the
 * sums are stored in this tensor; otherwise they are stored in the scratch memory of the worker. */
typedef struct key_sums {
    float *data; /* sum of component 0 of the first key, borrowed */
    size_t ld;   /* distance between the sums of adjacent keys in floats */
} key_sums;

static key_sums sums_in(const head_work *w, aoei_tensor t, float *workspace) {
    if (t.type == AOEI_F32)
        return (key_sums){aoei_tensor_at(t, w->k_first, w->k_col), t.ld};
    return (key_sums){workspace, w->job->a->head_dim};
}

static void clear_sums(const head_work *w, key_sums s) {
    assert(s.data);
    for (size_t t = 0; t < w->keys; t++)
        memset(s.data + t * s.ld, 0, w->job->a->head_dim * sizeof *s.data);
}

static void round_sums(const head_work *w, aoei_tensor t, key_sums s) {
    for (size_t i = 0; t.type == AOEI_BF16 && i < w->keys; i++)
        aoei_kernels_of(w->job->ctx)
            ->to_bf16(aoei_tensor_at(t, w->k_first + i, w->k_col), s.data + i * s.ld, w->job->a->head_dim);
}

/* Computes to[keys, d] += x[rows, keys]^T from[rows, d]. from[rows, d] is the part of the tensor that starts at (row,
 * col). x points to the element of the first row for key keys.begin. */
static void add_transposed(const head_work *w, key_sums to, const void *x, aoei_tensor from, size_t row, size_t col,
                           size_t rows, key_range keys) {
    multiply(w, (aoei_gemm_args){.M = keys.end - keys.begin,
                                 .N = w->job->a->head_dim,
                                 .K = rows,
                                 .a = x,
                                 .a_row = 1,
                                 .a_col = w->ld,
                                 .b = aoei_tensor_at(from, row, col),
                                 .b_row = from.ld,
                                 .b_col = 1,
                                 .c = to.data + keys.begin * to.ld,
                                 .c_row = to.ld,
                                 .accumulate = 1,
                                 .scale = 1});
}

/* Computes w->ds[rows, keys], the gradient of the scores q k^T, from the probabilities and dout. */
static void score_gradient(head_work *w, size_t q0, size_t rows, key_range keys) {
    const attention_job *j = w->job;
    multiply(w, (aoei_gemm_args){.M = rows,
                                 .N = keys.end - keys.begin,
                                 .K = j->a->head_dim,
                                 .a = aoei_tensor_at(j->out, w->first + q0, w->q_col),
                                 .a_row = j->out.ld,
                                 .a_col = 1,
                                 .packed = packed_from(w, w->packed_v, keys.begin),
                                 .c = w->ds + keys.begin,
                                 .c_row = w->ld,
                                 .scale = 1});
    if (j->a->drop.p > 0)
        drop_block(w, w->ds, w->ds, q0, rows, keys);
    for (size_t r = 0; r < rows; r++) {
        const key_range attended = row_keys(w, q0 + r);
        const size_t first = r * w->ld + attended.begin;
        aoei_kernels_of(j->ctx)->softmax_grad_f32(w->ds + first, w->p + first, w->ds + first, (float)j->a->scale,
                                                  attended.end - attended.begin);
    }
    clear_masked(w, w->ds, q0, rows, keys);
}

/* Adds the gradients of the scores of queries [q0, q0 + rows) to the sums of their distances. */
static void add_diagonals(const head_work *w, size_t q0, size_t rows) {
    for (size_t r = 0; r < rows; r++) {
        const key_range attended = row_keys(w, q0 + r);
        float *to = w->diagonals + w->keys - 1 + attended.begin - (q0 + r);
        aoei_kernels_of(w->job->ctx)
            ->add_f32(to, to, w->ds + r * w->ld + attended.begin, attended.end - attended.begin);
    }
}

/* Returns x[n, ld] as an operand of a matmul, rounded to bf16 if the tensors are bf16. */
static const void *row_operand(const head_work *w, const float *x, size_t n) {
    if (w->job->type == AOEI_F32)
        return x;
    aoei_kernels_of(w->job->ctx)->to_bf16(w->row_operand, x, n);
    return w->row_operand;
}

/* Adds the gradients of the scores of queries [q0, q0 + rows) to dc2p and dp2c. */
static void scatter_relative(const head_work *w, size_t q0, size_t rows) {
    memset(w->dc2p, 0, rows * w->row_ld * sizeof *w->dc2p);
    for (size_t r = 0; r < rows; r++) {
        const key_range attended = row_keys(w, q0 + r);
        const uint32_t *from = rows_of(w, q0 + r);
        const float *ds = w->ds + r * w->ld;
        for (size_t k = attended.begin; k < attended.end; k++) {
            const size_t row = *(from - k) - w->row;
            w->dc2p[r * w->row_ld + row] += ds[k];
            w->dp2c[row * w->ld + k] += ds[k];
        }
    }
}

/* Adds the gradients through the keys of the rows to w->dq, the gradients of queries [q0, q0 + rows), and to dkeys. */
static void relative_keys_backward(const head_work *w, size_t q0, size_t rows) {
    const attention_job *j = w->job;
    const aoei_disentangled *rel = &j->a->relative;
    const size_t d = j->a->head_dim;
    scatter_relative(w, q0, rows);
    if (!rel->keys.rows)
        return;
    const void *dc2p = row_operand(w, w->dc2p, rows * w->row_ld);
    multiply(w, (aoei_gemm_args){.M = rows,
                                 .N = d,
                                 .K = w->n_rows,
                                 .a = dc2p,
                                 .a_row = w->row_ld,
                                 .a_col = 1,
                                 .b = aoei_tensor_at(rel->keys, w->row, w->k_col),
                                 .b_row = rel->keys.ld,
                                 .b_col = 1,
                                 .c = w->dq,
                                 .c_row = d,
                                 .accumulate = 1,
                                 .scale = 1});
    multiply(w, (aoei_gemm_args){.M = w->n_rows,
                                 .N = d,
                                 .K = rows,
                                 .a = dc2p,
                                 .a_row = 1,
                                 .a_col = w->row_ld,
                                 .b = aoei_tensor_at(j->q, w->first + q0, w->q_col),
                                 .b_row = j->q.ld,
                                 .b_col = 1,
                                 .c = aoei_tensor_at(rel->dkeys, w->row, w->k_col),
                                 .c_row = rel->dkeys.ld,
                                 .accumulate = 1,
                                 .scale = 1});
}

/* Adds the gradients through the queries of the rows to dk and dqueries, after all queries of the head. */
static void relative_queries_backward(const head_work *w, key_sums dk) {
    const attention_job *j = w->job;
    const aoei_disentangled *rel = &j->a->relative;
    const size_t d = j->a->head_dim;
    if (!rel->queries.rows)
        return;
    const void *dp2c = row_operand(w, w->dp2c, w->n_rows * w->ld);
    multiply(w, (aoei_gemm_args){.M = w->keys,
                                 .N = d,
                                 .K = w->n_rows,
                                 .a = dp2c,
                                 .a_row = 1,
                                 .a_col = w->ld,
                                 .b = aoei_tensor_at(rel->queries, w->row, w->q_col),
                                 .b_row = rel->queries.ld,
                                 .b_col = 1,
                                 .c = dk.data,
                                 .c_row = dk.ld,
                                 .accumulate = 1,
                                 .scale = 1});
    multiply(w, (aoei_gemm_args){.M = w->n_rows,
                                 .N = d,
                                 .K = w->keys,
                                 .a = dp2c,
                                 .a_row = w->ld,
                                 .a_col = 1,
                                 .b = aoei_tensor_at(j->k, w->k_first, w->k_col),
                                 .b_row = j->k.ld,
                                 .b_col = 1,
                                 .c = aoei_tensor_at(rel->dqueries, w->row, w->q_col),
                                 .c_row = rel->dqueries.ld,
                                 .accumulate = 1,
                                 .scale = 1});
}

/* Writes w->dq to the rows of dq from row `row` on. */
static void write_dq(const head_work *w, size_t row, size_t rows) {
    const size_t d = w->job->a->head_dim;
    for (size_t r = 0; r < rows; r++) {
        void *to = aoei_tensor_at(w->job->dq, row + r, w->q_col);
        if (w->job->dq.type == AOEI_BF16)
            aoei_kernels_of(w->job->ctx)->to_bf16(to, w->dq + r * d, d);
        else
            memcpy(to, w->dq + r * d, d * sizeof *w->dq);
    }
}

/* Computes the gradients for queries [q0, q0 + rows): adds to dk and dv, and writes the rows of dq. */
static void backward_block(head_work *w, key_sums dk, key_sums dv, size_t q0, size_t rows) {
    const attention_job *j = w->job;
    const key_range keys = block_keys(w, q0, rows);
    const size_t row = w->first + q0;
    const int relative = j->a->relative.span > 0;
    /* the probabilities that the forward pass multiplied by v: w->dropped if there is dropout, otherwise w->p */
    const float *used = w->p;
    probabilities(w, q0, rows, keys);
    if (j->a->drop.p > 0) {
        drop_block(w, w->dropped, w->p, q0, rows, keys);
        clear_masked(w, w->dropped, q0, rows, keys);
        used = w->dropped;
    }
    add_transposed(w, dv, operand(w, used, rows, keys), j->out, row, w->q_col, rows, keys);
    score_gradient(w, q0, rows, keys);
    if (j->a->bias.grads.rows)
        add_diagonals(w, q0, rows);
    const void *ds = operand(w, w->ds, rows, keys);
    add_transposed(w, dk, ds, j->q, row, w->q_col, rows, keys);
    multiply(w, (aoei_gemm_args){.M = rows,
                                 .N = j->a->head_dim,
                                 .K = keys.end - keys.begin,
                                 .a = ds,
                                 .a_row = w->ld,
                                 .a_col = 1,
                                 .a_padded = j->type == AOEI_BF16,
                                 .b = aoei_tensor_at(j->k, w->k_first + keys.begin, w->k_col),
                                 .b_row = j->k.ld,
                                 .b_col = 1,
                                 .c = relative ? w->dq : aoei_tensor_at(j->dq, row, w->q_col),
                                 .c_row = relative ? j->a->head_dim : j->dq.ld,
                                 .c_type = relative ? AOEI_F32 : j->dq.type,
                                 .scale = 1});
    if (relative) {
        relative_keys_backward(w, q0, rows);
        write_dq(w, row, rows);
    }
}

/* Computes the gradients of one query head of one text. Adds to dk and dv, and writes dq. */
static void backward_head(head_work *w, key_sums dk, key_sums dv, size_t text, size_t head) {
    const aoei_attention *a = w->job->a;
    start_head(w, head);
    relative_queries(w);
    if (a->relative.span) {
        assert(w->dp2c);
        memset(w->dp2c, 0, w->n_rows * w->ld * sizeof *w->dp2c);
    }
    if (a->bias.grads.rows)
        memset(w->diagonals, 0, (2 * w->keys - 1) * sizeof *w->diagonals);
    for (size_t q0 = 0; q0 < w->T; q0 += ROWS)
        backward_block(w, dk, dv, q0, w->T - q0 < ROWS ? w->T - q0 : ROWS);
    if (a->bias.grads.rows)
        aoei_score_bias_add(&a->bias, text * a->heads + head, w->diagonals, w->keys, (float)a->scale);
    if (a->relative.span)
        relative_queries_backward(w, dk);
}

/* Computes the gradients of one key-value head of one text, and of the query heads that share this key-value head. */
static void backward_text(const attention_job *j, size_t text, size_t kv_head, size_t worker) {
    const aoei_attention *a = j->a;
    const size_t group = a->heads / a->kv_heads;
    head_work w;
    start_text(&w, j, text, worker);
    w.k_col = kv_head * a->head_dim;
    pack_transposed(&w, w.packed_k, j->k);
    pack_transposed(&w, w.packed_v, j->v);
    const key_sums dk = sums_in(&w, j->dk, w.dk), dv = sums_in(&w, j->dv, w.dv);
    if (!j->spans) {
        clear_sums(&w, dk);
        clear_sums(&w, dv);
    }
    for (size_t head = kv_head * group; head < (kv_head + 1) * group; head++)
        backward_head(&w, dk, dv, text, head);
    round_sums(&w, j->dk, dk);
    round_sums(&w, j->dv, dv);
}

static void backward_task(void *arg, size_t task, size_t worker) {
    const attention_job *j = arg;
    backward_text(j, task / j->a->kv_heads, task % j->a->kv_heads, worker);
}

/* Computes the gradients of one key-value head of all texts, in their order. All texts add to the gradients of the keys
 * and queries of relative positions, so with relative positions only the heads are divided among threads. */
static void backward_head_task(void *arg, size_t kv_head, size_t worker) {
    const attention_job *j = arg;
    for (size_t text = 0; text < j->n_spans; text++)
        backward_text(j, text, kv_head, worker);
}

void aoei_attention_backward(const aoe_context *ctx, aoei_tensor dq, aoei_tensor dk, aoei_tensor dv, aoei_tensor dout,
                             aoei_tensor q, aoei_tensor k, aoei_tensor v, const aoei_batch *batch,
                             const aoei_attention *a, aoei_tensor scratch) {
    attention_job j = {.ctx = ctx,
                       .a = a,
                       .type = q.type,
                       .q = q,
                       .k = k,
                       .v = v,
                       .out = dout,
                       .dq = dq,
                       .dk = dk,
                       .dv = dv,
                       .scratch = scratch.data};
    take_batch(&j, batch);
    if (a->relative.span)
        aoei_parallel_for(ctx->pool, a->kv_heads, backward_head_task, &j);
    else
        aoei_parallel_for(ctx->pool, batch->n_texts * a->kv_heads, backward_task, &j);
}

void aoei_attention_spans_backward(const aoe_context *ctx, aoei_tensor dq, aoei_tensor dk, aoei_tensor dv,
                                   aoei_tensor dout, aoei_tensor q, aoei_tensor k, aoei_tensor v,
                                   const aoei_attention_span *spans, size_t n, const aoei_attention *a,
                                   aoei_tensor scratch) {
    attention_job j = {.ctx = ctx,
                       .a = a,
                       .type = q.type,
                       .q = q,
                       .k = k,
                       .v = v,
                       .out = dout,
                       .dq = dq,
                       .dk = dk,
                       .dv = dv,
                       .scratch = scratch.data};
    assert(!a->causal && !a->window && !a->bias.values.rows && !a->relative.span && dk.type == AOEI_F32 &&
           dv.type == AOEI_F32);
    take_spans(&j, spans, n);
    aoei_parallel_for(ctx->pool, n * a->kv_heads, backward_task, &j);
}
