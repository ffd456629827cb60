/* SPDX-License-Identifier: MIT
 * Tests how the format of a file is recognized: by the extension of its name, in upper and lower case, and by its first
 * bytes. Files that aoe cannot read must be rejected with a message that names the kind of file and the conversion.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "aoe_data.h"
#include "table/formats.h"
#include "table/lines.h"

static void test_extensions(void **state) {
    (void)state;
    static const struct {
        const char *path;
        aoe_table_format format;
    } cases[] = {
        {"a.tsv", AOE_TABLE_TSV},
        {"a.TAB", AOE_TABLE_TSV},
        {"x/a.Csv", AOE_TABLE_CSV},
        {"a.csv.GZ", AOE_TABLE_CSV},
        {"a.jsonl", AOE_TABLE_JSONL},
        {"a.ndjson.zst", AOE_TABLE_JSONL},
        {"a.JSONlines", AOE_TABLE_JSONL},
        {"a.json", AOE_TABLE_JSON},
        {"a.b.txt", AOE_TABLE_TXT},
        {"-", AOE_TABLE_TXT},
        {"a", AOE_TABLE_AUTO},
        {"a.log", AOE_TABLE_AUTO},
        {".csv", AOE_TABLE_AUTO},
        {"a.d/b", AOE_TABLE_AUTO},
        {"csv", AOE_TABLE_AUTO},
        {"a.", AOE_TABLE_AUTO},
        {"a.tsv.bak", AOE_TABLE_AUTO},
        {"tsv.gz", AOE_TABLE_AUTO},
        {"a.2024", AOE_TABLE_AUTO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_table_format format;
        aoe_error err = {0};
        if (aoe_table_format_of(&format, cases[i].path, &err) || format != cases[i].format)
            fail_msg("%s: format %d: %s", cases[i].path, format, err.message);
    }
}

static void test_rejected_extensions(void **state) {
    (void)state;
    static const struct {
        const char *path, *want;
    } cases[] = {
        {"a.md",
         "a.md: a file of this type is usually one text, not a table (.tsv, .csv, .jsonl, .json) or one text per line "
         "(.txt); "
         "set options.whole_files for one text per file, set options.input_format to the format of the file, or rename "
         "the file"},
        {"b/a.HTML", "one text per file"},
        {"a.py", "one text per file"},
        {"a.tex.gz", "one text per file"},
        {"a.parquet",
         "a.parquet: the file is a Parquet table; convert it, for example with python3 -c "
         "\"import pandas; pandas.read_parquet('FILE').to_json('FILE.jsonl', orient='records', lines=True)\""},
        {"a.XLSX", "an Excel workbook"},
        {"a.xls", "an Excel workbook"},
        {"a.ods", "OpenDocument"},
        {"a.arrow", "an Arrow table"},
        {"a.feather", "pandas.read_feather"},
        {"a.pkl", "a Python pickle"},
        {"a.npz", "a NumPy array"},
        {"a.pdf", "pdftotext FILE FILE.txt"},
        {"a.docx", "pandoc FILE -t plain"},
        {"a.odt", "pandoc FILE -t plain"},
        {"a.epub", "an EPUB book"},
        {"a.rtf", "an RTF document"},
        {"a.zip", "unzip FILE"},
        {"a.tar", "tar -xf FILE"},
        {"a.tar.gz", "tar -xf FILE"},
        {"a.tgz", "tar -xf FILE"},
        {"a.7z", "7z x FILE"},
        {"a.txt.xz", "a.txt.xz: the file is compressed with xz; decompress it, for example with xz -dk FILE"},
        {"a.txt.bz2", "bzip2 -dk FILE"},
        {"a.csv.lz4", "lz4 -d FILE"},
        {"a.sqlite", "sqlite3 -header -csv FILE"},
        {"a.ipynb", "jupyter nbconvert"},
        {"a.safetensors", "a model checkpoint"},
        {"a.png", "an image"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_table_format format;
        aoe_error err = {0};
        assert_int_equal(aoe_table_format_of(&format, cases[i].path, &err), AOE_EARG);
        assert_memory_equal(err.message, cases[i].path, strlen(cases[i].path));
        if (!strstr(err.message, cases[i].want))
            fail_msg("%s", err.message);
    }
}

/* Writes a file and reads its first line. want: part of the expected message; NULL: the line is text. */
static void expect_bytes(const char *data, size_t size, const char *want) {
    char *path = test_write(test_dir, "noname", data, size);
    aoei_lines *l;
    aoei_line line;
    aoe_error err = {0};
    assert_int_equal(aoei_lines_open(&l, path, &err), 0);
    const int rc = aoei_lines_next(l, &line, &err);
    if (want ? rc != AOE_EFORMAT || !strstr(err.message, want) : rc != 1)
        fail_msg("expected %s, found %d: %s", want ? want : "text", rc, err.message);
    aoei_lines_close(l);
    free(path);
}

#define BYTES(text, want) expect_bytes(text, sizeof(text) - 1, want)

static void test_first_bytes(void **state) {
    (void)state;
    BYTES("\x1f\x8b\x08\0\0", "compressed with gzip; give it a name that ends in .gz");
    BYTES("\x28\xb5\x2f\xfd\x04", "compressed with zstd; give it a name that ends in .zst");
    BYTES("\xfd"
          "7zXZ\0\0",
          "compressed with xz; decompress it");
    BYTES("BZh91AY&SY\0", "compressed with bzip2");
    BYTES("\x04\x22\x4d\x18\0", "compressed with lz4");
    BYTES("PK\x03\x04\x14\0", "a ZIP archive or an Office document");
    BYTES("PAR1\x15\x04", "a Parquet table");
    BYTES("ARROW1\0\0", "an Arrow table");
    BYTES("SQLite format 3\0x", "an SQLite database");
    BYTES("%PDF-1.7\n", "a PDF document");
    BYTES("{\\rtf1\\ansi", "an RTF document");
    BYTES("\x93NUMPY\x01", "a NumPy array");
    BYTES("\xff\xfe"
          "a\0\n\0",
          "the text is UTF-16; convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8");
    BYTES("\xff\xfe\0\0a\0\0\0", "the text is UTF-32; convert it to UTF-8, for example with iconv -f UTF-32 -t UTF-8");
    BYTES("\0\0\xfe\xff\0\0\0a", "the text is UTF-32");
    BYTES("a\0\0\0b\0\0\0", "the text is UTF-32; convert it to UTF-8, for example with iconv -f UTF-32LE -t UTF-8");
    BYTES("\0\0\0a\0\0\0b", "iconv -f UTF-32BE");
    BYTES("a\0b\0", "iconv -f UTF-16LE");
    BYTES("\x80\x04\x95\x10\0", "a Python pickle");
    BYTES("\x01\0\x02\xff\n", "the file is binary");
    BYTES("PAR1 is a magic number\n", NULL);
    BYTES("%PD", NULL);
    BYTES("ustar\n", NULL);
    BYTES("BZh9 is a header\n", NULL);
    BYTES("a\0\0\0", NULL);
    BYTES("Obj\n", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extensions),
        cmocka_unit_test(test_rejected_extensions),
        cmocka_unit_test(test_first_bytes),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
