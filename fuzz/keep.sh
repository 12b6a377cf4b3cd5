#!/bin/sh
# Keeps what a run found: fuzz/keep.sh TARGET writes the smallest set of inputs with the coverage of corpus/TARGET to
# seeds/TARGET/corpus.txt, one in base64 a line, the short ones first, up to 50 KB.
set -eu
cd "$(dirname "$0")"
[ $# -eq 1 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
target=$1 most=50000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/kept"
TMPDIR="$work" cargo fuzz run -s none "$target" -- -set_cover_merge=1 "$work/kept" "corpus/$target"
for name in $(ls -rS "$work/kept"); do
    base64 -w 0 "$work/kept/$name"
    echo
done | awk -v most="$most" '(bytes += length($0) + 1) <= most' > "$work/corpus.txt"
mkdir -p "seeds/$target"
mv "$work/corpus.txt" "seeds/$target/corpus.txt"
wc -lc "seeds/$target/corpus.txt"
