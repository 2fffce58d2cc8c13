-- +goose Up
-- What a probe inside the server told, whole: per node, loads of models, events. Its
-- meters are series, and torch's peaks are peaks of spans, as all others.
CREATE TABLE probes (
    trial INTEGER PRIMARY KEY REFERENCES trials(id) ON DELETE CASCADE,
    data  TEXT NOT NULL -- JSON, memtrix.Probe
);
