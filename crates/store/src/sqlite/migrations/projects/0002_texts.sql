-- What pages of a project are compared with as they come, and how it was made; see the database of a crawl's state. space is the
-- number of the project, round is 0.
ALTER TABLE projects ADD COLUMN texts_made_as TEXT NOT NULL DEFAULT '';
CREATE TABLE texts (
    place INTEGER PRIMARY KEY,
    space INTEGER NOT NULL,
    page BLOB NOT NULL,
    round INTEGER NOT NULL,
    content BLOB,
    signature BLOB NOT NULL,
    bands BLOB NOT NULL,
    shingles BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX texts_page ON texts (page, space);
CREATE INDEX texts_content ON texts (content, space) WHERE content IS NOT NULL;
CREATE INDEX texts_space ON texts (space);
CREATE TABLE bands (
    hash INTEGER NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (hash, place)
) STRICT, WITHOUT ROWID;
