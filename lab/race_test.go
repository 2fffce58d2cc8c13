//go:build race

package lab

func init() { raceDetector = true }
