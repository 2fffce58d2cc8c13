-- +goose Up
-- Servers that ran before: who they are, and whether others used them meanwhile.
ALTER TABLE versions ADD COLUMN attached TEXT; -- JSON object, NULL for a fresh server
ALTER TABLE trials ADD COLUMN shared INTEGER NOT NULL DEFAULT 0;
-- The server is gone, and nobody told how it ended.
ALTER TABLE trials ADD COLUMN exit_unknown INTEGER NOT NULL DEFAULT 0;
