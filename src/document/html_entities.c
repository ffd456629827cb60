/* SPDX-License-Identifier: MIT
 * Decodes character references of HTML. The table contains the names of HTML 4, the punctuation of ASCII, and the Latin
 * letters of European languages, in the order of strcmp; other names of HTML 5 are very rare in texts.
 */
#include "document/html_entities.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 15 };

typedef struct entity {
    char name[LONGEST_NAME + 1];
    uint32_t cp;
} entity;

static const entity entities[] = {
    {"AElig", 198},    {"AMP", 38},         {"Aacute", 193},      {"Abreve", 258},
    {"Acirc", 194},    {"Agrave", 192},     {"Alpha", 913},       {"Amacr", 256},
    {"Aogon", 260},    {"Aring", 197},      {"Atilde", 195},      {"Auml", 196},
    {"Beta", 914},     {"COPY", 169},       {"Cacute", 262},      {"Ccaron", 268},
    {"Ccedil", 199},   {"Chi", 935},        {"Dagger", 8225},     {"Dcaron", 270},
    {"Delta", 916},    {"Dstrok", 272},     {"ETH", 208},         {"Eacute", 201},
    {"Ecaron", 282},   {"Ecirc", 202},      {"Egrave", 200},      {"Emacr", 274},
    {"Eogon", 280},    {"Epsilon", 917},    {"Eta", 919},         {"Euml", 203},
    {"GT", 62},        {"Gamma", 915},      {"Gbreve", 286},      {"Iacute", 205},
    {"Icirc", 206},    {"Idot", 304},       {"Igrave", 204},      {"Imacr", 298},
    {"Iota", 921},     {"Iuml", 207},       {"Kappa", 922},       {"LT", 60},
    {"Lambda", 923},   {"Lstrok", 321},     {"Mu", 924},          {"Nacute", 323},
    {"Ncaron", 327},   {"NewLine", 10},     {"Ntilde", 209},      {"Nu", 925},
    {"OElig", 338},    {"Oacute", 211},     {"Ocirc", 212},       {"Odblac", 336},
    {"Ograve", 210},   {"Omega", 937},      {"Omicron", 927},     {"Oslash", 216},
    {"Otilde", 213},   {"Ouml", 214},       {"Phi", 934},         {"Pi", 928},
    {"Prime", 8243},   {"Psi", 936},        {"QUOT", 34},         {"REG", 174},
    {"Racute", 340},   {"Rcaron", 344},     {"Rho", 929},         {"Rightarrow", 8658},
    {"Sacute", 346},   {"Scaron", 352},     {"Scedil", 350},      {"Sigma", 931},
    {"THORN", 222},    {"Tab", 9},          {"Tau", 932},         {"Tcaron", 356},
    {"Theta", 920},    {"Uacute", 218},     {"Ucirc", 219},       {"Udblac", 368},
    {"Ugrave", 217},   {"Umacr", 362},      {"Upsilon", 933},     {"Uring", 366},
    {"Uuml", 220},     {"Xi", 926},         {"Yacute", 221},      {"Yuml", 376},
    {"Zacute", 377},   {"Zcaron", 381},     {"Zdot", 379},        {"ZeroWidthSpace", 8203},
    {"Zeta", 918},     {"aacute", 225},     {"abreve", 259},      {"acirc", 226},
    {"acute", 180},    {"aelig", 230},      {"agrave", 224},      {"alefsym", 8501},
    {"alpha", 945},    {"amacr", 257},      {"amp", 38},          {"and", 8743},
    {"ang", 8736},     {"aogon", 261},      {"apos", 39},         {"approx", 8776},
    {"aring", 229},    {"ast", 42},         {"asymp", 8776},      {"atilde", 227},
    {"auml", 228},     {"bdquo", 8222},     {"beta", 946},        {"bigstar", 9733},
    {"brvbar", 166},   {"bsol", 92},        {"bull", 8226},       {"cacute", 263},
    {"cap", 8745},     {"ccaron", 269},     {"ccedil", 231},      {"cedil", 184},
    {"cent", 162},     {"check", 10003},    {"checkmark", 10003}, {"chi", 967},
    {"circ", 710},     {"clubs", 9827},     {"colon", 58},        {"comma", 44},
    {"commat", 64},    {"cong", 8773},      {"copy", 169},        {"crarr", 8629},
    {"cross", 10007},  {"cup", 8746},       {"curren", 164},      {"dArr", 8659},
    {"dagger", 8224},  {"darr", 8595},      {"dash", 8208},       {"dcaron", 271},
    {"deg", 176},      {"delta", 948},      {"diams", 9830},      {"divide", 247},
    {"dollar", 36},    {"downarrow", 8595}, {"dstrok", 273},      {"eacute", 233},
    {"ecaron", 283},   {"ecirc", 234},      {"egrave", 232},      {"emacr", 275},
    {"empty", 8709},   {"emsp", 8195},      {"emsp13", 8196},     {"ensp", 8194},
    {"eogon", 281},    {"epsilon", 949},    {"equals", 61},       {"equiv", 8801},
    {"eta", 951},      {"eth", 240},        {"euml", 235},        {"euro", 8364},
    {"excl", 33},      {"exist", 8707},     {"female", 9792},     {"ffilig", 64259},
    {"fflig", 64256},  {"ffllig", 64260},   {"filig", 64257},     {"flat", 9837},
    {"fllig", 64258},  {"fnof", 402},       {"forall", 8704},     {"frac12", 189},
    {"frac13", 8531},  {"frac14", 188},     {"frac18", 8539},     {"frac23", 8532},
    {"frac34", 190},   {"frasl", 8260},     {"gamma", 947},       {"gbreve", 287},
    {"ge", 8805},      {"geq", 8805},       {"grave", 96},        {"gt", 62},
    {"hArr", 8660},    {"half", 189},       {"harr", 8596},       {"hearts", 9829},
    {"hellip", 8230},  {"horbar", 8213},    {"hyphen", 8208},     {"iacute", 237},
    {"icirc", 238},    {"iexcl", 161},      {"igrave", 236},      {"imacr", 299},
    {"image", 8465},   {"infin", 8734},     {"inodot", 305},      {"int", 8747},
    {"iota", 953},     {"iquest", 191},     {"isin", 8712},       {"iuml", 239},
    {"kappa", 954},    {"lArr", 8656},      {"lambda", 955},      {"lang", 10216},
    {"langle", 10216}, {"laquo", 171},      {"larr", 8592},       {"lbbrk", 10098},
    {"lbrace", 123},   {"lbrack", 91},      {"lceil", 8968},      {"lcub", 123},
    {"ldquo", 8220},   {"le", 8804},        {"leftarrow", 8592},  {"leq", 8804},
    {"lfloor", 8970},  {"lowast", 8727},    {"lowbar", 95},       {"loz", 9674},
    {"lpar", 40},      {"lrm", 8206},       {"lsaquo", 8249},     {"lsqb", 91},
    {"lsquo", 8216},   {"lstrok", 322},     {"lt", 60},           {"macr", 175},
    {"male", 9794},    {"mdash", 8212},     {"micro", 181},       {"middot", 183},
    {"minus", 8722},   {"mu", 956},         {"nabla", 8711},      {"nacute", 324},
    {"natural", 9838}, {"nbsp", 160},       {"ncaron", 328},      {"ndash", 8211},
    {"ne", 8800},      {"ni", 8715},        {"not", 172},         {"notin", 8713},
    {"nsub", 8836},    {"ntilde", 241},     {"nu", 957},          {"num", 35},
    {"numsp", 8199},   {"oacute", 243},     {"ocirc", 244},       {"odblac", 337},
    {"oelig", 339},    {"ograve", 242},     {"oline", 8254},      {"omega", 969},
    {"omicron", 959},  {"oplus", 8853},     {"or", 8744},         {"ordf", 170},
    {"ordm", 186},     {"oslash", 248},     {"otilde", 245},      {"otimes", 8855},
    {"ouml", 246},     {"para", 182},       {"part", 8706},       {"percnt", 37},
    {"period", 46},    {"permil", 8240},    {"perp", 8869},       {"phi", 966},
    {"phone", 9742},   {"pi", 960},         {"piv", 982},         {"plus", 43},
    {"plusmn", 177},   {"pound", 163},      {"prime", 8242},      {"prod", 8719},
    {"prop", 8733},    {"psi", 968},        {"puncsp", 8200},     {"quest", 63},
    {"quot", 34},      {"rArr", 8658},      {"racute", 341},      {"radic", 8730},
    {"rang", 10217},   {"rangle", 10217},   {"raquo", 187},       {"rarr", 8594},
    {"rbrace", 125},   {"rbrack", 93},      {"rcaron", 345},      {"rceil", 8969},
    {"rcub", 125},     {"rdquo", 8221},     {"real", 8476},       {"reg", 174},
    {"rfloor", 8971},  {"rho", 961},        {"rightarrow", 8594}, {"rlm", 8207},
    {"rpar", 41},      {"rsaquo", 8250},    {"rsqb", 93},         {"rsquo", 8217},
    {"sacute", 347},   {"sbquo", 8218},     {"scaron", 353},      {"scedil", 351},
    {"sdot", 8901},    {"sect", 167},       {"semi", 59},         {"sharp", 9839},
    {"shy", 173},      {"sigma", 963},      {"sigmaf", 962},      {"sim", 8764},
    {"sol", 47},       {"spades", 9824},    {"star", 9734},       {"starf", 9733},
    {"sub", 8834},     {"sube", 8838},      {"sum", 8721},        {"sung", 9834},
    {"sup", 8835},     {"sup1", 185},       {"sup2", 178},        {"sup3", 179},
    {"supe", 8839},    {"szlig", 223},      {"tau", 964},         {"tcaron", 357},
    {"there4", 8756},  {"theta", 952},      {"thetasym", 977},    {"thinsp", 8201},
    {"thorn", 254},    {"tilde", 732},      {"times", 215},       {"trade", 8482},
    {"uArr", 8657},    {"uacute", 250},     {"uarr", 8593},       {"ucirc", 251},
    {"udblac", 369},   {"ugrave", 249},     {"umacr", 363},       {"uml", 168},
    {"uparrow", 8593}, {"upsih", 978},      {"upsilon", 965},     {"uring", 367},
    {"uuml", 252},     {"verbar", 124},     {"vert", 124},        {"weierp", 8472},
    {"xi", 958},       {"yacute", 253},     {"yen", 165},         {"yuml", 255},
    {"zacute", 378},   {"zcaron", 382},     {"zdot", 380},        {"zeta", 950},
    {"zwj", 8205},     {"zwnj", 8204}};

