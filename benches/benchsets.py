"""Scores by page of the data sets of a bench directory, by their own scorers. Standard library only.

A set's rows are {"id", "site", "lang"} and, if its gold has them, text, title, author, date, structure, each 0 to 1. `text` is
the F1 of tokens, or the share of the gold's strings in a set without whole texts. A metadata field is 1 if it is correct.
"""
import csv, gzip, json, os, re, subprocess, sys
from urllib.parse import urlsplit

BY_SCORE = ('wcxb', 'scrapinghub', 'trafilatura_eval', 'readability')
BY_NEW = ('fundus', 'waddle', 'recipes', 'htmldate', 'trafilatura_meta', 'postlight', 'defuddle', 'mdcases')
SETS = (*BY_SCORE, 'webpages', *BY_NEW)
FIGURES = ('text', 'title', 'author', 'date', 'structure')


def python(script, *args, out=None):
    done = subprocess.run([sys.executable, script, *args], stdout=out or subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f'{os.path.basename(script)} {" ".join(args)}: {done.stderr.strip()}')


def gold_of(sets, name):
    with gzip.open(os.path.join(sets, name, 'gold.json.gz'), 'rt', encoding='utf-8') as f:
        return json.load(f)


def site(page, gold):
    """Host of the page's URL without www; without a URL the part of the id that names its site"""
    host = urlsplit(gold.get('url') or '').hostname
    if gold.get('site'):
        return gold['site']
    return re.sub(r'^www\d*\.', '', host) if host else re.split(r'[_.]|-\d', page)[0].lower()


def pages_of(sets, name, tmp):
    """The set's pages as input, written once"""
    path = os.path.join(tmp, f'{name}.in')
    if not os.path.exists(path):
        with open(path, 'w') as f:
            python(os.path.join(sets, 'input.py'), name, out=f)
    return path


def crawl(binary):
    """An extractor of rows {"id", "text", "markdown", "metadata"} from a file of pages"""
    def extract(pages, markdown):
        run = lambda *args: [json.loads(line) for line in subprocess.run(
            [binary, 'extract', '--jsonl', *args, pages], stdout=subprocess.PIPE, text=True, check=True).stdout.split('\n') if line]
        marks = {row['id']: row['text'] for row in run('--format', 'markdown', '--images')} if markdown else {}
        return [{'id': row['id'], 'text': row['text'], 'markdown': marks.get(row['id']), 'metadata': row.get('metadata') or {}}
                for row in run('--format', 'text')]
    return extract


def rows(sets, name, extract, tmp):
    """Scores of each page of a set"""
    gold, data = gold_of(sets, name), os.path.join(sets, name)
    told, table = os.path.join(tmp, f'{name}.out'), os.path.join(tmp, f'{name}.tsv')
    found = {page: {'id': page, 'site': site(page, g), 'lang': g.get('lang')} for page, g in gold.items()}
    if len({row['site'] for row in found.values()}) == 1:
        # invented URLs: every page is a separate site
        for row in found.values():
            row['site'] = row['id']
    with open(told, 'w') as f:
        for row in extract(pages_of(sets, name, tmp), any('markdown' in g for g in gold.values())):
            f.write(json.dumps(row) + '\n')
            found.get(row['id'], {})['said'] = (row['metadata'].get('language') or row['metadata'].get('languageDetected') or '')
    if name == 'webpages':
        python(os.path.join(sets, 'score_web.py'), told, data, '--pages', table)
        with open(table, encoding='utf-8') as f:
            for line in f:
                page, f1 = line.split('\t')[:2]
                found[page]['text'] = float(f1)
        return list(found.values())
    if name in BY_SCORE:
        python(os.path.join(sets, 'score.py'), told, data, '--quiet', '--bootstrap', '2', '--pages', table)
    if name in BY_SCORE[1:]:
        return read(table, found)
    if name in BY_SCORE:
        read(table, found)
        # the second scorer adds title, author and date, which the first ignores
        python(os.path.join(sets, 'score_new.py'), told, data, '--quiet', '--pages', table)
        return read(table, found, text=False)
    python(os.path.join(sets, 'score_new.py'), told, data, '--quiet', '--pages', table)
    return read(table, found)


def read(table, found, text=True):
    csv.field_size_limit(1 << 30)
    with open(table, encoding='utf-8', newline='') as f:
        for row in csv.DictReader(f, delimiter='\t', quoting=csv.QUOTE_NONE):
            to = found[row['id']]
            value = next((row[key] for key in ('f1c', 'f1', 'with') if row.get(key)), None)
            if text and value is not None and not row.get('struct'):
                to['text'] = float(value)
            if row.get('struct'):
                to['structure'] = float(row['struct'])
            for key, figure in (('title', 'title'), ('author', 'author'), ('publish_date', 'date')):
                if row.get(key) in ('right', 'wrong', 'missing'):
                    to[figure] = float(row[key] == 'right')
    return list(found.values())


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else None
