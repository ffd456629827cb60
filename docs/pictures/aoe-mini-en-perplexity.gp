# gnuplot aoe-mini-en-perplexity.gp: columns of the data are step and held-out perplexity
set xlabel "step (256 sentences each)"
set ylabel "held-out perplexity of masked words"
set logscale y
set grid
unset key
set terminal svg size 800,450 background rgb "white"
set output "aoe-mini-en-perplexity.svg"
plot 'aoe-mini-en-perplexity.dat' with linespoints lw 2 pt 7 ps 0.5 lc rgb "#0060a0"
