-- Earliest next request to an address, by any worker. Nothing is lost with the table: after a crash of the server each worker rests
-- for longer than the pause of an address.
CREATE UNLOGGED TABLE addresses (address inet PRIMARY KEY, next_at timestamptz NOT NULL) WITH (fillfactor = 50);
