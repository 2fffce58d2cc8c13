-- +goose Up
-- A workflow in the form of ComfyUI's front end, and what a spec changes and varies in
-- it: a JSON object, NULL for one in API format.
ALTER TABLE workflows ADD COLUMN ui TEXT;
