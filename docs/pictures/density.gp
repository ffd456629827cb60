# densities of cosines by gold score, and of the gold scores
# gnuplot density.gp, in this directory, draws the .svg and .png files from the .dat file.
set encoding utf8
data = './density.dat'
if (!exists('svg')) svg = './density.svg'
if (!exists('png')) png = './density.png'
title = ''
row1 = '0'
row2 = '1'
row3 = '2'
row4 = '3'
row5 = '4'
row6 = '5'
row7 = 'all'
rows = 7
base = '0 1 2 3 4 5 6.6'
group = '1 2 3 4 5 6 7'
panels = 3
gold = 3
title1 = 'aoe-small-en'
note1 = 'Spearman 77.79'
title2 = 'my-model'
note2 = 'Spearman 81.00'
title3 = 'gold scores'
note3 = '205 pairs'

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
