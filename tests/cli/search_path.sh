# SPDX-License-Identifier: MIT
# covers: cli/search/path_patterns
# Tests `aoe search --path`: folders, files and wildcards, relative to the current folder, to the indexed folder and
# absolute; exclusion; links; several sources; and the argument `path` of the MCP tool.
. "$SRC/tests/cli/support/model.sh"
word_model model
AOE_MODEL=$PWD/model
export AOE_MODEL
here=$PWD
# finds ARGUMENT...: prints the names of the files that contain "cat" and that --path selects, on one line
finds() {
    code=0
    "$AOE" search -q --refresh never --mode lexical --files "$@" cat >found || code=$?
    echo "$* -> $(sort found | tr "\n" " ")$([ $code = 0 ] || echo "exit $code")" | sed "s|$here|PWD|g"
}
mkdir -p work/src/deep work/tests work/docs other
for name in src/a.c src/deep/b.c tests/a_test.c docs/src.md docs/a_b.md top.md; do
    printf 'A cat in %s.\n' "$name" >"work/$name"
done
printf 'text\tyear\nthe cat\t2020\n' >other/table.tsv
ln -s work linked
cd work
"$AOE" index -q . >/dev/null
echo '--- from the top'
for path in src src/ ./src '*.c' 'src/*.c' 'docs/a?b.md' 'top.md' . nothing SRC/; do finds --path "$path"; done
finds --path '!tests' --path '!*.md'
finds --path src/ --path docs/ --path '!*/deep/'
finds --path "$here/work/src/deep"
finds --path "$here/linked/src/deep/"
finds --path "$here/linked/*/b.c"
finds --path src/ --where "name like '%b.c'"
echo '--- from a folder: its folders, and those of the indexed folder'
cd docs
for path in '*.md' ../src '../t*' src/ ./src.md .. '../../work/docs'; do finds --path "$path"; done
cd /
finds -i "$here/work/.aoe-index" --path src/
finds -i "$here/work/.aoe-index" --path work/src/
cd "$here"
finds -i work/.aoe-index --path work/src
finds -i work/.aoe-index --path linked/src
echo '--- a condition is applied before the best passages are chosen'
finds -i work/.aoe-index --mode dense -k 1 --path work/tests/
finds -i work/.aoe-index --mode hybrid -k 1 --path '!work/src' --path '!*.md'
echo '--- several sources'
"$AOE" index -q -o all.index work other/table.tsv >/dev/null
for path in src/ work/src/ other/ table.tsv other/table.tsv '!work'; do finds -i all.index --path "$path"; done
echo '--- errors'
code=0
"$AOE" search -i work/.aoe-index --refresh never --mode lexical --path nothing cat || echo "exit $?"
"$AOE" search -i work/.aoe-index --refresh never --mode lexical --path '' cat || echo "exit $?"
"$AOE" search -i work/.aoe-index --refresh never --mode lexical --path '!' cat || echo "exit $?"
echo '--- mcp'
# tool PATH: calls the tool and prints the names of the documents
tool() {
    printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"cat",'
    printf '"mode":"lexical","path":"%s"}}}\n' "$1"
}
for path in 'src/' 'src, !*/deep/*' 'work/src/deep' '*.md,src/a.c' '' 'nothing'; do
    tool "$path" | "$AOE" mcp -i work/.aoe-index --refresh never >answer
    echo "$path -> $(grep -o '"name":"[^"]*"' answer | sort | tr '\n' ' ')$(grep -o 'nothing found[^\\"]*' answer || :)"
done
