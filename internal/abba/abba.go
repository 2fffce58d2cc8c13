// Package abba measures what a switch costs: whether work takes longer with it on.
//
// The same server does the same work again and again, with the switch off, on, on,
// off, then on, off, off, on, and so forth: four units are a block, in which a drift
// that is straight in time adds nothing (with blocks of both kinds in turn, nor does
// one that is bent). A block gives one number, the mean of the logarithms of its two
// times with, minus that of its two without; the ratio is e to the middle of those
// numbers, with the interval of a signed-rank test (interval.go). Beside it stands their
// mean, in which a few units that were held up count in full: a switch that holds up one
// unit in twenty would show there only.
//
// What is assumed: the numbers of blocks are independent of each other and symmetric
// about the truth, as they are when what disturbs a unit does not ask whether the switch
// is on; each unit is the same work. What is not: that times are normal, that
// blocks are as fast as each other, that the machine is quiet (noise makes the
// interval wide, and so the run long). The run stops when the interval is narrow, which
// favours moments at which it happens to be: it must have been narrow after two blocks
// in a row, and never before MinBlocks.
package abba

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"memtrix/regress"
)

// Config says what is switched, what work is, and how sure one wants to be.
type Config struct {
	// Switch turns the thing on or off. It is called before each unit for which it
	// must change, and its time is not part of the unit's.
	Switch func(ctx context.Context, on bool) error
	// Do does the n-th unit of work, 1 for the first, and says how long it took.
	Do func(ctx context.Context, n int) (time.Duration, error)
	// Warm is how many units are done before the first block.
	Warm int
	// Width is how narrow the interval of the ratio must be, e.g. 0.02.
	Width float64
	// Confidence of the interval; 0 means 0.95.
	Confidence float64
	// MinBlocks and MaxBlocks bound the run; 0 means 8 and no bound.
	MinBlocks, MaxBlocks int
	// Say is told the result after each block. Nil: nobody.
	Say func(Result)
}

// Block is four units, in the order in which they were done.
type Block struct {
	On    [4]bool          `json:"on"`
	Times [4]time.Duration `json:"times"` // ns
}

// log is the block's number: the logarithm of its ratio.
func (b Block) log() float64 {
	var sum float64
	for i, t := range b.Times {
		if b.On[i] {
			sum += math.Log(t.Seconds())
		} else {
			sum -= math.Log(t.Seconds())
		}
	}
	return sum / 2
}

// Result is what was found so far.
type Result struct {
	// Ratio is time with divided by time without; it lies between Low and High with
	// the Confidence. These are NaN before there are six blocks.
	Ratio      float64 `json:"ratio"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"`
	// Mean is the same by the mean of all blocks, with Student's interval; NaN before
	// the second block.
	Mean     float64 `json:"mean"`
	MeanLow  float64 `json:"mean_low"`
	MeanHigh float64 `json:"mean_high"`
	Blocks   []Block `json:"blocks"`
	// On and Off are the medians of the units, ns.
	On  time.Duration `json:"median_on"`
	Off time.Duration `json:"median_off"`
}

// Width is how wide the interval is.
func (r Result) Width() float64 { return r.High - r.Low }

// ErrNotNarrow is of a run that ended before its interval was narrow enough.
var ErrNotNarrow = errors.New("the interval is not narrow enough yet")

// Run does blocks until the interval is narrow enough. When MaxBlocks are done or ctx
// ends before that, the error wraps ErrNotNarrow and the result is what there is.
func Run(ctx context.Context, c Config) (Result, error) {
	if c.Confidence == 0 {
		c.Confidence = 0.95
	}
	if c.MinBlocks == 0 {
		c.MinBlocks = 8
	}
	n, on := 0, false
	unit := func(with bool) (time.Duration, error) {
		if n == 0 || with != on {
			if err := c.Switch(ctx, with); err != nil {
				return 0, fmt.Errorf("turn %s: %w", onOff(with), err)
			}
			on = with
		}
		n++
		d, err := c.Do(ctx, n)
		if err == nil && d <= 0 {
			err = fmt.Errorf("took %v", d)
		}
		if err != nil {
			err = fmt.Errorf("unit %d: %w", n, err)
		}
		return d, err
	}
	for range c.Warm {
		if _, err := unit(n%2 == 1); err != nil {
			return Result{}, err
		}
	}
	var blocks []Block
	narrow := 0
	for {
		b := Block{On: order(len(blocks))}
		for i := range b.On {
			var err error
			if b.Times[i], err = unit(b.On[i]); err != nil {
				if ctx.Err() != nil {
					return Judge(blocks, c.Confidence), fmt.Errorf("%w: %w", ErrNotNarrow, context.Cause(ctx))
				}
				return Judge(blocks, c.Confidence), err
			}
		}
		blocks = append(blocks, b)
		r := Judge(blocks, c.Confidence)
		if c.Say != nil {
			c.Say(r)
		}
		if narrow++; !(r.Width() <= c.Width) { // NaN is not narrow
			narrow = 0
		}
		switch {
		case len(blocks) >= c.MinBlocks && narrow >= 2:
			return r, nil
		case c.MaxBlocks > 0 && len(blocks) >= c.MaxBlocks:
			return r, fmt.Errorf("%w after %d blocks: %.4f wide", ErrNotNarrow, len(blocks), r.Width())
		}
	}
}

// order is off, on, on, off and the opposite in turn.
func order(block int) [4]bool {
	a := block%2 == 1
	return [4]bool{a, !a, !a, a}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Judge gives the ratio and its interval.
func Judge(blocks []Block, confidence float64) Result {
	r := Result{Confidence: confidence, Blocks: blocks}
	var logs []float64
	var on, off []time.Duration
	for _, b := range blocks {
		logs = append(logs, b.log())
		for i, t := range b.Times {
			if b.On[i] {
				on = append(on, t)
			} else {
				off = append(off, t)
			}
		}
	}
	r.On, r.Off = time.Duration(regress.Median(on)), time.Duration(regress.Median(off))
	r.Ratio, r.Low, r.High = exp(middle(logs, confidence))
	r.Mean, r.MeanLow, r.MeanHigh = exp(average(logs, confidence))
	return r
}

func exp(at, low, high float64) (float64, float64, float64) {
	return math.Exp(at), math.Exp(low), math.Exp(high)
}
