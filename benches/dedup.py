#!/usr/bin/env python3
"""Boilerplate of a site: quality on whole-page text, and speed compared with the specification in Python. Standard library only.

    dedup.py BINARY quality BENCH      BENCH/boilerplate/score.py over all pages and over 60 per site, and the means without each site in turn
    dedup.py BINARY speed PAGES.jsonl  CPU time of both modes and of tests/python/domain_dedup.py over the same file, medians of nine runs in turn

Only ratios of times within one run are meaningful.
"""
import os, resource, statistics, subprocess, sys, tempfile

SPECIFICATION = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tests/python/domain_dedup.py')
RUNS = 9


def cpu(command):
    """CPU seconds of a run, user and system, with its output in a file."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryFile() as out:
        subprocess.run(command, stdout=out, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def speed(binary, pages):
    commands = {'python': [sys.executable, SPECIFICATION, pages]}
    commands |= {mode: [binary, 'dedup', '--mode', mode, pages] for mode in ('exact', 'site')}
    # in turn, so that other load affects all of them
    times = {name: [] for name in commands}
    for _ in range(RUNS):
        for name, command in commands.items():
            times[name].append(cpu(command))
    median = {name: statistics.median(of) for name, of in times.items()}
    for mode in ('exact', 'site'):
        ratios = [python / ours for python, ours in zip(times['python'], times[mode])]
        print(f'{mode}: {median[mode]:.3f} CPU s, the specification in Python {median["python"]:.3f}: '
              f'{median["python"] / median[mode]:.1f} times as fast ({min(ratios):.1f} to {max(ratios):.1f})')


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
