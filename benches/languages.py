#!/usr/bin/env python3
"""Extraction by language: pages of translated manuals compared with the text in their generator's container.

    languages.py CRAWL_BINARY FOLDER [--pages 16]

It fetches nothing: FOLDER holds Debian packages, packed or unpacked. To fill it (50 MB):

    cd FOLDER && apt-get download debian-handbook libreoffice-help-hi
    for f in *.deb; do dpkg -x $f . && rm $f; done

debian-handbook has Arabic, Chinese, German, Japanese, Russian and others in DocBook, libreoffice-help-hi is Hindi. Each language
contributes the same number of pages, evenly over their sorted names. Pages with fewer than 100 characters of the language's own
script are left out, since their translation was never begun. The language declarations are removed from the pages, to test the
identification by text.

Columns: tokens of text (words; single characters in scripts without spaces) compared with the container, as means over pages:
precision, recall, F1. Then the share of the container's sentence ends in the text; counted words per word of the container
(unspaced scripts: two characters per word, Thai four); pages with an identified language.
"""
import argparse, glob, html.parser, json, os, re, subprocess, sys, tempfile
from collections import Counter

# language, glob of its pages, letters of its script, start of its container: (attribute, values)
DOCBOOK = ('class', {'article', 'appendix', 'book', 'chapter', 'part', 'preface', 'section'})
SOURCES = [
    ('ar', '**/debian-handbook/html/ar-MA/*.html', '\u0600-\u06ff', DOCBOOK),
    ('de', '**/debian-handbook/html/de-DE/*.html', 'a-zäöüß', DOCBOOK),
    ('fa', '**/debian-handbook/html/fa-IR/*.html', '\u0600-\u06ff', DOCBOOK),
    ('hi', '**/help/hi/text/**/*.html', '\u0900-\u097f', ('id', {'DisplayArea'})),
    ('ja', '**/debian-handbook/html/ja-JP/*.html', '\u3040-\u30ff', DOCBOOK),
    ('ko', '**/debian-handbook/html/ko-KR/*.html', '\uac00-\ud7af', DOCBOOK),
    ('ru', '**/debian-handbook/html/ru-RU/*.html', '\u0400-\u04ff', DOCBOOK),
    ('zh', '**/debian-handbook/html/zh-CN/*.html', '\u4e00-\u9fff', DOCBOOK),
]
VOID = set('area base br col embed hr img input link meta param source track wbr'.split())
TWO, FOUR = '\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff', '\u0e00-\u0eff'
TOKEN = re.compile(f'[{TWO}{FOUR}]|[^\\W{TWO}{FOUR}]+')
MARK = '[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff\u200b-\u200d]'  # part of the letter before it
END = re.compile('[.!?。！？؟۔।]')


class Container(html.parser.HTMLParser):
    """Text of the outermost elements that begin like the container."""

    def __init__(self, attribute, values):
        super().__init__(convert_charrefs=True)
        self.attribute, self.values = attribute, values
        self.open, self.inside, self.hidden, self.text = [], 0, 0, []

    def handle_starttag(self, tag, attrs):
        if tag in VOID:
            self.text.append(' ')
            return
        starts = tag == 'div' and self.values & set((dict(attrs).get(self.attribute) or '').split())
        hides = tag in ('script', 'style')
        self.open.append((tag, bool(starts), hides))
        self.inside += bool(starts)
        self.hidden += hides
        self.text.append(' ')

    def handle_endtag(self, tag):
        if tag not in (t for t, _, _ in self.open):
            return
        while self.open:
            name, starts, hides = self.open.pop()
            self.inside -= starts
            self.hidden -= hides
            if name == tag:
                break
        self.text.append(' ')

    def handle_data(self, data):
        if self.inside and not self.hidden:
            self.text.append(data)


def container(page, start):
    parser = Container(*start)
    parser.feed(page)
    parser.close()
    return ' '.join(''.join(parser.text).split())


def words(text):
    unspaced = lambda letters, size: sum(-(-len(run) // size) for run in re.findall(f'[{letters}]+', text))
    spaced = re.findall(f"(?:[^\\W{TWO}{FOUR}]|{MARK})+(?:['’._](?:[^\\W{TWO}{FOUR}]|{MARK})+)*", text)
    return len(spaced) + unspaced(TWO, 2) + unspaced(FOUR, 4)


def sample(folder, pattern, letters, start, count):
    found = []
    for path in sorted(glob.glob(os.path.join(folder, pattern), recursive=True)):
        page = open(path, encoding='utf-8', errors='replace').read()
        gold = container(page, start)
        own = len(re.findall(f'[{letters}]', gold, re.I))
        if own >= 100 and own * 3 >= len(re.findall(r'[^\W\d_]', gold)):
            page = re.sub(r'''\s(xml:)?lang=("[^"]*"|'[^']*')''', '', page)
            found.append((path, page, gold))
    step = max(1, len(found) // count)
    return found[::step][:count]


def extract(binary, pages):
    with tempfile.NamedTemporaryFile('w', suffix='.jsonl', encoding='utf-8') as f:
        for path, page, _ in pages:
            f.write(json.dumps({'id': path, 'url': 'https://example.org/' + os.path.basename(path), 'html': page}) + '\n')
        f.flush()
        out = subprocess.run([binary, 'extract', '--jsonl', '--format', 'text', f.name], stdout=subprocess.PIPE, check=True).stdout
    return {r['id']: r for r in map(json.loads, out.decode().splitlines())}


def row(language, pages, got):
    sums = Counter()
    for path, _, gold in pages:
        text = got[path].get('text') or ''
        a, b = Counter(TOKEN.findall(text.lower())), Counter(TOKEN.findall(gold.lower()))
        both = sum((a & b).values())
        p, r = both / max(1, sum(a.values())), both / max(1, sum(b.values()))
        ends, want = Counter(END.findall(text)), Counter(END.findall(gold))
        metadata = got[path].get('metadata') or {}
        sums.update(p=p, r=r, f=2 * p * r / (p + r) if p + r else 0, words=(metadata.get('wordCount') or 0) / max(1, words(gold)),
                    ends=sum((ends & want).values()) / sum(want.values()) if want else 1, known=metadata.get('languageDetected') == language)
    n = len(pages)
    print(f'{language:9s}{n:6d}' + ''.join(f'{sums[k] / n:8.3f}' for k in ('p', 'r', 'f', 'ends', 'words', 'known')))


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('binary')
    a.add_argument('folder')
    a.add_argument('--pages', type=int, default=16, help='pages of each language (16)')
    a = a.parse_args()
    print('language pages       P       R      F1    ends   words   known')
    total = 0
    for language, pattern, letters, start in SOURCES:
        pages = sample(a.folder, pattern, letters, start, a.pages)
        if not pages:
            print(f'{language:9s}     0  (not in the folder)')
            continue
        total += len(pages)
        row(language, pages, extract(os.path.abspath(a.binary), pages))
    if not total:
        sys.exit('no page was found: see --help for how to fill the folder')
    print(f'{total} pages')


if __name__ == '__main__':
    main()
