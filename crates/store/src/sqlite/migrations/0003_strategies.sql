-- The queue has lanes: 0 what is fetched by requests, 1 what is fetched by a browser.
CREATE TABLE lanes (
    host INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    id INTEGER NOT NULL,
    PRIMARY KEY (host, lane, depth, id)
) WITHOUT ROWID;
INSERT INTO lanes (host, lane, depth, id) SELECT host, 0, depth, id FROM queue;
DROP TABLE queue;
ALTER TABLE lanes RENAME TO queue;

-- What came of a URL's strategies so far, while another one is tried; in this round.
CREATE TABLE so_far (id INTEGER PRIMARY KEY, pages BLOB NOT NULL);

-- What pages of a host have taught of strategies; in whatever round.
CREATE TABLE lessons (host INTEGER PRIMARY KEY, lessons BLOB NOT NULL);
