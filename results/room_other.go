//go:build !linux && !darwin && !freebsd

package results

import "errors"

func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }
