# SPDX-License-Identifier: MIT
# The losses, dev scores and perplexity of training runs. Parameters: runs: number of runs; label1, label2 ...: names of
# the runs; panels: number of panels; ylabel1, ylabel2 ...: labels of their axes; panel1, panel2 ...: kind of the panel
# (loss, score or perplexity) and last step; curves: number of curves; name1, name2 ...: their names in the legend;
# curve1, curve2 ...: index of the panel, kind of the curve, index of the data block, a number, index of the line style.
# The kinds of curves, with their numbers:
#   loss      line of a loss (column of the data)
#   training  line of the perplexity in training, the exponential of the loss
#   score     line of scores or perplexities (size of the points)
#   best      mark of the best value (step)
#   start     mark of the start model (step)
# If the variable characters exists, the script also prints a plot made of characters.
kind_of(c) = word(value('curve'.c), 2)
columns_of(c) = kind_of(c) eq 'loss' ? 'using 1:'.word(value('curve'.c), 4) : \
    kind_of(c) eq 'training' ? 'using 1:(exp($2))' : \
    kind_of(c) eq 'score' ? 'using 1:2' : \
    'using ($1 == '.word(value('curve'.c), 4).' ? $1 : NaN):2'
style_of(c) = kind_of(c) eq 'loss' ? 'lines ls '.word(value('curve'.c), 5) : \
    kind_of(c) eq 'training' ? "lines lc rgb '#999999' lw 1" : \
    kind_of(c) eq 'score' ? 'linespoints ls '.word(value('curve'.c), 5).' ps '.word(value('curve'.c), 4) : \
    kind_of(c) eq 'best' ? "points pt 6 ps 1.6 lw 1.5 lc rgb 'black'" : \
    "points pt 7 ps 1.2 lc rgb 'black'"
plot_of(c) = 'data index '.word(value('curve'.c), 3).' '.columns_of(c)

if (exists('characters')) {
    lines = ''
    do for [c=1:curves] {
        if (kind_of(c) eq 'training' || (kind_of(c) eq 'loss' && int(word(value('curve'.c), 4)) == 2)) {
            lines = lines.(strlen(lines) ? ', ' : '').plot_of(c).' with lines'
        }
    }
    set terminal dumb 96 20
    unset key
    if (strlen(lines)) { eval 'plot '.lines } # there are no losses if the log has only evaluations
}

# the panels are in a grid below the title and the common legend of several runs; sizes in pixels
losses = 0
do for [c=1:curves] { losses = losses + (kind_of(c) eq 'loss') }
columns = panels == 1 ? 1 : panels == 2 || panels == 4 ? 2 : 3
rows = (panels + columns - 1) / columns
band = (strlen(title) ? 28 : 0) + (runs > 1 ? 32 : 0)
width = columns == 1 ? 800 : columns == 2 ? 960 : 1200
height = band + (panels == 1 ? 460 : 370) * rows
cell_width = real(width) / columns
cell_height = real(height - band) / rows
above = runs > 1 ? 16 : 18 + 18 * (losses > 4 ? (losses + 1) / 2 : 2) # legend of a single run, in two columns

do for [format in 'svg png'] {
eval begin(format, width, height)
eval line_styles
set multiplot title title
if (runs > 1) {
    # the common legend is the legend of an empty plot that covers the whole image
    eval margins(0.0, 1.0, 1.0, 0.0)
    unset border
    unset tics
    set key at screen 0.5, screen 1 - (band - 16.0) / height center center horizontal Left reverse samplen 4 width 2
    plot [0:1] [0:1] for [i=1:runs] NaN with linespoints ls i title value('label'.i)
    set border
    set tics
    unset key
} else {
    set key at graph 0.5, graph 1.02 center bottom horizontal Left reverse maxcols 2 samplen 3 width -3
}
set xlabel 'step'
do for [p=1:panels] {
    x = cell_width * ((p - 1) % columns)
    y = band + cell_height * ((p - 1) / columns)
    eval margins((x + 75) / width, (x + cell_width - 20) / width, \
        1 - (y + above) / height, 1 - (y + cell_height - 60) / height)
    set xrange [0:1.02 * number(value('panel'.p), 2)]
    set ylabel value('ylabel'.p)
    kind = word(value('panel'.p), 1)
    if (kind eq 'score') { set offsets 0, 0, graph 0.06, graph 0.06 }
    if (kind eq 'perplexity') {
        set logscale y
        set autoscale yfix
        set offsets 0, 0, graph 0.05, graph 0.05
        set ytics ()
        do for [power=0:6] { do for [digit in '1 2 3 5 7'] { set ytics add (digit * 10**power) } }
    }
    lines = ''
    do for [c=1:curves] {
        if (int(word(value('curve'.c), 1)) == p) {
            lines = lines.(strlen(lines) ? ', ' : '').plot_of(c).' with '.style_of(c).' title name'.c
        }
    }
    eval 'plot '.lines
}
unset multiplot
set output
}
