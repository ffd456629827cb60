# training runs: losses, dev scores, perplexity
# gnuplot curve.gp, in this directory, draws the .svg and .png files from the .dat file.
set encoding utf8
data = './curve.dat'
if (!exists('svg')) svg = './curve.svg'
if (!exists('png')) png = './curve.png'
title = ''

do for [format in 'svg png'] {
reset
if (format eq 'svg') {
    set terminal svg size 960,370 noenhanced font 'sans-serif,12' background rgb 'white'
    set output svg
} else { if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {
    set terminal pngcairo size 1920,740 noenhanced fontscale 2 font 'sans,10' lw 2.6 dl 1.3 ps 2.8
} else {
    set terminal png size 1920,740 noenhanced
}
set output png
}

# color-blind safe colors (Okabe and Ito); dashes and markers for grayscale prints
set style line 1 lc rgb '#0072b2' dt solid pt 7 lw 2 ps 0.9
set style line 2 lc rgb '#d55e00' dt (8,3) pt 5 lw 2 ps 0.9
set style line 3 lc rgb '#009e73' dt (3,3) pt 9 lw 2 ps 0.9
set style line 4 lc rgb '#cc79a7' dt (10,3,2,3) pt 13 lw 2 ps 0.9
set style line 5 lc rgb '#e69f00' dt solid pt 6 lw 2 ps 0.9
set style line 6 lc rgb '#56b4e9' dt (8,3) pt 4 lw 2 ps 0.9
set style line 7 lc rgb '#000000' dt (3,3) pt 8 lw 2 ps 0.9
set grid back lt 1 lw 0.5 lc rgb '#d8d8d8'
set multiplot title title
set key at graph 0.5, graph 1.02 center bottom horizontal Left reverse maxcols 2 samplen 3 width -3
set xlabel 'step'
set xrange [0:122.4]
set lmargin at screen 0.0781
set rmargin at screen 0.4792
set tmargin at screen 0.8541
set bmargin at screen 0.1622
set ylabel 'loss, mean over 15 steps'
plot data index 0 using 1:2 with lines ls 1 title 'total', \
    data index 0 using 1:3 with lines ls 2 title 'cosine', \
    data index 0 using 1:4 with lines ls 3 title 'in-batch negatives', \
    data index 0 using 1:5 with lines ls 4 title 'angle'
set lmargin at screen 0.5781
set rmargin at screen 0.9792
set tmargin at screen 0.8541
set bmargin at screen 0.1622
set ylabel 'dev score x 100'
set offsets 0, 0, graph 0.06, graph 0.06
plot data index 1 using 1:2 with linespoints ls 1 ps 0.8 title 'dev score', \
    data index 1 using ($1 == 75 ? $1 : NaN):2 with points pt 6 ps 1.6 lw 1.5 lc rgb 'black' title 'best: 88.38, step 75'
unset multiplot

set output
}
