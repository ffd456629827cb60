/* SPDX-License-Identifier: MIT
 * The table of routes, with the JSON schemas of their answers.
 */
#include "serve/routes.h"

#include "serve/cohere.h"
#include "serve/ollama.h"
#include "serve/openai.h"
#include "serve/predict.h"
#include "serve/rerank.h"
#include "serve/search_routes.h"
#include "serve/status.h"
#include "serve/tei_embed.h"
#include "serve/tei_tokens.h"

#define VECTORS       "{\"type\":\"array\",\"items\":" SCORES "}"
#define STATES        "{\"type\":\"array\",\"items\":" VECTORS "}"
#define SCORES        "{\"type\":\"array\",\"items\":{\"type\":\"number\",\"nullable\":true}}"
#define EMBED_SUMMARY "Computes embeddings, as text-embeddings-inference does."
#define OPENAI_ANSWER                                                                                                  \
    "{\"type\":\"object\",\"required\":[\"object\",\"data\",\"model\",\"usage\"],\"properties\":{\"object\":{"         \
    "\"type\":\"string\"},\"data\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"object\","       \
    "\"index\",\"embedding\"],\"properties\":{\"object\":{\"type\":\"string\"},\"index\":{\"type\":\"integer\"},"      \
    "\"embedding\":{\"oneOf\":[{\"type\":\"array\",\"items\":{\"type\":\"number\",\"nullable\":true}},{\"type\":"      \
    "\"string\"}]}}}},\"model\":{\"type\":\"string\"},\"usage\":{\"type\":\"object\"}}}"
#define TOKENS                                                                                                         \
    "{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"id\","           \
    "\"text\",\"special\",\"start\",\"stop\"],\"properties\":{\"id\":" INTEGER ",\"text\":" TEXT ","                   \
    "\"special\":{\"type\":\"boolean\"},\"start\":" INTEGER_OR_NULL ",\"stop\":" INTEGER_OR_NULL "}}}}"
#define INTEGER_OR_NULL "{\"type\":\"integer\",\"nullable\":true}"
#define SCORE           "{\"type\":\"number\",\"nullable\":true}"
#define PREDICTION                                                                                                     \
    "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"score\",\"label\"],\"properties\":{"           \
    "\"score\":" SCORE ",\"label\":" TEXT "}}}"
#define PREDICTIONS "{\"anyOf\":[" PREDICTION ",{\"type\":\"array\",\"items\":" PREDICTION "}]}"
#define RANKS                                                                                                          \
    "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"index\",\"score\"],\"properties\":{"           \
    "\"index\":" INTEGER ",\"score\":" SCORE ",\"text\":" TEXT "}}}"
#define RERANK_RESULT                                                                                                  \
    "{\"type\":\"object\",\"required\":[\"index\",\"relevance_score\"],\"properties\":{\"index\":" INTEGER ","         \
    "\"relevance_score\":" SCORE ",\"document\":{\"type\":\"object\",\"required\":[\"text\"],"                         \
    "\"properties\":{\"text\":" TEXT "}}}}"
#define RERANK_ANSWER                                                                                                  \
    "{\"type\":\"object\",\"required\":[\"model\",\"results\",\"usage\",\"meta\"],\"properties\":{"                    \
    "\"object\":" TEXT ",\"model\":" TEXT ",\"results\":{\"type\":\"array\",\"items\":" RERANK_RESULT "},"             \
    "\"usage\":" OBJECT ",\"meta\":" OBJECT "}}"
#define RERANK_SUMMARY "Ranks texts by their scores with a query, as text-embeddings-inference, Jina and Cohere do."
/* The routes of one path that ranks texts, for both forms of the body */
#define RERANK(path, summary)                                                                                          \
    {"POST",   path, aoei_route_rerank, aoei_rerank_texts_fields, AOEI_RERANK_TEXTS_FIELDS, summary, RANKS, NULL,      \
     AOEI_TEI, 0},                                                                                                     \
    {                                                                                                                  \
        "POST", path, aoei_route_rerank_documents, aoei_rerank_documents_fields, AOEI_RERANK_DOCUMENTS_FIELDS,         \
            summary, RERANK_ANSWER, NULL, AOEI_COHERE, 0                                                               \
    }
