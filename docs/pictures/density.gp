# densities of cosines by gold score, and of the gold scores
# gnuplot density.gp, in this directory, draws the .svg and .png files from the .dat file.
set encoding utf8
data = './density.dat'
if (!exists('svg')) svg = './density.svg'
if (!exists('png')) png = './density.png'
title = ''
title1 = 'aoe-small-en'
note1 = 'Spearman 77.61'
title2 = 'my-model'
note2 = 'Spearman 81.15'
title3 = 'gold scores'
note3 = '205 pairs'

do for [format in 'svg png'] {
reset
if (format eq 'svg') {
    set terminal svg size 880,523 noenhanced font 'sans-serif,12' background rgb 'white'
    set output svg
} else { if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {
    set terminal pngcairo size 1760,1046 noenhanced fontscale 2 font 'sans,10' lw 2.6 dl 1.3 ps 2.8
} else {
    set terminal png size 1760,1046 noenhanced
}
set output png
}

set multiplot title title
unset key
set border 1
set xtics nomirror out
set grid xtics back lt 1 lw 0.5 lc rgb '#d8d8d8'
set yrange [-0.3:8.2]
set bmargin at screen 0.1396
set tmargin at screen 0.8700

set lmargin at screen 0.0682
set rmargin at screen 0.3415
set xrange [-0.4:1]
set xlabel 'cosine'
set xtics 0.5
set label 1 title1 at graph 0.5, graph 1 center offset 0, 2.1
set label 2 note1 at graph 0.5, graph 1 center offset 0, 0.8
set ytics ('0' 0, '1' 1, '2' 2, '3' 3, '4' 4, '5' 5, 'all' 6.6) scale 0
set ylabel 'gold score (triangle: median)' offset 1
plot \
    data index 6 using 1:(6.6 + 0.6558 * $2):(6.6) with filledcurves fc rgb '#bbbbbb', \
    '' index 6 using 1:(6.6 + 0.6558 * $2) with lines lc rgb '#333333', \
    data index 5 using 1:(5 + 0.2624 * $2):(5) with filledcurves fc rgb '#0e2254', \
    '' index 5 using 1:(5 + 0.2624 * $2) with lines lc rgb '#333333', \
    data index 4 using 1:(4 + 0.3766 * $2):(4) with filledcurves fc rgb '#205c98', \
    '' index 4 using 1:(4 + 0.3766 * $2) with lines lc rgb '#333333', \
    data index 3 using 1:(3 + 0.4914 * $2):(3) with filledcurves fc rgb '#3094b0', \
    '' index 3 using 1:(3 + 0.4914 * $2) with lines lc rgb '#333333', \
    data index 2 using 1:(2 + 0.7911 * $2):(2) with filledcurves fc rgb '#70c3b2', \
    '' index 2 using 1:(2 + 0.7911 * $2) with lines lc rgb '#333333', \
    data index 1 using 1:(1 + 0.5607 * $2):(1) with filledcurves fc rgb '#c8e6b4', \
    '' index 1 using 1:(1 + 0.5607 * $2) with lines lc rgb '#333333', \
    data index 0 using 1:(0 + 0.6324 * $2):(0) with filledcurves fc rgb '#fffcd6', \
    '' index 0 using 1:(0 + 0.6324 * $2) with lines lc rgb '#333333', \
    data index 7 using 1:2 with points pt 9 ps 0.9 lc rgb 'white', \
    '' index 7 using 1:2 with points pt 8 ps 0.9 lc rgb 'black'

set lmargin at screen 0.3788
set rmargin at screen 0.6521
set xrange [-0.4:1]
set xlabel 'cosine'
set xtics 0.5
set label 1 title2 at graph 0.5, graph 1 center offset 0, 2.1
set label 2 note2 at graph 0.5, graph 1 center offset 0, 0.8
unset ytics
unset ylabel
plot \
    data index 14 using 1:(6.6 + 0.4753 * $2):(6.6) with filledcurves fc rgb '#bbbbbb', \
    '' index 14 using 1:(6.6 + 0.4753 * $2) with lines lc rgb '#333333', \
    data index 13 using 1:(5 + 0.1669 * $2):(5) with filledcurves fc rgb '#0e2254', \
    '' index 13 using 1:(5 + 0.1669 * $2) with lines lc rgb '#333333', \
    data index 12 using 1:(4 + 0.2199 * $2):(4) with filledcurves fc rgb '#205c98', \
    '' index 12 using 1:(4 + 0.2199 * $2) with lines lc rgb '#333333', \
    data index 11 using 1:(3 + 0.2966 * $2):(3) with filledcurves fc rgb '#3094b0', \
    '' index 11 using 1:(3 + 0.2966 * $2) with lines lc rgb '#333333', \
    data index 10 using 1:(2 + 0.4632 * $2):(2) with filledcurves fc rgb '#70c3b2', \
    '' index 10 using 1:(2 + 0.4632 * $2) with lines lc rgb '#333333', \
    data index 9 using 1:(1 + 0.4496 * $2):(1) with filledcurves fc rgb '#c8e6b4', \
    '' index 9 using 1:(1 + 0.4496 * $2) with lines lc rgb '#333333', \
    data index 8 using 1:(0 + 0.5712 * $2):(0) with filledcurves fc rgb '#fffcd6', \
    '' index 8 using 1:(0 + 0.5712 * $2) with lines lc rgb '#333333', \
    data index 15 using 1:2 with points pt 9 ps 0.9 lc rgb 'white', \
    '' index 15 using 1:2 with points pt 8 ps 0.9 lc rgb 'black'

set lmargin at screen 0.6894
set rmargin at screen 0.9627
set xrange [0:5]
set xlabel 'gold score'
set xtics 1
set label 1 title3 at graph 0.5, graph 1 center offset 0, 2.1
set label 2 note3 at graph 0.5, graph 1 center offset 0, 0.8
plot \
    data index 22 using 1:(6.6 + 4.032 * $2):(6.6) with filledcurves fc rgb '#bbbbbb', \
    '' index 22 using 1:(6.6 + 4.032 * $2) with lines lc rgb '#333333', \
    data index 21 using 1:(5 + 0.6143 * $2):(5) with filledcurves fc rgb '#0e2254', \
    '' index 21 using 1:(5 + 0.6143 * $2) with lines lc rgb '#333333', \
    data index 20 using 1:(4 + 0.9279 * $2):(4) with filledcurves fc rgb '#205c98', \
    '' index 20 using 1:(4 + 0.9279 * $2) with lines lc rgb '#333333', \
    data index 19 using 1:(3 + 1.467 * $2):(3) with filledcurves fc rgb '#3094b0', \
    '' index 19 using 1:(3 + 1.467 * $2) with lines lc rgb '#333333', \
    data index 18 using 1:(2 + 1.043 * $2):(2) with filledcurves fc rgb '#70c3b2', \
    '' index 18 using 1:(2 + 1.043 * $2) with lines lc rgb '#333333', \
    data index 17 using 1:(1 + 0.6249 * $2):(1) with filledcurves fc rgb '#c8e6b4', \
    '' index 17 using 1:(1 + 0.6249 * $2) with lines lc rgb '#333333', \
    data index 16 using 1:(0 + 0.2429 * $2):(0) with filledcurves fc rgb '#fffcd6', \
    '' index 16 using 1:(0 + 0.2429 * $2) with lines lc rgb '#333333', \
    data index 23 using 1:2 with points pt 9 ps 0.9 lc rgb 'white', \
    '' index 23 using 1:2 with points pt 8 ps 0.9 lc rgb 'black'

unset multiplot

set output
}
