-- +goose Up
-- What a verdict found beside the memory: other holders, fragments, slower ways,
-- steps that became slow, the rule that decided. A JSON object, NULL for trials
-- from before.
ALTER TABLE trials ADD COLUMN findings TEXT;
