-- epoch counts the starts of a worker.
ALTER TABLE workers ADD COLUMN epoch bigint NOT NULL DEFAULT 0;

-- Files of the output, each written by one start of a worker. mark is the name in outputs of the length that is settled. bytes is
-- the length of a complete file.
CREATE TABLE parts (
    path text NOT NULL,
    worker int NOT NULL,
    epoch bigint NOT NULL,
    seq int NOT NULL,
    round int NOT NULL,
    mark text NOT NULL,
    bytes bigint,
    PRIMARY KEY (worker, path)
);
