# SPDX-License-Identifier: MIT
# Tests where the program searches for the default model if there is no -m option. It first uses the models that were
# installed with the program, then the source tree that contains the program. It must not use a folder `models` of
# another project.
. "$SRC/tests/cli/support/model.sh"
unset AOE_MODEL
model=$SRC/models/aoe-small-en
mkdir -p project/bin project/models project/include
cp "$AOE" project/bin/aoe
cp -r "$model" project/models/source
fails project/bin/aoe similarity a b
touch project/include/aoe.h # now it is a source tree
project/bin/aoe info --json | sed 's/.*"directory":"[^"]*project/project/; s/".*//'
mkdir -p project/share/aoe/models
cp -r "$model" project/share/aoe/models/installed
project/bin/aoe info --json | sed 's/.*"directory":"[^"]*project/project/; s/".*//'
mkdir -p data/aoe/models
cp -r "$model" data/aoe/models/system
rm -r project/share/aoe project/include
XDG_DATA_DIRS=relative:$PWD/none:$PWD/data// project/bin/aoe info --json |
    sed 's/.*"directory":"[^"]*work/work/; s/".*//'
