/* SPDX-License-Identifier: MIT
 * covers: annotate/list_marker annotate/parse_json annotate/phrases annotate/reply_text annotate/sentences
 * Tests the parser that extracts sentences from responses of chat models. The responses contain lists in many formats,
 * text before and after a list, refusals to answer, and several languages.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "annotate/parse_sentences.h"

typedef struct example {
    const char *name; /* printed if the test fails */
    const char *reply;
    /* expected sentences joined by '|'; "REFUSED" if the model refuses to answer; "NOTHING" if the response contains no
     * sentences */
    const char *want;
    size_t most;   /* maximum number of sentences; 0 means 5 */
    int truncated; /* 1: the response was truncated */
} example;

#define AB "A plane departs.|An aircraft takes off."

static const example numbered[] = {
    {"full stops", "1. A plane departs.\n2. An aircraft takes off.", AB, 0, 0},
    {"brackets", "1) A plane departs.\n2) An aircraft takes off.\n", AB, 0, 0},
    {"two brackets", "(1) A plane departs.\n(2) An aircraft takes off.", AB, 0, 0},
    {"square brackets", "[1] A plane departs.\n[2] An aircraft takes off.", AB, 0, 0},
    {"colons", "1: A plane departs.\n2: An aircraft takes off.", AB, 0, 0},
    {"dashes", "1 - A plane departs.\n2 \xE2\x80\x93 An aircraft takes off.", AB, 0, 0},
    {"no space", "1.A plane departs.\n2.An aircraft takes off.", AB, 0, 0},
    {"bare numbers", "1 A plane departs.\n2 An aircraft takes off.", AB, 0, 0},
    {"hash", "#1: A plane departs.\n#2: An aircraft takes off.", AB, 0, 0},
    {"letters", "a) A plane departs.\nb) An aircraft takes off.", AB, 0, 0},
    {"capital letters", "A. A plane departs.\nB. An aircraft takes off.", AB, 0, 0},
    {"roman", "i. A plane departs.\nii. An aircraft takes off.\niii. The jet leaves.", AB "|The jet leaves.", 0, 0},
    {"roman capitals", "(I) A plane departs.\n(II) An aircraft takes off.", AB, 0, 0},
    {"bold numbers", "**1.** A plane departs.\n**2.** An aircraft takes off.", AB, 0, 0},
    {"bold all", "**1. A plane departs.**\n**2. An aircraft takes off.**", AB, 0, 0},
    {"escaped", "1\\. A plane departs.\n2\\. An aircraft takes off.", AB, 0, 0},
    {"keycaps", "1\xEF\xB8\x8F\xE2\x83\xA3 A plane departs.\n2\xEF\xB8\x8F\xE2\x83\xA3 An aircraft takes off.", AB, 0,
     0},
    {"circled",
     "\xE2\x91\xA0 A plane departs.\n\xE2\x91\xA1"
     "An aircraft takes off.",
     AB, 0, 0},
    {"every item 1", "1. A plane departs.\n1. An aircraft takes off.", AB, 0, 0},
    {"numbers that start at 0", "0. A plane departs.\n1. An aircraft takes off.", AB, 0, 0},
    {"a missing number", "1. A plane departs.\n3. An aircraft takes off.", AB, 0, 0},
    {"headings", "### 1. A plane departs.\n### 2. An aircraft takes off.", AB, 0, 0},
    {"blank lines", "1. A plane departs.\n\n\n2. An aircraft takes off.\n\n", AB, 0, 0},
    {"CRLF", "1. A plane departs.\r\n2. An aircraft takes off.\r\n", AB, 0, 0},
    {"labels", "Sentence 1: A plane departs.\nSentence 2: An aircraft takes off.", AB, 0, 0},
    {"bold labels", "**Synonymous sentence 1:** A plane departs.\n**Synonymous sentence 2:** An aircraft takes off.",
     AB, 0, 0},
    {"bulleted numbers", "- 1. A plane departs.\n- 2. An aircraft takes off.", AB, 0, 0},
    {"text on the next line", "1.\nA plane departs.\n2.\nAn aircraft takes off.", AB, 0, 0},
    {"labels above", "Sentence 1:\n\"A plane departs.\"\n\nSentence 2:\n\"An aircraft takes off.\"", AB, 0, 0},
    {"all on one line", "1. A plane departs. 2. An aircraft takes off. 3. The jet leaves.", AB "|The jet leaves.", 0,
     0},
    {"wrapped", "1. A plane\n   departs.\n2. An aircraft takes\noff.", AB, 0, 0},
    {"numbers inside", "1. He paid 2. 50 for 3. 5 kg.\n2. It was 10:30 in 1999.",
     "He paid 2. 50 for 3. 5 kg.|It was 10:30 in 1999.", 0, 0},
    {"a year is not a list number", "1. The war ended\n1945. It was May.\n2. Peace came.", "The war ended|Peace came.",
     0, 0},
    {"an empty number", "1. A plane departs.\n2. An aircraft takes off.\n3.", AB, 0, 0},
    {"sub-bullets",
     "1. A plane departs.\n   - 'departs' for 'takes off'\n2. An aircraft takes off.\n   - 'aircraft' for 'plane'", AB,
     0, 0},
    {"numbered headings", "1. Synonyms:\n   - A plane departs.\n   - An aircraft takes off.", AB, 0, 0},
    {"more sentences than requested", "1. A plane departs.\n2. An aircraft takes off.\n3. The jet leaves.", AB, 2, 0},
    {"a repeated sentence", "1. A plane departs.\n2. A plane departs.\n3. An aircraft takes off.", AB, 0, 0},
};

