# SPDX-License-Identifier: MIT
# Violins of the lengths of texts, with one violin for each file. Parameters: files: number of files; limit: length at
# which a line is drawn, or 0; label1, label2 ...: names of the files; under1 ...: texts under the violins; above1 ...:
# texts above the violins, if limit is not 0. Data block i - 1 has the density of file i: length, its logarithm,
# density. The last block has a row for each file: position, number of texts, mean, minimum, lower quartile, median,
# upper quartile, maximum.
stats data index 0:files-1 using 3 nooutput
half = 0.42 / STATS_max # half of the width of the widest violin
stats data index files using 4 nooutput
low = STATS_min
stats data index files using 8 nooutput
high = STATS_max

medians = ''
longest = 0 # characters of the longest name
violins = ''
do for [i=1:files] {
    stats data index files every ::i-1::i-1 using 6 nooutput
    medians = medians.sprintf(' %.6g', STATS_min)
    longest = strlen(value('label'.i)) > longest ? strlen(value('label'.i)) : longest
    curve(sign) = sprintf("data index %d using (%d %s %.4g * $3):1 with ", i - 1, i, sign, half)
    violins = violins.curve('+').sprintf("filledcurves x1=%d fc rgb '#9cc7e4', ", i)
    violins = violins.curve('-').sprintf("filledcurves x1=%d fc rgb '#9cc7e4', ", i)
    violins = violins.curve('+')."lines lc rgb '#204a70', ".curve('-')."lines lc rgb '#204a70', "
    # a vertical line in the fill color, which hides the border between the two halves of the violin
    violins = violins.sprintf("data index %d using (%d):1 with lines lc rgb '#9cc7e4', ", i - 1, i)
}

width = 130 + files * (longest < 18 ? 150 : longest < 40 ? 8 * longest + 10 : 330)

do for [format in 'svg png'] {
eval begin(format, width > 480 ? width : 480, 460)
set title title offset 0, limit ? 1.2 : 0
unset key
set logscale y
set xrange [0.45:files + 0.55]
set bmargin 4
set tmargin strlen(title) ? 4 : 2.5
set ylabel 'tokens per text'
set grid ytics back lt 1 lw 0.5 lc rgb '#d8d8d8'
set xtics () scale 0
set ytics ()
do for [power=0:39] { if (2.0**power >= low / 2 && 2.0**power <= 2 * high) { set ytics add (2.0**power) } }
set yrange [(low > 0.5 ? low : 0.5) / 1.25:high * 1.25]
do for [i=1:files] {
    set xtics add (tic(value('label'.i)) i)
    set label value('under'.i) at i, graph -0.105 center
    set label word(medians, i) at i + 0.05, number(medians, i) left front
    if (limit) { set label value('above'.i) at i, graph 1.04 center }
}
if (limit) { set arrow from graph 0, first limit to graph 1, first limit nohead front dt (6,4) lw 1.5 lc rgb '#d55e00' }
eval 'plot '.violins."\
    data index files using 1:5:(0):($7 - $5) with vectors nohead lw 6 lc rgb '#204a70', \
    data index files using 1:6 with points pt 7 ps 1.1 lc rgb 'white', \
    data index files using 1:6 with points pt 6 ps 1.1 lc rgb '#204a70'"
set output
}
