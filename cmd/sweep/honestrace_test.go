//go:build race

package main

// The race detector makes each trial ten times dearer and finds nothing more in the sixth block than in the first.
const honestBlocks = 1