static const example bulleted[] = {
    {"hyphens", "- A plane departs.\n- An aircraft takes off.", AB, 0, 0},
    {"stars", "* A plane departs.\n* An aircraft takes off.", AB, 0, 0},
    {"plus", "+ A plane departs.\n+ An aircraft takes off.", AB, 0, 0},
    {"bullets", "\xE2\x80\xA2 A plane departs.\n\xE2\x80\xA2 An aircraft takes off.", AB, 0, 0},
    {"bullets without space",
     "\xE2\x80\xA2"
     "A plane departs.\n\xC2\xB7"
     "An aircraft takes off.",
     AB, 0, 0},
    {"dashes", "\xE2\x80\x93 A plane departs.\n\xE2\x80\x94 An aircraft takes off.", AB, 0, 0},
    {"ticks", "\xE2\x9C\x94\xEF\xB8\x8F A plane departs.\n\xE2\x9C\x85 An aircraft takes off.", AB, 0, 0},
    {"quoted block", "> A plane departs.\n> An aircraft takes off.", AB, 0, 0},
    {"HTML", "<ul>\n<li>A plane departs.</li>\n<li>An aircraft takes off.</li>\n</ul>", AB, 0, 0},
    {"one bullet", "- A plane departs.", "A plane departs.", 0, 0},
    {"comments", "- A plane departs. (more formal)\n- An aircraft takes off. (uses a synonym of plane)", AB, 0, 0},
    {"brackets that belong to the sentence", "- A plane (small) departs.\n- It left (at noon).",
     "A plane (small) departs.|It left (at noon).", 0, 0},
    {"emphasis", "- A **plane** departs.\n- *An aircraft takes off.*", AB, 0, 0},
};

