/* SPDX-License-Identifier: MIT
 * Encodes texts and returns properties of tokens. A text is encoded in these steps:
 * 1. Added tokens are searched for in the raw text.
 * 2. The text between these tokens is normalized, and added tokens are searched for in the normalized text.
 * 3. The pre-tokenizer splits the remaining text into words, and the subword model encodes the words.
 * If the tokenizer is a vocabulary of words, the whole text is encoded by word_lookup.h instead.
 * Each call allocates its own workspace, so several threads can share a tokenizer.
 */
#include "tokenizer/tokenizer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/bpe_read.h"
#include "tokenizer/pair.h"
#include "tokenizer/prompt.h"
#include "tokenizer/tokenizer_parts.h"

/* Numbers of special tokens and prompt tokens, before and after the tokens of the text itself. */
typedef struct ends {
    size_t before, after;
} ends;

typedef struct encoder {
    const aoe_tokenizer *t;
    aoei_token_list tokens;     /* output */
    aoei_normalized normalized; /* normalized form of the current piece of raw text */
    aoei_pretokenizing pretokenizing;
    aoei_words *words; /* current batch of words, borrowed */
    aoei_subword_scratch scratch;
    int lowercase; /* 1: the text is lowercased before it is normalized */
    size_t stop;   /* encoding may stop when this number of ids is reached */
    size_t origin; /* byte offset of the current piece of raw text in the whole text */
    int wide;      /* 1: the span of an added token includes the white space that it strips */
    ends *ends;    /* receives the numbers of special tokens and prompt tokens; NULL if the caller does not need them */
    aoe_error *err;
} encoder;

static int is_complete(const encoder *e) {
    return e->tokens.ids->n >= e->stop;
}

/* Converts the spans of all tokens with an index of at least `first`. On entry, a span is a byte range of the
 * normalized text; on return, it is a byte range of the whole raw text. origin[i] is the offset in raw[len], the
 * current piece of raw text, of the character from which byte i of the normalized text comes. */
static void to_original(encoder *e, size_t first, const size_t *origin, const char *raw, size_t len) {
    for (size_t i = first; i < e->tokens.ids->n && e->tokens.track; i++) {
        aoei_span *span = &e->tokens.span[i], out = {SIZE_MAX, 0};
        for (size_t b = span->start; b < span->end; b++) { /* normalization may reorder bytes */
            size_t from = origin[b];
            size_t to = from + 1;
            while (to < len && ((unsigned char)raw[to] & 0xC0) == 0x80)
                to++;
            out.start = from < out.start ? from : out.start;
            out.end = to > out.end ? to : out.end;
        }
        *span = (aoei_span){out.start + e->origin, out.end + e->origin};
    }
}

/* Removes all unknown tokens with an index of at least `first`, if aoe_encode_options.drop_unknown is set. */
static void drop_unknown(encoder *e, size_t first) {
    aoei_token_list *l = &e->tokens;
    size_t to = first;
    for (size_t i = first; i < l->ids->n && l->drop_unknown; i++) {
        if (l->ids->id[i] == aoei_subword_unknown(&e->t->model))
            continue;
        if (l->track)
            l->span[to] = l->span[i];
        l->ids->id[to++] = l->ids->id[i];
    }
    if (l->drop_unknown)
        l->ids->n = to;
}

/* Appends the added token `match`. end: end of the match, stripped white space included. */
static int push_added(encoder *e, const aoei_match *match, size_t end) {
    int rc = aoei_token_list_reserve(&e->tokens, 1, e->err);
    if (rc == 0) {
        aoei_token_push(&e->tokens, match->token->id, e->wide ? match->before_end : match->start,
                        e->wide ? end : match->end);
        drop_unknown(e, e->tokens.ids->n - 1);
    }
    return rc;
}

/* Encodes the bytes [start, end) of the normalized text, which contain no added token. raw[len] is the piece of raw
 * text that was normalized. */
