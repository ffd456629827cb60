/* SPDX-License-Identifier: MIT
 * Recognizes the format of a file. `conversions` describes the files that must be converted, `extensions` lists all
 * known extensions, and `signatures` the first bytes of binary files. Files with an unknown extension are not rejected
 * here: some commands read them as lines of text, and aoei_format_check_bytes then finds most binary files.
 */
#include "table/formats.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/path.h"
#include "base/utf8.h"
#include "table/stream.h"

#define PANDAS(call) "python3 -c \"import pandas; pandas." call "\""
#define TO_JSONL     ".to_json('FILE.jsonl', orient='records', lines=True)"
#define PANDOC       "pandoc FILE -t plain --wrap=none -o FILE.txt"
#define LIBREOFFICE  "soffice --headless --convert-to txt FILE"

/* Kinds of files. `conversions` describes those after DOCUMENT, which are not read. */
typedef enum kind {
    TABLE,    /* read; the format is in `extension.format` */
    DOCUMENT, /* a text that is usually not divided into one text per line */
    PARQUET,
    FEATHER,
    ARROW,
    ORC,
    AVRO,
    EXCEL,
    ODS,
    NUMBERS,
    PICKLE,
    NUMPY,
    HDF5,
    TORCH,
    WEIGHTS,
    SQLITE,
    DUCKDB,
    STATA,
    SPSS,
    SAS,
    R_DATA,
    PDF,
    WORD,
    OLD_WORD,
    PRESENTATION,
    ODT,
    RTF,
    EPUB,
    DJVU,
    POSTSCRIPT,
    NOTEBOOK,
    ZIP,
    ZIP_OR_OFFICE,
    TAR,
    SEVEN_ZIP,
    RAR,
    GZIP,
    ZSTD,
    XZ,
    BZIP2,
    LZ4,
    BROTLI,
    COMPRESS,
    TFRECORD,
    IMAGE,
    SOUND,
    PROGRAM
} kind;

