# SPDX-License-Identifier: MIT
# The cosine and the angle scores over the angle between two vectors, and their derivatives. Columns of the data:
# degrees, three scores, three negative derivatives.
flat = 0.2 # angles at which the derivative of the cosine is smaller are shaded
stats data using ($5 >= flat ? $1 : NaN) nooutput
zone_low = floor(STATS_min)
zone_high = ceil(STATS_max)

do for [format in 'svg png'] {
eval begin(format, 900, 420)
eval line_styles
set multiplot layout 1,2 title title
set xlabel 'angle between the vectors, degrees'
set xrange [0:180]
set xtics 30
set object 1 rectangle from 0, graph 0 to zone_low, graph 1 fc rgb '#e4e4e4' fs solid noborder behind
set object 2 rectangle from zone_high, graph 0 to 180, graph 1 fc rgb '#e4e4e4' fs solid noborder behind
set key bottom left Left reverse samplen 3
set ylabel 'score'
set yrange [*:1.2]
plot data using 1:2 with linespoints ls 1 lw 4 pi 24 title 'cosine', \
    data using 1:3 with linespoints ls 2 pi 20 title 'angle score, reference form', \
    data using 1:4 with linespoints ls 3 pi 20 title 'angle score, phase form'
set ylabel 'negative derivative of the score'
unset key
set yrange [*:2]
set label 1 sprintf('shaded: the cosine saturates (gradient below %g)', flat) at graph 0.5, graph 0.95 center
plot data using 1:5 with linespoints ls 1 lw 4 pi 24, \
    data using 1:6 with linespoints ls 2 pi 20, \
    data using 1:7 with linespoints ls 3 pi 20
unset multiplot
set output
}
