#!/bin/sh
# Fuzzes targets: fuzz/run.sh TARGET SECONDS [libFuzzer's arguments], fuzz/run.sh all SECONDS, fuzz/run.sh list.
# Seeds come from fixtures/ and seeds/; what is found grows in corpus/TARGET, what fails is kept in artifacts/TARGET.
# `all` runs every target of fuzz_targets/ one after another, goes on after a finding, and exits with 1 if there was one.
# Needs cargo-fuzz (cargo install --locked cargo-fuzz). It runs on the stable compiler: without a sanitizer, since
# nothing here is unsafe, and with overflow checks and debug assertions.
set -eu
cd "$(dirname "$0")"

targets() {
    for file in fuzz_targets/*.rs; do
        basename "$file" .rs
    done
}

[ "${1:-}" != list ] || { targets; exit; }
[ $# -ge 2 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
target=$1 seconds=$2
shift 2

if [ "$target" = all ]; then
    failed=
    for one in $(targets); do
        printf '\n== %s\n' "$one"
        ./run.sh "$one" "$seconds" "$@" || failed="$failed $one"
    done
    [ -z "$failed" ] || { echo "findings in:$failed; inputs are in fuzz/artifacts" >&2; exit 1; }
    exit
fi
[ -f "fuzz_targets/$target.rs" ] || { echo "no target $target; there are:" $(targets) >&2; exit 2; }

# Inputs are files in memory where the system has such a folder: some readers take a path.
work=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}")" crawl-fuzz.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
seeds="$work/seeds"
mkdir -p "$seeds" "corpus/$target"
if [ -d "seeds/$target" ]; then
    cp "seeds/$target"/* "$seeds"
    rm -f "$seeds/corpus.txt"
fi
# what keep.sh kept of an earlier run
if [ -f "seeds/$target/corpus.txt" ]; then
    number=0
    while IFS= read -r line; do
        number=$((number + 1))
        printf %s "$line" | base64 -d > "$seeds/corpus-$number"
    done < "seeds/$target/corpus.txt"
fi

# with_first LINE FILE...: each file with parameters in front of it
with_first() {
    line=$1
    shift
    for file in "$@"; do
        name=$(printf %s "$line$file" | cksum | tr ' ' -)
        { printf %b "$line"; cat "$file"; } > "$seeds/$name"
    done
}

max_len=8192
case $target in
    robots) with_first '/a/b.html?c=d\n' ../fixtures/robots/*/robots.txt ../fixtures/sites/*/robots.txt ;;
    optouts) with_first '/a/b.html\nnoindex\n\n' ../fixtures/robots/*/robots.txt ;;
    charset)
        max_len=4096
        with_first 'text/html; charset=koi8-r\n' $(ls -d seeds/charset/* | grep -v corpus.txt)
        with_first 'text/html\n' ../fixtures/pages/charset-in-meta/source.html ;;
    sitemap | feed) cp ../fixtures/sites/*/sitemap.xml "$seeds" ;;
    url | seeds | cookies | css) max_len=4096 ;;
    extract)
        max_len=32768
        for choice in ' ' '!' '"' '#' 0; do
            with_first "$choice" ../fixtures/pages/*/source.html
        done ;;
esac

# More memory than the limit (MB) is a finding, and so is a unit that never ends: the timeout (seconds) is by the clock, and at low
# priority a good unit may take long by it. The bound of CPU time is in src/lib.rs.
cargo fuzz build -s none "$target"
TMPDIR="$work" cargo fuzz run -s none "$target" "corpus/$target" "$seeds" -- -max_total_time="$seconds" \
    -max_len="$max_len" -dict="dictionaries/$target.dict" -timeout=120 -rss_limit_mb=1024 -print_final_stats=1 "$@"
