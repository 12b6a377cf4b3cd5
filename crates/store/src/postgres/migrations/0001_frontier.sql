-- What the numbers in the columns mean stands in sqlite/codes.rs. Times are milliseconds since the Unix epoch, except
-- for those of leases, which are the clock of the database.

-- The crawl of this schema: one row. Blocks of URL numbers and lease tokens begin at next_id and next_token.
CREATE TABLE crawls (
    name text PRIMARY KEY,
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    round int NOT NULL DEFAULT 0,
    recrawl boolean NOT NULL DEFAULT false,
    next_id bigint NOT NULL DEFAULT 1,
    next_token bigint NOT NULL DEFAULT 1,
    project text NOT NULL DEFAULT '',
    source_group text,
    -- settings and rules that every worker must share; NULL before the first worker has stored its own
    settings jsonb,
    rules bigint
);

-- Processes of the crawl. All hosts of a worker are leased until lease_until.
CREATE TABLE workers (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_until timestamptz NOT NULL
);

-- Every host ever seen. round is the last one in which a URL of it was enqueued. epoch grows with each owner. active is
-- true from the first URL of a round until the owner gives the host back without work. Nobody takes a host before
-- not_before: its last owner has asked it a moment ago.
CREATE TABLE hosts (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    epoch bigint NOT NULL DEFAULT 0,
    round int NOT NULL DEFAULT -1,
    owner int,
    active boolean NOT NULL DEFAULT false,
    not_before timestamptz,
    name text NOT NULL UNIQUE
) WITH (fillfactor = 80);
CREATE INDEX hosts_owner ON hosts (owner) WHERE owner IS NOT NULL;
CREATE INDEX hosts_free ON hosts (id) WHERE active AND owner IS NULL;

-- Every URL ever seen, with the results of its last visit. round is the last one in which it was enqueued. NULL in
-- attempt, visits and changes is 0.
CREATE TABLE urls (
    id bigint NOT NULL,
    fetched_at bigint,
    rules bigint,
    read_at bigint,
    seen_at bigint,
    first_at bigint,
    changed_at bigint,
    host int NOT NULL,
    round int NOT NULL,
    depth int NOT NULL,
    attempt int,
    visits int,
    changes int,
    discovery smallint NOT NULL,
    strategy smallint,
    outcome smallint,
    via smallint,
    status int,
    key uuid NOT NULL,
    url text NOT NULL,
    content_hash bytea,
    text_hash bytea,
    body_hash bytea,
    etag text,
    last_modified text,
    redirects text,
    sitemap_lastmod text,
    fetched_lastmod text
) PARTITION BY HASH (host);
CREATE UNIQUE INDEX urls_key ON urls (key, host);
CREATE INDEX urls_id ON urls (id);
DO $$ BEGIN
    FOR n IN 0..7 LOOP
        EXECUTE format('CREATE TABLE urls_%s PARTITION OF urls FOR VALUES WITH (MODULUS 8, REMAINDER %s) WITH (fillfactor = 90)', n, n);
    END LOOP;
END $$;

-- URLs of this round that are pending or out with the owner of their host. A lease of a URL is in the memory of that
-- worker only: a takeover of the host ends it. due is the time of a retry.
CREATE TABLE queue (
    id bigint NOT NULL,
    due bigint,
    host int NOT NULL,
    depth int NOT NULL,
    lane smallint NOT NULL,
    PRIMARY KEY (host, lane, depth, id)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX queue_due ON queue (host) WHERE due IS NOT NULL;

-- Links to hosts of other workers, until their owner takes them. again is true for a revisit.
CREATE TABLE inbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    host int NOT NULL,
    round int NOT NULL,
    depth int NOT NULL,
    discovery smallint NOT NULL,
    again boolean NOT NULL,
    key uuid NOT NULL,
    url text NOT NULL,
    redirects text,
    sitemap_lastmod text
);
CREATE INDEX inbox_host ON inbox (host);

-- Fetched pages that wait for a fingerprint. Their bytes are on the disk of the worker. host is that of the URL.
CREATE TABLE held (
    id bigint PRIMARY KEY,
    token bigint NOT NULL,
    ord bigint NOT NULL,
    host int NOT NULL,
    held_for int NOT NULL
);
CREATE INDEX held_host ON held (host);

-- URLs of this round whose held page could not be read.
CREATE TABLE refetched (id bigint PRIMARY KEY);

-- Numbers of URLs by worker: the sum over all workers is that of the crawl. pending counts the rows of queue.
CREATE TABLE tallies (
    worker int NOT NULL,
    round int NOT NULL,
    pending bigint NOT NULL DEFAULT 0,
    held bigint NOT NULL DEFAULT 0,
    hosts bigint NOT NULL DEFAULT 0,
    records bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,
    redirected bigint NOT NULL DEFAULT 0,
    unchanged bigint NOT NULL DEFAULT 0,
    gone bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (worker, round)
) WITH (fillfactor = 20);

CREATE TABLE host_states (host int PRIMARY KEY, round int NOT NULL, state bytea NOT NULL);
CREATE TABLE unsettled (host int PRIMARY KEY, state bytea NOT NULL);
CREATE TABLE lessons (host int PRIMARY KEY, lessons bytea NOT NULL);
CREATE TABLE contents (hash bytea PRIMARY KEY, claimant uuid NOT NULL);
CREATE TABLE outputs (name text PRIMARY KEY, reach bigint NOT NULL);
-- bytes, since text cannot hold the character 0
CREATE TABLE settings (name text PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE robots (origin text PRIMARY KEY, fetched_at bigint NOT NULL, status int NOT NULL, body bytea NOT NULL);

-- Texts that later ones are compared with, and the texts that have a band.
CREATE TABLE texts (
    place bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    round int NOT NULL,
    page uuid NOT NULL UNIQUE,
    content bytea,
    signature bytea NOT NULL,
    bands bigint[] NOT NULL,
    shingles bytea NOT NULL
);
CREATE INDEX texts_content ON texts (content, place) WHERE content IS NOT NULL;
CREATE TABLE bands (hash bigint NOT NULL, place bigint NOT NULL, PRIMARY KEY (hash, place));
