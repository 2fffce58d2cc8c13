// Package bisect finds the first bad one of an ordered list of candidates
// (commits, versions of a package, anything) in few runs, and says how sure it is.
//
// A run says that a candidate fails or passes, or gives a value; or that the
// candidate cannot be tested. Runs may lie: a good candidate may fail, a bad one
// may pass, values scatter, have two modes and outliers. How much is learnt from
// the runs themselves:
//
//   - rates.go: outcomes. Each side fails with a rate of its own; both are
//     integrated out over Beta priors, with weight on never and always.
//   - levels.go: values. Each side has a level; three models of the noise are averaged
//     by their evidence: normal (gauss.go, in closed form), with outliers, and with a
//     second mode too (mixture.go and gibbs.go, a population of states).
//   - ends.go: the two ends come first, as many times as it takes to see that they
//     differ. When they do not, the search is over.
//   - channel.go: what a run of a value would tell.
//   - belief.go, choose.go: the posterior over "which is the first bad", and the
//     next candidate: the most expected information for its cost.
//   - several.go: signs of more than one change; the search goes on in the part that
//     holds the one that was asked for.
//
// The package is pure: a Search is told of runs and says what to run next, and the
// same runs lead to the same words. It runs nothing and keeps nothing; package
// bisect/command does that for any program.
//
// It refuses to guess: with ends that do not differ, or that cannot be tested,
// there is no first bad one. It does not notice a change that is taken back between
// two candidates that were never run.
//
// Sources: M. Horstein, Sequential transmission using noiseless feedback, IEEE Trans.
// Inf. Theory 9 (1963); M. Burnashev and K. Zigangirov, An interval estimation problem
// for controlled observations (1974); and those named at the models.
package bisect
