/* SPDX-License-Identifier: MIT
 * Recognizes phrases that chat models write around or instead of the requested sentences. The phrases were collected
 * from responses. If a phrase is missing in these lists, it may be parsed as a requested sentence.
 */
#include "annotate/phrases.h"

#include "annotate/sentences.h"
#include "annotate/reply_text.h"

/* Beginnings of refusals. */
static const char *const declines[] = {"i'm sorry",
                                       "i\xE2\x80\x99m sorry",
                                       "i am sorry",
                                       "sorry",
                                       "i'm really sorry",
                                       "i apologi",
                                       "apologies",
                                       "my apologies",
                                       "i cannot",
                                       "i can't",
                                       "i can\xE2\x80\x99t",
                                       "i can not",
                                       "i'm unable",
                                       "i\xE2\x80\x99m unable",
                                       "i am unable",
                                       "i'm not able",
                                       "i am not able",
                                       "i won't",
                                       "i will not",
                                       "i must decline",
                                       "i'm afraid",
                                       "i\xE2\x80\x99m afraid",
                                       "i do not feel comfortable",
                                       "i don't feel comfortable",
                                       "i'm not comfortable",
                                       "as an ai",
                                       "as a language model",
                                       "as a large language model",
                                       "as a responsible",
                                       "unfortunately",
                                       "it is not appropriate",
                                       "it would not be appropriate",
                                       "this request",
                                       "the input",
                                       "\xE6\x8A\xB1\xE6\xAD\x89",             /* 抱歉 */
                                       "\xE5\xBE\x88\xE6\x8A\xB1\xE6\xAD\x89", /* 很抱歉 */
                                       "\xE5\xAF\xB9\xE4\xB8\x8D\xE8\xB5\xB7", /* 对不起 */
                                       "\xE6\x88\x91\xE6\x97\xA0\xE6\xB3\x95", /* 我无法 */
                                       "\xE4\xBD\x9C\xE4\xB8\xBA",             /* 作为 */
                                       "lo siento",
                                       "je suis d\xC3\xA9sol",
                                       "d\xC3\xA9sol\xC3\xA9",
                                       "es tut mir leid",
                                       "tut mir leid",
                                       "desculpe",
                                       "sinto muito",
                                       "mi dispiace",
                                       "\xD0\x98\xD0\xB7\xD0\xB2\xD0\xB8\xD0\xBD\xD0\xB8",  /* Извини */
                                       "\xD0\x9A \xD1\x81\xD0\xBE\xD0\xB6\xD0\xB0\xD0\xBB", /* К сожал */
                                       "\xE7\x94\xB3\xE3\x81\x97\xE8\xA8\xB3",              /* 申し訳 */
                                       "\xE3\x81\x99\xE3\x81\xBF\xE3\x81\xBE\xE3\x81\x9B\xE3\x82\x93", /* すみません */
                                       "\xEC\xA3\x84\xEC\x86\xA1",                                     /* 죄송 */
                                       NULL};

/* Phrases that a refusal contains. */
static const char *const denials[] = {"cannot",
                                      "can't",
                                      "can\xE2\x80\x99t",
                                      "can not",
                                      "unable",
                                      "not able",
                                      "won't",
                                      "will not",
                                      "decline",
                                      "not comfortable",
                                      "feel comfortable",
                                      "not appropriate",
                                      "inappropriate",
                                      "harmful",
                                      "offensive",
                                      "don't have enough",
                                      "do not have enough",
                                      "don't understand",
                                      "do not understand",
                                      "not clear",
                                      "incomplete",
                                      "need more",
                                      "please provide",
                                      "as an ai",
                                      "language model",
                                      "\xE6\x97\xA0\xE6\xB3\x95", /* 无法 */
                                      "\xE4\xB8\x8D\xE8\x83\xBD", /* 不能 */
                                      "no puedo",
                                      "ne peux",
                                      "nicht",
                                      "n\xC3\xA3o posso",
                                      "non posso",
                                      "\xD0\xBD\xD0\xB5 \xD0\xBC\xD0\xBE\xD0\xB3\xD1\x83", /* не могу */
                                      "\xE3\x81\xA7\xE3\x81\x8D\xE3\x81\xBE\xE3\x81\x9B\xE3\x82\x93", /* できません */
                                      "\xEC\x88\x98 \xEC\x97\x86",                                    /* 수 없 */
                                      NULL};