#define INTEGER "{\"type\":\"integer\"}"
#define CODES   "{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":" INTEGER "}}"
#define COHERE_ANSWER                                                                                                  \
    "{\"type\":\"object\",\"required\":[\"id\",\"embeddings\",\"texts\",\"meta\",\"response_type\"],"                  \
    "\"properties\":{\"id\":" TEXT ",\"texts\":" TEXTS ",\"meta\":" OBJECT ",\"response_type\":" TEXT                  \
    ",\"embeddings\":{\"type\":\"object\",\"properties\":{\"float\":" VECTORS ",\"int8\":" CODES ",\"uint8\":" CODES   \
    ",\"binary\":" CODES ",\"ubinary\":" CODES ",\"base64\":" TEXTS "}}}}"
#define OLLAMA_ANSWER                                                                                                  \
    "{\"type\":\"object\",\"required\":[\"model\",\"embeddings\",\"total_duration\",\"load_duration\","                \
    "\"prompt_eval_count\"],\"properties\":{\"model\":" TEXT ",\"embeddings\":" VECTORS ",\"total_duration\":" INTEGER \
    ",\"load_duration\":" INTEGER ",\"prompt_eval_count\":" INTEGER "}}"
#define OLLAMA_VECTOR "{\"type\":\"object\",\"required\":[\"embedding\"],\"properties\":{\"embedding\":" SCORES "}}"
#define OLLAMA_MODELS                                                                                                  \
    "{\"type\":\"object\",\"required\":[\"models\"],\"properties\":{\"models\":{\"type\":\"array\",\"items\":{"        \
    "\"type\":\"object\",\"required\":[\"name\",\"model\",\"size\",\"digest\",\"details\"],\"properties\":{"           \
    "\"name\":" TEXT ",\"model\":" TEXT ",\"modified_at\":{\"type\":\"string\",\"nullable\":true},"                    \
    "\"size\":" INTEGER ",\"digest\":" TEXT ",\"details\":" OBJECT "}}}}}"
#define OLLAMA_SHOW                                                                                                    \
    "{\"type\":\"object\",\"required\":[\"details\",\"model_info\",\"capabilities\"],\"properties\":{"                 \
    "\"details\":" OBJECT ",\"model_info\":" OBJECT ",\"capabilities\":" TEXTS "}}"
#define OLLAMA_VERSION "{\"type\":\"object\",\"required\":[\"version\"],\"properties\":{\"version\":" TEXT "}}"
#define OBJECT         "{\"type\":\"object\"}"
#define TEXT           "{\"type\":\"string\"}"
#define TEXTS          "{\"type\":\"array\",\"items\":" TEXT "}"
#define POINTS         "{\"type\":\"object\",\"required\":[\"points\"],\"properties\":{\"points\":" VECTORS "}}"

#define TEXT_OR_NULL    "{\"type\":\"string\",\"nullable\":true}"
#define INTEGER_OR_NULL "{\"type\":\"integer\",\"nullable\":true}"
#define HITS                                                                                                           \
    "{\"type\":\"object\",\"required\":[\"query\",\"hits\"],\"properties\":{\"query\":" TEXT                           \
    ",\"hits\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"id\",\"name\",\"path\",\"line\","    \
    "\"last_line\",\"heading\",\"score\",\"text\",\"highlights\"],\"properties\":{\"id\":" TEXT ",\"name\":" TEXT      \
    ",\"path\":" TEXT_OR_NULL ",\"line\":" INTEGER ",\"last_line\":" INTEGER ",\"heading\":" TEXT                      \
    ",\"score\":{\"type\":\"number\",\"nullable\":true},\"text\":" TEXT ",\"fields\":" OBJECT ",\"highlights\":" CODES \
    "}}}}}"
#define INDEXES                                                                                                        \
    "{\"type\":\"object\",\"required\":[\"indexes\"],\"properties\":{\"indexes\":{\"type\":\"array\",\"items\":{"      \
    "\"type\":\"object\",\"required\":[\"name\",\"documents\",\"passages\",\"dims\",\"model\",\"writable\"],"          \
    "\"properties\":{\"name\":" TEXT ",\"documents\":" INTEGER_OR_NULL ",\"passages\":" INTEGER_OR_NULL                \
    ",\"dims\":" INTEGER_OR_NULL ",\"model\":" TEXT_OR_NULL ",\"writable\":{\"type\":\"boolean\"},\"error\":" TEXT     \
    "}}}}}"
