#!/usr/bin/env python3
"""Metamorphic test of extraction: changes pages in ways that readers do not see, and compares the results. Standard library only.

    benches/metamorphic.py BENCH EXAMPLE [--pages 60] [--seed 28] [--only WORD ...] [--worst N] [--json OUT]

BENCH has the data sets (see benchsets.py), EXAMPLE is the program `extract_jsonl` of crates/extract. page_changes.py has the
changes. The difference of two texts is 1 - F1 of their words; Markdown counts its marks as words. Lines with the mark of an
inserted part count as leaked and not as a difference.

pages    pages to which the change applies
>5 %     share of these pages whose text differs by more than 5 %; >30 % likewise
empty    pages without text after the change that had one before
leak     share of the pages with a line of the inserted part in the text
F1       mean against the gold, after the change, and its change; then the median, likewise
md       share of the pages whose Markdown differs by more than 5 %
title, author, date, lang: share of the pages with another value (of dates the day, of languages the primary subtag)
time     CPU time of all pages over that before; slow: pages that take more than five times as long
"""
import argparse, base64, collections, json, os, random, re, statistics, subprocess, sys, tempfile
import benchsets, page_changes

SETS = ('wcxb', 'webpages', 'fundus', 'scrapinghub', 'trafilatura_eval', 'readability', 'waddle')
CJK = '\u0e00-\u0eff\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff'
WORD = re.compile(f'[{CJK}]|[^\\W{CJK}]+')
FIELDS = ('title', 'author', 'published', 'language')


def f1(a, b):
    if not a or not b:
        return float(a == b)
    a, b = collections.Counter(a), collections.Counter(b)
    return 2 * (a & b).total() / (a.total() + b.total())


def words(text):
    return WORD.findall(text.lower())


def gold_score(text, gold):
    """F1 of words, or the share of the gold's strings; None without either"""
    if 'text' in gold:
        return f1(words(text), words(gold['text']))
    if gold.get('with'):
        flat = re.sub(r'\s+', ' ', text)
        return statistics.fmean(re.sub(r'\s+', ' ', part) in flat for part in gold['with'])
    return None


def sample(bench, count, seed, tmp):
    """Rows of randomly chosen pages of each set with their gold and tokens"""
    sets, rows = os.path.join(bench, 'extraction'), []
    for name in SETS:
        gold = benchsets.gold_of(sets, name)
        with open(benchsets.pages_of(sets, name, tmp)) as f:
            pages = [json.loads(line) for line in f]
        os.remove(f.name)
        for row in random.Random(f'{seed} {name}').sample(pages, min(count, len(pages))):
            if 'html' in row:
                tokens = page_changes.tokenize(row['html'])
                rows.append({'id': f'{name}/{row["id"]}', 'url': row.get('url'), 'gold': gold[row['id']], 'tokens': tokens})
    return rows


