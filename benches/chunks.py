#!/usr/bin/env python3
"""Boilerplate in chunks of 1,000 characters, of whole pages and of the crawler's text.

    chunks.py pages CRAWL_BINARY PAGES.jsonl LABELS.json[.gz]    rows {"id", "url", "html"}; labels by id
    chunks.py records RECORDS.jsonl FOLDER [SITE=HOST ...]      records of a crawl; FOLDER/SITE.jsonl.gz has the labels

LABELS maps an id to {"site", "text", "boilerplate", "neutral"}: the content, its frame, and parts that do not count (dates, tables
of contents). A row of FOLDER/SITE.jsonl.gz is {"url", "gold", "blocks": [{"label": "G" or "B", "text"}]}; its page is the record
with the same path on the site's host. Both benchmarks are outside of this repository. Standard library only.

The splitter is the plain recursive one of most pipelines: at blank lines, else at line ends, else at spaces, else anywhere. Pieces
are joined up to 1,000 characters, without overlap. Before: the visible text of the whole page, tags stripped. After: the text that
crawl writes, without the URLs of links. A token is content if three consecutive tokens with it occur in the content, neutral if they
occur in the neutral part, else boilerplate.

Columns: chunks per page, mean characters of a chunk, share of boilerplate in a chunk (mean over chunks), share of mostly
boilerplate chunks, share of the content's triples in the chunks. Means over the pages of a site, then over sites.
"""
import argparse, gzip, html.parser, json, re, subprocess, sys
from collections import defaultdict
from urllib.parse import unquote, urlsplit

SIZE = 1000
CJK = '\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af'
TOKEN = re.compile(f'[{CJK}]|[^\\W{CJK}]+')
LINK = re.compile(r'!?\[([^\[\]\n]*)\]\([^()\s]*\)')
BLOCKS = set('address article aside blockquote br dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol '
             'option p pre section summary table td th tr ul'.split())
SILENT = {'script', 'style', 'template', 'noscript', 'head'}