static int encode_words(encoder *e, size_t start, size_t end, const char *raw, size_t len) {
    const aoe_tokenizer *t = e->t;
    aoei_pretokenizing *g = &e->pretokenizing;
    int rc = 0;
    aoei_pretokenizing_begin(g, &t->pretokenizer, &e->normalized, start, end, e->origin);
    while (!is_complete(e) && (rc = aoei_pretokenizing_next(g, e->words, e->err)) > 0) {
        const size_t first = e->tokens.ids->n, stop = e->tokens.drop_unknown ? SIZE_MAX : e->stop;
        if ((rc = aoei_subword_encode(&t->model, e->words, stop, &e->tokens, &e->scratch, e->err)))
            break;
        drop_unknown(e, first);
        to_original(e, first, e->words->origin, raw, len);
    }
    return rc;
}

/* Encodes the piece s[len] of the raw text. Added tokens that are searched for in raw text do not occur in this
 * piece. */
static int encode_piece(encoder *e, const char *s, size_t len) {
    const aoe_tokenizer *t = e->t;
    aoei_match match;
    e->normalized.track = e->tokens.track || t->pretokenizer.needs_first;
    int rc = len ? aoei_normalize(e->lowercase ? &t->lowercased : &t->normalizer, s, len, &e->normalized, e->err) : 0;
    if (rc || len == 0)
        return rc;
    aoei_matches m = {.tokens = &t->added,
                      .patterns = e->lowercase ? &t->added.lowercased : &t->added.normalized,
                      .s = e->normalized.data,
                      .len = e->normalized.len};
    while (!rc && !is_complete(e) && aoei_matches_next(&m, &match)) {
        rc = encode_words(e, match.before_start, match.before_end, s, len);
        if (!rc && !is_complete(e)) {
            const size_t first = e->tokens.ids->n;
            rc = push_added(e, &match, m.last_end);
            to_original(e, first, e->normalized.origin, s, len);
        }
    }
    if (!rc && !is_complete(e) && m.last_end < m.len)
        rc = encode_words(e, m.last_end, m.len, s, len);
    return rc;
}

static int encode_text(encoder *e, const char *s, size_t len) {
    aoei_match match;
    aoei_matches m = {.tokens = &e->t->added, .patterns = &e->t->added.raw, .s = s, .len = len};
    int rc = 0;
    if (e->t->model.type == AOEI_SUBWORD_WORDS)
        return aoei_word_lookup_encode(&e->t->model.words, s, len, e->lowercase, e->stop, &e->tokens, e->err);
    while (!rc && !is_complete(e) && aoei_matches_next(&m, &match)) {
        e->origin = match.before_start;
        rc = encode_piece(e, s + match.before_start, match.before_end - match.before_start);
        if (!rc)
            rc = push_added(e, &match, m.last_end);
    }
    e->origin = m.last_end;
    if (!rc && m.last_end < len)
        rc = encode_piece(e, s + m.last_end, len - m.last_end);
    return rc;
}

static int push_specials(encoder *e, const int32_t *id, size_t n) {
    int rc = aoei_token_list_reserve(&e->tokens, n, e->err);
    for (size_t i = 0; i < n && !rc; i++)
        aoei_token_push(&e->tokens, id[i], 0, 0);
    return rc;
}

/* Encodes the text without special tokens, up to `limit` tokens. If the tokenizer truncates at the start, the last
 * tokens are kept, otherwise the first. */
static int encode_limited(encoder *e, const char *s, size_t len, size_t limit) {
    size_t first = e->tokens.ids->n;
    /* one additional token shows that the text was truncated */
    e->stop = limit == SIZE_MAX || e->t->truncate_left ? SIZE_MAX : first + limit + 1;
    int rc = encode_text(e, s, len);
    if (rc == 0 && e->tokens.ids->n - first > limit) {
        int32_t *id = e->tokens.ids->id + first;
        const size_t skip = e->tokens.ids->n - first - limit;
        if (e->t->truncate_left)
            memmove(id, id + skip, limit * sizeof *id);
        if (e->t->truncate_left && e->tokens.track)
            memmove(e->tokens.span + first, e->tokens.span + first + skip, limit * sizeof *e->tokens.span);
        e->tokens.ids->n = first + limit;
        e->tokens.ids->truncated = 1;
    }
    return rc;
}

/* Inserts the text into the prompt template and encodes the result. If the result has more than `limit` tokens, the
 * text is truncated and the template is kept. */
