# cosine, angle score and their gradients over the angle between vectors
# gnuplot saturation-plane.gp, in this directory, draws the .svg and .png files from the .dat file.
set encoding utf8
data = './saturation-plane.dat'
if (!exists('svg')) svg = './saturation-plane.svg'
if (!exists('png')) png = './saturation-plane.png'
title = ''
shaded = 'shaded: the cosine saturates (gradient below 0.2)'
zone_low = 12
zone_high = 168
cosine = 'cosine'
reference = 'angle score, reference form'
phase = 'angle score, phase form'

do for [format in 'svg png'] {
reset
if (format eq 'svg') {
    set terminal svg size 900,420 noenhanced font 'sans-serif,12' background rgb 'white'
    set output svg
} else { if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {
    set terminal pngcairo size 1800,840 noenhanced fontscale 2 font 'sans,10' lw 2.6 dl 1.3 ps 2.8
} else {
    set terminal png size 1800,840 noenhanced
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
set multiplot layout 1,2 title title
set xlabel 'angle between the vectors, degrees'
set xrange [0:180]
set xtics 30
set object 1 rectangle from 0, graph 0 to zone_low, graph 1 fc rgb '#e4e4e4' fs solid noborder behind
set object 2 rectangle from zone_high, graph 0 to 180, graph 1 fc rgb '#e4e4e4' fs solid noborder behind
set key bottom left Left reverse samplen 3
set ylabel 'score'
set yrange [*:1.2]
plot data using 1:2 with linespoints ls 1 lw 4 pi 24 title cosine, \
    data using 1:3 with linespoints ls 2 pi 20 title reference, \
    data using 1:4 with linespoints ls 3 pi 20 title phase
set ylabel 'negative derivative of the score'
unset key
set yrange [*:2]
set label 1 shaded at graph 0.5, graph 0.95 center
plot data using 1:5 with linespoints ls 1 lw 4 pi 24, \
    data using 1:6 with linespoints ls 2 pi 20, \
    data using 1:7 with linespoints ls 3 pi 20
unset multiplot

set output
}