class Visible(html.parser.HTMLParser):
    """Text of a page without its tags, one line per block."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.silent, self.parts = [], []

    def handle_starttag(self, tag, attrs):
        if tag in SILENT:
            self.silent.append(tag)
        elif tag == 'body':
            self.silent.clear()
        elif tag in BLOCKS:
            self.parts.append('\n')

    def handle_endtag(self, tag):
        if tag in self.silent:
            del self.silent[self.silent.index(tag):]
        elif tag in BLOCKS:
            self.parts.append('\n')

    def handle_data(self, data):
        if not self.silent:
            self.parts.append(re.sub(r'\s+', ' ', data))

    def text(self):
        lines = (line.strip() for line in ''.join(self.parts).split('\n'))
        return '\n'.join(line for line in lines if line)


def visible(page):
    parser = Visible()
    parser.feed(page)
    parser.close()
    return parser.text()


def split(text, separators=('\n\n', '\n', ' ')):
    """Chunks of at most SIZE characters."""
    if len(text) <= SIZE:
        return [text] if text.strip() else []
    if not separators:
        return [text[at:at + SIZE] for at in range(0, len(text), SIZE)]
    chunks, open_chunk = [], ''
    for piece in text.split(separators[0]):
        joined = open_chunk + separators[0] + piece if open_chunk else piece
        if len(joined) <= SIZE:
            open_chunk = joined
            continue
        chunks += [open_chunk] if open_chunk.strip() else []
        parts = split(piece, separators[1:])
        chunks += parts[:-1]
        open_chunk = parts[-1] if parts else ''
    return chunks + ([open_chunk] if open_chunk.strip() else [])


def tokens(text):
    return [t for t in (t.strip('_').lower() for t in TOKEN.findall(LINK.sub(r'\1', text))) if t]


def triples(words):
    return {tuple(words[at:at + 3]) for at in range(max(1, len(words) - 2))} if words else set()


def covered(words, known):
    """For each token, true if a triple around it is known. A text of one or two tokens is a triple by itself."""
    out = [False] * len(words)
    for at in range(max(1, len(words) - 2)):
        if tuple(words[at:at + 3]) in known:
            out[at:at + 3] = [True] * len(out[at:at + 3])
    return out


def measure(text, content, neutral):
    """Chunks, characters of a chunk, boilerplate in a chunk, mostly boilerplate, content found; of a page."""
    chunks = split(text)
    shares, found = [], set()
    for chunk in chunks:
        words = tokens(chunk)
        good, aside = covered(words, content), covered(words, neutral)
        counted = [g for g, n in zip(good, aside) if g or not n]
        shares.append(counted.count(False) / len(counted) if counted else 0)
        found |= triples(words) & content
    n = len(chunks)
    mean = lambda values: sum(values) / n if n else None
    return n, mean([len(c) for c in chunks]), mean(shares), mean([s > .5 for s in shares]), len(found) / len(content) if content else None


def of_lines(text):
    """Triples of a labelled text, also line by line, since block ends differ between page and text."""
    known = triples(tokens(text))
    for line in text.split('\n'):
        known |= triples(tokens(line))
    return known


def labelled(args):
    rows = [json.loads(line) for line in open(args.input, encoding='utf-8')]
    out = subprocess.run([args.crawl, 'extract', '--jsonl', '--format', 'text', args.input], capture_output=True, text=True, check=True).stdout
    texts = {r['id']: r['text'] for r in map(json.loads, out.split('\n')[:-1])}
    labels = json.load((gzip.open if args.labels.endswith('.gz') else open)(args.labels, 'rt', encoding='utf-8'))
    for row in rows:
        gold = labels.get(row['id'])
        if gold and 'html' in row:
            yield gold['site'], visible(row['html']), texts.get(row['id']) or '', of_lines(gold['text']), of_lines(gold['neutral'])


def recorded(args):
    hosts = dict(pair.split('=', 1) for pair in args.sites)
    texts = {}
    for line in open(args.records, encoding='utf-8'):
        record = json.loads(line)
        url = urlsplit(record['url'])
        texts[url.hostname, unquote(url.path)] = LINK.sub(r'\1', record.get('text') or '')
    for site, host in hosts.items():
        for line in gzip.open(f'{args.folder}/{site}.jsonl.gz', 'rt', encoding='utf-8'):
            page = json.loads(line)
            text = texts.get((host, unquote(urlsplit(page['url']).path)))
            if text is not None and page['gold'].strip():
                yield site, '\n'.join(block['text'] for block in page['blocks']), text, of_lines(page['gold']), set()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest='kind', required=True)
    pages = kinds.add_parser('pages')
    pages.add_argument('crawl'), pages.add_argument('input'), pages.add_argument('labels')
    records = kinds.add_parser('records')
    records.add_argument('records'), records.add_argument('folder'), records.add_argument('sites', nargs='+', metavar='SITE=HOST')
    args = parser.parse_args()
    sites = defaultdict(lambda: ([], []))
    for site, before, after, content, neutral in (labelled if args.kind == 'pages' else recorded)(args):
        for out, text in zip(sites[site], (before, after)):
            out.append(measure(text, content, neutral))
    if not sites:
        sys.exit('no page has a label')

    def mean(values):
        values = [value for value in values if value is not None and value == value]
        return sum(values) / len(values) if values else float('nan')

    print(f'{"":22s} {"pages":>5s} {"chunks":>7s} {"chars":>6s} {"boiler":>7s} {"mostly":>7s} {"content":>7s}')
    total = ([], [])
    for site, halves in sorted(sites.items()):
        for name, rows, sums in zip(('before', 'after'), halves, total):
            row = [mean(column) for column in zip(*rows)]
            sums.append(row)
            print(f'{site:15s} {name:6s} {len(rows):5d} {row[0]:7.1f} {row[1]:6.0f} {row[2]:7.3f} {row[3]:7.3f} {row[4]:7.3f}')
    for name, sums in zip(('before', 'after'), total):
        row = [mean(column) for column in zip(*sums)]
        print(f'{"mean":15s} {name:6s} {len(sums):5d} {row[0]:7.1f} {row[1]:6.0f} {row[2]:7.3f} {row[3]:7.3f} {row[4]:7.3f}')


if __name__ == '__main__':
    main()
