// Package regress says what changed along a series of trials and is not noise, and
// whether two sets of trials differ. It is pure: numbers and outcomes in, changes and
// reasons out.
//
//   - Outcomes: what newly runs out of memory or fails, what no longer does, and flaky
//     cells whose rate changed;
//   - Levels: shifts and slopes of the values of a whole series;
//   - Past: one new night of a long history, at the error rate that a whole suite can
//     afford, with repeats asked for when they would tell: a shift, or a drift that has
//     become large enough;
//   - Compare: two runs side by side.
//
// # How levels are told from noise
//
// A stretch of values is cut in two where the difference of the means, in standard
// errors, is greatest. Three things keep ordinary memory readings from looking like
// changes. Values far outside of the middle of the stretch count as lying at its edge
// (Huber 1981, Robust Statistics), so that a spike is not worth more than a step must
// be. The standard error takes in the autocorrelation that is left when both sides have
// means of their own. And values that the history has shown before are no news. A
// variance is never believed to be less than a sixteenth of what matters in practice,
// which is the 2 MiB in which allocators take memory: a constant is not exact.
//
// The bars that a score must exceed are set by simulation, not by a table of a
// distribution; package calibrate measures them, and rivals beside them. They hold for
// a series analysed once. Who looks at it every night uses Past.
//
// # What it refuses
//
// It calls nothing a change that is smaller than the floor, nor one new point alone, nor
// a level of fewer than five points before, nor fewer than five that went up and came
// back: those are outliers, whatever their size. It does not guess missing values: a
// trial that ran out of memory is an outcome, not a gap. Two levels that a series takes
// at random (bimodal) are one state; a change of level that is smaller than their
// distance takes many nights to be seen. In a series of fewer than about 60 points with
// autocorrelation above 0.3 up to one in 25 shows a change that is none.
package regress