static const example quoted[] = {
    {"straight", "1. \"A plane departs.\"\n2. \"An aircraft takes off.\"", AB, 0, 0},
    {"curly",
     "1. \xE2\x80\x9C"
     "A plane departs.\xE2\x80\x9D\n2. \xE2\x80\x9C"
     "An aircraft takes off.\xE2\x80\x9D",
     AB, 0, 0},
    {"single", "1. 'A plane departs.'\n2. 'An aircraft takes off.'", AB, 0, 0},
    {"German",
     "1. \xE2\x80\x9E"
     "Ein Flugzeug startet.\xE2\x80\x9C",
     "Ein Flugzeug startet.", 0, 0},
    {"French",
     "1. \xC2\xAB\xC2\xA0Un avion d\xC3\xA9"
     "colle.\xC2\xA0\xC2\xBB",
     "Un avion d\xC3\xA9"
     "colle.",
     0, 0},
    {"Japanese", "1. \xE3\x80\x8C\xE9\xA3\x9B\xE8\xA1\x8C\xE6\xA9\x9F\xE3\x80\x82\xE3\x80\x8D",
     "\xE9\xA3\x9B\xE8\xA1\x8C\xE6\xA9\x9F\xE3\x80\x82", 0, 0},
    {"trailing commas", "\"A plane departs.\",\n\"An aircraft takes off.\",", AB, 0, 0},
    {"on one line", "\"A plane departs.\", \"An aircraft takes off.\"", AB, 0, 0},
    {"with and", "\"A plane departs.\", and \"An aircraft takes off.\"", AB, 0, 0},
    {"quoted speech is kept", "1. \"Yes,\" he said, \"I do.\"\n2. It's 'fine'.",
     "\"Yes,\" he said, \"I do.\"|It's 'fine'.", 0, 0},
    {"full stop outside", "1. \"A plane departs\".\n2. \"An aircraft takes off.\".",
     "\"A plane departs\".|An aircraft takes off.", 0, 0},
    {"tags", "<sentence>A plane departs.</sentence>\n<sentence>An aircraft takes off.</sentence>", AB, 0, 0},
};

static const example json[] = {
    {"array", "[\"A plane departs.\", \"An aircraft takes off.\"]", AB, 0, 0},
    {"in a code fence", "```json\n[\n  \"A plane departs.\",\n  \"An aircraft takes off.\"\n]\n```", AB, 0, 0},
    {"text around the array",
     "Sure! Here you go:\n\n```json\n[\"A plane departs.\", \"An aircraft takes off.\"]\n```\nI hope this helps!", AB,
     0, 0},
    {"object", "{\"sentences\": [\"A plane departs.\", \"An aircraft takes off.\"]}", AB, 0, 0},
    {"repeats the input",
     "{\"input\": \"A plane is taking off.\", \"output\": [\"A plane departs.\", \"An aircraft takes off.\"]}", AB, 0,
     0},
    {"numbered keys", "{\"1\": \"A plane departs.\", \"2\": \"An aircraft takes off.\"}", AB, 0, 0},
    {"objects",
     "[{\"sentence\": \"A plane departs.\", \"explanation\": \"verb\"}, {\"sentence\": \"An aircraft takes off.\", "
     "\"explanation\": \"noun\"}]",
     AB, 0, 0},
    {"lines of objects",
     "{\"id\": 1, \"text\": \"A plane departs.\"}\n{\"id\": 2, \"text\": \"An aircraft takes off.\"}", AB, 0, 0},
    {"Python", "['A plane departs.', \"An aircraft takes off.\"]", AB, 0, 0},
    {"Python with apostrophes", "sentences = ['It's a plane.', 'They don't stop.']", "It's a plane.|They don't stop.",
     0, 0},
    {"trailing comma", "[\"A plane departs.\", \"An aircraft takes off.\",]", AB, 0, 0},
    {"escapes", "[\"A \\\"plane\\\" departs.\", \"Caf\\u00e9 \\ud83d\\ude00 opens.\"]",
     "A \"plane\" departs.|Caf\xC3\xA9 \xF0\x9F\x98\x80 opens.", 0, 0},
    {"unescaped quotes", "[\"He said \"stop\" twice.\", \"An aircraft takes off.\"]",
     "He said \"stop\" twice.|An aircraft takes off.", 0, 0},
    {"truncated", "[\"A plane departs.\", \"An aircraft takes off.\", \"The jet lea", AB, 0, 1},
    {"truncated in a code fence", "```json\n{\"synonyms\": [\"A plane departs.\", \"An aircraft takes off.\", \"The",
     AB, 0, 1},
    {"empty", "[]", "NOTHING", 0, 0},
    {"numbers only", "[1, 2, 3]", "NOTHING", 0, 0},
};