int aoei_is_refusal(aoe_text s) {
    static const char *const here[] = {"here are", "here is", "here's", "the following", NULL};
    s = aoei_text_trim(s);
    if (!aoei_text_starts_with_any(s, declines) || !aoei_text_contains_any(s, denials))
        return 0;
    /* an announcement is not a refusal: "I cannot promise that they are perfect, but here are five sentences:" */
    return !(s.data[s.len - 1] == ':' && aoei_text_contains_any(s, here) && !aoei_text_contains(s, "instead"));
}

int aoei_is_announcement(aoe_text line) {
    static const char *const openings[] = {"sure",
                                           "certainly",
                                           "of course",
                                           "here are",
                                           "here is",
                                           "here's",
                                           "okay",
                                           "ok,",
                                           "below are",
                                           "absolutely",
                                           "the following",
                                           "great",
                                           "these are",
                                           "my job",
                                           "i will",
                                           "i'll",
                                           "i have generated",
                                           "\xE4\xBB\xA5\xE4\xB8\x8B" /* 以下 */,
                                           "\xE5\xBD\x93\xE7\x84\xB6" /* 当然 */,
                                           "\xE5\xA5\xBD\xE7\x9A\x84" /* 好的 */,
                                           "voici",
                                           "aqu\xC3\xAD",
                                           "hier sind",
                                           NULL};
    static const char *const subjects[] = {"sentence",     "synonym",
                                           "antonym",      "opposite",
                                           "version",      "paraphras",
                                           "variation",    "example",
                                           "same meaning", "\xE5\x8F\xA5" /* 句 */,
                                           "phrases",      "frases",
                                           "s\xC3\xA4tze", NULL};
    static const char *const whole[] = {"sure!",      "sure.",      "sure",       "sure thing!", "certainly!",
                                        "certainly.", "of course!", "of course.", "absolutely!", "okay!",
                                        "okay.",      "great!",     NULL};
    line = aoei_text_trim(line);
    for (size_t i = 0; whole[i]; i++)
        if (aoei_text_starts_with(line, whole[i]) && aoei_text_ends_with(line, whole[i]) &&
            aoei_text_trim(line).len <= 12)
            return 1;
    return aoei_text_ends_with(line, ":") || aoei_text_ends_with(line, ":**") ||
           aoei_text_ends_with(line, "\xEF\xBC\x9A") ||
           (aoei_text_starts_with_any(line, openings) && aoei_text_contains_any(line, subjects));
}

int aoei_is_remark(aoe_text line) {
    static const char *const openings[] = {"i hope",
                                           "hope this",
                                           "hope these",
                                           "let me know",
                                           "please let me know",
                                           "feel free",
                                           "please feel free",
                                           "please note",
                                           "note that",
                                           "these sentences",
                                           "these are",
                                           "all of these",
                                           "all these",
                                           "all sentences",
                                           "each of these",
                                           "each sentence",
                                           "the above",
                                           "if you need",
                                           "if you would like",
                                           "if you'd like",
                                           "is there anything",
                                           "would you like",
                                           "do you want",
                                           "remember that",
                                           "in these sentences",
                                           "in each",
                                           "\xE5\xB8\x8C\xE6\x9C\x9B", /* 希望 */
                                           "\xE4\xBB\xA5\xE4\xB8\x8A", /* 以上 */
                                           "\xE5\xA6\x82\xE6\x9E\x9C", /* 如果 */
                                           NULL};
    static const char *const subjects[] = {"sentence",     "help",     "need",     "meaning",  "question",
                                           "assist",       "more",     "anything", "synonym",  "antonym",
                                           "opposite",     "original", "input",    "generate", "\xE5\x8F\xA5",
                                           "\xE5\xB8\xAE", NULL};
    line = aoei_text_trim(line);
    if (line.len && (line.data[0] == '(' || line.data[0] == '*' || line.data[0] == '['))
        line = aoei_text_skip(line, 1);
    return aoei_is_echo(line) || (aoei_text_starts_with_any(line, openings) && aoei_text_contains_any(line, subjects));
}
