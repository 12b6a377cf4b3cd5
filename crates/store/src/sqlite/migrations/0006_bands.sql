-- Bands of texts are buffered and written by and by: up to this place all stand in the table `bands`.
INSERT INTO numbers VALUES ('banded', (SELECT coalesce(max(place), 0) FROM texts));
