#!/usr/bin/env python3
"""Cost of `crawl duplicates`, and a comparison. Each job prints its figures and exits with 1 if a bound is missed.

    benches/duplicates.py speed CORPUS.jsonl CRAWL [COST]   against rensa with the same exact check, in one run, one thread
    benches/duplicates.py scale CRAWL [DOCUMENTS ...]       synthetic families of duplicates: 1k, 4k, 20k, 100k, 1M documents
    benches/duplicates.py tfidf CORPUS.jsonl CRAWL          cosines against scikit-learn's on the same lemmas and vocabulary
    benches/duplicates.py bomb CRAWL                        a WARC of about 12 MB that expands to 10 GB

CRAWL is the binary, COST the example near_duplicate_cost of the crate crawl-corpus (cargo build --release --example ...).
`speed` needs rensa, `tfidf` scikit-learn (pip install rensa scikit-learn). Only ratios of one run are worth quoting.
"""
import argparse, csv, gzip, json, os, random, subprocess, sys, tempfile, time

csv.field_size_limit(1 << 30)
JACCARD, PERMUTATIONS, BANDS = 0.85, 128, 32


def run(command, threads=None):
    """CPU seconds, peak of resident memory in MB, standard output"""
    environment = dict(os.environ, **({'RAYON_NUM_THREADS': str(threads)} if threads else {}))
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, env=environment)
        stderr = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit(f'{" ".join(command)} ended with {os.waitstatus_to_exitcode(status)}:\n{stderr[-2000:]}')
        out.seek(0)
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out.read().decode(), stderr


def rensa_pairs(texts):
    """Typical use of rensa: shingles, signatures, 32 bands, and an exact check of the candidates"""
    from rensa import RMinHash, RMinHashLSH
    sets = [{' '.join(words[i:i + 5]) for i in range(max(1, len(words) - 4))} for words in (t.split() for t in texts)]
    lsh, signatures, found = RMinHashLSH(JACCARD, PERMUTATIONS, BANDS), [], []
    for i, shingles in enumerate(sets):
        signature = RMinHash(PERMUTATIONS, 42)
        signature.update(list(shingles))
        for j in lsh.query(signature):
            common = len(shingles & sets[j])
            if common >= JACCARD * (len(shingles) + len(sets[j]) - common):
                found.append((j, i))
        lsh.insert(i, signature)
    return found


def speed(corpus, crawl, cost=None):
    with tempfile.TemporaryDirectory() as folder:
        table, report, cleaned, ours = (os.path.join(folder, name) for name in ('t.csv', 'r.json', 'c.jsonl', 'pairs'))
        cpu, memory, _, _ = run([crawl, 'duplicates', corpus, '--table', table, '--report', report], threads=1)
        rows = [row['text_clean'] for row in csv.DictReader(open(table, newline='', encoding='utf-8'))]
        whole = len(rows) / cpu
        print(f'whole pipeline with lemmas, TF-IDF, clusters, report and table: {whole:.0f} documents a CPU second, {memory:.0f} MB')
        with open(cleaned, 'w') as out:
            out.writelines(json.dumps({'text': text}) + '\n' for text in rows)
        mine, theirs, steps = [], [], []
        for _ in range(3):
            mine.append(len(rows) / run([crawl, 'duplicates', corpus, '--no-tfidf', '--report', report], threads=1)[0])
            if cost:
                cpu, _, line, _ = run([cost, cleaned, '--pairs', ours], threads=1)
                steps.append(len(rows) / cpu)
            start = time.process_time()
            pairs = rensa_pairs(rows)
            theirs.append(len(rows) / (time.process_time() - start))
    ratio = max(mine) / max(theirs)
    print(f'reading, cleaning, language, shingles, signatures, bands, exact check, groups, report: {max(mine):.0f} documents a CPU second')
    print(f'rensa, of that shingles to exact check: {max(theirs):.0f}, {len(pairs)} pairs; ratio {ratio:.2f}')
    if cost:
        ratio = max(steps) / max(theirs)
        print(f'{line.strip()}\nfor the same steps, and reading: {max(steps):.0f} documents a CPU second; ratio {ratio:.2f}')
    return ratio >= 2 and whole >= 400


def synthetic(path, documents):
    """families of one to nine documents: 60 to 200 words, some words of each changed; a tenth are copies"""
    draw = random.Random(7)
    words = [''.join(draw.choices('abcdefghijklmnopqrstuvwxyz', k=draw.randint(3, 9))) for _ in range(50_000)]
    with open(path, 'w') as out:
        number = 0
        while number < documents:
            base = draw.choices(words, k=draw.randint(60, 200))
            for _ in range(min(documents - number, draw.choice((1, 1, 1, 1, 2, 2, 3, 5, 9)))):
                own = list(base)
                if draw.random() > .1:
                    for _ in range(draw.randint(1, 4)):
                        own[draw.randrange(len(own))] = draw.choice(words)
                out.write(json.dumps({'id': str(number), 'url': f'https://a.test/{number}', 'text': ' '.join(own)}) + '\n')
                number += 1


