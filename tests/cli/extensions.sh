# SPDX-License-Identifier: MIT
# For each extension, all commands that read texts must read the same texts, or reject the file with the same message.
# The only differences: a file with an unknown extension is a list of lines in embed, rerank, similarity and tokenize,
# and other commands name only options that they have.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
known="tsv tab csv jsonl ndjson jsonlines ldjson json txt TSV Csv JSONL TXT tsv.gz csv.zst jsonl.GZ"
lines="log text dat bak 1 lst out"
documents="md markdown html HTM xml rst adoc tex org yaml py c h cpp js ts java go rs rb sh sql md.gz"
others="parquet feather arrow orc avro xlsx xls xlsm ods numbers pkl npy npz h5 pt safetensors gguf onnx"
others="$others sqlite duckdb dta sav sas7bdat rds pdf docx doc pptx odt rtf epub djvu ps ipynb zip tar tgz tar.gz 7z"
others="$others rar xz bz2 lz4 br Z csv.xz tfrecord png mp3 exe PDF Xlsx gzip zstd"
write() { # write FILE: writes two texts in the format of the extension
    case $(echo "$1" | tr '[:upper:]' '[:lower:]') in
    *.tsv* | *.csv* | *.tab) printf 'text\nthe cat\na man\n' >plain ;;
    *.jsonl* | *.ndjson | *.ldjson) printf '{"text":"the cat"}\n{"text":"a man"}\n' >plain ;;
    *.json) printf '[{"text":"the cat"},\n{"text":"a man"}]\n' >plain ;;
    *) printf 'the cat\na man\n' >plain ;;
    esac
    case $1 in
    *.gz | *.GZ) gzip -c plain >"$1" ;;
    *.zst) # one uncompressed block of zstd's frame format, so that the test does not need the program
        size=$(wc -c <plain)
        { printf "$(printf '\\050\\265\\057\\375\\040\\%03o\\%03o\\000\\000' "$size" $((size * 8 + 1)))" &&
            cat plain; } >"$1"
        ;;
    *) cp plain "$1" ;;
    esac
}
texts() { # texts FILE: prints the texts that each command reads, or the message
    "$AOE" embed -q -m model --dims 1 "$1" 2>&1 | sed 's/{"text":"\([^"]*\)".*/\1/' >embed.out
    "$AOE" similarity -q -m model x --texts "$1" --json 2>&1 | sort -t: -k3 | sed 's/.*"text":"\([^"]*\)".*/\1/' |
        sort -r >similarity.out
    "$AOE" tokenize -q -m model --tokens "$1" 2>&1 | sed 's/\["\[CLS\]","//; s/","\[SEP\]"\]//; s/","/ /g' >tokenize.out
    "$AOE" data stats -q "$1" 2>&1 | awk '/^aoe/ { print; next } NR == 2 { print $7 }' >stats.out
}
variants=0
for extension in $known $lines $documents $others; do
    file=file.$extension
    write "$file"
    texts "$file"
    variants=$((variants + 1))
    cmp -s embed.out tokenize.out || { echo "$file: embed and tokenize differ"; cat embed.out tokenize.out; }
    case " $known $lines " in
    *" $extension "*)
        printf 'the cat\na man\n' | cmp -s - embed.out || { echo "$file: other texts"; cat embed.out; }
        printf 'the cat\na man\n' | cmp -s - similarity.out ||
            { echo "$file: similarity reads other texts"; cat similarity.out; }
        ;;
    *) cmp -s embed.out similarity.out || { echo "$file: embed and similarity differ"; cat similarity.out; } ;;
    esac
    case " $known " in
    *" $extension "*) [ "$(cat stats.out)" = 2 ] || { echo "$file: data stats reads other texts"; cat stats.out; } ;;
    *) grep -q "^aoe: $file: " stats.out || { echo "$file: data stats does not reject it"; cat stats.out; } ;;
    esac
    case " $lines " in
    *" $extension "*) grep -q 'set --input-format' stats.out || cat stats.out ;;
    esac
    case " $documents " in
    *" $extension "*) grep -q 'set --whole-files for one text per file, set --input-format to the format' embed.out ||
        cat embed.out ;;
    esac
    case " $others " in
    *" $extension "*)
        cmp -s embed.out stats.out || { echo "$file: embed and data stats differ"; cat embed.out stats.out; }
        cut -c1-100 embed.out
        ;;
    esac
done
echo "$variants extensions"
