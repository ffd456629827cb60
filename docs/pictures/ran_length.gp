# gnuplot ran_length.gp: columns of the data are tokens, then fastest ms, median ms and peak MB of
# ran-mini and aoe-mini in inference, ran-mini and aoe-mini in a pretraining step
set terminal svg size 900,450 background rgb "white"
set output "ran_length.svg"
set multiplot layout 1,2
set logscale xy
set xtics (256, 1024, 4096, 16384)
set xrange [256 * 0.8:16384 * 1.25]
set grid
set key below maxcols 2
set xlabel "tokens per text"
set ylabel "time, ms"
plot 'ran_length.dat' using 1:3 title "ran-mini, inference" with linespoints lw 2 pt 7 ps 0.5 lc rgb "#0060a0", \
     '' using 1:9 title "ran-mini, training step" with linespoints lw 2 dt 2 pt 7 ps 0.5 lc rgb "#0060a0", \
     '' using 1:6 title "aoe-mini, inference" with linespoints lw 2 pt 5 ps 0.5 lc rgb "#c04000", \
     '' using 1:12 title "aoe-mini, training step" with linespoints lw 2 dt 2 pt 5 ps 0.5 lc rgb "#c04000"
set ylabel "peak memory, MB"
plot 'ran_length.dat' using 1:4 title "ran-mini, inference" with linespoints lw 2 pt 7 ps 0.5 lc rgb "#0060a0", \
     '' using 1:10 title "ran-mini, training step" with linespoints lw 2 dt 2 pt 7 ps 0.5 lc rgb "#0060a0", \
     '' using 1:7 title "aoe-mini, inference" with linespoints lw 2 pt 5 ps 0.5 lc rgb "#c04000", \
     '' using 1:13 title "aoe-mini, training step" with linespoints lw 2 dt 2 pt 5 ps 0.5 lc rgb "#c04000"
