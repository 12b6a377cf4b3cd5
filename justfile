# `just` lists these; each calls a script that works without just.

_default:
    @just --list

# build, crawl the fixture site, show records
demo:
    ./demo

# format, lints, all tests, documentation
check:
    ./check

# the tests of extraction in one process, without the three slow suites
test-extract:
    cargo test --quiet --locked -p crawl-extract --lib --test all -- --skip mutated:: --skip hostile:: --skip linear::

# score extraction against the pinned baseline; with EVAL_BENCH=DIR also against other programs
eval *args:
    ./benches/eval {{args}}

# speed and memory beside other programs, and growth by number of URLs (docs/benchmarks.md)
bench *args: build
    cargo build --release --locked -p crawl-fetch --example serve_many
    cargo build --release --locked -p crawl-store --example many_urls
    benches/bench.py --crawl target/release/crawl --server target/release/examples/serve_many --growth target/release/examples/many_urls {{args}}
    benches/plot.py bench-results/results.json bench-results

# the binary, optimised
build:
    cargo build --release --locked -p crawl

# the fault campaign over the optimised binary (tests/faults/README.md)
faults *args: build
    cargo run --quiet --locked -p crawl-faults --bin faults -- --binary target/release/crawl {{args}}

# look at a fixture site in a browser
serve site="harbour" port="8080":
    cargo run --quiet -p crawl --example serve_site -- fixtures/sites/{{site}} {{port}}

# write the pages of the fixture site anew from their texts
fixtures:
    python3 fixtures/sites/harbour.src/build.py

# fuzz one target, or all of them one after another (fuzz/README.md; `fuzz/run.sh list` names them)
fuzz target="all" seconds="600":
    fuzz/run.sh {{target}} {{seconds}}

# known advisories about the dependencies, where a RustSec database is at hand (docs/release.md)
advisories:
    cargo run --quiet --locked -p crawl-supply --bin advisories

# the binary of a release, optimised by a profile of the fixture sites (docs/release.md)
release output="dist/crawl":
    packaging/profile {{output}}.profdata
    CRAWL_PROFILE={{output}}.profdata packaging/release {{output}}

# the components of the binary as CycloneDX
sbom:
    @cargo run --quiet --locked -p crawl-supply --bin sbom

# crawl random sites under simulated time and network, with faults and restarts; a failed seed says how to repeat it
simulate seeds="10000" first="1":
    SIM_SEEDS={{seeds}} SIM_FIRST={{first}} cargo test --release --package crawl --test simulation -- random --nocapture
