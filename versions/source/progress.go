package source

import (
	"regexp"
	"time"
)

// sayEvery keeps git's progress, redrawn many times a second, from filling a log.
const sayEvery = 2 * time.Second

var gitProgress = regexp.MustCompile(`^(?:remote: )?(Receiving objects|Resolving deltas|Counting objects|Compressing objects|Updating files):`)

// throttled passes on lines of git's progress now and then.
func throttled(say func(string), before string) func(string) {
	var last time.Time
	return func(line string) {
		if !gitProgress.MatchString(line) || time.Since(last) < sayEvery {
			return
		}
		last = time.Now()
		say(before + line)
	}
}
