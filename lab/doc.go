// Package lab holds the experiments: questions that one trial does not answer and
// several do. How much memory is the least with which a cell passes (Floor), what
// is the most that passes on this card (Ceiling), does memory at rest grow with every
// prompt (Leak), and why does a cell fail (Diagnose)?
//
// A search is pure: it is told which sizes were tried and what became of them, and
// says which to try next. Bench wires it to real trials: each try is a trial in the
// store, so that an experiment that was stopped goes on where it was, and what a
// person doubts can be looked at trial by trial.
//
// The package does not draw, and it does not say more than was measured: a floor is
// one of this card and this machine (other cards have other kernels and workspaces),
// a border that is not sharp is called so, growth that has not shown itself to
// go on is not called a leak, and what passes once is not called the cause.
package lab
