-- +goose Up
-- What a server takes between its start and the first prompt (memtrix.IdleMeters), as
-- further rows of what histories read.
INSERT INTO trial_peaks (trial, meter, value, how)
SELECT trial, 'idle.' || meter, value, how FROM (
    SELECT p.trial, p.meter, p.value, p.how,
        row_number() OVER (PARTITION BY p.trial, p.meter ORDER BY p.value DESC, p.how = 'kernel' DESC, p.span, p.seq) AS place
    FROM peaks p JOIN spans s ON s.trial = p.trial AND s.seq = p.span
    WHERE s.kind = 'idle' AND p.meter IN ('vram.device.used', 'ram.tree.rss', 'ram.tree.anon')
) WHERE place = 1;
