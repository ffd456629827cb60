# SPDX-License-Identifier: MIT
# Tests the comparison of the library's binary interface with its record (tools/abi.py). Libraries are compiled from the
# public headers alone: first unchanged, then with one change of a header each.
for tool in abidw python3 "${CC:-cc}"; do
    command -v "${tool%% *}" >/dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
done
record=$SRC/tools/abi.txt

compare() { # compare: compiles the headers in include/ and compares them with the record
    awk -f "$SRC/tests/api/stub_library.awk" include/*.h >stub.c
    ${CC:-cc} -g -fno-eliminate-unused-debug-types -shared -fPIC -fvisibility=hidden -Iinclude stub.c -o stub.so
    echo "exit $(python3 "$SRC/tools/abi.py" check "$record" stub.so >out.txt && echo 0 || echo 1)"
    cat out.txt
}

change() { # change TITLE HEADER SED-SCRIPT: changes a copy of the headers and compares it with the record
    echo "== $1"
    rm -rf include
    cp -r headers include
    sed -i -E "$3" "include/$2"
    ! cmp -s "include/$2" "headers/$2" || echo "the header is unchanged"
    compare
}

mkdir headers
for header in "$SRC"/include/*.h; do # without comments
    ${CC:-cc} -w -fpreprocessed -dD -E -P -x c "$header" >"headers/$(basename "$header")"
done
echo '== unchanged'
cp -r headers include
compare

change 'appended field' aoe_eval.h '/^\} aoe_bootstrap_options;/i int added;'
change 'appended field of a struct inside other structs' aoe_data.h '/^\} aoe_table_options;/i const char *added;'
change 'appended field of a result' aoe_data.h '/^\} aoe_mine_result;/i double added;'
change 'new function' aoe.h 's/^AOE_API const char \*aoe_version\(void\);/&\nAOE_API int aoe_added(void);/'
change 'new enum value' aoe_train.h 's/^( *)AOE_METHOD_COUNT$/\1AOE_METHOD_ADDED, AOE_METHOD_COUNT/'

change 'inserted field' aoe_data.h 's/^( *)int skip_bad_rows;/int added; &/'
change 'removed field' aoe_convert.h '/^ *size_t vocab_size;/d'
change 'removed last field' aoe_eval.h '/aoe_bootstrap_options \{/,/\} aoe_bootstrap_options/{/uint64_t seed;/d}'
change 'reordered fields' aoe_lora.h '/^ *double alpha;$/d; s/^ *double dropout;$/&\n    double alpha;/'
change 'retyped field' aoe_eval.h 's/^( *)double confidence;/\1float confidence;/'
change 'retyped last field' aoe_eval.h \
    '/aoe_bootstrap_options \{/,/\} aoe_bootstrap_options/s/uint64_t seed;/int64_t seed;/'
change 'changed enum value' aoe.h 's/^( *)AOE_CHUNK_MEAN$/& = 7/'
change 'inserted enum value' aoe.h 's/^( *)AOE_CHUNK_FIRST,/\1AOE_CHUNK_ADDED, &/'
change 'removed function' aoe.h '/^AOE_API int aoe_version_number/d'
change 'changed function' aoe_eval.h \
    's/^(AOE_API double aoe_bandwidth)\(const double \*x, size_t n\)/\1(const float *x, size_t n)/'
change 'struct that grows inside a struct of the library' aoe_train.h \
    's/const aoe_objective_result \*loss;/aoe_objective_result loss;/'
change 'appended field of a fixed struct' aoe.h '/^\} aoe_neighbor;/i size_t added;'
