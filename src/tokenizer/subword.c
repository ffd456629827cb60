/* SPDX-License-Identifier: MIT
 * Calls the functions of the WordPiece, BPE or Unigram model.
 */
#include "tokenizer/subword.h"

#include <string.h>

#include "base/error.h"
#include "tokenizer/bpe_read.h"
#include "tokenizer/json_type.h"

/* Returns the type of a "model" section that has no "type". Hugging Face tokenizers before version 0.8 wrote such
 * files. Returns NULL if the type cannot be determined.
 */
static const char *type_by_keys(const json_t *section) {
    if (json_object_get(section, "merges"))
        return "BPE";
    if (json_is_array(json_object_get(section, "vocab")))
        return "Unigram";
    return json_object_get(section, "max_input_chars_per_word") ? "WordPiece" : NULL;
}

int aoei_subword_read(aoei_subword *m, aoei_vocab *scanned, const json_t *section, const char *file, aoe_error *err) {
    const char *type = json_is_object(section) && !json_object_get(section, "type") ? type_by_keys(section) : NULL;
    int rc = type ? 0 : aoei_json_type(&type, section, "model", file, err);
    if (!rc && strcmp(type, "WordPiece") == 0) {
        m->type = AOEI_SUBWORD_WORDPIECE;
        m->wordpiece.vocab = *scanned;
        *scanned = (aoei_vocab){0};
        return aoei_wordpiece_read(&m->wordpiece, section, file, err);
    }
    if (!rc && strcmp(type, "BPE") == 0) {
        m->type = AOEI_SUBWORD_BPE;
        return aoei_bpe_read(&m->bpe, scanned, section, file, err);
    }
    aoei_vocab_free(scanned);
    if (rc)
        return rc;
    if (strcmp(type, "Unigram") == 0) {
        m->type = AOEI_SUBWORD_UNIGRAM;
        return aoei_unigram_read(&m->unigram, section, file, err);
    }
    return aoei_fail(err, AOE_EUNSUPPORTED, "%s: model \"%s\" is not supported (supported: WordPiece, BPE, Unigram)",
                     file, type);
}

void aoei_subword_set_space(aoei_subword *m, const char *letter, size_t len) {
    if (len >= sizeof m->space)
        len = 0;
    if (len)
        memcpy(m->space, letter, len);
    m->space[len] = 0;
    if (m->type == AOEI_SUBWORD_BPE)
        aoei_bpe_set_space(&m->bpe, m->space);
}

const char *aoei_subword_name(const aoei_subword *m) {
    static const char *const names[] = {[AOEI_SUBWORD_WORDPIECE] = "WordPiece",
                                        [AOEI_SUBWORD_BPE] = "BPE",
                                        [AOEI_SUBWORD_UNIGRAM] = "Unigram",
                                        [AOEI_SUBWORD_WORDS] = "WhitespaceTokenizer"};
    return names[m->type];
}

const aoei_vocab *aoei_subword_vocab(const aoei_subword *m) {
    return m->type == AOEI_SUBWORD_BPE       ? &m->bpe.vocab
           : m->type == AOEI_SUBWORD_UNIGRAM ? &m->unigram.vocab
           : m->type == AOEI_SUBWORD_WORDS   ? &m->words.vocab
                                             : &m->wordpiece.vocab;
}

int32_t aoei_subword_unknown(const aoei_subword *m) {
    return m->type == AOEI_SUBWORD_BPE       ? m->bpe.unk
           : m->type == AOEI_SUBWORD_UNIGRAM ? m->unigram.unk
           : m->type == AOEI_SUBWORD_WORDS   ? -1
                                             : m->wordpiece.unk;
}

static int begins_with(aoe_text token, const char *s, size_t len) {
    return len > 0 && token.len >= len && memcmp(token.data, s, len) == 0;
}

int aoei_subword_is_continuation(const aoei_subword *m, aoe_text token) {
    if (m->type == AOEI_SUBWORD_WORDPIECE)
        return aoei_wordpiece_is_continuation(&m->wordpiece, token);
    if (m->type == AOEI_SUBWORD_BPE && m->bpe.prefix_len)
        return begins_with(token, m->bpe.prefix, m->bpe.prefix_len);
    return m->space[0] && !begins_with(token, m->space, strlen(m->space));
}

int aoei_subword_encode(const aoei_subword *m, const aoei_words *words, size_t stop, aoei_token_list *out,
                        aoei_subword_scratch *scratch, aoe_error *err) {
    switch (m->type) {
    case AOEI_SUBWORD_BPE:
        return aoei_bpe_encode(&m->bpe, words, stop, out, &scratch->bpe, err);
    case AOEI_SUBWORD_UNIGRAM:
        return aoei_unigram_encode(&m->unigram, words, stop, out, &scratch->unigram, err);
    default:
        return aoei_wordpiece_encode(&m->wordpiece, words->s, words, stop, out, err);
    }
}

void aoei_subword_scratch_free(aoei_subword_scratch *s) {
    aoei_bpe_scratch_free(&s->bpe);
    aoei_unigram_scratch_free(&s->unigram);
}

void aoei_subword_free(aoei_subword *m) {
    aoei_wordpiece_free(&m->wordpiece);
    aoei_bpe_free(&m->bpe);
    aoei_unigram_free(&m->unigram);
    aoei_word_lookup_free(&m->words);
    memset(m, 0, sizeof *m);
}
