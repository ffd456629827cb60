# SPDX-License-Identifier: MIT
# covers: cli/plot/cmd_curve cli/plot/cmd_density cli/plot/cmd_lengths cli/plot/cmd_saturation cli/plot/gnuplot
# covers: cli/plot/plot cli/plot/run_log
# Tests the data files and gnuplot scripts of every kind of `aoe plot`. gnuplot is not in PATH, so the program must
# report an error, but must write both files.
. "$SRC/tests/cli/support/model.sh"
word_model model
plot() { # plot KIND...: runs aoe plot without gnuplot and expects exit code 1 and the message about gnuplot
    code=0
    PATH= "$AOE" plot "$@" 2>err || code=$?
    [ $code = 1 ] && grep -q '^aoe: gnuplot is not installed; install gnuplot (Debian: apt-get install gnuplot-nox)' \
        err && return
    echo "exit code $code: $*"
    cat err
}
blocks() { grep '^#' "$1"; } # blocks FILE: prints the titles of the data blocks
# block FILE N: prints the lines of data block N; the first block is 0
block() { awk -v want="$2" '/^# / && seen++ { block++ } /^[^#]/ && block - 1 == want' "$1"; }
integral() { # integral COLUMN_X COLUMN_DENSITY: prints the integral of the density on stdin, by the trapezoidal rule
    awk -v x="$1" -v d="$2" 'NR > 1 { sum += ($x - before) * ($d + density) / 2 } { before = $x; density = $d }
        END { printf "%.2f\n", sum }'
}

# Without gnuplot, both files must be written, but no picture. The message must explain how to run the script later.
PATH= "$AOE" plot saturation -o "sub title" 2>&1 || true
ls

echo "== density"
# cosines: cat-cat 1, cat-dog 0, cat-kitten 4/sqrt(17), kitten-puppy 8/17 ...
printf '%b\n' 'text1\ttext2\tlabel' 'cat\tcat\t5' 'cat\tdog\t0' 'cat\tkitten\t4.4' 'kitten\tpuppy\t0.5' \
    'tiger\twolf\t2.5' 'cat\twolf\t1' 'dog\tpuppy\t4.6' >pairs.tsv
plot density -m model pairs.tsv -o density
blocks density.dat
for i in 0 1 2 5 7 13; do block density.dat $i | integral 1 2; done
block density.dat 6 | cut -c 1-40 | awk '{ printf "%.3f %s %s %s\n", $1, $2, $3, $4 }'
block density.dat 13
grep -E '^(title|note)' density.gp
# Recomputes the density of the two pairs with a label of about 1. The density is a sum of Gaussian kernels, which are
# reflected at -1 and 1. Their bandwidth is 0.9 min(sd, iqr / 1.34) n^-0.2 for n = 2 pairs.
block density.dat 1 | awk '
    function k(d) { return exp(-d * d / (2 * h * h)) }
    BEGIN { a = 8 / 17; b = 8 / sqrt(320); sd = (b - a < 0 ? a - b : b - a) / sqrt(2);
        iqr = (b - a < 0 ? a - b : b - a) / 2
            if (iqr / 1.34 < sd) sd = iqr / 1.34; h = 0.9 * sd * 2 ^ -0.2 }
    { want = 0; split(a " " b, x, " ")
      for (i = 1; i <= 2; i++) want += k($1 - x[i]) + k($1 + x[i] + 2) + k($1 + x[i] - 2)
      want /= 2 * h * sqrt(8 * atan2(1, 1)); d = want - $2; if (d * d > 1e-8) wrong++ }
    END { print NR, wrong + 0 }'
# Two models have the same name, and an option gives the scale of the labels.
cp -r model other
mkdir third
cp -r model third/model
plot density -m model -m third/model -m other pairs.tsv -o three --scale=-5,5 --title "three: 100%"
grep -E '^title' three.gp
blocks three.dat | grep -c pairs

echo "== lengths"
printf 'cat\ncat dog\ncat dog puppy\ncat dog puppy wolf\n' >a.txt
printf 'text1\ttext2\tlabel\ncat dog\tcat dog\t1\n' >b.tsv
plot lengths -m model a.txt b.tsv --max-length 2 -o lengths
blocks lengths.dat
block lengths.dat 0 | integral 2 3 | sed 's/0\.[89]./most/'
block lengths.dat 2
grep -o "'n = [0-9]*'\|'[0-9.]*% > 2'" lengths.gp
plot lengths -m model b.tsv --columns text2 -o lengths
block lengths.dat 1

echo "== saturation"
block "sub title.dat" 0 | awk '
    function near(a, b, t) { return (a - b) * (a - b) <= t * t }
    BEGIN { pi = 4 * atan2(1, 1) }
    # columns: 1 angle in degrees, 2 cosine, 3 reference form (about |cos|), 4 phase form, 5 and 7 gradients of cosine
    # and phase form
    { t = $1 * pi / 180
      if (!near($2, cos(t), 1e-5) || !near($5, sin(t), 1e-4)) wrong++
      if (!near($3, cos(t) < 0 ? -cos(t) : cos(t), 0.06)) wrong++
      if ($4 > 0 || $4 < -pi || $7 < 0.4) wrong++ }
    END { print NR, wrong + 0 }'
