#!/usr/bin/env python3
"""What a site repeats: quality on whole-page text, and speed beside the specification in Python. Standard library only.

    dedup.py BINARY quality BENCH      BENCH/boilerplate/score.py over all pages and over 60 a site, and the means without each site in turn
    dedup.py BINARY speed PAGES.jsonl  CPU time of both modes and of tests/python/domain_dedup.py over the same file, the least of five

Times are for their ratios within one run.
"""
import os, resource, subprocess, sys, tempfile

SPECIFICATION = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tests/python/domain_dedup.py')


def cpu(command, runs=5):
    """Least CPU seconds of some runs, each of which writes its output to a file."""
    least = float('inf')
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with tempfile.TemporaryFile() as out:
            subprocess.run(command, stdout=out, stderr=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return least


def speed(binary, pages):
    python = cpu([sys.executable, SPECIFICATION, pages])
    for mode in ('exact', 'site'):
        ours = cpu([binary, 'dedup', '--mode', mode, pages])
        print(f'{mode}: {ours:.3f} CPU s, the specification in Python {python:.3f}: {python / ours:.1f} times as fast')


def quality(binary, bench):
    score = os.path.join(bench, 'boilerplate/score.py')
    run = lambda *args: subprocess.run([sys.executable, score, *args], stdout=subprocess.PIPE, check=True, text=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        pages, cleaned = os.path.join(folder, 'pages.jsonl'), os.path.join(folder, 'cleaned.jsonl')
        for limit in ([], ['--pages', '60']):
            with open(pages, 'w') as file:
                file.write(run('input', *limit))
            for mode in ('exact', 'site'):
                with open(cleaned, 'w') as file:
                    subprocess.run([binary, 'dedup', '--mode', mode, pages], stdout=file, stderr=subprocess.DEVNULL, check=True)
                table = run('score', cleaned, *limit)
                print(f'mode {mode}, {"60 pages a site" if limit else "all pages"}\n{table}', end='')
                for site in [line.split()[0] for line in table.splitlines()[1:-1]]:
                    print(f'without {site:24s} {run("score", cleaned, *limit, "--without", site).splitlines()[-1]}')


if __name__ == '__main__':
    if len(sys.argv) != 4 or sys.argv[2] not in ('quality', 'speed'):
        sys.exit(__doc__)
    {'quality': quality, 'speed': speed}[sys.argv[2]](os.path.abspath(sys.argv[1]), sys.argv[3])
