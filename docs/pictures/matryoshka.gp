# quality of models of several sizes
# gnuplot matryoshka.gp, in this directory, draws the .svg and .png files from the .dat file.
set encoding utf8
data = './matryoshka.dat'
if (!exists('svg')) svg = './matryoshka.svg'
if (!exists('png')) png = './matryoshka.png'
title = ''
xlabel = 'number of components'
ylabel = 'spearman x 100'
lines = 2
x = 'dims'
tics = '12 24 48 96 192 384'
label1 = 'my-model'
label2 = 'nested'

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
