#!/usr/bin/env python3
"""Independent implementation of phase A of the boilerplate specification, over a JSONL. Standard library only.

    domain_dedup.py PAGES.jsonl > cleaned.jsonl

Each line has `url` and `content`; the output adds `text`, and `removed`: the hashes of the removed blocks, in order, and their
bytes. A page that would be left with only whitespace keeps its text; pages of a domain that is not judged are unchanged. It shares
no code with the program that it tests.
"""
import hashlib, json, re, sys
from urllib.parse import urlsplit


def split_into_blocks(content, min_block_chars=50):
    return [b.strip() for b in re.split(r'\n\s*\n', content) if len(b.strip()) >= min_block_chars]


def hash_block(block):
    return hashlib.sha256(re.sub(r'\s+', ' ', block).strip().lower().encode()).hexdigest()[:16]


def compute_domain_fingerprint(pages, threshold_pct=0.7, min_pages=5, min_block_chars=50):
    counts = {}
    if len(pages) < min_pages:
        return None
    for page in pages:
        for digits in {hash_block(b) for b in split_into_blocks(page, min_block_chars)}:
            counts[digits] = counts.get(digits, 0) + 1
    threshold = max(min_pages, int(len(pages) * threshold_pct))
    return {digits for digits, n in counts.items() if n >= threshold}


def strip_boilerplate(content, boilerplate_hashes, min_block_chars=50):
    left, removed, size = [], [], 0
    for part in re.split(r'(\n\s*\n)', content):
        if len(part.strip()) >= min_block_chars and (digits := hash_block(part)) in boilerplate_hashes:
            removed.append(digits)
            size += len(part.encode())
        else:
            left.append(part)
    if not ''.join(left).strip():
        left, removed, size = [content], [], 0
    return re.sub(r'\n{3,}', '\n\n', ''.join(left)), removed, size


def main():
    rows = [json.loads(line) for line in open(sys.argv[1], encoding='utf-8')]
    domains = {}
    for row in rows:
        domains.setdefault(urlsplit(row['url']).netloc, []).append(row)
    for pages in domains.values():
        hashes = compute_domain_fingerprint([row['content'] for row in pages])
        for row in pages:
            judged = (row['content'], [], 0) if hashes is None else strip_boilerplate(row['content'], hashes)
            row['text'], row['removed'], row['bytesRemoved'] = judged
    for row in rows:
        sys.stdout.write(json.dumps(row, ensure_ascii=False) + '\n')


if __name__ == '__main__':
    sys.stdout.reconfigure(encoding='utf-8')
    main()
