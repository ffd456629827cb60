# training runs: losses, dev scores, perplexity
# gnuplot runs.gp, in this directory, draws the .svg and .png files from the .dat file.
set encoding utf8
data = './runs.dat'
if (!exists('svg')) svg = './runs.svg'
if (!exists('png')) png = './runs.png'
title = 'three learning rates'

do for [format in 'svg png'] {
reset
if (format eq 'svg') {
    set terminal svg size 1200,800 noenhanced font 'sans-serif,12' background rgb 'white'
    set output svg
} else { if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {
    set terminal pngcairo size 2400,1600 noenhanced fontscale 2 font 'sans,10' lw 2.6 dl 1.3 ps 2.8
} else {
    set terminal png size 2400,1600 noenhanced
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
set lmargin at screen 0
set rmargin at screen 1
set tmargin at screen 1
set bmargin at screen 0
unset border
unset tics
set key at screen 0.5, screen 0.9450 center center horizontal Left reverse samplen 4 width 2
plot [0:1] [0:1] NaN with linespoints ls 1 title 'lr-3e-5', NaN with linespoints ls 2 title 'lr-1e-4', NaN with linespoints ls 3 title 'lr-3e-4'
set border
set tics
unset key
set xlabel 'step'
set xrange [0:122.4]
set lmargin at screen 0.0625
set rmargin at screen 0.3167
set tmargin at screen 0.9050
set bmargin at screen 0.5375
set ylabel 'loss: total'
plot data index 0 using 1:2 with lines ls 1 title 'lr-3e-5', \
    data index 2 using 1:2 with lines ls 2 title 'lr-1e-4', \
    data index 4 using 1:2 with lines ls 3 title 'lr-3e-4'
set lmargin at screen 0.3958
set rmargin at screen 0.6500
set tmargin at screen 0.9050
set bmargin at screen 0.5375
set ylabel 'loss: cosine'
plot data index 0 using 1:3 with lines ls 1 title 'lr-3e-5', \
    data index 2 using 1:3 with lines ls 2 title 'lr-1e-4', \
    data index 4 using 1:3 with lines ls 3 title 'lr-3e-4'
set lmargin at screen 0.7292
set rmargin at screen 0.9833
set tmargin at screen 0.9050
set bmargin at screen 0.5375
set ylabel 'loss: in-batch negatives'
plot data index 0 using 1:4 with lines ls 1 title 'lr-3e-5', \
    data index 2 using 1:4 with lines ls 2 title 'lr-1e-4', \
    data index 4 using 1:4 with lines ls 3 title 'lr-3e-4'
set lmargin at screen 0.0625
set rmargin at screen 0.3167
set tmargin at screen 0.4425
set bmargin at screen 0.0750
set ylabel 'loss: angle'
plot data index 0 using 1:5 with lines ls 1 title 'lr-3e-5', \
    data index 2 using 1:5 with lines ls 2 title 'lr-1e-4', \
    data index 4 using 1:5 with lines ls 3 title 'lr-3e-4'
set lmargin at screen 0.3958
set rmargin at screen 0.6500
set tmargin at screen 0.4425
set bmargin at screen 0.0750
set ylabel 'dev score x 100'
set offsets 0, 0, graph 0.06, graph 0.06
plot data index 1 using 1:2 with linespoints ls 1 ps 0.8 title 'lr-3e-5', \
    data index 1 using ($1 == 75 ? $1 : NaN):2 with points pt 6 ps 1.6 lw 1.5 lc rgb 'black' title '', \
    data index 3 using 1:2 with linespoints ls 2 ps 0.8 title 'lr-1e-4', \
    data index 3 using ($1 == 75 ? $1 : NaN):2 with points pt 6 ps 1.6 lw 1.5 lc rgb 'black' title '', \
    data index 5 using 1:2 with linespoints ls 3 ps 0.8 title 'lr-3e-4', \
    data index 5 using ($1 == 120 ? $1 : NaN):2 with points pt 6 ps 1.6 lw 1.5 lc rgb 'black' title ''
unset multiplot

set output
}
