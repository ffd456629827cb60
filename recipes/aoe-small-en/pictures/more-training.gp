# what more training gives: texts for distillation, and pairs for the cosines of both teachers
# gnuplot more-training.gp, in this directory, draws more-training.svg from more-training.dat.
set encoding utf8
data = './more-training.dat'
set terminal svg size 960,370 noenhanced font 'sans-serif,12' background rgb 'white'
set output './more-training.svg'
# color-blind safe colors (Okabe and Ito); dashes and markers for grayscale prints
set style line 1 lc rgb '#0072b2' dt solid pt 7 lw 2 ps 0.9
set style line 2 lc rgb '#d55e00' dt (8,3) pt 5 lw 2 ps 0.9
set style line 7 lc rgb '#000000' dt (3,3) pt 8 lw 2 ps 0.9
set grid back lt 1 lw 0.5 lc rgb '#d8d8d8'
set multiplot
set logscale x
set xtics ('30,000' 30000, '100,000' 100000, '300,000' 300000, '1,000,000' 1000000)
set key top left Left reverse samplen 3
set lmargin at screen 0.08
set rmargin at screen 0.48
set tmargin at screen 0.95
set bmargin at screen 0.16
set xlabel 'texts for distillation'
set ylabel 'decision figure'
set xrange [20000:1500000]
set yrange [77:78.5]
plot 78.02 with lines ls 7 title 'all-MiniLM-L6-v2', \
    data index 0 using 1:2 with linespoints ls 1 title 'without prefixes', \
    data index 1 using 1:2 with linespoints ls 2 title 'with prefixes'
set key bottom left
set lmargin at screen 0.58
set rmargin at screen 0.98
set xlabel 'pairs for the cosines of both teachers'
set ylabel 'Spearman x 100, STS-B dev'
set xrange [40000:800000]
set yrange [85.5:88.5]
plot 88.28 with lines ls 7 title 'both teachers', \
    86.72 with lines ls 2 title 'all-MiniLM-L6-v2', \
    data index 2 using 1:2 with linespoints ls 1 title 'trained model'
unset multiplot
