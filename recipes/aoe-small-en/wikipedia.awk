# SPDX-License-Identifier: MIT
# wikipedia.awk: converts Wikipedia articles in Markdown to rows "title TAB paragraph". Each article starts with a line
# "@@FILE path". An article with many scientific terms goes to the file `science`, with all paragraphs; of the others,
# the first paragraphs are written to stdout.
BEGIN {
    OFS = "\t"
    n = split("velocity voltage frequency equation molecule molecular protein algorithm acceleration electron " \
        "magnetic wavelength temperature polymer theorem semiconductor aircraft aerodynamic turbulence pressure " \
        "enzyme mathematical quantum thermal circuit transistor antenna signal laser optical radiation particle " \
        "particles energy kinetic oscillation viscosity fluid friction spectrum amplitude resonance physics " \
        "chemistry physicist software processor compiler cells gene genes bacteria orbit orbital isotope oxygen " \
        "hydrogen combustion engine turbine propeller wing fuselage steel alloy corrosion concrete radar satellite " \
        "telescope crystal diffraction entropy vector matrix derivative integral probability statistical catalyst " \
        "reaction acid ion conductivity capacitor inductor impedance amplifier modulation bandwidth propulsion " \
        "rocket altitude mass density diffusion", list, " ")
    for (i = 1; i <= n; i++) term[list[i]] = 1
}
function clean(text) {
    gsub(/\[[0-9a-z ]*\]/, "", text)
    gsub(/[_*]|\\/, "", text)
    gsub(/\( *[;,][;, ]*/, "(", text)
    gsub(/ *\([;, ]*\)/, "", text)
    gsub(/[ \t]+/, " ", text)
    gsub(/^ | $/, "", text)
    return text
}
function article(    i, hits, words, token, j) {
    if (!count || title ~ /disambiguation|^List of|^Lists of/) return
    hits = words = 0
    for (i = 1; i <= count; i++) {
        words += split(tolower(paragraph[i]), token, /[^a-z]+/)
        for (j in token) if (token[j] in term) hits++
    }
    if (hits >= 10 && hits > 0.012 * words)
        for (i = 1; i <= count; i++) print (i <= lead ? title : ""), paragraph[i] > science
    else for (i = 1; i <= count && i <= 4; i++) print (i <= lead ? title : ""), paragraph[i]
}
function flush(    text, upper, size, token) {
    text = clean(buffer)
    buffer = ""
    if (text == "" || done) return
    size = split(text, token, " ")
    if (size <= 8 && text !~ /[.!?:;,]$/) {
        if (text ~ /^(References|External links|See also|Notes|Bibliography|Further reading|Filmography)$/ ||
            text ~ /^(Discography|Sources|Awards|Gallery|Footnotes|Citations)$/) done = 1
        headed = 1
        return
    }
    if (size < 8) return
    if (!count) {
        upper = toupper(title)
        if (index(text, upper) == 1) text = title substr(text, length(upper) + 1)
        else if (match(text, /^[A-Z][A-Z0-9 ,.'-]+/) && RLENGTH > 4)
            text = substr(text, 1, 1) tolower(substr(text, 2, RLENGTH - 2)) substr(text, RLENGTH)
    }
    paragraph[++count] = text
    if (!headed) lead = count
}
/^@@FILE / {
    flush()
    article()
    title = $0
    sub(/^@@FILE "?[^\/]*\//, "", title)
    sub(/\.md"?$/, "", title)
    gsub(/_/, " ", title)
    gsub(/\\"|\\/, "", title)
    sub(/ \([^)]*\)$/, "", title)
    count = lead = done = headed = 0
    next
}
/^[ \t]*$/ { flush(); next }
/^(-|  |:|\||\[|>|#|<|!|[0-9]+\.)/ { flush(); next }
{ buffer = buffer " " $0 }
END { flush(); article() }
