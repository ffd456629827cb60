#!/bin/sh
# SPDX-License-Identifier: MIT
# prepare.sh: writes the unlabelled training texts of aoe-small-en (texts.txt), triplets of SNLI (snli-triplets.tsv),
# pairs of a short and a longer text (pairs.tsv, pairs-2.tsv) and three development sets for retrieval (dev-ir, dev-ir2,
# dev-ir3) to $AOE_WORK, from the data sets in $AOE_DATA and the sources that fetch.sh copied to $AOE_TEXT.
#     recipes/aoe-small-en/prepare.sh [FOLDER...]
# Texts that overlap a text of an evaluation set or of a development set are left out: equal texts, and texts that
# contain the other text or are contained in it, from five words on (recipes/overlaps/without.awk). FOLDER: further
# evaluation sets (see recipes/overlaps/test_texts.sh), for example STS13, STS16 and SICK, which $AOE_DATA need not
# contain.
set -eu
: "${AOE_DATA:?folder of the data sets: stsb, sts12_14_15, mrpc, qnli, qqp_part, ir, corpus_books, corpus_wiki, snli, \
nli_part, flickr30k, long_pairs}"
: "${AOE_TEXT:?folder that fetch.sh wrote}"
: "${AOE_WORK:?folder for the output files}"
here=$(cd "$(dirname "$0")" && pwd)
overlaps=$here/../overlaps
data=$AOE_DATA work=$AOE_WORK/prepare.part
awk=${AWK:-mawk}
export LC_ALL=C
tab=$(printf '\t')
for file in stsb/train.tsv stsb/dev.tsv stsb/test.tsv mrpc/train.tsv mrpc/test.tsv qqp_part/dev.tsv qnli/dev.tsv \
    sts12_14_15/senteval/STS12-en-test sts12_14_15/senteval/STS14-en-test sts12_14_15/senteval/STS15-en-test \
    ir/cranfield/corpus.jsonl \
    ir/npl/corpus.jsonl corpus_books/books_1m.txt.zst corpus_wiki/wiki_sentences.tsv.zst snli/dev.tsv snli/test.tsv \
    nli_part/triples.tsv \
    nli_part/pairs_train.tsv nli_part/pairs_heldout.tsv flickr30k/train.tsv flickr30k/val.tsv flickr30k/test.tsv \
    flickr30k/images_in_sts_eval.txt long_pairs/dev.tsv.zst long_pairs/test.tsv.zst; do
    [ -e "$data/$file" ] && continue
    echo "prepare.sh: $data/$file is missing; copy the data set there (without it, evaluation texts could become" \
        "training texts)" >&2
    exit 1
done
for file in "$AOE_TEXT/translation-en.txt" /usr/share/wordnet/data.noun; do
    [ -e "$file" ] || { echo "prepare.sh: $file is missing; run fetch.sh" >&2; exit 1; }
