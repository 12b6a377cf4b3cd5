-- Results of visits have tables of their own, since most URLs of a large site are not visited. Rows of URLs keep the first six
-- bytes of their key, which the URL itself completes.

-- Results of the last visit. text_hash is empty if it equals the beginning of content_hash; last_modified is a number of seconds
-- since the Unix epoch if that gives the header byte for byte.
CREATE TABLE history (
    id INTEGER PRIMARY KEY,
    status INTEGER,
    etag TEXT,
    last_modified BLOB,
    content_hash BLOB,
    text_hash BLOB,
    body_hash BLOB,
    rules INTEGER,
    via INTEGER,
    fetched_at INTEGER,
    fetched_lastmod TEXT
);

-- Further times and numbers of visits; no row while they follow from a first visit at fetched_at.
CREATE TABLE revisits (
    id INTEGER PRIMARY KEY,
    read_at INTEGER,
    seen_at INTEGER,
    first_at INTEGER,
    changed_at INTEGER,
    visits INTEGER NOT NULL,
    changes INTEGER NOT NULL
);

CREATE TABLE known (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL,
    host INTEGER NOT NULL,
    round INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    discovery INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    strategy INTEGER,
    outcome INTEGER,
    url TEXT NOT NULL,
    redirects TEXT,
    sitemap_lastmod TEXT,
    found_on INTEGER
);

INSERT INTO history
SELECT id, status, etag, last_modified, content_hash,
       iif(text_hash = content_hash, x'', substr(text_hash, 1, 16)), substr(body_hash, 1, 16),
       rules, via, fetched_at, fetched_lastmod
FROM urls
WHERE coalesce(status, etag, last_modified, content_hash, text_hash, body_hash, rules, via, fetched_at, fetched_lastmod)
      IS NOT NULL
ORDER BY id;

INSERT INTO revisits
SELECT id, read_at, seen_at, first_at, changed_at, visits, changes
FROM urls
WHERE first_at IS NOT fetched_at OR changed_at IS NOT fetched_at
      OR read_at IS NOT iif(content_hash IS NULL, NULL, fetched_at)
      OR seen_at IS NOT iif(content_hash IS NULL, NULL, fetched_at)
      OR visits <> 0 OR changes <> 0
ORDER BY id;

INSERT INTO known
SELECT id, substr(key, 1, 6), host, round, depth, discovery, attempt, strategy, outcome, url, redirects, sitemap_lastmod, found_on
FROM urls
ORDER BY id;

DROP TABLE urls;
ALTER TABLE known RENAME TO urls;
CREATE INDEX urls_key ON urls (key);

-- URLs with the results of their visits, as one row each.
CREATE VIEW visited AS
SELECT urls.id AS id, key, host, round, depth, discovery, attempt, strategy, outcome, url, redirects, sitemap_lastmod, found_on,
       status, etag,
       iif(typeof(last_modified) = 'integer',
           substr('SunMonTueWedThuFriSat', 1 + 3 * strftime('%w', last_modified, 'unixepoch'), 3)
           || strftime(', %d ', last_modified, 'unixepoch')
           || substr('JanFebMarAprMayJunJulAugSepOctNovDec', 3 * strftime('%m', last_modified, 'unixepoch') - 2, 3)
           || strftime(' %Y %H:%M:%S GMT', last_modified, 'unixepoch'),
           last_modified) AS last_modified,
       content_hash, iif(text_hash = x'', substr(content_hash, 1, 16), text_hash) AS text_hash, body_hash,
       rules, via, fetched_at, fetched_lastmod,
       iif(revisits.id IS NULL, iif(content_hash IS NULL, NULL, fetched_at), read_at) AS read_at,
       iif(revisits.id IS NULL, iif(content_hash IS NULL, NULL, fetched_at), seen_at) AS seen_at,
       iif(revisits.id IS NULL, fetched_at, first_at) AS first_at,
       iif(revisits.id IS NULL, fetched_at, changed_at) AS changed_at,
       coalesce(visits, 0) AS visits, coalesce(changes, 0) AS changes
FROM urls LEFT JOIN history ON history.id = urls.id LEFT JOIN revisits ON revisits.id = urls.id;
