# mean scores of a grid search over two of its options
# gnuplot grid.gp, in this directory, draws the .svg and .png files from the .dat file.
set encoding utf8
data = './grid.dat'
if (!exists('svg')) svg = './grid.svg'
if (!exists('png')) png = './grid.png'
title = ''
best = 'best: 65.51 at w-angle 0, w-ibn 0.25'

do for [format in 'svg png'] {
reset
if (format eq 'svg') {
    set terminal svg size 600,360 noenhanced font 'sans-serif,12' background rgb 'white'
    set output svg
} else { if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {
    set terminal pngcairo size 1200,720 noenhanced fontscale 2 font 'sans,10' lw 2.6 dl 1.3 ps 2.8
} else {
    set terminal png size 1200,720 noenhanced
}
set output png
}

set palette defined (0 '#fffcd6', 1 '#c8e6b4', 2 '#70c3b2', 3 '#3094b0', 4 '#205c98', 5 '#0e2254')
set xlabel 'w-angle'
set xrange [-0.5:3.5]
set xtics ('0' 0, '0.5' 1, '1' 2, '2' 3) scale 0
set ylabel 'w-ibn'
set yrange [-0.5:3.5]
set ytics ('0' 0, '0.25' 1, '0.5' 2, '1' 3) scale 0
set title strlen(title) ? title."\n".best : best
set rmargin at screen 0.8000
set cblabel 'score x 100, mean'
set cbrange [63.6218:65.5135]
unset key
set object 1 rectangle from 0 - 0.5, 1 - 0.5 to 0 + 0.5, 1 + 0.5 fs empty border lc rgb '#d55e00' lw 4 front
plot data using 1:2:($1 - 0.48):($1 + 0.48):($2 - 0.48):($2 + 0.48):3 with boxxyerror fc palette fs solid noborder, \
    data using 1:($5 == 0 ? $2 : NaN):(sprintf('%.2f', $3)) with labels tc rgb 'black', \
    data using 1:($5 == 1 ? $2 : NaN):(sprintf('%.2f', $3)) with labels tc rgb 'white'

set output
}
