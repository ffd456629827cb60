# SPDX-License-Identifier: MIT
# Densities of cosines by gold score, with one panel for each model, and one panel for the gold scores. Parameters:
# panels: number of panels; gold: index of the panel of the gold scores, or 0; rows: number of rows of a panel; row1,
# row2 ...: names of the rows from below; base: their y coordinates; group: indices of their colors; title1 ..., note1
# ...: titles of the panels. Each panel has rows + 1 data blocks: the densities, whose columns are value and density,
# and the medians.
left = 60.0 # sizes in pixels
bottom = 73.0
above = strlen(title) ? 94.0 : 68.0
top = number(base, rows) + 1.6
width = 70 + 270 * panels
height = int(bottom + 45 * (top + 0.3) + above)
step = (1 - left / width) / panels

do for [format in 'svg png'] {
eval begin(format, width, height)
set multiplot title title
unset key
set border 1
set xtics nomirror out
set grid xtics back lt 1 lw 0.5 lc rgb '#d8d8d8'
do for [k=1:panels] {
    first = (k - 1) * (rows + 1)
    # rows are drawn from top to bottom, so that the curve of a row is drawn over the row above it
    curves = ''
    do for [row=rows:1:-1] {
        stats [*:*] [*:*] data index first+row-1 using 1:2 nooutput
        x_low = STATS_min_x
        x_high = STATS_max_x
        curve = sprintf("data index %d using 1:(%g + %.4g * $2)", first + row - 1, number(base, row), 1.4 / STATS_max_y)
        color = word(ramp.' #bbbbbb', int(word(group, row)))
        curves = curves.curve.sprintf(":(%g) with filledcurves fc rgb '%s', ", number(base, row), color). \
            curve." with lines lc rgb '#333333', "
    }
    eval margins(left / width + step * (k - 1), left / width + step * (k - 0.12), 1 - above / height, bottom / height)
    set xrange [x_low:x_high]
    set yrange [-0.3:top]
    set xlabel k == gold ? 'gold score' : 'cosine'
    set xtics k == gold ? (x_high - x_low) / 5 : x_high - x_low > 1.2 ? 0.5 : 0.2
    set label 1 value('title'.k) at graph 0.5, graph 1 center offset 0, 2.1
    set label 2 value('note'.k) at graph 0.5, graph 1 center offset 0, 0.8
    if (k == 1) {
        set ytics () scale 0
        do for [row=1:rows] { set ytics add (value('row'.row) number(base, row)) }
        set ylabel 'gold score (triangle: median)' offset 1
    } else {
        unset ytics
        unset ylabel
    }
    eval 'plot '.curves.sprintf("data index %d using 1:2 with points pt 9 ps 0.9 lc rgb 'white', ", first + rows). \
        sprintf("data index %d using 1:2 with points pt 8 ps 0.9 lc rgb 'black'", first + rows)
}
unset multiplot
set output
}
