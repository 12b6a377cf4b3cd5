#!/bin/sh
# Fuzzes one target: fuzz/run.sh TARGET SECONDS [libFuzzer's arguments]. Targets: robots, url, charset, sitemap, extract.
# Seeds come from fixtures/ and seeds/; what is found grows in corpus/TARGET, what fails is kept in artifacts/TARGET.
# Needs cargo-fuzz (cargo install --locked cargo-fuzz). It runs on the stable compiler: without a sanitizer, since
# nothing here is unsafe, and with overflow checks and debug assertions.
set -eu
cd "$(dirname "$0")"
[ $# -ge 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
target=$1 seconds=$2
shift 2
seeds="${TMPDIR:-/tmp}/crawl-fuzz-seeds-$$/$target"
trap 'rm -rf "$(dirname "$seeds")"' EXIT
mkdir -p "$seeds" "corpus/$target"

# with_line LINE FILE...: each file with a first line of parameters in front of it
with_line() {
    line=$1
    shift
    for file in "$@"; do
        { printf '%s\n' "$line"; cat "$file"; } > "$seeds/$(printf %s "$file" | tr -c 'A-Za-z0-9\n' _)"
    done
}

max_len=8192
case $target in
    robots)
        cp seeds/robots/* "$seeds"
        with_line /a/b.html?c=d ../fixtures/robots/*/robots.txt ../fixtures/sites/*/robots.txt ;;
    charset)
        max_len=4096
        with_line 'text/html; charset=koi8-r' seeds/charset/*
        with_line text/html ../fixtures/pages/charset-in-meta/source.html ;;
    sitemap) cp seeds/sitemap/* ../fixtures/sites/*/sitemap.xml "$seeds" ;;
    url) max_len=4096; cp seeds/url/* "$seeds" ;;
    extract)
        max_len=32768
        cp seeds/extract/* "$seeds"
        for choice in ' ' '!' '"' '#' 0; do
            for page in ../fixtures/pages/*/source.html; do
                name=$(printf %s "$choice$page" | cksum | tr ' ' -)
                { printf %s "$choice"; cat "$page"; } > "$seeds/$name"
            done
        done ;;
    *) echo "no target $target" >&2; exit 2 ;;
esac

# A unit of the corpus that takes longer than the timeout (seconds) or more memory than the limit (MB) is a finding.
cargo fuzz build -s none "$target"
cargo fuzz run -s none "$target" "corpus/$target" "$seeds" -- -max_total_time="$seconds" -max_len="$max_len" \
    -dict="dictionaries/$target.dict" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 "$@"