done
mkdir -p "$work/documents" "$work/texts" "$work/pairs"
rm -f "$work"/texts/* "$work"/*.texts

# --- evaluation texts: all data sets of which no part is training text, and all captions of images in STS sets (the
# premises of SNLI are captions). stsb/train.tsv belongs to them, because it contains pairs of STS12 to STS16 ---
awk -F '\t' 'NR == FNR { listed[$1] = 1; next } FNR > 1 && ($1 in listed) { print $3 }' \
    "$data/flickr30k/images_in_sts_eval.txt" "$data/flickr30k/train.tsv" >"$work/captions.txt"
"$overlaps/test_texts.sh" "$data"/stsb/*.tsv "$data/sts12_14_15/senteval" "$data/sts12_14_15/raw" "$data/mrpc" \
    "$data/qqp_part/dev.tsv" "$data/qnli" "$data/ir" "$data/snli" \
    "$data/nli_part/pairs_heldout.tsv" "$data/flickr30k/val.tsv" "$data/flickr30k/test.tsv" "$work/captions.txt" \
    "$data/long_pairs/dev.tsv.zst" "$data/long_pairs/test.tsv.zst" "$@" >"$work/evaluation.texts"
echo "$(wc -l <"$work/evaluation.texts") distinct texts of evaluation sets" >&2
without() { # without TEXTS NAME [OPTION...]: prints the rows on stdin except those that overlap $work/TEXTS.texts
    texts=$1 name=$2
    shift 2
    $awk -v name="$name" "$@" -f "$overlaps/without.awk" "$work/$texts.texts" -
}

# --- documents: rows "title TAB text" ---
# blobs PLACE COMMIT FILES FORMAT: prints the files below 4 MiB of a commit whose path matches the regular expression
# FILES
blobs() {
    repository=$AOE_TEXT/git/$(echo "$1" | tr / +)
    git -C "$repository" ls-tree -r -l "$2" | awk -F '\t' -v files="$3" '
        { split($1, part, " ") }
        $2 ~ files && part[4] ~ /^[0-9]+$/ && part[4] < 4194304 { print part[3] " " $2 }' |
            git -C "$repository" cat-file --batch="$4"
}
convert() { # convert FORMAT PLACE COMMIT FILES
    case $1 in
    jsonl) blobs "$2" "$3" "$4" '%(rest)' | $awk -v lines=1 -f "$here/arxiv.awk" ;;
    json) blobs "$2" "$3" "$4" '%(rest)' | $awk -f "$here/arxiv.awk" ;;
    wikipedia) blobs "$2" "$3" "$4" '@@FILE %(rest)' |
        $awk -v science="$work/documents/wikipedia-science" -f "$here/wikipedia.awk" ;;
    html)
        case $2 in
        debian:*)
            find "$AOE_TEXT/debian/${2#debian:}" -name '*.html' -type f |
                grep -vE -e '/(_modules|_sources|genindex|search|py-modindex|doxygen|javadoc|opencv4/java)' \
                    -e '/(annotated|hierarchy|class[A-Z]|struct[A-Z])' \
                    -e '[.]tr[.]|[.](de|es|fr|ja|ko|tr|da|pt-br|zh-cn)[.]' |
                sort | xargs -d '\n' cat
            ;;
        *) blobs "$2" "$3" "$4" '<body class="%(rest)">' ;;
        esac | $awk -f "$here/html.awk"
        ;;
    esac
}
grep -v '^#' "$here/sources.tsv" | cut -f 1 | sort -u | while read -r name; do
    [ -e "$work/documents/$name" ] && continue
    echo "== $name" >&2
    awk -F '\t' -v name="$name" '$1 == name' "$here/sources.tsv" |
        while IFS=$tab read -r _ format place version files _; do
        convert "$format" "$place" "$version" "$files" </dev/null
    done |
        $awk -F '\t' '{ key = tolower($1 $2); gsub(/[^a-z0-9]/, "", key); if (!(key in seen)) print; seen[key] = 1 }' \
        >"$work/documents/part"
    mv "$work/documents/part" "$work/documents/$name"
done
# rows "lemmas TAB definition TAB examples"
cat /usr/share/wordnet/data.noun /usr/share/wordnet/data.verb /usr/share/wordnet/data.adj /usr/share/wordnet/data.adv |
    grep -v '^  ' |
    awk -f "$here/wordnet.awk" >"$work/documents/wordnet"
# rows "package TAB short description TAB paragraph"
awk -f "$here/descriptions.awk" "$AOE_TEXT/translation-en.txt" >"$work/documents/descriptions"

(cd "$work/documents" && sha256sum -c --quiet "$here/documents.sha256") ||
    echo "prepare.sh: some documents differ from those of the published model; the sources have changed" >&2

# --- development sets ---
beir() { # beir FOLDER QUERIES: rows "query TAB document" as a BEIR data set; only the first QUERIES rows have a query
    rm -rf "$AOE_WORK/$1"
    mkdir -p "$AOE_WORK/$1/qrels"
    awk -F '\t' -v queries="$2" -v folder="$AOE_WORK/$1" '
        function string(text) {
            gsub(/\\/, "&&", text)
            gsub(/"/, "\\\"", text)
            gsub(/[\001-\037]/, " ", text)
            return "\"" text "\""
        }
        BEGIN { print "query-id\tcorpus-id\tscore" >(folder "/qrels/test.tsv") }
        {
            print "{\"_id\": \"d" NR "\", \"title\": \"\", \"text\": " string($2) "}" >(folder "/corpus.jsonl")
            if (NR > queries) next
            print "{\"_id\": \"q" NR "\", \"text\": " string($1) "}" >(folder "/queries.jsonl")
            print "q" NR "\td" NR "\t1" >(folder "/qrels/test.tsv")
        }'
}
order() { # order COLUMN: prints the rows in the order of the hash of a column
    $awk -v column="$1" -f "$here/hash.awk" | sort -t "$tab" -k 1,1 -s | cut -f 2-
}
# titles and abstracts
awk -F '\t' 'split($2, w, " ") >= 60 && split($2, w, " ") <= 250 && split($1, w, " ") >= 4' "$work/documents/arxiv" |
    without evaluation dev-ir | order 1 | head -n 4000 >"$work/dev-ir.rows"
cut -f 1,2 "$work/dev-ir.rows" | beir dev-ir 400
# nouns, verbs and adjectives with definitions that do not contain them; short and long package descriptions
awk -F '\t' 'split($2, w, " ") >= 12 {
    definition = tolower($2)
    n = split($1, lemma, ", ")
    for (i = 1; i <= n; i++) {
        m = split(tolower(lemma[i]), w, /[ -]/)
        for (j = 1; j <= m; j++) if (length(w[j]) > 3 && index(definition, substr(w[j], 1, 5))) next
    }
    print $1 "\t" $2
}' "$work/documents/wordnet" | without evaluation dev-wordnet -v from=2 | order 2 |
    head -n 2000 >"$work/dev-wordnet.rows"
awk -F '\t' '!first[$1]++ && split($3, w, " ") >= 25 && split($3, w, " ") <= 150 &&
    $2 !~ /dummy|transitional|debug|dbgsym|documentation|development|header/ &&
    $1 !~ /^(lib|golang|node|ruby|r-cran|python3?-|haskell|task|texlive|fonts|hunspell|linux-|firmware)/ &&
    $1 !~ /-(dev|doc|data|common|dbg|utils)$/ {
    print $2 "\t" $3
}' "$work/documents/descriptions" | awk -F '\t' '!text[$2]++ && !seen[$1]++' | without evaluation dev-descriptions |
    order 2 | head -n 1000 >"$work/dev-descriptions.rows"
{
    head -n 200 "$work/dev-wordnet.rows"
    head -n 100 "$work/dev-descriptions.rows"
    tail -n +201 "$work/dev-wordnet.rows"
    tail -n +101 "$work/dev-descriptions.rows"
} | sed "s/^\([^,$tab]*\), [^$tab]*$tab/\1$tab/" | beir dev-ir2 300
{
    cut -f 1,2 "$work/dev-ir.rows"
    cat "$work/dev-wordnet.rows" "$work/dev-descriptions.rows"
    cut -f 1 "$work/dev-wordnet.rows" | sed 's/, /\n/g'
} >"$work/dev.txt"
"$overlaps/test_texts.sh" "$work/dev.txt" >"$work/dev.texts"
cat "$work/evaluation.texts" "$work/dev.texts" >"$work/leak.texts"

# --- texts: rows "source.kind TAB text" ---
cut_texts() { # cut_texts SOURCE SPANS QUESTIONS: cuts the documents on stdin
    without dev "$1" -v least=0 -v shortest=30 | $awk -v source="$1" -v spans="$2" -v questions="$3" -v passages=1 \
        -v seed=1 -f "$here/cut.awk" >"$work/texts/$1"
}
# computer science and mathematics have more abstracts than the other fields
sample() { # sample NAME: the abstracts with a hash below the rate of their category
    $awk -v column=1 -f "$here/hash.awk" "$work/documents/$1" | awk -F '\t' -v OFS='\t' '{
        rate = $4 ~ /^cs[.]/ ? 0.28 : $4 ~ /^(math[.]|stat[.]ME|stat[.]ML)/ ? 0.5 : 1
        if ($1 / 2147483647 < rate) print $2, $3
    }'
}
{ sample arxiv && sample arxiv-more; } |
    $awk -F '\t' '{ key = tolower($1); gsub(/[^a-z0-9]/, "", key); if (!(key in seen)) print; seen[key] = 1 }' |
    cut_texts arxiv 0.33 0.15
cut_texts wikipedia-science 0.4 0.15 <"$work/documents/wikipedia-science"
cut_texts wikipedia 0.1 0.1 <"$work/documents/wikipedia"
cut_texts openstax-physics 0.35 0.15 <"$work/documents/openstax-physics"
cut_texts openstax 0.2 0.15 <"$work/documents/openstax"
cut_texts documentation 0.3 0.2 <"$work/documents/documentation"
without dev descriptions -v least=0 <"$work/documents/descriptions" | cut -f 2,3 | cut_texts descriptions 0.3 0.3
without dev wordnet -v least=0 <"$work/documents/wordnet" | awk -F '\t' '{
    if (split($2, w, " ") >= 3) print "wordnet.definition\t" $2
    print "wordnet.entry\t" $1 ": " $2
    n = split($1, lemma, ", ")
    if (n > 1) print "wordnet.keyword\t" $1
    for (i = 1; i <= n; i++) {
        if (split(lemma[i], w, " ") < 2 && length(lemma[i]) <= 5) continue
        print "wordnet.keyword\t" lemma[i]
        if (++count % 12 == 0) print "wordnet.question\twhat is " lemma[i] (count % 24 ? "?" : "")
    }
    m = split($3, example, "\"")
    for (i = 2; i <= m; i += 2) if (split(example[i], w, " ") >= 4) print "wordnet.example\t" example[i]
}' >"$work/texts/wordnet"
zstd -dcq "$data/corpus_books/books_1m.txt.zst" | sed "s/^/books.sentence$tab/" >"$work/texts/books"
zstd -dcq "$data/corpus_wiki/wiki_sentences.tsv.zst" |
    awk -F '\t' 'NR > 1 && $1 != "qnli_sentences" { print "wikipedia-sentences.sentence\t" $2 }' \
    >"$work/texts/wikipedia-sentences"
{
    tail -n +2 "$data/nli_part/pairs_train.tsv" | awk -F '\t' '$5 == 0 && $4 !~ /mnli/' | cut -f 2,3
    tail -n +2 "$data/nli_part/triples.tsv" | awk -F '\t' '$5 == 0 && $4 !~ /mnli/' | cut -f 1-3
} | tr '\t' '\n' | sed "s/^/snli.sentence$tab/" >"$work/texts/snli"

# --- selection and order ---
rates=$(grep -v '^#' "$here/rates.txt" | tr '\n' ' ')
for name in snli wordnet arxiv openstax-physics wikipedia-science documentation descriptions openstax wikipedia \
    wikipedia-sentences books; do
    cat "$work/texts/$name"
done | iconv -f UTF-8 -t UTF-8 -c | $awk -v rates="$rates" -f "$here/collect.awk" | without leak texts -v from=3 |
    sort -S 2G -T "$work" >"$work/texts.rows"
cut -f 2 "$work/texts.rows" | sort | uniq -c | awk '{ print $2 "\t" $1 }' >"$AOE_WORK/counts.tsv"
cut -f 3 "$work/texts.rows" >"$work/texts.txt"

# --- triplets of SNLI: those of the data set, and all pairs of an entailment and a contradiction of a premise ---
{
    printf 'query\tpositive\tnegative\n'
    {
        tail -n +2 "$data/nli_part/triples.tsv" | awk -F '\t' '$5 == 0 && $4 != "" && $4 !~ /mnli/' | cut -f 1-3
        tail -n +2 "$data/nli_part/pairs_train.tsv" | awk -F '\t' '$5 == 0 && $4 !~ /mnli/ && $1 != "neutral"' |
            sort -t "$tab" -k 2,2 -k 1,1r -s |
            awk -F '\t' '
                $2 != premise { premise = $2; n = 0 }
                $1 == "entailment" { positive[++n] = $3 }
                $1 == "contradiction" { for (i = 1; i <= n; i++) print premise "\t" positive[i] "\t" $3 }'
    } | without leak triplets | awk '!seen[tolower($0)]++'
} >"$AOE_WORK/snli-triplets.tsv"

# --- pairs of a short text and a longer text about it: titles, lemmas, headings and short descriptions with abstracts,
# definitions, paragraphs and long descriptions. pairs-2.tsv has more of them, without the titles that left-out.txt
# lists ---
# candidates NAME SHORTEST: reads rows "source TAB query TAB text", and writes the rows of different queries of each
# source
candidates() {
    grep -v '"' | without leak "$1" -v from=2 -v shortest="$2" |
        awk -F '\t' '!query[$1, tolower($2)]++ && !text[$1, $3]++' | order 2 |
        awk -F '\t' -v folder="$work/pairs" '{ print $2 "\t" $3 >(folder "/" $1) }'
}
{
    awk -F '\t' \
        'split($2, w, " ") >= 40 && split($2, w, " ") <= 300 && split($1, w, " ") >= 3 { print "arxiv\t" $1 "\t" $2 }' \
        "$work/documents/arxiv" "$work/documents/arxiv-more"
    awk -F '\t' 'split($3, w, " ") >= 15 && split($3, w, " ") <= 200 && $2 !~ /transitional|dummy|debug/ {
        print "descriptions\t" $2 "\t" $3 }' "$work/documents/descriptions"
    for name in wikipedia-science openstax openstax-physics documentation; do
        awk -F '\t' -v name="$name" 'split($2, w, " ") >= 25 && split($2, w, " ") <= 200 && split($1, w, " ") >= 2 {
            print name "\t" $1 "\t" $2 }' "$work/documents/$name"
    done
} | candidates pairs 30
awk -F '\t' 'split($2, w, " ") >= 4 { split($1, lemma, ", "); print "wordnet\t" lemma[1] "\t" $2 }' \
    "$work/documents/wordnet" |
    candidates "pairs of wordnet" 0
pairs() { # pairs ARXIV WORDNET DESCRIPTIONS OTHERS: a table of pairs, with these numbers of rows of each source
    printf 'query\tpositive\n'
    {
        head -n "$1" "$work/pairs/arxiv"
        head -n "$2" "$work/pairs/wordnet"
        head -n "$3" "$work/pairs/descriptions"
        for name in wikipedia-science openstax openstax-physics documentation; do
            head -n "$4" "$work/pairs/$name"
        done
    } | LC_ALL=C.UTF-8 grep -ax '.*' # only valid UTF-8
}
pairs 20000 10000 6000 3000 >"$AOE_WORK/pairs.tsv"
pairs 64000 24000 16000 6000 | $awk -v column=1 -f "$here/hash.awk" |
    $awk -F '\t' 'NR == FNR { left_out[$1] = 1; next } !($1 in left_out)' "$here/left-out.txt" - |
    cut -f 2- >"$AOE_WORK/pairs-2.tsv"

# --- third development set: the last sentence of an abstract as query, the other sentences as document. The abstracts
# are those whose titles have the largest hashes; pairs.tsv has those with the smallest ---
grep -v '"' "$work/documents/arxiv-more" | awk -F '\t' -v OFS='\t' '
    $3 ~ /^(physics|eess|cond-mat|astro-ph|nlin|quant-ph)/ && split($2, w, " ") <= 220 {
        sentences = 1
        for (at = 1; match(substr($2, at), /[a-z)][.] +[A-Z]/); at += RSTART + RLENGTH - 2) {
            end = at + RSTART
            sentences++
        }
        query = substr($2, at)
        if (sentences < 4 || query ~ /http|code|available|This paper|This work|Comment|published/) next
        words = split(query, w, " ")
        if (words >= 8 && words <= 30) print query, substr($2, 1, end), $1, $2
    }' | without evaluation dev-ir3 -v from=3 -v shortest=30 | cut -f 1-3 |
    $awk -v column=3 -f "$here/hash.awk" | sort -t "$tab" -k 1,1 -s -r | head -n 8000 | cut -f 2,3 | beir dev-ir3 400
mv "$work/texts.txt" "$AOE_WORK/texts.txt" # build.sh repeats the preparation if this file is missing
wc -lw "$AOE_WORK/texts.txt" "$AOE_WORK/snli-triplets.tsv" "$AOE_WORK/pairs.tsv" "$AOE_WORK/pairs-2.tsv"