/* How files of a kind are converted. */
static const struct {
    const char *name;   /* for a message: "the file is NAME" */
    const char *advice; /* what to do */
} conversions[] = {
    [PARQUET] = {"a Parquet table", "convert it, for example with " PANDAS("read_parquet('FILE')" TO_JSONL)},
    [FEATHER] = {"a Feather table", "convert it, for example with " PANDAS("read_feather('FILE')" TO_JSONL)},
    [ARROW] = {"an Arrow table", "convert it, for example with python3 -c \"import datasets; "
                                 "datasets.Dataset.from_file('FILE').to_json('FILE.jsonl')\""},
    [ORC] = {"an ORC table", "convert it, for example with " PANDAS("read_orc('FILE')" TO_JSONL)},
    [AVRO] = {"an Avro table", "convert it to .jsonl, for example with the Python package fastavro"},
    [EXCEL] = {"an Excel workbook", "save the sheet as CSV UTF-8, or convert it with " PANDAS(
                                        "read_excel('FILE').to_csv('FILE.csv', index=False)")},
    [ODS] = {"a spreadsheet (OpenDocument)",
             "save the sheet as CSV, or convert it with " PANDAS("read_excel('FILE').to_csv('FILE.csv', index=False)")},
    [NUMBERS] = {"a Numbers spreadsheet", "export the sheet as CSV"},
    [PICKLE] = {"a Python pickle",
                "if you trust the file, convert it, for example with " PANDAS("read_pickle('FILE')" TO_JSONL)},
    [NUMPY] = {"a NumPy array", "write its texts to a .txt file with one text per line, or to a .jsonl file"},
    [HDF5] = {"an HDF5 file", "convert it, for example with " PANDAS("read_hdf('FILE')" TO_JSONL)},
    [TORCH] = {"a PyTorch file", "write its texts to a .txt file with one text per line, or to a .jsonl file"},
    [WEIGHTS] = {"a model checkpoint", "give a file with texts"},
    [SQLITE] = {"an SQLite database",
                "export a table, for example with sqlite3 -header -csv FILE 'SELECT ...' > FILE.csv"},
    [DUCKDB] = {"a DuckDB database",
                "export a table, for example with duckdb FILE \"COPY ... TO 'FILE.csv' (HEADER)\""},
    [STATA] = {"a Stata table", "convert it, for example with " PANDAS("read_stata('FILE')" TO_JSONL)},
    [SPSS] = {"an SPSS table", "convert it, for example with " PANDAS("read_spss('FILE')" TO_JSONL)},
    [SAS] = {"a SAS table", "convert it, for example with " PANDAS("read_sas('FILE', encoding='utf-8')" TO_JSONL)},
    [R_DATA] = {"an R data file",
                "convert it, for example with Rscript -e \"write.csv(readRDS('FILE'), 'FILE.csv', row.names=FALSE)\""},
    [PDF] = {"a PDF document", "extract its text, for example with pdftotext FILE FILE.txt"},
    [WORD] = {"a Word document", "extract its text, for example with " PANDOC},
    [OLD_WORD] = {"a Microsoft Office document", "extract its text, for example with " LIBREOFFICE},
    [PRESENTATION] = {"a presentation", "extract its text, for example with " LIBREOFFICE},
    [ODT] = {"an OpenDocument text", "extract its text, for example with " PANDOC},
    [RTF] = {"an RTF document", "extract its text, for example with " PANDOC},
    [EPUB] = {"an EPUB book", "extract its text, for example with " PANDOC},
    [DJVU] = {"a DjVu document", "extract its text, for example with djvutxt FILE FILE.txt"},
    [POSTSCRIPT] = {"a PostScript document", "extract its text, for example with ps2ascii FILE FILE.txt"},
    [NOTEBOOK] = {"a Jupyter notebook", "extract its text, for example with jupyter nbconvert --to markdown FILE"},
    [ZIP] = {"a ZIP archive", "extract its files, for example with unzip FILE"},
    [ZIP_OR_OFFICE] = {"a ZIP archive or an Office document",
                       "extract the files of an archive with unzip; save an Office document as CSV or plain text"},
    [TAR] = {"a tar archive", "extract its files, for example with tar -xf FILE"},
    [SEVEN_ZIP] = {"a 7z archive", "extract its files, for example with 7z x FILE"},
    [RAR] = {"a RAR archive", "extract its files, for example with unrar x FILE"},
    [GZIP] = {"compressed with gzip", "give it a name that ends in .gz, or pipe the output of gzip -dc FILE into aoe"},
    [ZSTD] = {"compressed with zstd", "give it a name that ends in .zst, or pipe the output of zstd -dc FILE into aoe"},
    [XZ] = {"compressed with xz", "decompress it, for example with xz -dk FILE"},
    [BZIP2] = {"compressed with bzip2", "decompress it, for example with bzip2 -dk FILE"},
    [LZ4] = {"compressed with lz4", "decompress it, for example with lz4 -d FILE"},
    [BROTLI] = {"compressed with Brotli", "decompress it, for example with brotli -dk FILE"},
    [COMPRESS] = {"compressed with compress", "decompress it, for example with gzip -d FILE"},
    [TFRECORD] = {"a TFRecord file", "convert it to .jsonl, for example with the Python package tfrecord"},
    [IMAGE] = {"an image", "give a file with texts"},
    [SOUND] = {"a sound or video file", "give a file with texts"},
    [PROGRAM] = {"a binary program", "give a file with texts"},
};

typedef struct extension {
    const char *name; /* extensions without the dot, separated by spaces */
    kind kind;
    aoe_table_format format; /* TABLE: format of the file */
} extension;

