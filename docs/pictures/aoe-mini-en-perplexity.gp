# training runs: losses, dev scores, perplexity
# gnuplot aoe-mini-en-perplexity.gp, in this directory, draws the .svg and .png files from the .dat file.
set encoding utf8
data = './aoe-mini-en-perplexity.dat'
if (!exists('out')) out = './aoe-mini-en-perplexity'
title = ''

do for [format in 'svg png'] {
reset
if (format eq 'svg') {
    set terminal svg size 800,460 noenhanced font 'sans-serif,12' background rgb 'white'
} else { if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {
    set terminal pngcairo size 800,460 noenhanced font 'sans,10' lw 1.3 dl 1.3 ps 1.4
} else {
    set terminal png size 800,460 noenhanced
}}
set output out.'.'.format

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
set key at graph 0.5, graph 1.02 center bottom horizontal maxcols 2 samplen 3 width -3
set xlabel 'step'
set xrange [0:1.02]
set lmargin at screen 0.0938
set rmargin at screen 0.9750
set tmargin at screen 0.8826
set bmargin at screen 0.1304
set xrange [0:12848.94]
set ylabel 'perplexity of masked words'
set logscale y
set autoscale yfix
set offsets 0, 0, graph 0.05, graph 0.05
set ytics (1, 2, 3, 5, 7, 1e1, 2e1, 3e1, 5e1, 7e1, 1e2, 2e2, 3e2, 5e2, 7e2, \
    1e3, 2e3, 3e3, 5e3, 7e3, 1e4, 2e4, 3e4, 5e4, 7e4, 1e5, 2e5, 3e5, 5e5, 7e5, 1e6, 2e6, 3e6, 5e6, 7e6)
plot data index 0 using 1:(exp($2)) with lines lc rgb '#999999' lw 1 title 'in training, mean over 503 steps', \
    data index 1 using 1:2 with linespoints ls 1 ps 0.8 title 'held out', \
    data index 1 using ($1 == 12597 ? $1 : NaN):2 with points pt 6 ps 1.6 lw 1.5 \
        lc rgb 'black' title 'best: 24.73, step 12597'
unset multiplot

set output
}