#define ADDED                                                                                                          \
    "{\"type\":\"object\",\"required\":[\"added\",\"replaced\",\"documents\",\"passages\"],\"properties\":{"           \
    "\"added\":" INTEGER ",\"replaced\":" INTEGER ",\"documents\":" INTEGER ",\"passages\":" INTEGER "}}"
#define REMOVED                                                                                                        \
    "{\"type\":\"object\",\"required\":[\"removed\",\"documents\",\"passages\"],\"properties\":{\"removed\":" INTEGER  \
    ",\"documents\":" INTEGER ",\"passages\":" INTEGER "}}"

const aoei_route aoei_routes[] = {
    {"GET", "/", aoei_route_page, NULL, 0, "The web page.", TEXT, "text/html", AOEI_TEI, AOEI_ROUTE_OPEN},
    {"POST", "/", aoei_route_root, aoei_embed_fields, AOEI_EMBED_FIELDS,
     "The same as /embed or /similarity; with a cross-encoder, the same as /rerank or /predict.", VECTORS, NULL,
     AOEI_TEI, 0},
    {"POST", "/", aoei_route_similarity, aoei_similarity_fields, AOEI_SIMILARITY_FIELDS, "The same as /similarity.",
     SCORES, NULL, AOEI_TEI, 0},
    {"POST", "/", aoei_route_predict, aoei_predict_fields, AOEI_PREDICT_FIELDS, "The same as /predict.", PREDICTIONS,
     NULL, AOEI_TEI, 0},
    {"POST", "/", aoei_route_rerank_texts, aoei_rerank_texts_fields, AOEI_RERANK_TEXTS_FIELDS, "The same as /rerank.",
     RANKS, NULL, AOEI_TEI, 0},
    {"POST", "/embed", aoei_route_embed, aoei_embed_fields, AOEI_EMBED_FIELDS, EMBED_SUMMARY, VECTORS, NULL, AOEI_TEI,
     0},
    {"POST", "/embed_all", aoei_route_embed_all, aoei_embed_all_fields, AOEI_EMBED_ALL_FIELDS,
     "Computes the hidden states of all tokens.", STATES, NULL, AOEI_TEI, 0},
    {"POST", "/embed_sparse", aoei_route_embed_sparse, NULL, 0, "Not supported: the models are dense.", NULL, NULL,
     AOEI_TEI, 0},
    {"POST", "/similarity", aoei_route_similarity, aoei_similarity_fields, AOEI_SIMILARITY_FIELDS,
     "Compares a text with others.", SCORES, NULL, AOEI_TEI, 0},
    {"POST", "/predict", aoei_route_predict, aoei_predict_fields, AOEI_PREDICT_FIELDS,
     "Classifies texts or pairs with a cross-encoder.", PREDICTIONS, NULL, AOEI_TEI, 0},
    RERANK("/rerank", RERANK_SUMMARY),
    RERANK("/v1/rerank", "The same as /rerank."),
    RERANK("/v2/rerank", "The same as /rerank."),
    RERANK("/v1/reranking", "The same as /rerank."),
    RERANK("/reranking", "The same as /rerank."),
    {"POST", "/tokenize", aoei_route_tokenize, aoei_tokenize_fields, AOEI_TOKENIZE_FIELDS,
     "Returns the tokens of texts, with their ranges in bytes.", TOKENS, NULL, AOEI_TEI, AOEI_ROUTE_WAITS},
    {"POST", "/decode", aoei_route_decode, aoei_decode_fields, AOEI_DECODE_FIELDS, "Returns the texts of token ids.",
     TEXTS, NULL, AOEI_TEI, AOEI_ROUTE_WAITS},
    {"POST", "/map", aoei_route_map, aoei_map_fields, AOEI_MAP_FIELDS,
     "Computes a map of texts: the two principal components of their embeddings.", POINTS, NULL, AOEI_TEI,
     AOEI_ROUTE_WAITS},
    {"POST", "/v1/embeddings", aoei_route_openai, aoei_openai_fields, AOEI_OPENAI_FIELDS,
     "Computes embeddings, as OpenAI does.", OPENAI_ANSWER, NULL, AOEI_OPENAI, 0},
    {"POST", "/embeddings", aoei_route_openai, aoei_openai_fields, AOEI_OPENAI_FIELDS, "The same as /v1/embeddings.",
     OPENAI_ANSWER, NULL, AOEI_OPENAI, 0},
    {"GET", "/v1/models", aoei_route_openai_models, NULL, 0, "Lists the models.", OBJECT, NULL, AOEI_OPENAI, 0},
    {"POST", "/v2/embed", aoei_route_cohere, aoei_cohere_fields, AOEI_COHERE_FIELDS,
     "Computes embeddings, as Cohere does.", COHERE_ANSWER, NULL, AOEI_COHERE, 0},
    {"POST", "/api/embed", aoei_route_ollama_embed, aoei_ollama_embed_fields, AOEI_OLLAMA_EMBED_FIELDS,
     "Computes embeddings, as ollama does.", OLLAMA_ANSWER, NULL, AOEI_OLLAMA, 0},
    {"POST", "/api/embeddings", aoei_route_ollama_embeddings, aoei_ollama_embeddings_fields,
     AOEI_OLLAMA_EMBEDDINGS_FIELDS, "Computes one embedding that is not scaled, as older versions of ollama do.",
     OLLAMA_VECTOR, NULL, AOEI_OLLAMA, 0},
    {"POST", "/api/show", aoei_route_ollama_show, aoei_ollama_show_fields, AOEI_OLLAMA_SHOW_FIELDS,
     "Describes a model, as ollama does.", OLLAMA_SHOW, NULL, AOEI_OLLAMA, AOEI_ROUTE_WAITS},
    {"GET", "/api/tags", aoei_route_ollama_tags, NULL, 0, "Lists the models, as ollama does.", OLLAMA_MODELS, NULL,
     AOEI_OLLAMA, AOEI_ROUTE_WAITS},
    {"GET", "/api/ps", aoei_route_ollama_ps, NULL, 0, "Lists the models that are open, as ollama does.", OLLAMA_MODELS,
     NULL, AOEI_OLLAMA, AOEI_ROUTE_WAITS},
    {"GET", "/api/version", aoei_route_ollama_version, NULL, 0, "Version of ollama whose routes are offered.",
     OLLAMA_VERSION, NULL, AOEI_OLLAMA, 0},
    {"POST", "/search", aoei_route_search, aoei_search_fields, AOEI_SEARCH_FIELDS,
     "Finds the best passages of an index for a query, as aoe search does.", HITS, NULL, AOEI_TEI, AOEI_ROUTE_WAITS},
    {"GET", "/indexes", aoei_route_indexes, NULL, 0, "Lists the indexes.", INDEXES, NULL, AOEI_TEI, AOEI_ROUTE_WAITS},
    {"POST", "/index/{name}", aoei_route_index_add, aoei_add_fields, AOEI_ADD_FIELDS,
     "Adds documents to an index, or replaces them.", ADDED, NULL, AOEI_TEI, AOEI_ROUTE_WAITS | AOEI_ROUTE_WRITES},
    {"DELETE", "/index/{name}/{id}", aoei_route_index_remove, NULL, 0, "Removes a document from an index.", REMOVED,
     NULL, AOEI_TEI, AOEI_ROUTE_WAITS | AOEI_ROUTE_WRITES},
    {"GET", "/info", aoei_route_info, NULL, 0, "Describes the first model and the limits of the server.", OBJECT, NULL,
     AOEI_TEI, 0},
    {"GET", "/health", aoei_route_health, NULL, 0, "Answers 200 if the server can compute.", OBJECT, NULL, AOEI_TEI,
     AOEI_ROUTE_OPEN},
    {"GET", "/ping", aoei_route_health, NULL, 0, "The same as /health.", OBJECT, NULL, AOEI_TEI, 0},
    {"GET", "/livez", aoei_route_live, NULL, 0, "Answers 200 while the process runs.", OBJECT, NULL, AOEI_TEI,
     AOEI_ROUTE_OPEN},
    {"GET", "/readyz", aoei_route_ready, NULL, 0, "Answers 200, or 503 while the server stops.", OBJECT, NULL, AOEI_TEI,
     AOEI_ROUTE_OPEN},
    {"GET", "/metrics", aoei_route_metrics, NULL, 0, "Counters and histograms for Prometheus.", TEXT, "text/plain",
     AOEI_TEI, 0},
    {"GET", "/openapi.json", aoei_route_openapi, NULL, 0, "This document.", OBJECT, NULL, AOEI_TEI, 0},
    {"GET", "/docs", aoei_route_docs, NULL, 0, "Lists the routes as a web page.", TEXT, "text/html", AOEI_TEI, 0},
};

const size_t aoei_n_routes = sizeof aoei_routes / sizeof *aoei_routes;