/* Code points of &#128; to &#159;, which stand for the characters of Windows-1252. 0: unchanged. */
static const uint16_t windows[32] = {0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                     0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017D, 0,
                                     0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                     0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

static int compare_names(const void *name, const void *item) {
    const entity *e = item;
    return strcmp(name, e->name);
}

/* Value of the digit c in the base, or -1. */
static int digit(char c, uint32_t base) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (base == 16 && (c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        return (c | 0x20) - 'a' + 10;
    return -1;
}

static size_t decode_number(const char *s, size_t len, uint32_t *cp) {
    const uint32_t base = len > 2 && (s[2] | 0x20) == 'x' ? 16 : 10;
    size_t i = base == 16 ? 3 : 2;
    const size_t first = i;
    uint32_t value = 0;
    for (; i < len && digit(s[i], base) >= 0; i++)
        value = value > 0x10FFFF ? value : value * base + (uint32_t)digit(s[i], base);
    if (i == first)
        return 0;
    if (value >= 128 && value < 160 && windows[value - 128])
        value = windows[value - 128];
    *cp = value == 0 || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000) ? 0xFFFD : value;
    return i + (i < len && s[i] == ';');
}

size_t aoei_html_entity(const char *s, size_t len, uint32_t *cp) {
    char name[LONGEST_NAME + 1];
    size_t n = 0;
    if (len < 3 || *s != '&')
        return 0;
    if (s[1] == '#')
        return decode_number(s, len, cp);
    while (n + 1 < len && n < LONGEST_NAME &&
           (((s[n + 1] | 0x20) >= 'a' && (s[n + 1] | 0x20) <= 'z') || (s[n + 1] >= '0' && s[n + 1] <= '9'))) {
        name[n] = s[n + 1];
        n++;
    }
    name[n] = 0;
    const entity *e = bsearch(name, entities, sizeof entities / sizeof *entities, sizeof *entities, compare_names);
    if (!e)
        return 0;
    *cp = e->cp;
    if (n + 1 < len && s[n + 1] == ';')
        return n + 2;
    const int legacy = e->cp == '&' || e->cp == '<' || e->cp == '>' || e->cp == '"' || (e->cp >= 0xA0 && e->cp <= 0xFF);
    return legacy && !(n + 1 < len && s[n + 1] == '=') ? n + 1 : 0;
}
