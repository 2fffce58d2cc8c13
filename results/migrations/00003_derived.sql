-- +goose Up
-- What several trials together gave: a floor, a ceiling, a slope. It hangs on the
-- trial of the cell as it was asked for, so that it has that cell's series, version
-- and environment; the trials that it came from are named.
CREATE TABLE derived (
    trial  INTEGER NOT NULL REFERENCES trials(id) ON DELETE CASCADE,
    meter  TEXT NOT NULL, -- "floor.vram"
    unit   TEXT NOT NULL,
    value  INTEGER NOT NULL,
    low    INTEGER NOT NULL, -- the value lies between low and high
    high   INTEGER NOT NULL,
    trials TEXT NOT NULL,    -- JSON list of ids
    note   TEXT NOT NULL,    -- for people
    PRIMARY KEY (trial, meter)
) WITHOUT ROWID;
CREATE INDEX derived_meter ON derived(meter);
