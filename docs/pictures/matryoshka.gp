# quality of models of several sizes
# gnuplot matryoshka.gp, in this directory, draws the .svg and .png files from the .dat file.
set encoding utf8
data = './matryoshka.dat'
if (!exists('svg')) svg = './matryoshka.svg'
if (!exists('png')) png = './matryoshka.png'
title = ''

do for [format in 'svg png'] {
reset
if (format eq 'svg') {
    set terminal svg size 640,420 noenhanced font 'sans-serif,12' background rgb 'white'
    set output svg
} else { if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {
    set terminal pngcairo size 1280,840 noenhanced fontscale 2 font 'sans,10' lw 2.6 dl 1.3 ps 2.8
} else {
    set terminal png size 1280,840 noenhanced
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
set title title
set xlabel 'number of components'
set ylabel 'spearman x 100'
set key bottom right Left reverse samplen 3
set logscale x 2
set offsets graph 0.03, graph 0.03, graph 0.05, graph 0.05
set xtics (12, 24, 48, 96, 192, 384)
plot data index 0 using 1:2 with linespoints ls 1 title 'my-model', \
    data index 1 using 1:2 with linespoints ls 2 title 'nested'

set output
}