static const example surrounding_text[] = {
    {"preamble and closing",
     "Sure! Here are two synonymous sentences:\n\n1. A plane departs.\n2. An aircraft takes off.\n\n"
     "Let me know if you need more!",
     AB, 0, 0},
    {"bold heading", "**Synonymous Sentences:**\n\n* A plane departs.\n* An aircraft takes off.", AB, 0, 0},
    {"output label", "Output: A plane departs.", "A plane departs.", 1, 0},
    {"repeats the prompt before the list",
     "Input sentence: A plane is taking off.\nOutput:\n1. A plane departs.\n2. An aircraft takes off.", AB, 0, 0},
    {"repeats the input as an item",
     "1. Original: A plane is taking off.\n2. A plane departs.\n3. An aircraft takes off.", AB, 0, 0},
    {"plain lines", "A plane departs.\nAn aircraft takes off.\n", AB, 0, 0},
    {"plain lines between other text",
     "Here are the sentences:\nA plane departs.\n\nAn aircraft takes off.\n\nI hope these sentences help!", AB, 0, 0},
    {"a label on each line", "Synonym: A plane departs.\nSynonym: An aircraft takes off.", AB, 0, 0},
    {"a note at the end", "- A plane departs.\n- An aircraft takes off.\n\nNote: these keep the meaning.", AB, 0, 0},
    {"one line with as many sentences as requested", "A plane departs. An aircraft takes off.", AB, 2, 0},
    {"one line with fewer sentences than requested", "A plane departs. That means that it takes off.", "NOTHING", 5, 0},
    {"one line, one sentence requested", "A plane departs. That means that it takes off.",
     "A plane departs. That means that it takes off.", 1, 0},
    {"reasoning", "<think>The user wants two:\n1. Foo bar.\n</think>\n1. A plane departs.\n2. An aircraft takes off.",
     AB, 0, 0},
    {"only the end of the reasoning", "so 1. foo\n</think>\n\n1. A plane departs.\n2. An aircraft takes off.", AB, 0,
     0},
    {"reasoning without end", "<think>The user wants\n1. Foo bar.\n2. Foo", "NOTHING", 0, 1},
    {"table", "| # | Sentence |\n|---|---|\n| 1 | A plane departs. |\n| 2 | An aircraft takes off. |", AB, 0, 0},
    {"fence without language", "```\nA plane departs.\nAn aircraft takes off.\n```", AB, 0, 0},
    {"truncated in a list", "1. A plane departs.\n2. An aircraft takes off.\n3. The jet is on its", AB, 0, 1},
    {"truncated after a sentence", "1. A plane departs.\n2. An aircraft takes off.", AB, 0, 1},
    {"placeholder", "1. [synonymous sentence]\n2. A plane departs.", "A plane departs.", 0, 0},
    {"white space", " \n\t\n", "NOTHING", 0, 0},
    {"nothing", "", "NOTHING", 0, 0},
    {"dots", "...", "NOTHING", 0, 0},
};

