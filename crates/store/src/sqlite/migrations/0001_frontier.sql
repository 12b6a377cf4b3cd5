-- What the numbers in the columns mean stands in codes.rs. Times are milliseconds since the Unix epoch.

-- The store's own numbers: round, token (up to which lease tokens may have been given out), and the settled URLs of
-- this round by outcome.
CREATE TABLE numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO numbers VALUES ('round', 0), ('token', 0), ('records', 0), ('failed', 0), ('skipped', 0), ('redirected', 0);

-- Every host ever seen; round is the last one in which a URL of it was enqueued.
CREATE TABLE hosts (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, round INTEGER NOT NULL);

-- Every URL ever seen, with what its last visit taught. round is the last one in which it was enqueued: where that is
-- not the current one, the URL counts as not visited, so a new round touches no row.
CREATE TABLE urls (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL,
    host INTEGER NOT NULL,
    round INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    discovery INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    strategy INTEGER,
    outcome INTEGER,
    status INTEGER,
    fetched_at INTEGER,
    content_hash BLOB,
    etag TEXT,
    last_modified TEXT,
    url TEXT NOT NULL,
    redirects TEXT,
    sitemap_lastmod TEXT
);
CREATE UNIQUE INDEX urls_key ON urls (key);

-- A URL of this round that is not settled stands in exactly one of the next four tables: its state is its place.

-- pending, its time has come; in the order in which a host's URLs are leased
CREATE TABLE queue (
    host INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    id INTEGER NOT NULL,
    PRIMARY KEY (host, depth, id)
) WITHOUT ROWID;

-- pending, to be tried again later
CREATE TABLE waiting (
    due INTEGER NOT NULL,
    id INTEGER NOT NULL,
    host INTEGER NOT NULL,
    PRIMARY KEY (due, id)
) WITHOUT ROWID;

-- out with a worker
CREATE TABLE leases (
    id INTEGER PRIMARY KEY,
    token INTEGER NOT NULL,
    host INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    worker TEXT NOT NULL
);

-- fetched, kept until the fingerprint of the host settles
CREATE TABLE held (
    id INTEGER PRIMARY KEY,
    token INTEGER NOT NULL,
    host INTEGER NOT NULL,
    ord INTEGER NOT NULL,
    page BLOB NOT NULL
);
CREATE INDEX held_host ON held (host, ord);

-- The state of a host's fingerprint, in this round.
CREATE TABLE host_states (host INTEGER PRIMARY KEY, state BLOB NOT NULL);

-- Who first had a content in this round.
CREATE TABLE contents (hash BLOB PRIMARY KEY, claimant BLOB NOT NULL) WITHOUT ROWID;

-- How far each output file reaches.
CREATE TABLE outputs (name TEXT PRIMARY KEY, reach INTEGER NOT NULL) WITHOUT ROWID;

-- What others keep here by name, and the robots.txt of origins.
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE robots (
    origin TEXT PRIMARY KEY,
    status INTEGER NOT NULL,
    fetched_at INTEGER NOT NULL,
    body BLOB NOT NULL
);

-- What this run counts for: one row, or none before it is named.
CREATE TABLE run (project TEXT NOT NULL, source_group TEXT);
