# SPDX-License-Identifier: MIT
# The quality of a model over the number of components or of layers. Parameters: lines: number of lines and of data
# blocks; x: dims or layers; xlabel, ylabel; tics: values of x, or '' for automatic tics; label1, label2 ...: names of
# the lines.
do for [format in 'svg png'] {
eval begin(format, 640, 420)
eval line_styles
set title title
set xlabel xlabel
set ylabel ylabel
set key bottom right Left reverse samplen 3
if (x eq 'dims') {
    set logscale x 2
    set offsets graph 0.03, graph 0.03, graph 0.05, graph 0.05
} else {
    set offsets 0.3, 0.3, graph 0.05, graph 0.05
}
if (words(tics)) { set xtics () }
do for [tic in tics] { set xtics add (int(tic)) }
if (lines == 1) { unset key }
plot for [i=1:lines] data index i-1 using 1:2 with linespoints ls i title value('label'.i)
set output
}