def extract(example, pages, *flags):
    """Rows by id of pages (id, url, html as text or bytes)"""
    with tempfile.TemporaryDirectory() as tmp:
        out = os.path.join(tmp, 'out')
        with subprocess.Popen([example, '/dev/stdin', out, '--time', *flags], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as run:
            for page, url, html in pages:
                body = {'html': html} if isinstance(html, str) else {'html_base64': base64.b64encode(html).decode()}
                run.stdin.write(json.dumps({'id': page, 'url': url, **body}).encode() + b'\n')
        if run.returncode:
            sys.exit(f'{example} ended with {run.returncode}')
        with open(out) as f:
            return {row['id']: row for row in map(json.loads, f)}


def compare(row, before, after):
    """Figures of one page"""
    lines = after['text'].split('\n')
    text = '\n'.join(line for line in lines if page_changes.MARK not in line)
    values = [dict(x['metadata']) for x in (before, after)]
    for one in values:
        one['published'] = (one['published'] or '')[:10]
        one['language'] = (one['language'] or one['languageDetected'] or '')[:2].lower()
    fields = {name: values[0][name] != values[1][name] for name in FIELDS}
    return {'id': row['id'], 'differs': 1 - f1(words(before['text']), words(text)), 'empty': bool(before['text']) and not text,
            'leak': page_changes.MARK in after['text'], 'words': [len(words(before['text'])), len(words(text))], **fields,
            'before': gold_score(before['text'], row['gold']), 'after': gold_score(text, row['gold']), 'ms': [before['ms'], after['ms']],
            'values': [[one[name] for name in FIELDS] for one in values], 'why': [x['reason'] for x in (before, after)]}


def measure(rows, change, base, example):
    """Figures of all pages under one change"""
    pages = []
    for row in rows:
        html = change(row['tokens'], base['text'][row['id']]['text'])
        if html is not None and html != row['html']:
            pages.append((row['id'], row['url'], html))
    found = {kind: extract(example, pages, *flags) for kind, flags in FORMATS.items()}
    out = []
    for row in rows:
        if row['id'] in found['text']:
            figures = compare(row, base['text'][row['id']], found['text'][row['id']])
            marks = [x['markdown'][row['id']]['text'].split() for x in (base, found)]
            out.append({**figures, 'markdown': 1 - f1(*marks)})
    return out


FORMATS = {'text': (), 'markdown': ('--markdown',)}
HEAD = f'{"change":<24}{"pages":>6}{">5 %":>7}{">30 %":>7}{"empty":>6}{"leak":>7}{"F1":>8}{"":>8}{"median":>8}{"":>8}{"md":>7}' \
       f'{"title":>7}{"author":>7}{"date":>7}{"lang":>7}{"time":>6}{"slow":>5}'


def line(name, found):
    if not found:
        return f'{name:<24}{0:>6}'
    share = lambda true: f'{100 * statistics.fmean(map(bool, true)):>6.1f}%'
    scored = [row for row in found if row['before'] is not None]
    score = ''
    for of in (statistics.fmean, statistics.median):
        after = of([row['after'] for row in scored]) if scored else 0
        score += f'{after:>8.4f}{after - of([row["before"] for row in scored]) if scored else 0:>+8.4f}'
    time = [sum(row['ms'][k] for row in found) for k in (0, 1)]
    slow = sum(row['ms'][1] > max(5 * row['ms'][0], 20) for row in found)
    return (f'{name:<24}{len(found):>6}' + share(r['differs'] > .05 for r in found) + share(r['differs'] > .3 for r in found)
            + f'{sum(r["empty"] for r in found):>6}' + share(r['leak'] for r in found) + score + share(r['markdown'] > .05 for r in found)
            + ''.join(share(r[field] for r in found) for field in FIELDS) + f'{time[1] / time[0]:>6.2f}{slow:>5}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('bench')
    parser.add_argument('example')
    parser.add_argument('--pages', type=int, default=60, help='pages a set')
    parser.add_argument('--seed', type=int, default=28)
    parser.add_argument('--only', nargs='+', help='changes whose name has one of these words')
    parser.add_argument('--worst', type=int, default=0, help='pages to name for each change')
    parser.add_argument('--json', help='file for the figures of each page')
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        rows = sample(args.bench, args.pages, args.seed, tmp)
    for row in rows:
        row['html'] = page_changes.join(row['tokens'])
    # identity: tokens are the page
    pages = [(row['id'], row['url'], row['html']) for row in rows]
    base = {kind: extract(args.example, pages, *flags) for kind, flags in FORMATS.items()}
    every = {}
    print(HEAD, flush=True)
    for name, change in page_changes.CHANGES.items():
        if args.only and not any(word in name for word in args.only):
            continue
        every[name] = measure(rows, change, base, args.example)
        print(line(name, every[name]), flush=True)
        for row in sorted(every[name], key=lambda row: -row['differs'])[:args.worst]:
            print(f'    {row["differs"]:.2f} {row["words"]} {row["id"]}')
    # only that it ends
    halves = list(zip(rows, rows[1:]))
    extract(args.example, [(a['id'], a['url'], a['html'] + b['html']) for a, b in halves])
    print(f'{"two pages in one":<24}{len(halves):>6}  no panic')
    if args.json:
        with open(args.json, 'w') as f:
            json.dump(every, f)


if __name__ == '__main__':
    main()
