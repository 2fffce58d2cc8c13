-- +goose Up
-- What a history needs of each trial without reading all of its spans: the largest
-- peak of each meter over the trial's work (memtrix.Trial.Peak), and the least device
-- memory of its prompts that cannot be evicted.
CREATE TABLE trial_peaks (
    trial INTEGER NOT NULL REFERENCES trials(id) ON DELETE CASCADE,
    meter TEXT NOT NULL,
    value INTEGER NOT NULL,
    how   TEXT NOT NULL,
    PRIMARY KEY (trial, meter)
) WITHOUT ROWID;
-- Of equal peaks the kernel's says more; of SQLite's bare columns beside max() the row
-- with the maximum counts, so the word is made part of what is compared.
INSERT INTO trial_peaks (trial, meter, value, how)
SELECT trial, meter, value, how FROM (
    SELECT p.trial, p.meter, p.value, p.how,
        row_number() OVER (PARTITION BY p.trial, p.meter ORDER BY p.value DESC, p.how = 'kernel' DESC, p.span, p.seq) AS place
    FROM peaks p JOIN spans s ON s.trial = p.trial AND s.seq = p.span
    WHERE s.kind NOT IN ('settle', 'stop')
) WHERE place = 1;
INSERT INTO trial_peaks (trial, meter, value, how)
SELECT p.trial, 'vram.non-evictable', max(CAST(json_extract(one.value, '$.non_evictable') AS INTEGER)), 'probe'
FROM probes p, json_each(p.data, '$.prompts') one
WHERE json_extract(one.value, '$.non_evictable') IS NOT NULL
GROUP BY p.trial;

-- The frozen cell of its spec; a repeat that was run only to confirm a change.
ALTER TABLE trials ADD COLUMN control INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trials ADD COLUMN confirms INTEGER NOT NULL DEFAULT 0;

CREATE TABLE alarms (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    session       INTEGER NOT NULL REFERENCES sessions(id),
    state         TEXT NOT NULL, -- open, acknowledged, expected, fixed
    machine       INTEGER NOT NULL,
    title         TEXT NOT NULL,
    cause         TEXT NOT NULL,
    cause_key     TEXT NOT NULL,
    simulated     INTEGER NOT NULL,
    opened        INTEGER NOT NULL,
    changed       INTEGER NOT NULL,
    expected_from TEXT NOT NULL,
    note          TEXT NOT NULL,
    confirming    INTEGER NOT NULL, -- repeats that were run for it
    confirmed     INTEGER NOT NULL  -- of which so many agreed
);
CREATE TABLE changes (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    alarm   INTEGER REFERENCES alarms(id), -- NULL: for the better, nobody has to act
    session INTEGER NOT NULL REFERENCES sessions(id),
    line    TEXT NOT NULL,
    meter   TEXT NOT NULL, -- '' for outcomes
    kind    TEXT NOT NULL,
    version TEXT NOT NULL, -- identity of the first version after it
    data    TEXT NOT NULL, -- JSON, history.Change
    UNIQUE (line, meter, kind, session, version)
);
CREATE INDEX changes_alarm ON changes(alarm);