static const example several_turns[] = {
    {"a second list",
     "Synonymous sentences:\n1. A plane departs.\n2. An aircraft takes off.\n\nAntonym sentences:\n"
     "1. A plane lands.\n2. It "
     "stays.",
     AB, 0, 0},
    {"a second list, one item", "Synonyms:\n1. A plane departs.\n\nAntonyms:\n1. A plane lands.", "A plane departs.", 0,
     0},
    {"a second list, bold",
     "**Synonyms**\n1. A plane departs.\n2. An aircraft takes off.\n**Antonyms**\n1. A plane lands.", AB, 0, 0},
    {"a second list, bullets",
     "Synonyms:\n- A plane departs.\n- An aircraft takes off.\n\n### Antonyms\n- A plane lands.", AB, 0, 0},
    {"a second list, labels", "Synonyms:\nSentence 1: A plane departs.\nAntonyms:\nSentence 1: A plane lands.",
     "A plane departs.", 0, 0},
    {"one list, headings within", "Formal:\n1. A plane departs.\nInformal:\n2. An aircraft takes off.", AB, 0, 0},
    {"another turn",
     "1. A plane departs.\n2. An aircraft takes off.\n\nInput: A dog runs.\nSynonyms: 1. A dog races.\n"
     "2. A hound runs.",
     AB, 0, 0},
    {"another turn, plain lines",
     "A plane departs.\nAn aircraft takes off.\nInput sentence: A dog runs.\nOutput: A dog races.", AB, 0, 0},
    {"another turn on one line",
     "1. A plane departs.\n2. An aircraft takes off. Input: A dog runs. Synonyms: 1. A dog races.", AB, 0, 0},
    {"another user turn", "1. A plane departs.\n2. An aircraft takes off.\nUser: Thanks.\n3. You are welcome.", AB, 0,
     0},
    {"repeats the prompt",
     "Sure:\nInput: A plane is taking off.\nOutput:\n1. A plane departs.\n2. An aircraft takes off.", AB, 0, 0},
    {"end of sequence", "1. A plane departs.\n2. An aircraft takes off.</s>", AB, 0, 0},
    {"end of turn", "1. A plane departs.\n2. An aircraft takes off.<|im_end|>\n<|im_start|>user\n3. More!", AB, 0, 0},
    {"end of message", "A plane departs.\nAn aircraft takes off.<|eot_id|>", AB, 0, 0},
    {"start of turn", "<s> <|im_start|>assistant\n1. A plane departs.\n2. An aircraft takes off.<end_of_turn>", AB, 0,
     0},
    {"quotes of two kinds", "'A plane departs.', 'An aircraft takes off.', \"It's up.\"", AB "|It's up.", 0, 0},
    {"quotes after other text",
     "Here are three synonymous sentences: \"A plane departs.\", \"An aircraft takes off.\", and \"The jet leaves.\"",
     AB "|The jet leaves.", 0, 0},
    {"quotes after a label", "Output: \"A plane departs.\", \"An aircraft takes off.\".", AB, 0, 0},
    {"not a list of quotes", "She said: \"Yes\", \"no\" and left.", "She said: \"Yes\", \"no\" and left.", 0, 0},
    {"text before number 1", "Yes! 1. A plane departs.\n2. An aircraft takes off.", AB, 0, 0},
    {"text before a list on one line", "Sure, here you go: 1. A plane departs. 2. An aircraft takes off.", AB, 0, 0},
    {"headings with a number", "Sentence 1\nA plane departs.\n\nSentence 2\nAn aircraft takes off.", AB, 0, 0},
    {"bold headings with a number", "**Sentence 1**\nA plane departs.\n**Sentence 2**\nAn aircraft takes off.", AB, 0,
     0},
    {"a number at the end is kept", "1. He is on page 1\n2. We took Route 66", "He is on page 1|We took Route 66", 0,
     0},
    {"remarks after a dash", "1. A plane departs - same meaning\n2. An aircraft takes off. - uses another noun",
     "A plane departs|An aircraft takes off.", 0, 0},
    {"a dash that belongs to the sentence", "1. It left - at noon.\n2. He came. - So what?",
     "It left - at noon.|He came. - So what?", 0, 0},
};

