"""Changes of a page that a reader in a browser does not see, or sees as the same article.

`CHANGES` maps the name of a change to a function of (tokens of the page, its extracted text) that returns the changed page, or None
if the change does not apply. `Token.kind` is one of open, close, text, comment, doctype and frozen. A frozen token is a whole
element whose content is not markup, or is not touched (script, style, title, svg and the like).
"""
import base64, codecs, collections, hashlib, html, html.entities, json, re

Token = collections.namedtuple('Token', 'kind name text')
BLOCKS = set('address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 '
             'h4 h5 h6 head header hgroup hr html li main menu nav ol p pre section summary table tbody td tfoot th thead tr ul'.split())
FROZEN = 'script|style|title|textarea|xmp|iframe|noembed|noframes|svg|math|template|select'
TOKEN = re.compile(r'<!--.*?-->|<[!?][^>]*>|<(?P<frozen>' + FROZEN + r')\b(?:[^>=]|=\s*(?:"[^"]*"|\'[^\']*\')?)*>.*?</(?P=frozen)\s*>'
                   r'|</?(?P<name>[a-zA-Z][^\s/>]*)(?:[^>=]|=\s*(?:"[^"]*"|\'[^\']*\')?)*>', re.S | re.I)
ATTRIBUTE = re.compile(r'([\s/]+)([^\s"\'>/=]+)(\s*=\s*("[^"]*"|\'[^\']*\'|[^\s"\'>]+))?')
# in every line of an inserted part
MARK = 'Zyqqim'


def tokenize(page):
    out, at = [], 0
    for m in TOKEN.finditer(page):
        if m.start() > at:
            out.append(Token('text', '', page[at:m.start()]))
        text, at = m.group(), m.end()
        if m['frozen']:
            out.append(Token('frozen', m['frozen'].lower(), text))
        elif m['name']:
            out.append(Token('close' if text[1] == '/' else 'open', m['name'].lower(), text))
        else:
            out.append(Token('comment' if text.startswith('<!--') else 'doctype', '', text))
    return out + [Token('text', '', page[at:])]


def join(tokens):
    return ''.join(t.text for t in tokens)


def edit(function, *kinds):
    """A change that maps the text of each token of these kinds, None for a dropped one"""
    return lambda tokens, _: ''.join(function(t) or '' if t.kind in kinds else t.text for t in tokens)


def attributes(tag, function):
    """The tag with each attribute (name, value with quotes or None) replaced by the result, dropped at None"""
    head = re.match(r'</?[^\s/>]+', tag).group()
    closed = tag.endswith('/>')
    end = ' />' if closed else '>'
    found = [function(m[2], m[4]) for m in ATTRIBUTE.finditer(tag[len(head):-1 - closed])]
    return head + ''.join(' ' + name + ('' if value is None else '=' + value) for name, value in filter(None, found)) + end


def of_names(function):
    """Maps values of class attributes, and classes in style sheets"""
    def one(t):
        if t.kind == 'frozen':
            css = lambda m: '.' + function(m[1])
            return re.sub(r'\.(-?[A-Za-z_][\w-]*)(?=[^{}]*\{)', css, t.text) if t.name == 'style' else t.text
        value = lambda v: '"' + ' '.join(map(function, v.strip('"\'').split())) + '"'
        return attributes(t.text, lambda n, v: (n, value(v) if n.lower() == 'class' and v else v))
    return edit(one, 'open', 'frozen')


def without(*names, prefix='\0'):
    drops = lambda name: name.lower() in names or name.lower().startswith(prefix)
    return edit(lambda t: attributes(t.text, lambda n, v: None if drops(n) else (n, v)), 'open')


def rename(names, to):
    """Replaces elements by others with the same attributes, and their names in style sheets"""
    any_name = re.compile(r'(?<![\w.#-])(' + '|'.join(names) + r')(?![\w-])(?=[^{}]*\{)')
    def one(t):
        if t.kind == 'frozen':
            return any_name.sub(to, t.text) if t.name == 'style' else t.text
        return re.sub(r'(?i)^(</?)[^\s/>]+', r'\1' + to, t.text) if t.name in names else t.text
    return edit(one, 'open', 'close', 'frozen')


