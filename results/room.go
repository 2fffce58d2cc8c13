package results

import "fmt"

// leastRoom is what a trial may need on disk: its rows, its logs, the pictures
// that it saves, and what SQLite writes aside.
const leastRoom = 32 << 20

// CheckRoom fails when the disk of the results folder is so full that a trial
// could not be kept, or would fail for that alone. Where the system does not tell,
// there is room.
func (db *DB) CheckRoom() error {
	free, err := freeBytes(db.dir)
	if err != nil {
		return nil
	}
	return tooLittle(db.dir, free)
}

func tooLittle(dir string, free int64) error {
	if free >= leastRoom {
		return nil
	}
	return fmt.Errorf("results folder %s: its disk has %.1f MiB left, a trial needs up to %d MiB: free some space, or choose another folder",
		dir, float64(free)/(1<<20), leastRoom>>20)
}
