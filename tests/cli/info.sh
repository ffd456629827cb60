# SPDX-License-Identifier: MIT
# info: where settings come from, the memory plan, JSON; the model named in three ways.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
"$AOE" info model --dtype f32 | sed 's/  */ /g'
rm model/aoe.json
"$AOE" info -m model --pooling last-max --max-length 9 --no-normalize | grep -E '^(pooling|max length|normalize)' | sed 's/  */ /g'
AOE_MODEL=model "$AOE" info --dtype f32 --json --plan --texts 8 --length 16 | sed 's/"\(weights\|packed\|activations\|training\)":[0-9]*/"\1":N/g'
"$AOE" info model --plan --texts 8 --length 16 | tail -n 5 | sed 's/  *[0-9.]* MiB/ N MiB/'
fails "$AOE" info missing
# without a name: the sole model beside the program, or the one called default
mkdir -p prefix/bin prefix/share/aoe/models
cp "$AOE" prefix/bin/aoe
found() { prefix/bin/aoe info | sed -n 's/^directory .*models\//found /p'; }
fails prefix/bin/aoe info
cp -r model prefix/share/aoe/models/first
found
cp -r model prefix/share/aoe/models/second
fails prefix/bin/aoe info
cp -r model prefix/share/aoe/models/default
found