plot saturation --dims 2 --pairs 3 -o plane
block plane.dat 0 | awk 'function near(a, b, t) { return (a - b) * (a - b) <= t * t }
    { t = $1 * atan2(1, 1) / 45; if (!near($4, -t, 1e-4) || !near($7, 1, 1e-3)) wrong++ } END { print NR, wrong + 0 }'

echo "== curve"
mkdir run
for i in 1 2 3 4 5 6 7 8 9; do
    printf '{"event":"step","step":%d,"steps":9,"epoch":%s,' $i "$(awk "BEGIN { print $i / 3 }")"
    printf '"loss":%d,"cosine":%d.5,"ibn":0.0,"new":%d,"lr":1e-4,"seconds":1}\n' $((10 - i)) $((9 - i)) $i
    [ $((i % 3)) != 0 ] || printf '{"event":"eval","step":%d,"score":0.%d,"best_score":0.9}\n' $i \
        $((9 - (i - 6) * (i - 6) / 3))
done >run/train-log.jsonl
printf '{"event":"step","step":10,"lo' >>run/train-log.jsonl # an incomplete line: training is still running
plot curve run -o curve
cat curve.dat
plot curve run --smooth 1 -o curve
block curve.dat 0 | head -n 2
mkdir mlm
for i in 1 26 51; do
    printf '{"event":"step","step":%d,"epoch":0.1,"loss":%d,"cosine":0.0,"accuracy":0.1}\n' $i $((52 - i))
    printf '{"event":"eval","step":%d,"score":-%d}\n' $i $((52 - i))
done >mlm/train-log.jsonl
plot curve mlm run/train-log.jsonl -o both
blocks both.dat
block both.dat 1

echo "== grid"
mkdir grid
cat >grid/results.jsonl <<'END'
{"point":{"w-angle":1,"pooling":"cls","lr":1e-4},"seed":1,"score":0.5,"seconds":1}
{"point":{"w-angle":1,"pooling":"cls","lr":1e-4},"seed":2,"score":0.7,"seconds":1}
{"point":{"w-angle":0.5,"pooling":"cls","lr":1e-4},"seed":1,"score":0.625,"seconds":1}
{"point":{"w-angle":10,"pooling":"last-avg","lr":1e-4},"seed":1,"score":0.25,"seconds":1}
{"point":{"w-angle":10,"pooling":"cls","lr":1e-4},"seed":1,"score":null,"seconds":1}
END
plot grid grid -o grid-one
cat err grid-one.dat
grep '^best' grid-one.gp
plot grid grid/results.jsonl --x lr --y w-angle -o grid-two
block grid-two.dat 0

# Scores with three seeds: a cell that is close to the best one must be marked. A score must be rounded once, so that
# 79.994999 is 79.99.
mkdir seeds
for s in 1 2 3; do
    printf '{"point":{"a":%s,"b":%s},"seed":%s,"score":0.%s,"seconds":1}\n' 1 1 $s 80${s}7 2 1 $s 80$((4 - s))6 1 2 $s \
        70${s}7 2 2 $s 79994999
done >seeds/results.jsonl
plot grid seeds -o grid-seeds
cat grid-seeds.dat
grep '^best\|^close' grid-seeds.gp

# The log of a run of an earlier version of aoe grid, and the small last batch of an epoch: the mean at step 2 is (32 *
# 4 + 2 * 1) / 34.
mkdir old small
printf '{"event":"eval","step":%s,"steps":2,"epoch":1,"dev_spearman":0.%s,"best_step":2,"seconds":1}\n' 1 5 2 6 \
    >old/train.jsonl
plot curve old -o old-curve
sed -n '/evaluations/,$p' old-curve.dat
{
    printf '%b\n' '{"event":"start","step":0,"steps":2,"epoch":0,"metric":"accuracy"}' \
        '{"event":"eval","step":0,"score":0.25}'
    printf '{"event":"step","step":%s,"epoch":%s,"examples":%s,"loss":%s}\n' 1 0.5 32 4 2 1 2 1
    printf '{"event":"eval","step":2,"score":0.5}\n'
} >small/train-log.jsonl
plot curve small -o small-curve --smooth 1
cat small-curve.dat
grep -o "accuracy on the dev set x 100'\|start model: [0-9.]*" small-curve.gp

# The scripts that are installed with the program are used, otherwise those of the source tree that contains the
# program.
mkdir -p place/bin place/share/aoe/plot place/share/plot place/include
for folder in place/share/aoe/plot place/share/plot; do
    echo '# license' >$folder/common.gp
    printf '# license\n# script in %s\n' $folder >$folder/saturation.gp
done
cp "$AOE" place/bin/aoe
AOE=$PWD/place/bin/aoe
plot saturation --dims 2 --pairs 1 -o installed
tail -n 1 installed.gp
rm -r place/share/aoe
XDG_DATA_DIRS=/nowhere "$AOE" plot saturation -o none 2>&1 || echo "exit code $?"
touch place/include/aoe.h # now it is a source tree
plot saturation --dims 2 --pairs 1 -o sources
tail -n 1 sources.gp
ls none* 2>/dev/null || true
