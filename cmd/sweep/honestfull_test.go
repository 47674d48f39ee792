//go:build !race

package main

const honestBlocks = 6
