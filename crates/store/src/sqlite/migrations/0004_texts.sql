-- Texts that later ones are compared with, in the order in which they were written; over rounds. round is the last one in which
-- the page was a record or had not changed. bands are those of the next table, for whoever removes them.
CREATE TABLE texts (
    place INTEGER PRIMARY KEY,
    page BLOB NOT NULL,
    round INTEGER NOT NULL,
    content BLOB,
    signature BLOB NOT NULL,
    bands BLOB NOT NULL,
    shingles BLOB NOT NULL
);
CREATE UNIQUE INDEX texts_page ON texts (page);
CREATE INDEX texts_content ON texts (content) WHERE content IS NOT NULL;

-- Which texts have a band, by its hash.
CREATE TABLE bands (
    hash INTEGER NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (hash, place)
) WITHOUT ROWID;
