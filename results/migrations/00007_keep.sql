-- +goose Up
-- Trials whose series stay whole: by the spec, or because a person marked them.
-- Of the others a later session may leave an envelope; thinned says that one did.
CREATE TABLE keeps (
    trial   INTEGER PRIMARY KEY REFERENCES trials(id) ON DELETE CASCADE,
    keep    TEXT NOT NULL,              -- full, envelope or auto, as the spec says
    marked  INTEGER NOT NULL DEFAULT 0, -- 1: by a person
    thinned INTEGER NOT NULL DEFAULT 0
);
