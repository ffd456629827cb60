# densities of the logarithms of texts' lengths in tokens
# gnuplot lengths.gp, in this directory, draws the .svg and .png files from the .dat file.
set encoding utf8
data = './lengths.dat'
if (!exists('svg')) svg = './lengths.svg'
if (!exists('png')) png = './lengths.png'
title = ''

do for [format in 'svg png'] {
reset
if (format eq 'svg') {
    set terminal svg size 580,460 noenhanced font 'sans-serif,12' background rgb 'white'
    set output svg
} else { if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {
    set terminal pngcairo size 1160,920 noenhanced fontscale 2 font 'sans,10' lw 2.6 dl 1.3 ps 2.8
} else {
    set terminal png size 1160,920 noenhanced
}
set output png
}

set title title offset 0,1.2
unset key
set logscale y
set xrange [0.45:3.55]
set bmargin 4
set tmargin 2.5
set ylabel 'tokens per text'
set grid ytics back lt 1 lw 0.5 lc rgb '#d8d8d8'
set xtics ('train' 1, 'test' 2, 'manual' 3) scale 0
set ytics (2, 4, 8, 16, 32, 64, 128, 256)
set yrange [3.2:160]
set label 'n = 1168' at 1, graph -0.105 center
set label '11' at 1.05, 11 left front
set label '0.09% > 32' at 1, graph 1.04 center
set label 'n = 410' at 2, graph -0.105 center
set label '11' at 2.05, 11 left front
set label '0.00% > 32' at 2, graph 1.04 center
set label 'n = 301' at 3, graph -0.105 center
set label '31' at 3.05, 31 left front
set label '45.18% > 32' at 3, graph 1.04 center
set arrow from graph 0, first 32 to graph 1, first 32 nohead front dt (6,4) lw 1.5 lc rgb '#d55e00'
plot \
    data index 0 using (1 + 0.2242 * $3):1 with filledcurves x1=1 fc rgb '#9cc7e4', \
    '' index 0 using (1 - 0.2242 * $3):1 with filledcurves x1=1 fc rgb '#9cc7e4', \
    '' index 0 using (1 + 0.2242 * $3):1 with lines lc rgb '#204a70', \
    '' index 0 using (1 - 0.2242 * $3):1 with lines lc rgb '#204a70', \
    '' index 0 using (1):1 with lines lc rgb '#9cc7e4', \
    data index 1 using (2 + 0.2242 * $3):1 with filledcurves x1=2 fc rgb '#9cc7e4', \
    '' index 1 using (2 - 0.2242 * $3):1 with filledcurves x1=2 fc rgb '#9cc7e4', \
    '' index 1 using (2 + 0.2242 * $3):1 with lines lc rgb '#204a70', \
    '' index 1 using (2 - 0.2242 * $3):1 with lines lc rgb '#204a70', \
    '' index 1 using (2):1 with lines lc rgb '#9cc7e4', \
    data index 2 using (3 + 0.2242 * $3):1 with filledcurves x1=3 fc rgb '#9cc7e4', \
    '' index 2 using (3 - 0.2242 * $3):1 with filledcurves x1=3 fc rgb '#9cc7e4', \
    '' index 2 using (3 + 0.2242 * $3):1 with lines lc rgb '#204a70', \
    '' index 2 using (3 - 0.2242 * $3):1 with lines lc rgb '#204a70', \
    '' index 2 using (3):1 with lines lc rgb '#9cc7e4', \
    data index 3 using 1:5:(0):($7 - $5) with vectors nohead lw 6 lc rgb '#204a70', \
    '' index 3 using 1:6 with points pt 7 ps 1.1 lc rgb 'white', \
    '' index 3 using 1:6 with points pt 6 ps 1.1 lc rgb '#204a70'

set output
}
