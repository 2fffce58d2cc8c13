package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	gone := filepath.Join(dir, "gone")
	if !Exist(dir) || Exist(gone) {
		t.Error("what is there is not told from what is not")
	}
	_, err := os.ReadFile(gone)
	if got := Cause(fmt.Errorf("read: %w", err)); got == err || !errors.Is(got, fs.ErrNotExist) || filepath.IsAbs(got.Error()) {
		t.Errorf("%v", got)
	}
	if got := Cause(os.Rename(gone, dir)); !errors.Is(got, fs.ErrNotExist) {
		t.Errorf("%v", got)
	}
	if other := errors.New("other"); Cause(other) != other {
		t.Error("another error is changed")
	}
}
