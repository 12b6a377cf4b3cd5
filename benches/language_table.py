#!/usr/bin/env python3
"""Table of languages in docs/languages.md: scores by language over the data sets of a bench directory.

    language_table.py CRAWL_BINARY [--bench DIR] [--trafilatura PYTHON] [--least 3] [--write FILE]

The default of DIR is EVAL_BENCH. PYTHON is an interpreter with trafilatura (`python3 -m venv v && v/bin/pip install trafilatura
lxml_html_clean`), for a comparison with its scores. A page's language is the gold's, else the declared one, else the identified
one. Languages with fewer than --least pages share one row. --write replaces the table between the two marks in FILE.
"""
import argparse, json, os, re, subprocess, sys, tempfile
import benchsets

SETS = ('fundus', 'waddle', 'webpages', 'recipes', 'htmldate')
COLUMNS = ('text', 'title', 'author', 'date')
BEGIN, END = '<!-- begin of the table -->', '<!-- end of the table -->'
PEER = r'''
import base64, json, sys
import trafilatura
for line in open(sys.argv[1]):
    row = json.loads(line)
    html = row['html'] if 'html' in row else base64.b64decode(row['html_base64'])
    try:
        found = trafilatura.bare_extraction(html, url=row['url'] or None, with_metadata=True, include_comments=False)
    except Exception:
        found = None
    found = found.as_dict() if found else {}
    authors = [a for a in (found.get('author') or '').split('; ') if a]
    print(json.dumps({'id': row['id'], 'text': found.get('text') or '', 'markdown': None,
                      'metadata': {'title': found.get('title'), 'authors': authors, 'published': found.get('date')}}))
'''


def trafilatura(python):
    def extract(pages, _markdown):
        told = subprocess.run([python, '-c', PEER, pages], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
        return [json.loads(line) for line in told.split('\n') if line]
    return extract


def collect(bench, ours, peer):
    """Pairs of rows, ours and the other's, by language"""
    sets, by_language = os.path.join(bench, 'extraction'), {}
    for name in filter(lambda name: os.path.isdir(os.path.join(sets, name)), SETS):
        with tempfile.TemporaryDirectory() as tmp:
            rows = benchsets.rows(sets, name, ours, tmp)
            others = {row['id']: row for row in benchsets.rows(sets, name, peer, tmp)} if peer else {}
        for row in rows:
            language = re.split('[-_]', (row['lang'] or row.get('said') or '?').lower())[0]
            by_language.setdefault(language, []).append((row, others.get(row['id'], {})))
    return by_language


def cells(pairs, peer):
    for column in COLUMNS:
        own = benchsets.mean(row[column] for row, _ in pairs if column in row)
        other = benchsets.mean(row[column] for _, row in pairs if column in row)
        shown = '' if own is None else f'{own:.3f}'
        yield shown + (f' / {other:.3f}' if peer and own is not None and other is not None else '')


def table(by_language, peer, least):
    few = [language for language, pairs in by_language.items() if len(pairs) < least or language == '?']
    rows = sorted(((language, pairs) for language, pairs in by_language.items() if language not in few), key=lambda x: (-len(x[1]), x[0]))
    rest = [pair for language in few for pair in by_language[language]]
    if rest:
        rows.append((f'{len(few)} others', rest))
    rows.append(('all', [pair for pairs in by_language.values() for pair in pairs]))
    lines = ['| language | pages | ' + ' | '.join(COLUMNS) + ' |', '|---|---:|' + '---|' * len(COLUMNS)]
    lines += [f'| {language} | {len(pairs)} | ' + ' | '.join(cells(pairs, peer)) + ' |' for language, pairs in rows]
    return '\n'.join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('binary')
    parser.add_argument('--bench', default=os.environ.get('EVAL_BENCH'))
    parser.add_argument('--trafilatura', metavar='PYTHON')
    parser.add_argument('--least', type=int, default=3)
    parser.add_argument('--write', metavar='FILE')
    args = parser.parse_args()
    if not args.bench:
        parser.error('--bench or EVAL_BENCH says where the data sets are')
    peer = trafilatura(args.trafilatura) if args.trafilatura else None
    shown = table(collect(args.bench, benchsets.crawl(os.path.abspath(args.binary)), peer), bool(peer), args.least)
    print(shown)
    if args.write:
        with open(args.write, encoding='utf-8') as f:
            text = f.read()
        if BEGIN not in text or END not in text:
            sys.exit(f'{args.write} has no marks of the table')
        head, tail = text.split(BEGIN)[0], text.split(END)[1]
        with open(args.write, 'w', encoding='utf-8') as f:
            f.write(f'{head}{BEGIN}\n{shown}\n{END}{tail}')


main()
