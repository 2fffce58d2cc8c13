// Package redact takes out of texts what tells who a person is, where their
// machine can be reached, and what opens a door: user names and home folders,
// host names, addresses, e-mails, tokens, keys, passwords, identifiers of cards
// and, where that is asked for, prompts. It is pure: texts in, texts out.
//
// What is taken out becomes a word in angle brackets that is the same wherever the
// same thing stood (<user>, <host-2>, <ip-1>, <secret-3>), so that lines stay
// comparable. What is found in one text in a place that shows what it is (the
// value of HF_TOKEN, the folder below /home) is known afterwards, and is taken out
// of places that do not show it; so read all texts once before the first one is
// written (Learn).
//
// It leaves what a maintainer needs: versions, also those with four numbers,
// hashes, sizes, memory addresses, names of models and nodes, flags. Names that
// many machines have (root, ubuntu, comfyui) tell nobody anything and stay.
//
// It refuses to guess by looks alone: a password that stands in a sentence, with
// no name before it and no known beginning, is not found. For the forms of tokens
// it has a table (secrets.go) with the source of each. A scanner of repositories
// (gitleaks, MIT) was looked at: its rules find keys in source code and nothing of
// what makes a log personal, its generic ones take hashes for keys, and it comes
// with some sixty modules.
package redact
