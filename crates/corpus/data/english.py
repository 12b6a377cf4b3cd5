#!/usr/bin/env python3
"""Writes english.txt, the dictionary of the English lemmatiser, from the Python package spacy-lookups-data 1.0.5.

    pip install spacy-lookups-data==1.0.5 && python3 english.py > english.txt

The package carries WordNet 3.0's index of base forms and its lists of irregular forms (the data of spaCy's own rule-based
lemmatiser), under WordNet's licence (LICENSE-WORDNET). Kept are single words of Latin letters, with their parts of
speech: n noun, v verb, a adjective; a line `form=base` after them with the same letters is an irregular form.
"""
import gzip, json, os, re
import spacy_lookups_data

folder = os.path.join(os.path.dirname(spacy_lookups_data.__file__), 'data')
load = lambda name: json.load(gzip.open(os.path.join(folder, f'en_lemma_{name}.json.gz')))
index, irregular = load('index'), load('exc')
word = re.compile(r"[a-z]{2,}(?:[-'][a-z]+)*$").match
lines = {}
for part, letter in (('noun', 'n'), ('verb', 'v'), ('adj', 'a')):
    for w in index[part]:
        if word(w):
            lines.setdefault(w, set()).add(letter)
    for form, bases in irregular[part].items():
        base = bases[0]
        if word(form) and word(base) and form != base:
            lines.setdefault(f'{form}={base}', set()).add(letter)
print('# Made by english.py from WordNet 3.0 (spacy-lookups-data 1.0.5); licence: LICENSE-WORDNET')
for w in sorted(lines):
    print(w, ''.join(sorted(lines[w])))
