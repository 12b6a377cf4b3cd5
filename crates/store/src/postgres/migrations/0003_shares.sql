-- Hosts of a worker that have unsettled URLs, at its last renewal.
ALTER TABLE workers ADD COLUMN busy int NOT NULL DEFAULT 0;

-- Seconds between two requests to a host, if they are more than politeness.delay.
ALTER TABLE hosts ADD COLUMN pause double precision;
