# SPDX-License-Identifier: MIT
# A heat map of the scores of a grid search. Parameters: columns, rows: number of cells per direction; xlabel, ylabel,
# cblabel: labels of the axes and of the color map; x1, x2 ..., y1, y2 ...: labels of the columns and rows; best:
# description of the best cell; best_cell: its index, counted row by row from 0; close: indices of the cells with a
# dashed frame. Columns of the data: column, row, mean score, number of results, mean score and standard deviation as
# texts.
stats data using 3 nooutput
low = STATS_min
high = STATS_max > low ? STATS_max : low + 1
dark(z) = (z - low) / (high - low) > 0.563 && STATS_max > low # the color of z has a luminance below 130 of 255
limit(x, from, to) = x < from ? from : x > to ? to : x
width = limit(280 + 80 * columns, 560, 2000)
height = limit(160 + 50 * rows, 360, 2000)
if (words(close)) { best = best."\ndashed: not significantly lower (paired t test, Holm's correction, p >= 0.05)" }

do for [format in 'svg png'] {
eval begin(format, width, height)
set palette defined (0 word(ramp, 1), 1 word(ramp, 2), 2 word(ramp, 3), \
    3 word(ramp, 4), 4 word(ramp, 5), 5 word(ramp, 6))
set xlabel xlabel
set ylabel ylabel
set xrange [-0.5:columns - 0.5]
set yrange [-0.5:rows - 0.5]
set xtics () scale 0
set ytics () scale 0
do for [i=1:columns] { set xtics add (tic(value('x'.i)) i - 1) }
do for [i=1:rows] { set ytics add (tic(value('y'.i)) i - 1) }
do for [i=1:words(close)] {
    x = int(word(close, i)) % columns
    y = int(word(close, i)) / columns
    set object i + 1 rectangle from x - 0.46, y - 0.46 to x + 0.46, y + 0.46 \
        fs empty border lc rgb '#d55e00' lw 2 dt 2 front
}
x = best_cell % columns
y = best_cell / columns
set object 1 rectangle from x - 0.5, y - 0.5 to x + 0.5, y + 0.5 fs empty border lc rgb '#d55e00' lw 4 front
set title strlen(title) ? title."\n".best : best
eval sprintf('set rmargin at screen %.4f', 1 - 120.0 / width)
set cblabel cblabel
set cbrange [low:high]
unset key
plot data using 1:2:($1 - 0.48):($1 + 0.48):($2 - 0.48):($2 + 0.48):3 with boxxyerror fc palette fs solid noborder, \
    data using 1:(dark($3) ? NaN : $2 + 0.12):5 with labels tc rgb 'black', \
    data using 1:(dark($3) ? $2 + 0.12 : NaN):5 with labels tc rgb 'white', \
    data using 1:(dark($3) ? NaN : $2 - 0.18):6 with labels tc rgb 'black', \
    data using 1:(dark($3) ? $2 - 0.18 : NaN):6 with labels tc rgb 'white'
set output
}
