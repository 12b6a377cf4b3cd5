"""Cross-validation by site: the scores of one or two binaries in five folds, and a verdict on the change between them.

A page's fold is a hash of its site, so that a site is in one fold in all sets. A score counts for the verdict over all sets
together, and for a single set if each fold has ten of its pages. A change is refused if a score falls as a whole, or gains on at
most one fold and falls on another. A gain on one fold alone, with the others unchanged, is reported.
"""
import hashlib, os, sys, tempfile
import benchsets

FOLDS = 5
# smaller differences are ignored
LEAST = .0005
# minimum pages per fold for a set's own score
ENOUGH = 10


def fold(site):
    return int.from_bytes(hashlib.sha256(site.encode()).digest()[:8], 'big') % FOLDS


def measure(bench, binary):
    """Rows of the pages by set"""
    sets, found = os.path.join(bench, 'extraction'), {}
    with tempfile.TemporaryDirectory() as tmp:
        for name in benchsets.SETS:
            if not os.path.isdir(os.path.join(sets, name)):
                print(f'{name} is not there: left out', file=sys.stderr)
                continue
            found[name] = benchsets.rows(sets, name, benchsets.crawl(binary), tmp)
    return found


def values(measured, figure, name=None):
    """Values of a score by fold; of one set, or of all"""
    out = [[] for _ in range(FOLDS)]
    for rows in [measured[name]] if name else measured.values():
        for row in rows:
            if figure in row:
                out[fold(row['site'])].append(row[figure])
    return out


def judge(changes, whole):
    """Verdict on the changes by fold

    >>> judge([.02, 0, -.001, 0, -.002], .003)
    'refused'
    >>> judge([.02, -.01, .001, -.02, .001], -.002)
    'refused'
    >>> judge([.02, 0, 0, 0, 0], .004)
    'one fold alone'
    >>> judge([.02, .01, .003, -.001, .004], .007)
    'gains on most'
    >>> judge([.02, .01, .003, .001, .004], .007)
    'gains'
    >>> judge([0] * FOLDS, 0)
    'same'
    """
    gains, losses = sum(d > LEAST for d in changes), sum(d < -LEAST for d in changes)
    if losses and gains <= 1 or whole < -LEAST:
        return 'refused'
    if gains == 1:
        return 'one fold alone'
    return 'gains' if gains and not losses else 'gains on most' if gains > losses else 'mixed' if gains else 'same'


def lines(before, after):
    """Rows (name, pages, scores by fold, whole, changes by fold, whole change, verdict) of every set and of all"""
    for figure in benchsets.FIGURES:
        for name in [None, *after]:
            now = values(after, figure, name)
            pages = sum(map(len, now))
            if not pages:
                continue
            whole = benchsets.mean(v for part in now for v in part)
            shown = [f'{name or "ALL SETS"} {figure}', pages, [benchsets.mean(part) for part in now], whole]
            if before is None:
                yield *shown, None, None, ''
                continue
            then = values(before, figure, name)
            changes = [benchsets.mean(a) - benchsets.mean(b) if a and b else 0. for a, b in zip(now, then)]
            change = whole - benchsets.mean(v for part in then for v in part)
            counts = name is None or min(map(len, now)) >= ENOUGH
            verdict = judge(changes, change)
            yield *shown, changes, change, verdict if counts else f'({verdict}: too few pages)'


def cross_validate(bench, before, after):
    """Prints the table; returns 1 if the change is refused"""
    measured = measure(bench, after)
    earlier = measure(bench, before) if before else None
    print(f'{"":<28}{"pages":>6}' + ''.join(f'{f"fold {n + 1}":>15}' for n in range(FOLDS)) + f'{"all":>15}  verdict')
    refused = []
    for name, pages, folds, whole, changes, change, verdict in lines(earlier, measured):
        cell = lambda value, d: '-' if value is None else f'{value:.3f}' + ('' if d is None else f' {d:+.4f}')
        cells = [cell(v, changes and changes[n]) for n, v in enumerate(folds)] + [cell(whole, change)]
        print(f'{name:<28}{pages:>6}' + ''.join(f'{c:>15}' for c in cells) + f'  {verdict}')
        if verdict == 'refused':
            refused.append(name)
    if before:
        print('refused: ' + ', '.join(refused) if refused else 'not refused')
    return 1 if refused else 0