static const extension extensions[] = {
    {"tsv tab", TABLE, AOE_TABLE_TSV},
    {"csv", TABLE, AOE_TABLE_CSV},
    {"jsonl ndjson jsonlines ldjson", TABLE, AOE_TABLE_JSONL},
    {"json", TABLE, AOE_TABLE_JSON},
    {"txt", TABLE, AOE_TABLE_TXT},
    {"md markdown mdx mkd rmd qmd html htm xhtml xml rst adoc asciidoc tex latex org textile wiki mediawiki yaml "
     "yml toml",
     DOCUMENT, AOE_TABLE_AUTO},
    {"py pyi c h cc cpp cxx hpp hh hxx cu java js mjs cjs jsx ts tsx go rs rb php swift kt kts scala groovy cs fs vb m "
     "mm r jl lua pl pm sh bash zsh fish ps1 bat cmd sql css scss sass less vue svelte dart ex exs erl hs clj lisp el "
     "ml mli proto cmake gradle asm f90 v sv vhd vhdl tcl zig nim sol tf",
     DOCUMENT, AOE_TABLE_AUTO},
    {"parquet pq", PARQUET, AOE_TABLE_AUTO},
    {"feather", FEATHER, AOE_TABLE_AUTO},
    {"arrow arrows ipc", ARROW, AOE_TABLE_AUTO},
    {"orc", ORC, AOE_TABLE_AUTO},
    {"avro", AVRO, AOE_TABLE_AUTO},
    {"xlsx xls xlsm xlsb", EXCEL, AOE_TABLE_AUTO},
    {"ods", ODS, AOE_TABLE_AUTO},
    {"numbers", NUMBERS, AOE_TABLE_AUTO},
    {"pkl pickle joblib", PICKLE, AOE_TABLE_AUTO},
    {"npy npz", NUMPY, AOE_TABLE_AUTO},
    {"h5 hdf5 hdf", HDF5, AOE_TABLE_AUTO},
    {"pt pth", TORCH, AOE_TABLE_AUTO},
    {"safetensors gguf onnx ckpt", WEIGHTS, AOE_TABLE_AUTO},
    {"sqlite sqlite3 db3", SQLITE, AOE_TABLE_AUTO},
    {"duckdb", DUCKDB, AOE_TABLE_AUTO},
    {"dta", STATA, AOE_TABLE_AUTO},
    {"sav", SPSS, AOE_TABLE_AUTO},
    {"sas7bdat", SAS, AOE_TABLE_AUTO},
    {"rds rdata rda", R_DATA, AOE_TABLE_AUTO},
    {"pdf", PDF, AOE_TABLE_AUTO},
    {"docx docm", WORD, AOE_TABLE_AUTO},
    {"doc", OLD_WORD, AOE_TABLE_AUTO},
    {"ppt pptx odp", PRESENTATION, AOE_TABLE_AUTO},
    {"odt", ODT, AOE_TABLE_AUTO},
    {"rtf", RTF, AOE_TABLE_AUTO},
    {"epub mobi azw3 fb2", EPUB, AOE_TABLE_AUTO},
    {"djvu djv", DJVU, AOE_TABLE_AUTO},
    {"ps eps", POSTSCRIPT, AOE_TABLE_AUTO},
    {"ipynb", NOTEBOOK, AOE_TABLE_AUTO},
    {"zip jar whl", ZIP, AOE_TABLE_AUTO},
    {"tar tgz tbz tbz2 txz tzst", TAR, AOE_TABLE_AUTO},
    {"7z", SEVEN_ZIP, AOE_TABLE_AUTO},
    {"rar", RAR, AOE_TABLE_AUTO},
    {"gzip", GZIP, AOE_TABLE_AUTO},
    {"zstd", ZSTD, AOE_TABLE_AUTO},
    {"xz lzma", XZ, AOE_TABLE_AUTO},
    {"bz2 bzip2 bz", BZIP2, AOE_TABLE_AUTO},
    {"lz4", LZ4, AOE_TABLE_AUTO},
    {"br", BROTLI, AOE_TABLE_AUTO},
    {"z", COMPRESS, AOE_TABLE_AUTO},
    {"tfrecord tfrecords", TFRECORD, AOE_TABLE_AUTO},
    {"png jpg jpeg gif webp bmp tif tiff heic svgz", IMAGE, AOE_TABLE_AUTO},
    {"mp3 wav flac ogg m4a mp4 mkv avi mov webm", SOUND, AOE_TABLE_AUTO},
    {"exe dll so dylib pyc", PROGRAM, AOE_TABLE_AUTO},
};