static const example refusals[] = {
    {"sorry", "I'm sorry, but I can't help with that.", "REFUSED", 0, 0},
    {"curly", "I\xE2\x80\x99m sorry, but I can\xE2\x80\x99t assist with that request.", "REFUSED", 0, 0},
    {"an AI", "As an AI language model, I cannot generate offensive sentences.", "REFUSED", 0, 0},
    {"several lines", "I apologize, but I cannot fulfil this request.\n\nIt would be harmful.", "REFUSED", 0, 0},
    {"with alternatives", "I'm sorry, I can't do that. Instead, I could:\n1. Rewrite it politely.\n2. Explain it.",
     "REFUSED", 0, 0},
    {"after a label", "Output: I'm sorry, but I cannot produce that.", "REFUSED", 0, 0},
    {"not a refusal: an item", "1. I'm sorry, I can't come to the party.", "I'm sorry, I can't come to the party.", 0,
     0},
    {"not a refusal: a bullet", "- I'm afraid I won't come.", "I'm afraid I won't come.", 0, 0},
    {"not a refusal: in quotes", "\"I'm sorry, I can't come to the party.\"", "I'm sorry, I can't come to the party.",
     0, 0},
    {"not a refusal: quotes after a label", "Output: \"I'm sorry, I can't come.\"", "I'm sorry, I can't come.", 0, 0},
    {"not a refusal: JSON", "[\"I'm sorry, I can't come.\"]", "I'm sorry, I can't come.", 0, 0},
    {"Chinese",
     "\xE6\x8A\xB1\xE6\xAD\x89\xEF\xBC\x8C\xE6\x88\x91\xE6\x97\xA0\xE6\xB3\x95\xE5\xB8\xAE\xE5\x8A\xA9\xE3\x80\x82",
     "REFUSED", 0, 0},
    {"Spanish", "Lo siento, no puedo ayudar con eso.", "REFUSED", 0, 0},
    {"incomplete input", "The input sentence is incomplete. Please provide the full sentence.", "REFUSED", 0, 0},
    {"not a refusal: an apology before a list",
     "I apologize for the confusion. Here are two:\n1. A plane departs.\n2. An aircraft takes off.", AB, 0, 0},
    {"not a refusal: modesty before a list",
     "I can't promise perfection, but here are two:\n1. A plane departs.\n2. An aircraft takes off.", AB, 0, 0},
    {"not a refusal: sentences", "1. I'm sorry that I can't come.\n2. I regret that I am unable to come.",
     "I'm sorry that I can't come.|I regret that I am unable to come.", 0, 0},
};

