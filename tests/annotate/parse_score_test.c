/* SPDX-License-Identifier: MIT
 * Tests the parser of similarity scores from 0 to 5 in responses of chat models, including responses without a score or
 * with several.
 */
#include <stdio.h>

#include "../support/support.h"
#include "annotate/parse_score.h"

enum { AMBIGUOUS = -1, REFUSED = -2 };

typedef struct example {
    const char *reply;
    double want; /* expected score, or AMBIGUOUS or REFUSED */
} example;

static const example found[] = {
    {"4", 4},
    {"4.2", 4.2},
    {"0", 0},
    {"5.0\n", 5},
    {"  3.5.", 3.5},
    {"4,2", 4.2},
    {"**4.5**", 4.5},
    {"\"3\"", 3},
    {"4/5", 4},
    {"4.0 / 5.0", 4},
    {"3 out of 5", 3},
    {"Score: 4", 4},
    {"Score: 4/5", 4},
    {"Score = 3.25", 3.25},
    {"**Score:** 4.2", 4.2},
    {"Similarity score: 2.8 (on a scale of 0 to 5)", 2.8},
    {"I would rate this 3.5 out of 5.", 3.5},
    {"I'd give these sentences a 4.", 4},
    {"The similarity score is 1.5.", 1.5},
    {"On a scale from 0 to 5, I would rate the similarity as 4.5.", 4.5},
    {"On a 0-5 scale the similarity is 2.", 2},
    {"Sentence 1 is about a plane, sentence 2 about a boat. Score: 1", 1},
    {"Sentence 1 says 3 men, sentence 2 says 4 men.\nScore: 2.5", 2.5},
    {"The sentences share 2 words.\n\nFinal score: 3", 3},
    {"Semantic score: 3\nOverall score: 3.5", 3.5},
    {"Score: 4\nExplanation: both speak of 2 dogs.", 4},
    {"{\"score\": 4.5}", 4.5},
    {"```json\n{\"similarity\": 3, \"reason\": \"same topic\"}\n```", 3},
    {"{\"score\": \"4/5\"}", 4},
    {"<think>Maybe 2, or 3.</think>4", 4},
    {"<score>4</score>", 4},
    {"four", 4},
    {"Five.", 5},
    {"I would rate it four out of 5", 4},
    {"Score: three and a half", 3.5},
    {"\xE5\x88\x86\xE6\x95\xB0\xEF\xBC\x9A"
     "4",
     4},
    {"4 4", 4},
    {"I would rate the similarity of these two sentences a 3.5.", 3.5},
    {"I would rate the two a 2, as one of the sentences is about a boat.", 2},
    {"I'd give it a four.", 4},
    {"Four out of five", 4},
    {"I'd say three out of five.", 3},
    {"Score: four/5", 4},
    {"4 (the same scene, but one has 3 dogs.)", 4},
    {"3.5\n\nBoth speak of 2 dogs, but only one of them runs.", 3.5},
    {"**4** - one of them has 3 dogs", 4},
    {"4, since both have 2 people", 4},
    {"They do not mean the same, so the score is 1.", 1},
    {"The sentences aren't related. Score: 0", 0},
    {"They are not similar: 1", 1},
    {"Rating: 5/5 - the sentences mean the same", 5},
};

static const example not_found[] = {
    {"", AMBIGUOUS},
    {"similar", AMBIGUOUS},
    {"3 or 4", AMBIGUOUS},
    {"3-4", AMBIGUOUS},
    {"The score is not 5.", AMBIGUOUS},
    {"The score isn't 5.", AMBIGUOUS},
    {"I would not give a score of 5; rather 3.", AMBIGUOUS},
    {"I wouldn\xE2\x80\x99t rate this 4 out of 5.", AMBIGUOUS},
    {"3, 4", AMBIGUOUS},
    {"4\n3", AMBIGUOUS},
    {"2 (or 3)", AMBIGUOUS},
    {"four out of ten", AMBIGUOUS},
    {"I rate these two sentences.", AMBIGUOUS},
    {"between 3 and 4", AMBIGUOUS},
    {"Score: 3 to 4", AMBIGUOUS},
    {"8/10", AMBIGUOUS},
    {"80%", AMBIGUOUS},
    {"7", AMBIGUOUS},
    {"-1", AMBIGUOUS},
    {"Score: 3\nScore: 4", AMBIGUOUS},
    {"1999", AMBIGUOUS},
    {"The first one speaks of one plane.", AMBIGUOUS},
    {"<think>4, or", AMBIGUOUS},
    {"On a scale of 0 to 5, it is hard to say.", AMBIGUOUS},
    {"I'm sorry, but I can't rate that.", REFUSED},
};

static void check(const example *e, size_t n) {
    int failures = 0;
    for (size_t i = 0; i < n; i++) {
        aoei_score_outcome outcome;
        double got = 0;
        assert_int_equal(aoei_parse_score(&outcome, &got, aoe_text_of(e[i].reply), 5), 0);
        if (outcome != AOEI_SCORE_FOUND)
            got = outcome == AOEI_SCORE_REFUSED ? REFUSED : AMBIGUOUS;
        if (got < e[i].want - 1e-12 || got > e[i].want + 1e-12) {
            print_message("%s: expected %g, found %g\n", e[i].reply, e[i].want, got);
            failures++;
        }
    }
    assert_int_equal(failures, 0);
}

static void scores(void **state) {
    (void)state;
    check(found, sizeof found / sizeof *found);
}

static void no_scores(void **state) {
    (void)state;
    check(not_found, sizeof not_found / sizeof *not_found);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(scores), cmocka_unit_test(no_scores)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
