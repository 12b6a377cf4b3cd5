-- Blocks of the limits of a run that workers were granted. A run begins with a worker that starts while no other has a lease. kind 0 is
-- records, 1 is bytes. before is the number of records of the worker in its round before the run.
CREATE TABLE quotas (
    worker int NOT NULL,
    kind smallint NOT NULL,
    granted bigint NOT NULL,
    before bigint NOT NULL,
    PRIMARY KEY (worker, kind)
) WITH (fillfactor = 50);
ALTER TABLE crawls ADD COLUMN run_since timestamptz NOT NULL DEFAULT clock_timestamp();
