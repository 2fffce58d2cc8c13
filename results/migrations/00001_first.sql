-- +goose Up
-- Bytes are bytes and times are nanoseconds. Spans, readings and series are on
-- the trial's own clock, whose zero is the moment before its server started;
-- sessions and trials have started and ended as nanoseconds since 1970, UTC.
-- NULL means "not told" or "not available", never zero.

-- "mtrx": tells this file from other programs' SQLite files.
PRAGMA application_id = 1836348024;

CREATE TABLE environments (
    hash  TEXT PRIMARY KEY,
    facts TEXT NOT NULL -- JSON object, fact by name
) WITHOUT ROWID;

CREATE TABLE versions (
    id       INTEGER PRIMARY KEY,
    content  TEXT NOT NULL UNIQUE, -- hash of all columns
    identity TEXT NOT NULL,        -- hash of target, commit, dirty and packages
    name     TEXT NOT NULL,
    target   TEXT NOT NULL,
    dir      TEXT NOT NULL,
    python   TEXT NOT NULL,
    release  TEXT NOT NULL,
    "commit" TEXT NOT NULL,
    dirty    TEXT NOT NULL, -- JSON list of files
    packages TEXT NOT NULL  -- JSON object, version by package
);
CREATE INDEX versions_identity ON versions(identity);

CREATE TABLE workflows (
    id        INTEGER PRIMARY KEY,
    content   TEXT NOT NULL UNIQUE, -- hash of all columns
    hash      TEXT NOT NULL,        -- the workflow's own, part of a cell's identity
    name      TEXT NOT NULL,
    source    TEXT NOT NULL,
    graph     TEXT NOT NULL, -- JSON, API format
    vary      TEXT NOT NULL, -- JSON list
    stand_ins TEXT NOT NULL  -- JSON list
);

-- A cell is what its id says. Names and paths are not in it: they belong to the
-- version and the workflow as one trial had them.
CREATE TABLE cells (
    id       TEXT PRIMARY KEY,
    series   TEXT NOT NULL, -- the cell without its version
    version  TEXT NOT NULL, -- versions.identity
    workflow TEXT NOT NULL, -- workflows.hash
    settings TEXT NOT NULL, -- JSON object, value by setting
    hardware TEXT NOT NULL,
    vram     INTEGER NOT NULL, -- size of a simulated card, 0 for a real one
    probe    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX cells_series ON cells(series);

CREATE TABLE sessions (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    name    TEXT NOT NULL UNIQUE,
    spec    TEXT NOT NULL,
    started INTEGER NOT NULL,
    ended   INTEGER -- NULL while it runs, or when it was interrupted
);

CREATE TABLE trials (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    session         INTEGER NOT NULL REFERENCES sessions(id),
    cell            TEXT NOT NULL REFERENCES cells(id),
    version         INTEGER NOT NULL REFERENCES versions(id),
    workflow        INTEGER NOT NULL REFERENCES workflows(id),
    environment     TEXT REFERENCES environments(hash),
    repeat          INTEGER NOT NULL,
    simulated       INTEGER NOT NULL, -- 1: not a measurement
    started         INTEGER,
    seconds         REAL NOT NULL,
    own_seconds     REAL NOT NULL,
    argv            TEXT NOT NULL, -- JSON list
    dir             TEXT NOT NULL,
    expect          TEXT NOT NULL, -- '' means pass
    outcome         TEXT NOT NULL,
    memory          TEXT,
    how             TEXT,
    phase           TEXT,
    node_id         TEXT,
    node_display    TEXT,
    node_class      TEXT,
    node_title      TEXT,
    requested_bytes INTEGER,
    free_bytes      INTEGER,
    hidden_retries  INTEGER NOT NULL,
    message         TEXT NOT NULL,
    evidence        TEXT NOT NULL, -- JSON list of lines
    advice          TEXT NOT NULL, -- JSON list
    exit_asked      INTEGER NOT NULL,
    exit_status     INTEGER NOT NULL,
    exit_signal     TEXT NOT NULL,
    exit_by_signal  TEXT NOT NULL,
    warnings        TEXT NOT NULL -- JSON list
);
CREATE INDEX trials_session ON trials(session);
CREATE INDEX trials_cell ON trials(cell);
CREATE INDEX trials_version ON trials(version);

CREATE TABLE prompts (
    trial     INTEGER NOT NULL REFERENCES trials(id) ON DELETE CASCADE,
    seq       INTEGER NOT NULL,
    idx       INTEGER NOT NULL, -- 1 for the first
    prompt_id TEXT NOT NULL,
    seconds   REAL NOT NULL,
    outcome   TEXT NOT NULL,
    executed  TEXT NOT NULL, -- JSON list of node ids
    cached    TEXT NOT NULL, -- JSON list of node ids
    PRIMARY KEY (trial, seq)
) WITHOUT ROWID;

CREATE TABLE spans (
    trial        INTEGER NOT NULL REFERENCES trials(id) ON DELETE CASCADE,
    seq          INTEGER NOT NULL,
    kind         TEXT NOT NULL,
    prompt       INTEGER NOT NULL, -- 0 outside prompts
    node_id      TEXT,
    node_display TEXT,
    node_class   TEXT,
    node_title   TEXT,
    start_ns     INTEGER NOT NULL,
    end_ns       INTEGER NOT NULL,
    PRIMARY KEY (trial, seq)
) WITHOUT ROWID;

CREATE TABLE peaks (
    trial INTEGER NOT NULL,
    span  INTEGER NOT NULL, -- spans.seq
    seq   INTEGER NOT NULL,
    meter TEXT NOT NULL,
    value INTEGER NOT NULL,
    how   TEXT NOT NULL,
    at_ns INTEGER NOT NULL,
    PRIMARY KEY (trial, span, seq),
    FOREIGN KEY (trial, span) REFERENCES spans(trial, seq) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE readings (
    trial INTEGER NOT NULL REFERENCES trials(id) ON DELETE CASCADE,
    seq   INTEGER NOT NULL,
    kind  TEXT NOT NULL,
    at_ns INTEGER NOT NULL,
    note  TEXT NOT NULL,
    PRIMARY KEY (trial, seq)
) WITHOUT ROWID;

CREATE TABLE reading_values (
    trial   INTEGER NOT NULL,
    reading INTEGER NOT NULL, -- readings.seq
    meter   TEXT NOT NULL,
    value   INTEGER NOT NULL,
    PRIMARY KEY (trial, reading, meter),
    FOREIGN KEY (trial, reading) REFERENCES readings(trial, seq) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE meters (
    id        INTEGER PRIMARY KEY,
    name      TEXT NOT NULL,
    unit      TEXT NOT NULL,
    source    TEXT NOT NULL,
    counter   INTEGER NOT NULL,
    simulated INTEGER NOT NULL,
    UNIQUE (name, unit, source, counter, simulated)
);

-- All moments at which any series of the trial changes; see series.go.
CREATE TABLE ticks (
    trial INTEGER PRIMARY KEY REFERENCES trials(id) ON DELETE CASCADE,
    data  BLOB NOT NULL
);

CREATE TABLE series (
    trial   INTEGER NOT NULL REFERENCES trials(id) ON DELETE CASCADE,
    seq     INTEGER NOT NULL,
    meter   INTEGER NOT NULL REFERENCES meters(id),
    changes INTEGER NOT NULL, -- how many values the blob holds
    data    BLOB NOT NULL,
    PRIMARY KEY (trial, seq)
);
