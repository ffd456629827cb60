# SPDX-License-Identifier: MIT
# Tests where a program without -m looks for the default model: models that are installed with it, then the source tree
# that contains it. A folder `models` of another project is not used.
. "$SRC/tests/cli/support/model.sh"
unset AOE_MODEL
model=$SRC/models/aoe-mini-en
mkdir -p project/bin project/models project/include
cp "$AOE" project/bin/aoe
cp -r "$model" project/models/source
fails project/bin/aoe similarity a b
touch project/include/aoe.h # now it is a source tree
project/bin/aoe info --json | sed 's/.*"directory":"[^"]*project/project/; s/".*//'
mkdir -p project/share/aoe/models
cp -r "$model" project/share/aoe/models/installed
project/bin/aoe info --json | sed 's/.*"directory":"[^"]*project/project/; s/".*//'
