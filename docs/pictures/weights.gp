# mean scores of a grid search over two of its options
# gnuplot weights.gp, in this directory, draws the .svg and .png files from the .dat file.
set encoding utf8
data = './weights.dat'
if (!exists('out')) out = './weights'
title = 'STS-B dev, aoe-mini-en'
best = 'best: 82.85 at w-ibn 1, w-angle 30'

do for [format in 'svg png'] {
reset
if (format eq 'svg') {
    set terminal svg size 560,560 noenhanced font 'sans-serif,12' background rgb 'white'
} else { if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {
    set terminal pngcairo size 560,560 noenhanced font 'sans,10' lw 1.3 dl 1.3 ps 1.4
} else {
    set terminal png size 560,560 noenhanced
}}
set output out.'.'.format

set palette defined (0 '#fffcd6', 1 '#c8e6b4', 2 '#70c3b2', 3 '#3094b0', 4 '#205c98', 5 '#0e2254')
set xlabel 'w-ibn'
set xrange [-0.5:2.5]
set xtics ('0' 0, '0.3' 1, '1' 2) scale 0
set ylabel 'w-angle'
set yrange [-0.5:7.5]
set ytics ('0' 0, '0.3' 1, '1' 2, '3' 3, '10' 4, '30' 5, '100' 6, '300' 7) scale 0
set title strlen(title) ? title."\n".best : best
set rmargin at screen 0.7857
set cblabel 'score x 100, mean'
set cbrange [81.2145:82.8506]
unset key
set object 1 rectangle from 2 - 0.5, 5 - 0.5 to 2 + 0.5, 5 + 0.5 fs empty border lc rgb '#d55e00' lw 4 front
plot data using 1:2:($1 - 0.48):($1 + 0.48):($2 - 0.48):($2 + 0.48):3 with boxxyerror fc palette fs solid noborder, \
    data using 1:($5 == 0 ? $2 : NaN):(sprintf('%.2f', $3)) with labels tc rgb 'black', \
    data using 1:($5 == 1 ? $2 : NaN):(sprintf('%.2f', $3)) with labels tc rgb 'white'

set output
}