def scale(crawl, sizes):
    costs, good = {}, True
    with tempfile.TemporaryDirectory(dir=os.environ.get('WORK')) as folder:
        for size in sizes:
            corpus, report = os.path.join(folder, 'c.jsonl'), os.path.join(folder, 'r.json')
            synthetic(corpus, size)
            flags = ['--no-tfidf', '--work-dir', folder]
            cpu, memory, _, said = run([crawl, 'duplicates', corpus, '--report', report, *flags])
            costs[size] = cpu / size
            good &= memory < 4096
            print(f'{size:9} documents: {cpu:8.2f} CPU s, {1e6 * cpu / size:6.1f} µs a document, {memory:6.0f} MB; {said.strip().splitlines()[-1]}', flush=True)
    if 20_000 in costs:
        growth = costs[max(sizes)] / costs[20_000]
        print(f'cost of a document from 20,000 to {max(sizes):,} documents: times {growth:.2f}')
        good &= growth < 1.5
    return good


def tfidf(corpus, crawl):
    from sklearn.feature_extraction.text import TfidfVectorizer
    with tempfile.TemporaryDirectory() as folder:
        table, report, terms = (os.path.join(folder, name) for name in ('t.csv', 'r.json', 'terms.tsv'))
        run([crawl, 'duplicates', corpus, '--table', table, '--report', report, '--terms', terms, '--cosine', '0'])
        lemmas = [row['lemmas'] for row in csv.DictReader(open(table, newline='', encoding='utf-8'))]
        pairs = json.load(open(report))['near_duplicate_pairs']
        rows = [line.rstrip('\n').split('\t') for line in open(terms, encoding='utf-8')][1:]
    vocabulary = {row[0]: number for number, row in enumerate(rows)}
    given = dict(ngram_range=(1, 2), token_pattern=r'\S+', lowercase=False)
    vectorizer = TfidfVectorizer(vocabulary=vocabulary, **given)
    matrix = vectorizer.fit_transform(lemmas)
    error = max(abs(pair['tfidf_cosine'] - matrix[pair['i']].multiply(matrix[pair['j']]).sum()) for pair in pairs)
    idf = max(abs(float(row[3]) - vectorizer.idf_[number]) for number, row in enumerate(rows))
    print(f'{len(pairs)} pairs, {len(rows)} terms: cosine differs by {error:.2e} at most, idf by {idf:.2e}')
    own = TfidfVectorizer(max_features=50_000, min_df=3, **given).fit(lemmas)
    both = len(set(own.vocabulary_) & set(vocabulary))
    least = min(int(row[1]) for row in rows)
    tied = sum(int(row[1]) == least for row in rows)
    print(f'vocabulary chosen by scikit-learn: {both} of {len(own.vocabulary_)} terms are the same; {tied} of ours occur {least} times, as do those that were cut')
    return error <= 1e-6 and idf <= 1e-9 and len(own.vocabulary_) - both <= tied


def bomb(crawl):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'bomb.warc.gz')
        page = b'<html><title>Page</title><body><p>' + b'A paragraph of some words that a page may have. ' * 40
        block = b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n' + page
        record = lambda size: b'WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\nContent-Type: application/http;msgtype=response\r\nContent-Length: %d\r\n\r\n' % size
        whole = gzip.compress(record(len(block)) + block + b'\r\n\r\n')
        head = b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>'
        size = 10 << 30
        with open(path, 'wb') as out:
            out.write(whole)
            with gzip.GzipFile(fileobj=out, mode='wb', compresslevel=6) as packed:
                packed.write(record(size) + head)
                for _ in range(size >> 20):
                    packed.write(b' ' * (1 << 20))
            out.write(whole)
        cpu, memory, _, said = run([crawl, 'duplicates', path, '--report', os.path.join(folder, 'r.json')])
        counts = json.load(open(os.path.join(folder, 'r.json')))['meta']['inputs'][0]
        print(f'{os.path.getsize(path) / 1e6:.1f} MB that expand to {size / 1e9:.1f} GB: {cpu:.1f} CPU s, {memory:.0f} MB; {counts}')
        return memory < 300 and counts['documents'] == 2 and counts['unreadable'] == {'too_large': 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('job', choices=('speed', 'scale', 'tfidf', 'bomb'))
    parser.add_argument('arguments', nargs='+')
    a = parser.parse_args()
    jobs = {'speed': speed, 'tfidf': tfidf, 'bomb': bomb,
            'scale': lambda crawl, *sizes: scale(crawl, [int(s) for s in sizes] or [1000, 4000, 20_000, 100_000, 1_000_000])}
    sys.exit(0 if jobs[a.job](*a.arguments) else 1)


if __name__ == '__main__':
    main()