static const example languages[] = {
    {"Chinese comma",
     "1\xE3\x80\x81\xE9\xA3\x9E\xE6\x9C\xBA\xE3\x80\x82\n2\xE3\x80\x81\xE8\xB5\xB7\xE9\xA3\x9E\xE3\x80\x82",
     "\xE9\xA3\x9E\xE6\x9C\xBA\xE3\x80\x82|\xE8\xB5\xB7\xE9\xA3\x9E\xE3\x80\x82", 0, 0},
    {"Chinese numerals",
     "\xE4\xB8\x80\xE3\x80\x81\xE9\xA3\x9E\xE6\x9C\xBA\xE3\x80\x82\n"
     "\xE4\xBA\x8C\xE3\x80\x81\xE8\xB5\xB7\xE9\xA3\x9E\xE3\x80\x82",
     "\xE9\xA3\x9E\xE6\x9C\xBA\xE3\x80\x82|\xE8\xB5\xB7\xE9\xA3\x9E\xE3\x80\x82", 0, 0},
    {"Chinese labels",
     "\xE7\xAC\xAC\xE4\xB8\x80\xE5\x8F\xA5\xEF\xBC\x9A\xE9\xA3\x9E\xE6\x9C\xBA\xE3\x80\x82\n"
     "\xE7\xAC\xAC\xE4\xBA\x8C\xE5\x8F\xA5\xEF\xBC\x9A\xE8\xB5\xB7\xE9\xA3\x9E\xE3\x80\x82",
     "\xE9\xA3\x9E\xE6\x9C\xBA\xE3\x80\x82|\xE8\xB5\xB7\xE9\xA3\x9E\xE3\x80\x82", 0, 0},
    {"Chinese preamble",
     "\xE4\xBB\xA5\xE4\xB8\x8B\xE6\x98\xAF\xE5\x8F\xA5\xE5\xAD\x90\xEF\xBC\x9A\n\xE9\xA3\x9E\xE6\x9C\xBA\xE3\x80\x82\n"
     "\xE8\xB5\xB7\xE9\xA3\x9E\xE3\x80\x82",
     "\xE9\xA3\x9E\xE6\x9C\xBA\xE3\x80\x82|\xE8\xB5\xB7\xE9\xA3\x9E\xE3\x80\x82", 0, 0},
    {"full-width",
     "\xEF\xBC\x91\xEF\xBC\x8E\xE9\xA3\x9E\xE6\x9C\xBA\xE3\x80\x82\n"
     "\xEF\xBC\x92\xEF\xBC\x8E\xE8\xB5\xB7\xE9\xA3\x9E\xE3\x80\x82",
     "\xE9\xA3\x9E\xE6\x9C\xBA\xE3\x80\x82|\xE8\xB5\xB7\xE9\xA3\x9E\xE3\x80\x82", 0, 0},
    {"Arabic digits",
     "\xD9\xA1. \xD8\xB7\xD8\xA7\xD8\xA6\xD8\xB1\xD8\xA9.\n\xD9\xA2. \xD8\xAA\xD9\x82\xD9\x84\xD8\xB9.",
     "\xD8\xB7\xD8\xA7\xD8\xA6\xD8\xB1\xD8\xA9.|\xD8\xAA\xD9\x82\xD9\x84\xD8\xB9.", 0, 0},
    {"Devanagari",
     "\xE0\xA5\xA7. \xE0\xA4\x8F\xE0\xA4\x95\xE0\xA5\xA4\n\xE0\xA5\xA8. \xE0\xA4\xA6\xE0\xA5\x8B\xE0\xA5\xA4",
     "\xE0\xA4\x8F\xE0\xA4\x95\xE0\xA5\xA4|\xE0\xA4\xA6\xE0\xA5\x8B\xE0\xA5\xA4", 0, 0},
    {"French", "Phrase 1 : Un avion part.\nPhrase 2 : Un avion s'envole.", "Un avion part.|Un avion s'envole.", 0, 0},
    {"German", "Satz 1: Ein Flugzeug startet.\nSatz 2: Ein Flugzeug hebt ab.",
     "Ein Flugzeug startet.|Ein Flugzeug hebt ab.", 0, 0},
    {"Russian",
     "\xD0\x9F\xD1\x80\xD0\xB5\xD0\xB4\xD0\xBB\xD0\xBE\xD0\xB6\xD0\xB5\xD0\xBD\xD0\xB8\xD0\xB5 1: "
     "\xD0\xA1\xD0\xB0\xD0\xBC\xD0\xBE\xD0\xBB\xD1\x91\xD1\x82.",
     "\xD0\xA1\xD0\xB0\xD0\xBC\xD0\xBE\xD0\xBB\xD1\x91\xD1\x82.", 0, 0},
    {"Spanish ordinals", "1\xC2\xBA. Un avi\xC3\xB3n sale.\n2\xC2\xBA. Un avi\xC3\xB3n despega.",
     "Un avi\xC3\xB3n sale.|Un avi\xC3\xB3n despega.", 0, 0},
};

/* Parses n responses and prints each response whose result differs from the expected result. Returns the number of
 * differences. */