def custom_elements(tokens, _):
    """Renames each div that holds a block"""
    out, stack = [t.text for t in tokens], []
    for i, t in enumerate(tokens):
        if t.name in BLOCKS and t.kind == 'open' and stack:
            stack[-1][1] = True
        if t.name == 'div' and t.kind == 'open':
            stack.append([i, False])
        elif t.name == 'div' and t.kind == 'close' and stack:
            start, holds_block = stack.pop()
            if holds_block:
                out[start], out[i] = '<app-box' + out[start][4:], '</app-box>'
    return ''.join(out)


def shape(t):
    return t.kind in ('open', 'close') and t.name in BLOCKS or t.kind == 'doctype'


def spaced(between):
    """Replaces the white space beside tags of blocks, outside pre"""
    def change(tokens, _):
        out, pre = [], 0
        for i, t in enumerate(tokens):
            pre += (t.kind == 'open') - (t.kind == 'close') if t.name in ('pre', 'code') else 0
            text = t.text
            if t.kind == 'text' and not pre:
                before, after = i == 0 or shape(tokens[i - 1]), i + 1 == len(tokens) or shape(tokens[i + 1])
                text = re.sub(r'^[ \t\r\n]+', '', text) if before else text
                text = re.sub(r'[ \t\r\n]+$', '', text) if after else text
            if between and shape(t) and not pre and t.name != 'pre':
                text = between + text + between
            out.append(text)
        return ''.join(out)
    return change


NEXT = {
    'p': (r'address|article|aside|blockquote|div|dl|fieldset|figure|footer|form|h[1-6]|header|hr|main|nav|ol|p|pre|section|table|ul',
          'div|section|article|main|td|li|blockquote|body'),
    'li': ('li', 'ul|ol'), 'td': ('td|th|tr', 'tr|table|tbody'), 'th': ('td|th|tr', 'tr|table|thead|tbody'), 'tr': ('tr', 'table|tbody|thead'),
    'dt': ('dt|dd', ''), 'dd': ('dt|dd', 'dl'),
}


def no_end_tags(tokens, _):
    out = []
    for i, t in enumerate(tokens):
        if t.kind == 'close' and t.name in NEXT:
            after = next((n for n in tokens[i + 1:i + 8] if n.kind != 'comment' and n.text.strip()), None)
            opens, closes = NEXT[t.name]
            if after and re.fullmatch(opens if after.kind == 'open' else closes if after.kind == 'close' else '', after.name) and after.name:
                continue
        out.append(t.text)
    return ''.join(out)


def no_shell(tokens, _):
    return join(t for t in tokens if not (t.name in ('html', 'head', 'body') and (t.kind == 'close' or re.fullmatch(r'<\w+\s*>', t.text))))


def body(tokens):
    """Indexes behind the tag of the body and before its end"""
    start = next((i + 1 for i, t in enumerate(tokens) if t.kind == 'open' and t.name == 'body'), None)
    ends = [i for i, t in enumerate(tokens) if t.kind == 'close' and t.name == 'body']
    return start, ends[-1] if ends else len(tokens)


def paragraphs(tokens):
    """Ranges of the paragraphs that hold no block: indexes of the first and last tag"""
    start = None
    for i, t in enumerate(tokens):
        if t.kind == 'open' and t.name == 'p':
            start = i
        elif t.kind == 'close' and t.name == 'p' and start is not None:
            yield start, i
            start = None
        elif t.name in BLOCKS:
            start = None


def of_paragraphs(opening, closing, inside=None):
    """Maps the first and the last tag of each paragraph, and the text between"""
    def change(tokens, _):
        out = [t.text for t in tokens]
        for a, b in paragraphs(tokens):
            out[a], out[b] = opening(out[a]), closing
            for i in range(a + 1, b):
                out[i] = inside(out[i]) if inside and tokens[i].kind == 'text' else out[i]
        return ''.join(out)
    return change