/* First bytes of binary files. The NUL at the end of a literal is not part of the signature. */
static const struct {
    const char *bytes;
    size_t offset, len;
    kind kind;
} signatures[] = {
    {"\x1f\x8b", 0, 2, GZIP},
    {"\x28\xb5\x2f\xfd", 0, 4, ZSTD},
    {"\xfd"
     "7zXZ\0",
     0, 6, XZ},
    {"1AY&SY", 4, 6, BZIP2},
    {"\x04\x22\x4d\x18", 0, 4, LZ4},
    {"\x1f\x9d", 0, 2, COMPRESS},
    {"PK\x03\x04", 0, 4, ZIP_OR_OFFICE},
    {"PK\x05\x06", 0, 4, ZIP_OR_OFFICE},
    {"7z\xbc\xaf\x27\x1c", 0, 6, SEVEN_ZIP},
    {"Rar!\x1a\x07", 0, 6, RAR},
    {"ustar", 257, 5, TAR},
    {"PAR1\x15", 0, 5, PARQUET},
    {"ARROW1\0", 0, 7, ARROW},
    {"FEA1\0", 0, 5, FEATHER},
    {"Obj\x01", 0, 4, AVRO},
    {"SQLite format 3\0", 0, 16, SQLITE},
    {"%PDF-", 0, 5, PDF},
    {"%!PS-Adobe", 0, 10, POSTSCRIPT},
    {"{\\rtf", 0, 5, RTF},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0, 8, OLD_WORD},
    {"\x93NUMPY", 0, 6, NUMPY},
    {"\x80\x02}", 0, 3, PICKLE},
    {"\x80\x03}", 0, 3, PICKLE},
    {"\x80\x04\x95", 0, 3, PICKLE},
    {"\x80\x05\x95", 0, 3, PICKLE},
    {"\x89HDF\r\n\x1a\n", 0, 8, HDF5},
    {"GGUF\x02", 0, 5, WEIGHTS},
    {"GGUF\x03", 0, 5, WEIGHTS},
    {"\x89PNG\r\n\x1a\n", 0, 8, IMAGE},
    {"\xff\xd8\xff", 0, 3, IMAGE},
    {"\x7f"
     "ELF",
     0, 4, PROGRAM},
};

/* Returns 1 if the word word[len] is in a list of words that are separated by spaces. The case of ASCII letters is
 * ignored. */
static int is_in_list(const char *list, const char *word, size_t len) {
    for (; *list; list += *list == ' ') {
        const size_t n = strcspn(list, " ");
        if (n == len && strncasecmp(list, word, len) == 0)
            return 1;
        list += n;
    }
    return 0;
}

/* Returns the element of `extensions` for a file name, or NULL if the extension is unknown. */
static const extension *extension_of(const char *path) {
    const char *name = aoei_path_name(path);
    const aoei_codec codec = aoei_codec_of(path);
    size_t end = strlen(name);
    end -= codec == AOEI_CODEC_GZIP ? strlen(".gz") : codec == AOEI_CODEC_ZSTD ? strlen(".zst") : 0;
    size_t start = end;
    while (start > 0 && name[start - 1] != '.')
        start--;
    for (size_t i = 0; start > 1 && i < sizeof extensions / sizeof *extensions; i++)
        if (is_in_list(extensions[i].name, name + start, end - start))
            return &extensions[i];
    return NULL;
}

int aoei_format_of_name(aoe_table_format *format, const char *path, aoe_error *err) {
    const extension *e = strcmp(path, "-") ? extension_of(path) : NULL;
    *format = e ? e->format : strcmp(path, "-") ? AOE_TABLE_AUTO : AOE_TABLE_TXT;
    if (!e || e->kind == TABLE)
        return 0;
    if (e->kind == DOCUMENT)
        return aoei_fail(
            err, AOE_EARG,
            "%s: a file of this type is usually one text, not a table (.tsv, .csv, .jsonl, .json) or one text per "
            "line (.txt); set options.whole_files for one text per file, set options.input_format to the format of "
            "the file, or rename the file",
            path);
    return aoei_fail(err, AOE_EARG, "%s: the file is %s; %s", path, conversions[e->kind].name,
                     conversions[e->kind].advice);
}

int aoei_format_check_bytes(const char *s, size_t len, const char *name, aoe_error *err) {
    const char *encoding = aoei_utf_name(s, len);
    if (encoding)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the text is %.6s; convert it to UTF-8, for example with iconv -f %s -t UTF-8", name,
                         encoding, encoding);
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
        if (len >= signatures[i].offset + signatures[i].len &&
            memcmp(s + signatures[i].offset, signatures[i].bytes, signatures[i].len) == 0 &&
            (signatures[i].kind != TAR || memchr(s, 0, signatures[i].offset))) /* a tar header contains NUL
                                                                                  characters */
            return aoei_fail(err, AOE_EFORMAT, "%s: the file is %s; %s", name, conversions[signatures[i].kind].name,
                             conversions[signatures[i].kind].advice);
    return 0;
}
