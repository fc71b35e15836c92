// Package dep is a dependency out of a module cache.
package dep

// Word is what it has to offer.
const Word = "legit"
