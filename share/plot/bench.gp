# SPDX-License-Identifier: MIT
# Bars of engines, with one panel for each input. Parameters: metric: label of the axis; rows: numbers of bars of the
# panels; input1, input2 ...: titles of the panels; engine1, engine2 ...: names of the bars of all panels. Each data
# block is a panel; its columns are: row from below, value, 1 if the engine is aoe.
left = 210 # sizes in pixels
row_height = 20
above = 34
below = 28
top = strlen(title) ? 26 : 0
width = 720
height = 40 + top
do for [n in rows] { height = height + above + below + row_height * n }

do for [format in 'svg png'] {
eval begin(format, width, height)
if (strlen(title)) { set multiplot title title } else { set multiplot }
unset key
set border 3
set xtics nomirror out
set ytics nomirror
set grid xtics back lt 1 lw 0.5 lc rgb '#d8d8d8'
y = top
bars = 0
do for [k=1:words(rows)] {
    n = int(word(rows, k))
    stats [*:*] [*:*] data index k-1 using 2 nooutput
    y = y + above
    eval margins(real(left) / width, 1 - 20.0 / width, 1 - real(y) / height, 1 - real(y + row_height * n) / height)
    y = y + row_height * n + below
    set label 1 value('input'.k) at graph 0, graph 1 left offset 0, 0.7
    set xrange [0:STATS_max > 0 ? 1.15 * STATS_max : 1]
    set yrange [-0.7:n - 0.3]
    set ytics () scale 0
    do for [i=1:n] { set ytics add (tic(value('engine'.(bars + i))) n - i) }
    bars = bars + n
    if (k == words(rows)) { set xlabel metric }
    plot data index k-1 using ($2 / 2):1:($2 / 2):(0.36):($3 == 1 ? 0x0072b2 : 0xb8b8b8) with boxxyerror \
            lc rgb variable fs solid noborder, \
        data index k-1 using 2:1:(sprintf($2 < 100 ? '%.3g' : '%.0f', $2)) with labels left offset 0.4, 0
}
unset multiplot
set output
}
