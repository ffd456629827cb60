# training runs: losses, dev scores, perplexity
# gnuplot curve.gp, in this directory, draws the .svg and .png files from the .dat file.
set encoding utf8
data = './curve.dat'
if (!exists('svg')) svg = './curve.svg'
if (!exists('png')) png = './curve.png'
title = ''
runs = 1
label1 = 'lr-1e-4'
panel1 = 'loss 120'
ylabel1 = 'loss, mean over 15 steps'
curve1 = '1 loss 0 2 1'
name1 = 'total'
curve2 = '1 loss 0 3 2'
name2 = 'cosine'
curve3 = '1 loss 0 4 3'
name3 = 'in-batch negatives'
curve4 = '1 loss 0 5 4'
name4 = 'angle'
panel2 = 'score 120'
ylabel2 = 'Spearman correlation on the dev set x 100'
curve5 = '2 score 1 0.8 1'
name5 = 'dev score'
curve6 = '2 best 1 120 0'
name6 = 'best: 88.27, step 120'
curve7 = '2 start 1 0 0'
name7 = 'start model: 85.54'
panels = 2
curves = 7

# Definitions that the scripts of all plots use. aoe plot writes the file NAME.gp, which contains the parameters of the
# plot, this file, and the script of the plot. The variables data, svg and png are the paths of the data and of the
# images.

# Returns the commands that begin an image of the given size in pixels. The .png image has twice as many pixels per
# direction.
begin(format, width, height) = "reset; ".( \
    format eq 'svg' ? \
        sprintf("set terminal svg size %d,%d noenhanced font 'sans-serif,12' ", width, height). \
        "background rgb 'white'; set output svg" : \
    strstrt(GPVAL_TERMINALS, 'pngcairo') ? \
        sprintf("set terminal pngcairo size %d,%d noenhanced fontscale 2 font 'sans,10' ", 2 * width, 2 * height). \
        "lw 2.6 dl 1.3 ps 2.8; set output png" : \
        sprintf("set terminal png size %d,%d noenhanced; set output png", 2 * width, 2 * height))

# Commands that define line styles and a light grid. The colors can be distinguished by color-blind readers (Okabe and
# Ito 2008). In grayscale, dashes and markers distinguish the lines.
line_styles = "\
set style line 1 lc rgb '#0072b2' dt solid pt 7 lw 2 ps 0.9; \
set style line 2 lc rgb '#d55e00' dt (8,3) pt 5 lw 2 ps 0.9; \
set style line 3 lc rgb '#009e73' dt (3,3) pt 9 lw 2 ps 0.9; \
set style line 4 lc rgb '#cc79a7' dt (10,3,2,3) pt 13 lw 2 ps 0.9; \
set style line 5 lc rgb '#e69f00' dt solid pt 6 lw 2 ps 0.9; \
set style line 6 lc rgb '#56b4e9' dt (8,3) pt 4 lw 2 ps 0.9; \
set style line 7 lc rgb '#000000' dt (3,3) pt 8 lw 2 ps 0.9; \
set grid back lt 1 lw 0.5 lc rgb '#d8d8d8'"

# Colors for ordered values, from light yellow over green to dark blue.
ramp = '#fffcd6 #c8e6b4 #70c3b2 #3094b0 #205c98 #0e2254'

# Number i of a list of numbers, such as '0 5 7'. The first number has the index 1.
number(list, i) = real(word(list, i))

# A text as a tick label, in which '%' begins a format.
tic(s) = strstrt(s, '%') ? s[1:strstrt(s, '%')].'%'.tic(s[strstrt(s, '%')+1:*]) : s

# Margins of a plot, as fractions of the image.
margins(left, right, top, bottom) = \
    sprintf("set lmargin at screen %.4f; set rmargin at screen %.4f; ", left, right). \
    sprintf("set tmargin at screen %.4f; set bmargin at screen %.4f", top, bottom)

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
