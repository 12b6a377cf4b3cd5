-- Texts that later ones are compared with, in the order in which they were written; over rounds. space is 0: the same tables stand in
-- a database of projects, where it is the project. round is the last one in which the page was a record or had not changed.
-- bands are those of the next table, for whoever removes them.
CREATE TABLE texts (
    place INTEGER PRIMARY KEY,
    space INTEGER NOT NULL,
    page BLOB NOT NULL,
    round INTEGER NOT NULL,
    content BLOB,
    signature BLOB NOT NULL,
    bands BLOB NOT NULL,
    shingles BLOB NOT NULL
);
CREATE UNIQUE INDEX texts_page ON texts (page, space);
CREATE INDEX texts_content ON texts (content, space) WHERE content IS NOT NULL;

-- Which texts have a band, by its hash, which is another one in each space.
CREATE TABLE bands (
    hash INTEGER NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (hash, place)
) WITHOUT ROWID;