static int encode_prompted(encoder *e, aoe_text text, const aoe_encode_options *o, size_t limit) {
    aoei_prompted p;
    size_t first = e->tokens.ids->n;
    int rc = aoei_prompt_format(&p, o->prompt, text, e->err);
    if (rc)
        return rc;
    e->tokens.track |= e->ends != NULL;
    rc = aoei_token_list_reserve(&e->tokens, 0, e->err);
    if (rc == 0)
        rc = encode_limited(e, p.data, p.len, limit);
    if (rc == 0 && e->ends)
        aoei_prompt_ends(&p, e->tokens.ids, e->tokens.span, first, &e->ends->before, &e->ends->after);
    if (rc == 0 && e->tokens.ids->truncated) {
        /* The result is too long. Encode the whole string again with spans, because the template may have a part after
         * the text.
         */
        e->tokens.ids->n = first;
        e->tokens.ids->truncated = 0;
        aoei_normalized_free(&e->normalized); /* frees the buffer, which may have been used without origins */
        aoei_pretokenizing_end(&e->pretokenizing);
        e->tokens.track = 1;
        e->stop = SIZE_MAX;
        if ((rc = aoei_token_list_reserve(&e->tokens, 0, e->err)) == 0 && (rc = encode_text(e, p.data, p.len)) == 0)
            rc = aoei_prompt_truncate(&p, e->tokens.ids, e->tokens.span, first, limit, e->t->truncate_left,
                                      o->max_length, e->err);
    }
    aoei_prompt_free(&p);
    return rc;
}

/* Encodes a text. If `around` is not NULL, sets the numbers of special tokens and prompt tokens. If `span` is not NULL,
 * sets *span to the spans of the tokens, which the caller frees. */
static int encode(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *o, aoe_ids *ids, ends *around,
                  aoei_span **span, aoe_error *err) {
    const aoei_postprocessor *post = &t->post;
    aoei_words words; /* not zeroed, because most elements are never used */
    encoder e = {.t = t,
                 .words = &words,
                 .tokens = {.ids = ids, .drop_unknown = o->drop_unknown, .track = span != NULL},
                 .wide = span && !o->prompt,
                 .lowercase = o->lowercase,
                 .ends = around,
                 .err = err};
    size_t n_specials = o->no_special_tokens ? 0 : post->n_before + post->n_after;
    size_t limit = o->max_length ? o->max_length - n_specials : SIZE_MAX;
    int rc;
    ids->n = 0;
    ids->truncated = 0;
    aoei_free(ids->type);
    ids->type = NULL;
    if (o->max_length && o->max_length <= n_specials)
        return aoei_fail(err, AOE_EARG,
                         "options.max_length is %zu, but must be larger than the number of special tokens, %zu",
                         o->max_length, n_specials);
    size_t bad = text.len ? aoei_utf8_valid(text.data, text.len) : 0;
    if (bad < text.len)
        return aoei_fail(err, AOE_EFORMAT, "invalid UTF-8 at byte %zu of the text; convert it to UTF-8", bad);
    if (span && (rc = aoei_token_list_reserve(&e.tokens, 0, err)))
        goto done;
    if (n_specials && (rc = push_specials(&e, post->id, post->n_before)))
        goto done;
    rc = o->prompt ? encode_prompted(&e, text, o, limit) : encode_limited(&e, text.data, text.len, limit);
    if (rc == 0 && n_specials)
        rc = push_specials(&e, post->id + post->n_before, post->n_after);
done:
    aoei_normalized_free(&e.normalized);
    aoei_pretokenizing_end(&e.pretokenizing);
    aoei_subword_scratch_free(&e.scratch);
    if (span && !rc) {
        *span = e.tokens.span;
        e.tokens.span = NULL;
    }
    aoei_token_list_free(&e.tokens);
    if (rc)
        ids->n = 0;
    return rc;
}

int aoei_tokenizer_encode_plain(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *o, aoe_ids *ids,
                                size_t *before, size_t *after, aoe_error *err) {
    ends e = {0};
    const int rc = encode(t, text, o, ids, before ? &e : NULL, NULL, err);
    if (before) {
        *before = e.before + (o->no_special_tokens ? 0 : t->post.n_before);
        *after = e.after + (o->no_special_tokens ? 0 : t->post.n_after);
    }
    return rc;
}

