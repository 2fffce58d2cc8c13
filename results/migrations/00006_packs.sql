-- +goose Up
-- Custom node packs of a version (JSON list), part of its identity, and what the
-- import of each cost in a trial. The pack "*" is all of them together.
ALTER TABLE versions ADD COLUMN packs TEXT NOT NULL DEFAULT 'null';
CREATE TABLE imports (
    trial            INTEGER NOT NULL REFERENCES trials(id) ON DELETE CASCADE,
    seq              INTEGER NOT NULL,
    pack             TEXT NOT NULL,
    seconds          REAL,    -- as the server told, in tenths; NULL: not told
    prestart_seconds REAL,
    failed           INTEGER NOT NULL,
    reason           TEXT NOT NULL,
    ram              INTEGER, -- growth of resident memory, NULL: see ram_why
    ram_why          TEXT NOT NULL,
    begin_ns         INTEGER NOT NULL, -- 0 and 0 where the log does not tell
    end_ns           INTEGER NOT NULL,
    PRIMARY KEY (trial, seq)
) WITHOUT ROWID;