def places(tokens, text):
    """Indexes in the body: its start, the first, middle and last paragraph of the content, its end"""
    start, end = body(tokens)
    flat = re.sub(r'\W+', '', text)
    found = []
    for a, b in paragraphs(tokens):
        plain = re.sub(r'\W+', '', html.unescape(''.join(t.text for t in tokens[a:b] if t.kind == 'text')))
        if len(plain) > 80 and plain in flat:
            found.append((a, b + 1))
    inner = {'first': found[0][0], 'middle': found[len(found) // 2][0], 'last': found[-1][1]} if found else {}
    return {'begin': start, **inner, 'end': end}


def insert(part, place):
    def change(tokens, text):
        at = places(tokens, text).get(place)
        return None if at is None else join(tokens[:at]) + part + join(tokens[at:])
    return change


def wrap(depth):
    def change(tokens, _):
        start, end = body(tokens)
        return None if start is None else join(tokens[:start]) + '<div>' * depth + join(tokens[start:end]) + '</div>' * depth + join(tokens[end:])
    return change


def meta(pattern, to=''):
    return lambda tokens, _: join(t._replace(text=to) if t.kind == 'open' and t.name == 'meta' and re.search(pattern, t.text, re.I) else t for t in tokens)


def json_ld(function):
    return edit(lambda t: function(t.text) if t.name == 'script' and 'ld+json' in t.text[:200] else t.text, 'frozen')


def entities(t):
    named = lambda m: '&' + html.entities.codepoint2name[ord(m[0])] + ';' if ord(m[0]) in html.entities.codepoint2name else f'&#{ord(m[0])};'
    parts = re.split(r'(&[#\w]+;?)', t.text)
    return ''.join(p if i % 2 else re.sub(r'[^\x00-\x7f]|[eo\']', named, p) for i, p in enumerate(parts))


codecs.register_error('jsreplace', lambda e: (json.dumps(e.object[e.start:e.end])[1:-1], e.end))


def encoded(charset, name):
    """The page's bytes in a charset, with a `meta` that names it; text without a code becomes an entity"""
    def change(tokens, _):
        out = []
        for t in tokens:
            if t.kind == 'open' and t.name == 'meta' and re.search(r'charset\s*=', t.text, re.I):
                continue
            fallback = 'xmlcharrefreplace' if t.kind != 'frozen' or t.name in ('title', 'textarea') else 'jsreplace'
            out.append(t.text.encode(charset, fallback) if charset != 'utf-16-le' else t.text.encode(charset, 'replace'))
        at = next((i + 1 for i, t in enumerate(tokens) if t.kind == 'open' and t.name == 'head'), None)
        if at is None:
            return None
        out.insert(at, f'<meta charset="{name}">'.encode(charset))
        return (b'\xff\xfe' if charset == 'utf-16-le' else b'') + b''.join(out)
    return change


def sentences(text):
    parts = re.split(r'(?<=[.!?])(\s+)', text)
    return ''.join(p if i % 2 or not p.strip() else f'<span>{p}</span>' for i, p in enumerate(parts))


def unquoted(name, value):
    bare = value and value.strip('"\'')
    return name, bare if bare and not re.search(r'[\s"\'=<>`&/]', bare) else value


def items(count, text):
    return ''.join(f'<li><a href="/{MARK}/{i}">{text.format(i, MARK)}</a></li>' for i in range(count))


PARTS = {
    'cookie': f'<div class="cookie-banner" role="dialog" aria-label="Cookies"><p>{MARK} and partners use cookies to improve your experience. '
              f'By continuing you accept our <a href="/privacy">{MARK} privacy policy</a>.</p><button>Accept {MARK}</button></div>',
    'newsletter': f'<div class="newsletter-signup"><h3>Subscribe to the {MARK} newsletter</h3><p>Get the best stories of {MARK} in your inbox every '
                  f'week.</p><form action="/subscribe"><input type="email" placeholder="Email"><button>Sign up to {MARK}</button></form></div>',
    'ad': f'<div class="ad-slot" id="div-gpt-ad-1"><span>Advertisement {MARK}</span><a href="https://ads.example/{MARK}"><img src="/ad.png" alt="">'
          f'{MARK}: save 20 % on your first order</a></div>',
    'related': f'<div class="related-articles"><h3>Related {MARK} articles</h3><ul>' + items(6, 'Why story {0} of {1} matters to the town') + '</ul></div>',
    'comments': f'<section id="comments" class="comments"><h2>3 comments on {MARK}</h2><ol class="comment-list">' + ''.join(
        f'<li class="comment"><div class="comment-author">{MARK} User{i}</div><div class="comment-body"><p>I read {MARK} all of this and do not agree '
        f'with point {i}, since my own experience was different.</p></div></li>' for i in range(3)) + '</ol></section>',
    'sidebar': f'<aside class="sidebar"><div class="widget"><h4>{MARK} popular</h4><ul>' + items(5, 'Popular item {0} of {1}') +
               f'</ul></div><div class="widget"><h4>About {MARK}</h4><p>{MARK} is a site about many things and is run by a small team.</p></div></aside>',
    'menu': '<nav class="mega-menu"><ul>' + ''.join(
        f'<li><a href="/s{i}">{MARK} section {i}</a><ul>' + items(5, 'Topic {0} of {1}') + '</ul></li>' for i in range(8)) + '</ul></nav>',
}
IMAGE = '<img alt="" src="data:image/png;base64,' + base64.b64encode(bytes(range(256)) * 3072).decode() + '">'
LANDMARKS = ('article', 'main', 'header', 'footer', 'nav', 'aside')
CHANGES = {
    'minified': spaced(''),
    'pretty-printed': spaced('\n      '),
    'CRLF': lambda tokens, _: join(tokens).replace('\r\n', '\n').replace('\n', '\r\n'),
    'upper case': edit(lambda t: attributes(re.sub(r'^</?[^\s/>]+', lambda m: m[0].upper(), t.text), lambda n, v: (n.upper(), v)), 'open', 'close'),
    'unquoted attributes': edit(lambda t: attributes(t.text, unquoted), 'open'),
    'comments': edit(lambda t: f'<!-- begin {t.name} -->{t.text}' if t.name in BLOCKS else t.text, 'open'),
    'no optional end tags': no_end_tags,
    'no html, head, body': no_shell,
    'div to section': rename(('div',), 'section'),
    'section to div': rename(('section',), 'div'),
    'landmarks to div': rename(LANDMARKS, 'div'),
    'div to custom element': custom_elements,
    'wrapped once': wrap(1),
    'wrapped five times': wrap(5),
    'paragraphs in div': of_paragraphs(lambda tag: '<div>' + tag, '</p></div>'),
    'paragraphs to div': of_paragraphs(lambda tag: '<div' + tag[2:], '</div>'),
    'paragraphs to br br': of_paragraphs(lambda tag: '', '<br><br>'),
    'classes hashed': of_names(lambda name: 'a' + hashlib.md5(name.encode()).hexdigest()[:5]),
    'classes prefixed': of_names(lambda name: 'theme-' + name),
    'no classes, ids': without('class', 'id'),
    'no data-*': without(prefix='data-'),
    'span by sentence': of_paragraphs(lambda tag: tag, '</p>', sentences),
    'font': of_paragraphs(lambda tag: tag + '<font face="Arial" size="2">', '</font></p>'),
    'entities': edit(entities, 'text'),
    'image of 1 MB': insert(IMAGE, 'middle'),
    'no JSON-LD': json_ld(lambda text: ''),
    'broken JSON-LD': json_ld(lambda text: re.sub(r'(})(?=[^{}]*$)', ',}', text)),
    'no og:*': meta(r'property\s*=\s*["\']?og:'),
    'no lang': without('lang', 'xml:lang'),
    'UTF-16': encoded('utf-16-le', 'utf-16'),
    'windows-1251': encoded('windows-1251', 'windows-1251'),
    'GBK': encoded('gbk', 'gbk'),
    **{f'{name}, {place}': insert(part, place) for name, part in PARTS.items() for place in ('begin', 'first', 'middle', 'last', 'end')},
}