int aoei_tokenizer_encode_tracked(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *o, aoe_ids *ids,
                                  aoei_span **span, aoe_error *err) {
    *span = NULL;
    return encode(t, text, o, ids, NULL, span, err);
}

int aoei_tokenizer_encode_plain_pair(const aoe_tokenizer *t, aoe_text first, aoe_text second,
                                     const aoe_encode_options *o, int left, aoe_ids *ids, aoe_error *err) {
    aoe_encode_options whole = *o;
    aoe_ids second_ids = {0};
    whole.max_length = 0;
    whole.no_special_tokens = 1;
    int rc = encode(t, first, &whole, ids, NULL, NULL, err);
    whole.prompt = NULL;
    if (!rc)
        rc = encode(t, second, &whole, &second_ids, NULL, NULL, err);
    if (!rc)
        rc = aoei_pair_join(ids, &second_ids, &t->post, o->no_special_tokens, o->max_length, left || t->truncate_left,
                            err);
    aoe_ids_free(&second_ids);
    if (rc)
        ids->n = 0;
    return rc;
}

void aoe_ids_free(aoe_ids *ids) {
    if (!ids)
        return;
    aoei_free(ids->id);
    aoei_free(ids->type);
    memset(ids, 0, sizeof *ids);
}

int aoei_tokenizer_finish(aoe_tokenizer *t, const char *path, aoe_error *err) {
    aoei_pretokenizer *p = &t->pretokenizer;
    const aoe_text space = p->space[0] ? aoe_text_of(p->space) : aoei_normalizer_space(&t->normalizer);
    p->leave_bytes = p->byte_level && t->model.type == AOEI_SUBWORD_BPE && aoei_bpe_enable_raw_bytes(&t->model.bpe);
    aoei_subword_set_space(&t->model, space.data, space.len);
    const int rc = aoei_normalizer_lowercased(&t->lowercased, &t->normalizer, err);
    return rc ? rc : aoei_added_tokens_finish(&t->added, &t->normalizer, &t->lowercased, path, err);
}

size_t aoe_tokenizer_vocab_size(const aoe_tokenizer *t) {
    if (!t)
        return 0;
    size_t from_vocab = aoei_subword_vocab(&t->model)->n_ids, from_added = (size_t)(t->added.max_id + 1);
    return from_vocab > from_added ? from_vocab : from_added;
}

aoe_text aoe_tokenizer_token(const aoe_tokenizer *t, int32_t id) {
    if (!t)
        return (aoe_text){NULL, 0};
    size_t added = aoei_added_tokens_find_id(&t->added, id);
    if (added != (size_t)-1)
        return (aoe_text){t->added.token[added].content, t->added.token[added].len};
    return aoei_vocab_token(aoei_subword_vocab(&t->model), id);
}

const char *aoe_tokenizer_kind(const aoe_tokenizer *t) {
    if (!t)
        return NULL;
    return aoei_subword_name(&t->model);
}

int32_t aoei_tokenizer_id(const aoe_tokenizer *t, const char *token, size_t len) {
    size_t added = aoei_added_tokens_find(&t->added, token, len);
    return added != (size_t)-1 ? t->added.token[added].id : aoei_vocab_id(aoei_subword_vocab(&t->model), token, len);
}

int32_t aoei_tokenizer_mask_id(const aoe_tokenizer *t) {
    static const char *const names[] = {"[MASK]", "<mask>"};
    int32_t id = -1;
    for (size_t i = 0; i < sizeof names / sizeof *names && id < 0; i++)
        id = aoei_tokenizer_id(t, names[i], strlen(names[i]));
    return id;
}

void aoei_tokenizer_kinds(const aoe_tokenizer *t, uint8_t *kind, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const aoe_text token = aoe_tokenizer_token(t, (int32_t)i);
        if (!token.data)
            kind[i] = AOEI_TOKEN_NONE;
        else if ((int32_t)i == aoei_subword_unknown(&t->model) ||
                 aoei_added_tokens_find_id(&t->added, (int32_t)i) != (size_t)-1)
            kind[i] = AOEI_TOKEN_SPECIAL;
        else
            kind[i] = aoei_subword_is_continuation(&t->model, token) ? AOEI_TOKEN_CONTINUATION : AOEI_TOKEN_WORD;
    }
}
