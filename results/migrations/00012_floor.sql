-- +goose Up
-- What trials on either side of an earlier floor told of an alarm: JSON, history.FloorTold;
-- '' where nobody asked.
ALTER TABLE alarms ADD COLUMN floor TEXT NOT NULL DEFAULT '';
