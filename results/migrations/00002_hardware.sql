-- +goose Up
-- The sizes of the machine that a cell asks for, bytes. vram has been there since
-- the first version; 0 and NULL leave the machine as it is.
ALTER TABLE cells ADD COLUMN ram INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cells ADD COLUMN swap INTEGER;