static int check_table(const example *e, size_t n) {
    int failures = 0;
    aoei_sentences l = {.n = 0};
    for (size_t i = 0; i < n; i++) {
        char got[4096] = "";
        size_t at = 0;
        aoei_parse_outcome outcome;
        assert_int_equal(
            aoei_parse_sentences(&l, &outcome, aoe_text_of(e[i].reply), e[i].most ? e[i].most : 5, e[i].truncated), 0);
        assert_int_equal(outcome == AOEI_CHAT_LIST, l.n > 0);
        for (size_t k = 0; k < l.n; k++) {
            const aoe_text s = aoei_sentences_item(&l, k);
            at += (size_t)snprintf(got + at, sizeof got - at, "%s%.*s", k ? "|" : "", (int)s.len, s.data);
        }
        if (!l.n)
            snprintf(got, sizeof got, "%s", outcome == AOEI_CHAT_REFUSED ? "REFUSED" : "NOTHING");
        if (strcmp(got, e[i].want) != 0) {
            print_message("%s:\n  expected %s\n  found    %s\n", e[i].name, e[i].want, got);
            failures++;
        }
    }
    aoei_sentences_free(&l);
    return failures;
}

#define TABLE_TEST(table)                                                                                              \
    static void test_##table(void **state) {                                                                           \
        (void)state;                                                                                                   \
        assert_int_equal(check_table(table, sizeof table / sizeof *table), 0);                                         \
    }
TABLE_TEST(numbered)
TABLE_TEST(bulleted)
TABLE_TEST(quoted)
TABLE_TEST(json)
TABLE_TEST(surrounding_text)
TABLE_TEST(several_turns)
TABLE_TEST(refusals)
TABLE_TEST(languages)

static int parse_once(void *reply) {
    aoei_sentences l = {.n = 0};
    aoei_parse_outcome outcome;
    const int rc = aoei_parse_sentences(&l, &outcome, aoe_text_of(reply), 5, 0);
    aoei_sentences_free(&l);
    return rc;
}

static void test_memory(void **state) {
    (void)state;
    char list[] = "Sure:\n1. A plane departs.\n2. An aircraft takes off.",
         strings[] = "[\"A plane departs.\", \"B \\u00e9 c.\"]";
    assert_true(test_alloc_failures(parse_once, list, 0) > 2);
    assert_true(test_alloc_failures(parse_once, strings, 0) > 2);
}

static void test_long_replies(void **state) {
    (void)state;
    enum { ITEMS = 20000 };
    char *reply = malloc(ITEMS * 40);
    size_t at = 0;
    aoei_sentences l = {.n = 0};
    aoei_parse_outcome outcome;
    assert_non_null(reply);
    for (int i = 1; i <= ITEMS; i++)
        at += (size_t)sprintf(reply + at, "%d. Sentence with a number %d.\n", i % 900 ? i % 900 : 900, i);
    assert_int_equal(aoei_parse_sentences(&l, &outcome, (aoe_text){reply, at}, 50, 0), 0);
    assert_int_equal(l.n, 50);
    memset(reply, '[', ITEMS);
    assert_int_equal(aoei_parse_sentences(&l, &outcome, (aoe_text){reply, ITEMS}, 5, 0), 0);
    assert_int_equal(outcome, AOEI_CHAT_NOTHING);
    for (int i = 0; i < ITEMS; i++)
        memcpy(reply + 4 * i, "1. a", 4);
    assert_int_equal(aoei_parse_sentences(&l, &outcome, (aoe_text){reply, (size_t)ITEMS * 4}, 5, 0), 0);
    aoei_sentences_free(&l);
    free(reply);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbered),         cmocka_unit_test(test_bulleted),
        cmocka_unit_test(test_quoted),           cmocka_unit_test(test_json),
        cmocka_unit_test(test_surrounding_text), cmocka_unit_test(test_several_turns),
        cmocka_unit_test(test_refusals),         cmocka_unit_test(test_languages),
        cmocka_unit_test(test_memory),           cmocka_unit_test(test_long_replies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
